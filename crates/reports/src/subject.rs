//! Parses the object that a user names on the command line: `compdef/web`, `compdef web`, or `web` alone.

use crate::inventory::{CompositeKind, Compositions, Inventory};
use crate::{ObjectName, Unanswered};
use cambium_api::crossplane::Names;
use cambium_api::names::SYSTEM_NAMESPACE;
use cambium_api::v1beta1::DefinitionType;
use cambium_compositions::composite_of;
use cambium_compositions::definition::Definition;
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// A kind and a name, as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The kind, as kubectl would understand it; none if there is only a name.
    pub kind: Option<String>,
    /// The name.
    pub name: String,
}

impl Asked {
    /// Reads `KIND/NAME`, `KIND NAME`, or `NAME`.
    pub fn of(first: &str, second: Option<&str>) -> Self {
        let (kind, name) = match (second, first.split_once('/')) {
            (Some(name), _) => (Some(first), name),
            (None, Some((kind, name))) => (Some(kind), name),
            (None, None) => (None, first),
        };
        Self {
            kind: kind.map(str::to_owned),
            name: name.to_owned(),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Some(kind) => write!(formatter, "{kind}/{}", self.name),
            None => formatter.write_str(&self.name),
        }
    }
}

/// A kind that has revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Application.
    Application,
    /// Composition.
    Composition,
    /// A kind of definition.
    Definition(DefinitionType),
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Application,
        Self::Composition,
        Self::Definition(DefinitionType::Component),
        Self::Definition(DefinitionType::Trait),
        Self::Definition(DefinitionType::Policy),
        Self::Definition(DefinitionType::WorkflowStep),
    ];

    /// The kind that a word means, as kubectl understands it.
    pub fn called(text: &str) -> Result<Self, Unanswered> {
        // kubectl prints kinds with their group; they may be pasted.
        let kind = text.split('.').next().unwrap_or_default().to_lowercase();
        Ok(match kind.trim_end_matches('s') {
            "app" | "application" | "velaapp" => Self::Application,
            "composition" => Self::Composition,
            "component" | "componentdefinition" | "compdef" | "comp" => {
                Self::Definition(DefinitionType::Component)
            }
            "trait" | "traitdefinition" | "traitdef" => Self::Definition(DefinitionType::Trait),
            "policy" | "policie" | "policydefinition" | "policydef" => {
                Self::Definition(DefinitionType::Policy)
            }
            "workflowstep" | "workflowstepdefinition" | "workflowstepdef" => {
                Self::Definition(DefinitionType::WorkflowStep)
            }
            _ => {
                return Err(Unanswered::Unclear(format!(
                    "{text:?} has no revisions; kinds are application, composition, componentdefinition, traitdefinition, policydefinition and workflowstepdefinition"
                )));
            }
        })
    }

    /// Its name in manifests.
    pub fn name(self) -> &'static str {
        match self {
            Self::Application => "Application",
            Self::Composition => "Composition",
            Self::Definition(type_) => type_.kind(),
        }
    }

    /// The one kind in which something with this name has revisions.
    pub fn of_the_one_called(inventory: &Inventory, namespace: &str, name: &str) -> Result<Self, Unanswered> {
        let is_there = |kind: &Self| match kind {
            Self::Application => inventory.definitions.application(namespace, name).is_ok(),
            Self::Composition => inventory.compositions.catalogue().get(name).is_some(),
            Self::Definition(type_) => {
                let catalogue = inventory.definitions.catalogue();
                catalogue.find(namespace, *type_, name).is_some()
            }
        };
        let found: Vec<Self> = Self::ALL.into_iter().filter(is_there).collect();
        match found.as_slice() {
            [one] => Ok(*one),
            [] => Err(Unanswered::NotFound(format!(
                "nothing called {name:?} has revisions in namespace {namespace} or {SYSTEM_NAMESPACE}"
            ))),
            [first, ..] => {
                let kinds: Vec<&str> = found.iter().map(|kind| kind.name()).collect();
                let kind = first.name().to_lowercase();
                Err(Unanswered::Unclear(format!(
                    "several things are called {name:?}: {}; name the kind, as in {kind}/{name}",
                    kinds.join(", ")
                )))
            }
        }
    }
}

/// A composite resource, and the object that says how it follows: itself, or its claim.
pub struct Subject<'i> {
    /// Its kind.
    pub kind: &'i CompositeKind,
    /// The composite resource.
    pub composite: &'i Value,
    /// The object whose spec says how it follows: the claim, if there is one.
    pub steered: &'i Value,
    /// The names of that object's kind.
    pub names: &'i Names,
}

/// The result of `pin` or `follow`, or of their dry run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Followed {
    /// The composite resource or claim, as kind/name.
    pub subject: String,
    /// The update policy that it has then: `Manual` or `Automatic`.
    pub policy: String,
    /// The composition that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub composition: Option<String>,
    /// The revision that it gets.
    pub revision: String,
    /// Whether the server was only asked.
    pub dry_run: bool,
}

