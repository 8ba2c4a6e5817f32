//! Floating point numbers: `%v %e %E %f %F %g %G %b %x %X`.

use super::out::Out;

/// No `float64` has more digits than this on either side of its point.
const MOST_DIGITS: usize = 1100;

/// Prints the number; false if the verb is not for floats.
pub(super) fn print(out: &mut Out, value: f64, verb: char) -> bool {
    let precision = out.flags.precision;
    let text = match verb {
        'v' | 'g' => general(value, precision),
        'G' => general(value, precision).to_uppercase(),
        'e' => exponent(value, Some(precision.unwrap_or(6))),
        'E' => exponent(value, Some(precision.unwrap_or(6))).to_uppercase(),
        'f' | 'F' => fixed(value, precision.unwrap_or(6)),
        'b' => binary(value),
        'x' => hexadecimal(value, precision),
        'X' => hexadecimal(value, precision).to_uppercase(),
        _ => return false,
    };
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest.to_owned()),
        None => (false, text),
    };
    let digits = if out.flags.sharp && verb != 'b' {
        with_point(digits, verb, precision)
    } else {
        digits
    };
    let sign = match negative {
        true => "-",
        false if out.flags.plus => "+",
        false if out.flags.space => " ",
        false => "",
    };
    let zeros = excess(verb, precision);
    let missing = out
        .flags
        .width
        .unwrap_or(0)
        .saturating_sub(sign.len() + digits.len() + zeros);
    let flags = out.flags;
    if !flags.minus && !flags.zero {
        out.repeat(' ', missing);
    }
    out.text(sign);
    if !flags.minus && flags.zero {
        out.repeat('0', missing);
    }
    let (digits, tail) = split_before_exponent(&digits, verb);
    out.text(digits);
    out.repeat('0', zeros);
    out.text(tail);
    if flags.minus {
        out.repeat(' ', missing);
    }
    true
}

/// Prints NaN or an infinity, which no zeros fill up; false if the verb is not for floats.
pub(super) fn print_not_finite(out: &mut Out, value: f64, verb: char) -> bool {
    if !matches!(verb, 'v' | 'g' | 'G' | 'e' | 'E' | 'f' | 'F' | 'b' | 'x' | 'X') {
        return false;
    }
    let flags = out.flags;
    let text = match shortest(value) {
        text if flags.plus && value.is_nan() => format!("+{text}"),
        text if flags.space && !flags.plus && value.is_nan() => format!(" {text}"),
        text if flags.space && !flags.plus => text.replace('+', " "),
        text => text,
    };
    out.flags.zero = false;
    out.padded(&text);
    out.flags = flags;
    true
}

/// `strconv.FormatFloat(value, 'f', -1, 64)`.
pub(crate) fn shortest(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

/// Zeros that a precision beyond every digit of a number still demands.
fn excess(verb: char, precision: Option<usize>) -> usize {
    match verb {
        'e' | 'E' | 'f' | 'F' | 'x' | 'X' => precision.unwrap_or(0).saturating_sub(MOST_DIGITS),
        _ => 0,
    }
}

fn split_before_exponent(digits: &str, verb: char) -> (&str, &str) {
    let marks: &[char] = match verb {
        'e' | 'E' => &['e', 'E'],
        'x' | 'X' => &['p', 'P'],
        _ => &[],
    };
    digits.split_at(digits.find(marks).unwrap_or(digits.len()))
}

fn fixed(value: f64, precision: usize) -> String {
    format!("{value:.*}", precision.min(MOST_DIGITS))
}

/// The significant digits and the decimal exponent of the first.
fn decimal(value: f64, precision: Option<usize>) -> (String, i32) {
    let text = match precision {
        Some(precision) => format!("{:.*e}", precision.min(MOST_DIGITS), value.abs()),
        None => format!("{:e}", value.abs()),
    };
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.replace('.', ""), exponent.parse().unwrap_or_default())
}

fn exponent(value: f64, precision: Option<usize>) -> String {
    let (digits, exponent) = decimal(value, precision);
    in_exponent_form(value.is_sign_negative(), &digits, exponent)
}

fn in_exponent_form(negative: bool, digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at(1.min(digits.len()));
    let point = if rest.is_empty() { "" } else { "." };
    let (sign, direction) = (
        if negative { "-" } else { "" },
        if exponent < 0 { '-' } else { '+' },
    );
    format!(
        "{sign}{first}{point}{rest}e{direction}{:02}",
        exponent.unsigned_abs()
    )
}

