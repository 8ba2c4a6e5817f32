//! Admission of definitions, Applications and their revisions: refuses before it is stored what could only fail later.

use crate::application::{Draft, Observed, Recorded, Step, ToRender, draft};
use crate::definition::{Called, Candidate, Declared, Templates, Uses, declared};
use crate::{Answer, Artifact, Catalogue, Refused, Shelf, Stored, resolve};
use cambium_api::names::{annotation, finalizer, label, reason};
use cambium_api::v1beta1::DefinitionType;
use cambium_api::{GROUP, v1beta1, v2beta1};
use cambium_convert::definition::{WrittenAt, check_size, convert, written_at};
use cambium_lineage::{Findings, Lineage, Next, PublishVerdict, Users, publish};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Checks a definition that is created or updated: refusals, and warnings for a definition that is accepted. Both objects are at the API version of
/// the request.
pub fn check_definition(
    old: Option<&Value>,
    new: &Value,
    shelf: Option<&Shelf>,
    uses: &Uses,
) -> Findings<Refused> {
    let refuse = |reason, message| Refused { reason, message };
    let mut findings = Findings::default();
    let Some(artifact) = Artifact::of(new) else {
        return findings;
    };
    if let Some(old) = old {
        if let Some(refused) = other_api_version(old, new, artifact.type_) {
            return Findings::refusal(refused);
        }
        if is_same_as_written(old, new) && name_annotation(old) == name_annotation(new) {
            return findings;
        }
    }
    let now = declared(new);
    findings.refused = now
        .problems
        .iter()
        .map(|problem| refuse(problem.reason, format!("{}: {}", problem.path, problem.message)))
        .collect();
    if let Err(error) = check_size(new) {
        findings
            .refused
            .push(refuse(reason::INVALID_VERSION, error.to_string()));
    }
    let nothing = Lineage::empty(artifact.name.as_str(), now.scheme);
    let lineage = shelf.and_then(|shelf| shelf.lineage().ok()).unwrap_or(&nothing);
    for version in &now.versions {
        let candidate = Candidate {
            artifact: &artifact,
            version,
            templates: Templates::Unchecked,
        };
        let PublishVerdict {
            next,
            findings: found,
        } = publish(lineage, &candidate);
        // What is said about a version's own content names the version.
        let place = match next {
            Next::Issue { .. } => place(&version.called),
            _ => String::new(),
        };
        findings.extend(Findings {
            refused: found
                .refused
                .into_iter()
                .map(|refused| refuse(refused.reason, format!("{place}{}", refused.message)))
                .collect(),
            warnings: found
                .warnings
                .into_iter()
                .map(|warning| format!("{place}{warning}"))
                .collect(),
        });
    }
    if let Some(old) = old {
        findings
            .refused
            .extend(removed_in_use(old, new, &now, lineage, uses));
    }
    findings
}

/// The versions that an update removes from `spec.versions` although they are in use.
fn removed_in_use(old: &Value, new: &Value, now: &Declared, lineage: &Lineage, uses: &Uses) -> Vec<Refused> {
    if written_at(new) != Some(WrittenAt::V2beta1) {
        return Vec::new();
    }
    let mut refused = Vec::new();
    for version in declared(old).versions {
        let Called::Version {
            version: gone,
            written,
        } = &version.called
        else {
            continue;
        };
        let stays = now
            .versions
            .iter()
            .any(|version| matches!(&version.called, Called::Version { version, .. } if version == gone));
        let users = lineage
            .version(gone)
            .and_then(|revision| uses.by.get(revision.name()));
        if let Some(users) = users.filter(|_| !stays) {
            refused.push(Refused {
                reason: reason::IN_USE,
                message: format!(
                    "version {written:?} cannot be removed from spec.versions: it is in use by {users}"
                ),
            });
        }
    }
    refused
}

/// Checks whether a definition may be deleted: not while its revisions are in use.
pub fn check_definition_deletion(definition: &Value, uses: &Uses) -> Vec<Refused> {
    let names: BTreeSet<&String> = uses.by.values().flat_map(Users::named).collect();
    if allows_orphans(definition) || names.is_empty() {
        return Vec::new();
    }
    let mut users = Users::default();
    for name in names {
        users.add(|| name.clone(), Users::SHOWN);
    }
    let name = definition["metadata"]["name"].as_str().unwrap_or_default();
    vec![Refused {
        reason: reason::IN_USE,
        message: format!(
            "{name} is in use by {users}; annotate it with {}=true to delete it and leave its revisions to those who use them",
            annotation::ALLOW_ORPHANS
        ),
    }]
}

