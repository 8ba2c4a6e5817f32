//! Defaults of flow schemas and priority levels.

use serde_json::{Map, Value};

use super::fields::{set_absent, set_zero};

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "FlowSchemaSpec" => set_zero(fields, "matchingPrecedence", 1000),
        "ExemptPriorityLevelConfiguration" => {
            set_absent(fields, "nominalConcurrencyShares", 0);
            set_absent(fields, "lendablePercent", 0);
        }
        "LimitedPriorityLevelConfiguration" => {
            set_absent(fields, "nominalConcurrencyShares", 30);
            set_absent(fields, "lendablePercent", 0);
        }
        "QueuingConfiguration" => {
            set_zero(fields, "handSize", 8);
            set_zero(fields, "queues", 64);
            set_zero(fields, "queueLengthLimit", 50);
        }
        _ => {}
    }
}