fn general(value: f64, precision: Option<usize>) -> String {
    let negative = value.is_sign_negative();
    let (digits, exponent) = match precision {
        Some(precision) => {
            let (digits, exponent) = decimal(value, Some(precision.max(1) - 1));
            (significant(&digits), exponent)
        }
        None => decimal(value, None),
    };
    // From this exponent on, the number is written with one.
    let limit = match precision {
        None => 6,
        Some(precision) => {
            let known = i32::try_from(digits.len()).unwrap_or(i32::MAX);
            let wanted = i32::try_from(precision.max(1)).unwrap_or(i32::MAX);
            if wanted > known && known > exponent {
                known
            } else {
                wanted
            }
        }
    };
    if exponent < -4 || exponent >= limit {
        return in_exponent_form(negative, &digits, exponent);
    }
    let mut text = String::from(if negative { "-" } else { "" });
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let whole = exponent + 1;
            if digits.len() <= whole {
                text.push_str(&digits);
                text.extend(std::iter::repeat_n('0', whole - digits.len()));
            } else {
                text.push_str(&digits[..whole]);
                text.push('.');
                text.push_str(&digits[whole..]);
            }
        }
        Err(_) => {
            text.push_str("0.");
            text.extend(std::iter::repeat_n('0', (exponent.unsigned_abs() - 1) as usize));
            text.push_str(&digits);
        }
    }
    text
}

/// `%g` has no trailing zeros.
fn significant(digits: &str) -> String {
    let trimmed = digits.trim_end_matches('0');
    if trimmed.is_empty() {
        "0".to_owned()
    } else {
        trimmed.to_owned()
    }
}

/// `#`: a point always, and the trailing zeros of `%g`.
fn with_point(text: String, verb: char, precision: Option<usize>) -> String {
    let (digits, tail) = match verb {
        'x' | 'X' => text.split_at(text.find(['p', 'P']).unwrap_or(text.len())),
        _ => text.split_at(text.find(['e', 'E']).unwrap_or(text.len())),
    };
    let wanted = match verb {
        'v' | 'g' | 'G' | 'x' => precision.unwrap_or(6).min(MOST_DIGITS),
        _ => 0,
    };
    let mut digits = digits.to_owned();
    let mut shown = digits
        .chars()
        .filter(|c| *c != '.')
        .skip_while(|c| *c == '0')
        .count();
    if !digits.contains('.') {
        if digits == "0" {
            shown += 1;
        }
        digits.push('.');
    }
    digits.extend(std::iter::repeat_n('0', wanted.saturating_sub(shown)));
    digits.push_str(tail);
    digits
}

/// The mantissa and exponent of a number, such that it is `mantissa * 2^exponent`.
fn parts(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let mantissa = bits & ((1 << 52) - 1);
    match i32::try_from((bits >> 52) & 0x7ff).unwrap_or_default() {
        0 => (mantissa, -1074),
        exponent => (mantissa | 1 << 52, exponent - 1075),
    }
}

fn binary(value: f64) -> String {
    let (mantissa, exponent) = parts(value);
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{mantissa}p{exponent:+}")
}

fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let (mut mantissa, mut exponent) = parts(value);
    if mantissa == 0 {
        exponent = 0;
    } else {
        // The first digit is a one, 52 bits below it.
        let shift = mantissa.leading_zeros() - 11;
        mantissa <<= shift;
        exponent += 52 - shift.cast_signed();
    }
    if let Some(precision) = precision.filter(|precision| *precision < 13) {
        let dropped = 4 * (13 - precision);
        let (kept, lost, half) = (
            mantissa >> dropped,
            mantissa & ((1 << dropped) - 1),
            1 << (dropped - 1),
        );
        let up = lost > half || (lost == half && kept & 1 == 1);
        mantissa = (kept + u64::from(up)) << dropped;
        if mantissa >> 53 == 1 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let fraction = format!("{:013x}", mantissa & ((1 << 52) - 1));
    let fraction = match precision {
        None => fraction.trim_end_matches('0').to_owned(),
        Some(precision) => format!("{fraction:0<width$}", width = precision.min(MOST_DIGITS))
            [..precision.min(MOST_DIGITS)]
            .to_owned(),
    };
    let point = if fraction.is_empty() { "" } else { "." };
    let direction = if exponent < 0 { '-' } else { '+' };
    format!(
        "{sign}0x{}{point}{fraction}p{direction}{:02}",
        mantissa >> 52,
        exponent.unsigned_abs()
    )
}