/// Checks an update of a DefinitionRevision: only its number may change.
pub fn check_revision(old: &Value, new: &Value) -> Vec<Refused> {
    let content = |object: &Value| {
        let mut spec = object["spec"].clone();
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("revision");
        }
        spec
    };
    if content(old) == content(new) || is_put_back(old, new) {
        return Vec::new();
    }
    let (kind, name) = (&new["kind"], &new["metadata"]["name"]);
    vec![Refused {
        reason: reason::CONTENT_CHANGED,
        message: format!(
            "{} {} cannot be changed: a revision is what was published; publish a new one",
            kind.as_str().unwrap_or_default(),
            name.as_str().unwrap_or_default()
        ),
    }]
}

/// Whether a revision that was edited gets back what it was issued for.
fn is_put_back(old: &Value, new: &Value) -> bool {
    let issued = |object: &Value| object["spec"]["digest"].as_str().map(str::to_owned);
    let held = match new["kind"].as_str() {
        Some("ApplicationRevision") => Recorded::read(new).ok().map(|recorded| recorded.revision),
        _ => Stored::read(new).ok().map(|stored| stored.revision),
    };
    issued(old).is_some() && issued(old) == issued(new) && held.is_some_and(|held| held.altered().is_none())
}

/// The verdict on an Application that is created or updated: refusals and warnings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplicationCheck {
    /// The reasons to refuse it.
    pub refused: Vec<Refused>,
    /// The warnings that its author gets although it is accepted.
    pub warnings: Vec<String>,
    /// Whether it is refused only because something is not there, which may be about to come.
    pub may_come: bool,
}

/// Checks an application that is being created or changed.
pub fn check_application(old: Option<&Value>, observed: &Observed<'_>) -> ApplicationCheck {
    check_drafted(old, observed.application, || draft(observed))
}

/// Whether an update is accepted without looking at its references: the Application is being deleted, or they have not changed.
pub fn is_to_be_accepted(old: Option<&Value>, new: &Value) -> bool {
    let asked = |object: &Value| {
        let annotations = &object["metadata"]["annotations"];
        [
            annotation::AUTO_UPDATE,
            annotation::PUBLISH_VERSION,
            annotation::LOCK,
            annotation::IGNORE_UNSUPPORTED,
        ]
        .map(|name| annotations[name].clone())
    };
    let same = |old: &Value| old["spec"] == new["spec"] && asked(old) == asked(new);
    !new["metadata"]["deletionTimestamp"].is_null() || old.is_some_and(same)
}

/// Checks an application that is being created or changed, and whose references were resolved.
pub fn check_resolved(old: Option<&Value>, to_render: ToRender) -> ApplicationCheck {
    let new = to_render.application().clone();
    check_drafted(old, &new, || to_render.render())
}

fn check_drafted(old: Option<&Value>, new: &Value, draft: impl FnOnce() -> Draft) -> ApplicationCheck {
    let mut check = ApplicationCheck::default();
    if is_to_be_accepted(old, new) {
        return check;
    }
    check.refused.extend(check_components(new));
    let restored = old.is_none() && is_restored(new);
    let draft = draft();
    check.warnings.extend(warnings(new, &draft));
    if let Err((step, problems)) = draft.outcome {
        let missing = [
            reason::DEFINITION_NOT_FOUND,
            reason::VERSION_NOT_FOUND,
            reason::REVISION_CHANGED,
        ];
        check.may_come = step == Step::Resolve
            && check.refused.is_empty()
            && problems.iter().all(|problem| missing.contains(&problem.reason));
        if step == Step::Apply {
            let told = problems.iter().map(|problem| one_line(&problem.message));
            check.warnings.extend(told);
        } else if check.may_come && restored {
            let told = problems.iter().map(|problem| one_line(&problem.message));
            check.warnings.extend(told);
            check.may_come = false;
        } else {
            check.refused.extend(problems);
        }
    }
    check
}

/// Refuses two components with one name, and components without a name.
pub fn check_components(application: &Value) -> Vec<Refused> {
    let components = application["spec"]["components"].as_array();
    let mut names = BTreeSet::new();
    let mut refused = Vec::new();
    for (index, component) in components.into_iter().flatten().enumerate() {
        let name = component["name"].as_str().unwrap_or_default();
        let problem = match name {
            "" => "a component needs a name".to_owned(),
            name if names.insert(name) => continue,
            name => format!("there are two components {name:?}"),
        };
        refused.push(Refused {
            reason: reason::RENDER_FAILED,
            message: format!("spec.components[{index}].name: {problem}"),
        });
    }
    refused
}

/// The warnings for an accepted Application, each in one line: properties that no parameter reads, and references that cannot move.
pub fn warnings(application: &Value, draft: &Draft) -> Vec<String> {
    let mut warnings = unread(application, draft);
    for answer in &draft.answers {
        if let (Some(held_back), Ok(resolved)) = (&answer.held_back, &answer.outcome) {
            warnings.push(format!(
                "{}: {} cannot be rendered with {} and stays at {}: {}",
                answer.asked.path,
                answer.asked.text,
                resolved.stored.revision,
                held_back.at.revision,
                one_line(&held_back.why)
            ));
        }
    }
    warnings
}

