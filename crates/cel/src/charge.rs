//! Runtime cost of function calls.

use crate::limits::{REGEX_FACTOR, TEXT_FACTOR};
use crate::meter;
use crate::value::Value;

/// The cost model of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Charge {
    /// A constant.
    Fixed(u64),
    /// Proportional to the size of the first argument.
    ReadFirst(f64),
    /// Proportional to the size of the result.
    WriteResult(f64),
    /// The first argument is traversed recursively.
    Traverse,
    /// The second argument has this many items.
    CountSecond,
    /// The shorter of two arguments is read.
    ReadShorter,
    /// As `ReadShorter`, but values of Kubernetes' library types compare at constant cost.
    Compare,
    /// Both arguments are read.
    ReadBoth,
    /// The first argument is searched for the second.
    Search,
    /// The first argument is matched against a pattern.
    Match,
    /// A network holds an address; the address may have to be read.
    ContainsIp { reads: bool },
    /// A network holds another; the other may have to be read.
    ContainsCidr { reads: bool },
    /// A name is checked against a format.
    Validate,
    /// A selector is read.
    Selector,
    /// All items of one list are compared with all of the other.
    CompareItems(f64),
    /// A list is created with the items of the result.
    MakeList,
    /// Nested lists are flattened.
    Flatten,
    /// The items of the list at this position are compared with each other.
    SortItems(usize),
}

impl Charge {
    /// The cost model of a call; the overload is empty when it is not known before the call.
    pub(crate) fn of(function: &str, overload: &str) -> Self {
        match function {
            "check" => Self::Fixed(350_000),
            "fieldSelector" | "labelSelector" => Self::Selector,
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => Self::Traverse,
            "url"
            | "jsonpatch.escapeKey"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver" => Self::ReadFirst(1.0),
            "ip" if overload != "cidr_ip" => Self::ReadFirst(1.0),
            "replace" | "split" | "ip.isCanonical" => Self::ReadFirst(2.0),
            "join" => Self::WriteResult(2.0),
            "find" | "findAll" => Self::Match,
            "containsIP" => Self::ContainsIp {
                reads: overload == "cidr_contains_ip_string",
            },
            "containsCIDR" => Self::ContainsCidr {
                reads: overload == "cidr_contains_cidr_string",
            },
            "validate" => Self::Validate,
            "_==_" => Self::Compare,
            _ => Self::of_overload(overload),
        }
    }

    fn of_overload(overload: &str) -> Self {
        match overload {
            "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
            | "strings_quote" | "string_format" => Self::ReadFirst(1.0),
            "in_list" => Self::CountSecond,
            "less_string"
            | "greater_string"
            | "less_equals_string"
            | "greater_equals_string"
            | "less_bytes"
            | "greater_bytes"
            | "less_equals_bytes"
            | "greater_equals_bytes"
            | "not_equals" => Self::ReadShorter,
            "add_string" | "add_bytes" => Self::ReadBoth,
            "matches_string" => Self::Match,
            "contains_string" => Self::Search,
            "list_sets_contains_list" | "list_sets_intersects_list" => Self::CompareItems(1.0),
            "list_sets_equivalent_list" => Self::CompareItems(2.0),
            "list_slice" | "lists_range" | "list_reverse" => Self::MakeList,
            "list_flatten" | "list_flatten_int" => Self::Flatten,
            "list_distinct" => Self::SortItems(0),
            sort if sort.starts_with("list_") && sort.ends_with("_sort") => Self::SortItems(0),
            sort if sort.ends_with("_sortByAssociatedKeys") => Self::SortItems(1),
            _ => Self::Fixed(1),
        }
    }

    /// Whether the cost is known only after the call.
    pub(crate) fn follows_result(self) -> bool {
        matches!(self, Self::WriteResult(_) | Self::MakeList)
    }

