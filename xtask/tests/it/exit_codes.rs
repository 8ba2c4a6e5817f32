//! `docs/reference/exit-codes.md` has the codes of `crates/cambium/src/exit.rs`.

use std::collections::BTreeSet;

use crate::documents::root;

#[test]
fn every_exit_code_is_documented() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
    let source = read("crates/cambium/src/exit.rs");
    let used = source.lines().filter_map(|line| {
        let constant = line.split_once(": u8 = ")?.1;
        constant.trim_end_matches(';').parse().ok()
    });
    let used: BTreeSet<u8> = used.chain([0]).collect();
    assert!(used.len() > 5, "{used:?}");
    let page = read("docs/reference/exit-codes.md");
    let documented: BTreeSet<u8> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(' ').next()?.parse().ok())
        .collect();
    assert_eq!(documented, used);
}
