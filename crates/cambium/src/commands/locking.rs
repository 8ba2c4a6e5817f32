//! `cambium lock`: writes the version and digest that each reference must resolve to into an Application.

use anyhow::Result;
use cambium_api::names::annotation;
use cambium_cue::Source;
use cambium_definitions::application::answers;
use cambium_definitions::moves;
use serde_json::Value;
use std::path::Path;

use super::listing::{Reach, Reading};
use crate::cli::Lock;
use crate::exit::{Refusals, UnreadableFile, WrongUse};
use crate::{client, cue, output};

pub(crate) async fn lock(options: &Lock) -> Result<()> {
    let source = cue::read(&options.file)?;
    let application = application_in(&source)?;
    let client = client::connect(&options.cluster).await?;
    let own = application["metadata"]["namespace"].as_str();
    let namespace = own
        .or(options.namespace.as_deref())
        .unwrap_or(client.default_namespace())
        .to_owned();
    let inventory = Reading::all_of_applications(&client, Reach::From(&namespace)).await?;
    inventory.sees_all_of(&namespace, &application)?;
    let definitions = &inventory.definitions;
    let mut unlocked = application.clone();
    if let Some(annotations) = unlocked
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        annotations.remove(annotation::LOCK);
    }
    // What is there already is locked to what it uses.
    let unlocked = definitions.as_if_live(&namespace, &unlocked);
    let recorded = definitions.recorded_of(&namespace, &unlocked);
    let answers = answers(&unlocked, recorded, definitions.catalogue())
        .map_err(Refusals::from)?
        .answers;
    let lock = moves::lock(&answers).map_err(Refusals::from)?.to_string();
    let text = with_annotation(&source.text, &lock).ok_or_else(|| {
        WrongUse(format!(
            "{}: cannot see where to put it without changing the rest; add this annotation yourself:\n{}: '{lock}'",
            source.name,
            annotation::LOCK
        ))
    })?;
    if options.dry_run || options.file == Path::new("-") {
        return output::write(&text);
    }
    std::fs::write(&options.file, text).map_err(|source| UnreadableFile {
        path: options.file.display().to_string(),
        source,
    })?;
    let count = match answers.len() {
        1 => "1 reference".to_owned(),
        count => format!("{count} references"),
    };
    output::note(&format!("{}: locked {count}", source.name));
    Ok(())
}

/// The one Application in a file.
pub(super) fn application_in(source: &Source) -> Result<Value> {
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

/// The text of an Application with a lock in its annotations; everything else stays as it was written. Nothing, if the text is not
/// written in lines, and if it would come to mean something else.
fn with_annotation(text: &str, lock: &str) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let locked = insert(&lines, lock)?;
    let read = |text: &str| serde_saphyr::from_multiple::<Value>(text).ok();
    let mut expected = read(text)?;
    for document in &mut expected {
        if document["kind"] == "Application" {
            document["metadata"]["annotations"][annotation::LOCK] = Value::String(lock.to_owned());
        }
    }
    (read(&locked)? == expected).then_some(locked)
}

fn insert(lines: &[&str], lock: &str) -> Option<String> {
    let content = |index: &usize| {
        let line = lines[*index].trim();
        !line.is_empty() && !line.starts_with('#')
    };
    let indent = |index: usize| lines[index].len() - lines[index].trim_start().len();
    let is = |index: usize, key: &str| {
        let rest = lines[index].trim().strip_prefix(key).map(str::trim_start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
    };
    let (begin, end) = application_lines(lines)?;
    let metadata = (begin..end).find(|&index| lines[index].starts_with("metadata:"))?;
    if !is(metadata, "metadata:") {
        return in_one_line(lines, metadata, lock);
    }
    let first = (metadata + 1..end).find(content)?;
    let inner = indent(first);
    if inner == 0 {
        return None;
    }
    let block_end = (first..end)
        .find(|index| content(index) && indent(*index) < inner)
        .unwrap_or(end);
    let ending = if lines[metadata].ends_with("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let entry = |indent: usize| format!("{}{}: '{lock}'{ending}", " ".repeat(indent), annotation::LOCK);
    let annotations = (first..block_end)
        .find(|&index| indent(index) == inner && lines[index].trim_start().starts_with("annotations:"));
    let mut out: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
    let Some(annotations) = annotations else {
        out.insert(first, entry(inner + 2));
        out.insert(first, format!("{}annotations:{ending}", " ".repeat(inner)));
        return Some(out.concat());
    };
    if !is(annotations, "annotations:") {
        return None;
    }
    let deeper = (annotations + 1..block_end).find(content)?;
    let depth = indent(deeper);
    let known = (deeper..block_end)
        .find(|&index| indent(index) == depth && lines[index].trim_start().starts_with(annotation::LOCK));
    match known {
        Some(known) => {
            // A text that goes on in deeper lines goes with its first line.
            let after = (known + 1..block_end)
                .find(|&index| content(&index) && indent(index) <= depth)
                .unwrap_or(block_end);
            out.splice(known..after, [entry(depth)]);
        }
        None => out.insert(annotations + 1, entry(depth)),
    }
    Some(out.concat())
}

/// Where metadata is written as `metadata: {…}`.
fn in_one_line(lines: &[&str], metadata: usize, lock: &str) -> Option<String> {
    let entry = format!("{}: '{lock}'", annotation::LOCK);
    let line = lines[metadata];
    let line = match line.contains("annotations: {") {
        true => line.replacen("annotations: {", &format!("annotations: {{{entry}, "), 1),
        false => line.replacen('{', &format!("{{annotations: {{{entry}}}, "), 1),
    };
    Some([lines[..metadata].concat(), line, lines[metadata + 1..].concat()].concat())
}

/// The lines of the document that is the Application.
fn application_lines(lines: &[&str]) -> Option<(usize, usize)> {
    let mut from = 0;
    for index in 0..=lines.len() {
        if lines.get(index).is_some_and(|line| !line.starts_with("---")) {
            continue;
        }
        let document: Option<Value> = serde_saphyr::from_str(&lines[from..index].concat()).ok();
        if document.is_some_and(|document| document["kind"] == "Application") {
            return Some((from, index));
        }
        from = index + 1;
    }
    None
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
            with_annotation("kind: Application\nmetadata: {name: shop}\n", "{}").as_deref(),
            Some("kind: Application\nmetadata: {annotations: {app.oam.dev/lock: '{}'}, name: shop}\n")
        );
        assert_eq!(
            with_annotation("{kind: Application, metadata: {name: shop}}\n", "{}"),
            None
        );
    }

    #[test]
    fn a_lock_over_several_lines_is_replaced_whole_and_line_ends_stay() {
        let long = "kind: Application\nmetadata:\n  annotations: # mine\n    app.oam.dev/lock: >-\n      {\n      }\n    a: b\n  name: shop\n";
        assert_eq!(
            with_annotation(long, "{}").as_deref(),
            Some(
                "kind: Application\nmetadata:\n  annotations: # mine\n    app.oam.dev/lock: '{}'\n    a: b\n  name: shop\n"
            )
        );
        let windows = "kind: Application\r\nmetadata:\r\n  name: shop\r\n";
        assert_eq!(
            with_annotation(windows, "{}").as_deref(),
            Some(
                "kind: Application\r\nmetadata:\r\n  annotations:\r\n    app.oam.dev/lock: '{}'\r\n  name: shop\r\n"
            )
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
