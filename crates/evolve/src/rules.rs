//! The rules, as data: which change it is, whom it concerns, why, and what to do.

use serde::{Serialize, Serializer};

use crate::change::Effect::{
    self, Appears, Breaks, Changes, Frozen, Gains, Lost, Maybe, Ok, Ratcheted, Unknown,
};
use crate::change::{Effects, Place};
use cambium_lineage::Bump;

/// A rule: one kind of change.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name, such as `R03`. A name never gets another meaning.
    pub id: &'static str,
    /// The change, in a few words.
    pub title: &'static str,
    /// The effects under `spec`.
    pub spec: Effects,
    /// The effects under `status`, where the controller writes and users read.
    pub status: Effects,
    /// The bump, where it does not follow from the effects.
    pub bump: Option<Bump>,
    /// Why it matters.
    pub why: &'static str,
    /// What to do instead, or as well.
    pub fix: &'static str,
}

impl Rule {
    /// The effects in one part of an object.
    pub fn effects(&self, place: Place) -> Effects {
        match place {
            Place::Spec => self.spec,
            Place::Status => self.status,
        }
    }

    /// The bump that it demands in one part of an object.
    pub fn bump(&self, place: Place) -> Bump {
        self.bump.unwrap_or_else(|| place.bump(self.effects(place)))
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id)
    }
}

/// The rule with this name.
pub fn rule(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id.eq_ignore_ascii_case(id))
}

const fn effects(writers: Effect, stored: Effect, readers: Effect) -> Effects {
    Effects {
        writers,
        stored,
        readers,
    }
}

/// The same effects on writers, on stored objects and on readers in both parts of an object: a field that is gone is gone for everybody.
const fn everywhere(
    id: &'static str,
    title: &'static str,
    effects: Effects,
    why: &'static str,
    fix: &'static str,
) -> Rule {
    Rule {
        id,
        title,
        spec: effects,
        status: effects,
        bump: None,
        why,
        fix,
    }
}

/// Fewer values are legal: those who write are concerned.
const fn narrows(
    id: &'static str,
    title: &'static str,
    stored: Effect,
    why: &'static str,
    fix: &'static str,
) -> Rule {
    let effects = effects(Breaks, stored, Ok);
    Rule {
        id,
        title,
        spec: effects,
        status: effects,
        bump: None,
        why,
        fix,
    }
}

/// More values are legal: those who read may meet one that they do not know.
const fn widens(
    id: &'static str,
    title: &'static str,
    readers: Effect,
    why: &'static str,
    fix: &'static str,
) -> Rule {
    Rule {
        id,
        title,
        spec: effects(Gains, Ok, readers),
        status: effects(Gains, Ok, Breaks),
        bump: None,
        why,
        fix,
    }
}

const fn with_bump(mut rule: Rule, bump: Bump) -> Rule {
    rule.bump = Some(bump);
    rule
}

const ACKNOWLEDGE: &str = "Make it a new API version, or acknowledge the rule for this path";

