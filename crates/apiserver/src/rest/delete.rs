//! The verbs `delete` and `deletecollection`: graceful deletion, finalizers, propagation policy.

use cambium_builtin::{Dependents, Termination};
use cambium_schema::{FieldError, FieldPath};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Call, identity, list, prepare, present};
use crate::admission::{self, Attributes, Operation};
use crate::request::Options;
use crate::status::{Result, Status};
use crate::store::{Expect, Write, WriteError};
use crate::wire::{self, Response, value_response};
use crate::{convert, crd, object};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// `DeleteOptions` of the body, or of the query if there is no body.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DeleteOptions {
    grace: Option<i64>,
    uid: Option<String>,
    pub(super) resource_version: Option<String>,
    propagation: Option<Propagation>,
    pub(super) dry_run: bool,
    raw: Value,
}

/// `propagationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// Deletes an object; responds with the object if it still exists, or with `Success`.
pub(super) async fn delete(call: &Call) -> Result<Response> {
    let options = DeleteOptions::of(call)?;
    options.warn(call);
    let outcome = delete_one(call, &call.path.name, &options).await?;
    match outcome {
        Deleted::Gone(value) if call.resource.strategy().return_deleted_object => {
            Ok(present::object(call, StatusCode::OK, value))
        }
        Deleted::Gone(value) => Ok(success(call, &value)),
        Deleted::Pending(value) => Ok(present::object(call, StatusCode::OK, value)),
    }
}

/// Deletes the selected objects, up to the limit, and responds with the list of them.
pub(super) async fn delete_collection(call: &Call) -> Result<Response> {
    let options = DeleteOptions::of(call)?;
    options.warn(call);
    let page = list::page(call)?;
    for entry in &page.entries {
        match delete_one(call, entry.name(), &options).await {
            Ok(_) => {}
            // Deleted concurrently, which is the goal.
            Err(status) if status.reason == "NotFound" => {}
            Err(status) => return Err(status),
        }
    }
    present::list(call, page.entries, page.metadata).await
}

/// The result of a deletion.
pub(super) enum Deleted {
    Gone(Value),
    Pending(Value),
}

/// Deletes one object, or sets its `deletionTimestamp`.
pub(super) async fn delete_one(call: &Call, name: &str, options: &DeleteOptions) -> Result<Deleted> {
    let resource = &call.resource;
    let key = object::key(call.namespace(), name);
    loop {
        let bucket = call.server.store.bucket(&resource.bucket);
        let missing = || Status::not_found(&resource.group, &resource.plural, name);
        let entry = bucket.get(&key).ok_or_else(missing)?;
        let old = convert::read(&call.server, resource, &entry).await?;
        // Preconditions come before admission, and both again after a conflict, so that they hold for the state that is
        // actually deleted.
        options.check(call, name, &old)?;
        let attributes = Attributes {
            operation: Operation::Delete,
            resource,
            subresource: "",
            namespace: call.namespace(),
            name,
            user: &call.user,
            dry_run: options.dry_run,
            options: &options.raw,
            old: Some(&old),
            warnings: &call.warnings,
        };
        admission::mutate(&call.server, &attributes, None).await?;
        admission::validate(&call.server, &attributes, None).await?;

        let next = terminating(call, &old, options);
        let put = match &next {
            // Deleting a terminating object again changes nothing, and is not written.
            Some(value) if *value == old => return Ok(Deleted::Pending(old)),
            Some(value) => Some(
                convert::settle(&call.server, resource, value.clone())
                    .await?
                    .draft,
            ),
            None => None,
        };
        if options.dry_run {
            return Ok(next.map_or(Deleted::Gone(old), Deleted::Pending));
        }
        let expect = Expect::Revision(entry.revision);
        let write = Write {
            bucket: resource.bucket.clone(),
            key: entry.key.clone(),
            expect,
            put,
        };
        return match call.server.store.write(write).await {
            Ok(written) => {
                let stamp = |mut value: Value| {
                    let revision = json!(written.revision.to_string());
                    object::metadata_mut(&mut value).insert("resourceVersion".to_owned(), revision);
                    value
                };
                Ok(next.map_or_else(
                    || Deleted::Gone(old.clone()),
                    |value| Deleted::Pending(stamp(value)),
                ))
            }
            // A delete without preconditions never conflicts: it applies to whatever state there is.
            Err(WriteError::Changed) => continue,
            Err(WriteError::Missing | WriteError::Exists) => Err(missing()),
            Err(WriteError::Storage(why)) => Err(Status::internal(why)),
        };
    }
}

