//! Edits of definitions and applications, and what they make of the objects that people wrote.

use crate::edits::Words;
use crate::platform::{component, definition};
use cambium_testing::{Dice, Fault};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

pub(crate) const APPLICATIONS: [&str; 2] = ["shop", "bank"];
const COMPONENTS: [&str; 3] = ["one", "two", "three"];
const TEXTS: [&str; 3] = ["hello", "hi", "bye"];
/// Component definitions with versions, one without, and a trait definition.
const VERSIONED: [&str; 2] = ["a", "b"];
const LEGACY: &str = "old";
const TRAIT: &str = "mark";

type Name = &'static str;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.0, self.1, self.2)
    }
}

/// A reference: which definition, and where in its lineage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reference {
    definition: Name,
    at: At,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Bare,
    Major(u32),
    Minor(u32, u32),
    Exact(Version),
}

impl Reference {
    pub(crate) fn bare(definition: Name) -> Self {
        let at = At::Bare;
        Self { definition, at }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.definition;
        match self.at {
            At::Bare => formatter.write_str(name),
            At::Major(major) => write!(formatter, "{name}@v{major}"),
            At::Minor(major, minor) => write!(formatter, "{name}@{major}.{minor}"),
            At::Exact(version) => write!(formatter, "{name}@{version}"),
        }
    }
}

/// What was published once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    version: Option<Version>,
    text: String,
}

/// A parameter that nobody gives.
const BROKEN: &str = "broken";

impl Document {
    fn released(version: Version) -> Self {
        Self {
            version: Some(version),
            text: version.to_string(),
        }
    }

    pub(crate) fn object(&self, name: &str) -> Value {
        let version = self.version.map(|version| version.to_string());
        let mut object = match name {
            TRAIT => definition("TraitDefinition", name, version.as_deref(), &marking(&self.text)),
            _ => component(name, version.as_deref(), &self.text),
        };
        if self.text == BROKEN {
            let template = &mut object["spec"]["schematic"]["cue"]["template"];
            let text = template.as_str().unwrap_or_default();
            *template =
                json!(text.replace("\"broken\"", "parameter.needed") + "\nparameter: needed: string\n");
        }
        object
    }
}

/// A trait that changes the workload and makes one more object.
fn marking(version: &str) -> String {
    format!(
        r#"
patch: data: marked: "{version}"
outputs: extra: {{
	apiVersion: "v1"
	kind:       "ConfigMap"
	metadata: name: context.name + "-extra"
	data: version: "{version}"
}}
parameter: {{}}
"#
    )
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct App {
    auto_update: Option<bool>,
    components: Vec<Component>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Component {
    name: Name,
    reference: Reference,
    text: Option<Name>,
    mark: Option<Reference>,
}

impl App {
    pub(crate) fn object(&self, name: &str) -> Value {
        self.object_with(name, &|reference| reference.to_owned())
    }

    /// With other references in the place of these.
    pub(crate) fn object_with(&self, name: &str, refer: &dyn Fn(&str) -> String) -> Value {
        let components = self.components.iter().map(|part| part.object(name, refer));
        let components: Vec<Value> = components.collect();
        let mut object = json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": name}, "spec": {"components": components},
        });
        if let Some(value) = self.auto_update {
            object["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": value.to_string()});
        }
        object
    }

    /// The ConfigMaps that it must have.
    pub(crate) fn config_maps(&self, name: &str) -> Vec<String> {
        let mut names = Vec::new();
        for component in &self.components {
            names.push(format!("{name}-{}", component.name));
            if component.mark.is_some() {
                names.push(format!("{name}-{}-extra", component.name));
            }
        }
        names
    }

    /// Whether a reference of it stays where it was when it came: history decides where that is.
    pub(crate) fn is_pinned(&self, asked: &str) -> bool {
        !asked.contains('@') && self.auto_update != Some(true)
    }

    fn references(&self) -> impl Iterator<Item = Reference> {
        self.components
            .iter()
            .flat_map(|part| [Some(part.reference), part.mark])
            .flatten()
    }

    fn part(&mut self, name: Name) -> Option<&mut Component> {
        self.components.iter_mut().find(|part| part.name == name)
    }
}

