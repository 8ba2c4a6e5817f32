//! Validation of cron schedules such as `*/5 * * * mon-fri`.

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// The range of one field of a schedule.
struct Bounds {
    least: u64,
    most: u64,
    names: &'static [&'static str],
}

const BOUNDS: [Bounds; 5] = [
    Bounds {
        least: 0,
        most: 59,
        names: &[],
    },
    Bounds {
        least: 0,
        most: 23,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 31,
        names: &[],
    },
    Bounds {
        least: 1,
        most: 12,
        names: &MONTHS,
    },
    Bounds {
        least: 0,
        most: 6,
        names: &DAYS,
    },
];

/// Validates a schedule, with upstream's error messages.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    if let Some(descriptor) = schedule.strip_prefix('@') {
        return match descriptor {
            "yearly" | "annually" | "monthly" | "weekly" | "daily" | "midnight" | "hourly" => Ok(()),
            _ => match descriptor.strip_prefix("every ") {
                Some(duration) => every(duration)
                    .map_err(|why| format!("failed to parse duration {schedule}: time: {why} {duration:?}")),
                None => Err(format!("unrecognized descriptor: {schedule}")),
            },
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != BOUNDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    for (field, bounds) in fields.iter().zip(&BOUNDS) {
        for part in field.split(',').filter(|part| !part.is_empty()) {
            range(part, bounds)?;
        }
    }
    Ok(())
}

fn range(text: &str, bounds: &Bounds) -> Result<(), String> {
    let and_step: Vec<&str> = text.split('/').collect();
    let ends: Vec<&str> = and_step[0].split('-').collect();
    let is_star = matches!(ends[0], "*" | "?");
    let (start, mut end) = if is_star {
        (bounds.least, bounds.most)
    } else {
        let start = number_or_name(ends[0], bounds)?;
        match ends[..] {
            [_] => (start, start),
            [_, end] => (start, number_or_name(end, bounds)?),
            _ => return Err(format!("too many hyphens: {text}")),
        }
    };
    let step = match and_step[..] {
        [_] => 1,
        [_, step] => {
            let step = number(step)?;
            if ends.len() == 1 {
                end = bounds.most;
            }
            step
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < bounds.least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({}): {text}",
            bounds.least
        ));
    }
    if end > bounds.most {
        return Err(format!(
            "end of range ({end}) above maximum ({}): {text}",
            bounds.most
        ));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    Ok(())
}

fn number_or_name(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let lower = text.to_lowercase();
    match bounds.names.iter().position(|name| *name == lower) {
        Some(index) => Ok(bounds.least + index as u64),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u64, String> {
    let number: i64 = text.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")
    })?;
    u64::try_from(number).map_err(|_| format!("negative number ({number}) not allowed: {text}"))
}

/// Validates the Go duration of `@every 1h30m`.
fn every(text: &str) -> Result<(), &'static str> {
    let mut rest = text.trim_start_matches(['+', '-']);
    if rest == "0" {
        return Ok(());
    }
    if rest.is_empty() {
        return Err("invalid duration");
    }
    while !rest.is_empty() {
        let digits = rest.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        if digits.len() == rest.len() {
            return Err("invalid duration");
        }
        let after = digits.trim_start_matches(|letter: char| !letter.is_ascii_digit() && letter != '.');
        match &digits[..digits.len() - after.len()] {
            "h" | "m" | "s" | "ms" | "us" | "µs" | "ns" => rest = after,
            "" => return Err("missing unit in duration"),
            _ => return Err("unknown unit in duration"),
        }
    }
    Ok(())
}
