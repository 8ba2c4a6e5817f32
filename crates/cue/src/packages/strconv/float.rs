//! Floats.

use super::{CallError, range, syntax, underscores_separate};
use num_bigint::BigUint;
use num_traits::Zero;

/// The nearest float of 32 or 64 bits; infinities and NaN are not numbers of CUE.
pub fn parse_float(text: &str, bits: i64) -> Result<f64, CallError> {
    const FUNCTION: &str = "ParseFloat";
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if ["inf", "infinity", "nan"]
        .iter()
        .any(|name| unsigned.eq_ignore_ascii_case(name))
    {
        return Err(range(FUNCTION, text));
    }
    if text.contains('_') && !underscores_separate(text) {
        return Err(syntax(FUNCTION, text));
    }
    let digits = unsigned.replace('_', "");
    let decimal = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => from_hexadecimal(&digits[2..]),
        _ => is_decimal(&digits).then_some(digits),
    };
    let decimal = decimal.ok_or_else(|| syntax(FUNCTION, text))?;
    let value = match bits {
        32 => decimal.parse::<f32>().map(f64::from),
        _ => decimal.parse::<f64>(),
    };
    let value = value.map_err(|_| syntax(FUNCTION, text))?;
    if value.is_infinite() {
        return Err(range(FUNCTION, text));
    }
    Ok(if text.starts_with('-') { -value } else { value })
}

/// The text of a float in one of Go's formats: `b`, `e`, `E`, `f`, `g`, `G`, `x`, `X`. A negative precision asks for
/// the fewest digits that read back as the same float.
pub fn format_float(value: f64, format: u8, precision: i64, bits: i64) -> Result<String, CallError> {
    let value = match bits {
        32 => f64::from(value as f32),
        64 => value,
        _ => return Err(CallError::new("strconv: illegal AppendFloat/FormatFloat bitSize")),
    };
    if value.is_infinite() {
        return Ok(if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned());
    }
    if value.is_nan() {
        return Ok("NaN".to_owned());
    }
    let precision = usize::try_from(precision).ok();
    if precision.is_some_and(|precision| precision > 10_000) {
        return Err(CallError::new("precision is larger than 10000 digits"));
    }
    let float = Float {
        value,
        single: bits == 32,
    };
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let text = match format {
        b'e' | b'E' => float.scientific(precision, char::from(format)),
        b'f' => float.plain(precision),
        b'g' | b'G' => float.general(precision, if format == b'g' { 'e' } else { 'E' }),
        b'b' => float.binary(),
        b'x' | b'X' => {
            let text = float.hexadecimal(precision);
            if format == b'X' { text.to_uppercase() } else { text }
        }
        _ => return Ok(format!("%{}", char::from(format))),
    };
    Ok(format!("{sign}{text}"))
}

fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (
            mantissa,
            Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        ),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent))
}

/// `1.8p1` after `0x`, as a decimal with the same value.
fn from_hexadecimal(text: &str) -> Option<String> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let sign_or_digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if sign_or_digits.is_empty() || !sign_or_digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if digits.is_empty() || digits.len() > 10_000 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mantissa = BigUint::parse_bytes(digits.as_bytes(), 16)?;
    if mantissa.is_zero() {
        return Some("0".to_owned());
    }
    // Beyond these bounds it is zero or infinite whatever the mantissa.
    let exponent = exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    });
    let exponent = exponent.clamp(-100_000, 100_000) - 4 * i64::try_from(fraction.len()).ok()?;
    let scale = u32::try_from(exponent.unsigned_abs()).ok()?;
    Some(match exponent {
        0.. => (mantissa << scale).to_string(),
        _ => format!("{}e-{scale}", mantissa * BigUint::from(5u32).pow(scale)),
    })
}

struct Float {
    value: f64,
    single: bool,
}

impl Float {
    /// Digits without a point and the power of ten of the point after the first, zeros at the end removed.
    fn digits(&self, precision: Option<usize>) -> (String, i32) {
        let magnitude = self.value.abs();
        let text = match precision {
            Some(precision) => format!("{magnitude:.precision$e}"),
            None if self.single => format!("{:e}", magnitude as f32),
            None => format!("{magnitude:e}"),
        };
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = mantissa.replace('.', "");
        (
            digits.trim_end_matches('0').to_owned(),
            exponent.parse().unwrap_or(0),
        )
    }

