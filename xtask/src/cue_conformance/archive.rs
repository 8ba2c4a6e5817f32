//! Reads Go's txtar test archives: files separated by lines `-- name --`.

use std::path::Path;

use anyhow::Result;

/// A CUE file of an archive.
pub(super) struct Case {
    /// The archive and the file in it.
    pub(super) name: String,
    pub(super) text: String,
}

/// The self-contained files.
pub(super) struct Selection {
    pub(super) cases: Vec<Case>,
    /// The number of excluded archives, whose files import each other.
    pub(super) left_out: usize,
}

/// Every CUE file of every archive below a directory.
pub(super) fn cases(root: &Path) -> Result<Selection> {
    let mut selection = Selection {
        cases: Vec::new(),
        left_out: 0,
    };
    read(root, root, &mut selection)?;
    selection.cases.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(selection)
}

fn read(root: &Path, directory: &Path, selection: &mut Selection) -> Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            read(root, &path, selection)?;
        } else if path.extension().is_some_and(|extension| extension == "txtar") {
            let archive = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
            let name = path.strip_prefix(root)?.with_extension("").display().to_string();
            add(&name, &archive, selection);
        }
    }
    Ok(())
}

fn add(archive: &str, text: &str, selection: &mut Selection) {
    let files: Vec<(&str, &str)> = files(text)
        .into_iter()
        .filter(|(name, _)| name.ends_with(".cue") && !name.starts_with("out/"))
        .collect();
    if files.iter().any(|(name, _)| name.contains('/')) {
        selection.left_out += 1;
        return;
    }
    for (name, text) in files {
        // Go itself leaves these out of an ordinary export.
        if !name.ends_with("_test.cue") && !name.ends_with("_tool.cue") {
            selection.cases.push(Case {
                name: format!("{archive}/{name}"),
                text: text.to_owned(),
            });
        }
    }
}

/// The files of an archive with their names.
fn files(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut current: Option<(&str, usize)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let marker = line
            .trim_end()
            .strip_prefix("-- ")
            .and_then(|rest| rest.strip_suffix(" --"));
        if let Some(name) = marker {
            if let Some((before, start)) = current {
                found.push((before, &text[start..offset]));
            }
            current = Some((name.trim(), offset + line.len()));
        }
        offset += line.len();
    }
    if let Some((last, start)) = current {
        found.push((last, &text[start..]));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_taken_apart() {
        let archive = "a comment\n-- in.cue --\na: 1\n-- out/eval --\n(struct)\n-- x_test.cue --\nb: 2\n";
        let mut selection = Selection {
            cases: Vec::new(),
            left_out: 0,
        };
        add("dir/case", archive, &mut selection);
        assert_eq!(selection.cases.len(), 1);
        assert_eq!(selection.cases[0].name, "dir/case/in.cue");
        assert_eq!(selection.cases[0].text, "a: 1\n");
        add(
            "dir/other",
            "-- cue.mod/module.cue --\n-- in.cue --\n",
            &mut selection,
        );
        assert_eq!((selection.cases.len(), selection.left_out), (1, 1));
    }
}
