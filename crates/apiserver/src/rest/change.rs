//! What every write goes through: intake, the change itself, admission, checks, the store.

use std::collections::HashMap;
use std::sync::Arc;

use cambium_schema::{FieldError, FieldPath, Malformed};
use http::StatusCode;
use serde_json::{Value, json};

use super::{Call, create, managed, patch, prepare};
use crate::admission::{self, Attributes, Operation};
use crate::auth::{Action, ResourceAction, escalation, require};
use crate::expensive::{self, Effort};
use crate::registry::{Origin, Served};
use crate::request::FieldValidation;
use crate::status::{Result, Status};
use crate::store::{Draft, Entry, Expect, Write, WriteError};
use crate::validation::{metadata, policies, policy_params, webhooks};
use crate::wire::{self, Decoded, Media};
use crate::{allocate, convert, crd, object, quota};

/// The largest stored object.
const OBJECT_LIMIT: usize = 1_572_864;
/// How often a patch is tried again when somebody else was faster.
const ATTEMPTS: usize = 6;

/// An object that a client sent, understood.
pub(super) struct Intake {
    pub(super) object: Value,
}

impl Intake {
    /// Checks that the object fits the URL, applies field validation, fills in defaults.
    pub(super) fn check(call: &Call, decoded: Decoded) -> Result<Self> {
        let mut object = decoded.value;
        identify(call, &mut object)?;
        validate_fields(call, &mut object, &decoded.duplicates)?;
        call.resource.default(&mut object);
        Ok(Self { object })
    }
}

/// Makes sure that the object is of the kind, namespace and name that the URL says.
fn identify(call: &Call, object: &mut Value) -> Result<()> {
    let custom = matches!(call.resource.origin, Origin::Custom(..));
    if object.is_null() && !custom {
        *object = json!({});
    }
    if let Some(why) = without_kind(object) {
        return Err(call.unrecognized(&why));
    }
    let kindless = object
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty();
    if custom && kindless {
        let body = String::from_utf8_lossy(&call.body);
        return Err(call.unrecognized(&format!("Object 'Kind' is missing in '{}'", body.trim())));
    }
    of_this_kind(call, object)?;
    check_types(call, object)?;
    in_place(call, object)
}

/// What keeps an object from even saying of which kind it is.
fn without_kind(object: &Value) -> Option<String> {
    let parse = "couldn't get version/kind; json parse error: json: cannot unmarshal";
    let Some(map) = object.as_object() else {
        let what = go_type(object);
        return (what != "null").then(|| format!(
            "{parse} {what} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        ));
    };
    ["apiVersion", "kind"].into_iter().find_map(|field| {
        let value = map
            .get(field)
            .filter(|value| !value.is_string() && !value.is_null())?;
        Some(format!(
            "{parse} {} into Go struct field .{field} of type string",
            go_type(value)
        ))
    })
}

/// What Go's decoder calls a value.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Makes sure that what a patch made of an object is still that object.
pub(super) fn identify_patched(call: &Call, object: &mut Value) -> Result<()> {
    let refuse = |object: &Value, why: String| Status::invalid_patch(&object.to_string(), &why);
    if let Some(why) = without_kind(object) {
        return Err(refuse(object, why));
    }
    if let Err(status) = of_this_kind(call, object).and_then(|()| check_types(call, object)) {
        return Err(match status.reason == "BadRequest" {
            true => refuse(object, status.message),
            false => status,
        });
    }
    in_place(call, object)
}

/// Makes sure that an applied configuration is of the resource's kind.
pub(super) fn identify_applied(call: &Call, object: &Value) -> Result<()> {
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if (api_version, kind) == (&*call.resource.api_version, &*call.resource.kind) {
        return Ok(());
    }
    let group_version = match api_version.matches('/').count() {
        0 => format!("/{api_version}"),
        1 => api_version.to_owned(),
        _ => "/".to_owned(),
    };
    Err(Status::bad_request(format!(
        "invalid object type: {group_version}, Kind={kind}"
    )))
}

fn of_this_kind(call: &Call, object: &mut Value) -> Result<()> {
    let resource = &call.resource;
    let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
    let custom = matches!(resource.origin, Origin::Custom(..));
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if custom && *api_version != *resource.api_version {
        return Err(Status::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            resource.api_version
        )));
    }
    if custom && *kind != *resource.kind {
        let why = format!("must be {}", resource.kind);
        let error = FieldError::invalid(FieldPath::new("kind"), &json!(kind), why);
        let name = object::name(object);
        return Err(Status::invalid(&resource.group, kind, name, &[error]));
    }
    let given = |text: &str, default: &Arc<str>| {
        if text.is_empty() {
            default.to_string()
        } else {
            text.to_owned()
        }
    };
    let (api_version, kind) = (
        given(api_version, &resource.api_version),
        given(kind, &resource.kind),
    );
    if *api_version != *resource.api_version {
        let message = format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            resource.api_version
        );
        return Err(Status::bad_request(message));
    }
    if *kind != *resource.kind {
        let (version, group) = (&resource.version, &resource.group);
        let message = format!(
            "{kind} in version {version:?} cannot be handled as a {}: no kind {kind:?} is registered for version {}",
            resource.kind,
            if group.is_empty() {
                version.to_string()
            } else {
                format!("{group}/{version}")
            }
        );
        return Err(Status::bad_request(message));
    }
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(resource.kind);
    Ok(())
}

