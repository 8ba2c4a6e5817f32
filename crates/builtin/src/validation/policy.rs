//! Disruption budgets.

use super::at::At;
use super::rule::{self, Errors};
use super::selector::{self, json_text};

pub(super) fn disruption_budget(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    let (least, most) = (spec.field("minAvailable"), spec.field("maxUnavailable"));
    if least.is_set() && most.is_set() {
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            json_text(least.value),
            selector::shown(spec.field("selector").value),
            json_text(most.value),
            json_text(spec.field("unhealthyPodEvictionPolicy").value),
        );
        rule::invalid_shown(
            &spec,
            shown,
            "minAvailable and maxUnavailable cannot be both set",
            errors,
        );
    }
    for at in [&least, &most] {
        if at.is_set() {
            rule::number_or_percent(at, errors);
            rule::at_most_all(at, errors);
        }
    }
    selector::check(&spec.field("selector"), errors);
    let eviction = spec.field("unhealthyPodEvictionPolicy");
    rule::one_of_if_set(&eviction, &["AlwaysAllow", "IfHealthyBudget"], errors);
}
