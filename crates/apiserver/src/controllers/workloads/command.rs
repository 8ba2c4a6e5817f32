//! Guesses how long a container would run, and its exit code, from its command.
//!
//! Containers run nothing, but a Job that sleeps for an hour should not complete in a second. For other commands the
//! defaults apply.
//!
//! | command | simulated as |
//! |---|---|
//! | `sleep 30`, `sleep 5m`, `sleep 1.5` | runs that long; several sleeps of a shell script add up |
//! | `sleep infinity` | runs until stopped |
//! | `pause`, `netexec`, `serve-hostname`, `tail -f …` | runs until stopped |
//! | `false`, `exit 3` | exits with that code |

use std::time::Duration;

use serde_json::Value;

use super::read;

/// The running time of containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Length {
    For(Duration),
    UntilStopped,
}

/// The behaviour of a pod's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Behaviour {
    /// The longest running time of any container, if known.
    pub(super) length: Option<Length>,
    /// The exit code of the first container that has one.
    pub(super) exit_code: Option<i64>,
}

impl Behaviour {
    /// Derives it from the commands of a pod's containers.
    pub(super) fn of(pod: &Value) -> Self {
        let mut behaviour = Self::default();
        for container in read::list(pod, "spec.containers") {
            let one = Self::of_words(&words(container));
            behaviour.length = behaviour.length.max(one.length);
            behaviour.exit_code = behaviour.exit_code.or(one.exit_code);
        }
        behaviour
    }

    fn of_words(words: &[String]) -> Self {
        let mut behaviour = Self::default();
        let mut total = None;
        for (index, word) in words.iter().enumerate() {
            let argument = words.get(index + 1).map_or("", String::as_str);
            match base(word) {
                "sleep" => total = Some(longer(total, argument)),
                "pause" | "netexec" | "serve-hostname" => total = Some(Length::UntilStopped),
                "tail" if argument.starts_with("-f") => total = Some(Length::UntilStopped),
                "exit" => behaviour.exit_code = argument.parse().ok(),
                "false" if index == 0 => behaviour.exit_code = Some(1),
                _ => {}
            }
        }
        behaviour.length = total;
        behaviour
    }
}

/// The words of a command with its arguments; shell scripts are split at command separators.
fn words(container: &Value) -> Vec<String> {
    let parts = ["command", "args"].map(|field| read::list(container, field));
    let parts = parts.into_iter().flatten().filter_map(Value::as_str);
    let separates = |letter: char| letter.is_whitespace() || ";&|(){}\"'".contains(letter);
    parts
        .flat_map(|part| part.split(separates))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn base(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

fn longer(so_far: Option<Length>, argument: &str) -> Length {
    let seconds = |text: &str, unit: f64| {
        let seconds = text.parse::<f64>().ok()? * unit;
        Duration::try_from_secs_f64(seconds).ok()
    };
    let more = match argument.chars().last() {
        Some('s') => seconds(argument.trim_end_matches('s'), 1.0),
        Some('m') => seconds(argument.trim_end_matches('m'), 60.0),
        Some('h') => seconds(argument.trim_end_matches('h'), 3600.0),
        Some('d') => seconds(argument.trim_end_matches('d'), 86400.0),
        _ => seconds(argument, 1.0),
    };
    match (so_far, more) {
        (Some(Length::UntilStopped), _) => Length::UntilStopped,
        (Some(Length::For(before)), Some(more)) => Length::For(before.saturating_add(more)),
        (None, Some(more)) => Length::For(more),
        // `infinity`, or something that only a shell knows.
        (_, None) => Length::UntilStopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(command: &[&str]) -> Behaviour {
        Behaviour::of(&json!({"spec": {"containers": [{"command": command}]}}))
    }

    fn lasts(seconds: u64) -> Option<Length> {
        Some(Length::For(Duration::from_secs(seconds)))
    }

    #[test]
    fn sleeps_last_as_long_as_they_say() {
        for (command, length) in [
            (&["sleep", "300"][..], lasts(300)),
            (&["/bin/sleep", "5m"], lasts(300)),
            (&["sh", "-c", "echo hi; sleep 10 && sleep 20"], lasts(30)),
            (&["sh", "-c", "sleep infinity"], Some(Length::UntilStopped)),
            (&["sleep", "$FOREVER"], Some(Length::UntilStopped)),
            (
                &["/agnhost", "netexec", "--http-port=80"],
                Some(Length::UntilStopped),
            ),
            (&["/bin/true"], None),
            (&[], None),
        ] {
            assert_eq!(of(command).length, length, "{command:?}");
        }
    }

    #[test]
    fn commands_that_fail_are_told_from_those_that_do_not() {
        assert_eq!(of(&["/bin/false"]).exit_code, Some(1));
        assert_eq!(of(&["sh", "-c", "sleep 1; exit 3"]).exit_code, Some(3));
        assert_eq!(of(&["/bin/true"]).exit_code, None);
        assert_eq!(of(&["echo", "false"]).exit_code, None);
    }

    #[test]
    fn a_pod_runs_as_long_as_its_longest_container() {
        let pod = json!({"spec": {"containers": [{"args": ["sleep", "5"]}, {"args": ["pause"]}, {}]}});
        assert_eq!(Behaviour::of(&pod).length, Some(Length::UntilStopped));
    }
}