impl Component {
    fn object(&self, application: &str, refer: &dyn Fn(&str) -> String) -> Value {
        let reference = refer(&self.reference.to_string());
        let mut object = json!({"name": format!("{application}-{}", self.name), "type": reference});
        if let Some(text) = self.text {
            object["properties"] = json!({"text": text});
        }
        if let Some(mark) = self.mark {
            object["traits"] = json!([{"type": refer(&mark.to_string())}]);
        }
        object
    }
}

/// What people wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    /// What was published of each definition since it was created, in this order.
    pub(crate) definitions: BTreeMap<Name, Vec<Document>>,
    pub(crate) applications: BTreeMap<Name, App>,
}

impl Model {
    fn versions(&self, definition: &str) -> Vec<Version> {
        let documents = self.definitions.get(definition).into_iter().flatten();
        let released = documents.filter(|document| document.text != BROKEN);
        released.filter_map(|document| document.version).collect()
    }

    fn is_published(&self, definition: &str, version: Version) -> bool {
        let mut documents = self.definitions.get(definition).into_iter().flatten();
        documents.any(|document| document.version == Some(version))
    }

    /// The version that comes after the highest.
    fn next(&self, definition: &str) -> Version {
        match self.versions(definition).iter().max() {
            Some(highest) => Version(highest.0, highest.1 + 1, 0),
            None => Version(1, 0, 0),
        }
    }

    /// Whether an application may have these references.
    fn is_valid(&self, app: &App) -> bool {
        app.references().all(|reference| {
            let versions = self.versions(reference.definition);
            let is_partial = matches!(reference.at, At::Major(_) | At::Minor(..));
            let leads_somewhere = match reference.at {
                At::Bare => self.definitions.contains_key(reference.definition),
                At::Major(major) => versions.iter().any(|version| version.0 == major),
                At::Minor(major, minor) => versions
                    .iter()
                    .any(|version| (version.0, version.1) == (major, minor)),
                At::Exact(version) => versions.contains(&version),
            };
            leads_somewhere && !(is_partial && app.auto_update == Some(false))
        })
    }

    fn is_named(&self, definition: &str) -> bool {
        let mut references = self.applications.values().flat_map(App::references);
        references.any(|reference| reference.definition == definition)
    }
}

/// What people do, and what goes wrong while they do it.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Publish(Name, Version),
    /// The definition without versions says something else.
    Rewrite(Name),
    /// A definition that nobody names is deleted.
    Retract(Name),
    Create(Name, Name, Reference),
    Delete(Name),
    Add(Name, Name, Reference),
    Remove(Name, Name),
    Rename(Name, Name, Name),
    Rotate(Name),
    Refer(Name, Name, Reference),
    Say(Name, Name, Option<Name>),
    Mark(Name, Name, Option<Reference>),
    AutoUpdate(Name, Option<bool>),
    /// Something wrong in an application, and back.
    Slip(Name, Slip),
    /// A version that is published with another content, and back.
    Tamper(Name),
    /// A version that cannot be rendered, and one that can.
    Break(Name),
    /// Nothing is edited until nothing is left to do.
    Rest,
    Restart,
    Fault(usize, Fault),
}

/// What can be wrong in an application.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slip {
    UnknownDefinition,
    UnknownVersion,
    Range,
    UnknownTrait,
    WrongProperty,
    WrongAnnotation,
    TakenName,
    WrongShape,
}

impl Slip {
    const ALL: [Self; 8] = [
        Self::UnknownDefinition,
        Self::UnknownVersion,
        Self::Range,
        Self::UnknownTrait,
        Self::WrongProperty,
        Self::WrongAnnotation,
        Self::TakenName,
        Self::WrongShape,
    ];

    /// The application with this wrong in its first component.
    pub(crate) fn make(self, mut application: Value) -> Value {
        let component = &mut application["spec"]["components"][0];
        match self {
            Self::UnknownDefinition => component["type"] = json!("nosuch"),
            Self::UnknownVersion => component["type"] = json!("a@9.9.9"),
            Self::Range => component["type"] = json!("a@^1"),
            Self::UnknownTrait => component["traits"] = json!([{"type": "nosuch"}]),
            Self::WrongProperty => component["properties"] = json!({"text": 7}),
            Self::WrongAnnotation => {
                application["metadata"]["annotations"] = json!({"app.oam.dev/autoUpdate": "perhaps"});
            }
            Self::TakenName => component["name"] = json!("foreign"),
            Self::WrongShape => component["type"] = json!(["a"]),
        }
        application
    }
}

