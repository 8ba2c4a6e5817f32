//! Layouts: text with elements in it.

/// An element of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    Month,
    /// Of two digits when `zero`.
    NumberMonth {
        zero: bool,
    },
    LongWeekday,
    Weekday,
    Day(Padding),
    YearDay(Padding),
    Hour,
    Hour12 {
        zero: bool,
    },
    Minute {
        zero: bool,
    },
    Second {
        zero: bool,
    },
    LongYear,
    Year,
    /// `PM`, or `pm` when `lower`.
    HalfDay {
        lower: bool,
    },
    ZoneName,
    Zone(Zone),
    /// Fractional seconds after a separator; without trailing zeros when `trimmed`.
    Fraction {
        mark: u8,
        digits: usize,
        trimmed: bool,
    },
}

/// The padding of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    None,
    Space,
    Zero,
}

/// The format of an offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Zone {
    /// Whether UTC is `Z`.
    pub(super) utc_is_z: bool,
    pub(super) colons: bool,
    pub(super) parts: ZoneParts,
}

/// The written parts of an offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ZoneParts {
    Hours,
    Minutes,
    Seconds,
}

/// The text before the next element, the element with its text, and what follows.
pub(super) fn next(layout: &str) -> (&str, Option<(Element, &str)>, &str) {
    for (at, _) in layout.char_indices() {
        if let Some((element, skipped, length)) = element(&layout[at..]) {
            let start = at + skipped;
            let end = start + length;
            return (
                &layout[..start],
                Some((element, &layout[start..end])),
                &layout[end..],
            );
        }
    }
    (layout, None, "")
}

/// The element at the start of a text, the bytes of text before it, and its length.
fn element(text: &str) -> Option<(Element, usize, usize)> {
    let found = |element, length| Some((element, 0, length));
    let lower_after = |length: usize| text[length..].starts_with(|c: char| c.is_ascii_lowercase());
    if text.starts_with("January") {
        return found(Element::LongMonth, 7);
    }
    if text.starts_with("Jan") && !lower_after(3) {
        return found(Element::Month, 3);
    }
    if text.starts_with("Monday") {
        return found(Element::LongWeekday, 6);
    }
    if text.starts_with("Mon") && !lower_after(3) {
        return found(Element::Weekday, 3);
    }
    if text.starts_with("_2006") {
        return Some((Element::LongYear, 1, 4));
    }
    for (name, element) in FIXED {
        if text.starts_with(name) {
            return found(element, name.len());
        }
    }
    zone(text)
        .or_else(|| fraction(text))
        .map(|(element, length)| (element, 0, length))
}

/// Longest first where one starts with another.
const FIXED: [(&str, Element); 19] = [
    ("MST", Element::ZoneName),
    ("01", Element::NumberMonth { zero: true }),
    ("02", Element::Day(Padding::Zero)),
    ("03", Element::Hour12 { zero: true }),
    ("04", Element::Minute { zero: true }),
    ("05", Element::Second { zero: true }),
    ("06", Element::Year),
    ("002", Element::YearDay(Padding::Zero)),
    ("15", Element::Hour),
    ("1", Element::NumberMonth { zero: false }),
    ("2006", Element::LongYear),
    ("2", Element::Day(Padding::None)),
    ("_2", Element::Day(Padding::Space)),
    ("__2", Element::YearDay(Padding::Space)),
    ("3", Element::Hour12 { zero: false }),
    ("4", Element::Minute { zero: false }),
    ("5", Element::Second { zero: false }),
    ("PM", Element::HalfDay { lower: false }),
    ("pm", Element::HalfDay { lower: true }),
];

fn zone(text: &str) -> Option<(Element, usize)> {
    let utc_is_z = text.starts_with('Z');
    let rest = text.strip_prefix(['-', 'Z'])?;
    let forms = [
        ("070000", false, ZoneParts::Seconds),
        ("07:00:00", true, ZoneParts::Seconds),
        ("0700", false, ZoneParts::Minutes),
        ("07:00", true, ZoneParts::Minutes),
        ("07", false, ZoneParts::Hours),
    ];
    let (form, colons, parts) = forms.into_iter().find(|(form, ..)| rest.starts_with(form))?;
    Some((
        Element::Zone(Zone {
            utc_is_z,
            colons,
            parts,
        }),
        1 + form.len(),
    ))
}

fn fraction(text: &str) -> Option<(Element, usize)> {
    let [mark @ (b'.' | b','), digit @ (b'0' | b'9'), ..] = text.as_bytes() else {
        return None;
    };
    let digits = text.bytes().skip(1).take_while(|byte| byte == digit).count();
    let more = text.as_bytes().get(1 + digits).is_some_and(u8::is_ascii_digit);
    (!more).then_some((
        Element::Fraction {
            mark: *mark,
            digits,
            trimmed: *digit == b'9',
        },
        1 + digits,
    ))
}
