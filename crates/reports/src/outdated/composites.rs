//! `cambium outdated` for composite resources: those that are not at the current revision of their composition.

use super::Outdated;
use crate::{CompositeKind, Compositions, Inventory, ObjectName};
use cambium_api::crossplane::UpdatePolicy;
use cambium_compositions::{ByRevision, CompositionFetcher as _, Consuming, Refusal, Wish};
use serde_json::Value;

/// The composite resources in a namespace and in none, or all, that are not at the current revision of their composition.
pub fn composites(inventory: &Inventory, namespace: Option<&str>) -> Vec<Outdated> {
    let compositions = &inventory.compositions;
    let is_meant = |composite: &Value| {
        let found = composite["metadata"]["namespace"].as_str();
        namespace.is_none_or(|only| found.is_none_or(|found| found == only))
    };
    let each = compositions.kinds().flat_map(|kind| {
        let composites = kind.composites().filter(|composite| is_meant(composite));
        composites.filter_map(move |composite| behind(compositions, kind, composite))
    });
    each.collect()
}

/// The report on a composite resource that is not at the current revision of its composition.
fn behind(compositions: &Compositions, kind: &CompositeKind, composite: &Value) -> Option<Outdated> {
    let catalogue = compositions.catalogue();
    let wish = Wish::of(&kind.definition, composite);
    let composition = wish.composition(catalogue).ok();
    let shelf = composition.as_ref().and_then(|name| catalogue.get(name));
    let newest = shelf.and_then(|shelf| shelf.current(composition.as_deref().unwrap_or_default()));
    let newest = newest.map(|stored| stored.revision.name().to_string());
    let consumer = Consuming::of(&wish.composite_type, composite);
    let fetched = ByRevision.fetch(catalogue, &consumer, &wish);
    let why_not = match &fetched {
        Err(refusal) => refusal.to_string(),
        Ok(_) if newest.is_none() || wish.revision == newest => return None,
        Ok(_) => match (wish.policy, &wish.revision_selector) {
            (UpdatePolicy::Manual, _) => "compositionUpdatePolicy is Manual".to_owned(),
            (UpdatePolicy::Automatic, Some(selector)) => format!("follows {selector}"),
            (UpdatePolicy::Automatic, None) => "has not moved yet".to_owned(),
        },
    };
    // What it is composed by, if it names something that it can be composed by.
    let is_named = fetched.as_ref().err().is_none_or(Refusal::leaves_named);
    let ObjectName { namespace, name } = ObjectName::of(composite);
    Some(Outdated {
        namespace: Some(namespace).filter(|namespace| !namespace.is_empty()),
        kind: Some(kind.definition.names().kind.clone()),
        name: Some(name),
        asked: composition,
        at: wish.revision.filter(|_| is_named),
        newest,
        why_not,
        ..Outdated::default()
    })
}
