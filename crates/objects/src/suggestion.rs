//! Suggestions for misspelt names.

/// The longest name that is compared.
const LONGEST: usize = 64;

/// The name that was probably meant, without regard to case: the more letters are written, the more of them may be wrong.
pub fn meant<'n>(written: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let close = (written.len() / 3).clamp(1, 3);
    names
        .map(|name| (distance(written, name), name))
        .filter(|(distance, _)| *distance <= close)
        .min()
        .map(|(_, name)| name)
}

/// The edit distance between two names: letters added, dropped, changed, or swapped with their neighbours.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (
        left.to_lowercase().chars().take(LONGEST).collect(),
        right.to_lowercase().chars().take(LONGEST).collect(),
    );
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (i, &one) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &other) in right.iter().enumerate() {
            let changed = rows[i][j] + usize::from(one != other);
            let mut best = changed.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && one == right[j - 1] && left[i - 1] == other {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_names_are_not() {
        let known = ["spec", "size", "replicas", "toFieldPath", "fmt"];
        for (written, expected) in [
            ("sise", Some("size")),
            ("replicsa", Some("replicas")),
            ("toFeildPaht", Some("toFieldPath")),
            ("tofieldpath", Some("toFieldPath")),
            ("ftm", Some("fmt")),
            ("colour", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(meant(written, known.into_iter()), expected, "{written}");
        }
        assert_eq!(meant(&"a".repeat(100_000), known.into_iter()), None);
    }
}
