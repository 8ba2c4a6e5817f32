//! A Bloom filter per role, to skip roles that cannot allow a request.
//!
//! A user in many groups has many roles, most of which are irrelevant for a request. Two 64-bit filters rule out most of
//! those without comparing their rules.

use super::Rule;
use crate::auth::Action;

/// The verbs and the resources or paths of some rules, hashed to one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BloomFilter {
    verbs: u64,
    things: u64,
}

/// The filter of `*`.
const ALL: u64 = u64::MAX;

impl BloomFilter {
    /// The filter of a role: all of its rules together.
    pub(super) fn of_rules(rules: &[Rule]) -> Self {
        let word = |text: &String| if text == "*" { ALL } else { bit(&[text]) };
        let path = |text: &String| if text.ends_with('*') { ALL } else { bit(&[text]) };
        let mut filter = Self { verbs: 0, things: 0 };
        for rule in rules {
            filter.verbs |= rule.verbs.iter().map(word).fold(0, |bits, bit| bits | bit);
            let things = rule.resources.iter().map(word).chain(rule.urls.iter().map(path));
            filter.things |= things.fold(0, |bits, bit| bits | bit);
        }
        filter
    }

    /// The filter of an action: a role that allows it has one of these bits.
    pub(super) fn of_action(action: &Action<'_>) -> Self {
        let things = match &action.resource {
            None => bit(&[action.path]),
            Some(resource) if resource.subresource.is_empty() => bit(&[resource.resource]),
            Some(resource) => {
                let part = resource.subresource;
                bit(&[resource.resource, "/", part]) | bit(&["*/", part])
            }
        };
        Self {
            verbs: bit(&[action.verb]),
            things,
        }
    }

    /// Whether rules with this filter may allow an action with that filter; `false` is certain.
    pub(super) fn may_allow(self, action: Self) -> bool {
        self.verbs & action.verbs != 0 && self.things & action.things != 0
    }
}

/// The bit of a text, given in parts (FNV-1a).
fn bit(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    1 << (hash >> 58)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::auth::ResourceAction;

    fn words(of: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
        let word = prop::sample::select(of).prop_map(str::to_owned);
        prop::collection::vec(word, 0..3)
    }

    proptest! {
        #[test]
        fn what_a_rule_allows_its_filter_may_allow(
            verbs in words(&["get", "list", "*", "x"]),
            groups in words(&["", "apps", "*"]),
            resources in words(&["pods", "pods/log", "*/log", "*", "secrets"]),
            urls in words(&["/a", "/a/*", "*", "/b"]),
            verb in prop::sample::select(&["get", "list", "x", "y"][..]),
            resource in prop::sample::select(&["pods", "secrets", "nodes"][..]),
            subresource in prop::sample::select(&["", "log", "exec"][..]),
            path in prop::sample::select(&["/a", "/a/b", "/b", "/c"][..]),
        ) {
            let rule = Rule { verbs, groups, resources, names: vec![], urls };
            let resource = ResourceAction { resource, subresource, ..ResourceAction::default() };
            let paths = Action { verb, resource: None, path };
            for action in [Action::on(verb, resource), paths] {
                let filter = BloomFilter::of_rules(std::slice::from_ref(&rule));
                prop_assert!(!rule.allows(&action) || filter.may_allow(BloomFilter::of_action(&action)));
            }
        }
    }

    #[test]
    fn most_of_what_is_not_allowed_is_told_apart() {
        let rule = Rule {
            verbs: vec!["get".to_owned(), "list".to_owned()],
            groups: vec![String::new()],
            resources: vec!["pods".to_owned()],
            ..Rule::default()
        };
        let filter = BloomFilter::of_rules(&[rule]);
        let told = ["secrets", "services", "nodes", "events", "configmaps"].map(|resource| {
            let resource = ResourceAction {
                resource,
                ..ResourceAction::default()
            };
            !filter.may_allow(BloomFilter::of_action(&Action::on("get", resource)))
        });
        assert!(told.iter().filter(|told| **told).count() >= 4);
    }
}
