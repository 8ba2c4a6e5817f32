//! Selects a Composition for a composite resource, and a revision of it.

use crate::catalogue::{Catalogue, Shelf};
use crate::consumers::Consuming;
use crate::content::Content;
use crate::definition::Definition;
use crate::revision::{Labels, Stored};
use cambium_api::crossplane::{TypeReference, UpdatePolicy};
use cambium_lineage::{self as lineage, InUse, Policy, Question, Reference, Revision};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// Labels that must all be there.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selector(Labels);

impl Selector {
    /// Selects what has all these labels.
    pub fn new(labels: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(labels.into_iter().collect())
    }

    /// Whether these labels have what it asks for.
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|(name, value)| labels.get(name) == Some(value))
    }

    /// The labels.
    pub fn labels(&self) -> &Labels {
        &self.0
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<String> = self
            .0
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        formatter.write_str(&labels.join(","))
    }
}

/// Why a composite resource gets no composition, or no revision of it. The texts begin as Crossplane's do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No composition has the kind and the labels.
    #[error("cannot select Composition: no compatible Compositions found{}", .0.as_ref().map_or(String::new(), |labels| format!(" with the labels {labels}")))]
    NoComposition(Option<Selector>),
    /// The composition is not there.
    #[error(
        "cannot fetch Composition: cannot get Composition: Composition.apiextensions.crossplane.io {0:?} not found"
    )]
    MissingComposition(String),
    /// The composition has no revision yet.
    #[error("cannot fetch Composition: no compatible CompositionRevisions found: {0:?} has no revision yet")]
    NoRevision(String),
    /// No revision of the composition has the labels.
    #[error(
        "cannot fetch Composition: no compatible CompositionRevisions found: no revision of {composition:?} has the labels {selector}"
    )]
    NoMatch {
        /// The composition.
        composition: String,
        /// The labels.
        selector: Selector,
    },
    /// The revision is not there.
    #[error(
        "cannot fetch Composition: cannot get CompositionRevision: CompositionRevision.apiextensions.crossplane.io {0:?} not found; name one that is there, or set compositionUpdatePolicy: Automatic"
    )]
    MissingRevision(String),
    /// The revision is one of another composition.
    #[error(
        "cannot fetch Composition: CompositionRevision {revision:?} belongs to the Composition {owner:?}, not to {composition:?}; name a revision of {composition:?}"
    )]
    ForeignRevision {
        /// The revision.
        revision: String,
        /// Whose it is.
        owner: String,
        /// Whose it should be.
        composition: String,
    },
    /// Somebody edited the revision.
    #[error(
        "cannot fetch Composition: CompositionRevision {0:?} was edited after it was published, and is not used; name another one"
    )]
    Altered(String),
    /// Everything that it could follow is closed for it.
    #[error(
        "cannot fetch Composition: every CompositionRevision of {0:?} that it could use is closed for it by a staged upgrade"
    )]
    Closed(String),
    /// The composition is for another kind.
    #[error(
        "cannot configure composite resource: referenced composition is not compatible with this composite resource: {name} composes {found}, not {wanted}"
    )]
    Incompatible {
        /// The composition or revision.
        name: String,
        /// The kind that it is for.
        found: String,
        /// The kind that it should be for.
        wanted: String,
    },
}

impl Refusal {
    /// Whether the revision that a composite resource names is what it is composed by, as far as anybody knows, though it gets none now. One of another
    /// composition has never been used; one that is not there may never have been.
    pub fn leaves_named(&self) -> bool {
        !matches!(self, Self::MissingRevision(_) | Self::ForeignRevision { .. })
    }

    /// What is wrong, without what was being done.
    pub(crate) fn bare(&self) -> String {
        let text = self.to_string();
        let doing = [
            "cannot fetch Composition: ",
            "cannot get CompositionRevision: ",
            "cannot configure composite resource: ",
        ];
        let bare = doing.iter().fold(text.as_str(), |text, doing| {
            text.strip_prefix(doing).unwrap_or(text)
        });
        bare.to_owned()
    }
}

/// What a composite resource asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// Its kind, at the version that compositions are written for.
    pub composite_type: Arc<TypeReference>,
    /// The composition that it names, or that its definition names for it.
    pub composition: Option<String>,
    /// The labels of the composition that it would take.
    pub composition_selector: Option<Selector>,
    /// The revision that it names.
    pub revision: Option<String>,
    /// The labels of the revisions that it follows.
    pub revision_selector: Option<Selector>,
    /// Whether it follows.
    pub policy: UpdatePolicy,
}