/// All rules, by their names.
pub static RULES: &[Rule] = &[
    everywhere(
        "R01",
        "optional field added",
        effects(Gains, Ok, Ok),
        "Objects without the field stay as they are. A typed client that does not know it drops it when it updates a whole object.",
        "Nothing. Clients should patch instead of replacing whole objects",
    ),
    Rule {
        id: "R02",
        title: "optional field with a default added",
        spec: effects(Gains, Appears, Maybe),
        status: effects(Gains, Appears, Ok),
        bump: None,
        why: "The default appears in every stored object when it is read, and is not stored before the next write: controllers may act on it at once.",
        fix: "Choose a default that means what absence meant before",
    },
    everywhere(
        "R03",
        "required field added",
        effects(Breaks, Frozen, Ok),
        "Manifests without the field are refused. Stored objects stay readable, but every write of what is around the field is refused: required is not ratcheted.",
        "Give the field a default, or make it optional and have the controller fill it in",
    ),
    with_bump(
        everywhere(
            "R04",
            "required field with a default",
            effects(Ok, Appears, Ok),
            "The API server fills the default in before it validates, so that nothing is refused. Validators that do not fill in defaults refuse manifests without the field.",
            "Nothing",
        ),
        Bump::Minor,
    ),
    everywhere(
        "R05",
        "required field of a new optional parent",
        effects(Gains, Ok, Ok),
        "Only objects that use the new parent have to set it.",
        "Nothing",
    ),
    everywhere(
        "R06",
        "optional field is required now",
        effects(Breaks, Frozen, Ok),
        "Manifests without the field are refused. Stored objects stay readable, but every write of what is around the field is refused: required is not ratcheted.",
        "Give the field a default, or keep it optional and have the controller fill it in",
    ),
    everywhere(
        "R07",
        "required field is optional now",
        effects(Gains, Ok, Maybe),
        "Readers may rely on the field being there.",
        "Have readers handle its absence before anybody leaves it out",
    ),
    everywhere(
        "R08",
        "field removed",
        effects(Breaks, Lost, Breaks),
        "Strict clients are refused and others pruned without a word. The stored value is hidden at once, lost with the next write, and returns if the field does.",
        "Deprecate the field first, and remove it in a new API version; `cambium check --against-live` shows who still sets it",
    ),
    everywhere(
        "R09",
        "field renamed",
        effects(Breaks, Lost, Breaks),
        "The API server sees a field that is removed and another one that is added: the old value is pruned.",
        "Keep the old field, add the new one, and copy the value with a migration rule",
    ),
    everywhere(
        "R10",
        "field moved",
        effects(Breaks, Lost, Breaks),
        "The API server sees a field that is removed and another one that is added: the old value is pruned.",
        "Keep the old field, add the new one, and copy the value with a migration rule",
    ),
    everywhere(
        "R11",
        "type changed",
        effects(Breaks, Breaks, Breaks),
        "Stored values keep their old type. One of them makes a typed client fail to list all objects of the kind.",
        "Add a new field of the new type, deprecate the old one, and copy the value with a migration rule",
    ),
    widens(
        "R12",
        "integer may be any number now",
        Breaks,
        "Readers with an integer type fail on a fraction.",
        ACKNOWLEDGE,
    ),
    narrows(
        "R13",
        "number must be an integer now",
        Ratcheted,
        "Values with a fraction are refused.",
        "Add a new field of the new type, deprecate the old one, and copy the value with a migration rule",
    ),
    widens(
        "R14",
        "value may be an integer or a string now",
        Breaks,
        "Readers with the old type fail on the other one.",
        ACKNOWLEDGE,
    ),
    everywhere(
        "R15",
        "single value became a list",
        effects(Breaks, Breaks, Breaks),
        "Manifests and stored objects have a single value where a list is expected.",
        "Add the list as a new field beside the old one, and keep the two in step",
    ),
    narrows(
        "R16",
        "set of legal values added",
        Ratcheted,
        "Every other value is refused.",
        "Make sure that no object has another value: `cambium check --against-live`",
    ),
    narrows(
        "R17",
        "legal value removed",
        Ratcheted,
        "Manifests with the value are refused. Stored objects keep it while it is unchanged.",
        "Accept the old value for some releases, and have the controller treat it as the new one",
    ),
    widens(
        "R18",
        "legal value added",
        Breaks,
        "Readers that know all values meet one that they do not know. Kubernetes calls this incompatible unless the set is documented as open.",
        "Mark the set as open when the field is added, or roll the value out in two releases",
    ),
    widens(
        "R19",
        "set of legal values is open now",
        Gains,
        "Readers may meet values that they do not know.",
        "Have readers handle values that they do not know",
    ),
    narrows(
        "R20",
        "limit added",
        Ratcheted,
        "Values beyond the limit are refused.",
        "Make sure that no object is beyond it: `cambium check --against-live`",
    ),
    narrows(
        "R21",
        "limit tightened",
        Ratcheted,
        "Values beyond the limit are refused.",
        "Make sure that no object is beyond it: `cambium check --against-live`",
    ),
    widens(
        "R22",
        "limit relaxed or removed",
        Gains,
        "Readers may meet values beyond the old limit.",
        "Have readers handle such values",
    ),
    narrows(
        "R23",
        "pattern added or changed",
        Ratcheted,
        "Values that do not match are refused. Whether the new pattern allows all that the old one did is not decided.",
        "Make sure that every object matches: `cambium check --against-live`",
    ),
    narrows(
        "R24",
        "format added or changed",
        Ratcheted,
        "Values that do not have the format are refused.",
        "Make sure that every object has it: `cambium check --against-live`",
    ),
    widens(
        "R25",
        "value may be null now",
        Maybe,
        "Readers may meet a null.",
        "Have readers handle null",
    ),
    everywhere(
        "R26",
        "default added",
        effects(Ok, Changes, Changes),
        "The default appears in every stored object that lacks the field, where absence meant something else before.",
        "Choose the value that absence stood for, or have the controller fill it in for new objects only",
    ),
    everywhere(
        "R27",
        "default changed",
        effects(Changes, Changes, Changes),
        "Objects that were written since keep the old default, those that were never written get the new one: two fleets with one manifest.",
        "Write the old default into stored objects first",
    ),
    everywhere(
        "R28",
        "default removed",
        effects(Changes, Changes, Changes),
        "Objects that were never written lose the value, and readers meet its absence.",
        "Write the default into stored objects first",
    ),
    narrows(
        "R29",
        "multipleOf added or changed",
        Ratcheted,
        "Values that are no multiple are refused.",
        "Make sure that every object is a multiple: `cambium check --against-live`",
    ),
    everywhere(
        "R30",
        "object became a map, or a map an object",
        effects(Unknown, Unknown, Unknown),
        "Keys that were legal may be pruned, or readers may meet keys that they do not know.",
        ACKNOWLEDGE,
    ),
    everywhere(
        "R31",
        "unknown fields are pruned now",
        effects(Breaks, Lost, Breaks),
        "What the schema does not name is hidden when it is read, and lost with the next write.",
        "Name every field that is in use: `cambium check --against-live` lists them",
    ),
    widens(
        "R32",
        "unknown fields are preserved now",
        Maybe,
        "Readers may meet fields that they do not know.",
        "Nothing",
    ),
    everywhere(
        "R33",
        "list type or keys changed",
        effects(Breaks, Ratcheted, Changes),
        "Duplicates are refused, and server-side apply merges the list in another way.",
        ACKNOWLEDGE,
    ),
    with_bump(
        everywhere(
            "R34",
            "map type changed",
            effects(Changes, Ok, Ok),
            "Only server-side apply is concerned: a later apply may remove keys of other field managers.",
            "Tell those who apply parts of the object",
        ),
        Bump::Minor,
    ),
    narrows(
        "R35",
        "validation rule added or changed",
        Ratcheted,
        "Objects that the rule refuses are refused. Whether it allows all that was legal before is not decided.",
        "Make sure that every object satisfies it: `cambium check --against-live`",
    ),
    narrows(
        "R36",
        "transition rule added or changed",
        Frozen,
        "Updates that worked are refused: the rule compares with the old value and is never ratcheted.",
        ACKNOWLEDGE,
    ),
    widens(
        "R37",
        "validation rule removed",
        Gains,
        "Readers may meet values that the rule refused.",
        "Nothing",
    ),
    everywhere(
        "R38",
        "allOf, anyOf, oneOf or not changed",
        effects(Unknown, Unknown, Unknown),
        "Whether everything that was legal before still is cannot be told.",
        ACKNOWLEDGE,
    ),
    everywhere(
        "R39",
        "embedded object must have apiVersion and kind now",
        effects(Breaks, Breaks, Ok),
        "Every write of an object without them is refused, even of its labels.",
        ACKNOWLEDGE,
    ),
    everywhere(
        "R40",
        "documentation changed",
        effects(Ok, Ok, Ok),
        "Descriptions, titles and examples concern no object.",
        "Nothing",
    ),
    with_bump(
        everywhere(
            "R41",
            "API version added",
            effects(Gains, Ok, Ok),
            "With conversion strategy None, fields that only one version has are pruned in the other.",
            "Serve it for one release before it becomes the storage version",
        ),
        Bump::Minor,
    ),
    with_bump(
        everywhere(
            "R42",
            "storage version changed",
            effects(Ok, Ok, Ok),
            "Stored objects stay at the old version until they are written again.",
            "Rewrite the stored objects before the old version is removed",
        ),
        Bump::Minor,
    ),
    everywhere(
        "R43",
        "API version is no longer served",
        effects(Breaks, Ok, Breaks),
        "Requests at the version are refused, and server-side apply fails where managedFields name it.",
        "Deprecate the version, wait until nobody uses it, then stop serving it",
    ),
    everywhere(
        "R44",
        "API version removed",
        effects(Breaks, Breaks, Breaks),
        "Objects that are stored at the version cannot be read. The API server refuses it while status.storedVersions has the version.",
        "Rewrite the stored objects, and take the version out of status.storedVersions first",
    ),
    with_bump(
        everywhere(
            "R45",
            "conversion strategy changed",
            effects(Maybe, Maybe, Maybe),
            "Objects look different at each version, and requests depend on the webhook.",
            "Test the conversion of every stored object first",
        ),
        Bump::Minor,
    ),
    everywhere(
        "R46",
        "group, kind, plural or scope changed",
        effects(Breaks, Breaks, Breaks),
        "The API server refuses the change: it takes a new CustomResourceDefinition, and a copy of every object.",
        "Keep them; or define a second kind, and migrate",
    ),
    everywhere(
        "R47",
        "status subresource added or removed",
        effects(Breaks, Changes, Breaks),
        "Writes of the status through the other endpoint are ignored, and metadata.generation changes its meaning.",
        ACKNOWLEDGE,
    ),
    everywhere(
        "R48",
        "name, scale subresource or selectable field removed",
        effects(Breaks, Ok, Breaks),
        "kubectl, autoscalers or field selectors that use it fail.",
        "Keep it",
    ),
    everywhere(
        "R49",
        "printer columns or categories changed",
        effects(Ok, Ok, Ok),
        "Only tables look different.",
        "Nothing",
    ),
    everywhere(
        "R50",
        "CustomResourceDefinition removed",
        effects(Breaks, Lost, Breaks),
        "All objects of the kind are deleted with it.",
        "Delete it only when no object is left",
    ),
    everywhere(
        "R51",
        "unknown fields of the whole object are pruned now",
        effects(Breaks, Lost, Breaks),
        "A CRD of apiextensions.k8s.io/v1beta1 kept unknown fields; one of v1 prunes them.",
        "Name every field that is in use: `cambium check --against-live` lists them",
    ),
    with_bump(
        everywhere(
            "R52",
            "name, scale subresource or selectable field added",
            effects(Gains, Ok, Ok),
            "Nothing that worked before fails.",
            "Nothing",
        ),
        Bump::Minor,
    ),
    narrows(
        "R53",
        "value may no longer be null",
        Ratcheted,
        "A null is dropped, or refused where the field is required or an item of a list; a dropped null gets the default.",
        "Make sure that no object has a null: `cambium check --against-live`",
    ),
    with_bump(
        everywhere(
            "R54",
            "message of a validation rule changed",
            effects(Ok, Ok, Ok),
            "Only the text of a refusal is another one.",
            "Nothing",
        ),
        Bump::Patch,
    ),
    widens(
        "R55",
        "pattern or format removed",
        Gains,
        "Readers may meet values that did not match.",
        "Nothing",
    ),
    everywhere(
        "R56",
        "default added that is the zero value",
        effects(Ok, Appears, Ok),
        "A typed client reads the same of an absent field.",
        "Nothing",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_have_names_of_their_own_in_order() {
        let names: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        let expected: Vec<String> = (1..=names.len()).map(|number| format!("R{number:02}")).collect();
        assert_eq!(names, expected);
        assert_eq!(rule("r09").map(|rule| rule.title), Some("field renamed"));
    }
}
