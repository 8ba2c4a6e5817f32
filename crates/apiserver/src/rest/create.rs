//! `create`.

use http::StatusCode;
use serde_json::{Value, json};

use super::change::{self, Intake};
use super::{Call, managed, prepare, present};
use crate::admission::{self, Attributes, Operation};
use crate::object;
use crate::status::{Result, Status};
use crate::store::{Expect, Write, WriteError};
use crate::validation::metadata;
use crate::wire::Response;
use crate::{convert, quota};

/// Answers with the object that was made.
pub(super) async fn create(call: &Call) -> Result<Response> {
    let decoded = call.decode()?;
    let intake = Intake::check(call, decoded)?;
    let options = json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1",
        "dryRun": if call.options.dry_run { json!(["All"]) } else { Value::Null }, "fieldManager": call.options.field_manager});
    let (value, _) = store(call, intake.object, managed::Origin::Update, &options).await?;
    Ok(present::object(call, StatusCode::CREATED, value))
}

/// A CRD that is going away takes no new objects.
pub(super) fn refuse_while_terminating(call: &Call) -> Result<Response> {
    let decoded = call.decode()?;
    let why = "create not allowed while custom resource definition is terminating";
    let name = object::name(&decoded.value);
    Err(Status::forbidden(
        &call.resource.group,
        &call.resource.plural,
        name,
        why,
    ))
}

/// Carries a new object through to the store; also what an apply to nothing does.
pub(super) async fn store(
    call: &Call,
    mut value: Value,
    origin: managed::Origin,
    options: &Value,
) -> Result<(Value, u64)> {
    let resource = &call.resource;
    if !call.options.dry_run && !object::meta_text(&value, "resourceVersion").is_empty() {
        return Err(Status::bad_request(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    prepare::for_create(call, &mut value);
    prepare::generate_name(call, &mut value);
    if let managed::Origin::Update = origin {
        managed::record(call, None, &mut value).await?;
    }
    let name = object::name(&value).to_owned();
    let attributes = Attributes {
        operation: Operation::Create,
        resource,
        subresource: &call.path.subresource,
        namespace: call.namespace(),
        name: &name,
        user: &call.user,
        dry_run: call.options.dry_run,
        options,
        old: None,
        warnings: &call.warnings,
    };
    let mut value = change::admit(call, &attributes, value).await?;
    prepare::after_admission(call, &mut value);
    change::check_grants(call, &value, None)?;
    let _addresses = change::allocate(call, &mut value, None)?;

    let mut errors = metadata::validate_new(&value, resource.namespaced, resource.name_rule);
    errors.extend(change::validate(call, &value, None));
    change::refuse(call, object::name(&value), &errors)?;
    admission::validate(&call.server, &attributes, Some(&value)).await?;
    // Held until the object is in the store, or is not going to be.
    let _reservation = quota::charge(&call.server, &attributes, &value)?;
    let stored = convert::settle(&call.server, resource, value).await?;
    let mut value = stored.value;
    if call.options.dry_run {
        let key = object::key(call.namespace(), object::name(&value));
        return match call.server.store.bucket(&resource.bucket).get(&key) {
            Some(_) => Err(Status::already_exists(
                &resource.group,
                &resource.plural,
                object::name(&value),
            )),
            None => Ok((value, 0)),
        };
    }

    change::check_size(&stored.draft)?;
    let write = Write {
        bucket: resource.bucket.clone(),
        key: object::key(call.namespace(), object::name(&value)).into(),
        expect: Expect::Absent,
        put: Some(stored.draft),
    };
    match call.server.store.write(write).await {
        Ok(entry) => {
            object::metadata_mut(&mut value)
                .insert("resourceVersion".to_owned(), json!(entry.revision.to_string()));
            Ok((value, entry.revision))
        }
        Err(WriteError::Exists) => Err(Status::already_exists(
            &resource.group,
            &resource.plural,
            object::name(&value),
        )),
        Err(error) => Err(Status::internal(error)),
    }
}
