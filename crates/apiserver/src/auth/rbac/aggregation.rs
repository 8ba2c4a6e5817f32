//! Aggregated ClusterRoles.

use serde_json::Value;

use crate::object;
use crate::selector::LabelSelector;

/// The rules of an aggregated ClusterRole: those of the roles that its selectors match, by name, without duplicates.
/// `None` for a role that is not aggregated. `roles` are all ClusterRoles, in the order of their names.
pub(crate) fn aggregate(role: &Value, roles: &[Value]) -> Option<Vec<Value>> {
    let selectors = role.get("aggregationRule")?.get("clusterRoleSelectors");
    let selectors = selectors.and_then(Value::as_array).into_iter().flatten();
    let mut sum: Vec<Value> = Vec::new();
    for selector in selectors.filter_map(LabelSelector::from_json) {
        let chosen = roles
            .iter()
            .filter(|one| object::name(one) != object::name(role) && selector.matches_object(one));
        for rule in chosen.filter_map(|one| one.get("rules")?.as_array()).flatten() {
            if !sum.contains(rule) {
                sum.push(rule.clone());
            }
        }
    }
    Some(sum)
}
