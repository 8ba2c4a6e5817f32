//! JSON patches of mutating policies, applied with the API server's error messages.

use cambium_cel::policies::PatchOperation;
use serde_json::Value;

use crate::object;
use crate::wire::BODY_LIMIT;

/// Applies a patch to an object. A patch whose `test` fails changes nothing.
pub(super) fn apply(original: &Value, operations: &[PatchOperation]) -> Result<Value, String> {
    let mut object = original.clone();
    let mut copied = 0;
    for operation in operations {
        match carry_out(&mut object, operation) {
            Ok(size) => copied += size,
            Err(Failure::Test) => return Ok(original.clone()),
            Err(Failure::Unfit(why)) => return Err(why),
        }
        if copied > BODY_LIMIT {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
                 {BODY_LIMIT}"
            ));
        }
        if object::is_nested_deeper(&object, object::DEEPEST) {
            return Err("the object is nested too deep".to_owned());
        }
    }
    Ok(object)
}

enum Failure {
    Test,
    Unfit(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Unfit(why)
    }
}

/// Applies one operation; returns the number of bytes copied, which are limited.
fn carry_out(object: &mut Value, operation: &PatchOperation) -> Result<usize, Failure> {
    let PatchOperation { op, path, .. } = operation;
    let value = || operation.value.clone().unwrap_or(Value::Null);
    let missing =
        |what: String| Failure::Unfit(format!("{op} operation does not apply: {what}: missing value"));
    match op.as_str() {
        "add" => {
            let (place, key) =
                find(object, path).ok_or_else(|| missing(format!("doc is missing path: \"{path}\"")))?;
            add(place, &key, value()).map_err(|why| format!("error in add for path: '{path}': {why}"))?;
        }
        "remove" => {
            let (place, key) =
                find(object, path).ok_or_else(|| missing(format!("doc is missing path: \"{path}\"")))?;
            remove(place, &key).map_err(|why| format!("error in remove for path: '{path}': {why}"))?;
        }
        "replace" if path.is_empty() => *object = value(),
        "replace" => {
            let (place, key) =
                find(object, path).ok_or_else(|| missing(format!("doc is missing path: {path}")))?;
            get(place, &key).map_err(|_| missing(format!("doc is missing key: {path}")))?;
            match place {
                Value::Array(items) => {
                    let at = index(&key, items.len())?;
                    items[at] = value();
                }
                _ => add(place, &key, value())?,
            }
        }
        "move" | "copy" => return relocate(object, operation),
        "test" => {
            let wanted = operation.value.as_ref().unwrap_or(&Value::Null);
            let found = match path.is_empty() {
                true => Some(object.clone()),
                false => {
                    let (place, key) =
                        find(object, path).ok_or_else(|| missing(format!("is missing path: {path}")))?;
                    get(place, &key).map_err(|why| format!("error in test for path: '{path}': {why}"))?
                }
            };
            if found.as_ref().unwrap_or(&Value::Null) != wanted {
                return Err(Failure::Test);
            }
        }
        _ => return Err(format!("Unexpected kind: {op}").into()),
    }
    Ok(0)
}

fn relocate(object: &mut Value, operation: &PatchOperation) -> Result<usize, Failure> {
    let PatchOperation { op, path, from, .. } = operation;
    let missing = |what: &str, at: &str| {
        Failure::Unfit(format!(
            "{op} operation does not apply: doc is missing {what} path: {at}: missing value"
        ))
    };
    let (place, key) = find(object, from).ok_or_else(|| missing("from", from))?;
    let (value, size) = match op.as_str() {
        "move" => {
            let failed = |why: String| format!("error in move for path: '{key}': {why}");
            let value = get(place, &key).map_err(failed)?;
            remove(place, &key).map_err(failed)?;
            (value, 0)
        }
        _ => {
            let value = get(place, &key).map_err(|why| format!("error in copy for from: '{from}': {why}"))?;
            let size = value.as_ref().map_or(0, |value| value.to_string().len());
            (value, size)
        }
    };
    let (place, key) = find(object, path).ok_or_else(|| missing("destination", path))?;
    add(place, &key, value.unwrap_or(Value::Null)).map_err(|why| match op.as_str() {
        "move" => format!("error in move for path: '{path}': {why}"),
        _ => format!("error while adding value during copy: {why}"),
    })?;
    Ok(size)
}

