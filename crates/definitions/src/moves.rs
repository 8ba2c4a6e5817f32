//! Plans for `cambium upgrade`, `cambium rollback` and `cambium lock`: the edits of an Application that move or pin its references.

use crate::application::Recorded;
use crate::resolve::{Inquiry, condition_reason, kind_in_lock};
use crate::{Answer, Asked, Catalogue, Consuming, Follow, Refused, Using, asked, follow, resolve};
use cambium_api::names::{annotation, reason};
use cambium_api::v1beta1::DefinitionType;
use cambium_lineage::{Explanation, Lineage, Lock, Policy, Reference, Revision, Scheme, Verdict, Wanted};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The plan of a move: the edited Application, and the version of each reference before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MovePlan {
    /// The references that change.
    pub moves: Vec<Move>,
    /// The spec that the application would get.
    pub spec: Value,
    /// The lock that it would get, if it has one.
    pub lock: Option<String>,
    /// Whether the spec changes in more than its references.
    pub beyond_references: bool,
}

/// One reference that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// The path of the reference, such as `components[web]`.
    pub path: String,
    /// The reference as it is; none if it is not there yet.
    pub from: Option<String>,
    /// The reference as it would be; none if it would go.
    pub to: Option<String>,
    /// The version that it resolves to now.
    pub version: Option<String>,
    /// The version that it would resolve to.
    pub new_version: Option<String>,
}

