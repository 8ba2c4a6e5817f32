//! Defaults of API extensions: webhooks, admission policies, CRDs, APIServices.

use serde_json::{Map, Value};

use super::fields::{inside, object, set, set_absent, text};

pub(super) fn of_type(name: &str, fields: &mut Map<String, Value>) {
    match name {
        "ValidatingWebhook" => webhook(fields),
        "MutatingWebhook" => {
            webhook(fields);
            set_absent(fields, "reinvocationPolicy", "Never");
        }
        "RuleWithOperations" | "NamedRuleWithOperations" => set_absent(fields, "scope", "*"),
        "ServiceReference" => set_absent(fields, "port", 443),
        "ValidatingAdmissionPolicySpec" | "MutatingAdmissionPolicySpec" => {
            set_absent(fields, "failurePolicy", "Fail");
        }
        "MatchResources" => selectors(fields),
        "CustomResourceDefinitionSpec" => definition(fields),
        _ => {}
    }
}

fn webhook(fields: &mut Map<String, Value>) {
    set_absent(fields, "failurePolicy", "Fail");
    set_absent(fields, "timeoutSeconds", 10);
    selectors(fields);
}

fn selectors(fields: &mut Map<String, Value>) {
    set_absent(fields, "matchPolicy", "Equivalent");
    set_absent(fields, "namespaceSelector", Map::new());
    set_absent(fields, "objectSelector", Map::new());
}

fn definition(spec: &mut Map<String, Value>) {
    if let Some(names) = inside(spec, "names") {
        let kind = text(names, "kind").to_owned();
        set(names, "singular", kind.to_lowercase());
        if !kind.is_empty() {
            set(names, "listKind", format!("{kind}List"));
        }
        if text(names, "singular").is_empty() {
            names.remove("singular");
        }
    }
    if let Some(conversion) = object(spec, "conversion") {
        set(conversion, "strategy", "None");
    }
}