impl Words for Edit {
    type Model = Model;

    fn first() -> Vec<Self> {
        vec![
            Self::Publish(VERSIONED[0], Version(1, 0, 0)),
            Self::Publish(TRAIT, Version(1, 0, 0)),
            Self::Rewrite(LEGACY),
        ]
    }

    fn rest() -> Self {
        Self::Rest
    }

    fn any(dice: &mut Dice, model: &Model, faults: bool) -> Self {
        let application = dice.pick(&APPLICATIONS);
        let part = dice.pick(&COMPONENTS);
        let versioned = dice.pick(&[VERSIONED[0], VERSIONED[1], TRAIT]);
        match dice.below(if faults { 28 } else { 26 }) {
            0..4 => Self::Publish(versioned, any_version(dice, model, versioned)),
            4 => Self::Rewrite(LEGACY),
            5 => Self::Retract(versioned),
            6 | 7 => Self::Create(application, part, any_reference(dice, model)),
            8 => Self::Delete(application),
            9 | 10 => Self::Add(application, part, any_reference(dice, model)),
            11 => Self::Remove(application, part),
            12 => Self::Rename(application, part, dice.pick(&COMPONENTS)),
            13 => Self::Rotate(application),
            14 | 15 => Self::Refer(application, part, any_reference(dice, model)),
            16 => {
                let text = dice.pick(&TEXTS);
                Self::Say(application, part, (text != TEXTS[0]).then_some(text))
            }
            17 | 18 => {
                let mark = any_reference_to(dice, model, TRAIT);
                Self::Mark(application, part, (!dice.once_in(3)).then_some(mark))
            }
            19 => Self::AutoUpdate(application, dice.pick(&[None, Some(true), Some(false)])),
            20..23 => Self::Slip(application, dice.pick(&Slip::ALL)),
            23 => Self::Tamper(versioned),
            24 => Self::Break(dice.pick(&VERSIONED)),
            25 => Self::Restart,
            _ => Self::Fault(1 + dice.below(12), dice.pick(&Fault::ALL)),
        }
    }

    fn change(&self, model: &mut Model) -> bool {
        let edit_app = |model: &mut Model, name: Name, edit: &dyn Fn(&mut App) -> Option<()>| {
            let Some(mut app) = model.applications.get(name).cloned() else {
                return false;
            };
            let changed = edit(&mut app).is_some() && model.is_valid(&app);
            let changed = changed && model.applications.get(name) != Some(&app);
            if changed {
                model.applications.insert(name, app);
            }
            changed
        };
        match *self {
            Self::Publish(name, version) => {
                if model.is_published(name, version) {
                    return false;
                }
                let lineage = model.definitions.entry(name).or_default();
                lineage.push(Document::released(version));
                true
            }
            Self::Rewrite(name) => {
                let lineage = model.definitions.entry(name).or_default();
                let text = TEXTS[lineage.len() % 2].to_owned();
                lineage.push(Document { version: None, text });
                true
            }
            Self::Retract(name) => !model.is_named(name) && model.definitions.remove(name).is_some(),
            Self::Create(name, part, reference) => {
                let app = App {
                    auto_update: None,
                    components: vec![Component::new(part, reference)],
                };
                let possible = !model.applications.contains_key(name) && model.is_valid(&app);
                if possible {
                    model.applications.insert(name, app);
                }
                possible
            }
            Self::Delete(name) => model.applications.remove(name).is_some(),
            Self::Add(name, part, reference) => edit_app(model, name, &|app| {
                let is_new = app.part(part).is_none();
                is_new.then(|| app.components.push(Component::new(part, reference)))
            }),
            Self::Remove(name, part) => edit_app(model, name, &|app| {
                app.components.retain(|known| known.name != part);
                (!app.components.is_empty()).then_some(())
            }),
            Self::Rename(name, part, other) => edit_app(model, name, &|app| {
                let is_new = app.part(other).is_none();
                app.part(part).filter(|_| is_new).map(|part| part.name = other)
            }),
            Self::Rotate(name) => edit_app(model, name, &|app| {
                app.components.rotate_left(1);
                Some(())
            }),
            Self::Refer(name, part, reference) => edit_app(model, name, &|app| {
                app.part(part).map(|part| part.reference = reference)
            }),
            Self::Say(name, part, text) => {
                edit_app(model, name, &|app| app.part(part).map(|part| part.text = text))
            }
            Self::Mark(name, part, mark) => {
                edit_app(model, name, &|app| app.part(part).map(|part| part.mark = mark))
            }
            Self::AutoUpdate(name, value) => edit_app(model, name, &|app| {
                app.auto_update = value;
                Some(())
            }),
            Self::Slip(name, _) => model.applications.contains_key(name),
            Self::Tamper(name) => !model.versions(name).is_empty(),
            Self::Break(name) => {
                if model.versions(name).is_empty() {
                    return false;
                }
                let broken = model.next(name);
                let lineage = model.definitions.entry(name).or_default();
                lineage.push(Document {
                    version: Some(broken),
                    text: BROKEN.to_owned(),
                });
                lineage.push(Document::released(Version(broken.0, broken.1, broken.2 + 1)));
                true
            }
            Self::Rest | Self::Restart | Self::Fault(..) => true,
        }
    }
}