/// Whether an application comes out of a backup, where its definitions may come after it.
fn is_restored(application: &Value) -> bool {
    let metadata = &application["metadata"];
    metadata["annotations"][annotation::RESTORED] == "true"
        || !metadata["labels"][label::VELERO_RESTORE].is_null()
}

/// A text in one line, as warnings must be: the places that stand in lines of their own below a problem follow it in parentheses.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut places = Vec::new();
    for next in text.lines().filter(|next| !next.trim().is_empty()) {
        match next.strip_prefix("    ") {
            Some(place) if !line.is_empty() => places.push(place.trim()),
            _ => {
                close_places(&mut line, &mut places);
                if !line.is_empty() {
                    line.push_str("; ");
                }
                line.push_str(next.trim());
            }
        }
    }
    close_places(&mut line, &mut places);
    line
}

fn close_places(line: &mut String, places: &mut Vec<&str>) {
    if !places.is_empty() {
        line.push_str(&format!(" ({})", places.join(", ")));
    }
    places.clear();
}

/// Properties that no parameter has the name of.
fn unread(application: &Value, draft: &Draft) -> Vec<String> {
    // What is not carried out was rendered all the same, or could be.
    let application = match &draft.outcome {
        Ok(work) => &work.snapshot,
        Err((Step::Apply, _)) => application,
        Err(_) => return Vec::new(),
    };
    let answers = draft.answers.iter();
    let answers: BTreeMap<&str, &Answer> = answers
        .map(|answer| (answer.asked.path.as_str(), answer))
        .collect();
    let mut warnings = Vec::new();
    for (path, type_, used) in used(application) {
        let stored = answers.get(path.as_str()).and_then(|answer| answer.rendered());
        let properties = used.get("properties");
        let unknown = stored.map(|stored| match type_ {
            DefinitionType::Component | DefinitionType::Trait => {
                let template = stored.template().ok();
                template.map(|template| template.unknown_properties(properties))
            }
            DefinitionType::Policy | DefinitionType::WorkflowStep => stored
                .schema()
                .map(|schema| schema.unknown_properties(properties)),
        });
        let unknown = unknown.flatten().into_iter().flatten();
        warnings.extend(unknown.map(|one| format!("{path}.properties.{one}")));
    }
    warnings
}

/// The references of an Application that have properties: the path, the type of definition, and the properties.
fn used(application: &Value) -> Vec<(String, DefinitionType, &Value)> {
    fn items(list: &Value) -> impl Iterator<Item = (usize, &Value)> {
        list.as_array().into_iter().flatten().enumerate()
    }
    let spec = &application["spec"];
    let mut used = Vec::new();
    for (index, component) in items(&spec["components"]) {
        let path = resolve::place("components", component, index);
        used.push((path.clone(), DefinitionType::Component, component));
        for (index, trait_) in items(&component["traits"]) {
            used.push((format!("{path}.traits[{index}]"), DefinitionType::Trait, trait_));
        }
    }
    for (index, policy) in items(&spec["policies"]) {
        let path = resolve::place("policies", policy, index);
        used.push((path, DefinitionType::Policy, policy));
    }
    used
}

/// Checks whether a DefinitionRevision may be deleted. The finalizer would keep it in any case while it is in use; refusing tells the user why.
pub fn check_revision_deletion(revision: &Value, users: Option<&Users>) -> Vec<Refused> {
    let Some(users) = users.filter(|_| !allows_orphans(revision)) else {
        return Vec::new();
    };
    let name = revision["metadata"]["name"].as_str().unwrap_or_default();
    vec![Refused {
        reason: reason::IN_USE,
        message: format!(
            "{name} is in use by {users}; annotate it with {}=true to have it deleted as soon as it is not in use",
            annotation::ALLOW_ORPHANS
        ),
    }]
}

