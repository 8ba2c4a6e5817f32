//! RFC 6902 operations, as the library that KubeVela uses carries them out: `replace` may add a field, and negative
//! indices count from the end.

use cambium_cue::Data;

/// Carries out one operation on a document.
pub(super) fn apply(document: &mut Data, operation: &Data) -> Result<(), String> {
    let path = || text(operation, "path");
    let from = || text(operation, "from");
    let value = operation.get("value").cloned().unwrap_or(Data::Null);
    match text(operation, "op")? {
        "add" => add(document, path()?, value),
        "remove" => remove(document, path()?).map(|_| ()),
        "replace" => replace(document, path()?, value),
        "test" => match find(document, path()?)? == value {
            true => Ok(()),
            false => Err(format!("testing value {} failed", path()?)),
        },
        "move" => {
            let value = remove(document, from()?)?;
            add(document, path()?, value)
        }
        "copy" => {
            let value = find(document, from()?)?;
            add(document, path()?, value)
        }
        other => Err(format!("unexpected kind: {other}")),
    }
}

fn text<'a>(operation: &'a Data, name: &str) -> Result<&'a str, String> {
    match operation.get(name) {
        Some(Data::String(text)) => Ok(text),
        _ => Err(format!("{name} is missing")),
    }
}

fn add(document: &mut Data, path: &str, value: Data) -> Result<(), String> {
    match container(document, path)? {
        (Data::Struct(fields), key) => set(fields, key, value),
        (Data::List(items), key) if key == "-" => items.push(value),
        (Data::List(items), key) => {
            let index = index(&key, items.len() + 1)?;
            items.insert(index, value);
        }
        _ => return Err(missing(path)),
    }
    Ok(())
}

fn replace(document: &mut Data, path: &str, value: Data) -> Result<(), String> {
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    match container(document, path)? {
        (Data::Struct(fields), key) => set(fields, key, value),
        (Data::List(items), key) => {
            let index = index(&key, items.len())?;
            items[index] = value;
        }
        _ => return Err(missing(path)),
    }
    Ok(())
}

fn remove(document: &mut Data, path: &str) -> Result<Data, String> {
    match container(document, path)? {
        (Data::Struct(fields), key) => {
            let index = fields.iter().position(|(name, _)| *name == key);
            index
                .map(|index| fields.remove(index).1)
                .ok_or_else(|| missing(path))
        }
        (Data::List(items), key) => {
            let index = index(&key, items.len())?;
            Ok(items.remove(index))
        }
        _ => Err(missing(path)),
    }
}

/// The value at a path; a field that is not there is null.
fn find(document: &mut Data, path: &str) -> Result<Data, String> {
    if path.is_empty() {
        return Ok(document.clone());
    }
    match container(document, path)? {
        (data @ Data::Struct(_), key) => Ok(data.get(&key).cloned().unwrap_or(Data::Null)),
        (Data::List(items), key) => Ok(items[index(&key, items.len())?].clone()),
        _ => Err(missing(path)),
    }
}

/// The struct or list that holds what a path points at, and the last step.
fn container<'a>(document: &'a mut Data, path: &str) -> Result<(&'a mut Data, String), String> {
    let steps = path
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"));
    let mut steps: Vec<String> = steps.collect();
    let last = steps.pop().ok_or_else(|| missing(path))?;
    let mut data = document;
    for step in steps {
        data = match data {
            Data::Struct(fields) => {
                let field = fields.iter_mut().find(|(name, _)| *name == step);
                field.map(|(_, value)| value).ok_or_else(|| missing(path))?
            }
            Data::List(items) => {
                let index = index(&step, items.len())?;
                &mut items[index]
            }
            _ => return Err(missing(path)),
        };
    }
    Ok((data, last))
}

fn set(fields: &mut Vec<(String, Data)>, key: String, value: Data) {
    match fields.iter_mut().find(|(name, _)| *name == key) {
        Some((_, known)) => *known = value,
        None => fields.push((key, value)),
    }
}

/// An index below a length.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let index: i64 = key
        .parse()
        .map_err(|_| format!("value was not a proper array index: '{key}'"))?;
    let index = if index < 0 {
        index + i64::try_from(length).unwrap_or(i64::MAX)
    } else {
        index
    };
    usize::try_from(index)
        .ok()
        .filter(|index| *index < length)
        .ok_or_else(|| format!("invalid index: {key}"))
}

fn missing(path: &str) -> String {
    format!("document is missing path: {path:?}")
}
