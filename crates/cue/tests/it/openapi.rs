//! OpenAPI schemas generated from CUE parameters.
use cambium_cue::{EvaluationOptions, OpenApi, Source, compile};
use serde_json::{Value, json};

fn openapi(parameter: &str) -> OpenApi {
    let text = format!(
        "import \"strings\"\nimport \"list\"\n_used: [strings.ToLower(\"\"), list.Sum([])]\n{parameter}"
    );
    let program = compile(&Source::new("parameter.cue", text)).unwrap();
    let mut instance = program.evaluate(&[], EvaluationOptions::default());
    let parameter = instance.lookup(&["parameter"]).unwrap();
    instance.openapi(parameter)
}

/// The schema of a parameter with these fields, of which nothing was left out.
fn field(declaration: &str) -> Value {
    let OpenApi {
        schema,
        inexpressible,
    } = openapi(&format!("parameter: {{\n{declaration}\n}}"));
    assert_eq!(inexpressible, [], "{declaration}");
    schema
}

#[test]
fn each_construction_has_its_schema() {
    let cases = [
        ("a: string", json!({"type": "string"})),
        ("a: bool", json!({"type": "boolean"})),
        ("a: int", json!({"type": "integer"})),
        ("a: float", json!({"type": "number"})),
        ("a: number", json!({"type": "number"})),
        ("a: bytes", json!({"type": "string", "format": "byte"})),
        ("a: _", json!({"x-kubernetes-preserve-unknown-fields": true})),
        (
            "a: {...}",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        ),
        ("a: int | string", json!({"x-kubernetes-int-or-string": true})),
        ("a: string | null", json!({"type": "string", "nullable": true})),
        ("a: \"x\" | \"y\"", json!({"type": "string", "enum": ["x", "y"]})),
        ("a: 1 | 2", json!({"type": "integer", "enum": [1, 2]})),
        (
            "a: int & >=1 & <10",
            json!({"type": "integer", "minimum": 1, "maximum": 10, "exclusiveMaximum": true}),
        ),
        ("a: =~\"^x\"", json!({"type": "string", "pattern": "^x"})),
        (
            "a: =~\"^x\" & =~\"y$\"",
            json!({"type": "string", "pattern": "^x", "allOf": [{"pattern": "y$"}]}),
        ),
        (
            "a: string & !~\"^x\"",
            json!({"type": "string", "not": {"pattern": "^x"}}),
        ),
        (
            "a: string & !=\"x\"",
            json!({"type": "string", "not": {"enum": ["x"]}}),
        ),
        (
            "a: strings.MinRunes(2) & strings.MaxRunes(5)",
            json!({"type": "string", "minLength": 2, "maxLength": 5}),
        ),
        (
            "a: [...string]",
            json!({"type": "array", "items": {"type": "string"}}),
        ),
        (
            "a: [...int] & list.MaxItems(3)",
            json!({"type": "array", "items": {"type": "integer"}, "maxItems": 3}),
        ),
        (
            "a: [string, ...string]",
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        ),
        (
            "a: [string]: int",
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        ),
        (
            "a: {b: string, c?: int}",
            json!({
                "type": "object",
                "required": ["b"],
                "properties": {"b": {"type": "string"}, "c": {"type": "integer"}}
            }),
        ),
    ];
    for (declaration, expected) in cases {
        let schema = field(declaration);
        assert_eq!(schema["properties"]["a"], expected, "{declaration}");
        assert_eq!(schema["required"], json!(["a"]), "{declaration}");
    }
}

#[test]
fn a_default_is_in_the_schema_and_makes_a_field_optional() {
    let cases = [
        ("a: *\"x\" | string", json!({"type": "string", "default": "x"})),
        ("a: *1 | int", json!({"type": "integer", "default": 1})),
        (
            "a: *\"x\" | \"y\"",
            json!({"type": "string", "enum": ["x", "y"], "default": "x"}),
        ),
        (
            "a: *null | string",
            json!({"type": "string", "nullable": true, "default": null}),
        ),
        (
            "a: *[\"x\"] | [...string]",
            json!({"type": "array", "items": {"x-kubernetes-preserve-unknown-fields": true}, "default": ["x"]}),
        ),
        ("a: 7", json!({"type": "integer", "enum": [7], "default": 7})),
    ];
    for (declaration, expected) in cases {
        let OpenApi { schema, .. } = openapi(&format!("parameter: {{{declaration}}}"));
        assert_eq!(schema["properties"]["a"], expected, "{declaration}");
        assert_eq!(schema.get("required"), None, "{declaration}");
    }
}

#[test]
fn required_fields_and_definitions_are_followed() {
    let schema = field("a!: #Port\nb?: [...#Port]\n#Port: {number: int}");
    assert_eq!(schema["required"], json!(["a"]));
    let port =
        json!({"type": "object", "required": ["number"], "properties": {"number": {"type": "integer"}}});
    assert_eq!(schema["properties"]["a"], port);
    assert_eq!(schema["properties"]["b"]["items"], port);
    assert_eq!(
        schema["properties"].as_object().unwrap().len(),
        2,
        "definitions are no properties"
    );
}

#[test]
fn comments_become_descriptions() {
    let schema = field(
        "// +usage=What to run\n// +short=i\na: string\n// Plain words,\n// on two lines.\nb: string\n\
         // +ignore\nc: string\n\n// Not its own.\n\nd: string",
    );
    let properties = &schema["properties"];
    assert_eq!(
        properties["a"],
        json!({"type": "string", "description": "What to run", "x-short": "i"})
    );
    assert_eq!(properties["b"]["description"], "Plain words, on two lines.");
    assert_eq!(properties["c"], json!({"type": "string", "x-ignore": true}));
    assert_eq!(properties["d"], json!({"type": "string"}));
}

#[test]
fn what_cannot_be_said_is_listed_and_left_open() {
    let cases = [
        ("a: {x: int} | {y: int}", "one of several structs"),
        ("a: [...int] | [...string]", "one of several lists"),
        ("a: [int, string]", "elements of different types by position"),
        ("a: string | [...string]", "values of several types"),
        ("a: >\"b\"", "must be >\"b\""),
        ("a: list.UniqueItems()", "must satisfy list.UniqueItems"),
        (
            "a: {b: 1, [string]: int}",
            "patterns beside fields, or several patterns",
        ),
        ("a: {[=~\"^x\"]: int}", "names must satisfy"),
    ];
    for (declaration, reason) in cases {
        let OpenApi {
            schema,
            inexpressible,
        } = openapi(&format!("parameter: {{{declaration}}}"));
        let found: Vec<_> = inexpressible.iter().map(|lost| lost.reason.as_str()).collect();
        assert!(
            found.iter().any(|found| found.contains(reason)),
            "{declaration}: {found:?}"
        );
        assert!(schema["properties"]["a"].is_object(), "{declaration}");
    }
}

#[test]
fn a_definition_that_contains_itself_ends() {
    let OpenApi {
        schema,
        inexpressible,
    } = openapi("#Tree: {name: string, children?: [...#Tree]}\nparameter: tree: #Tree");
    assert!(schema["properties"]["tree"]["properties"]["children"]["items"].is_object());
    assert!(
        inexpressible.iter().any(|lost| lost.reason == "contains itself"),
        "{inexpressible:?}"
    );
}
