//! `list`.

use super::{Builtin, Function, Run, bool_value};
use crate::eval::Machine;
use crate::eval::error::Error;
use crate::eval::expression::Value;
use crate::eval::kind::Kind;
use crate::eval::node::NodeId;
use crate::eval::scalar::Scalar;
use crate::number::Number;
use crate::program::ir::Position;
use crate::program::symbols::Label;
use std::cmp::Ordering;

pub(super) const BUILTINS: &[Builtin] = &[
    function("Avg", 1, average),
    function("Concat", 1, concat),
    validator("Contains", 2, contains),
    function("Drop", 2, drop_first),
    function("FlattenN", 2, flatten),
    validator("IsSorted", 2, is_sorted),
    validator("IsSortedStrings", 1, is_sorted_strings),
    validator("MatchN", 3, match_n),
    function("Max", 1, |machine, arguments, at| {
        extreme(machine, arguments, at, Ordering::Greater)
    }),
    validator("MaxItems", 2, |machine, arguments, at| {
        items(machine, arguments, at, Ordering::Greater)
    }),
    function("Min", 1, |machine, arguments, at| {
        extreme(machine, arguments, at, Ordering::Less)
    }),
    validator("MinItems", 2, |machine, arguments, at| {
        items(machine, arguments, at, Ordering::Less)
    }),
    function("Product", 1, |machine, arguments, at| {
        fold(machine, arguments, at, Number::integer(1), Number::multiply)
    }),
    function("Range", 3, range),
    function("Repeat", 2, repeat),
    function("Reverse", 1, reverse),
    function("Slice", 3, slice),
    function("Sort", 2, sort),
    function("SortStable", 2, sort),
    function("SortStrings", 1, sort_strings),
    function("Sum", 1, |machine, arguments, at| {
        fold(machine, arguments, at, Number::integer(0), Number::add)
    }),
    function("Take", 2, take),
    validator("UniqueItems", 1, unique),
    written("Comparer", "{T: _, less: bool, x: T, y: T}"),
    written("Ascending", "{T: number | string, x: T, y: T, less: x < y}"),
    written("Descending", "{T: number | string, x: T, y: T, less: x > y}"),
];

const PACKAGE: &str = "list";

const fn function(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::function(PACKAGE, name, arity, call)
}

const fn validator(name: &'static str, arity: u8, call: Function) -> Builtin {
    Builtin::validator(PACKAGE, name, Kind::LIST, arity, call)
}

const fn written(name: &'static str, source: &'static str) -> Builtin {
    Builtin {
        package: PACKAGE,
        name,
        operand: Kind::TOP,
        run: Run::Written(source),
    }
}

fn concat<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let mut all = Vec::new();
    for list in machine.list(arguments, 0, at)? {
        let value = machine.concrete(Value::Node(list))?;
        all.extend(machine.list(&[value], 0, at)?);
    }
    Ok(machine.list_value(&all))
}

fn flatten<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let elements = machine.list(arguments, 0, at)?;
    let depth = machine.integer(arguments, 1, at)?;
    let mut flat = Vec::new();
    flatten_into(machine, elements, depth, &mut flat)?;
    Ok(machine.list_value(&flat))
}

fn flatten_into(
    machine: &mut Machine<'_>,
    elements: Vec<NodeId>,
    depth: i64,
    into: &mut Vec<NodeId>,
) -> Result<(), Error> {
    for element in elements {
        // The same list may be an element many times: what is walked is counted, however little there is of it.
        machine.claim(size_of::<NodeId>())?;
        machine.step()?;
        let value = machine.concrete(Value::Node(element))?;
        match machine.elements(&value) {
            Some(inner) if depth != 0 => stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                flatten_into(machine, inner, depth.saturating_sub(1), into)
            })?,
            _ => into.push(element),
        }
    }
    Ok(())
}

fn contains<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let wanted = machine.node_of(&arguments[1]);
    for element in machine.list(arguments, 0, at)? {
        if machine.equal(element, wanted)? {
            return Ok(bool_value(true));
        }
    }
    Ok(bool_value(false))
}

/// Whether as many elements as a number says satisfy a value.
fn match_n(machine: &mut Machine<'_>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let list = machine.concrete(arguments[0].clone())?;
    let schema = machine.node_of(&arguments[2]);
    let mut matched = 0;
    for element in machine.list(&[list], 0, at)? {
        matched += i64::from(machine.satisfies(element, schema));
    }
    let count = machine.node_of(&arguments[1]);
    let matched = machine.scalar_node(Scalar::Number(Number::integer(matched)));
    Ok(bool_value(machine.satisfies(matched, count)))
}

