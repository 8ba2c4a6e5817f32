use cambium_schema::{Additional, JsonType, Schema};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::special::Special;
use super::*;
use crate::generated::apiextensions_v1::JSON_SCHEMA_PROPS;
use crate::lookup::{find_kind, kind_schema};
use crate::table::RESOURCES;

#[test]
fn a_config_map_is_the_bytes_that_kubectl_sends() {
    let config_map =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x" }, "data": { "a": "b" } });
    let schema = kind_schema("", "v1", "ConfigMap").unwrap();
    let bytes = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x0d\x0a\x03\x0a\x01x\x12\x06\x0a\x01a\x12\x01b\x1a\x00\x22\x00";
    assert_eq!(encode(&config_map, schema).unwrap(), bytes);
    assert_eq!(decode(bytes).unwrap(), config_map);
}

#[test]
fn a_zero_is_kept_only_where_it_says_something() {
    let schema = kind_schema("apps", "v1", "Deployment").unwrap();
    let deployment = |replicas: Value, paused: Value| json!({ "apiVersion": "apps/v1", "kind": "Deployment", "spec": { "replicas": replicas, "paused": paused } });
    let decoded = decode(&encode(&deployment(json!(0), json!(false)), schema).unwrap()).unwrap();
    assert_eq!(decoded["spec"], json!({ "replicas": 0 }));
}

#[test]
fn inlined_structs_are_nested() {
    let schema = kind_schema("", "v1", "Pod").unwrap();
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "spec": { "volumes": [
        { "name": "a", "emptyDir": {} }, { "name": "b", "configMap": { "name": "c", "optional": false } },
    ], "containers": [{ "name": "c", "livenessProbe": { "httpGet": { "port": "web" }, "periodSeconds": 3 } }] } });
    assert_eq!(decode(&encode(&pod, schema).unwrap()).unwrap(), pod);
}

#[test]
fn either_or_schemas_keep_which_they_are() {
    let schema = json!({
        "additionalProperties": false,
        "additionalItems": { "type": "string" },
        "items": [{ "type": "string" }, {}],
        "dependencies": { "a": ["b"], "c": { "required": ["d"] } },
        "default": { "x": [1, null] },
        "enum": ["a", 1, null],
        "maximum": 1.5,
        "properties": { "p": { "items": { "additionalProperties": true }, "nullable": true } },
    });
    let encoded = encode_message(&schema, &JSON_SCHEMA_PROPS).unwrap();
    assert_eq!(decode_message(&encoded, &JSON_SCHEMA_PROPS).unwrap(), schema);
}

#[test]
fn times_have_the_precision_of_their_type() {
    let schema = kind_schema("", "v1", "Event").unwrap();
    let event = json!({ "apiVersion": "v1", "kind": "Event",
        "firstTimestamp": "1969-12-31T23:59:59.5Z", "eventTime": "1969-12-31T23:59:59.123456789+00:00" });
    let decoded = decode(&encode(&event, schema).unwrap()).unwrap();
    assert_eq!(decoded["firstTimestamp"], "1969-12-31T23:59:59Z");
    assert_eq!(decoded["eventTime"], "1969-12-31T23:59:59.123456Z");
}

#[test]
fn lists_and_delete_options_have_envelopes_too() {
    let list = json!({ "apiVersion": "v1", "kind": "SecretList", "metadata": { "resourceVersion": "7" },
        "items": [{ "metadata": { "name": "s" }, "data": { "k": "aGk=", "empty": "" }, "type": "Opaque" }] });
    assert_eq!(
        decode(&encode(&list, kind_schema("", "v1", "SecretList").unwrap()).unwrap()).unwrap(),
        list
    );
    let options = json!({ "apiVersion": "apps/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
        "preconditions": { "uid": "u" }, "propagationPolicy": "Foreground" });
    let schema = kind_schema("apps", "v1", "DeleteOptions").unwrap();
    assert_eq!(decode(&encode(&options, schema).unwrap()).unwrap(), options);
}

#[test]
fn what_is_not_ours_is_refused_with_a_reason() {
    let crontab = b"k8s\0\x0a\x19\x0a\x0eexample.com/v1\x12\x07CronTab\x12\x00";
    assert_eq!(decode(b"{}"), Err(DecodeError::NotProtobuf));
    assert!(matches!(decode(crontab), Err(DecodeError::UnknownKind { .. })));
    assert_eq!(decode(b"k8s\0\x0a\x7f"), Err(DecodeError::Truncated));
    assert_eq!(decode(&vec![0; MAX_BYTES + 1]), Err(DecodeError::TooLarge));
    let pod = json!({ "spec": { "nodeName": 1 } });
    let error = encode(&pod, kind_schema("", "v1", "Pod").unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "a value at .spec.nodeName does not fit String");
}