    /// The cost of a call with these arguments. Failed arguments are omitted.
    pub(crate) fn amount(self, arguments: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
        let size = |index: usize| arguments.get(index).map_or(1, Value::size);
        let inner = |index: usize| arguments.get(index).map_or(1, Value::inner_size);
        match self {
            Self::Fixed(amount) => amount,
            Self::ReadFirst(times) => read(size(0), times),
            Self::WriteResult(times) => read(result.map_or(1, Value::size), times),
            Self::Traverse => arguments.first().map_or(0, traversal),
            Self::CountSecond => inner(1),
            Self::Compare => match arguments.first() {
                Some(
                    Value::Quantity(_)
                    | Value::Ip(_)
                    | Value::Cidr(_)
                    | Value::Format(_)
                    | Value::Url(_)
                    | Value::Semver(_)
                    | Value::Check(_)
                    | Value::Decision(_),
                ) => 1,
                _ => read(inner(0).min(inner(1)), 1.0),
            },
            Self::ReadShorter => read(inner(0).min(inner(1)), 1.0),
            Self::ReadBoth => read(inner(0) + inner(1), 1.0),
            Self::Search => read(inner(0), 1.0).saturating_mul(read(inner(1), 1.0)),
            Self::Match => {
                read(size(0) + 1, 1.0).saturating_mul((size(1) as f64 * REGEX_FACTOR).ceil() as u64)
            }
            Self::ContainsIp { reads } => {
                let other = if reads { read(size(1), 1.0) } else { 0 };
                read(size(0) * 2, 1.0) + other
            }
            Self::ContainsCidr { reads } => {
                let other = if reads { read(size(1), 1.0) } else { 0 };
                read(size(0) * 2, 1.0) + read(size(0), 1.0) + 1 + other
            }
            Self::Validate => match arguments.first() {
                Some(Value::Format(format)) => {
                    let pattern = (format.pattern_size as f64 * REGEX_FACTOR).ceil() as u64;
                    read(size(1) + 1, 1.0).saturating_mul(pattern)
                }
                _ => 1,
            },
            Self::CompareItems(times) => 1 + (size(0).saturating_mul(size(1)) as f64 * times) as u64,
            Self::MakeList => 11 + result.map_or(1, Value::size),
            Self::Flatten => {
                let depth = match arguments.get(1) {
                    Some(Value::Int(depth)) => *depth as f64,
                    _ => 1.0,
                };
                11 + (size(0) as f64 * depth) as u64
            }
            Self::SortItems(index) => {
                let is_text = match arguments.get(index) {
                    Some(Value::List(list)) => {
                        matches!(list.get(0), Some(Ok(Value::String(_) | Value::Bytes(_))))
                    }
                    _ => false,
                };
                let factor = if is_text { 2.0 + TEXT_FACTOR } else { 2.0 };
                11 + (size(index).saturating_mul(size(index)) as f64 * factor) as u64
            }
            Self::Selector => {
                let length = size(1);
                let requirements = (length as f64 * 0.5).ceil();
                10 + read(length, 1.0) + (requirements * 50.0).ceil() as u64
            }
        }
    }
}

fn read(size: u64, times: f64) -> u64 {
    (size as f64 * times * TEXT_FACTOR).ceil() as u64
}

fn traversal(value: &Value<'_>) -> u64 {
    if meter::visit(1).is_err() {
        return u64::MAX;
    }
    match value {
        Value::String(text) => (text.len() as f64 * TEXT_FACTOR) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * TEXT_FACTOR) as u64,
        Value::List(list) => list
            .iter()
            .map(|item| item.as_ref().map_or(1, traversal))
            .fold(0, u64::saturating_add),
        Value::Map(map) => map
            .keys()
            .iter()
            .map(|key| {
                let value = map.find(key);
                traversal(key).saturating_add(value.ok().flatten().as_ref().map_or(1, traversal))
            })
            .fold(0, u64::saturating_add),
        _ => 1,
    }
}
