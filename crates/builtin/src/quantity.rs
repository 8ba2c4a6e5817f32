//! Resource quantities: `500m`, `1.5Gi`, `1e3`.
//!
//! A quantity is an integer times a power of ten, and remembers the format (suffix family) it was written in.

mod arithmetic;

use std::cmp::Ordering;
use std::fmt;

const FORMAT_WRONG: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_WRONG: &str = "unable to parse quantity's suffix";
const NUMBER_WRONG: &str = "unable to parse numeric part of quantity";

/// Maximum digits before the decimal point.
const MOST_WHOLE_DIGITS: usize = 26;
/// Significant digits after the decimal point.
const MOST_FRACTION_DIGITS: usize = 11;

const DECIMAL: [(&str, i64); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A resource quantity.
#[derive(Debug, Clone)]
pub struct Quantity {
    value: i128,
    scale: i64,
    format: Format,
    /// The text that it was parsed from, if it is canonical.
    text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

impl Quantity {
    /// Parses a quantity, with Kubernetes' error messages.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if text.is_empty() {
            return Err(FORMAT_WRONG);
        }
        let parts = Parts::of(text)?;
        let (format, exponent) = suffix(parts.suffix)?;
        match format {
            Format::Binary => binary(text, &parts, exponent),
            _ => decimal(text, &parts, format, exponent),
        }
    }

    /// Whether it is negative.
    pub fn is_negative(&self) -> bool {
        self.value < 0
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.value == 0
    }

    /// Whether it is an integer.
    pub fn is_whole(&self) -> bool {
        let (_, exponent) = without_tens(self.value, self.scale);
        self.value == 0 || exponent >= 0
    }

    /// Whether it is a multiple of another quantity.
    pub fn is_multiple_of(&self, part: &Self) -> bool {
        match (self.whole(), part.whole()) {
            (Some(all), Some(part)) => part > 0 && all > 0 && all % part == 0,
            _ => false,
        }
    }

    /// Rounds up to thousandths.
    pub fn round_up_to_milli(&mut self) {
        if self.scale >= -3 {
            return;
        }
        let up = rounded_up(self.value, self.scale, -3);
        if (up, -3) != (self.value, self.scale) {
            *self = Self {
                value: up,
                scale: -3,
                format: self.format,
                text: None,
            };
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let by_sign = self.value.signum().cmp(&other.value.signum());
        if by_sign != Ordering::Equal || self.value == 0 {
            return Some(by_sign);
        }
        let (mine, my_scale) = without_tens(self.value.abs(), self.scale);
        let (theirs, their_scale) = without_tens(other.value.abs(), other.scale);
        let by_size = (digits(mine) + my_scale)
            .cmp(&(digits(theirs) + their_scale))
            .then_with(|| {
                // The first digits stand at the same place, so the difference of scales is small.
                let common = my_scale.min(their_scale);
                let scaled = |value: i128, scale: i64| value.saturating_mul(power(scale - common));
                scaled(mine, my_scale).cmp(&scaled(theirs, their_scale))
            });
        Some(if self.value < 0 {
            by_size.reverse()
        } else {
            by_size
        })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.text {
            return formatter.write_str(text);
        }
        if self.value == 0 {
            return formatter.write_str("0");
        }
        if self.format == Format::Binary
            && let Some(whole) = self.whole().filter(|whole| whole.abs() >= 1024)
        {
            let (mut value, mut step) = (whole, 0);
            while value % 1024 == 0 && step < BINARY.len() {
                value /= 1024;
                step += 1;
            }
            let suffix = if step == 0 { "" } else { BINARY[step - 1] };
            return write!(formatter, "{value}{suffix}");
        }
        let (mut value, mut exponent) = without_tens(self.value, self.scale);
        while exponent % 3 != 0 {
            value = value.saturating_mul(10);
            exponent -= 1;
        }
        match self.format {
            Format::Exponent if exponent != 0 => write!(formatter, "{value}e{exponent}"),
            Format::Exponent => write!(formatter, "{value}"),
            _ => {
                // An amount beyond the suffixes loses them, upstream too.
                let suffix = DECIMAL.iter().find(|(_, power)| *power == exponent);
                write!(formatter, "{value}{}", suffix.map_or("", |(suffix, _)| suffix))
            }
        }
    }
}

impl Quantity {
    fn whole(&self) -> Option<i128> {
        let (value, exponent) = without_tens(self.value, self.scale);
        match exponent {
            0..=30 => value.checked_mul(power(exponent)),
            _ => None,
        }
    }
}

/// The parts of a quantity's text.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
}

