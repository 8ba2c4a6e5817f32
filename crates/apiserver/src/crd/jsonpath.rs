//! The JSONPath subset of printer columns and scale: fields, indexes, wildcards, one filter.

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Every,
    /// `[?(@.path op value)]`; without an operator it tests that the path exists.
    Filter(JsonPath, Option<(Comparison, Value)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
    Less,
    Greater,
}

impl JsonPath {
    /// Parses `.a.b[0]['c.d'][?(@.type=="Ready")].status`; `None` when it is not supported.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text.trim().strip_prefix('$').unwrap_or_else(|| text.trim());
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('[') {
                let end = closing(after)?;
                steps.push(bracket(after[..end].trim())?);
                rest = &after[end + 1..];
            } else {
                let after = rest.strip_prefix('.').unwrap_or(rest);
                let (name, next) = field(after);
                rest = next;
                match name.as_str() {
                    "" if rest.is_empty() => break,
                    "" if rest.starts_with('[') => {}
                    "" => return None,
                    "*" => steps.push(Step::Every),
                    _ => steps.push(Step::Field(name)),
                }
            }
        }
        Some(Self(steps))
    }

    /// All values at the path.
    pub(super) fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.find(value)).collect();
        }
        found
    }
}

impl Step {
    fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match (self, value) {
            (Self::Field(name), Value::Object(map)) => map.get(name).into_iter().collect(),
            (Self::Index(index), Value::Array(list)) => {
                let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
                let index = if *index < 0 { length + index } else { *index };
                usize::try_from(index)
                    .ok()
                    .and_then(|index| list.get(index))
                    .into_iter()
                    .collect()
            }
            (Self::Every, Value::Array(list)) => list.iter().collect(),
            (Self::Every, Value::Object(map)) => map.values().collect(),
            (Self::Filter(path, test), Value::Array(list)) => list
                .iter()
                .filter(|item| passes(path, test.as_ref(), item))
                .collect(),
            _ => vec![],
        }
    }
}

fn passes(path: &JsonPath, test: Option<&(Comparison, Value)>, item: &Value) -> bool {
    let found = path.find(item);
    let Some(left) = found.first() else { return false };
    let Some((comparison, right)) = test else {
        return true;
    };
    let ordered = match (left.as_f64(), right.as_f64()) {
        (Some(left), Some(right)) => left.partial_cmp(&right),
        _ => left
            .as_str()
            .zip(right.as_str())
            .map(|(left, right)| left.cmp(right)),
    };
    match comparison {
        Comparison::Equal => *left == right,
        Comparison::Different => *left != right,
        Comparison::Less => ordered == Some(std::cmp::Ordering::Less),
        Comparison::Greater => ordered == Some(std::cmp::Ordering::Greater),
    }
}

/// A field's name up to the next step; a backslash escapes the next character.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, next)| next)),
            '.' | '[' => return (name, &text[at..]),
            _ => name.push(character),
        }
    }
    (name, "")
}

/// The position of the closing bracket, past quotes and inner brackets.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::Every);
    }
    if let Some(name) = unquote(text) {
        return Some(Step::Field(name));
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return self::filter(filter.trim());
    }
    text.parse().ok().map(Step::Index)
}

fn filter(text: &str) -> Option<Step> {
    let operators = [
        ("==", Comparison::Equal),
        ("!=", Comparison::Different),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
    for (sign, comparison) in operators {
        if let Some((path, value)) = text.split_once(sign) {
            let path = JsonPath::parse(path.trim().strip_prefix('@')?)?;
            let value = value.trim();
            let value = unquote(value)
                .map(Value::String)
                .or_else(|| serde_json::from_str(value).ok())?;
            return Some(Step::Filter(path, Some((comparison, value))));
        }
    }
    Some(Step::Filter(JsonPath::parse(text.strip_prefix('@')?)?, None))
}

fn unquote(text: &str) -> Option<String> {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).map(str::to_owned);
    inner('\'').or_else(|| inner('"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_where_they_say() {
        let object = json!({"a": {"b": [1, 2, 3], "c.d": "x"}, "s": [
            {"type": "Ready", "status": "True", "n": 1}, {"type": "Other", "status": "False", "n": 2}]});
        let find = |path: &str| {
            JsonPath::parse(path).map(|path| path.find(&object).into_iter().cloned().collect::<Vec<_>>())
        };
        assert_eq!(find(".a.b[0]"), Some(vec![json!(1)]));
        assert_eq!(find(".a.b[-1]"), Some(vec![json!(3)]));
        assert_eq!(find(".a.b[*]"), Some(vec![json!(1), json!(2), json!(3)]));
        assert_eq!(find(".a['c.d']"), Some(vec![json!("x")]));
        assert_eq!(find(r".a.c\.d"), Some(vec![json!("x")]));
        assert_eq!(find(".s[?(@.type==\"Ready\")].status"), Some(vec![json!("True")]));
        assert_eq!(find(".s[?(@.type=='Other')].status"), Some(vec![json!("False")]));
        assert_eq!(find(".s[?(@.n>1)].type"), Some(vec![json!("Other")]));
        assert_eq!(find(".missing.x"), Some(vec![]));
        assert_eq!(find(".a["), None);
        assert_eq!(find(".a..b"), None);
    }
}