#[test]
fn deep_schemas_work_and_bottomless_ones_are_refused() {
    let nest = |levels: usize| {
        (0..levels).fold(
            json!({ "type": "string" }),
            |inner, _| json!({ "properties": { "p": inner } }),
        )
    };
    let deep = nest(40);
    let encoded = encode_message(&deep, &JSON_SCHEMA_PROPS).unwrap();
    assert_eq!(decode_message(&encoded, &JSON_SCHEMA_PROPS).unwrap(), deep);
    assert_eq!(
        encode_message(&nest(250), &JSON_SCHEMA_PROPS),
        Err(EncodeError::TooDeep)
    );
    // `not` inside `not`, without end.
    let not = u8::try_from(JSON_SCHEMA_PROPS.property("not").unwrap().number).unwrap();
    let mut bytes = Vec::new();
    for _ in 0..2000 {
        let mut outer = Vec::new();
        wire::put_bytes(&mut outer, u32::from(not), &bytes);
        bytes = outer;
    }
    assert_eq!(
        decode_message(&bytes, &JSON_SCHEMA_PROPS),
        Err(DecodeError::TooDeep)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode(&bytes);
        let _ = decode(&[&MAGIC[..], &bytes].concat());
        for row in RESOURCES {
            let _ = decode_message(&bytes, row.schema);
        }
    }

    #[test]
    fn damaged_objects_never_panic(seed: u64, place: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let row = &RESOURCES[seed as usize % RESOURCES.len()];
        let mut bytes = encode_message(&Sampler(seed).value(row.schema, 0), row.schema).unwrap();
        if !bytes.is_empty() {
            *place.get_mut(&mut bytes) = byte;
        }
        let _ = decode_message(&bytes, row.schema);
        let _ = decode_message(&bytes[..cut.index(bytes.len() + 1)], row.schema);
    }

    #[test]
    fn every_kind_survives_the_way_there_and_back(seed: u64, index: prop::sample::Index) {
        let row = &RESOURCES[index.index(RESOURCES.len())];
        let mut object = Sampler(seed).value(row.schema, 0);
        object["apiVersion"] = match row.group {
            "" => json!(row.version),
            group => json!(format!("{group}/{}", row.version)),
        };
        object["kind"] = json!(row.kind);
        let decoded = decode(&encode(&object, row.schema).unwrap()).unwrap();
        prop_assert_eq!(decoded, object);
    }

    #[test]
    fn any_json_is_encoded_or_refused(text in "[a-z]{0,3}", number: i64) {
        let pods = find_kind("", "v1", "Pod").unwrap();
        for value in [json!(text), json!(number), json!([number]), json!({ "spec": text }), json!(null)] {
            let _ = encode_message(&value, pods.schema);
            let _ = encode_message(&json!({ "metadata": value, "spec": { "containers": [value] } }), pods.schema);
        }
    }
}

/// Generates values of a schema that are equal in both encodings: no empty values, no zeros.
struct Sampler(u64);

impl Sampler {
    fn next(&mut self, below: u64) -> u64 {
        // SplitMix64: good enough, and the same on every machine.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb) % below
    }

    fn value(&mut self, schema: &Schema, depth: usize) -> Value {
        if let Some(special) = Special::of(schema) {
            return self.special(special, depth);
        }
        match (schema.json_type, &schema.additional) {
            (JsonType::String, _) if schema.format == "byte" => json!("aGVsbG8="),
            (JsonType::String, _) => json!(["a", "ü", "long \u{1f600} text"][self.next(3) as usize]),
            (JsonType::Integer, _) if schema.format == "int32" => {
                json!([1, -7, i32::MAX][self.next(3) as usize])
            }
            (JsonType::Integer, _) => json!([1, i64::MIN, i64::MAX][self.next(3) as usize]),
            (JsonType::Number, _) => json!([0.5, -1e300][self.next(2) as usize]),
            (JsonType::Boolean, _) => json!(true),
            (JsonType::Array, _) => {
                let items = schema.items.as_ref().unwrap();
                (0..=self.next(2)).map(|_| self.value(items, depth + 1)).collect()
            }
            (JsonType::Object, Additional::Schema(values)) => (0..=self.next(2))
                .map(|key| (format!("key-{key}"), self.value(values, depth + 1)))
                .collect(),
            _ => {
                let mut map = Map::new();
                for property in schema.properties.iter().filter(|property| property.number != 0) {
                    let chance = if depth < 4 { 3 } else { 1 + depth as u64 };
                    if depth < 14 && self.next(chance) == 0 {
                        map.insert(property.name.to_string(), self.value(&property.schema, depth + 1));
                    }
                }
                Value::Object(map)
            }
        }
    }

    fn special(&mut self, special: Special, depth: usize) -> Value {
        match special {
            Special::Time => json!("2024-02-29T12:34:56Z"),
            Special::MicroTime => json!("2024-02-29T12:34:56.000001Z"),
            Special::Quantity => json!("1500m"),
            Special::IntOrString => [json!(0), json!(8080), json!("50%")][self.next(3) as usize].clone(),
            Special::RawJson => json!({ "any": [1, "x", { "y": null }] }),
            Special::SchemaOrBool if self.next(2) == 0 => json!(self.next(2) == 0),
            Special::SchemaOrArray if self.next(2) == 0 => json!([self.value(&JSON_SCHEMA_PROPS, depth + 3)]),
            Special::SchemaOrStrings if self.next(2) == 0 => json!(["a", "b"]),
            _ => self.value(&JSON_SCHEMA_PROPS, depth + 3),
        }
    }
}
