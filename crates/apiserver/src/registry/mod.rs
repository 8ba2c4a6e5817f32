//! The registry of served resources, built-in and custom.
//!
//! A [`Registry`] is immutable; a change of a CRD replaces it. A [`Served`] is one resource at one version: everything
//! the verbs need to know of a kind, whether it is built in or defined by a CRD.

mod builtin;
mod served;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

pub(crate) use served::{Origin, ScalePaths, Served};

/// `(group, version, plural)`.
type Address = (Arc<str>, Arc<str>, Arc<str>);

/// An immutable set of resources.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    resources: BTreeMap<Address, Arc<Served>>,
}

impl Registry {
    /// The built-in resources, which all servers of a process share.
    pub(crate) fn builtin() -> Arc<Self> {
        static BUILTIN: LazyLock<Arc<Registry>> = LazyLock::new(|| {
            let mut registry = Registry::default();
            for row in cambium_builtin::RESOURCES {
                registry.add(builtin::served(row));
            }
            Arc::new(registry)
        });
        BUILTIN.clone()
    }

    /// Adds or replaces a resource.
    pub(crate) fn add(&mut self, served: Served) {
        let address = (
            served.group.clone(),
            served.version.clone(),
            served.plural.clone(),
        );
        self.resources.insert(address, Arc::new(served));
    }

    /// Removes the resources that the predicate rejects.
    pub(crate) fn retain(&mut self, keep: impl Fn(&Served) -> bool) {
        self.resources.retain(|_, served| keep(served));
    }

    /// Finds a resource by group, version and plural.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Served>> {
        self.resources.get(&(group.into(), version.into(), plural.into()))
    }

    /// Finds a resource by its kind.
    pub(crate) fn find_kind(&self, group: &str, version: &str, kind: &str) -> Option<&Arc<Served>> {
        self.of_version(group, version)
            .find(|served| &*served.kind == kind)
    }

    /// The resources of a group version, by name.
    pub(crate) fn of_version<'a>(
        &'a self,
        group: &str,
        version: &str,
    ) -> impl Iterator<Item = &'a Arc<Served>> + use<'a> {
        let (group, version): (Arc<str>, Arc<str>) = (group.into(), version.into());
        let from: Address = (group.clone(), version.clone(), "".into());
        self.resources
            .range(from..)
            .take_while(move |((g, v, _), _)| *g == group && *v == version)
            .map(|(_, served)| served)
    }

    /// Every resource.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.resources.values()
    }
}
