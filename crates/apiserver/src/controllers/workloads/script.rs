//! What a pod is told to act out, by annotations on it (usually on its template).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::object;

/// How long after its start a pod becomes ready: `30s`, `2m`, `1m30s`, `500ms`.
pub const READY_AFTER: &str = "simulate.cambium.dev/ready-after";
/// How a pod fails: `CrashLoopBackOff` or `ImagePullBackOff`. It never becomes ready.
pub const FAIL: &str = "simulate.cambium.dev/fail";
/// How long a pod is ready and then unready, in turn.
pub const FLAP: &str = "simulate.cambium.dev/flap";
/// What the containers exit with, when they do.
pub const EXIT_CODE: &str = "simulate.cambium.dev/exit-code";
/// How long the containers run before they exit.
pub const RUN_FOR: &str = "simulate.cambium.dev/run-for";

/// A way to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    CrashLoop,
    ImagePull,
}

/// What one pod acts out; what it is not told is left to the defaults.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Script {
    pub(super) ready_after: Option<Duration>,
    pub(super) fail: Option<Failure>,
    pub(super) flap: Option<Duration>,
    pub(super) exit_code: Option<i64>,
    pub(super) run_for: Option<Duration>,
    /// Annotations that say nothing sensible, with what they should say.
    pub(super) problems: BTreeMap<&'static str, String>,
}

impl Script {
    /// Reads the annotations of a pod.
    pub(super) fn of(pod: &Value) -> Self {
        let mut script = Self::default();
        let mut problems = BTreeMap::new();
        let mut read = |name: &'static str, expected: &str| -> Option<String> {
            let text = object::annotation(pod, name)?.to_owned();
            problems.insert(
                name,
                format!("{name}: {text:?} is not {expected}; the default applies"),
            );
            Some(text)
        };
        let a_duration = "a duration such as 30s, 1m30s or 500ms";
        script.ready_after = read(READY_AFTER, a_duration).and_then(|text| duration(&text));
        script.flap = read(FLAP, a_duration)
            .and_then(|text| duration(&text))
            .filter(|period| !period.is_zero());
        script.run_for = read(RUN_FOR, a_duration).and_then(|text| duration(&text));
        script.exit_code = read(EXIT_CODE, "a number from 0 to 255")
            .and_then(|text| text.parse().ok())
            .filter(|code| (0..=255).contains(code));
        script.fail =
            read(FAIL, "CrashLoopBackOff or ImagePullBackOff").and_then(|text| match text.as_str() {
                "CrashLoopBackOff" => Some(Failure::CrashLoop),
                "ImagePullBackOff" => Some(Failure::ImagePull),
                _ => None,
            });
        let understood = [
            (READY_AFTER, script.ready_after.is_some()),
            (FAIL, script.fail.is_some()),
            (FLAP, script.flap.is_some()),
            (EXIT_CODE, script.exit_code.is_some()),
            (RUN_FOR, script.run_for.is_some()),
        ];
        for (name, _) in understood.into_iter().filter(|(_, understood)| *understood) {
            problems.remove(name);
        }
        script.problems = problems;
        script
    }
}

/// A duration as Go writes it: `1h2m3s`, `500ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let unit_end = tail
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total += Duration::try_from_secs_f64(number * seconds).ok()?;
        rest = tail;
    }
    (!text.trim().is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, milliseconds) in [
            ("30s", 30_000),
            ("500ms", 500),
            ("1m30s", 90_000),
            ("1.5s", 1500),
            ("0s", 0),
        ] {
            assert_eq!(
                duration(text),
                Some(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for bad in ["", "30", "s", "-1s", "1d", "1s2"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_says_nothing_sensible_is_a_problem_and_the_default_applies() {
        let script = Script::of(&json!({"metadata": {"annotations": {
            READY_AFTER: "soon", FAIL: "Explode", EXIT_CODE: "3", FLAP: "0s"}}}));
        assert_eq!(script.exit_code, Some(3));
        assert_eq!((script.ready_after, script.fail, script.flap), (None, None, None));
        assert_eq!(
            script.problems.keys().copied().collect::<Vec<_>>(),
            [FAIL, FLAP, READY_AFTER]
        );
        assert_eq!(
            script.problems[FAIL],
            "simulate.cambium.dev/fail: \"Explode\" is not CrashLoopBackOff or ImagePullBackOff; the default applies"
        );
    }
}
