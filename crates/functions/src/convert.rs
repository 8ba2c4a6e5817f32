//! Converts between JSON messages and protocol buffers.

use std::collections::BTreeMap;

use cambium_compositions_render::function as said;
use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value as WireValue};
use serde_json::{Map, Number, Value};

use crate::wire;

/// What this side of the protocol can do.
const CAPABILITIES: [wire::Capability; 4] = [
    wire::Capability::Capabilities,
    wire::Capability::RequiredResources,
    wire::Capability::Credentials,
    wire::Capability::Conditions,
];

/// Why an answer cannot be taken for one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Garbled {
    /// It is no message of the protocol.
    #[error("the answer is not a RunFunctionResponse: {0}")]
    Message(String),
    /// It holds a number that JSON does not have.
    #[error("the answer holds {0}, which is no number in JSON")]
    Number(String),
    /// It requires the schemas of kinds, which are not offered.
    #[error("the function asks for the schemas of kinds ({0}), which this caller does not give")]
    Schemas(String),
}

/// A request as it is sent.
#[must_use]
pub fn asked(request: &said::Request) -> wire::RunFunctionRequest {
    wire::RunFunctionRequest {
        meta: Some(wire::RequestMeta {
            tag: request.meta.tag.clone(),
            capabilities: CAPABILITIES.map(i32::from).into(),
        }),
        observed: Some(state_out(&request.observed)),
        desired: Some(state_out(&request.desired)),
        input: request.input.as_ref().and_then(Value::as_object).map(fields_out),
        context: request.context.as_ref().map(fields_out),
        extra_resources: each(&request.extra_resources, resources_out),
        required_resources: each(&request.required_resources, resources_out),
        credentials: each(&request.credentials, |credentials| wire::Credentials {
            source: Some(wire::Source::CredentialData(wire::CredentialData {
                data: credentials.credential_data.data.clone(),
            })),
        }),
    }
}

/// An answer as decisions are made with it.
pub fn answered(response: wire::RunFunctionResponse) -> Result<said::Response, Garbled> {
    let requirements = response.requirements.unwrap_or_default();
    if !requirements.schemas.is_empty() {
        let names: Vec<_> = requirements.schemas.into_keys().collect();
        return Err(Garbled::Schemas(names.join(", ")));
    }
    let meta = response.meta.unwrap_or_default();
    Ok(said::Response {
        meta: said::ResponseMeta {
            tag: meta.tag,
            ttl: meta.ttl.map(duration_in),
        },
        desired: state_in(response.desired.unwrap_or_default())?,
        results: response.results.into_iter().map(result_in).collect(),
        context: response.context.map(fields_in).transpose()?,
        requirements: said::Requirements {
            extra_resources: each(&requirements.extra_resources, selector_in),
            required_resources: each(&requirements.resources, selector_in),
        },
        conditions: response.conditions.into_iter().map(condition_in).collect(),
    })
}

fn each<A, B>(map: &BTreeMap<String, A>, convert: impl Fn(&A) -> B) -> BTreeMap<String, B> {
    map.iter()
        .map(|(name, value)| (name.clone(), convert(value)))
        .collect()
}

fn state_out(state: &said::State) -> wire::State {
    wire::State {
        composite: Some(resource_out(&state.composite)),
        resources: each(&state.resources, resource_out),
    }
}

fn resource_out(resource: &said::Resource) -> wire::Resource {
    let ready = match resource.ready {
        said::Ready::Unspecified => wire::Ready::Unspecified,
        said::Ready::True => wire::Ready::True,
        said::Ready::False => wire::Ready::False,
    };
    wire::Resource {
        resource: Some(fields_out(&resource.resource)),
        connection_details: resource.connection_details.clone(),
        ready: ready.into(),
    }
}

fn resources_out(resources: &said::Resources) -> wire::Resources {
    wire::Resources {
        items: resources.items.iter().map(resource_out).collect(),
    }
}

fn fields_out(fields: &Map<String, Value>) -> Struct {
    let fields = fields
        .iter()
        .map(|(name, value)| (name.clone(), value_out(value)));
    Struct {
        fields: fields.collect(),
    }
}

/// The wire has one kind of number, as JavaScript has.
fn value_out(value: &Value) -> WireValue {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(value) => Kind::BoolValue(*value),
        Value::Number(value) => Kind::NumberValue(value.as_f64().unwrap_or_default()),
        Value::String(value) => Kind::StringValue(value.clone()),
        Value::Array(values) => Kind::ListValue(ListValue {
            values: values.iter().map(value_out).collect(),
        }),
        Value::Object(fields) => Kind::StructValue(fields_out(fields)),
    };
    WireValue { kind: Some(kind) }
}