impl Compositions {
    /// The composite resource that is meant, by its own name or by its claim's.
    pub fn subject(&self, asked: &Asked, namespace: &str) -> Result<Subject<'_>, Unanswered> {
        let word = asked.kind.as_deref().map(str::to_lowercase);
        let mut meant: Vec<(&CompositeKind, bool)> = Vec::new();
        for kind in self.kinds() {
            let definition = &kind.definition;
            let is_meant = |names: &Names| match &word {
                Some(word) => is_called(definition, names, word),
                None => true,
            };
            if is_meant(definition.names()) {
                meant.push((kind, false));
            }
            if definition.claim_names().is_some_and(is_meant) {
                meant.push((kind, true));
            }
        }
        let Some(word) = &asked.kind else {
            return called(&meant, &asked.name, namespace);
        };
        match meant.as_slice() {
            [(kind, is_claim)] => find(kind, *is_claim, asked, namespace),
            [] => Err(Unanswered::NotFound(format!(
                "no CompositeResourceDefinition defines {word:?}"
            ))),
            _ => Err(Unanswered::NotFound(format!(
                "{word:?} is defined more than once; add the group, as in xdatabases.example.org"
            ))),
        }
    }
}

/// The one composite resource or claim with this name, whatever its kind. A claim and its composite resource may share it: the claim counts.
fn called<'i>(
    kinds: &[(&'i CompositeKind, bool)],
    name: &str,
    namespace: &str,
) -> Result<Subject<'i>, Unanswered> {
    let named = |(kind, is_claim): &(&'i CompositeKind, bool)| {
        let word = kind_name(kind, *is_claim).to_lowercase();
        let asked = Asked::of(&word, Some(name));
        find(kind, *is_claim, &asked, namespace).ok()
    };
    let mut found: Vec<Subject<'i>> = kinds.iter().filter_map(named).collect();
    match (found.pop(), found.pop()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(Unanswered::NotFound(format!(
            "no composite resource or claim {name:?} in namespace {namespace}; name its kind as well, as in xdatabase/orders"
        ))),
        (Some(one), Some(other)) => Err(Unanswered::Unclear(format!(
            "several things are called {name:?}: {}, {}; name the kind, as in {}/{name}",
            other.names.kind,
            one.names.kind,
            other.names.kind.to_lowercase()
        ))),
    }
}

fn kind_name(kind: &CompositeKind, is_claim: bool) -> &str {
    let definition = &kind.definition;
    let names = definition.claim_names().filter(|_| is_claim);
    &names.unwrap_or(definition.names()).kind
}

fn find<'i>(
    kind: &'i CompositeKind,
    is_claim: bool,
    asked: &Asked,
    namespace: &str,
) -> Result<Subject<'i>, Unanswered> {
    let definition = &kind.definition;
    let name = &asked.name;
    let is_it = |object: &Value, name: &str| {
        let found = ObjectName::of(object);
        found.name == name && (found.namespace.is_empty() || found.namespace == namespace)
    };
    let Some(names) = definition.claim_names().filter(|_| is_claim) else {
        let names = definition.names();
        let missing = || Unanswered::NotFound(format!("no {} {name:?}", names.kind));
        let composite = kind.composites().find(|object| is_it(object, name));
        let composite = composite.ok_or_else(missing)?;
        if let Some(claim) = definition.layout().claim_ref(composite) {
            let kind = definition.claim_names().map_or("", |names| &names.kind);
            return Err(Unanswered::Unclear(format!(
                "{asked} belongs to a claim, which says how it follows: use {}/{} -n {}",
                kind.to_lowercase(),
                claim.name,
                claim.namespace
            )));
        }
        return Ok(Subject {
            kind,
            composite,
            steered: composite,
            names,
        });
    };
    let missing = || Unanswered::NotFound(format!("no {} {name:?} in namespace {namespace}", names.kind));
    let claim = kind.claims().find(|object| is_it(object, name));
    let claim = claim.ok_or_else(missing)?;
    let composite = composite_of(claim).and_then(|composite| {
        let named = composite.name?;
        kind.composites().find(|object| is_it(object, named))
    });
    let unbound = || Unanswered::NotFound(format!("{asked} has no composite resource yet"));
    Ok(Subject {
        kind,
        composite: composite.ok_or_else(unbound)?,
        steered: claim,
        names,
    })
}

/// Whether a word names this kind, as kubectl understands it: plural, singular, short name or kind.
fn is_called(definition: &Definition, names: &Names, wanted: &str) -> bool {
    let singular = names
        .singular
        .clone()
        .unwrap_or_else(|| names.kind.to_lowercase());
    let short = names.short_names.iter().flatten();
    let group = definition.group();
    let plain = [names.kind.to_lowercase(), names.plural.clone(), singular];
    let full = plain.iter().map(|name| format!("{name}.{group}"));
    plain
        .iter()
        .cloned()
        .chain(full)
        .chain(short.cloned())
        .any(|name| name == wanted)
}
