//! `cambium cue` and `cambium render`, as a person sees them.
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the program in the root of the repository with a text on its standard input; everything that it says.
fn cambium(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cambium"))
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    format!(
        "$ cambium {}\n{}{}exit {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status.code().unwrap()
    )
}

const GREETING: &str = r#"
name: *"world" | string
count: 2
text: [for i in [1, 2] {"\(i). hello \(name)"}]
nested: {"a-b": 1.50, c: null}
"#;

#[test]
fn a_file_is_evaluated() {
    insta::assert_snapshot!(cambium(&["cue", "eval", "-"], GREETING));
}

#[test]
fn an_expression_is_evaluated_and_printed_as_yaml() {
    insta::assert_snapshot!(cambium(
        &["cue", "eval", "-", "-e", "{t: text, n: nested}", "-o", "yaml"],
        GREETING
    ));
}

#[test]
fn every_problem_is_shown_under_a_caret() {
    let text =
        "a: 1 & 2\nb: {\n\tc: \"x\" + 1\n\td: string\n}\n#Closed: {x: int}\ne: #Closed & {x: 1, y: 2}\n";
    insta::assert_snapshot!(cambium(&["cue", "eval", "-"], text));
}

#[test]
fn text_that_is_not_cue_is_shown_under_a_caret() {
    insta::assert_snapshot!(cambium(
        &["cue", "eval", "-"],
        "a: [1, 2\nb: {c: }\nd: missing.field\n"
    ));
}

#[test]
fn a_schema_is_printed_with_what_it_cannot_say() {
    let text = r#"
import "strings"

#Port: {
	// +usage=The number
	number: int & >0 & <=65535
	name?: string & strings.MaxRunes(15)
}
parameter: {
	// +usage=The image
	// +short=i
	image: string
	ports: [...#Port]
	mode:  *"fast" | "slow"
	labels?: [string]: string
	size?: =~"^[0-9]+Mi$"
	limit?: int | string
	source: {git: string} | {archive: string}
}
"#;
    insta::assert_snapshot!(cambium(&["cue", "schema", "-", "-o", "yaml"], text));
}

#[test]
fn an_application_is_rendered() {
    insta::assert_snapshot!(cambium(
        &["render", "-f", "examples/shop.yaml", "-d", "examples/definitions"],
        ""
    ));
}

#[test]
fn an_application_that_cannot_be_rendered_says_why_for_each_component() {
    let application = "
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: shop}
spec:
  components:
    - name: web
      type: service
      properties: {image: x, replicas: 300}
    - name: log
      type: service
      properties: {image: x}
      traits: [{type: sidecar-log, properties: {image: 7}}]
    - name: other
      type: missing
";
    insta::assert_snapshot!(cambium(
        &["render", "-f", "-", "-d", "examples/definitions"],
        application
    ));
}

#[test]
fn files_that_are_not_there_are_named() {
    insta::assert_snapshot!(cambium(
        &["render", "-f", "missing.yaml", "-d", "examples/definitions"],
        ""
    ));
}

const TWO_VERSIONS: &str = r#"
apiVersion: core.oam.dev/v2beta1
kind: ComponentDefinition
metadata: {name: vault}
spec:
  versions:
  - version: 1.2.3
    workload: {definition: {apiVersion: v1, kind: Secret}}
    schematic: {cue: {template: "output: {apiVersion: \"v1\", kind: \"Secret\", stringData: version: \"1.2.3\"}\nparameter: {}\n"}}
  - version: 1.3.0
    workload: {definition: {apiVersion: v1, kind: Pod}}
    schematic: {cue: {template: "output: {apiVersion: \"v1\", kind: \"Pod\", spec: volumes: [{name: \"a\", secret: defaultMode: parameter.mode}]}\nparameter: mode: int\n"}}
"#;

/// Renders an application with the definition that has two versions.
fn rendered(spec: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("vault.yaml"), TWO_VERSIONS).unwrap();
    let definitions = directory.path().to_str().unwrap().to_owned();
    let application = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop}}\nspec:\n{spec}"
    );
    let said = cambium(&["render", "-f", "-", "-d", &definitions], &application);
    said.replace(&definitions, "<definitions>")
}

#[test]
fn versions_are_resolved_among_the_definitions_that_are_given() {
    insta::assert_snapshot!(rendered("  components: [{name: a, type: vault@1.2}]\n"));
    insta::assert_snapshot!(rendered("  components: [{name: a, type: vault@2}]\n"));
}

#[test]
fn numbers_are_read_as_kubectl_reads_them() {
    let said = rendered("  components:\n  - name: a\n    type: vault@1.3.0\n    properties: {mode: 0644}\n");
    assert!(said.contains("defaultMode: 420\n"), "{said}");
}

#[test]
fn what_a_cluster_would_refuse_is_refused_with_its_place() {
    insta::assert_snapshot!(rendered(
        "  policy: []\n  components:\n  - name: a\n    type: vault@1.2\n    replicas: 3\n    trait: []\n  - name: b\n    type: 7\n"
    ));
    insta::assert_snapshot!(rendered(
        "  components:\n  - {name: a, type: vault@1.2}\n  - {name: a, type: vault@1.2}\n"
    ));
}

#[test]
fn what_a_cluster_would_warn_of_is_told() {
    insta::assert_snapshot!(rendered(
        "  components:\n  - name: a\n    type: vault@1.3.0\n    properties: {mode: 1, defaultMod: 0644}\n"
    ));
}