/// A plan to move components (by name) to versions; all references to the highest release if none is named.
pub fn upgrade(
    application: &Value,
    catalogue: &Catalogue,
    wishes: &BTreeMap<String, String>,
) -> Result<MovePlan, Vec<Refused>> {
    let refuse = |reason, message| Refused { reason, message };
    let follow = follow(application)?;
    let references = asked(application);
    let mut problems = Vec::new();
    for component in wishes.keys() {
        let path = format!("components[{component}]");
        if references.iter().all(|asked| asked.path != path) {
            problems.push(refuse(
                reason::INVALID_REFERENCE,
                format!(
                    "no component {component:?}; components are {}",
                    components(&references)
                ),
            ));
        }
    }
    let consumer = &Consuming::of(application);
    let mut moves = Vec::new();
    for asked in &references {
        let wish = wishes
            .iter()
            .find(|(component, _)| asked.path == format!("components[{component}]"))
            .map(|(_, version)| version);
        if wish.is_none() && !wishes.is_empty() {
            continue;
        }
        let current = current_version(application, asked);
        let wanted = match wish {
            Some(version) => with_version(asked, version),
            None => highest(catalogue, consumer, &follow, asked, current.as_deref()),
        };
        match wanted {
            Ok(None) if follow.lock.is_none() => {}
            Ok(to) => {
                // A locked reference moves by another lock, even if it stays as it is written.
                let to = to.unwrap_or_else(|| asked.text.clone());
                let answer = resolve(
                    catalogue,
                    consumer,
                    &unbound(),
                    &Asked {
                        text: to.clone(),
                        ..asked.clone()
                    },
                    None,
                );
                let new_version = match answer.outcome {
                    Ok(resolved) => resolved.stored.revision.to_string(),
                    Err(problem) => {
                        problems.push(problem);
                        continue;
                    }
                };
                if to != asked.text || (follow.lock.is_some() && current.as_ref() != Some(&new_version)) {
                    moves.push(Move {
                        path: asked.path.clone(),
                        from: Some(asked.text.clone()),
                        to: Some(to),
                        version: running_version(application, asked),
                        new_version: Some(new_version),
                    });
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    if follow.lock.is_some() {
        moves.extend(along(application, &references, &moves));
    }
    let spec = with_references(application, &moves);
    let lock = match &follow.lock {
        Some(old) => Some(relocked(old, catalogue, consumer, &spec, &moves)?),
        None => None,
    };
    Ok(MovePlan {
        moves,
        spec,
        lock,
        beyond_references: false,
    })
}

/// References that move because another one gets their text: a lock has one answer for a text.
fn along(application: &Value, references: &[Asked], moves: &[Move]) -> Vec<Move> {
    let type_of = |path: &str| {
        let asked = references.iter().find(|asked| asked.path == path);
        asked.map(|asked| asked.type_)
    };
    let others = references
        .iter()
        .filter(|asked| moves.iter().all(|one| one.path != asked.path));
    let along = others.filter_map(|asked| {
        let same =
            |one: &&Move| one.to.as_deref() == Some(&asked.text) && type_of(&one.path) == Some(asked.type_);
        let new_version = moves.iter().find(same)?.new_version.clone();
        let version = current_version(application, asked);
        (version != new_version).then(|| Move {
            path: asked.path.clone(),
            from: Some(asked.text.clone()),
            to: Some(asked.text.clone()),
            version,
            new_version,
        })
    });
    along.collect()
}

/// A lock for other references: what does not move stays locked to what it was.
fn relocked(
    old: &Lock,
    catalogue: &Catalogue,
    consumer: &Consuming,
    spec: &Value,
    moves: &[Move],
) -> Result<String, Vec<Refused>> {
    let references = asked(&json!({"spec": spec}));
    let moved = |asked: &Asked| moves.iter().any(|one| one.path == asked.path);
    let known = |asked: &Asked| {
        let reference = asked.text.parse().ok()?;
        old.locked(kind_in_lock(asked.type_), &reference).ok().cloned()
    };
    let (stay, go): (Vec<&Asked>, Vec<&Asked>) = references
        .iter()
        .partition(|asked| !moved(asked) && known(asked).is_some());
    let answers: Vec<Answer> = go
        .into_iter()
        .map(|asked| resolve(catalogue, consumer, &unbound(), asked, None))
        .collect();
    let mut entries = json!(lock(&answers)?);
    for asked in stay {
        entries[kind_in_lock(asked.type_)][&asked.text] = json!(known(asked));
    }
    // Sorted, and with references as locks write them.
    let sorted: Result<Lock, _> = serde_json::from_value(entries);
    sorted.map(|lock| lock.to_string()).map_err(|error| {
        vec![Refused {
            reason: reason::LOCKED,
            message: error.to_string(),
        }]
    })
}

/// A plan to make an application what it was: its spec, with every reference at exactly what it resolved to then. Refused if that
/// cannot be said any more.
pub fn rollback(application: &Value, to: &Recorded, catalogue: &Catalogue) -> Result<MovePlan, Vec<Refused>> {
    let consumer = &Consuming::of(application);
    let mut snapshot = to.application.clone();
    let then: Vec<Asked> = asked(&snapshot);
    let mut pins = Vec::new();
    let mut problems = Vec::new();
    for asked in &then {
        match pin(asked, to, catalogue, consumer) {
            Ok(pin) => pins.push(pin),
            Err(message) => problems.push(Refused {
                reason: reason::REVISION_CHANGED,
                message: format!("{}: {message}", asked.path),
            }),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    snapshot["spec"] = with_references(&snapshot, &pins);
    let now = asked(application);
    let mut moves: Vec<Move> = asked(&snapshot)
        .into_iter()
        .filter_map(|asked| {
            let known = now.iter().find(|known| known.path == asked.path);
            if known.is_some_and(|known| known.text == asked.text) {
                return None;
            }
            let pin = pins.iter().find(|pin| pin.path == asked.path);
            Some(Move {
                version: known.and_then(|known| running_version(application, known)),
                from: known.map(|known| known.text.clone()),
                new_version: pin.and_then(|pin| pin.new_version.clone()),
                path: asked.path,
                to: Some(asked.text),
            })
        })
        .collect();
    let stays = |path: &str| then.iter().any(|asked| asked.path == path);
    moves.extend(now.iter().filter(|known| !stays(&known.path)).map(|known| Move {
        path: known.path.clone(),
        from: Some(known.text.clone()),
        to: None,
        version: running_version(application, known),
        new_version: None,
    }));
    let is_locked = !application["metadata"]["annotations"][annotation::LOCK].is_null();
    Ok(MovePlan {
        beyond_references: with_references(application, &moves) != snapshot["spec"],
        lock: is_locked.then(|| recorded_lock(&then, &pins, to)).flatten(),
        moves,
        spec: snapshot["spec"].clone(),
    })
}

/// The exact reference to what a reference resolved to then, which must lead there now.
fn pin(asked: &Asked, to: &Recorded, catalogue: &Catalogue, consumer: &Consuming) -> Result<Move, String> {
    let used = to
        .definitions
        .iter()
        .find(|used| used.type_ == asked.type_ && used.reference == asked.text)
        .ok_or_else(|| {
            format!(
                "{} does not record what {:?} resolved to",
                to.revision.name(),
                asked.text
            )
        })?;
    let place = used.namespace.as_deref().unwrap_or_default();
    let stored = catalogue
        .revision(place, &used.revision)
        .ok_or_else(|| format!("revision {place}/{} is gone", used.revision))?;
    let revision = &stored.revision;
    let called = match (revision.version(), revision.given_name()) {
        (Some(version), _) => version.to_string(),
        (None, Some(name)) => name.to_string(),
        (None, None) => format!("v{}", revision.number()),
    };
    let text = format!("{}@{called}", stored.artifact.name);
    let exactly = Asked {
        text: text.clone(),
        ..asked.clone()
    };
    let found = resolve(catalogue, consumer, &unbound(), &exactly, None)
        .outcome
        .map_err(|refused| format!("it was {place}/{}, and now {}", used.revision, refused.message))?;
    let same = found.stored.artifact == stored.artifact
        && found.stored.revision.name() == revision.name()
        && found.stored.revision.digest().to_string() == used.digest;
    if !same {
        return Err(format!(
            "it was {place}/{} ({}), and {text:?} now resolves to {}/{} ({})",
            used.revision,
            used.digest,
            found.stored.artifact.namespace,
            found.stored.revision.name(),
            found.stored.revision.digest(),
        ));
    }
    Ok(Move {
        path: asked.path.clone(),
        from: Some(asked.text.clone()),
        to: Some(text),
        version: None,
        new_version: Some(revision.to_string()),
    })
}

/// A lock on what a revision used, for the exact references that a rollback writes.
fn recorded_lock(then: &[Asked], pins: &[Move], to: &Recorded) -> Option<String> {
    let mut entries = json!({});
    for (asked, pin) in then
        .iter()
        .filter_map(|asked| Some((asked, pins.iter().find(|pin| pin.path == asked.path)?)))
    {
        let used = to
            .definitions
            .iter()
            .find(|used| used.type_ == asked.type_ && used.reference == asked.text)?;
        let locked = match &used.version {
            Some(version) => json!({"version": version, "digest": used.digest}),
            None => json!({"digest": used.digest}),
        };
        entries[kind_in_lock(asked.type_)][pin.to.as_deref()?] = locked;
    }
    let lock: Lock = serde_json::from_value(entries).ok()?;
    Some(lock.to_string())
}

/// A lock on what the references of an application get now.
pub fn lock(answers: &[Answer]) -> Result<Lock, Vec<Refused>> {
    let mut lock = Lock::default();
    let mut problems = Vec::new();
    for answer in answers {
        match (&answer.outcome, answer.asked.text.parse::<Reference>()) {
            (Ok(resolved), Ok(reference)) => {
                lock.record(
                    kind_in_lock(answer.asked.type_),
                    reference,
                    &resolved.stored.revision,
                );
            }
            (Err(problem), _) => problems.push(Refused {
                reason: problem.reason,
                message: format!("{}: {}", answer.asked.path, problem.message),
            }),
            (Ok(_), Err(error)) => problems.push(Refused {
                reason: reason::INVALID_REFERENCE,
                message: error.to_string(),
            }),
        }
    }
    if problems.is_empty() {
        Ok(lock)
    } else {
        Err(problems)
    }
}

/// Every revision that a reference could mean, and what became of it: what it is called, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// The version of the revision, or its name.
    pub version: String,
    /// Its name.
    pub revision: String,
    /// Whether it was chosen.
    pub chosen: bool,
    /// The reason that it was chosen or passed over.
    pub why: String,
}

/// Says of every revision why a reference got it or did not.
pub fn explain(
    catalogue: &Catalogue,
    consumer: &Consuming,
    follow: &Follow,
    asked: &Asked,
    using: Option<&Using>,
) -> Result<Vec<Explained>, Refused> {
    let inquiry = Inquiry::new(catalogue, consumer, follow, asked, using)?;
    let Explanation { resolution, lines } = inquiry.question().explain();
    if lines.is_empty()
        && let Err(refusal) = resolution.decision
    {
        return Err(Refused {
            reason: condition_reason(&refusal),
            message: refusal.to_string(),
        });
    }
    let line = |(revision, verdict): (&Revision, Verdict)| {
        let (chosen, why) = match verdict {
            Verdict::Chosen(reason) => (true, reason.to_string()),
            Verdict::PassedOver(reason) => (false, reason.to_string()),
        };
        Explained {
            version: revision.to_string(),
            revision: revision.name().to_string(),
            chosen,
            why,
        }
    };
    Ok(lines.into_iter().map(line).collect())
}

/// A reference to the same definition at another version.
fn with_version(asked: &Asked, version: &str) -> Result<Option<String>, Refused> {
    let reference = parsed(asked)?;
    Ok(Some(format!("{}@{version}", reference.artifact())))
}

/// The reference that gets the highest release, in the same form; none if the current reference gets it already.
fn highest(
    catalogue: &Catalogue,
    consumer: &Consuming,
    follow: &Follow,
    asked: &Asked,
    current: Option<&str>,
) -> Result<Option<String>, Refused> {
    let reference = parsed(asked)?;
    let name = reference.artifact();
    let Some((_, shelf)) = catalogue.find(&consumer.namespace, asked.type_, name) else {
        return Ok(None);
    };
    let Ok(lineage) = shelf.lineage() else {
        return Ok(None);
    };
    if lineage.scheme() == Scheme::Numbered {
        return Ok(newest(lineage, &reference, follow, current));
    }
    let Some(highest) = lineage.highest_release().and_then(Revision::version) else {
        return Ok(None);
    };
    Ok(match reference.wanted() {
        Wanted::Newest if follow.policy == Policy::Automatic => None,
        Wanted::Newest if current == Some(&highest.to_string()) => None,
        Wanted::Newest => Some(format!("{name}@{highest}")),
        Wanted::Exact(version) if version < highest => Some(format!("{name}@{highest}")),
        Wanted::Series(series) if !series.contains(highest) && series.is_below(highest) => {
            let minor = asked
                .text
                .rsplit('@')
                .next()
                .is_some_and(|tail| tail.contains('.'));
            Some(match minor {
                true => format!("{name}@{}.{}", highest.major(), highest.minor()),
                false => format!("{name}@{}", highest.major()),
            })
        }
        _ => None,
    })
}

/// The bare reference that gets the newest numbered revision; none if the current reference gets it already.
fn newest(
    lineage: &Lineage,
    reference: &Reference,
    follow: &Follow,
    current: Option<&str>,
) -> Option<String> {
    let newest = lineage.newest()?;
    let is_there = current == Some(newest.name().as_str()) || follow.policy == Policy::Automatic;
    if is_there || *reference.wanted() != Wanted::Newest {
        return None;
    }
    let name = reference.artifact();
    Some(match newest.given_name() {
        Some(given) => format!("{name}@{given}"),
        None => format!("{name}@v{}", newest.number()),
    })
}

fn parsed(asked: &Asked) -> Result<Reference, Refused> {
    asked
        .text
        .parse()
        .map_err(|error: cambium_lineage::ReferenceError| Refused {
            reason: reason::INVALID_REFERENCE,
            message: error.to_string(),
        })
}

fn unbound() -> Follow {
    Follow {
        policy: Policy::ByReference,
        lock: None,
        publish_version: None,
        edited: false,
    }
}

fn components(references: &[Asked]) -> String {
    let names: Vec<&str> = references
        .iter()
        .filter(|asked| asked.type_ == DefinitionType::Component)
        .filter_map(|asked| asked.path.strip_prefix("components[")?.strip_suffix(']'))
        .collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// The status of a reference.
fn known<'a>(application: &'a Value, asked: &Asked) -> Option<&'a Value> {
    let references = application["status"]["references"].as_array()?;
    references
        .iter()
        .find(|known| known["path"] == asked.path.as_str() && known["asked"] == asked.text.as_str())
}

fn version_or_revision(of: &Value) -> Option<String> {
    let text = of["version"].as_str().or_else(|| of["revision"].as_str());
    text.map(str::to_owned)
}

/// The version that a reference resolves to.
fn current_version(application: &Value, asked: &Asked) -> Option<String> {
    version_or_revision(known(application, asked)?)
}

/// The version that the component of a reference runs: another one, if it could not move.
fn running_version(application: &Value, asked: &Asked) -> Option<String> {
    let known = known(application, asked)?;
    version_or_revision(&known["running"]).or_else(|| version_or_revision(known))
}

/// The spec with references replaced, at the places that `asked` names.
fn with_references(application: &Value, moves: &[Move]) -> Value {
    let mut spec = application["spec"].clone();
    let to = |path: &str| {
        moves
            .iter()
            .find(|one| one.path == path)
            .and_then(|one| one.to.clone())
    };
    let lists: [(&str, &[&str], &str); 3] = [
        ("components", &["components"], "traits"),
        ("policies", &["policies"], ""),
        ("workflow.steps", &["workflow", "steps"], "subSteps"),
    ];
    for (prefix, path, inner) in lists {
        let mut list = Some(&mut spec);
        for field in path {
            list = list.and_then(|value| value.get_mut(*field));
        }
        let Some(items) = list.and_then(Value::as_array_mut) else {
            continue;
        };
        for (index, item) in items.iter_mut().enumerate() {
            let place = crate::resolve::place(prefix, item, index);
            if let Some(to) = to(&place) {
                item["type"] = Value::String(to);
            }
            let Some(parts) = item.get_mut(inner).and_then(Value::as_array_mut) else {
                continue;
            };
            for (index, part) in parts.iter_mut().enumerate() {
                if let Some(to) = to(&format!("{place}.{inner}[{index}]")) {
                    part["type"] = Value::String(to);
                }
            }
        }
    }
    spec
}

#[cfg(test)]
mod tests;
