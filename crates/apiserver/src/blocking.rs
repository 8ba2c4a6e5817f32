//! Runs CPU-heavy expressions without blocking the async worker for other requests.

use serde_json::Value;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task;

/// Objects up to this size, roughly in bytes, are evaluated on the async worker.
const LARGE: usize = 64 << 10;

/// How expensive an evaluation may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// It grows with the size of the objects.
    BySize,
    /// It is expensive whatever the objects are.
    Much,
}

/// Runs expressions over objects. If that may take long, the other tasks of this worker move to another worker first
/// (`block_in_place`); a current-thread runtime has no other worker and runs them directly.
pub(crate) fn evaluate<T>(effort: Effort, objects: &[Option<&Value>], work: impl FnOnce() -> T) -> T {
    let has_others =
        || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    match (effort == Effort::Much || is_large(objects)) && has_others() {
        true => task::block_in_place(work),
        false => work(),
    }
}

/// Whether the objects together exceed [`LARGE`]; stops counting there.
fn is_large(objects: &[Option<&Value>]) -> bool {
    let mut left = LARGE;
    !objects.iter().flatten().all(|object| fits(object, &mut left))
}

fn fits(value: &Value, left: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len(),
        _ => 8,
    };
    let Some(rest) = left.checked_sub(own) else {
        return false;
    };
    *left = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| fits(item, left)),
        Value::Object(fields) => fields.iter().all(|(name, value)| {
            *left = left.saturating_sub(name.len());
            fits(value, left)
        }),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_are_large_by_all_that_is_in_them() {
        let text = "a".repeat(10_000);
        let small = json!({"a": [text, text, text], "b": {"c": 1}});
        assert!(!is_large(&[Some(&small), None]));
        assert!(is_large(&[Some(&small), None, Some(&small), Some(&small)]));
        assert!(is_large(&[Some(&json!(vec![0; 10_000]))]));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn one_thread_does_all_itself() {
        assert_eq!(evaluate(Effort::Much, &[], || 1), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_go_on_meanwhile() {
        let (send, receive) = std::sync::mpsc::channel();
        // It would wait for ever if the only worker were kept.
        let worked = tokio::spawn(async move {
            let (started, other) = tokio::sync::oneshot::channel();
            tokio::spawn(async move {
                let _ = other.await;
                let _ = send.send(1);
            });
            evaluate(Effort::Much, &[], || {
                let _ = started.send(());
                receive.recv_timeout(std::time::Duration::from_secs(60))
            })
        });
        assert_eq!(worked.await.ok(), Some(Ok(1)));
    }

    #[test]
    fn without_a_runtime_it_is_done_at_once() {
        assert_eq!(evaluate(Effort::Much, &[], || 1), 1);
    }
}
