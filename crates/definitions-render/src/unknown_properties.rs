//! Properties that no parameter of the template has, although the template does not forbid them.

use crate::Template;
use crate::template::as_kubevela;
use cambium_cue::Program;
use cambium_objects::meant;
use serde_json::Value;
use std::fmt;

/// A property that no parameter has the name of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownProperty {
    /// The path below the properties: `env[0].valeu`.
    pub path: String,
    /// The parameter that was probably meant.
    pub meant: Option<String>,
}

impl fmt::Display for UnknownProperty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: no parameter has this name", self.path)?;
        match &self.meant {
            Some(meant) => write!(formatter, "; did you mean {meant:?}?"),
            None => Ok(()),
        }
    }
}

impl Template {
    /// The properties that the template does not read. Where its parameters are open on purpose, nothing is unknown.
    pub fn unknown_properties(&self, properties: Option<&Value>) -> Vec<UnknownProperty> {
        let make = || parameter_schema(self.program());
        let schema = self.parameters.get_or_init(make).as_ref();
        unknown_properties(schema, properties)
    }
}

/// The schema of a program's parameters.
pub(crate) fn parameter_schema(program: &Program) -> Option<Value> {
    let mut instance = program.evaluate(&[], as_kubevela());
    let parameter = instance.lookup(&["parameter"])?;
    Some(instance.openapi(parameter).schema)
}

/// The properties of which a schema says nothing.
pub(crate) fn unknown_properties(schema: Option<&Value>, properties: Option<&Value>) -> Vec<UnknownProperty> {
    let mut unknown = Vec::new();
    if let (Some(properties), Some(schema)) = (properties, schema) {
        compare(schema, properties, "", &mut unknown);
    }
    unknown
}

fn compare(schema: &Value, given: &Value, path: &str, unknown: &mut Vec<UnknownProperty>) {
    match given {
        Value::Object(given) => {
            let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
            let choices = ["oneOf", "anyOf", "allOf"]
                .iter()
                .any(|choice| !schema[choice].is_null());
            let Some(known) = schema["properties"].as_object() else {
                return;
            };
            for (name, value) in given {
                let below = match path.is_empty() {
                    true => name.clone(),
                    false => format!("{path}.{name}"),
                };
                match known.get(name) {
                    Some(schema) => compare(schema, value, &below, unknown),
                    None if open || choices || !schema["additionalProperties"].is_null() => {}
                    None => unknown.push(UnknownProperty {
                        path: below,
                        meant: meant(name, known.keys().map(String::as_str)).map(str::to_owned),
                    }),
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                compare(&schema["items"], item, &format!("{path}[{index}]"), unknown);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Definition;
    use serde_json::json;

    fn unknown(template: &str, properties: Value) -> Vec<String> {
        let manifest = json!({
            "kind": "ComponentDefinition", "metadata": {"name": "web"},
            "spec": {"schematic": {"cue": {"template": template}}},
        });
        let template = Template::compile(Definition::from_manifest(&manifest).unwrap()).unwrap();
        let unknown = template.unknown_properties(Some(&properties));
        unknown.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn properties_that_nobody_reads_are_told_with_the_nearest_name() {
        let template = "output: {kind: \"A\"}\nparameter: {\n\treplicas: *1 | int\n\tenv?: [...{name: string, value?: string}]\n\
                        \tlabels?: [string]: string\n\topen?: {a?: int, ...}\n}\n";
        let properties = json!({
            "replicsa": 3, "env": [{"name": "A", "valeu": "b"}], "labels": {"any": "x"}, "open": {"b": 1}, "zzz": {},
        });
        assert_eq!(
            unknown(template, properties),
            [
                "env[0].valeu: no parameter has this name; did you mean \"value\"?",
                "replicsa: no parameter has this name; did you mean \"replicas\"?",
                "zzz: no parameter has this name",
            ]
        );
        assert!(
            unknown(
                "output: {kind: \"A\"}\nparameter: {a?: int, ...}\n",
                json!({"b": 1})
            )
            .is_empty()
        );
        assert!(unknown("output: {kind: \"A\"}\n", json!({"b": 1})).is_empty());
    }
}