fn unique<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let elements = machine.list(arguments, 0, at)?;
    for (index, &one) in elements.iter().enumerate() {
        for &other in &elements[index + 1..] {
            if machine.equal(one, other)? {
                return Ok(bool_value(false));
            }
        }
    }
    Ok(bool_value(true))
}

fn items<'p>(
    machine: &mut Machine<'p>,
    arguments: &[Value],
    at: Position,
    refused: Ordering,
) -> Result<Value, Error> {
    let length = i64::try_from(machine.list(arguments, 0, at)?.len()).unwrap_or(i64::MAX);
    let limit = machine.integer(arguments, 1, at)?;
    if length.cmp(&limit) != refused {
        return Ok(bool_value(true));
    }
    let open = matches!(arguments[0], Value::Node(node) if machine.is_open_list(node));
    if open && refused == Ordering::Less {
        return Err(machine.incomplete(format!("len(list) < MinItems({limit}) ({length} < {limit})"), at));
    }
    Ok(bool_value(false))
}

fn numbers(machine: &mut Machine<'_>, arguments: &[Value], at: Position) -> Result<Vec<Number>, Error> {
    let mut numbers = Vec::new();
    for element in machine.list(arguments, 0, at)? {
        let value = machine.concrete(Value::Node(element))?;
        let number = machine.number(&[value], 0, at)?;
        machine.spend(1 + number.weight())?;
        numbers.push(number);
    }
    Ok(numbers)
}

fn number_value(number: Number) -> Value {
    Value::Scalar(Scalar::Number(number))
}

fn fold<'p>(
    machine: &mut Machine<'p>,
    arguments: &[Value],
    at: Position,
    start: Number,
    combine: fn(&Number, &Number) -> Result<Number, crate::number::ArithmeticError>,
) -> Result<Value, Error> {
    let mut total = start;
    for number in numbers(machine, arguments, at)? {
        machine.spend(total.weight().saturating_add(number.weight()))?;
        total = combine(&total, &number).map_err(|error| machine.fatal(error.to_string(), at))?;
    }
    Ok(number_value(total))
}

fn average<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let count = machine.list(arguments, 0, at)?.len();
    if count == 0 {
        return Err(machine.fatal("empty list", at));
    }
    let sum = fold(machine, arguments, at, Number::integer(0), Number::add)?;
    let sum = machine.number(&[sum], 0, at)?;
    let average = sum
        .divide(&Number::integer(count))
        .map_err(|error| machine.fatal(error.to_string(), at))?;
    Ok(number_value(average.to_bigint().map_or(average, Number::integer)))
}

fn extreme<'p>(
    machine: &mut Machine<'p>,
    arguments: &[Value],
    at: Position,
    wanted: Ordering,
) -> Result<Value, Error> {
    let found = numbers(machine, arguments, at)?
        .into_iter()
        .reduce(|best, number| {
            if number.compare(&best) == wanted {
                number
            } else {
                best
            }
        });
    found
        .map(number_value)
        .ok_or_else(|| machine.fatal("empty list", at))
}

fn range<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let [start, limit, step] = [0, 1, 2].map(|index| machine.number(arguments, index, at));
    let (start, limit, step) = (start?, limit?, step?);
    if step.is_zero() {
        return Err(machine.fatal("step must be non zero", at));
    }
    let end = if step.is_negative() {
        Ordering::Greater
    } else {
        Ordering::Less
    };
    if start.compare(&limit) != end && start.compare(&limit) != Ordering::Equal {
        let message = if step.is_negative() {
            "end must be less than start when step is negative"
        } else {
            "end must be greater than start when step is positive"
        };
        return Err(machine.fatal(message, at));
    }
    let mut elements = Vec::new();
    let mut current = start;
    while current.compare(&limit) == end {
        machine.spend(1 + current.weight() + step.weight())?;
        elements.push(machine.scalar_node(Scalar::Number(current.clone())));
        current = current
            .add(&step)
            .map_err(|error| machine.fatal(error.to_string(), at))?;
    }
    Ok(machine.list_value(&elements))
}

fn repeat<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let elements = machine.list(arguments, 0, at)?;
    let count = machine.integer(arguments, 1, at)?;
    let Ok(count) = usize::try_from(count) else {
        return Err(machine.fatal("negative count", at));
    };
    machine.repeated(elements.len(), count, at)?;
    Ok(machine.list_value(&elements.repeat(count)))
}

