//! Cost limits of expressions, as the API server.

/// Cost limit of one evaluation of an expression.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// Cost limit of all rules on an object.
pub const RULES_BUDGET: i64 = 10_000_000;

/// Cost limit of all match conditions of a webhook.
pub const CONDITIONS_BUDGET: i64 = 2_500_000;

/// The size of the largest request, from which the size of unbounded values is estimated.
pub(crate) const MAX_REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// Limit of the estimated cost of a rule, multiplied by the maximum number of values that it applies to.
pub(crate) const ESTIMATED_RULE_LIMIT: u64 = 10_000_000;

/// Limit of the estimated cost of all rules of a schema.
pub(crate) const ESTIMATED_TOTAL_LIMIT: u64 = 100_000_000;

/// Maximum length of a `messageExpression` result.
pub const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// The cost of reading a byte or character of a string.
pub(crate) const TEXT_FACTOR: f64 = 0.1;

/// The cost of each character of a regular expression.
pub(crate) const REGEX_FACTOR: f64 = 0.25;

/// The cost of constructing a message.
pub(crate) const MESSAGE: u64 = 40;

/// Memory limit of strings and lists created by an evaluation, in bytes.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// Limit of nested values visited by an evaluation.
pub(crate) const MOST_VISITS: u64 = 16_000_000;

/// Nested values that a call may visit without an additional charge.
pub(crate) const FREE_VISITS: u64 = 256;

/// Visited values per unit of cost.
pub(crate) const VISITS: u64 = 16;
