//! Integers: `%d %b %o %O %x %X %c %q %U`.

use super::out::Out;
use super::quote;

/// Prints the integer; false if the verb is not for integers.
pub(super) fn print(out: &mut Out, value: i64, verb: char) -> bool {
    let magnitude = value.unsigned_abs();
    match verb {
        'v' | 'd' => digits(out, value, &magnitude.to_string(), verb),
        'b' => digits(out, value, &format!("{magnitude:b}"), verb),
        'o' | 'O' => digits(out, value, &format!("{magnitude:o}"), verb),
        'x' => digits(out, value, &format!("{magnitude:x}"), verb),
        'X' => digits(out, value, &format!("{magnitude:X}"), verb),
        'c' => out.padded(character(value).encode_utf8(&mut [0; 4])),
        'q' if out.flags.plus => out.padded(&quote::quoted_character_ascii(character(value))),
        'q' => out.padded(&quote::quoted_character(character(value))),
        'U' => code_point(out, value),
        _ => return false,
    }
    true
}

fn digits(out: &mut Out, value: i64, digits: &str, verb: char) {
    let flags = out.flags;
    if flags.precision == Some(0) && value == 0 {
        let zero = std::mem::take(&mut out.flags.zero);
        out.fill(flags.width.unwrap_or(0));
        out.flags.zero = zero;
        return;
    }
    let sign = match value {
        ..0 => "-",
        _ if flags.plus => "+",
        _ if flags.space => " ",
        _ => "",
    };
    let least = match (flags.precision, flags.width) {
        (Some(precision), _) => precision,
        (None, Some(width)) if flags.zero && !flags.minus => width.saturating_sub(sign.len()),
        _ => 0,
    };
    let zeros = least.saturating_sub(digits.len());
    let prefix = match verb {
        'b' if flags.sharp => "0b",
        'o' if flags.sharp && zeros == 0 && !digits.starts_with('0') => "0",
        'O' if flags.sharp && zeros == 0 && !digits.starts_with('0') => "0o0",
        'O' => "0o",
        'x' if flags.sharp => "0x",
        'X' if flags.sharp => "0X",
        _ => "",
    };
    let missing = flags
        .width
        .unwrap_or(0)
        .saturating_sub(sign.len() + prefix.len() + zeros + digits.len());
    if !flags.minus {
        out.repeat(' ', missing);
    }
    out.text(sign);
    out.text(prefix);
    out.repeat('0', zeros);
    out.text(digits);
    if flags.minus {
        out.repeat(' ', missing);
    }
}

fn code_point(out: &mut Out, value: i64) {
    // Go shows the bits of a negative number.
    let bits = value.cast_unsigned();
    let digits = format!("{bits:X}");
    let zeros = out
        .flags
        .precision
        .unwrap_or(0)
        .max(4)
        .saturating_sub(digits.len());
    let shown = u32::try_from(bits)
        .ok()
        .and_then(char::from_u32)
        .filter(|_| out.flags.sharp);
    let shown = shown.filter(|character| cambium_go_text::prints(*character));
    let shown = shown
        .map(|character| format!(" '{character}'"))
        .unwrap_or_default();
    let length = 2 + zeros + digits.len() + shown.chars().count();
    let missing = out.flags.width.unwrap_or(0).saturating_sub(length);
    if !out.flags.minus {
        out.repeat(' ', missing);
    }
    out.text("U+");
    out.repeat('0', zeros);
    out.text(&digits);
    out.text(&shown);
    if out.flags.minus {
        out.repeat(' ', missing);
    }
}

fn character(value: i64) -> char {
    u32::try_from(value)
        .ok()
        .and_then(char::from_u32)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}
