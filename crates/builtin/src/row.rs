//! Const builders for rows of the resource table.

use cambium_schema::Schema;

use crate::columns;
use crate::printer::{self, Cells};
use crate::resource::{Column, Resource, Scope, Subresource, Verbs};
use crate::strategy::{
    AdmissionPlugin, Dependents, DynamicAdmission, Generation, NameRule, OnWrite, Strategy, Termination,
};

pub(crate) const API_EXTENSIONS: &[&str] = &["api-extensions"];

/// A stored, namespaced resource at version `v1`, with the default printer columns.
pub(crate) const fn row(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    schema: &'static Schema,
) -> Resource {
    Resource {
        group,
        version: "v1",
        kind,
        plural,
        singular,
        short_names: &[],
        categories: &[],
        scope: Scope::Namespaced,
        verbs: Verbs::Stored,
        schema,
        subresources: &[],
        columns: columns::NAME_CREATED_AT,
        cells: printer::name_created_at,
        selectable_fields: &[],
        stored_as: None,
        strategy: Strategy::BUILTIN,
    }
}

pub(crate) const fn core(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    schema: &'static Schema,
) -> Resource {
    row("", kind, plural, singular, schema)
}

pub(crate) const fn rbac(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    schema: &'static Schema,
) -> Resource {
    row("rbac.authorization.k8s.io", kind, plural, singular, schema)
        .names(NameRule::PathSegment)
        .create_on_update()
        .on_write(OnWrite::CheckGrants)
}

pub(crate) const fn device(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    schema: &'static Schema,
) -> Resource {
    row("resource.k8s.io", kind, plural, singular, schema)
}

/// An admission policy kind, to which policies and webhooks do not apply.
pub(crate) const fn admission_policy(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    schema: &'static Schema,
) -> Resource {
    admission_registration(kind, plural, singular, schema).dynamic_admission(DynamicAdmission::Exempt)
}

/// A webhook configuration, to which webhooks do not apply.
pub(crate) const fn webhook_configuration(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    schema: &'static Schema,
) -> Resource {
    admission_registration(kind, plural, singular, schema).dynamic_admission(DynamicAdmission::Policies)
}

const fn admission_registration(
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    schema: &'static Schema,
) -> Resource {
    row("admissionregistration.k8s.io", kind, plural, singular, schema)
        .cluster_scoped()
        .categories(API_EXTENSIONS)
        .generation(Generation::Spec)
        .conditional_update()
        .on_write(OnWrite::CompileExpressions)
}

/// A review: answered at once and never stored.
pub(crate) const fn review(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    singular: &'static str,
    schema: &'static Schema,
) -> Resource {
    row(group, kind, plural, singular, schema)
        .verbs(Verbs::CreateOnly)
        .dynamic_admission(DynamicAdmission::Exempt)
}

pub(crate) const fn other(
    name: &'static str,
    kind: (&'static str, &'static str, &'static str),
    verbs: &'static [&'static str],
) -> Subresource {
    Subresource::Other { name, kind, verbs }
}

impl Resource {
    pub(crate) const fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    pub(crate) const fn cluster_scoped(mut self) -> Self {
        self.scope = Scope::Cluster;
        self
    }

    pub(crate) const fn verbs(mut self, verbs: Verbs) -> Self {
        self.verbs = verbs;
        self
    }

    pub(crate) const fn short_names(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    pub(crate) const fn categories(mut self, categories: &'static [&'static str]) -> Self {
        self.categories = categories;
        self
    }

    pub(crate) const fn subresources(mut self, subresources: &'static [Subresource]) -> Self {
        self.subresources = subresources;
        self
    }

    pub(crate) const fn selects(mut self, fields: &'static [&'static str]) -> Self {
        self.selectable_fields = fields;
        self
    }

    pub(crate) const fn stored_as(mut self, group: &'static str, version: &'static str) -> Self {
        self.stored_as = Some((group, version));
        self
    }

    pub(crate) const fn prints(mut self, columns: &'static [Column], cells: Cells) -> Self {
        self.columns = columns;
        self.cells = cells;
        self
    }

    pub(crate) const fn names(mut self, rule: NameRule) -> Self {
        self.strategy.names = rule;
        self
    }

    pub(crate) const fn generation(mut self, generation: Generation) -> Self {
        self.strategy.generation = generation;
        self
    }

    pub(crate) const fn create_on_update(mut self) -> Self {
        self.strategy.allow_create_on_update = true;
        self
    }

    /// A PUT must set `resourceVersion`.
    pub(crate) const fn conditional_update(mut self) -> Self {
        self.strategy.allow_unconditional_update = false;
        self
    }

    pub(crate) const fn return_deleted_object(mut self) -> Self {
        self.strategy.return_deleted_object = true;
        self
    }

    pub(crate) const fn dependents(mut self, dependents: Dependents) -> Self {
        self.strategy.dependents = dependents;
        self
    }

    pub(crate) const fn termination(mut self, termination: Termination) -> Self {
        self.strategy.termination = termination;
        self
    }

    pub(crate) const fn on_write(mut self, on_write: OnWrite) -> Self {
        self.strategy.on_write = on_write;
        self
    }

    pub(crate) const fn admission(mut self, plugins: &'static [AdmissionPlugin]) -> Self {
        self.strategy.admission = plugins;
        self
    }

    pub(crate) const fn dynamic_admission(mut self, rules: DynamicAdmission) -> Self {
        self.strategy.dynamic_admission = rules;
        self
    }
}
