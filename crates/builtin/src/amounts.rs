//! Resource lists: quantities by resource name, `cpu=500m,memory=1Gi`.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::Quantity;

/// A resource list: quantities by resource name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Amounts(BTreeMap<String, Quantity>);

impl Amounts {
    /// Parses a resource list; invalid quantities are left out.
    pub fn of(map: Option<&Value>) -> Self {
        let entries = map.and_then(Value::as_object).into_iter().flatten();
        entries
            .filter_map(|(name, amount)| Some((name.clone(), Quantity::parse(amount.as_str()?).ok()?)))
            .collect()
    }

    /// The resource list as JSON.
    pub fn to_json(&self) -> Value {
        let entries = self
            .iter()
            .map(|(name, amount)| (name.to_owned(), Value::String(amount.to_string())));
        Value::Object(entries.collect::<Map<_, _>>())
    }

    /// The quantity of a resource, if it is listed.
    pub fn get(&self, name: &str) -> Option<&Quantity> {
        self.0.get(name)
    }

    /// Sets the quantity of a resource.
    pub fn set(&mut self, name: impl Into<String>, amount: Quantity) {
        self.0.insert(name.into(), amount);
    }

    /// The resources and their quantities, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Quantity)> {
        self.0.iter().map(|(name, amount)| (name.as_str(), amount))
    }

    /// The resource names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether no resource is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the quantities of another list.
    pub fn add(&mut self, others: &Self) {
        for (name, amount) in others.iter() {
            match self.0.get_mut(name) {
                Some(sum) => *sum += amount,
                None => self.set(name, amount.clone()),
            }
        }
    }

    /// Subtracts the quantities of another list; results may be negative.
    pub fn subtract(&mut self, others: &Self) {
        for (name, amount) in others.iter() {
            *self.0.entry(name.to_owned()).or_insert_with(|| Quantity::of(0)) -= amount;
        }
    }

    /// Raises each quantity to the maximum of both lists.
    pub fn raise(&mut self, others: &Self) {
        for (name, amount) in others.iter() {
            if self.get(name).is_none_or(|mine| amount > mine) {
                self.set(name, amount.clone());
            }
        }
    }

    /// The resources that satisfy a predicate.
    #[must_use]
    pub fn only(&self, mut keep: impl FnMut(&str, &Quantity) -> bool) -> Self {
        let kept = self.iter().filter(|(name, amount)| keep(name, amount));
        kept.map(|(name, amount)| (name.to_owned(), amount.clone()))
            .collect()
    }

    /// The resources with a positive quantity.
    #[must_use]
    pub fn above_zero(&self) -> Self {
        self.only(|_, amount| !amount.is_zero() && !amount.is_negative())
    }
}

impl FromIterator<(String, Quantity)> for Amounts {
    fn from_iter<I: IntoIterator<Item = (String, Quantity)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl fmt::Display for Amounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, amount)) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(formatter, "{comma}{name}={amount}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn amounts(map: Value) -> Amounts {
        Amounts::of(Some(&map))
    }

    #[test]
    fn amounts_are_added_and_taken_away_by_name() {
        let mut sum = amounts(json!({"cpu": "500m"}));
        sum.add(&amounts(json!({"cpu": "1", "memory": "1Gi"})));
        assert_eq!(sum.to_string(), "cpu=1500m,memory=1Gi");
        sum.subtract(&amounts(json!({"cpu": "2", "pods": "1"})));
        assert_eq!(
            sum.to_json(),
            json!({"cpu": "-500m", "memory": "1Gi", "pods": "-1"})
        );
        assert_eq!(sum.above_zero().to_string(), "memory=1Gi");
        sum.raise(&amounts(json!({"cpu": "1", "memory": "1Mi"})));
        assert_eq!(sum.to_string(), "cpu=1,memory=1Gi,pods=-1");
    }
}
