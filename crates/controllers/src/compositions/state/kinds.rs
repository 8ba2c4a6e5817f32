//! Kinds of composite resources and claims: whether they are served and cached, and which definition controls their CRDs.
//!
//! Several definitions may ask for one kind. The API server serves the CRD of one of them, and that one alone reconciles its objects.

use super::{Defined, State};
use crate::runtime::{Change, Resource};
use cambium_api::crossplane::TypeReference;
use cambium_compositions::definition::CrdState;
use serde_json::Value;
use std::sync::{Arc, PoisonError};

/// Whether the CRD of composite resources or claims is served and its objects are cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::compositions) enum Served {
    /// No CRD, or one that is not served: the kind has no objects.
    No,
    /// The CRD is not controlled by the definition, which ignores its objects; but there may be some.
    Foreign,
    /// Served, and its objects are not cached.
    Unseen,
    /// Served, and its objects are cached.
    Seen,
}

impl Served {
    /// From the state of a CRD; its objects are not cached by that.
    pub(in crate::compositions) fn by(state: &CrdState) -> Self {
        match state {
            CrdState::Established => Self::Unseen,
            CrdState::Foreign { .. } => Self::Foreign,
            CrdState::Waiting | CrdState::NamesTaken(_) | CrdState::Refused(_) => Self::No,
        }
    }
}

impl Defined {
    /// The names of its CRDs, and their kinds.
    pub(in crate::compositions) fn kinds(&self) -> Vec<(String, Resource)> {
        let composites = (self.definition.name().to_owned(), self.composite.clone());
        let claims = self.definition.claim_crd_name().zip(self.claim.clone());
        [Some(composites), claims].into_iter().flatten().collect()
    }
}

impl State {
    /// The definition of a kind of composite resources, whatever the version.
    pub(in crate::compositions) fn defined(&self, group: &str, kind: &str) -> Option<Arc<Defined>> {
        self.answering(|defined| {
            let definition = &defined.definition;
            let is_it = definition.group() == group && definition.names().kind == kind;
            is_it.then(|| (definition.name().to_owned(), defined.established))
        })
    }

    /// The definition of a kind of claims, whatever the version.
    pub(in crate::compositions) fn claimed(&self, group: &str, kind: &str) -> Option<Arc<Defined>> {
        self.answering(|defined| {
            let definition = &defined.definition;
            let names = definition.claim_names()?;
            let is_it = definition.group() == group && names.kind == kind;
            is_it
                .then(|| definition.claim_crd_name())
                .flatten()
                .map(|crd| (crd, defined.offered))
        })
    }

    /// All definitions.
    pub(in crate::compositions) fn all_defined(&self) -> Vec<Arc<Defined>> {
        let defined = self.defined.read().unwrap_or_else(PoisonError::into_inner);
        defined.values().cloned().collect()
    }

    /// Whether the API server serves composite resources for this definition, and not for another one.
    pub(in crate::compositions) fn answers(&self, defined: &Defined) -> bool {
        let definition = &defined.definition;
        let answering = self.defined(definition.group(), &definition.names().kind);
        answering.is_some_and(|answering| answering.definition.name() == definition.name())
    }

    /// The kinds that the API server serves for this definition.
    pub(in crate::compositions) fn answered_by(&self, defined: &Defined) -> Vec<TypeReference> {
        let definition = &defined.definition;
        let claims = definition.claim_type().filter(|type_| {
            let answering = self.claimed(definition.group(), &type_.kind);
            answering.is_some_and(|answering| answering.definition.name() == definition.name())
        });
        let composites = self.answers(defined).then(|| definition.composite_type());
        composites.into_iter().chain(claims).collect()
    }

    /// The definition whose CRD is served, among those that ask for a kind. `asks` gives the name of the CRD, and whether it was served by the status
    /// of the definition, which counts until the CRD has been read.
    fn answering(&self, asks: impl Fn(&Defined) -> Option<(String, bool)>) -> Option<Arc<Defined>> {
        let defined = self.defined.read().unwrap_or_else(PoisonError::into_inner);
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        let ranked = defined.values().filter_map(|defined| {
            let (crd, was_served) = asks(defined)?;
            match served.get(&crd) {
                Some(Served::Seen | Served::Unseen) => Some((2, defined)),
                Some(Served::No | Served::Foreign) => None,
                None => was_served.then_some((1, defined)),
            }
        });
        ranked
            .max_by_key(|(rank, _)| *rank)
            .map(|(_, defined)| defined.clone())
    }

