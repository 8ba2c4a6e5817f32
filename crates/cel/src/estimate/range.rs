//! Estimates as ranges.

/// A range from minimum to maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Range {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Range {
    /// The full range.
    pub(super) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    /// The empty range: the neutral element of a union.
    pub(super) const NONE: Self = Self {
        min: u64::MAX,
        max: 0,
    };

    pub(super) const fn exactly(amount: u64) -> Self {
        Self {
            min: amount,
            max: amount,
        }
    }

    pub(super) const fn new(min: u64, max: u64) -> Self {
        Self { min, max }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    pub(super) fn scaled(self, factor: f64) -> Self {
        Self {
            min: scale(self.min, factor),
            max: scale(self.max, factor),
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

fn scale(amount: u64, factor: f64) -> u64 {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    let amount = amount as f64;
    if amount > 0.0 && factor > 0.0 && amount > LIMIT / factor {
        return u64::MAX;
    }
    let product = (amount * factor).ceil();
    if product >= LIMIT {
        u64::MAX
    } else {
        product as u64
    }
}
