//! Unknown fields: reads them from the refusal of an API server, and removes them from a manifest.
//!
//! A server-side apply with a field that the schema of its kind does not have is refused as a whole, where a create or an update
//! drops the field. The refusal names each field by a path such as `.spec.containers[name="web"].env[name="A"].note`.

use serde_json::{Deserializer, Value};

const NOT_DECLARED: &str = ": field not declared in schema";

/// The prefix of the refusal of a strict create: `strict decoding error: unknown field "spec.a", unknown field "spec.b[0].c"`.
const STRICT: &str = "strict decoding error: ";
const UNKNOWN: &str = "unknown field \"";
const QUOTE: char = '"';

/// The paths of the fields that a refused apply, or a refused create that is strict about them, names as unknown.
pub fn unknown_fields(said: &str) -> Vec<String> {
    if let Some((_, fields)) = said.split_once(STRICT) {
        let named = fields.split(UNKNOWN).skip(1);
        return named
            .filter_map(|rest| rest.split_once(QUOTE))
            .map(|(path, _)| format!(".{path}"))
            .collect();
    }
    said.lines()
        .filter_map(|line| {
            let (head, _) = line.split_once(NOT_DECLARED)?;
            let start = match head.trim_start().starts_with('.') {
                true => head.len() - head.trim_start().len(),
                false => head.find(": .")? + 2,
            };
            Some(head[start..].to_owned())
        })
        .collect()
}

/// The manifest without these fields; `None` if one of them is not in it.
pub fn without_fields(manifest: &Value, paths: &[String]) -> Option<Value> {
    let mut manifest = manifest.clone();
    for path in paths {
        remove(&mut manifest, path)?;
    }
    Some(manifest)
}

fn remove(value: &mut Value, path: &str) -> Option<()> {
    if let Some(rest) = path.strip_prefix('.') {
        let fields = value.as_object_mut()?;
        // A name may have dots in it, so the longest one that fits is meant.
        let fits = |name: &&String| {
            rest.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let name = fields.keys().filter(fits).max_by_key(|name| name.len())?.clone();
        let rest = &rest[name.len()..];
        return match rest.is_empty() {
            true => fields.remove(&name).map(drop),
            false => remove(fields.get_mut(&name)?, rest),
        };
    }
    let mut rest = path.strip_prefix('[')?;
    let items = value.as_array_mut()?;
    if let Some((index, rest)) = rest.split_once(']')
        && let Ok(index) = index.parse::<usize>()
    {
        return remove(items.get_mut(index)?, rest);
    }
    let mut keys = Vec::new();
    loop {
        let (name, after) = rest.split_once('=')?;
        let mut values = Deserializer::from_str(after).into_iter::<Value>();
        keys.push((name.to_owned(), values.next()?.ok()?));
        rest = &after[values.byte_offset()..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => break,
        }
    }
    // A key that is not written has its default.
    let is_meant = |item: &&mut Value| {
        let mut keys = keys.iter();
        keys.all(|(name, value)| item[name] == *value || item[name].is_null())
    };
    remove(items.iter_mut().find(is_meant)?, rest.strip_prefix(']')?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_field_that_a_server_names_is_found() {
        let one = "failed to create typed patch object (a/b; apps/v1, Kind=Deployment): \
                   .spec.template.spec.containers[name=\"web\"].env[name=\"A\"].note: field not declared in schema";
        assert_eq!(
            unknown_fields(one),
            [".spec.template.spec.containers[name=\"web\"].env[name=\"A\"].note"]
        );
        let many = "failed to create typed patch object (a/b; v1, Kind=Service): errors:\n  \
                    .spec.one: field not declared in schema\n  .spec.ports[port=80,protocol=\"TCP\"].two: field not declared in schema";
        assert_eq!(
            unknown_fields(many),
            [".spec.one", ".spec.ports[port=80,protocol=\"TCP\"].two"]
        );
        assert!(unknown_fields(".spec.replicas: expected numeric, got &{two}").is_empty());
    }

    #[test]
    fn only_the_named_fields_are_taken_out() {
        let manifest = json!({
            "metadata": {"annotations": {"a.b/c": {"x": 1, "y": 2}}},
            "spec": {"one": 1, "ports": [{"port": 79, "two": 0}, {"port": 80, "two": 2, "name": "http"}], "list": [{"z": 1}]},
        });
        let paths = [
            ".spec.one",
            ".spec.ports[port=80,protocol=\"TCP\"].two",
            ".metadata.annotations.a.b/c.x",
            ".spec.list[0].z",
        ]
        .map(str::to_owned);
        assert_eq!(
            without_fields(&manifest, &paths),
            Some(json!({
                "metadata": {"annotations": {"a.b/c": {"y": 2}}},
                "spec": {"ports": [{"port": 79, "two": 0}, {"port": 80, "name": "http"}], "list": [{}]},
            }))
        );
        for nowhere in [
            ".spec.three",
            ".spec.ports[port=81].two",
            ".spec[",
            "spec",
            ".spec.ports[x=].y",
        ] {
            assert_eq!(
                without_fields(&manifest, &[nowhere.to_owned()]),
                None,
                "{nowhere}"
            );
        }
    }
}