#[test]
fn what_a_cluster_would_not_apply_is_not_rendered() {
    insta::assert_snapshot!(rendered(
        "  components: [{name: a, type: vault@1.2}]\n  workflow: {steps: []}\n"
    ));
    insta::assert_snapshot!(rendered(
        "  components: [{name: a, type: vault@1.2}]\n  policies: [{name: b, type: topology}]\n"
    ));
}

/// A definition of a ConfigMap at v1beta1, with its version and the rest of its template.
fn definition(name: &str, version: &str, template: &str) -> String {
    let template = serde_json::Value::from(template);
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: ComponentDefinition\nmetadata: {{name: {name}}}\nspec:\n  version: {version}\n  \
         workload: {{definition: {{apiVersion: v1, kind: ConfigMap}}}}\n  schematic: {{cue: {{template: {template}}}}}\n"
    )
}

const APPLICATION: &str = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop}\nspec: {components: [{name: a, type: d@1}]}\n";

/// Renders an application with definitions in files.
fn rendered_with(application: &str, files: &[(&str, String)]) -> String {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let definitions = directory.path().to_str().unwrap().to_owned();
    let said = cambium(&["render", "-f", "-", "-d", &definitions], application);
    said.replace(&definitions, "<definitions>")
}

const OUTPUT: &str = "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}\n";

#[test]
fn one_version_with_two_contents_is_refused() {
    let other = format!("{OUTPUT}parameter: {{}}\n");
    let said = rendered_with(
        APPLICATION,
        &[
            ("a.yaml", definition("d", "1.0.0", OUTPUT)),
            ("b.yaml", definition("d", "1.0.0", &other)),
        ],
    );
    insta::assert_snapshot!(said);
    // The same once more is what a cluster has already.
    let said = rendered_with(
        APPLICATION,
        &[
            ("a.yaml", definition("d", "1.0.0", OUTPUT)),
            ("b.yaml", definition("d", "1.0.0", OUTPUT)),
            ("c.yaml", definition("d", "1.1.0", &other)),
        ],
    );
    assert!(said.ends_with("exit 0"), "{said}");
}

#[test]
fn names_that_no_object_may_have_are_refused() {
    let application = APPLICATION.replace(
        "name: shop}",
        "name: Bad_Name, namespace: a.b, labels: {x: \"a b\"}}",
    );
    insta::assert_snapshot!(rendered_with(
        &application,
        &[("a.yaml", definition("D_1", "1.0.0", OUTPUT))]
    ));
    let nameless = APPLICATION.replace("name: shop", "labels: {a: b}");
    let said = rendered_with(&nameless, &[("a.yaml", definition("d", "1.0.0", OUTPUT))]);
    assert!(
        said.contains("metadata.name: Required value: name or generateName is required"),
        "{said}"
    );
}

#[test]
fn what_a_cluster_would_not_publish_is_told_with_its_place() {
    let with_status = definition("e", "1.0.0", OUTPUT) + "  status: {healthPolicy: \"isHealthy: true\"}\n";
    let helm = "apiVersion: core.oam.dev/v1beta1\nkind: ComponentDefinition\nmetadata: {name: f}\nspec: {version: 1.0.0, workload: {type: a}, \
                schematic: {helm: {release: {}}}}\n";
    let policy = "apiVersion: core.oam.dev/v1beta1\nkind: PolicyDefinition\nmetadata: {name: g}\nspec:\n  schematic: {cue: {template: \"parameter: {\"}}\n";
    let huge = format!("{OUTPUT}_t: 1000000000*\"abc\"\noutput: data: a: _t\n");
    insta::assert_snapshot!(rendered_with(
        APPLICATION,
        &[
            (
                "d.yaml",
                definition(
                    "d",
                    "1.0.0",
                    &format!("{OUTPUT}output: data: a: parameter.imag\nparameter: image: string\n")
                )
            ),
            ("e.yaml", with_status),
            ("f.yaml", helm.to_owned()),
            ("g.yaml", policy.to_owned()),
            ("h.yaml", definition("h", "v1", OUTPUT)),
            ("i.yaml", definition("i", "1.0.0", "output: {{")),
            ("j.yaml", definition("j", "1.0.0", &huge)),
        ],
    ));
}

#[test]
fn a_field_of_a_template_that_nobody_reads_is_warned_of() {
    let template = format!("{OUTPUT}outpust: {{}}\nparameter: {{}}\n");
    let said = rendered_with(APPLICATION, &[("d.yaml", definition("d", "1.0.0", &template))]);
    let warning = "Warning: ComponentDefinition \"d\": version \"1.0.0\": nothing reads the field \"outpust\"; did you mean outputs? (d:2:1)\n";
    assert!(said.contains(warning) && said.ends_with("exit 0"), "{said}");
}

#[test]
fn what_cannot_be_checked_says_why() {
    let released = "examples/evolution/1-databases.yaml";
    let twice = format!(
        "{crd}---\n{crd}",
        crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\n"
    );
    let not_structural = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.org}\n\
        spec: {group: example.org, names: {kind: Thing, plural: things}, versions: [{name: v1, schema: {openAPIV3Schema: {properties: {spec: {}}}}}]}\n";
    insta::assert_snapshot!(
        [
            cambium(&["check", "-", "-"], ""),
            cambium(&["check", released, "examples/shop.yaml"], ""),
            cambium(&["check", released, "-"], &twice),
            cambium(&["check", released, "-"], not_structural),
            cambium(&["check", released, "-"], "kind: [\n"),
            cambium(&["check", released, "no-such-file"], ""),
            cambium(&["explain", "R99"], ""),
        ]
        .join("\n\n")
    );
}