/// The object with `deletionTimestamp` and finalizers set; `None` when it can be removed at once.
fn terminating(call: &Call, old: &Value, options: &DeleteOptions) -> Option<Value> {
    let mut new = old.clone();
    let strategy = call.resource.strategy();
    if strategy.termination == Termination::Instances {
        crd::mark_deleted(&mut new, &object::timestamp(call.server.sources.now()));
    }
    let finalizers = next_finalizers(
        &new,
        options.propagation,
        default_propagation(strategy.dependents),
    );
    let grace = grace(call, old, options);
    // The namespace controller removes `spec.finalizers` through `/finalize` once the content is gone; until then a
    // namespace stays even without metadata.finalizers.
    let has_content = strategy.termination == Termination::SpecFinalizers;
    let held = !finalizers.is_empty() || grace > 0 || has_content && prepare::has_spec_finalizers(old);
    if !held {
        return None;
    }
    let now = call.server.sources.now();
    let deleting = object::is_deleting(old);
    let remaining = object::metadata(old)
        .get("deletionGracePeriodSeconds")
        .and_then(Value::as_i64);
    let metadata = object::metadata_mut(&mut new);
    match finalizers.is_empty() {
        true => metadata.remove("finalizers"),
        false => metadata.insert("finalizers".to_owned(), json!(finalizers)),
    };
    // A second delete may shorten the grace period, never lengthen it.
    if !deleting || remaining.is_some_and(|remaining| grace < remaining) {
        let at = now
            .checked_add(jiff::SignedDuration::from_secs(grace))
            .unwrap_or(now);
        metadata.insert("deletionTimestamp".to_owned(), json!(object::timestamp(at)));
        metadata.insert("deletionGracePeriodSeconds".to_owned(), json!(grace));
        // As upstream, the deletion counts as a change of the desired state, which controllers observe.
        if !deleting && let Some(generation) = metadata.get("generation").and_then(Value::as_i64) {
            metadata.insert("generation".to_owned(), json!(generation + 1));
        }
    }
    if has_content {
        object::set_at(&mut new, "status.phase", json!("Terminating"));
    }
    Some(new)
}

/// The finalizers after the propagation policy is applied. Without a policy, existing `orphan` and
/// `foregroundDeletion` finalizers count, then the default of the kind.
fn next_finalizers(
    old: &Value,
    propagation: Option<Propagation>,
    default: Option<Propagation>,
) -> Vec<String> {
    let mut finalizers: Vec<String> = object::finalizers(old).into_iter().map(str::to_owned).collect();
    let said_before = finalizers.iter().any(|one| one == ORPHAN || one == FOREGROUND);
    let default = default.filter(|_| !said_before);
    let Some(propagation) = propagation.or(default) else {
        return finalizers;
    };
    finalizers.retain(|one| one != ORPHAN && one != FOREGROUND);
    match propagation {
        Propagation::Orphan => finalizers.push(ORPHAN.to_owned()),
        Propagation::Foreground => finalizers.push(FOREGROUND.to_owned()),
        Propagation::Background => {}
    }
    finalizers
}

fn default_propagation(dependents: Dependents) -> Option<Propagation> {
    match dependents {
        Dependents::Deleted => None,
        Dependents::Orphaned | Dependents::OrphanedWithWarning => Some(Propagation::Orphan),
    }
}

