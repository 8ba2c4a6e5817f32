//! How much an expression may cost, as the API server has it.

/// What one evaluation of one expression may cost.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// What all rules of one object may cost together.
pub const RULES_BUDGET: i64 = 10_000_000;

/// What all match conditions of one webhook may cost together.
pub const CONDITIONS_BUDGET: i64 = 2_500_000;

/// The size of the largest request, from which the size of unbounded values is estimated.
pub(crate) const MAX_REQUEST_BYTES: u64 = 3 * 1024 * 1024;

/// What one rule of a schema may be estimated to cost, counting how often it applies.
pub(crate) const ESTIMATED_RULE_LIMIT: u64 = 10_000_000;

/// What all rules of a schema may be estimated to cost together.
pub(crate) const ESTIMATED_TOTAL_LIMIT: u64 = 100_000_000;

/// The longest message that an expression may give.
pub const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// The cost of each byte or character of a text that is read.
pub(crate) const TEXT_FACTOR: f64 = 0.1;

/// The cost of each character of a regular expression.
pub(crate) const REGEX_FACTOR: f64 = 0.25;

/// The cost of making a value by the name of its type.
pub(crate) const MESSAGE: u64 = 40;

/// What one evaluation may make, in bytes, all texts and lists together.
pub(crate) const MOST_BYTES: usize = 64 << 20;

/// How many values one evaluation may look at inside of others.
pub(crate) const MOST_VISITS: u64 = 16_000_000;

/// How many values inside of its arguments a call may look at for what Kubernetes counts.
pub(crate) const FREE_VISITS: u64 = 256;

/// How many values are looked at for a cost of one.
pub(crate) const VISITS: u64 = 16;
