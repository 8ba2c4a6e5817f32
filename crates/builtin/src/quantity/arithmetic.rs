//! Arithmetic of quantities.

use std::ops::{AddAssign, SubAssign};

use super::{Format, Quantity, power, rounded_up};

impl Quantity {
    /// An integer quantity.
    pub fn of(number: i64) -> Self {
        Self {
            value: number.into(),
            scale: 0,
            format: Format::Decimal,
            text: None,
        }
    }

    /// The value rounded up to an integer.
    pub fn rounded_up(&self) -> i128 {
        self.in_units_of(0)
    }

    /// The value in thousandths, rounded up.
    pub fn thousandths(&self) -> i128 {
        self.in_units_of(-3)
    }

    /// The quantity rounded up to an integer.
    #[must_use]
    pub fn whole_up(&self) -> Self {
        match self.is_whole() {
            true => self.clone(),
            false => Self {
                value: self.rounded_up(),
                scale: 0,
                format: self.format,
                text: None,
            },
        }
    }

    fn in_units_of(&self, scale: i64) -> i128 {
        match self.scale <= scale {
            true => rounded_up(self.value, self.scale, scale),
            false => self.value.saturating_mul(power(self.scale - scale)),
        }
    }

    /// Adds `other` multiplied by `times`. Zero takes on the format of `other`.
    fn combine(&mut self, other: &Self, times: i128) {
        if self.value == 0 {
            self.format = other.format;
        }
        let scale = self.scale.min(other.scale);
        let scaled = |one: &Self| one.value.saturating_mul(power(one.scale - scale));
        self.value = scaled(self).saturating_add(scaled(other).saturating_mul(times));
        self.scale = scale;
        self.text = None;
    }
}

impl AddAssign<&Quantity> for Quantity {
    fn add_assign(&mut self, other: &Quantity) {
        self.combine(other, 1);
    }
}

impl SubAssign<&Quantity> for Quantity {
    fn sub_assign(&mut self, other: &Quantity) {
        self.combine(other, -1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    #[test]
    fn sums_are_exact_and_written_in_the_form_of_the_first() {
        for (first, second, sum) in [
            ("500m", "500m", "1"),
            ("1Gi", "512Mi", "1536Mi"),
            ("0", "1Gi", "1Gi"),
            ("1", "1Ki", "1025"),
            ("1Ki", "24", "1048"),
            ("999m", "1u", "999001u"),
            ("5", "0", "5"),
            ("1e3", "1", "1001"),
        ] {
            let mut quantity = parsed(first);
            quantity += &parsed(second);
            assert_eq!(quantity.to_string(), sum, "{first} + {second}");
            quantity -= &parsed(second);
            assert_eq!(quantity, parsed(first), "{first} + {second} - {second}");
        }
    }

    #[test]
    fn parts_of_one_are_rounded_up() {
        assert_eq!(parsed("1500m").rounded_up(), 2);
        assert_eq!(parsed("1500u").thousandths(), 2);
        assert_eq!(parsed("2Ki").thousandths(), 2_048_000);
        assert_eq!(parsed("1500m").whole_up(), Quantity::of(2));
        assert_eq!(parsed("1Gi").whole_up().to_string(), "1Gi");
    }
}
