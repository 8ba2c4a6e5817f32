//! The files under `examples/`: each is shown by a guide or used by a test or the demo.

use std::path::Path;

use crate::documents::{files, markdown, root};

#[test]
fn every_example_is_used() {
    let mut users: String = markdown()
        .iter()
        .filter(|page| page.starts_with("docs/guides"))
        .map(|page| std::fs::read_to_string(root().join(page)).unwrap())
        .collect();
    for source in files(Path::new("crates")) {
        if source.extension().is_some_and(|extension| extension == "rs") {
            users += &std::fs::read_to_string(root().join(source)).unwrap();
        }
    }
    let unused: Vec<_> = files(Path::new("examples"))
        .into_iter()
        .filter(|example| {
            let directory = example.parent().unwrap_or(example);
            let command = format!("-d\", \"{}\"", directory.display());
            !users.contains(&example.display().to_string()) && !users.contains(&command)
        })
        .collect();
    assert_eq!(unused, [] as [&Path; 0], "examples that nothing uses");
}
