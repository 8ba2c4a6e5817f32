//! The subresource `serviceaccounts/token`: TokenRequest.

use cambium_schema::{FieldError, FieldPath};
use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Call;
use crate::auth::tokens::{self, Bound, Claims, ISSUER, Reference};
use crate::object;
use crate::status::{Result, Status};
use crate::store::Entry;
use crate::wire::{Response, value_response};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
/// The expiration that kubelets request for pod tokens. They get a year, as not every client re-reads its token.
const POD_SECONDS: i64 = 3607;
const POD_SECONDS_EXTENDED: i64 = 365 * 24 * 60 * 60;

/// Issues a token for a ServiceAccount.
pub(super) fn create(call: &Call) -> Result<Response> {
    let mut request = call.decode()?.value;
    let kind = request.get("kind").and_then(Value::as_str).unwrap_or_default();
    if !kind.is_empty() && kind != KIND {
        return Err(Status::bad_request(format!(
            "{kind} in version \"v1\" cannot be handled as a {KIND}: no kind {kind:?} is registered for version {GROUP}/v1"
        )));
    }
    let account = account(call, &request)?;
    let audiences = request.pointer("/spec/audiences").and_then(Value::as_array);
    if audiences.is_none_or(Vec::is_empty) {
        object::set_at(&mut request, "spec.audiences", json!(tokens::own_audiences()));
    }
    let seconds = match object::at(&request, "spec.expirationSeconds") {
        None | Some(Value::Null) => 3600,
        Some(seconds) => seconds.as_i64().ok_or_else(|| {
            Status::bad_request(format!(
                "{KIND} in version \"v1\" cannot be handled as a {KIND}: spec.expirationSeconds is no integer"
            ))
        })?,
    };
    check_seconds(seconds)?;
    let (bound, is_for_pod) = bind(call, &request, &account)?;
    let now = call.server.sources.now();
    let token = issue(call, &request, bound, is_for_pod, seconds, now)?;
    let audiences = object::at(&request, "spec.audiences").cloned();
    let reference = object::at(&request, "spec.boundObjectRef").cloned();
    let expires = now
        .checked_add(SignedDuration::from_secs(seconds))
        .unwrap_or(Timestamp::MAX);
    let answer = json!({
        "kind": KIND,
        "apiVersion": format!("{GROUP}/v1"),
        "metadata": {"name": account.name(), "namespace": account.namespace(), "uid": &*account.uid,
            "creationTimestamp": object::timestamp(now)},
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": reference},
        "status": {"token": token, "expirationTimestamp": object::timestamp(expires)},
    });
    Ok(value_response(
        StatusCode::CREATED,
        call.representation.encoding,
        &answer,
    ))
}

/// The ServiceAccount, whose UID must match that of the request.
fn account(call: &Call, request: &Value) -> Result<std::sync::Arc<Entry>> {
    let (name, namespace) = (call.path.name.as_str(), call.path.namespace.as_str());
    let given = |field: &str, own: &str| {
        let given = object::meta_text(request, field);
        match given.is_empty() || given == own {
            true => Ok(()),
            false => {
                let path = FieldPath::new("metadata").child(field);
                let why = format!("must match the service account {field} if specified");
                let error = FieldError::invalid(path, &json!(given), why);
                Err(Status::invalid(GROUP, KIND, name, &[error]))
            }
        }
    };
    given("name", name)?;
    given("namespace", namespace)?;
    let bucket = call.server.store.bucket(&call.resource.bucket);
    let account = bucket.get(&call.key()).ok_or_else(|| call.not_found())?;
    let uid = object::meta_text(request, "uid");
    if !uid.is_empty() && *uid != *account.uid {
        let why = format!(
            "the UID in the token request ({uid}) does not match the UID of the service account ({})",
            account.uid
        );
        return Err(Status::conflict(GROUP, KIND, name, &why));
    }
    Ok(account)
}

fn check_seconds(seconds: i64) -> Result<()> {
    let why = match seconds {
        ..600 => "may not specify a duration less than 10 minutes",
        600..=4_294_967_296 => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let path = FieldPath::new("spec.expirationSeconds");
    let error = FieldError::invalid(path, &json!(seconds), why);
    Err(Status::invalid(GROUP, KIND, "", &[error]))
}

/// The bound object of the token, and whether it is a pod.
fn bind(call: &Call, request: &Value, account: &Entry) -> Result<(Bound, bool)> {
    let mut bound = Bound {
        namespace: account.namespace().to_owned(),
        account: reference(account),
        ..Bound::default()
    };
    let Some(object) = object::at(request, "spec.boundObjectRef").filter(|object| !object.is_null()) else {
        return Ok((bound, false));
    };
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind, name) = (text("apiVersion"), text("kind"), text("name"));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let get = |plural: &str, namespace: &str| {
        let bucket = call.server.store.bucket(&format!("/{plural}").into());
        let entry = bucket.get(&object::key(namespace, name));
        entry.ok_or_else(|| Status::not_found("", plural, name))
    };
    let entry = match (group, kind) {
        ("", "Pod") => {
            let entry = get("pods", account.namespace())?;
            let pod = entry.value();
            let of_pod = |path: &str| object::at(&pod, path).and_then(Value::as_str).unwrap_or_default();
            if of_pod("spec.serviceAccountName") != account.name() {
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                    account.name()
                )));
            }
            bound.pod = Some(reference(&entry));
            let node = of_pod("spec.nodeName");
            if !node.is_empty() {
                let entry = call.server.store.bucket(&"/nodes".into()).get(node);
                bound.node = Some(Reference {
                    name: node.to_owned(),
                    uid: entry.map(|entry| entry.uid.to_string()).unwrap_or_default(),
                });
            }
            entry
        }
        ("", "Node") => {
            let entry = get("nodes", "")?;
            bound.node = Some(reference(&entry));
            entry
        }
        ("", "Secret") => {
            let entry = get("secrets", account.namespace())?;
            bound.secret = Some(reference(&entry));
            entry
        }
        _ => {
            return Err(Status::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}"
            )));
        }
    };
    let uid = text("uid");
    if !uid.is_empty() && *uid != *entry.uid {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have \
             been deleted and then recreated"
        );
        return Err(Status::conflict(group, kind, name, &why));
    }
    let is_for_pod = bound.pod.is_some();
    Ok((bound, is_for_pod))
}

fn reference(entry: &Entry) -> Reference {
    Reference {
        name: entry.name().to_owned(),
        uid: entry.uid.to_string(),
    }
}

fn issue(
    call: &Call,
    request: &Value,
    mut bound: Bound,
    is_for_pod: bool,
    seconds: i64,
    now: Timestamp,
) -> Result<String> {
    let audiences = object::at(request, "spec.audiences").and_then(Value::as_array);
    let audiences = audiences.into_iter().flatten().filter_map(Value::as_str);
    let audiences: Vec<String> = audiences.map(str::to_owned).collect();
    let mut lasting = seconds;
    if is_for_pod && seconds == POD_SECONDS && audiences.iter().all(|one| one == ISSUER) {
        bound.warn_after = Some(now.as_second().saturating_add(seconds));
        lasting = POD_SECONDS_EXTENDED;
    }
    let claims = Claims::new(bound, audiences, now, lasting, call.server.sources.uid());
    tokens::issue(&call.server.signing_key, &claims)
        .ok_or_else(|| Status::internal("failed to generate token"))
}