impl<'t> Parts<'t> {
    fn of(text: &'t str) -> Result<Self, &'static str> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, rest) = leading_digits(unsigned.trim_start_matches('0'));
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => leading_digits(rest),
            None => ("", rest),
        };
        let tail = rest.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
        let tail = tail.strip_prefix(['-', '+']).unwrap_or(tail);
        if !tail.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(FORMAT_WRONG);
        }
        Ok(Self {
            negative: text.starts_with('-'),
            whole: if whole.is_empty() { "0" } else { whole },
            fraction,
            suffix: rest,
        })
    }

    /// All digits as one integer, and the number of digits after the decimal point.
    fn number(&self) -> Result<(i128, i64), &'static str> {
        if self.whole.len() > MOST_WHOLE_DIGITS {
            return Err(NUMBER_WRONG);
        }
        let (kept, lost) = self
            .fraction
            .split_at(self.fraction.len().min(MOST_FRACTION_DIGITS));
        let mut number: i128 = format!("{}{kept}", self.whole)
            .parse()
            .map_err(|_| NUMBER_WRONG)?;
        if lost.bytes().any(|digit| digit != b'0') {
            number += 1;
        }
        let length = i64::try_from(kept.len()).unwrap_or_default();
        Ok((if self.negative { -number } else { number }, length))
    }
}

fn leading_digits(text: &str) -> (&str, &str) {
    text.split_at(
        text.find(|digit: char| !digit.is_ascii_digit())
            .unwrap_or(text.len()),
    )
}

/// The format of a suffix, and its power of ten or two.
fn suffix(text: &str) -> Result<(Format, i64), &'static str> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(suffix, _)| *suffix == text) {
        return Ok((Format::Decimal, *exponent));
    }
    if let Some(index) = BINARY.iter().position(|suffix| *suffix == text) {
        return Ok((Format::Binary, i64::try_from(index).unwrap_or_default() * 10 + 10));
    }
    let exponent = text.strip_prefix(['e', 'E']).ok_or(SUFFIX_WRONG)?;
    let exponent: i32 = exponent.parse().map_err(|_| SUFFIX_WRONG)?;
    Ok((Format::Exponent, exponent.into()))
}

fn decimal(text: &str, parts: &Parts, format: Format, exponent: i64) -> Result<Quantity, &'static str> {
    let (value, behind) = parts.number()?;
    let scale = exponent - behind;
    let length = parts.whole.len() + parts.fraction.len();
    let is_short = length <= 18 && scale >= -9;
    let shown = format!("{}{}", parts.whole, parts.fraction);
    let is_canonical = is_short && scale % 3 == 0 && !shown.ends_with("000") && !shown.starts_with('0');
    let (value, scale) = match scale < -9 && value != 0 {
        true => (rounded_up(value, scale, -9), -9),
        false => (value, scale),
    };
    Ok(Quantity {
        value,
        scale,
        format,
        text: is_canonical.then(|| text.to_owned()),
    })
}

