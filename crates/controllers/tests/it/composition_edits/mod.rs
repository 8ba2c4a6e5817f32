//! Edits of compositions, composite resources and claims, and what they make of the objects that people wrote.

use crate::edits::Words;
use cambium_testing::{Dice, Fault};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

const COMPOSITIONS: [&str; 2] = ["main", "spare"];
const RESOURCES: [&str; 4] = ["one", "two", "three", "four"];
const TEXTS: [&str; 3] = ["hello", "hi", "bye"];
const CHANNELS: [&str; 2] = ["stable", "beta"];
/// Two composite resources and two claims.
const THINGS: [&str; 4] = ["left", "right", "first", "second"];

type Name = &'static str;

/// Whether it is claimed, and not made by hand.
pub(crate) fn is_claim(thing: &str) -> bool {
    THINGS[2..].contains(&thing)
}

/// Where objects are: names of what is in no namespace, and groups, end with it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a>(pub(crate) &'a str);

impl Place<'_> {
    pub(crate) fn group(self) -> String {
        format!("{}.example.org", self.0)
    }

    pub(crate) fn composition(self, name: &str) -> String {
        format!("{name}-{}", self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Resource {
    name: Name,
    says: Name,
    /// Whether the text of the composite resource is copied into it.
    copies: bool,
}

impl Resource {
    fn object(&self, place: Place<'_>) -> Value {
        let mut patches = Vec::new();
        // Half of them get a name of their own, the others one that is made up.
        if RESOURCES[..2].contains(&self.name) {
            patches.push(json!({"fromFieldPath": "metadata.name", "toFieldPath": "metadata.name",
                "transforms": [{"type": "string", "string": {"type": "Format", "fmt": format!("%s-{}", self.name)}}]}));
        }
        if self.copies {
            patches.push(json!({"fromFieldPath": "spec.text", "toFieldPath": "data.text"}));
        }
        json!({
            "name": self.name, "readinessChecks": [{"type": "None"}], "patches": patches,
            "base": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": place.0}, "data": {"says": self.says}},
        })
    }
}

/// What a composition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    resources: Vec<Resource>,
    channel: Option<Name>,
}

impl Document {
    pub(crate) fn object(&self, place: Place<'_>, name: &str) -> Value {
        let resources: Vec<Value> = self.resources.iter().map(|one| one.object(place)).collect();
        let mut object = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
            "metadata": {"name": place.composition(name)},
            "spec": {
                "compositeTypeRef": {"apiVersion": format!("{}/v1", place.group()), "kind": "XThing"},
                "mode": "Resources", "resources": resources,
            },
        });
        if let Some(channel) = self.channel {
            object["metadata"]["labels"] = json!({"channel": channel});
        }
        object
    }

    fn resource(&mut self, name: Name) -> Option<&mut Resource> {
        self.resources.iter_mut().find(|one| one.name == name)
    }
}

/// Which revision a composite resource takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    Unsaid,
    Automatic,
    Manual,
    Channel(Name),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Thing {
    pub(crate) composition: Name,
    text: Option<Name>,
    pub(crate) follow: Follow,
}

impl Thing {
    /// With a revision that it names itself.
    pub(crate) fn object(&self, place: Place<'_>, name: &str, revision: Option<&str>) -> Value {
        let mut spec = json!({"compositionRef": {"name": place.composition(self.composition)}});
        if let Some(text) = self.text {
            spec["text"] = json!(text);
        }
        match self.follow {
            Follow::Unsaid => {}
            Follow::Automatic => spec["compositionUpdatePolicy"] = json!("Automatic"),
            Follow::Manual => spec["compositionUpdatePolicy"] = json!("Manual"),
            Follow::Channel(channel) => {
                spec["compositionRevisionSelector"] = json!({"matchLabels": {"channel": channel}});
            }
        }
        if let Some(revision) = revision {
            spec["compositionRevisionRef"] = json!({"name": revision});
        }
        let kind = if is_claim(name) { "Thing" } else { "XThing" };
        let api_version = format!("{}/v1", place.group());
        json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
    }
}

