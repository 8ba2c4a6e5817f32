//! Estimates of call costs and result sizes.

use cel::common::ast::{Expr, IdedExpr, LiteralValue};

use super::range::Range;
use super::{Estimator, Node};
use crate::limits::{REGEX_FACTOR, TEXT_FACTOR};
use crate::types::Type;

/// The estimate of a call, without its arguments, and of the size of its result.
pub(super) struct CallEstimate {
    pub(super) cost: Range,
    pub(super) size: Option<Range>,
}

fn cost(cost: Range) -> Option<CallEstimate> {
    Some(CallEstimate { cost, size: None })
}

fn sized(cost: Range, size: Range) -> Option<CallEstimate> {
    Some(CallEstimate {
        cost,
        size: Some(size),
    })
}

const ONE: Range = Range::exactly(1);

impl Estimator<'_> {
    /// The estimate for functions of Kubernetes' libraries.
    pub(super) fn library(
        &self,
        function: &str,
        overload: &str,
        target: Option<&Node<'_>>,
        arguments: &[Node<'_>],
    ) -> Option<CallEstimate> {
        self.extension(overload, target, arguments)
            .or_else(|| self.kubernetes(function, overload, target, arguments))
    }

    fn extension(
        &self,
        overload: &str,
        target: Option<&Node<'_>>,
        arguments: &[Node<'_>],
    ) -> Option<CallEstimate> {
        let allocating = |factor: f64, size: Range| {
            let cost = size.scaled(factor).plus(ONE).plus(Range::exactly(10));
            sized(cost, size)
        };
        let own = || target.map(|target| self.size_of(target));
        match (overload, arguments) {
            ("list_sets_contains_list" | "list_sets_intersects_list", [a, b]) => {
                cost(self.size_of(a).times(self.size_of(b)).scaled(1.0).plus(ONE))
            }
            ("list_sets_equivalent_list", [a, b]) => {
                cost(self.size_of(a).times(self.size_of(b)).scaled(2.0).plus(ONE))
            }
            ("list_slice", [start, end]) => {
                let start = literal_int(start.expression).unwrap_or(0);
                let end = literal_int(end.expression).unwrap_or(own()?.max);
                allocating(1.0, Range::exactly(end.wrapping_sub(start)))
            }
            ("lists_range", [count]) => allocating(
                1.0,
                Range::exactly(literal_int(count.expression).unwrap_or(u64::MAX)),
            ),
            ("list_reverse", []) => allocating(1.0, own()?),
            ("list_flatten", []) => allocating(1.0, own()?),
            ("list_flatten_int", [depth]) => {
                let depth = literal_int(depth.expression).unwrap_or(u64::MAX);
                allocating(depth as f64, own()?)
            }
            ("list_distinct", []) => allocating(2.0, own()?.times(own()?)),
            (sort, []) if sort.starts_with("list_") && sort.ends_with("_sort") => {
                let factor = if is_text_sort(sort) {
                    2.0 + TEXT_FACTOR
                } else {
                    2.0
                };
                allocating(factor, own()?.times(own()?))
            }
            (sort, [keys]) if sort.ends_with("_sortByAssociatedKeys") => {
                let factor = if is_text_sort(sort) {
                    2.0 + TEXT_FACTOR
                } else {
                    2.0
                };
                let size = self.size_of(keys);
                allocating(factor, size.times(size))
            }
            _ => None,
        }
    }

    fn kubernetes(
        &self,
        function: &str,
        overload: &str,
        target: Option<&Node<'_>>,
        arguments: &[Node<'_>],
    ) -> Option<CallEstimate> {
        match function {
            "check" => cost(Range::exactly(350_000)),
            "serviceAccount" | "path" | "group" | "resource" | "subresource" | "namespace" | "name"
            | "allowed" | "reason" | "error" | "errored" => cost(ONE),
            "fieldSelector" | "labelSelector" => {
                let length = self.size_of(arguments.first()?);
                let requirements = length.scaled(0.5).scaled(50.0);
                cost(
                    Range::exactly(10)
                        .plus(length.scaled(TEXT_FACTOR))
                        .plus(requirements),
                )
            }
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => {
                let target = target?;
                let size = self.size_of(target);
                match self.item_size(target) {
                    Some(item) => cost(size.times(ONE.plus(item.unwrap_or_default().scaled(TEXT_FACTOR)))),
                    None => cost(size.scaled(TEXT_FACTOR)),
                }
            }
            "url" | "jsonpatch.escapeKey" => {
                let size = self.size_of(arguments.first()?);
                sized(size.scaled(TEXT_FACTOR), size)
            }
            "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                let size = self.size_of(target?);
                sized(size.scaled(TEXT_FACTOR), size)
            }
            "replace" => self.replace(target?, arguments),
            "split" => {
                let size = self.size_of(target?);
                let most = arguments.get(1).and_then(|most| literal_int(most.expression));
                sized(
                    size.scaled(2.0 * TEXT_FACTOR),
                    Range::new(0, most.unwrap_or(size.max)),
                )
            }
            "join" => self.join(target?, arguments),
            "find" | "findAll" => {
                let size = self.size_of(target?);
                let text = size.plus(ONE).scaled(TEXT_FACTOR);
                let pattern = self.size_of(arguments.first()?).scaled(REGEX_FACTOR);
                sized(text.times(pattern), Range::new(0, size.max))
            }
            "ip" if overload == "cidr_ip" => cost(ONE),
            "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
                cost(self.size_of(arguments.first()?).scaled(TEXT_FACTOR))
            }
            "ip.isCanonical" => cost(self.size_of(arguments.first()?).scaled(2.0 * TEXT_FACTOR)),
            "masked"
            | "prefixLength"
            | "family"
            | "isUnspecified"
            | "isLoopback"
            | "isLinkLocalMulticast"
            | "isLinkLocalUnicast"
            | "isGlobalUnicast"
            | "format.named"
            | "sign"
            | "asInteger"
            | "isInteger"
            | "asApproximateFloat"
            | "isGreaterThan"
            | "isLessThan"
            | "compareTo"
            | "add"
            | "sub"
            | "major"
            | "minor"
            | "patch"
            | "getScheme"
            | "getHostname"
            | "getHost"
            | "getPort"
            | "getEscapedPath"
            | "getQuery" => cost(ONE),
            "containsIP" | "containsCIDR" => {
                let address = Range::new(4, 16);
                let mut total = address.plus(address).scaled(TEXT_FACTOR);
                if function == "containsCIDR" {
                    total = total.plus(address.scaled(TEXT_FACTOR)).plus(ONE);
                }
                if overload.ends_with("_string") {
                    total = total.plus(self.size_of(arguments.first()?).scaled(TEXT_FACTOR));
                }
                cost(total)
            }
            "validate" => {
                let size = self.size_of(arguments.first()?);
                cost(size.scaled(TEXT_FACTOR).scaled(128.0 * REGEX_FACTOR))
            }
            "_==_" => match (arguments.first()?.ty, arguments.get(1)?.ty) {
                (Type::Named(a), Type::Named(b)) if a == b => match *a {
                    "kubernetes.NamedFormat" => cost(Range::new(1, 64).scaled(TEXT_FACTOR)),
                    "kubernetes.URL" => {
                        let size = arguments[1].size.unwrap_or(ONE);
                        cost(Range::new(1, size.max).scaled(TEXT_FACTOR))
                    }
                    _ => cost(ONE),
                },
                _ => None,
            },
            _ => None,
        }
    }

    fn replace(&self, target: &Node<'_>, arguments: &[Node<'_>]) -> Option<CallEstimate> {
        let [old, new, ..] = arguments else { return None };
        let (size, old, new) = (self.size_of(target), self.size_of(old), self.size_of(new));
        let (mut count, mut kept) = (Range::default(), Range::default());
        if old.min == 0 {
            count.max = size.max.saturating_add(1);
            kept.max = size.max;
        } else if new.max <= old.min {
            kept.max = size.max;
        } else {
            count.max = (size.max as f64 / old.min as f64).ceil() as u64;
        }
        if old.max == 0 {
            count.min = size.min.saturating_add(1);
            kept.min = size.min;
        } else if old.max <= new.min {
            kept.min = size.min;
        } else {
            count.min = (size.min as f64 / old.max as f64).ceil() as u64;
        }
        let result = count.times(new).plus(kept);
        sized(size.scaled(2.0 * TEXT_FACTOR), result)
    }

    fn join(&self, target: &Node<'_>, arguments: &[Node<'_>]) -> Option<CallEstimate> {
        let count = self.size_of(target);
        let mut size = match self.item_full_size(target) {
            Some(item) => count.times(item),
            None => Range::default(),
        };
        if let Some(separator) = arguments.first() {
            let gaps = Range::new(count.min.saturating_sub(1), count.max.saturating_sub(1));
            size = size.plus(self.size_of(separator).times(gaps));
        }
        sized(size.scaled(TEXT_FACTOR), size)
    }
}

fn is_text_sort(overload: &str) -> bool {
    overload.starts_with("list_string_") || overload.starts_with("list_bytes_")
}

fn literal_int(node: &IdedExpr) -> Option<u64> {
    match &node.expr {
        Expr::Literal(LiteralValue::Int(value)) => Some(u64::try_from(*value.inner()).unwrap_or(0)),
        _ => None,
    }
}
