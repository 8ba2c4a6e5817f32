//! Chooses the version that v1beta1 shows: the highest.

use semver::Version;
use serde_json::Value;

/// The place of the highest version: the highest release, or the highest pre-release if there is no release.
///
/// Of equal versions (`"2"` and `"2.0.0"`, or twice the same) the first is taken; what is no version comes last.
pub fn highest(versions: &[Value]) -> Option<usize> {
    let mut best: Option<(usize, Option<Version>)> = None;
    for (place, entry) in versions.iter().enumerate().filter(|(_, entry)| entry.is_object()) {
        let version = entry.get("version").and_then(Value::as_str).and_then(declared);
        let better = match &best {
            None => true,
            Some((_, best)) => above(version.as_ref(), best.as_ref()),
        };
        if better {
            best = Some((place, version));
        }
    }
    best.map(|(place, _)| place)
}

fn above(one: Option<&Version>, other: Option<&Version>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => match (one.pre.is_empty(), other.pre.is_empty()) {
            (true, false) => true,
            (false, true) => false,
            _ => one.cmp_precedence(other).is_gt(),
        },
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// A version as definitions declare it: `2` is 2.0.0, `3.4` is 3.4.0, and with anything behind them numbers are not left out.
fn declared(text: &str) -> Option<Version> {
    let missing = match text.split('.').count() {
        _ if text.contains(['-', '+']) => "",
        1 => ".0.0",
        2 => ".0",
        _ => "",
    };
    Version::parse(&format!("{text}{missing}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(versions: &[&str], place: usize) {
        let entries: Vec<Value> = versions
            .iter()
            .map(|version| json!({"version": version}))
            .collect();
        assert_eq!(highest(&entries), Some(place), "{versions:?}");
    }

    #[test]
    fn numbers_are_compared_as_numbers() {
        check(&["1.2.9", "1.2.10", "1.2.3"], 1);
        check(&["2", "10", "3.4"], 1);
        check(&["3.4", "3.4.1", "3"], 1);
    }

    #[test]
    fn the_first_of_equals() {
        check(&["1", "2", "2.0.0", "2.0"], 1);
        check(&["2.0.0+b", "2.0.0+a"], 0);
    }

    #[test]
    fn a_release_before_any_pre_release() {
        check(&["1.0.0", "2.0.0-rc.1"], 0);
        check(&["2.0.0-rc.1", "2.0.0-rc.2", "2.0.0-beta"], 1);
    }

    #[test]
    fn what_is_no_version_comes_last() {
        check(&["latest", "v9", "0.0.1", "01.2.3", ""], 2);
        check(&["latest", "newest"], 0);
        assert_eq!(
            highest(&[json!(1), json!({"version": 3}), json!({"version": "1"})]),
            Some(2)
        );
        assert_eq!(highest(&[json!(1), json!({})]), Some(1));
        assert_eq!(highest(&[json!("1")]), None);
        assert_eq!(highest(&[]), None);
    }
}