/// Checks whether an ApplicationRevision may be deleted: not the current one of an Application, which may be frozen at it.
pub fn check_application_revision_deletion(revision: &Value, application: Option<&Value>) -> Vec<Refused> {
    let metadata = &revision["metadata"];
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    let owned_by = |uid: &Value| owners.clone().any(|owner| owner["uid"] == *uid);
    let current = application.filter(|application| {
        application["metadata"]["deletionTimestamp"].is_null()
            && owned_by(&application["metadata"]["uid"])
            && application["status"]["latestRevision"]["name"] == metadata["name"]
    });
    let Some(application) = current.filter(|_| !allows_orphans(revision)) else {
        return Vec::new();
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    vec![Refused {
        reason: reason::IN_USE,
        message: format!(
            "{} is in use by Application {}/{}, whose current revision it is; annotate it with {}=true to delete it all the same",
            text(&metadata["name"]),
            text(&application["metadata"]["namespace"]),
            text(&application["metadata"]["name"]),
            annotation::ALLOW_ORPHANS
        ),
    }]
}

/// Refuses to create an ApplicationRevision by hand: an Application that is frozen at it is applied as the author that it names.
pub fn cannot_create_revision(revision: &Value, user: &str) -> Refused {
    let name = revision["metadata"]["name"].as_str().unwrap_or_default();
    Refused {
        reason: reason::FORBIDDEN,
        message: format!(
            "ApplicationRevision {name} is recorded by the manager; {user:?} cannot create it, because an ApplicationRevision names the author \
             whose rights its Application is applied with: that takes the right to impersonate users and groups"
        ),
    }
}

fn allows_orphans(object: &Value) -> bool {
    let annotations = &object["metadata"]["annotations"];
    [annotation::ALLOW_ORPHANS, annotation::ORPHAN]
        .iter()
        .any(|name| annotations[name] == "true")
}

/// Refuses to delete an Application with `propagationPolicy: Orphan`: the garbage collector removes its finalizer `orphan` at any time, too early for
/// the controller to release the objects, and the revisions would stay behind as users of their definitions.
pub fn check_application_deletion(options: &Value) -> Option<String> {
    let orphan = options["propagationPolicy"] == "Orphan" || options["orphanDependents"] == true;
    orphan.then(|| {
        format!(
            "an application is not deleted by orphaning; to have what it made stay, give it the finalizer {} and delete it as usual",
            finalizer::ORPHAN
        )
    })
}

/// The shelf of the catalogue that holds the revisions of a definition object.
pub fn shelf<'c>(catalogue: &'c Catalogue, definition: &Value) -> Option<&'c Shelf> {
    catalogue.get(&Artifact::of(definition)?)
}

/// A definition that was written at one API version is not edited at the other: neither can show all that the other says.
///
/// Both objects are at the version of the request, where a part of what was written may be in an annotation: whoever drops that, or
/// writes fields of the other version, has edited it too.
fn other_api_version(old: &Value, new: &Value, type_: DefinitionType) -> Option<Refused> {
    let refuse = |message| {
        Some(Refused {
            reason: reason::API_VERSION_CHANGED,
            message,
        })
    };
    let requested = new["apiVersion"].as_str().unwrap_or_default();
    let origin = written_at(old)?;
    let written = api_version(origin);
    let moved = written_at(new) != Some(origin);
    if requested != written && (moved || !is_same_as_written(old, new)) {
        let version = written.rsplit('/').next().unwrap_or_default();
        let resource = format!("{}.{version}.{GROUP}", type_.resource().plural);
        let text = |field: &str| new["metadata"][field].as_str().unwrap_or_default();
        let (name, namespace) = (text("name"), text("namespace"));
        return refuse(format!(
            "it was written at {written} and cannot be edited at {requested}; apply it at {written}, \
             or use `kubectl edit {resource} {name} -n {namespace}`"
        ));
    }
    if moved {
        return refuse(format!(
            "metadata.annotations[{}] says that it was written at another API version than {written}, where it was written; \
             remove the annotation",
            annotation::CONVERSION
        ));
    }
    None
}

/// Whether both say the same to their author. What cannot be converted is not known to.
fn is_same_as_written(old: &Value, new: &Value) -> bool {
    as_written(old).is_some_and(|old| Some(old) == as_written(new))
}

/// The spec as its author sees it, whichever API version it is read at.
fn as_written(object: &Value) -> Option<Value> {
    let original = convert(object.clone(), api_version(written_at(object)?)).ok()?;
    Some(original["spec"].clone())
}

fn api_version(written: WrittenAt) -> &'static str {
    match written {
        WrittenAt::V1beta1 => v1beta1::API_VERSION,
        WrittenAt::V2beta1 => v2beta1::API_VERSION,
    }
}

fn name_annotation(object: &Value) -> Option<&Value> {
    object["metadata"]["annotations"].get(annotation::REVISION_NAME)
}

fn place(called: &Called) -> String {
    match called {
        Called::Version { written, .. } => format!("version {written:?}: "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_one_line() {
        for (text, line) in [
            ("plain", "plain"),
            (
                "a.port: port is required (string)\n    api:43:7",
                "a.port: port is required (string) (api:43:7)",
            ),
            (
                "conflicting values 2 and 1\n    web:1:56\n    web:1:60\nsecond\r\n\n    web:2:1",
                "conflicting values 2 and 1 (web:1:56, web:1:60); second (web:2:1)",
            ),
            ("    indented", "indented"),
            ("", ""),
        ] {
            assert_eq!(one_line(text), line);
        }
    }
}