impl Wish {
    /// What a composite resource asks for, with what its definition enforces and adds.
    pub fn of(definition: &Definition, composite: &Value) -> Self {
        let layout = definition.layout();
        let owned = |labels: std::collections::BTreeMap<&str, &str>| {
            let labels = labels.into_iter();
            Selector::new(labels.map(|(name, value)| (name.to_owned(), value.to_owned())))
        };
        let composition_selector = layout.composition_selector(composite).map(owned);
        let named = definition
            .enforced_composition()
            .or_else(|| layout.composition_ref(composite))
            .or_else(|| {
                definition
                    .default_composition()
                    .filter(|_| composition_selector.is_none())
            });
        let revision = layout.revision_ref(composite).map(str::to_owned);
        let default_selector = || {
            let default = definition.default_revision_selector()?;
            let labels = default.match_labels.clone().unwrap_or_default();
            revision.is_none().then(|| Selector::new(labels))
        };
        Self {
            composite_type: Arc::new(definition.composite_type()),
            composition: named.map(str::to_owned),
            composition_selector,
            revision_selector: layout
                .revision_selector(composite)
                .map(owned)
                .or_else(default_selector),
            policy: definition
                .enforced_policy()
                .or_else(|| layout.update_policy(composite))
                .unwrap_or_else(|| definition.default_policy()),
            revision,
        }
    }

    /// The composition that it gets: the one that is named, or among those that its selector allows the first by name.
    pub fn composition(&self, catalogue: &Catalogue) -> Result<String, Refusal> {
        if let Some(named) = &self.composition {
            return Ok(named.clone());
        }
        let selector = self.composition_selector.as_ref();
        let fits = |shelf: &Shelf| {
            shelf.live().is_some_and(|live| {
                live.composite_type.as_ref() == Some(&*self.composite_type)
                    && selector.is_none_or(|selector| selector.matches(&live.labels))
            })
        };
        catalogue
            .iter()
            .find(|(_, shelf)| fits(shelf))
            .map(|(name, _)| name.to_owned())
            .ok_or_else(|| Refusal::NoComposition(selector.cloned()))
    }

    fn fits(&self, name: &str, found: Option<&TypeReference>) -> Result<(), Refusal> {
        if found == Some(&*self.composite_type) {
            return Ok(());
        }
        let text = |type_: &TypeReference| format!("{} of {}", type_.kind, type_.api_version);
        Err(Refusal::Incompatible {
            name: name.to_owned(),
            found: found.map_or_else(|| "nothing".to_owned(), text),
            wanted: text(&self.composite_type),
        })
    }
}

/// What a composite resource is composed by.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The composition.
    pub composition: String,
    /// The revision; none if compositions are used as they are.
    pub revision: Option<Arc<Stored>>,
    /// What it composes.
    pub content: Content,
}

/// Finds what a composite resource is composed by.
pub trait CompositionFetcher {
    /// What is used for a composite resource that asks for this.
    fn fetch(&self, catalogue: &Catalogue, consumer: &Consuming, wish: &Wish) -> Result<Fetched, Refusal>;
}

/// The result of a selection.
#[derive(Debug, Clone)]
pub enum Found {
    /// What it is composed by.
    Content(Fetched),
    /// Nothing yet, but what it waits for is being published: its composition is there, and has no revision yet for what it says. Why it would be
    /// refused otherwise.
    Publishing(Refusal),
    /// Nothing, and why.
    Refused(Refusal),
}

/// Selects for a composite resource. One catalogue decides both what exists and what is being published: otherwise a revision could be created
/// between the two, and be reported as missing.
pub fn select(
    by: &dyn CompositionFetcher,
    catalogue: &Catalogue,
    consumer: &Consuming,
    wish: &Wish,
) -> Found {
    match by.fetch(catalogue, consumer, wish) {
        Ok(fetched) => Found::Content(fetched),
        Err(refusal) if is_publishing(catalogue, &refusal) => Found::Publishing(refusal),
        Err(refusal) => Found::Refused(refusal),
    }
}

/// Whether the revision that is missing is about to be there: its composition has none yet for what it says, or has not given its labels to it.
fn is_publishing(catalogue: &Catalogue, refusal: &Refusal) -> bool {
    match refusal {
        Refusal::NoRevision(composition) => catalogue.is_publishing(composition),
        Refusal::NoMatch {
            composition,
            selector,
        } => {
            let live = catalogue.get(composition).and_then(Shelf::live);
            catalogue.is_publishing(composition) || live.is_some_and(|live| selector.matches(&live.labels))
        }
        _ => false,
    }
}