/// The grace period: only pods have one, and only once they are scheduled to a node.
fn grace(call: &Call, old: &Value, options: &DeleteOptions) -> i64 {
    if call.resource.strategy().termination != Termination::GracePeriod {
        return 0;
    }
    let phase = object::at(old, "status.phase")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let unscheduled = object::at(old, "spec.nodeName")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty();
    // No kubelet would confirm the end of an unscheduled or finished pod, so it is removed at once.
    if unscheduled || matches!(phase, "Succeeded" | "Failed") {
        return 0;
    }
    let default = object::at(old, "spec.terminationGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(30);
    options.grace.unwrap_or(default).max(0)
}

impl DeleteOptions {
    fn of(call: &Call) -> Result<Self> {
        if call.body.is_empty() {
            return Self::parse(&call.options, json!({}));
        }
        // As upstream, query parameters are ignored if there is a body.
        let media = wire::Media::of(call.content_type.as_deref())?;
        let raw = wire::decode(media, &call.body)
            .map_err(Status::bad_request)?
            .value;
        Self::parse(&Options::default(), raw)
    }

    /// Parses the options of a body; `query` has those of a request without a body.
    pub(super) fn parse(query: &Options, raw: Value) -> Result<Self> {
        let raw = if raw.is_null() { json!({}) } else { raw };
        let kind = raw.get("kind").and_then(Value::as_str).unwrap_or("DeleteOptions");
        if kind != "DeleteOptions" || !raw.is_object() {
            return Err(Status::bad_request(format!(
                "decoded object cannot be converted to DeleteOptions: {kind}"
            )));
        }
        check_types(&raw)?;
        let text = |pointer: &str| raw.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let mut errors = vec![];
        let orphan = raw
            .get("orphanDependents")
            .and_then(Value::as_bool)
            .or(query.orphan_dependents);
        let policy = text("/propagationPolicy").or_else(|| query.propagation_policy.clone());
        let at = || FieldPath::new("propagationPolicy");
        let propagation = match (policy.as_deref(), orphan) {
            (Some(policy), Some(_)) => {
                let why = "orphanDependents and deletionPropagation cannot be both set";
                errors.push(FieldError::invalid(at(), &json!(policy), why));
                None
            }
            (Some("Background"), _) => Some(Propagation::Background),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            (Some("Orphan"), _) => Some(Propagation::Orphan),
            (Some(other), _) => {
                let known = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(at(), &json!(other), &known));
                None
            }
            (None, Some(true)) => Some(Propagation::Orphan),
            (None, Some(false)) => Some(Propagation::Background),
            (None, None) => None,
        };
        let dry_run = match raw.get("dryRun").and_then(Value::as_array).map(Vec::as_slice) {
            None | Some([]) => query.dry_run,
            Some(list) if list.iter().all(|one| one == "All") => true,
            Some(list) => {
                let at = FieldPath::new("dryRun");
                errors.push(FieldError::not_supported(at, &json!(list), &["All"]));
                true
            }
        };
        if !errors.is_empty() {
            return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
        }
        Ok(Self {
            grace: raw
                .get("gracePeriodSeconds")
                .and_then(Value::as_i64)
                .or(query.grace_period_seconds),
            uid: text("/preconditions/uid"),
            resource_version: text("/preconditions/resourceVersion"),
            propagation,
            dry_run,
            raw,
        })
    }

    /// Adds a warning when a Job is deleted without a propagation policy.
    fn warn(&self, call: &Call) {
        let dependents = call.resource.strategy().dependents;
        if self.propagation.is_none() && dependents == Dependents::OrphanedWithWarning {
            call.warnings.add(
                "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
            );
        }
    }

    /// Checks the preconditions.
    pub(super) fn check(&self, call: &Call, name: &str, old: &Value) -> Result<()> {
        for (label, wanted, field, guess) in [
            ("UID", &self.uid, "uid", "deleted and then recreated"),
            (
                "ResourceVersion",
                &self.resource_version,
                "resourceVersion",
                "modified",
            ),
        ] {
            let actual = object::meta_text(old, field);
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != actual) {
                let why = format!(
                    "the {label} in the precondition ({wanted}) does not match the {label} in record ({actual}). The object might have been {guess}"
                );
                // Upstream names the kind here, not the resource.
                return Err(Status::conflict(
                    &call.resource.group,
                    &call.resource.kind,
                    name,
                    &why,
                ));
            }
        }
        Ok(())
    }
}

/// Checks the types of the fields.
fn check_types(raw: &Value) -> Result<()> {
    type Check = fn(&Value) -> bool;
    let fields: [(&str, &str, Check); 5] = [
        ("gracePeriodSeconds", "int64", Value::is_i64),
        ("orphanDependents", "bool", Value::is_boolean),
        ("propagationPolicy", "v1.DeletionPropagation", Value::is_string),
        ("dryRun", "[]string", Value::is_array),
        ("preconditions", "v1.Preconditions", Value::is_object),
    ];
    for (field, wanted, fits) in fields {
        if let Some(value) = raw.get(field).filter(|value| !value.is_null() && !fits(value)) {
            return Err(Status::bad_request(format!(
                "json: cannot unmarshal {} into Go struct field DeleteOptions.{field} of type {wanted}",
                identity::go_type(value)
            )));
        }
    }
    Ok(())
}

fn success(call: &Call, value: &Value) -> Response {
    let mut details = json!({"name": object::name(value), "kind": call.resource.plural, "uid": object::meta_text(value, "uid")});
    if !call.resource.group.is_empty() {
        details["group"] = json!(call.resource.group);
    }
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
    });
    value_response(StatusCode::OK, call.representation.encoding, &status)
}