/// Makes sure that the object has the namespace and the name that the URL says.
pub(super) fn in_place(call: &Call, object: &mut Value) -> Result<()> {
    let namespace = call.namespace().to_owned();
    match (call.resource.namespaced, object::namespace(object)) {
        (true, "") => {
            object::metadata_mut(object).insert("namespace".to_owned(), json!(namespace));
        }
        (true, given) if given != namespace => {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        _ => {}
    }
    let wanted = call.path.name.as_str();
    if !wanted.is_empty() {
        match object::name(object) {
            "" => {
                return Err(Status::bad_request(format!(
                    "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
                )));
            }
            given if given != wanted => {
                return Err(Status::bad_request(format!(
                    "the name of the object ({given}) does not match the name on the URL ({wanted})"
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Removes what the kind does not have, and says so as the client wants it said.
fn validate_fields(call: &Call, object: &mut Value, duplicates: &[String]) -> Result<()> {
    validate_patched(call, object, duplicates, vec![])
}

/// The same of what a patch has made, after what there is to say of the patch itself.
pub(super) fn validate_patched(
    call: &Call,
    object: &mut Value,
    duplicates: &[String],
    mut problems: Vec<String>,
) -> Result<()> {
    let mut unknown = coerce_embedded(call, object)?;
    unknown.extend(prune(&call.resource, object));
    problems.extend(strict_problems(call, duplicates, &unknown));
    match call.options.field_validation {
        _ if problems.is_empty() => {}
        FieldValidation::Ignore => {}
        FieldValidation::Warn => problems
            .iter()
            .for_each(|problem| call.warnings.add(problem.clone())),
        FieldValidation::Strict => {
            let (kind, version) = (&call.resource.kind, &call.resource.version);
            let why = format!("strict decoding error: {}", problems.join(", "));
            return Err(match call.is_patch() {
                false => Status::bad_request(format!(
                    "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
                )),
                true => {
                    let shown = Value::String(String::from_utf8_lossy(&call.body).into_owned());
                    Status::invalid(
                        "",
                        "",
                        "",
                        &[FieldError::invalid(FieldPath::new("patch"), &shown, why)],
                    )
                }
            });
        }
    }
    Ok(())
}

/// Of a custom object, what is there twice is told before what is unknown; a built-in kind is read by a decoder that
/// tells problems as it meets them.
fn strict_problems(call: &Call, duplicates: &[String], unknown: &[String]) -> Vec<String> {
    let builtin = matches!(call.resource.origin, Origin::Builtin(_));
    let json = Media::of(call.content_type.as_deref()) == Ok(Media::Json);
    let fields = match builtin && json && !call.is_patch() && duplicates.len() + unknown.len() > 1 {
        true => wire::fields(&String::from_utf8_lossy(&call.body)),
        false => vec![],
    };
    let mut met: HashMap<&str, usize> = HashMap::new();
    let mut places: HashMap<(&str, usize), usize> = HashMap::new();
    for (place, field) in fields.iter().enumerate() {
        let times = met.entry(field).or_default();
        *times += 1;
        places.entry((field, (*times).min(2))).or_insert(place);
    }
    let place = |field: &str, times: usize| places.get(&(field, times)).copied().unwrap_or(usize::MAX);
    let twice = duplicates
        .iter()
        .map(|path| (place(path, 2), format!("duplicate field {path:?}")));
    let strange = unknown
        .iter()
        .map(|path| (place(path, 1), format!("unknown field {path:?}")));
    let mut problems: Vec<(usize, String)> = twice.chain(strange).collect();
    problems.sort_by_key(|(place, _)| *place);
    problems.into_iter().map(|(_, problem)| problem).collect()
}

/// Gives the metadata of objects inside of custom objects its shape; answers with what does not belong there.
fn coerce_embedded(call: &Call, object: &mut Value) -> Result<Vec<String>> {
    let Origin::Custom(definition, index) = &call.resource.origin else {
        return Ok(Vec::new());
    };
    let schema = &definition.versions[*index].schema;
    let (kind, version) = (&call.resource.kind, &call.resource.version);
    cambium_schema::coerce_embedded(schema, object, &FieldPath::root(), Malformed::Refuse).map_err(|why| {
        match call.is_patch() {
            true => Status::invalid_patch(&object.to_string(), &why.to_string()),
            false => Status::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
            )),
        }
    })
}

/// A built-in kind, and everybody's metadata, is decoded into its type, so a wrong type is a malformed
/// request, not an invalid object.
fn check_types(call: &Call, object: &mut Value) -> Result<()> {
    let decoded = match &call.resource.origin {
        Origin::Builtin(row) => cambium_builtin::decode(row, object).map_err(|why| why.to_string()),
        Origin::Custom(..) => check_metadata(object),
    };
    let (kind, version) = (&call.resource.kind, &call.resource.version);
    decoded.map_err(|why| {
        Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    })
}

/// Any built-in kind has the metadata of all of them.
fn check_metadata(object: &mut Value) -> Result<(), String> {
    let Some(metadata) = object.get_mut("metadata") else {
        return Ok(());
    };
    let row = cambium_builtin::find("", "v1", "configmaps").expect("every cluster has config maps");
    let mut bare = json!({"metadata": metadata.take()});
    let decoded = cambium_builtin::decode(row, &mut bare);
    *metadata = bare["metadata"].take();
    decoded.map_err(|why| why.to_string().replace("ObjectMeta.metadata.", "ObjectMeta."))
}

fn prune(resource: &Served, object: &mut Value) -> Vec<String> {
    match &resource.origin {
        Origin::Builtin(row) => cambium_schema::prune(row.schema, object),
        Origin::Custom(definition, index) => definition.versions[*index].prune(object),
    }
}

/// Brings an object that admission or a patch has changed back into shape.
pub(super) fn normalise(resource: &Served, object: &mut Value) {
    prune(resource, object);
    resource.default(object);
}

/// Lets admission change or refuse an object, and brings what it changed back into shape.
pub(super) async fn admit(call: &Call, attributes: &Attributes<'_>, object: Value) -> Result<Value> {
    let before = admission::may_change(&call.server).then(|| object.clone());
    let mut object = admission::mutate(&call.server, attributes, Some(object))
        .await?
        .unwrap_or_default();
    if let Some(before) = before.filter(|before| *before != object) {
        in_place(call, &mut object)?;
        normalise(&call.resource, &mut object);
        managed::restore_if_broken(&before, &mut object);
    }
    Ok(object)
}

/// What is wrong with an object of this kind; what was so before is only warned of.
pub(super) fn validate(call: &Call, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let resource = &call.resource;
    match &resource.origin {
        Origin::Builtin(row) if is_definition(resource) => {
            let mut errors = cambium_builtin::validate(row, new, old);
            // Its expressions and patterns are compiled.
            let found = expensive::evaluate(Effort::Much, &[], || crd::validate(new, old));
            errors.extend(found);
            errors
        }
        Origin::Builtin(row) => {
            let mut errors = metadata::validate_builtin_finalizers(new);
            errors.extend(cambium_builtin::validate(row, new, old));
            if row.group == "admissionregistration.k8s.io" {
                errors.extend(expensive::evaluate(Effort::Much, &[], || {
                    let mut errors = webhooks::conditions(new);
                    errors.extend(policies::expressions(new));
                    errors
                }));
                if errors.is_empty() {
                    errors.extend(policy_params::check(&call.server, &call.user, new, old));
                }
            }
            errors
        }
        Origin::Custom(definition, index) => {
            let judgement = definition.versions[*index].judge(new, old);
            for forgiven in judgement.warnings {
                call.warnings.add(forgiven.to_string());
            }
            judgement.errors
        }
    }
}

fn is_definition(resource: &Served) -> bool {
    (&*resource.group, &*resource.plural) == ("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Gives the object what a cluster hands out, or keeps count of: addresses, stored versions. What it answers with is held until the
/// object is in the store.
pub(super) fn allocate(
    call: &Call,
    new: &mut Value,
    old: Option<&Value>,
) -> Result<Option<allocate::Reservation>> {
    let purpose = match call.options.dry_run {
        true => allocate::Purpose::DryRun,
        false => allocate::Purpose::Store,
    };
    match (&*call.resource.group, &*call.resource.plural) {
        ("", "services") => allocate::service(&call.server, new, old, purpose),
        _ if is_definition(&call.resource) => {
            crd::note_stored_versions(new, old);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Refuses a role or binding that gives more than its writer has.
pub(super) fn check_grants(call: &Call, new: &Value, old: Option<&Value>) -> Result<()> {
    if &*call.resource.group != "rbac.authorization.k8s.io" {
        return Ok(());
    }
    let written = escalation::Written {
        resource: &call.resource.plural,
        name: &call.path.name,
        namespace: call.namespace(),
        new,
        old,
    };
    escalation::check(&call.server, &call.user, &written)
}

/// 422 when there are errors.
pub(super) fn refuse(call: &Call, name: &str, errors: &[FieldError]) -> Result<()> {
    match errors {
        [] => Ok(()),
        errors => Err(Status::invalid(
            &call.resource.group,
            &call.resource.kind,
            name,
            errors,
        )),
    }
}

pub(super) fn check_size(draft: &Draft) -> Result<()> {
    match draft.len() > OBJECT_LIMIT {
        true => Err(Status::unexplained("etcdserver: request is too large")),
        false => Ok(()),
    }
}

/// A change that somebody wants to an object that may be there.
pub(super) enum Intent {
    /// The whole object, as it should be.
    Replace(Value),
    /// A difference to whatever is there.
    Patch(patch::Patch),
}

/// What became of a change.
pub(super) struct Outcome {
    pub(super) value: Value,
    pub(super) created: bool,
}

impl Outcome {
    pub(super) fn code(&self) -> StatusCode {
        if self.created {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        }
    }
}

/// Carries a change through, trying again when the object moves under a change that does not mind.
pub(super) async fn carry_out(call: &Call, intent: &Intent, options: &Value) -> Result<Outcome> {
    let bucket = call.server.store.bucket(&call.resource.bucket);
    for _ in 0..ATTEMPTS {
        let Some(entry) = bucket.get(&call.key()) else {
            match create_instead(call, intent, options).await {
                // Somebody else was faster; change theirs.
                Err(status) if status.reason == "AlreadyExists" => continue,
                other => return other,
            }
        };
        match attempt(call, intent, options, &entry).await {
            Ok(Some(outcome)) => return Ok(outcome),
            Ok(None) => {}
            Err(status) => return Err(status),
        }
    }
    Err(modified(call))
}

async fn create_instead(call: &Call, intent: &Intent, options: &Value) -> Result<Outcome> {
    let (mut value, origin) = match intent {
        Intent::Patch(patch) if patch.is_apply() && call.path.subresource.is_empty() => {
            let value = patch::apply_to_nothing(call, patch).await?;
            (value, managed::Origin::Apply)
        }
        Intent::Replace(value) if creates_on_update(&call.resource) && call.path.subresource.is_empty() => {
            (value.clone(), managed::Origin::Update)
        }
        _ => return Err(call.not_found()),
    };
    let create = Action::on("create", ResourceAction::of(&call.path));
    require(&*call.server.authorizer, &call.user, &create)?;
    // As upstream: only what is there is compared with it. So an apply with a version that nothing has creates, and never changes.
    let version = object::metadata_mut(&mut value).remove("resourceVersion");
    check_version(version.as_ref().and_then(Value::as_str).unwrap_or_default())?;
    let (value, _) = create::store(call, value, origin, options).await?;
    Ok(Outcome { value, created: true })
}

/// The few kinds that a PUT may create.
fn creates_on_update(resource: &Served) -> bool {
    let address = (&*resource.group, &*resource.plural);
    matches!(
        address,
        ("", "endpoints" | "events" | "limitranges" | "services")
            | ("events.k8s.io", "events")
            | ("coordination.k8s.io", "leases")
            | ("rbac.authorization.k8s.io", _)
            | ("discovery.k8s.io", _)
            | ("node.k8s.io", _)
    ) && resource.is_stored()
}

fn modified(call: &Call) -> Status {
    Status::conflict(
        &call.resource.group,
        &call.resource.plural,
        &call.path.name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

/// One try. `None` means that the object moved and the change may be tried again.
async fn attempt(
    call: &Call,
    intent: &Intent,
    options: &Value,
    entry: &Arc<Entry>,
) -> Result<Option<Outcome>> {
    let resource = &call.resource;
    let old = convert::read(&call.server, resource, entry).await?;
    let (mut new, origin) = match intent {
        Intent::Replace(value) => (value.clone(), managed::Origin::Update),
        Intent::Patch(patch) => patch::compute(call, patch, &old).await?,
    };
    let pinned = check_preconditions(call, &mut new, &old)?;

    prepare::for_update(call, &mut new, &old);
    resource.default(&mut new);
    if let managed::Origin::Update = origin {
        managed::record(call, Some(&old), &mut new).await?;
    }
    let attributes = Attributes {
        operation: Operation::Update,
        resource,
        subresource: &call.path.subresource,
        namespace: call.namespace(),
        name: &call.path.name,
        user: &call.user,
        dry_run: call.options.dry_run,
        options,
        old: Some(&old),
        warnings: &call.warnings,
    };
    let mut new = admit(call, &attributes, new).await?;
    check_grants(call, &new, Some(&old))?;
    prepare::count_change(call, &mut new, &old);
    let _addresses = allocate(call, &mut new, Some(&old))?;

    let mut errors = metadata::validate_update(&new, &old);
    errors.extend(match call.path.subresource.as_str() {
        "resize" => cambium_builtin::validate_resize(&new, &old),
        _ => validate(call, &new, Some(&old)),
    });
    refuse(call, &call.path.name, &errors)?;
    admission::validate(&call.server, &attributes, Some(&new)).await?;
    let _reservation = quota::charge(&call.server, &attributes, &new)?;

    if managed::same_but_for_times(&new, &old) {
        return Ok(Some(Outcome {
            value: old,
            created: false,
        }));
    }
    let held = has_grace(&new) || is_namespace(resource) && prepare::has_namespace_finalizers(&new);
    let finished = object::is_deleting(&new) && object::finalizers(&new).is_empty() && !held;
    let draft = match finished {
        true => None,
        false => {
            let stored = convert::settle(&call.server, resource, new).await?;
            check_size(&stored.draft)?;
            new = stored.value;
            Some(stored.draft)
        }
    };
    if call.options.dry_run {
        return Ok(Some(Outcome {
            value: new,
            created: false,
        }));
    }
    let write = Write {
        bucket: resource.bucket.clone(),
        key: entry.key.clone(),
        expect: Expect::Revision(entry.revision),
        put: draft,
    };
    match call.server.store.write(write).await {
        Ok(entry) => {
            object::metadata_mut(&mut new)
                .insert("resourceVersion".to_owned(), json!(entry.revision.to_string()));
            Ok(Some(Outcome {
                value: new,
                created: false,
            }))
        }
        Err(WriteError::Changed | WriteError::Missing) if !pinned => Ok(None),
        Err(WriteError::Changed) => Err(modified(call)),
        Err(WriteError::Missing | WriteError::Exists) => Err(call.not_found()),
        Err(error) => Err(Status::internal(error)),
    }
}

/// A pod that is being deleted stays for its grace period even without finalizers.
fn has_grace(object: &Value) -> bool {
    object::metadata(object)
        .get("deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default()
        > 0
}

fn is_namespace(resource: &Served) -> bool {
    resource.group.is_empty() && &*resource.plural == "namespaces"
}

/// Checks UID and resource version; true when the client insists on this very state.
fn check_preconditions(call: &Call, new: &mut Value, old: &Value) -> Result<bool> {
    let resource = &call.resource;
    let (given, actual) = (object::meta_text(new, "uid"), object::meta_text(old, "uid"));
    if call.is_update() && !given.is_empty() && given != actual {
        let why = format!("Precondition failed: UID in precondition: {given}, UID in object meta: {actual}");
        return Err(Status::conflict(
            &resource.group,
            &resource.plural,
            &call.path.name,
            &why,
        ));
    }
    let current = object::meta_text(old, "resourceVersion").to_owned();
    let given = object::meta_text(new, "resourceVersion").to_owned();
    match given.as_str() {
        "" | "0" => {
            if matches!(resource.origin, Origin::Custom(..)) || !updates_unconditionally(resource) {
                let path = FieldPath::new("metadata.resourceVersion");
                let error = FieldError {
                    kind: cambium_schema::ErrorKind::Invalid,
                    path,
                    shown: "0x0".to_owned(),
                    detail: "must be specified for an update".to_owned(),
                };
                return Err(Status::invalid(
                    &resource.group,
                    &resource.kind,
                    &call.path.name,
                    &[error],
                ));
            }
            object::metadata_mut(new).insert("resourceVersion".to_owned(), json!(current));
            Ok(false)
        }
        text => {
            check_version(text)?;
            if given != current {
                return Err(modified(call));
            }
            Ok(matches!(call.path.subresource.as_str(), "" | "status") && call.is_update())
        }
    }
}

/// Resource versions are numbers.
fn check_version(version: &str) -> Result<()> {
    match version.is_empty() || version.parse::<u64>().is_ok() {
        true => Ok(()),
        false => Err(Status::unexplained(format!(
            "strconv.ParseUint: parsing {version:?}: invalid syntax"
        ))),
    }
}

/// Kinds whose PUT must say which state it replaces.
fn updates_unconditionally(resource: &Served) -> bool {
    !matches!(
        (&*resource.group, &*resource.plural),
        ("admissionregistration.k8s.io", _)
            | ("apiextensions.k8s.io", _)
            | ("apiregistration.k8s.io", _)
            | ("coordination.k8s.io", _)
    )
}