/// What people wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct Model {
    /// What each composition said since it was created, in this order; what it says again is the newest.
    pub(crate) compositions: BTreeMap<Name, Vec<Document>>,
    pub(crate) things: BTreeMap<Name, Thing>,
}

impl Model {
    /// Changes what a composition says.
    fn edit(&mut self, name: Name, edit: impl FnOnce(&mut Document) -> Option<()>) -> bool {
        let Some(current) = self.compositions.get(name).and_then(|lineage| lineage.last()) else {
            return false;
        };
        let mut after = current.clone();
        if edit(&mut after).is_none() || after == *current {
            return false;
        }
        let mut model = self.clone();
        let lineage = model.compositions.entry(name).or_default();
        // Labels are not content, and what was said before is said again.
        lineage.retain(|document| document.resources != after.resources);
        lineage.push(after);
        let valid = model.is_valid();
        if valid {
            *self = model;
        }
        valid
    }

    /// Changes one composite resource or claim.
    fn edit_thing(&mut self, name: Name, edit: impl FnOnce(&mut Thing)) -> bool {
        let mut model = self.clone();
        let Some(thing) = model.things.get_mut(name) else {
            return false;
        };
        edit(thing);
        let valid = model.things.get(name) != self.things.get(name) && model.is_valid();
        if valid {
            *self = model;
        }
        valid
    }

    /// Whether everybody finds what they ask for.
    fn is_valid(&self) -> bool {
        self.things.values().all(|thing| {
            let lineage = self.compositions.get(thing.composition);
            match thing.follow {
                Follow::Channel(channel) => lineage
                    .into_iter()
                    .flatten()
                    .any(|document| document.channel == Some(channel)),
                _ => lineage.is_some(),
            }
        })
    }
}

/// What people do, and what goes wrong while they do it.
#[derive(Debug, Clone)]
pub(crate) enum Edit {
    Compose(Name),
    /// A composition that nobody uses is deleted.
    Retract(Name),
    AddResource(Name, Name),
    RemoveResource(Name, Name),
    RenameResource(Name, Name, Name),
    Say(Name, Name, Name),
    Copy(Name, Name, bool),
    Channel(Name, Option<Name>),
    /// It says again what it said before.
    Revert(Name),
    Create(Name, Name, Follow),
    Delete(Name),
    Text(Name, Option<Name>),
    Follow(Name, Follow),
    Move(Name, Name),
    /// Something wrong in a composite resource or claim, and back.
    Slip(Name, Slip),
    /// Something wrong in a composition, and back.
    Break(Name, Break),
    /// Nothing is edited until nothing is left to do.
    Rest,
    Restart,
    Fault(usize, Fault),
}

/// What can be wrong in a composite resource.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slip {
    UnknownComposition,
    UnknownRevision,
    UnmatchedSelector,
    WrongShape,
}

impl Slip {
    const ALL: [Self; 4] = [
        Self::UnknownComposition,
        Self::UnknownRevision,
        Self::UnmatchedSelector,
        Self::WrongShape,
    ];

    pub(crate) fn make(self, mut thing: Value) -> Value {
        let spec = &mut thing["spec"];
        match self {
            Self::UnknownComposition => spec["compositionRef"] = json!({"name": "nowhere"}),
            Self::UnknownRevision => {
                spec["compositionUpdatePolicy"] = json!("Manual");
                spec["compositionRevisionRef"] = json!({"name": "nowhere"});
            }
            Self::UnmatchedSelector => {
                spec["compositionUpdatePolicy"] = json!("Automatic");
                spec["compositionRevisionSelector"] = json!({"matchLabels": {"channel": "none"}});
            }
            Self::WrongShape => spec["text"] = json!(["text"]),
        }
        thing
    }
}

/// What can be wrong in a composition.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Break {
    /// A patch from a field that must be there and is not.
    RequiredField,
    UnknownKind,
    TwoOfOneName,
    OtherKind,
}

impl Break {
    const ALL: [Self; 4] = [
        Self::RequiredField,
        Self::UnknownKind,
        Self::TwoOfOneName,
        Self::OtherKind,
    ];

