//! Stripped fields: server-managed fields that no manager owns.

use std::sync::LazyLock;

use crate::fieldpath::{Path, Set};

/// The stripped fields: names, times and counters of metadata.
pub(super) fn stripped_fields() -> &'static Set {
    static FIELDS: LazyLock<Set> = LazyLock::new(|| {
        let metadata = [
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        ];
        let top = ["apiVersion", "kind", "metadata"].map(|name| Path::fields([name]));
        Set::of(
            top.into_iter()
                .chain(metadata.map(|name| Path::fields(["metadata", name]))),
        )
    });
    &FIELDS
}
