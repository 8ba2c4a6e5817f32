//! The object names of DefinitionRevisions.

use crate::definition::Called;
use cambium_api::v1beta1::DefinitionType;
use cambium_lineage::{Digest, NameError, RevisionName};
use serde_json::Value;

/// Object names may be this long.
const LONGEST: usize = 253;

/// The name of a definition's revision: `web-v1.2.3`, `web-v3`, `web-vprod`.
///
/// Kinds of definitions share the names of their revisions: whoever comes second gets its kind into the name. What cannot stand in the
/// name of an object (an upper-case pre-release, build metadata) is replaced, and a digest keeps the names apart.
pub fn revision_name(
    type_: DefinitionType,
    definition: &str,
    called: &Called,
    number: u64,
    taken: &dyn Fn(&str) -> bool,
) -> Result<RevisionName, NameError> {
    let called = match called {
        Called::Version { version, .. } => version.to_string(),
        Called::Name(name) => name.to_string(),
        Called::Nothing => number.to_string(),
    };
    let kind = match type_ {
        DefinitionType::Component => "component",
        DefinitionType::Trait => "trait",
        DefinitionType::Policy => "policy",
        DefinitionType::WorkflowStep => "workflow-step",
    };
    let plain = fit(&format!("{definition}-v{called}"));
    if !taken(&plain) {
        return plain.parse();
    }
    let with_kind = format!("{definition}-{kind}-v{called}");
    let fitted = fit(&with_kind);
    if !taken(&fitted) {
        return fitted.parse();
    }
    // Somebody has a definition of that very name, too.
    apart(&with_kind).parse()
}

/// The name of an application's revision: `shop-v3`.
pub fn application_revision_name(application: &str, number: u64) -> Result<RevisionName, NameError> {
    fit(&format!("{application}-v{number}")).parse()
}

fn legal(character: char) -> bool {
    matches!(character, 'a'..='z' | '0'..='9' | '-' | '.')
}

/// The text itself if it can be the name of an object; else what remains of it, and a digest of the whole.
fn fit(text: &str) -> String {
    if text.len() <= LONGEST && text.chars().all(legal) {
        return text.to_owned();
    }
    apart(text)
}

/// What remains of the text in the name of an object, and a digest of the whole.
fn apart(text: &str) -> String {
    let digest = Digest::of(&Value::String(text.to_owned())).short();
    let kept: String = text
        .to_lowercase()
        .chars()
        .map(|character| if legal(character) { character } else { '-' })
        .take(LONGEST - digest.len() - 1)
        .collect();
    format!("{}-{digest}", kept.trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cambium_lineage::Version;

    fn version(text: &str) -> Called {
        Called::Version {
            version: Version::declared(text).expect("a version"),
            written: text.to_owned(),
        }
    }

    fn name(called: &Called) -> String {
        revision_name(DefinitionType::Component, "web", called, 3, &|_| false)
            .expect("a name")
            .to_string()
    }

    #[test]
    fn names_are_those_of_kubevela() {
        assert_eq!(name(&version("1.2.3")), "web-v1.2.3");
        assert_eq!(name(&version("2")), "web-v2.0.0");
        assert_eq!(name(&version("1.3.0-rc.1")), "web-v1.3.0-rc.1");
        assert_eq!(name(&Called::Nothing), "web-v3");
        assert_eq!(name(&Called::Name("prod".parse().expect("a name"))), "web-vprod");
    }

    #[test]
    fn what_cannot_stand_in_a_name_is_replaced_and_kept_apart() {
        let upper = name(&version("1.0.0-RC.1"));
        assert!(upper.starts_with("web-v1.0.0-rc.1-"), "{upper}");
        assert_ne!(upper, name(&version("1.0.0-rc.1")));
        assert_ne!(name(&version("1.0.0+a")), name(&version("1.0.0-a")));
        let long = "x".repeat(250);
        let fitted = revision_name(DefinitionType::Trait, &long, &version("1.0.0"), 1, &|_| false);
        assert_eq!(fitted.expect("a name").as_str().len(), LONGEST);
    }

    #[test]
    fn two_kinds_of_one_name_do_not_take_each_others_revisions() {
        let taken = |name: &str| name == "web-v1.2.3";
        let other = revision_name(DefinitionType::Trait, "web", &version("1.2.3"), 1, &taken);
        assert_eq!(other.expect("a name").as_str(), "web-trait-v1.2.3");
        let all_taken = |name: &str| ["web-v1.2.3", "web-trait-v1.2.3"].contains(&name);
        let third = revision_name(DefinitionType::Trait, "web", &version("1.2.3"), 1, &all_taken);
        let third = third.expect("a name");
        assert!(third.as_str().starts_with("web-trait-v1.2.3-"), "{third}");
    }
}