    /// Sets whether a CRD is served, and requeues the Compositions whose users become known by that.
    pub(in crate::compositions) fn set_served(&self, defined: &Defined, crd: &str, now: Served) {
        let before = {
            let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
            served.insert(crd.to_owned(), now)
        };
        if before == Some(now) || now == Served::Unseen || !self.is_ready() {
            return;
        }
        let waiting: Vec<String> = {
            let catalogue = self.catalogue();
            let concerned = catalogue.iter().filter(|(_, shelf)| {
                let type_ = shelf.live().and_then(|live| live.composite_type.as_ref());
                type_.is_some_and(|type_| is_for(defined, type_))
            });
            concerned.map(|(name, _)| name.to_owned()).collect()
        };
        for composition in waiting {
            self.compositions.add(composition);
        }
    }

    /// All kinds whose objects may use a Composition for this kind: definitions, names of CRDs, and kinds of composite resources and claims.
    pub(in crate::compositions) fn kinds_for(
        &self,
        type_: &TypeReference,
    ) -> Vec<(Arc<Defined>, String, Resource)> {
        let defined = self.defined.read().unwrap_or_else(PoisonError::into_inner);
        let asking = defined.values().filter(|defined| is_for(defined, type_));
        let kinds = asking.flat_map(|defined| {
            let kinds = defined.kinds().into_iter();
            kinds.map(|(crd, resource)| (defined.clone(), crd, resource))
        });
        kinds.collect()
    }

    /// Whether a CRD is served, as far as is known.
    pub(in crate::compositions) fn served(&self, crd: &str) -> Option<Served> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        served.get(crd).copied()
    }

    /// The invalid definitions of this kind, whose objects are unknown.
    pub(in crate::compositions) fn unread_for(&self, type_: &TypeReference) -> Vec<String> {
        let unread = self.unread.read().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(group, kind): &(String, String)| group == group_of(type_) && *kind == type_.kind;
        let names = unread.iter().filter(|(_, asked)| is_it(asked));
        names.map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn set_unread(&self, name: &str, change: &Change, is_unread: bool) {
        let mut unread = self.unread.write().unwrap_or_else(PoisonError::into_inner);
        match change.after.as_ref().filter(|_| is_unread) {
            Some(record) => {
                let spec = record.value()["spec"].clone();
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let kind = (text(&spec["group"]), text(&spec["names"]["kind"]));
                unread.insert(name.to_owned(), kind);
            }
            None => drop(unread.remove(name)),
        }
    }

    /// Forgets that CRDs are not served when the status of their definition says that they are: the leader has found that out, and other replicas do
    /// not read CRDs.
    pub(super) fn forget_refuted(&self, before: Option<&Defined>, after: &Defined) {
        let told = |is: fn(&Defined) -> bool| is(after) && !before.is_some_and(is);
        let composites = told(|defined| defined.established).then(|| after.definition.name().to_owned());
        let claims = told(|defined| defined.offered).then(|| after.definition.claim_crd_name());
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        for crd in composites.into_iter().chain(claims.flatten()) {
            if matches!(served.get(&crd), Some(Served::No | Served::Foreign)) {
                served.remove(&crd);
            }
        }
    }

    pub(super) fn forget_served(&self, defined: &Defined) {
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        for (crd, _) in defined.kinds() {
            served.remove(&crd);
        }
    }
}

/// Whether a definition asks for the kind of a Composition.
fn is_for(defined: &Defined, type_: &TypeReference) -> bool {
    defined.definition.group() == group_of(type_) && defined.definition.names().kind == type_.kind
}

fn group_of(type_: &TypeReference) -> &str {
    type_.api_version.split_once('/').map_or("", |(group, _)| group)
}
