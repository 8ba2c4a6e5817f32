//! Redacts the messages of an API server: values of Secrets are left out.

use serde_json::Value;

/// Before values that API servers quote; how much of it is kept.
const QUOTES: [(&str, usize); 4] = [
    (", got ", 0),
    ("Invalid value", "Invalid value".len()),
    ("Unsupported value", "Unsupported value".len()),
    ("Duplicate value", "Duplicate value".len()),
];

/// The message of an API server about an object, for conditions, events and logs, without the values of a Secret that it quotes.
pub fn without_secret_values(object: &Value, said: &str) -> String {
    let is_secret = object["apiVersion"] == "v1" && object["kind"] == "Secret";
    let quotes = QUOTES
        .iter()
        .filter_map(|(quote, kept)| Some(said.find(quote)? + kept));
    match quotes.min().filter(|_| is_secret) {
        Some(end) => format!("{} (values of Secrets are not shown)", &said[..end]),
        None => said.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_secret_values;
    use serde_json::json;

    #[test]
    fn values_of_secrets_are_not_shown() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret"});
        for (said, shown) in [
            (
                "failed to create typed patch object: .stringData.pw: expected string, got &value.valueUnstructured{Value:87654321}",
                "failed to create typed patch object: .stringData.pw: expected string (values of Secrets are not shown)",
            ),
            (
                "Secret \"a\" is invalid: [data.b: Invalid value: \"hunter2\": too short, c: Invalid value: \"x, got y\": no]",
                "Secret \"a\" is invalid: [data.b: Invalid value (values of Secrets are not shown)",
            ),
            (
                "type: Unsupported value: \"s3cret\": supported values: \"a\"",
                "type: Unsupported value (values of Secrets are not shown)",
            ),
            (
                "secrets \"a\" is forbidden: quota",
                "secrets \"a\" is forbidden: quota",
            ),
        ] {
            assert_eq!(without_secret_values(&secret, said), shown);
        }
    }

    #[test]
    fn of_others_all_is_shown() {
        let said = ".data.v: expected string, got &value.valueUnstructured{Value:1}";
        for object in [
            json!({"apiVersion": "v1", "kind": "ConfigMap"}),
            json!({"apiVersion": "vault.example.org/v1", "kind": "Secret"}),
        ] {
            assert_eq!(without_secret_values(&object, said), said);
        }
    }
}