/// Compositions are used as they are: an edit moves everybody at once.
#[derive(Debug, Clone, Copy)]
pub struct FromComposition;

impl CompositionFetcher for FromComposition {
    fn fetch(&self, catalogue: &Catalogue, _: &Consuming, wish: &Wish) -> Result<Fetched, Refusal> {
        let composition = wish.composition(catalogue)?;
        let live = catalogue.get(&composition).and_then(Shelf::live);
        let live = live.ok_or_else(|| Refusal::MissingComposition(composition.clone()))?;
        wish.fits(&composition, live.composite_type.as_ref())?;
        Ok(Fetched {
            content: live.content.clone(),
            composition,
            revision: None,
        })
    }
}

/// Revisions are used, by policy.
#[derive(Debug, Clone, Copy)]
pub struct ByRevision;

impl CompositionFetcher for ByRevision {
    fn fetch(&self, catalogue: &Catalogue, consumer: &Consuming, wish: &Wish) -> Result<Fetched, Refusal> {
        let composition = wish.composition(catalogue)?;
        let stored = resolve(catalogue, consumer, wish, &composition)?;
        wish.fits(stored.revision.name().as_str(), stored.composite_type.as_ref())?;
        Ok(Fetched {
            composition,
            content: stored.content.clone(),
            revision: Some(stored.clone()),
        })
    }
}

/// Asks the lineage of the composition. Those who are told use what they name, though the composition itself may be gone; the others follow.
fn resolve<'c>(
    catalogue: &'c Catalogue,
    consumer: &Consuming,
    wish: &Wish,
    composition: &str,
) -> Result<&'c Arc<Stored>, Refusal> {
    let told = wish
        .revision
        .as_deref()
        .filter(|_| wish.policy == UpdatePolicy::Manual);
    let shelf = catalogue
        .get(composition)
        .filter(|shelf| told.is_some() || shelf.live().is_some());
    let shelf = match (shelf, told) {
        (Some(shelf), _) => shelf,
        (None, Some(named)) => return Err(not_its_own(catalogue, composition, named)),
        (None, None) => return Err(Refusal::MissingComposition(composition.to_owned())),
    };
    let in_use = match told.map(str::parse) {
        None => None,
        Some(Ok(name)) => Some(InUse::named(name)),
        // No revision has such a name.
        Some(Err(_)) => return Err(not_its_own(catalogue, composition, told.unwrap_or_default())),
    };
    let lineage = shelf.lineage(composition);
    let reference = Reference::bare(lineage);
    let policy = match wish.policy {
        UpdatePolicy::Automatic => Policy::Automatic,
        UpdatePolicy::Manual => Policy::Manual,
    };
    let closed = catalogue.closures().closed_for(&composition.to_owned(), consumer);
    let mut question = Question::new(&reference, policy, lineage)
        .using(in_use.as_ref())
        .closed_to(&closed);
    let labels = wish
        .revision_selector
        .as_ref()
        .filter(|_| policy == Policy::Automatic);
    let text = labels.map(ToString::to_string).unwrap_or_default();
    let matches = |revision: &Revision| {
        let stored = shelf.stored(revision.name());
        labels.is_none_or(|labels| stored.is_some_and(|stored| labels.matches(&stored.labels)))
    };
    if labels.is_some() {
        question = question.among(lineage::Selector::new(&text, &matches));
    }
    let choice = question.resolve().decision.map_err(|refused| match refused {
        lineage::Refusal::Vanished { name, .. } => not_its_own(catalogue, composition, name.as_str()),
        lineage::Refusal::Altered { name, .. } if told.is_some() => Refusal::Altered(name.to_string()),
        lineage::Refusal::NoneSelected { .. } | lineage::Refusal::Altered { .. } if labels.is_some() => {
            Refusal::NoMatch {
                composition: composition.to_owned(),
                selector: labels.cloned().unwrap_or_default(),
            }
        }
        lineage::Refusal::Closed { .. } => Refusal::Closed(composition.to_owned()),
        _ => Refusal::NoRevision(composition.to_owned()),
    })?;
    shelf
        .stored(choice.revision.name())
        .ok_or_else(|| Refusal::NoRevision(composition.to_owned()))
}

/// Why a composition cannot be used by a revision that is none of its own: that is another one's, or is not there.
fn not_its_own(catalogue: &Catalogue, composition: &str, named: &str) -> Refusal {
    match catalogue.revision(named) {
        Some(stored) => Refusal::ForeignRevision {
            revision: named.to_owned(),
            owner: stored.composition.clone(),
            composition: composition.to_owned(),
        },
        None => Refusal::MissingRevision(named.to_owned()),
    }
}