fn binary(text: &str, parts: &Parts, exponent: i64) -> Result<Quantity, &'static str> {
    let (number, behind) = parts.number()?;
    let most = i128::from(i64::MAX);
    let factor = 1_i128 << exponent.clamp(0, 60);
    let exact = number.checked_mul(factor);
    let is_short = parts.fraction.is_empty() && parts.whole.len() < 14 - (exponent as usize * 3 / 10).min(13);
    let is_canonical = is_short && number & 7 != 0;
    let (mut value, mut scale) = (exact.unwrap_or(most * number.signum()), -behind);
    if exact.is_none() {
        scale = 0;
    }
    if scale < -9 {
        (value, scale) = (rounded_up(value, scale, -9), -9);
    }
    let mut quantity = Quantity {
        value,
        scale,
        format: Format::Binary,
        text: is_canonical.then(|| text.to_owned()),
    };
    let limit = |value: i128| Quantity {
        value,
        scale: 0,
        format: Format::Binary,
        text: None,
    };
    if !is_short && quantity > limit(most) {
        quantity = limit(most);
    } else if !is_short && quantity < limit(-most) {
        quantity = limit(-most);
    }
    if quantity.value > 0 && quantity < limit(1) {
        quantity.format = Format::Decimal;
    }
    Ok(quantity)
}

/// Rounds `value * 10^from` away from zero to a multiple of `10^to`.
fn rounded_up(value: i128, from: i64, to: i64) -> i128 {
    let steps = to - from;
    if value == 0 || steps <= 0 {
        return value;
    }
    if steps > 37 {
        return value.signum();
    }
    let step = power(steps);
    let (quotient, rest) = (value / step, value % step);
    quotient + rest.signum()
}

fn without_tens(mut value: i128, mut scale: i64) -> (i128, i64) {
    while value != 0 && value % 10 == 0 {
        value /= 10;
        scale += 1;
    }
    (value, scale)
}

fn digits(value: i128) -> i64 {
    value
        .checked_ilog10()
        .map_or(1, |power_of_ten| i64::from(power_of_ten) + 1)
}

fn power(exponent: i64) -> i128 {
    10_i128
        .checked_pow(u32::try_from(exponent).unwrap_or_default())
        .unwrap_or(i128::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_upstream_writes_them() {
        let cases = [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("1000", "1k"),
            ("0.1Ki", "102400m"),
            ("1e6", "1e6"),
            ("1E3", "1E3"),
            ("9223372036854775808", "9223372036854775808"),
            ("99999999999999999999", "99999999999999999999"),
            ("1000000Ki", "1000000Ki"),
            (".5", "500m"),
            ("1.", "1."),
            ("+5", "+5"),
            ("1e1000", "10e999"),
            ("1 ", "1"),
            ("1000Ei", "9223372036854775807"),
            ("1000000000E", "1"),
            ("0", "0"),
            ("-0", "0"),
            ("-1", "-1"),
            ("100Mi", "100Mi"),
            ("512Mi", "512Mi"),
            ("2048Ki", "2Mi"),
        ];
        for (text, expected) in cases {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), expected, "{text}");
        }
        for text in ["1x", "abc", "", "1..2", "true"] {
            assert_eq!(Quantity::parse(text).unwrap_err(), FORMAT_WRONG, "{text}");
        }
        for text in ["1e", "1ki", "1Kii"] {
            assert!(Quantity::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn small_amounts_are_rounded_up() {
        for (text, expected) in [
            ("1e-10", "1e-3"),
            ("1500u", "2m"),
            ("0.12345", "124m"),
            ("1.2345678901234567890123", "1235m"),
        ] {
            let mut quantity = Quantity::parse(text).unwrap();
            quantity.round_up_to_milli();
            assert_eq!(quantity.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn quantities_compare_by_amount() {
        let ordered = [
            "-1Gi", "-1", "0", "1n", "1m", "0.5", "1", "1Ki", "1Mi", "1G", "1Gi", "1e20", "1e900",
        ];
        let parsed: Vec<_> = ordered
            .iter()
            .map(|text| Quantity::parse(text).unwrap())
            .collect();
        assert!(parsed.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(Quantity::parse("1000m").unwrap(), Quantity::parse("1").unwrap());
        assert!(Quantity::parse("1k").unwrap().is_whole());
        assert!(!Quantity::parse("1500m").unwrap().is_whole());
    }
}
