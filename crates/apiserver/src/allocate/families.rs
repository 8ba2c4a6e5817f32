//! IP families of Services. This cluster is single-stack IPv4.

use std::net::Ipv6Addr;

use cambium_schema::{FieldError, FieldPath};
use serde_json::{Map, Value, json};

use super::spec::Spec;

/// Defaults `ipFamilies` and `ipFamilyPolicy`, or refuses what a single-stack cluster cannot provide.
pub(super) fn settle(new: &mut Map<String, Value>, old: Option<Spec<'_>>) -> Result<(), FieldError> {
    let wanted = Spec::of(new);
    let field = |name: &str| FieldPath::new("spec").child(name);
    if !wanted.has_address() {
        return match ["clusterIPs", "clusterIP", "ipFamilies", "ipFamilyPolicy"]
            .into_iter()
            .find(|name| is_set(wanted, name))
        {
            // Upstream speaks of the list only.
            Some("clusterIP") => Err(not_for_names(field("clusterIPs"))),
            Some(name) => Err(not_for_names(field(name))),
            None => Ok(()),
        };
    }
    check_addresses(wanted, &field("clusterIPs"))?;
    // The endpoints of a headless Service without selector are managed by its author, and may be of both families.
    let is_open = wanted.is_headless()
        && wanted
            .get("selector")
            .is_none_or(|selector| *selector == json!({}));
    let policy = match (wanted.text("ipFamilyPolicy"), is_open) {
        ("", true) => "RequireDualStack",
        ("", false) => "SingleStack",
        (given, _) => given,
    }
    .to_owned();
    let mut families = wanted.list("ipFamilies").to_vec();
    if families.is_empty() {
        families.push(json!("IPv4"));
    }
    if is_open && policy != "SingleStack" && families.len() == 1 {
        families.push(json!(if families[0] == "IPv4" { "IPv6" } else { "IPv4" }));
    }
    let is_new = old.is_none_or(|old| !old.has_address());
    if is_new && !is_open {
        if policy == "RequireDualStack" {
            let why = "this cluster is not configured for dual-stack services";
            return Err(FieldError::invalid(field("ipFamilyPolicy"), &json!(policy), why));
        }
        if let Some(at) = families.iter().position(|family| family == "IPv6") {
            let why = "not configured on this cluster";
            return Err(FieldError::invalid(
                field("ipFamilies").index(at),
                &families[at],
                why,
            ));
        }
    }
    new.insert("ipFamilies".to_owned(), json!(families));
    new.insert("ipFamilyPolicy".to_owned(), json!(policy));
    Ok(())
}

fn is_set(spec: Spec<'_>, field: &str) -> bool {
    spec.get(field)
        .is_some_and(|value| *value != "" && *value != json!([]))
}

fn not_for_names(path: FieldPath) -> FieldError {
    FieldError::forbidden(path, "may not be set for ExternalName services")
}

fn check_addresses(wanted: Spec<'_>, path: &FieldPath) -> Result<(), FieldError> {
    let addresses = wanted.list("clusterIPs");
    let Some(first) = addresses.first() else {
        return Ok(());
    };
    let shown = json!(addresses);
    let why = match wanted.text("clusterIP") {
        "" => "must be empty when `clusterIP` is not specified",
        address if *first != address => "first value must match `clusterIP`",
        address if address.parse::<Ipv6Addr>().is_ok() => {
            let why = "IPv6 is not configured on this cluster";
            return Err(FieldError::invalid(path.clone().index(0), &shown, why));
        }
        _ => return Ok(()),
    };
    Err(FieldError::invalid(path.clone(), &shown, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spec: Value, expected: Result<(&str, Value), &str>) {
        let mut new = spec.as_object().cloned().unwrap();
        let found = settle(&mut new, None).map_err(|error| error.to_string());
        let found = found.map(|()| (Spec::of(&new).text("ipFamilyPolicy"), new["ipFamilies"].clone()));
        assert_eq!(found, expected.map_err(str::to_owned), "{spec}");
    }

    #[test]
    fn families_are_filled_in() {
        let (one, both) = (json!(["IPv4"]), json!(["IPv4", "IPv6"]));
        check(json!({}), Ok(("SingleStack", one.clone())));
        check(
            json!({"ipFamilyPolicy": "PreferDualStack"}),
            Ok(("PreferDualStack", one.clone())),
        );
        let headless = json!({"clusterIP": "None", "clusterIPs": ["None"]});
        check(headless.clone(), Ok(("RequireDualStack", both)));
        let mut selecting = headless;
        selecting["selector"] = json!({"a": "b"});
        check(selecting, Ok(("SingleStack", one)));
    }

    #[test]
    fn what_the_cluster_has_not_is_refused() {
        check(
            json!({"ipFamilyPolicy": "RequireDualStack"}),
            Err(
                "spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not configured for dual-stack services",
            ),
        );
        check(
            json!({"ipFamilies": ["IPv6"]}),
            Err("spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster"),
        );
        check(
            json!({"clusterIP": "fd00::1", "clusterIPs": ["fd00::1"]}),
            Err("spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 is not configured on this cluster"),
        );
        check(
            json!({"type": "ExternalName", "clusterIP": "None"}),
            Err("spec.clusterIPs: Forbidden: may not be set for ExternalName services"),
        );
    }
}