    fn scientific(&self, precision: Option<usize>, letter: char) -> String {
        let (digits, exponent) = self.digits(precision);
        let places = precision.unwrap_or(digits.len().saturating_sub(1));
        scientific(&digits, exponent, places, letter)
    }

    fn plain(&self, precision: Option<usize>) -> String {
        let magnitude = self.value.abs();
        match precision {
            Some(precision) => format!("{magnitude:.precision$}"),
            None if self.single => format!("{}", magnitude as f32),
            None => format!("{magnitude}"),
        }
    }

    fn general(&self, precision: Option<usize>, letter: char) -> String {
        let significant = precision.map(|precision| precision.max(1));
        let (digits, exponent) = self.digits(significant.map(|significant| significant - 1));
        let count = digits.len();
        let point = if digits.is_empty() { 0 } else { exponent + 1 };
        let point_place = usize::try_from(point).unwrap_or(0);
        let limit = match significant {
            None => 6,
            Some(significant) if significant > count && i64::from(point) <= count as i64 => count,
            Some(significant) => significant,
        };
        let exponent = point - 1;
        if exponent < -4 || i64::from(exponent) >= limit as i64 && !(digits.is_empty()) {
            return scientific(&digits, exponent, count.saturating_sub(1), letter);
        }
        if digits.is_empty() {
            return "0".to_owned();
        }
        match point {
            ..=0 => format!("0.{}{digits}", "0".repeat(usize::try_from(-point).unwrap_or(0))),
            _ if count <= point_place => format!("{digits}{}", "0".repeat(point_place - count)),
            _ => format!("{}.{}", &digits[..point_place], &digits[point_place..]),
        }
    }

    /// Mantissa and exponent of the machine, the mantissa with its leading one.
    fn parts(&self) -> (u64, i32) {
        if self.single {
            let bits = (self.value as f32).to_bits();
            let (mantissa, exponent) = (u64::from(bits & 0x007f_ffff), i32::from((bits >> 23) as u8));
            return match exponent {
                0 => (mantissa, -149),
                _ => (mantissa | 1 << 23, exponent - 150),
            };
        }
        let bits = self.value.to_bits();
        let (mantissa, exponent) = (bits & ((1 << 52) - 1), ((bits >> 52) & 0x7ff) as i32);
        match exponent {
            0 => (mantissa, -1074),
            _ => (mantissa | 1 << 52, exponent - 1075),
        }
    }

    fn binary(&self) -> String {
        let (mantissa, exponent) = self.parts();
        format!("{mantissa}p{exponent:+}")
    }

    fn hexadecimal(&self, precision: Option<usize>) -> String {
        let (mantissa, exponent) = self.parts();
        if mantissa == 0 {
            let zeros = precision.filter(|precision| *precision > 0);
            return format!(
                "0x0{}p+00",
                zeros
                    .map(|zeros| format!(".{}", "0".repeat(zeros)))
                    .unwrap_or_default()
            );
        }
        // One bit before the point, sixty after it.
        let shift = mantissa.leading_zeros() as i32 - 3;
        let mut mantissa = mantissa << shift;
        let mut exponent = exponent - shift + 60;
        if let Some(precision) = precision.filter(|precision| *precision < 15) {
            let dropped = 60 - 4 * precision as u32;
            let (half, rest) = (1u64 << (dropped - 1), mantissa & ((1 << dropped) - 1));
            mantissa >>= dropped;
            if rest > half || rest == half && mantissa & 1 == 1 {
                mantissa += 1;
            }
            mantissa <<= dropped;
            if mantissa >= 1 << 61 {
                mantissa >>= 1;
                exponent += 1;
            }
        }
        let digits = format!("{:015x}", mantissa & ((1 << 60) - 1));
        let fraction = match precision {
            Some(precision) => format!("{digits:0<precision$}")[..precision].to_owned(),
            None => digits.trim_end_matches('0').to_owned(),
        };
        let point = if fraction.is_empty() { "" } else { "." };
        format!(
            "0x1{point}{fraction}p{}{:02}",
            if exponent < 0 { '-' } else { '+' },
            exponent.abs()
        )
    }
}

fn scientific(digits: &str, exponent: i32, places: usize, letter: char) -> String {
    let exponent = if digits.is_empty() { 0 } else { exponent };
    let (first, rest) = if digits.is_empty() {
        ("0", "")
    } else {
        digits.split_at(1)
    };
    let point = if places > 0 { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!(
        "{first}{point}{rest:0<places$}{letter}{sign}{:02}",
        exponent.abs()
    )
}
