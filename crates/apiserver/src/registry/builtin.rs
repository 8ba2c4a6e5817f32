//! Built-in resources in the registry.

use cambium_builtin::{Resource, Scope, Subresource};

use crate::object::api_version;

use super::{Origin, ScalePaths, Served};

/// A row of the built-in table as a served resource.
pub(crate) fn served(row: &'static Resource) -> Served {
    let (stored_group, stored_version) = row.stored_as.unwrap_or((row.group, row.version));
    let scale = row.subresources.iter().find_map(|subresource| match subresource {
        Subresource::Scale {
            spec_replicas,
            status_replicas,
            selector,
        } => Some(ScalePaths {
            spec_replicas: plain(spec_replicas).into(),
            status_replicas: plain(status_replicas).into(),
            selector: plain(selector).into(),
        }),
        _ => None,
    });
    Served {
        group: row.group.into(),
        version: row.version.into(),
        kind: row.kind.into(),
        list_kind: format!("{}List", row.kind).into(),
        plural: row.plural.into(),
        singular: row.singular.into(),
        short_names: row.short_names.iter().map(ToString::to_string).collect(),
        categories: row.categories.iter().map(ToString::to_string).collect(),
        namespaced: row.scope == Scope::Namespaced,
        api_version: api_version(row.group, row.version).into(),
        bucket: format!("{stored_group}/{}", row.plural).into(),
        stored_as: api_version(stored_group, stored_version).into(),
        status: row.subresources.contains(&Subresource::Status),
        scale,
        origin: Origin::Builtin(row),
    }
}

fn plain(path: &'static str) -> &'static str {
    path.strip_prefix('.').unwrap_or(path)
}
