//! Removal of applied fields from containers.
//!
//! A map or list that only the applier owns is removed with its fields. One that another manager co-owns stays, empty:
//! that is `null`, which the schema must allow.

use anyhow::{Result, ensure};
use cambium_testing::{Answer, Raw, TestCluster, eventually};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

struct Links {
    _cluster: TestCluster,
    raw: Raw,
    group: String,
    namespace: String,
}

impl Links {
    async fn start(test: &str) -> Result<Self> {
        let cluster = TestCluster::start().await?;
        let links = Self {
            raw: cluster.raw(),
            group: format!("{}.example.com", cluster.unique(test)),
            namespace: cluster.namespace(test).await?,
            _cluster: cluster,
        };
        links.serve().await?;
        Ok(links)
    }

    async fn serve(&self) -> Result<()> {
        let reference = json!({"type": "object", "properties": {"name": {"type": "string"}}});
        let with = |field: &str, value: Value| {
            let mut schema = reference.clone();
            schema[field] = value;
            schema
        };
        let spec = json!({"type": "object", "properties": {
            "text": {"type": "string"},
            "plain": reference,
            "nullable": with("nullable", json!(true)),
            "default": with("default", json!({"name": "given"})),
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "atomic": with("x-kubernetes-map-type", json!("atomic")),
            "outer": {"type": "object", "properties": {"inner": reference}},
            "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": with("required", json!(["name"]))},
        }});
        let group = &self.group;
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("links.{group}")},
            "spec": {
                "group": group, "scope": "Namespaced", "names": {"plural": "links", "singular": "link", "kind": "Link"},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}],
            },
        });
        let made = self.raw.post(CRDS, &crd).await?;
        ensure!(made.code == 201, "{}", made.body);
        let path = format!("/apis/{group}/v1/links");
        eventually("links are served", || async {
            Ok(self.raw.get(&path).await?.code == 200)
        })
        .await
    }

    fn path(&self, name: &str) -> String {
        format!(
            "/apis/{}/v1/namespaces/{}/links/{name}",
            self.group, self.namespace
        )
    }

    async fn apply(&self, name: &str, spec: &Value) -> Result<Answer> {
        let path = format!("{}?fieldManager=applier&force=true", self.path(name));
        let object = json!({"apiVersion": format!("{}/v1", self.group), "kind": "Link",
            "metadata": {"name": name}, "spec": spec});
        self.raw.patch("apply", &path, &object).await
    }

    async fn merge(&self, name: &str, spec: &Value) -> Result<Answer> {
        let path = format!("{}?fieldManager=writer", self.path(name));
        self.raw.patch("merge", &path, &json!({"spec": spec})).await
    }
}

#[tokio::test]
async fn a_container_that_nobody_else_owns_goes_with_its_fields() -> Result<()> {
    let links = Links::start("alone").await?;
    let name = json!({"name": "x"});
    for (field, value) in [
        ("plain", name.clone()),
        ("nullable", name.clone()),
        ("free", name.clone()),
        ("atomic", name.clone()),
        ("outer", json!({"inner": name})),
        ("list", json!([name])),
        ("text", json!("x")),
    ] {
        let mut spec = json!({"default": {"name": "mine"}});
        let bare = spec.clone();
        spec[field] = value;
        let applied = links.apply(field, &spec).await?;
        assert_eq!((applied.code, &applied.body["spec"]), (201, &spec), "{field}");
        let dropped = links.apply(field, &bare).await?;
        assert_eq!((dropped.code, &dropped.body["spec"]), (200, &bare), "{field}");
    }
    Ok(())
}

#[tokio::test]
async fn a_container_that_somebody_else_owns_too_becomes_null_which_the_schema_must_allow() -> Result<()> {
    let links = Links::start("shared").await?;
    let not_an_object = |path: &str| {
        format!("{path}: Invalid value: \"null\": {path} in body must be of type object: \"null\"")
    };
    let (first, second) = (json!({"name": "a"}), json!({"name": "b"}));
    // The field, what a writer puts there, what the applier replaces it with, and what is there when it has dropped that.
    let rows = [
        ("plain", &first, &second, Err(not_an_object("spec.plain"))),
        ("free", &first, &second, Err(not_an_object("spec.free"))),
        ("nullable", &first, &second, Ok(json!({"nullable": null}))),
        (
            "default",
            &first,
            &second,
            Ok(json!({"default": {"name": "given"}})),
        ),
        ("atomic", &first, &second, Ok(json!({}))),
        (
            "outer",
            &json!({"inner": first}),
            &json!({"inner": second}),
            Err(not_an_object("spec.outer.inner")),
        ),
        (
            "list",
            &json!([first]),
            &json!([second]),
            Ok(json!({"list": [first]})),
        ),
    ];
    for (field, writes, applies, expected) in rows {
        let mut bare = json!({"text": "kept"});
        if field != "default" {
            bare["default"] = json!({"name": "mine"});
        }
        links.apply(field, &bare).await?;
        assert_eq!(
            links.merge(field, &json!({field: writes})).await?.code,
            200,
            "{field}"
        );
        let mut both = bare.clone();
        both[field] = applies.clone();
        assert_eq!(links.apply(field, &both).await?.code, 200, "{field}");
        let dropped = links.apply(field, &bare).await?;
        match expected {
            Ok(left) => {
                let mut whole = bare;
                for (name, value) in left.as_object().into_iter().flatten() {
                    whole[name] = value.clone();
                }
                assert_eq!((dropped.code, &dropped.body["spec"]), (200, &whole), "{field}");
            }
            Err(why) => {
                assert_eq!((dropped.code, dropped.reason()), (422, "Invalid"), "{field}");
                assert!(dropped.message().ends_with(&why), "{}", dropped.message());
                let stored = links.raw.get(&links.path(field)).await?.body;
                assert_eq!(stored["spec"][field], *applies, "what was there stays");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_null_that_is_applied_is_refused_and_one_that_is_written_is_left_out() -> Result<()> {
    let links = Links::start("null").await?;
    let spec = json!({"plain": null, "text": "kept"});
    let applied = links.apply("a", &spec).await?;
    assert_eq!((applied.code, applied.reason()), (422, "Invalid"));
    let object = json!({"apiVersion": format!("{}/v1", links.group), "kind": "Link",
        "metadata": {"name": "b"}, "spec": spec});
    let path = links.path("");
    let made = links.raw.post(path.trim_end_matches('/'), &object).await?;
    assert_eq!(made.code, 201, "{}", made.body);
    assert_eq!(
        made.body["spec"],
        json!({"default": {"name": "given"}, "text": "kept"})
    );
    Ok(())
}