    pub(crate) fn make(self, mut composition: Value) -> Value {
        let spec = &mut composition["spec"];
        let first = spec["resources"][0].clone();
        let Some(resources) = spec["resources"].as_array_mut() else {
            return composition;
        };
        match self {
            Self::RequiredField => {
                let patch = json!({"fromFieldPath": "spec.nothing", "toFieldPath": "data.nothing",
                    "policy": {"fromFieldPath": "Required"}});
                if let Some(patches) = resources[0]["patches"].as_array_mut() {
                    patches.push(patch);
                }
            }
            Self::UnknownKind => resources.push(json!({
                "name": "strange", "base": {"apiVersion": "strange.example.org/v1", "kind": "Strange"},
            })),
            Self::TwoOfOneName => resources.push(first),
            Self::OtherKind => spec["compositeTypeRef"]["kind"] = json!("XOther"),
        }
        composition
    }
}

impl Words for Edit {
    type Model = Model;

    fn first() -> Vec<Self> {
        vec![Self::Compose(COMPOSITIONS[0])]
    }

    fn rest() -> Self {
        Self::Rest
    }

    fn any(dice: &mut Dice, _: &Model, faults: bool) -> Self {
        let composition = dice.pick(&[COMPOSITIONS[0], COMPOSITIONS[0], COMPOSITIONS[1]]);
        let (resource, thing) = (dice.pick(&RESOURCES), dice.pick(&THINGS));
        let follow = dice.pick(&[
            Follow::Unsaid,
            Follow::Automatic,
            Follow::Manual,
            Follow::Channel(CHANNELS[0]),
            Follow::Channel(CHANNELS[1]),
        ]);
        match dice.below(if faults { 27 } else { 25 }) {
            0 => Self::Compose(composition),
            1 => Self::Retract(composition),
            2 | 3 => Self::AddResource(composition, resource),
            4 | 5 => Self::RemoveResource(composition, resource),
            6 => Self::RenameResource(composition, resource, dice.pick(&RESOURCES)),
            7 | 8 => Self::Say(composition, resource, dice.pick(&TEXTS)),
            9 => Self::Copy(composition, resource, dice.once_in(2)),
            10 => Self::Channel(
                composition,
                dice.pick(&[None, Some(CHANNELS[0]), Some(CHANNELS[1])]),
            ),
            11 => Self::Revert(composition),
            12..15 => Self::Create(thing, composition, follow),
            15 => Self::Delete(thing),
            16 | 17 => {
                let text = dice.pick(&TEXTS);
                Self::Text(thing, (text != TEXTS[0]).then_some(text))
            }
            18 | 19 => Self::Follow(thing, follow),
            20 => Self::Move(thing, composition),
            21 | 22 => Self::Slip(thing, dice.pick(&Slip::ALL)),
            23 => Self::Break(composition, dice.pick(&Break::ALL)),
            24 => Self::Restart,
            _ => Self::Fault(1 + dice.below(12), dice.pick(&Fault::ALL)),
        }
    }

