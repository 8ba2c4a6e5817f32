//! Trees survive the way there and back, as far as the wire has room for their numbers.

use cambium_compositions_render::function::{Request, Response};
use cambium_functions::{answered, asked, wire};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn there_and_back(value: Value) -> Response {
    let context = Map::from_iter([("value".to_owned(), value)]);
    let request = asked(&Request {
        context: Some(context),
        ..Request::default()
    });
    let response = answered(wire::RunFunctionResponse {
        context: request.context,
        ..wire::RunFunctionResponse::default()
    });
    response.unwrap_or_default()
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-(1i64 << 53)..=(1i64 << 53)).prop_map(Value::from),
        any::<f64>()
            .prop_filter("written as itself", |number| number.is_finite()
                && number.fract() != 0.0)
            .prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(".{0,4}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn trees_come_back_as_they_went(value in tree()) {
        let response = there_and_back(value.clone());
        prop_assert_eq!(response.context.as_ref().and_then(|context| context.get("value")), Some(&value));
    }
}

#[test]
fn whole_numbers_stay_whole_and_larger_ones_are_as_near_as_the_wire_can() {
    let response = there_and_back(json!([3, 3.0, -0.0, 1.5, 9_007_199_254_740_993_i64, 1e300]));
    let expected = json!([3, 3, 0, 1.5, 9_007_199_254_740_992_i64, 1e300]);
    assert_eq!(response.context, json!({"value": expected}).as_object().cloned());
}