fn state_in(state: wire::State) -> Result<said::State, Garbled> {
    let resources = state.resources.into_iter();
    let resources = resources.map(|(name, resource)| Ok((name, resource_in(resource)?)));
    Ok(said::State {
        composite: resource_in(state.composite.unwrap_or_default())?,
        resources: resources.collect::<Result<_, _>>()?,
    })
}

fn resource_in(resource: wire::Resource) -> Result<said::Resource, Garbled> {
    Ok(said::Resource {
        ready: match resource.ready() {
            wire::Ready::Unspecified => said::Ready::Unspecified,
            wire::Ready::True => said::Ready::True,
            wire::Ready::False => said::Ready::False,
        },
        resource: fields_in(resource.resource.unwrap_or_default())?,
        connection_details: resource.connection_details,
    })
}

fn fields_in(fields: Struct) -> Result<Map<String, Value>, Garbled> {
    let fields = fields.fields.into_iter();
    fields.map(|(name, value)| Ok((name, value_in(value)?))).collect()
}

fn value_in(value: WireValue) -> Result<Value, Garbled> {
    Ok(match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(value)) => Value::Bool(value),
        Some(Kind::NumberValue(value)) => Value::Number(number_in(value)?),
        Some(Kind::StringValue(value)) => Value::String(value),
        Some(Kind::ListValue(list)) => {
            Value::Array(list.values.into_iter().map(value_in).collect::<Result<_, _>>()?)
        }
        Some(Kind::StructValue(fields)) => Value::Object(fields_in(fields)?),
    })
}

/// Turns whole floating-point numbers into integers again: API servers tell the two apart.
fn number_in(value: f64) -> Result<Number, Garbled> {
    /// From here on, not every whole number has a place on the wire.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
        return Ok(Number::from(value as i64));
    }
    Number::from_f64(value).ok_or_else(|| Garbled::Number(value.to_string()))
}

/// As the JSON form of the protocol writes it: `60s`, `0.5s`.
fn duration_in(duration: prost_types::Duration) -> String {
    let sign = if duration.seconds < 0 || duration.nanos < 0 {
        "-"
    } else {
        ""
    };
    let (seconds, nanos) = (duration.seconds.unsigned_abs(), duration.nanos.unsigned_abs());
    match nanos {
        0 => format!("{sign}{seconds}s"),
        nanos => format!("{sign}{seconds}.{nanos:09}s"),
    }
}

fn selector_in(selector: &wire::ResourceSelector) -> said::ResourceSelector {
    let (match_name, match_labels) = match &selector.match_ {
        None => (None, None),
        Some(wire::Match::MatchName(name)) => (Some(name.clone()), None),
        Some(wire::Match::MatchLabels(labels)) => {
            let labels = labels.labels.clone();
            (None, Some(said::MatchLabels { labels }))
        }
    };
    said::ResourceSelector {
        api_version: selector.api_version.clone(),
        kind: selector.kind.clone(),
        match_name,
        match_labels,
        namespace: selector.namespace.clone(),
    }
}

fn target_in(target: i32) -> said::Target {
    match wire::Target::try_from(target) {
        Ok(wire::Target::Composite) => said::Target::Composite,
        Ok(wire::Target::CompositeAndClaim) => said::Target::CompositeAndClaim,
        Ok(wire::Target::Unspecified) | Err(_) => said::Target::Unspecified,
    }
}

fn result_in(result: wire::RunResult) -> said::RunResult {
    said::RunResult {
        severity: match result.severity() {
            wire::Severity::Unspecified => said::Severity::Unspecified,
            wire::Severity::Fatal => said::Severity::Fatal,
            wire::Severity::Warning => said::Severity::Warning,
            wire::Severity::Normal => said::Severity::Normal,
        },
        target: result.target.map(target_in),
        message: result.message,
        reason: result.reason,
    }
}

fn condition_in(condition: wire::Condition) -> said::Condition {
    said::Condition {
        status: match condition.status() {
            wire::Status::Unspecified => said::ConditionStatus::Unspecified,
            wire::Status::Unknown => said::ConditionStatus::Unknown,
            wire::Status::True => said::ConditionStatus::True,
            wire::Status::False => said::ConditionStatus::False,
        },
        target: condition.target.map(target_in),
        kind: condition.type_,
        reason: condition.reason,
        message: condition.message,
    }
}
