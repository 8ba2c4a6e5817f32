//! Runs sequences of steps, and shrinks failing ones.

use std::fmt::Display;

use anyhow::{Error, Result};

/// Runs a sequence. If it fails, removes steps one by one while the rest still fails; the error shows the remaining steps
/// and their failure.
pub async fn run_and_shrink<T, R>(steps: Vec<T>, mut run: R) -> Result<()>
where
    T: Clone + Display,
    R: AsyncFnMut(&[T]) -> Result<()>,
{
    let Err(mut error) = run(&steps).await else {
        return Ok(());
    };
    let (all, mut steps) = (steps.len(), steps);
    // From the end: what comes last is most often what nothing depends on.
    let mut index = steps.len();
    while index > 0 {
        index -= 1;
        let mut fewer = steps.clone();
        fewer.remove(index);
        if let Err(why) = run(&fewer).await {
            (steps, error) = (fewer, why);
        }
    }
    Err(report(&steps, all, error))
}

fn report<T: Display>(steps: &[T], all: usize, error: Error) -> Error {
    let shown: Vec<String> = steps.iter().map(|step| format!("  {step}")).collect();
    error.context(format!(
        "{} of {all} steps are enough:\n{}",
        steps.len(),
        shown.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    #[tokio::test]
    async fn what_does_not_matter_is_left_out() {
        let steps: Vec<u32> = (0..20).collect();
        let run = async |steps: &[u32]| match steps.contains(&3) && steps.contains(&17) {
            true => bail!("both"),
            false => Ok(()),
        };
        let error = run_and_shrink(steps, run).await.unwrap_err();
        assert_eq!(format!("{error:#}"), "2 of 20 steps are enough:\n  3\n  17: both");
    }

    #[tokio::test]
    async fn what_holds_is_run_once() -> Result<()> {
        let mut runs = 0;
        run_and_shrink(vec![1, 2], async |_: &[i32]| {
            runs += 1;
            Ok(())
        })
        .await?;
        assert_eq!(runs, 1);
        Ok(())
    }
}
