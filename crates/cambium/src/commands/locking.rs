//! `cambium lock`: writes into an Application what each of its references must resolve to.

use anyhow::Result;
use cambium_api::names::annotation;
use cambium_oam::{Follow, asked, follow, moves, resolve};
use serde_json::Value;
use std::io::Write as _;
use std::path::Path;

use super::ask;
use super::world::World;
use crate::cli::Lock;
use crate::cue;
use crate::exit::{Refusals, UnreadableFile, WrongUse};

pub(crate) async fn lock(options: &Lock) -> Result<()> {
    let (client, mut namespace) = ask(&options.asking).await?;
    let source = cue::read(&options.file)?;
    let application = application_in(&options.file)?;
    if let Some(own) = application["metadata"]["namespace"].as_str() {
        own.clone_into(&mut namespace);
    }
    let world = World::read(&client).await?;
    let mut unlocked = application.clone();
    if let Some(annotations) = unlocked
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(annotation::LOCK);
    }
    let follow: Follow = follow(&unlocked).map_err(Refusals::from)?;
    let answers: Vec<_> = asked(&application)
        .iter()
        .map(|asked| resolve(&world.catalogue, &namespace, &follow, asked, None))
        .collect();
    let lock = moves::lock(&answers).map_err(Refusals::from)?.to_string();
    let text = with_annotation(&source.text, &lock).ok_or_else(|| {
        WrongUse(format!(
            "{}: metadata is not written as a block, so nothing can be put into it; add this annotation yourself:\n{}: '{lock}'",
            options.file.display(),
            annotation::LOCK
        ))
    })?;
    if options.dry_run || options.file == Path::new("-") {
        std::io::stdout().write_all(text.as_bytes())?;
        return Ok(());
    }
    std::fs::write(&options.file, text).map_err(|source| UnreadableFile {
        path: options.file.display().to_string(),
        source,
    })?;
    writeln!(
        std::io::stderr(),
        "{}: locked {} references",
        options.file.display(),
        answers.len()
    )?;
    Ok(())
}

/// The one Application in a file.
pub(super) fn application_in(file: &Path) -> Result<Value> {
    let source = cue::read(file)?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&source.text)
        .map_err(|error| WrongUse(format!("{}: {error}", source.name)))?;
    let mut applications = documents
        .into_iter()
        .filter(|document| document["kind"] == "Application");
    match (applications.next(), applications.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(WrongUse(format!("{} has no Application", source.name)).into()),
        (Some(_), Some(_)) => Err(WrongUse(format!(
            "{} has several Applications; give exactly one",
            source.name
        ))
        .into()),
    }
}

/// The text of an Application with a lock in its annotations; everything else stays as it was written.
fn with_annotation(text: &str, lock: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut begin = 0;
    let mut end = lines.len();
    // The document that is the Application.
    if lines.iter().any(|line| line.starts_with("---")) {
        let mut from = 0;
        for (index, line) in lines
            .iter()
            .enumerate()
            .chain(std::iter::once((lines.len(), &"---")))
        {
            if line.starts_with("---") {
                if lines[from..index]
                    .iter()
                    .any(|line| line.trim_end() == "kind: Application")
                {
                    (begin, end) = (from, index);
                }
                from = index + 1;
            }
        }
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let metadata = (begin..end).find(|&index| lines[index].trim_end() == "metadata:")?;
    let content = |index: &usize| {
        let line = lines[*index].trim();
        !line.is_empty() && !line.starts_with('#')
    };
    let first = (metadata + 1..end).find(|index| content(index))?;
    let inner = indent(lines[first]);
    if inner == 0 {
        return None;
    }
    let block_end = (metadata + 1..end)
        .find(|index| content(index) && indent(lines[*index]) < inner)
        .unwrap_or(end);
    let entry = |indent: usize| format!("{}{}: '{lock}'", " ".repeat(indent), annotation::LOCK);
    let annotations = (metadata + 1..block_end).find(|&index| {
        indent(lines[index]) == inner && lines[index].trim_start().starts_with("annotations:")
    });
    let mut out: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    match annotations {
        Some(index) if lines[index].trim() == "annotations:" => {
            let deeper = (index + 1..block_end).find(|index| content(index))?;
            let depth = indent(lines[deeper]);
            let known = (index + 1..block_end)
                .take_while(|&index| !content(&index) || indent(lines[index]) >= depth)
                .find(|&index| lines[index].trim_start().starts_with(annotation::LOCK));
            match known {
                Some(index) => out[index] = entry(depth),
                None => out.insert(index + 1, entry(depth)),
            }
        }
        Some(_) => return None,
        None => {
            out.insert(first, format!("{}annotations:", " ".repeat(inner)));
            out.insert(first + 1, entry(inner + 2));
        }
    }
    let mut text = out.join("\n");
    text.push('\n');
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::with_annotation;

    #[test]
    fn a_lock_is_put_where_annotations_are_and_nothing_else_changes() {
        let plain = "# mine\nkind: Application\nmetadata:\n  name: shop # the shop\nspec: {}\n";
        assert_eq!(
            with_annotation(plain, "{}").as_deref(),
            Some(
                "# mine\nkind: Application\nmetadata:\n  annotations:\n    app.oam.dev/lock: '{}'\n  name: shop # the shop\nspec: {}\n"
            )
        );
        let known = "kind: Application\nmetadata:\n  name: shop\n  annotations:\n    a: b\n    app.oam.dev/lock: 'old'\nspec: {}\n";
        assert_eq!(
            with_annotation(known, "{}").as_deref(),
            Some(
                "kind: Application\nmetadata:\n  name: shop\n  annotations:\n    a: b\n    app.oam.dev/lock: '{}'\nspec: {}\n"
            )
        );
        assert_eq!(
            with_annotation("kind: Application\nmetadata: {name: shop}\n", "{}"),
            None
        );
    }

    #[test]
    fn of_several_documents_the_application_is_locked() {
        let text = "kind: Other\nmetadata:\n  name: x\n---\nkind: Application\nmetadata:\n  name: shop\n";
        let locked = with_annotation(text, "{}").unwrap_or_default();
        assert_eq!(
            locked,
            "kind: Other\nmetadata:\n  name: x\n---\nkind: Application\nmetadata:\n  annotations:\n    app.oam.dev/lock: '{}'\n  name: shop\n"
        );
    }
}
