//! A CompositeResourceDefinition that is about to take effect, and the checks before that.

use super::{Definition, read};
use crate::admission::Refused;
use cambium_api::crossplane::CompositeResourceDefinition;
use cambium_lineage::{Digest, Lineage, Scheme, UnnamedCandidate, publish_unnamed};
use serde_json::Value;

/// A CompositeResourceDefinition that is about to take effect.
pub struct Candidate<'a> {
    /// The object before the update, where that is known.
    old: Option<&'a Value>,
    new: &'a Value,
    read: Result<Definition, Vec<Refused>>,
    /// The other definitions, whose kinds it must not take.
    others: Vec<&'a Definition>,
}

impl<'a> Candidate<'a> {
    /// A definition, the object before the update, and the other definitions of the cluster.
    pub fn new(
        old: Option<&'a Value>,
        new: &'a Value,
        others: impl IntoIterator<Item = &'a Definition>,
    ) -> Self {
        let shaped = serde_json::from_value::<CompositeResourceDefinition>(new.clone());
        let read = match shaped {
            Err(error) => Err(vec![Refused::Shape(error.to_string())]),
            Ok(typed) => {
                read(&typed).map_err(|problems| problems.0.into_iter().map(Refused::Definition).collect())
            }
        };
        Self {
            old,
            new,
            read,
            others: others.into_iter().collect(),
        }
    }

    /// The definition that takes effect, or everything that is wrong with it. CompositeResourceDefinitions have no revisions, so nothing counts as
    /// published.
    pub fn publish(self) -> Result<Definition, Vec<Refused>> {
        let published = Lineage::empty(self.name(), Scheme::ContentAddressed);
        let refused = publish_unnamed(&published, &self).findings.refused;
        match self.read {
            Ok(definition) if refused.is_empty() => Ok(definition),
            _ => Err(refused),
        }
    }

    fn name(&self) -> &str {
        self.new["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// Refuses to remove claim names.
    fn claims_taken_away(&self, definition: &Definition) -> Option<Refused> {
        let offered = self.old.is_some_and(|old| !old["spec"]["claimNames"].is_null());
        (offered && definition.claim_names().is_none()).then_some(Refused::ClaimsTakenAway)
    }

    /// Refuses kinds that another definition of its group has.
    fn kinds_taken(&self, definition: &Definition) -> Vec<Refused> {
        let same_group = self
            .others
            .iter()
            .filter(|other| other.name() != definition.name() && other.group() == definition.group());
        let others: Vec<&&Definition> = same_group.collect();
        let mut refused = Vec::new();
        for (path, pointer, names) in [
            ("spec.names.kind", "/spec/names/kind", Some(definition.names())),
            (
                "spec.claimNames.kind",
                "/spec/claimNames/kind",
                definition.claim_names(),
            ),
        ] {
            let is_new = self
                .old
                .is_none_or(|old| old.pointer(pointer) != self.new.pointer(pointer));
            let Some(names) = names.filter(|_| is_new) else {
                continue;
            };
            let has = |other: &Definition| {
                let mut kinds = [Some(other.names()), other.claim_names()].into_iter().flatten();
                kinds.any(|theirs| theirs.kind == names.kind)
            };
            if let Some(other) = others.iter().find(|other| has(other)) {
                refused.push(Refused::KindTaken {
                    path,
                    other: other.name().to_owned(),
                    kind: names.kind.clone(),
                    group: definition.group().to_owned(),
                });
            }
        }
        refused
    }
}

impl UnnamedCandidate for Candidate<'_> {
    type Refused = Refused;

    fn digest(&self) -> Digest {
        Digest::of(&self.new["spec"])
    }

    fn check(&self) -> Vec<Refused> {
        let definition = match &self.read {
            Ok(definition) => definition,
            Err(refused) => return refused.clone(),
        };
        let mut refused: Vec<Refused> = self.claims_taken_away(definition).into_iter().collect();
        refused.extend(self.kinds_taken(definition));
        refused
    }

    fn exhausted(&self) -> Refused {
        Refused::Exhausted
    }
}