    fn change(&self, model: &mut Model) -> bool {
        match *self {
            Self::Compose(name) => {
                if model.compositions.contains_key(name) {
                    return false;
                }
                let first = Document {
                    resources: vec![Resource::new(RESOURCES[0])],
                    channel: None,
                };
                model.compositions.insert(name, vec![first]);
                true
            }
            Self::Retract(name) => {
                let is_used = model.things.values().any(|thing| thing.composition == name);
                !is_used && model.compositions.remove(name).is_some()
            }
            Self::AddResource(name, resource) => model.edit(name, |document| {
                let is_new = document.resource(resource).is_none();
                is_new.then(|| document.resources.push(Resource::new(resource)))
            }),
            Self::RemoveResource(name, resource) => model.edit(name, |document| {
                document.resources.retain(|known| known.name != resource);
                (!document.resources.is_empty()).then_some(())
            }),
            Self::RenameResource(name, resource, other) => model.edit(name, |document| {
                let is_new = document.resource(other).is_none();
                let known = document.resource(resource).filter(|_| is_new);
                known.map(|known| known.name = other)
            }),
            Self::Say(name, resource, text) => model.edit(name, |document| {
                document.resource(resource).map(|known| known.says = text)
            }),
            Self::Copy(name, resource, copies) => model.edit(name, |document| {
                document.resource(resource).map(|known| known.copies = copies)
            }),
            Self::Channel(name, channel) => model.edit(name, |document| {
                document.channel = channel;
                Some(())
            }),
            Self::Revert(name) => {
                let lineage = model.compositions.get(name).map_or(&[][..], Vec::as_slice);
                let [.., before, _] = lineage else {
                    return false;
                };
                let resources = before.resources.clone();
                model.edit(name, |document| {
                    document.resources = resources;
                    Some(())
                })
            }
            Self::Create(name, composition, follow) => {
                if model.things.contains_key(name) {
                    return false;
                }
                let mut after = model.clone();
                let thing = Thing {
                    composition,
                    text: None,
                    follow,
                };
                after.things.insert(name, thing);
                let valid = after.is_valid();
                if valid {
                    *model = after;
                }
                valid
            }
            Self::Delete(name) => model.things.remove(name).is_some(),
            Self::Text(name, text) => model.edit_thing(name, |thing| thing.text = text),
            Self::Follow(name, follow) => model.edit_thing(name, |thing| thing.follow = follow),
            // One that stays where it is would name a revision of the composition that it leaves.
            Self::Move(name, composition) => {
                let follows = |thing: &Thing| thing.follow != Follow::Manual;
                model.things.get(name).is_some_and(follows)
                    && model.edit_thing(name, |thing| thing.composition = composition)
            }
            // What one that stays is at is in its spec, where these write.
            Self::Slip(name, slip) => model.things.get(name).is_some_and(|thing| {
                thing.follow != Follow::Manual || matches!(slip, Slip::UnknownComposition | Slip::WrongShape)
            }),
            // A broken revision that is in a channel is history: whoever follows the channel later gets it.
            Self::Break(name, _) => {
                let current = model.compositions.get(name).and_then(|lineage| lineage.last());
                current.is_some_and(|document| document.channel.is_none())
            }
            Self::Rest | Self::Restart | Self::Fault(..) => true,
        }
    }
}

impl Resource {
    fn new(name: Name) -> Self {
        Self {
            name,
            says: TEXTS[0],
            copies: true,
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compose(name) => write!(formatter, "composition {name}"),
            Self::Retract(name) => write!(formatter, "delete composition {name}"),
            Self::AddResource(name, one) => write!(formatter, "{name}: add {one}"),
            Self::RemoveResource(name, one) => write!(formatter, "{name}: remove {one}"),
            Self::RenameResource(name, one, other) => write!(formatter, "{name}: rename {one} to {other}"),
            Self::Say(name, one, text) => write!(formatter, "{name}: {one} says {text}"),
            Self::Copy(name, one, copies) => write!(formatter, "{name}: {one} copies the text: {copies}"),
            Self::Channel(name, channel) => write!(formatter, "{name}: channel {channel:?}"),
            Self::Revert(name) => write!(formatter, "{name}: what it said before"),
            Self::Create(name, composition, follow) => {
                write!(formatter, "create {name}: {composition} {follow:?}")
            }
            Self::Delete(name) => write!(formatter, "delete {name}"),
            Self::Text(name, text) => write!(formatter, "{name}: text {text:?}"),
            Self::Follow(name, follow) => write!(formatter, "{name}: follow {follow:?}"),
            Self::Move(name, composition) => write!(formatter, "{name}: move to {composition}"),
            Self::Slip(name, slip) => write!(formatter, "{name}: {slip:?}, and back"),
            Self::Break(name, how) => write!(formatter, "{name}: {how:?}, and back"),
            Self::Rest => formatter.write_str("rest"),
            Self::Restart => formatter.write_str("restart"),
            Self::Fault(call, fault) => write!(formatter, "call {call} from here: {fault}"),
        }
    }
}