fn reverse<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let mut elements = machine.list(arguments, 0, at)?;
    elements.reverse();
    Ok(machine.list_value(&elements))
}

fn count(machine: &mut Machine<'_>, arguments: &[Value], index: usize, at: Position) -> Result<usize, Error> {
    let count = machine.integer(arguments, index, at)?;
    usize::try_from(count).map_err(|_| machine.fatal("negative index", at))
}

fn drop_first<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let elements = machine.list(arguments, 0, at)?;
    let count = count(machine, arguments, 1, at)?.min(elements.len());
    Ok(machine.list_value(&elements[count..]))
}

fn take<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let elements = machine.list(arguments, 0, at)?;
    let count = count(machine, arguments, 1, at)?.min(elements.len());
    Ok(machine.list_value(&elements[..count]))
}

fn slice<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let elements = machine.list(arguments, 0, at)?;
    let (low, high) = (
        count(machine, arguments, 1, at)?,
        count(machine, arguments, 2, at)?,
    );
    if low > high {
        return Err(machine.fatal(format!("invalid index: {low} > {high}"), at));
    }
    if high > elements.len() {
        return Err(machine.fatal("slice bounds out of range", at));
    }
    Ok(machine.list_value(&elements[low..high]))
}

/// Merge sort, because a comparator may fail.
fn sort<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let elements = machine.list(arguments, 0, at)?;
    let Value::Node(comparer) = arguments[1] else {
        return Err(machine.wrong_argument(&arguments[1], "struct", 1, at));
    };
    let sorted = merge_sort(machine, elements, comparer, at)?;
    Ok(machine.list_value(&sorted))
}

fn merge_sort(
    machine: &mut Machine<'_>,
    mut elements: Vec<NodeId>,
    comparer: NodeId,
    at: Position,
) -> Result<Vec<NodeId>, Error> {
    if elements.len() < 2 {
        return Ok(elements);
    }
    let right = elements.split_off(elements.len() / 2);
    let left = merge_sort(machine, elements, comparer, at)?;
    let right = merge_sort(machine, right, comparer, at)?;
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(&one), Some(&other)) = (left.peek(), right.peek()) {
        let next = if is_less(machine, comparer, other, one, at)? {
            right.next()
        } else {
            left.next()
        };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    Ok(merged)
}

/// Calls a comparator on two values.
fn is_less(
    machine: &mut Machine<'_>,
    comparer: NodeId,
    x: NodeId,
    y: NodeId,
    at: Position,
) -> Result<bool, Error> {
    let label = |machine: &mut Machine<'_>, name: &str| Label::Regular(machine.symbols.intern(name));
    let (x_label, y_label, less) = (label(machine, "x"), label(machine, "y"), label(machine, "less"));
    let operands = machine.fields_node(vec![(x_label, x), (y_label, y)]);
    let compared = machine.unified(&[comparer, operands]);
    let result = machine.lookup(compared, less, at)?;
    match machine.concrete(Value::Node(result))? {
        Value::Scalar(Scalar::Bool(less)) => Ok(less),
        other => {
            let kind = machine.kind_of(&other);
            Err(machine.fatal(format!("less must be a bool, found {kind}"), at))
        }
    }
}

fn is_sorted<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let elements = machine.list(arguments, 0, at)?;
    let Value::Node(comparer) = arguments[1] else {
        return Err(machine.wrong_argument(&arguments[1], "struct", 1, at));
    };
    for pair in elements.windows(2) {
        if is_less(machine, comparer, pair[1], pair[0], at)? {
            return Ok(bool_value(false));
        }
    }
    Ok(bool_value(true))
}

fn sort_strings<'p>(machine: &mut Machine<'p>, arguments: &[Value], at: Position) -> Result<Value, Error> {
    let mut texts = machine.strings(arguments, 0, at)?;
    // Each text is compared with a few others.
    let comparisons = u64::from(texts.len().max(1).ilog2());
    for text in &texts {
        machine.spend(comparisons.saturating_mul(1 + text.len() as u64 / 256))?;
    }
    texts.sort_by(|one, other| one.as_bytes().cmp(other.as_bytes()));
    Ok(machine.string_list(texts.iter().map(AsRef::as_ref)))
}

fn is_sorted_strings<'p>(
    machine: &mut Machine<'p>,
    arguments: &[Value],
    at: Position,
) -> Result<Value, Error> {
    let texts = machine.strings(arguments, 0, at)?;
    Ok(bool_value(
        texts.is_sorted_by(|one, other| one.as_bytes() <= other.as_bytes()),
    ))
}
