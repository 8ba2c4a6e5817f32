//! Annotations that control the simulation of a pod (usually set on its template).

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::object;

/// How long after its start a pod becomes ready: `30s`, `2m`, `1m30s`, `500ms`.
pub const READY_AFTER: &str = "simulate.cambium.dev/ready-after";
/// How a pod fails: `CrashLoopBackOff` or `ImagePullBackOff`. It never becomes ready.
pub const FAIL: &str = "simulate.cambium.dev/fail";
/// Period of a flapping pod: ready and unready in turn for this long.
pub const FLAP: &str = "simulate.cambium.dev/flap";
/// The exit code of the containers.
pub const EXIT_CODE: &str = "simulate.cambium.dev/exit-code";
/// How long the containers run before they exit.
pub const RUN_FOR: &str = "simulate.cambium.dev/run-for";

/// A simulated failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    CrashLoop,
    ImagePull,
}

/// The annotations of a pod; unset fields use the defaults of [`super::Simulation`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Overrides {
    pub(super) ready_after: Option<Duration>,
    pub(super) fail: Option<Failure>,
    pub(super) flap: Option<Duration>,
    pub(super) exit_code: Option<i64>,
    pub(super) run_for: Option<Duration>,
    /// Invalid annotations, with messages.
    pub(super) problems: BTreeMap<&'static str, String>,
}

impl Overrides {
    /// Parses the annotations of a pod.
    pub(super) fn of(pod: &Value) -> Self {
        let mut overrides = Self::default();
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
        overrides.ready_after = read(READY_AFTER, a_duration).and_then(|text| duration(&text));
        overrides.flap = read(FLAP, a_duration)
            .and_then(|text| duration(&text))
            .filter(|period| !period.is_zero());
        overrides.run_for = read(RUN_FOR, a_duration).and_then(|text| duration(&text));
        overrides.exit_code = read(EXIT_CODE, "a number from 0 to 255")
            .and_then(|text| text.parse().ok())
            .filter(|code| (0..=255).contains(code));
        overrides.fail =
            read(FAIL, "CrashLoopBackOff or ImagePullBackOff").and_then(|text| match text.as_str() {
                "CrashLoopBackOff" => Some(Failure::CrashLoop),
                "ImagePullBackOff" => Some(Failure::ImagePull),
                _ => None,
            });
        let understood = [
            (READY_AFTER, overrides.ready_after.is_some()),
            (FAIL, overrides.fail.is_some()),
            (FLAP, overrides.flap.is_some()),
            (EXIT_CODE, overrides.exit_code.is_some()),
            (RUN_FOR, overrides.run_for.is_some()),
        ];
        for (name, _) in understood.into_iter().filter(|(_, understood)| *understood) {
            problems.remove(name);
        }
        overrides.problems = problems;
        overrides
    }
}

/// Parses a Go duration: `1h2m3s`, `500ms`.
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
        let overrides = Overrides::of(&json!({"metadata": {"annotations": {
            READY_AFTER: "soon", FAIL: "Explode", EXIT_CODE: "3", FLAP: "0s"}}}));
        assert_eq!(overrides.exit_code, Some(3));
        assert_eq!(
            (overrides.ready_after, overrides.fail, overrides.flap),
            (None, None, None)
        );
        assert_eq!(
            overrides.problems.keys().copied().collect::<Vec<_>>(),
            [FAIL, FLAP, READY_AFTER]
        );
        assert_eq!(
            overrides.problems[FAIL],
            "simulate.cambium.dev/fail: \"Explode\" is not CrashLoopBackOff or ImagePullBackOff; the default applies"
        );
    }
}
