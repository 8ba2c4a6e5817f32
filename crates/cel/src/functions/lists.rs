//! The list library.

use std::cmp::Ordering;

use super::Implementation;
use super::operators::{add, compare};
use crate::error::{EvaluationError, Result, failed, failure, no_such_overload};
use crate::limits::PER_CALL_LIMIT;
use crate::meter;
use crate::value::{List, Value, equal};

pub(super) fn find(name: &str) -> Option<Implementation> {
    let found: Implementation = match name {
        "isSorted" => is_sorted,
        "sum" => sum,
        "min" => |arguments| extreme(arguments, Ordering::Less, "min called on empty list"),
        "max" => |arguments| extreme(arguments, Ordering::Greater, "max called on empty list"),
        "first" => |arguments| match arguments {
            [Value::List(list)] => match list.get(0) {
                Some(item) => item.map(Value::some),
                None => Ok(Value::Optional(None)),
            },
            _ => no_such_overload(),
        },
        "last" => |arguments| match arguments {
            [Value::List(list)] => match list.len().checked_sub(1).and_then(|index| list.get(index)) {
                Some(item) => item.map(Value::some),
                None => Ok(Value::Optional(None)),
            },
            _ => no_such_overload(),
        },
        "slice" => slice,
        "flatten" => |arguments| match arguments {
            [Value::List(list)] => flattened(list, 1),
            [Value::List(_), Value::Int(depth)] if *depth < 0 => failed("level must be non-negative"),
            [Value::List(list), Value::Int(depth)] => flattened(list, *depth),
            _ => no_such_overload(),
        },
        "distinct" => distinct,
        "reverse" => |arguments| match arguments {
            [Value::List(list)] => {
                let mut items = list.to_vec()?;
                items.reverse();
                Ok(Value::list(items))
            }
            _ => no_such_overload(),
        },
        "lists.range" => |arguments| match arguments {
            // What cannot be paid for is not made first.
            [Value::Int(count)] if *count > PER_CALL_LIMIT as i64 => Err(EvaluationError::CostExceeded),
            [Value::Int(count)] => Ok(Value::list((0..*count).map(Value::Int).collect())),
            _ => no_such_overload(),
        },
        "sort" => |arguments| match arguments {
            [Value::List(list)] => sorted(list, list),
            _ => no_such_overload(),
        },
        "@sortByAssociatedKeys" => |arguments| match arguments {
            [Value::List(list), Value::List(keys)] => sorted(list, keys),
            _ => no_such_overload(),
        },
        _ => return None,
    };
    Some(found)
}

/// From which end a list is searched.
pub(super) enum End {
    First,
    Last,
}

/// The index of an item; -1 if it is missing.
pub(super) fn position<'a>(list: &List<'a>, item: &Value<'a>, end: End) -> Result<Value<'a>> {
    let is_item = |index: &usize| {
        let known = list.get(*index);
        known.is_some_and(|known| known.and_then(|known| equal(&known, item)).unwrap_or(false))
    };
    let found = match end {
        End::First => (0..list.len()).find(is_item),
        End::Last => (0..list.len()).rev().find(is_item),
    };
    Ok(Value::Int(found.map_or(-1, |index| index as i64)))
}

fn is_sorted<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let [Value::List(list)] = arguments else {
        return no_such_overload();
    };
    let mut previous: Option<Value<'a>> = None;
    for item in list.iter() {
        let item = item?;
        if let Some(previous) = &previous
            && compare(previous, &item)? == Some(Ordering::Greater)
        {
            return Ok(Value::Bool(false));
        }
        previous = Some(item);
    }
    Ok(Value::Bool(true))
}

fn sum<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let [Value::List(list)] = arguments else {
        return no_such_overload();
    };
    let mut total: Option<Value<'a>> = None;
    for item in list.iter() {
        let item = item?;
        if !matches!(
            item,
            Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)
        ) {
            return no_such_overload();
        }
        total = Some(match total {
            Some(total) => add(&[total, item])?,
            None => item,
        });
    }
    Ok(total.unwrap_or(Value::Int(0)))
}

fn extreme<'a>(arguments: &[Value<'a>], wanted: Ordering, when_empty: &'static str) -> Result<Value<'a>> {
    let [Value::List(list)] = arguments else {
        return no_such_overload();
    };
    let mut best: Option<Value<'a>> = None;
    for item in list.iter() {
        let item = item?;
        best = match best {
            Some(best) if compare(&item, &best)? != Some(wanted) => Some(best),
            _ => Some(item),
        };
    }
    match best {
        Some(best) => Ok(best),
        None => failed(when_empty),
    }
}

fn slice<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = arguments else {
        return no_such_overload();
    };
    if *start < 0 || *end < 0 {
        return failure(format!(
            "cannot slice({start}, {end}), negative indexes not supported"
        ));
    }
    if start > end {
        return failure(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        ));
    }
    if (list.len() as i64) < *end {
        return failure(format!(
            "cannot slice({start}, {end}), list is length {}",
            list.len()
        ));
    }
    let items: Result<Vec<Value<'a>>> = list
        .iter()
        .skip(*start as usize)
        .take((end - start) as usize)
        .collect();
    Ok(Value::list(items?))
}

fn flattened<'a>(list: &List<'a>, depth: i64) -> Result<Value<'a>> {
    fn collect<'a>(list: &List<'a>, depth: i64, items: &mut Vec<Value<'a>>) -> Result<()> {
        for item in list.iter() {
            meter::visit(1)?;
            match item? {
                Value::List(inner) if depth > 0 => collect(&inner, depth - 1, items)?,
                item => {
                    meter::fits((items.len() + 1) * size_of::<Value<'_>>())?;
                    items.push(item);
                }
            }
        }
        Ok(())
    }
    let mut items = Vec::new();
    collect(list, depth, &mut items)?;
    Ok(Value::list(items))
}

fn distinct<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>> {
    let [Value::List(list)] = arguments else {
        return no_such_overload();
    };
    let mut items: Vec<Value<'a>> = Vec::new();
    'items: for item in list.iter() {
        let item = item?;
        for known in &items {
            if equal(known, &item)? {
                continue 'items;
            }
        }
        items.push(item);
    }
    Ok(Value::list(items))
}

fn sorted<'a>(list: &List<'a>, keys: &List<'a>) -> Result<Value<'a>> {
    if list.len() != keys.len() {
        return failure(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            list.len(),
            keys.len()
        ));
    }
    let mut pairs = Vec::with_capacity(list.len());
    for (key, item) in keys.iter().zip(list.iter()) {
        pairs.push((key?, item?));
    }
    let Some(first) = pairs.first().map(|(key, _)| key.type_name()) else {
        return Ok(Value::list(Vec::new()));
    };
    if pairs.iter().any(|(key, _)| key.type_name() != first) {
        return failed("list elements must have the same type");
    }
    if crate::value::compare(&pairs[0].0, &pairs[0].0).is_none() && !matches!(pairs[0].0, Value::Double(_)) {
        return failed("list elements must be comparable");
    }
    pairs.sort_by(|(a, _), (b, _)| crate::value::compare(a, b).unwrap_or(Ordering::Equal));
    Ok(Value::list(pairs.into_iter().map(|(_, item)| item).collect()))
}