/// The container of the last step of a path, and that step.
fn find<'v>(object: &'v mut Value, path: &str) -> Option<(&'v mut Value, String)> {
    let (parents, last) = path.rsplit_once('/')?;
    let mut place = object;
    for step in parents.split('/').skip(1) {
        let step = unescaped(step);
        place = match place {
            Value::Object(fields) => fields.get_mut(&step)?,
            Value::Array(items) => {
                let index = index(&step, items.len()).ok()?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    matches!(place, Value::Object(_) | Value::Array(_)).then(|| (place, unescaped(last)))
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// The value of a key; a missing key of an object is `None`, a bad index of a list an error.
fn get(place: &Value, key: &str) -> Result<Option<Value>, String> {
    match place {
        Value::Array(items) => index(key, items.len()).map(|index| items.get(index).cloned()),
        other => Ok(other.get(key).cloned()),
    }
}

fn add(place: &mut Value, key: &str, value: Value) -> Result<(), String> {
    match place {
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let at = index(key, items.len() + 1).map_err(|why| match why.starts_with("strconv") {
                true => format!("value was not a proper array index: '{key}': {why}"),
                false => why,
            })?;
            items.insert(at, value);
        }
        Value::Object(fields) => {
            fields.insert(key.to_owned(), value);
        }
        _ => {}
    }
    Ok(())
}

fn remove(place: &mut Value, key: &str) -> Result<(), String> {
    let was_there = match place {
        Value::Array(items) => {
            let at = index(key, items.len())?;
            items.remove(at);
            true
        }
        Value::Object(fields) => fields.remove(key).is_some(),
        _ => true,
    };
    match was_there {
        true => Ok(()),
        false => Err(format!("Unable to remove nonexistent key: {key}: missing value")),
    }
}

/// An index of a list; negative ones count from the end.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let Ok(number) = key.parse::<i64>() else {
        return Err(format!("strconv.Atoi: parsing {key:?}: invalid syntax"));
    };
    let counted = if number < 0 {
        number + length as i64
    } else {
        number
    };
    match usize::try_from(counted) {
        Ok(index) if index < length => Ok(index),
        _ => Err(format!(
            "Unable to access invalid index: {number}: invalid index referenced"
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn operation(op: &str, from: &str, path: &str, value: Option<Value>) -> PatchOperation {
        PatchOperation {
            op: op.to_owned(),
            path: path.to_owned(),
            from: from.to_owned(),
            value,
        }
    }

    #[test]
    fn patches_are_carried_out() {
        let original = json!({"labels": {"x": "1"}, "list": ["a", "b"]});
        let cases = [
            (
                "add",
                "",
                "/labels/a~1b",
                Some(json!("2")),
                Ok(json!({"labels": {"a/b": "2", "x": "1"}, "list": ["a", "b"]})),
            ),
            (
                "add",
                "",
                "/list/-",
                Some(json!("c")),
                Ok(json!({"labels": {"x": "1"}, "list": ["a", "b", "c"]})),
            ),
            (
                "add",
                "",
                "/list/1",
                Some(json!("c")),
                Ok(json!({"labels": {"x": "1"}, "list": ["a", "c", "b"]})),
            ),
            (
                "replace",
                "",
                "/list/-1",
                Some(json!("c")),
                Ok(json!({"labels": {"x": "1"}, "list": ["a", "c"]})),
            ),
            (
                "replace",
                "",
                "/labels/new",
                Some(json!("c")),
                Ok(json!({"labels": {"new": "c", "x": "1"}, "list": ["a", "b"]})),
            ),
            (
                "remove",
                "",
                "/labels/x",
                None,
                Ok(json!({"labels": {}, "list": ["a", "b"]})),
            ),
            (
                "move",
                "/labels/x",
                "/labels/y",
                None,
                Ok(json!({"labels": {"y": "1"}, "list": ["a", "b"]})),
            ),
            (
                "copy",
                "/list/0",
                "/list/-",
                None,
                Ok(json!({"labels": {"x": "1"}, "list": ["a", "b", "a"]})),
            ),
            ("test", "", "/labels/x", Some(json!("2")), Ok(original.clone())),
            (
                "add",
                "",
                "/a/b",
                Some(json!(1)),
                Err("add operation does not apply: doc is missing path: \"/a/b\": missing value"),
            ),
            (
                "remove",
                "",
                "/labels/y",
                None,
                Err(
                    "error in remove for path: '/labels/y': Unable to remove nonexistent key: y: missing value",
                ),
            ),
            (
                "remove",
                "",
                "/list/2",
                None,
                Err(
                    "error in remove for path: '/list/2': Unable to access invalid index: 2: invalid index referenced",
                ),
            ),
            (
                "replace",
                "",
                "/list/x",
                Some(json!(1)),
                Err("replace operation does not apply: doc is missing key: /list/x: missing value"),
            ),
            ("swap", "", "/list", None, Err("Unexpected kind: swap")),
        ];
        for (op, from, path, value, expected) in cases {
            let made = apply(&original, &[operation(op, from, path, value)]);
            assert_eq!(made, expected.map_err(str::to_owned), "{op} {from} {path}");
        }
    }

    #[test]
    fn copies_do_not_fill_the_memory() {
        let original = json!({"a": "x".repeat(1 << 20)});
        let copies: Vec<_> = (0..64)
            .map(|number| operation("copy", "/a", &format!("/b{number}"), None))
            .collect();
        assert!(apply(&original, &copies).is_err_and(|why| why.contains("accumulated size")));
    }
}
