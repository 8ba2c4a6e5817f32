//! A cluster on paper: plans are carried out on lists of objects.

use cambium_api::names::{annotation, finalizer};
use cambium_definitions::definition::{Observed, Plan, Templates, Uses, plan, scheme_of};
use cambium_definitions::{Artifact, Catalogue, Stored};
use cambium_lineage::Retention;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One definition and its revisions.
pub(crate) struct World {
    pub(crate) artifact: Artifact,
    pub(crate) definition: Value,
    pub(crate) revisions: BTreeMap<String, Value>,
    pub(crate) uses: Uses,
    pub(crate) retention: Retention,
    pub(crate) now: Timestamp,
    made: usize,
}

/// A component definition whose ConfigMap says something.
pub(crate) fn component(name: &str, version: Option<&str>, says: &str) -> Value {
    let template = format!(
        "output: {{apiVersion: \"v1\", kind: \"ConfigMap\", data: version: \"{says}\"}}\nparameter: {{text?: string}}\n"
    );
    let mut definition = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
        "metadata": {"name": name, "namespace": "team", "uid": name, "generation": 1},
        "spec": {"schematic": {"cue": {"template": template}}},
    });
    if let Some(version) = version {
        definition["spec"]["version"] = json!(version);
    }
    definition
}

/// An application, by the references of its components `c0`, `c1`, …
pub(crate) fn application(name: &str, annotations: Value, references: &[&str]) -> Value {
    let components: Vec<Value> = references
        .iter()
        .enumerate()
        .map(|(index, reference)| json!({"name": format!("c{index}"), "type": reference}))
        .collect();
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": name, "namespace": "team", "uid": name, "generation": 1, "annotations": annotations},
        "spec": {"components": components},
    })
}

impl World {
    pub(crate) fn new(definition: &Value) -> Self {
        Self {
            artifact: Artifact::of(definition).unwrap(),
            definition: definition.clone(),
            revisions: BTreeMap::new(),
            uses: Uses::default(),
            retention: Retention {
                newest: 20,
                grace: SignedDuration::ZERO,
                delay: SignedDuration::ZERO,
            },
            now: Timestamp::from_second(1_000_000).unwrap(),
            made: 0,
        }
    }

    /// With these versions published, one after the other, each saying its own number.
    pub(crate) fn published(name: &str, versions: &[&str]) -> Self {
        let mut world = Self::new(&component(
            name,
            versions.first().copied(),
            versions.first().unwrap_or(&""),
        ));
        for version in versions {
            world.apply(&component(name, Some(version), version));
            world.settle();
        }
        world
    }

    /// Changes the spec of the definition.
    pub(crate) fn apply(&mut self, definition: &Value) {
        self.definition["spec"] = definition["spec"].clone();
        let generation = self.definition["metadata"]["generation"].as_i64().unwrap_or(0);
        self.definition["metadata"]["generation"] = json!(generation + 1);
    }

    pub(crate) fn stored(&self) -> Vec<Arc<Stored>> {
        let read = |object| Arc::new(Stored::read(object).unwrap());
        self.revisions.values().map(read).collect()
    }

    pub(crate) fn plan(&self) -> Plan {
        plan(
            &Observed {
                artifact: &self.artifact,
                definition: Some(&self.definition),
                stored: &self.stored(),
                uses: &self.uses,
                taken: &|_| false,
                retention: self.retention,
                templates: Templates::Unchecked,
            },
            self.now,
        )
    }

    /// Does what a plan says, as a controller and an API server would.
    pub(crate) fn carry_out(&mut self, plan: &Plan) {
        for object in &plan.publish {
            let mut object = object.clone();
            self.made += 1;
            object["metadata"]["uid"] = json!(format!("uid-{}", self.made));
            object["metadata"]["creationTimestamp"] = json!(self.now);
            let name = object["metadata"]["name"].as_str().unwrap().to_owned();
            self.revisions.insert(name, object);
        }
        for name in &plan.hold {
            let finalizers = &mut self.revision(name.as_str())["metadata"]["finalizers"];
            *finalizers = json!([finalizer::IN_USE]);
        }
        for one in &plan.renumber {
            self.revision(one.name.as_str())["spec"]["revision"] = json!(one.number);
        }
        for name in &plan.mark {
            let now = self.now.to_string();
            self.revision(name.as_str())["metadata"]["annotations"][annotation::UNUSED_SINCE] = json!(now);
        }
        for name in &plan.unmark {
            let annotations = &mut self.revision(name.as_str())["metadata"]["annotations"];
            annotations
                .as_object_mut()
                .unwrap()
                .remove(annotation::UNUSED_SINCE);
        }
        for (name, uid) in &plan.delete {
            let now = self.now.to_string();
            let metadata = &mut self.revision(name.as_str())["metadata"];
            assert_eq!(metadata["uid"], uid.as_str());
            metadata["deletionTimestamp"] = json!(now);
        }
        for name in &plan.release {
            self.revisions.remove(name.as_str());
        }
        for (name, status) in &plan.uses {
            if let Some(object) = self.revisions.get_mut(name.as_str()) {
                object["status"] = json!(status);
            }
        }
        if let Some(status) = &plan.status {
            self.definition["status"] = json!(status);
        }
    }

    /// Carries plans out until there is none.
    pub(crate) fn settle(&mut self) {
        for _ in 0..6 {
            let plan = self.plan();
            if is_nothing(&plan) {
                return;
            }
            self.carry_out(&plan);
        }
        assert!(
            is_nothing(&self.plan()),
            "it does not come to rest: {:#?}",
            self.plan()
        );
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.revisions.keys().map(String::as_str).collect()
    }

    pub(crate) fn put_into(&self, catalogue: &mut Catalogue) {
        let issued = self.definition["status"]["highWaterMark"].as_u64().unwrap_or(0);
        catalogue.declare(&self.artifact, scheme_of(&self.definition), issued);
        for stored in self.stored() {
            catalogue.put(stored);
        }
    }

    pub(crate) fn catalogue(&self) -> Catalogue {
        let mut catalogue = Catalogue::default();
        self.put_into(&mut catalogue);
        catalogue
    }

    fn revision(&mut self, name: &str) -> &mut Value {
        self.revisions.get_mut(name).unwrap()
    }
}

/// Whether a plan asks for nothing.
pub(crate) fn is_nothing(plan: &Plan) -> bool {
    let quiet = Plan {
        again_at: plan.again_at,
        kept: plan.kept.clone(),
        ..Plan::default()
    };
    *plan == quiet
}