impl Component {
    fn new(name: Name, reference: Reference) -> Self {
        Self {
            name,
            reference,
            text: None,
            mark: None,
        }
    }
}

/// The next patch, minor or major after any that there is: often not the highest.
fn any_version(dice: &mut Dice, model: &Model, definition: &str) -> Version {
    let versions = model.versions(definition);
    if versions.is_empty() {
        return Version(1, 0, 0);
    }
    let Version(major, minor, patch) = dice.pick(&versions);
    match dice.below(3) {
        0 => Version(major, minor, patch + 1),
        1 => Version(major, minor + 1, 0),
        _ => Version(major + 1, 0, 0),
    }
}

fn any_reference(dice: &mut Dice, model: &Model) -> Reference {
    let definition = dice.pick(&[VERSIONED[0], VERSIONED[1], VERSIONED[0], LEGACY]);
    any_reference_to(dice, model, definition)
}

fn any_reference_to(dice: &mut Dice, model: &Model, definition: Name) -> Reference {
    let versions = model.versions(definition);
    let at = match (versions.is_empty(), dice.below(4)) {
        (true, _) | (false, 0) => At::Bare,
        (false, form) => {
            let version = dice.pick(&versions);
            match form {
                1 => At::Major(version.0),
                2 => At::Minor(version.0, version.1),
                _ => At::Exact(version),
            }
        }
    };
    Reference { definition, at }
}

impl fmt::Display for Edit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish(name, version) => write!(formatter, "publish {name} {version}"),
            Self::Rewrite(name) => write!(formatter, "rewrite {name}"),
            Self::Retract(name) => write!(formatter, "retract {name}"),
            Self::Create(name, part, reference) => write!(formatter, "create {name}: {part} {reference}"),
            Self::Delete(name) => write!(formatter, "delete {name}"),
            Self::Add(name, part, reference) => write!(formatter, "{name}: add {part} {reference}"),
            Self::Remove(name, part) => write!(formatter, "{name}: remove {part}"),
            Self::Rename(name, part, other) => write!(formatter, "{name}: rename {part} to {other}"),
            Self::Rotate(name) => write!(formatter, "{name}: the first component becomes the last"),
            Self::Refer(name, part, reference) => write!(formatter, "{name}: {part} is {reference}"),
            Self::Say(name, part, text) => write!(formatter, "{name}: {part} says {text:?}"),
            Self::Mark(name, part, Some(mark)) => write!(formatter, "{name}: {part} has trait {mark}"),
            Self::Mark(name, part, None) => write!(formatter, "{name}: {part} has no trait"),
            Self::AutoUpdate(name, value) => write!(formatter, "{name}: autoUpdate {value:?}"),
            Self::Slip(name, slip) => write!(formatter, "{name}: {slip:?}, and back"),
            Self::Tamper(name) => write!(formatter, "tamper with {name}, and back"),
            Self::Break(name) => write!(formatter, "break {name}, and mend it"),
            Self::Rest => formatter.write_str("rest"),
            Self::Restart => formatter.write_str("restart"),
            Self::Fault(call, fault) => write!(formatter, "call {call} from here: {fault}"),
        }
    }
}
