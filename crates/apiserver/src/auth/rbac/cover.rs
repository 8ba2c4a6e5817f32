//! Compares rule sets: whether some rules cover all that others allow.

use std::collections::{BTreeMap, BTreeSet};

use super::Rule;
use super::rule::covers_path;

/// The parts of `wanted` that `held` does not cover, each one verb on one resource (of one name) or path.
pub(super) fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<Rule> {
    let parts = wanted.iter().flat_map(parts);
    parts
        .filter(|part| !held.iter().any(|rule| covers(rule, part)))
        .collect()
}

/// Breaks a rule down into parts of one verb and one resource or path.
fn parts(rule: &Rule) -> Vec<Rule> {
    let one = |text: &String| vec![text.clone()];
    let mut found = Vec::new();
    for group in &rule.groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let part = Rule {
                    verbs: one(verb),
                    groups: one(group),
                    resources: one(resource),
                    ..Rule::default()
                };
                if rule.names.is_empty() {
                    found.push(part.clone());
                }
                found.extend(rule.names.iter().map(|name| Rule {
                    names: one(name),
                    ..part.clone()
                }));
            }
        }
    }
    for url in &rule.urls {
        found.extend(rule.verbs.iter().map(|verb| Rule {
            verbs: one(verb),
            urls: one(url),
            ..Rule::default()
        }));
    }
    found
}

/// Whether a rule covers a part.
fn covers(rule: &Rule, part: &Rule) -> bool {
    let has = |list: &[String], wanted: &[String]| {
        list.iter().any(|one| one == "*") || wanted.iter().all(|one| list.contains(one))
    };
    let any_of = |resource: &String| {
        let part = resource.split_once('/').map(|(_, part)| format!("*/{part}"));
        part.is_some_and(|part| rule.resources.contains(&part))
    };
    let resources = has(&rule.resources, &part.resources) || part.resources.iter().all(any_of);
    let names = match part.names.as_slice() {
        [] => rule.names.is_empty(),
        names => rule.names.is_empty() || names.iter().all(|name| rule.names.contains(name)),
    };
    let urls = part
        .urls
        .iter()
        .all(|url| rule.urls.iter().any(|own| covers_path(own, url)));
    has(&rule.verbs, &part.verbs) && has(&rule.groups, &part.groups) && resources && names && urls
}

/// Formats parts for messages: those on the same resource on one line, sorted.
pub(super) fn described(parts: Vec<Rule>) -> Vec<String> {
    let mut lines = BTreeSet::new();
    let mut verbs: BTreeMap<Rule, Vec<String>> = BTreeMap::new();
    for mut part in parts {
        if !part.urls.is_empty() {
            lines.insert(line(&part));
            continue;
        }
        let own = std::mem::take(&mut part.verbs);
        verbs.entry(part).or_default().extend(own);
    }
    lines.extend(
        verbs
            .into_iter()
            .map(|(part, verbs)| line(&Rule { verbs, ..part })),
    );
    lines.into_iter().collect()
}

fn line(rule: &Rule) -> String {
    let fields = [
        ("APIGroups", &rule.groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.urls),
        ("ResourceNames", &rule.names),
        ("Verbs", &rule.verbs),
    ];
    let shown = fields.into_iter().filter(|(_, list)| !list.is_empty());
    let shown: Vec<String> = shown
        .map(|(name, list)| format!("{name}:{}", quoted(list)))
        .collect();
    format!("{{{}}}", shown.join(", "))
}

/// A list as Go quotes it: `["a" "b"]`.
pub(super) fn quoted(list: &[String]) -> String {
    let items: Vec<String> = list.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(verbs: &[&str], resources: &[&str], names: &[&str]) -> Rule {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        Rule {
            verbs: owned(verbs),
            groups: vec![String::new()],
            resources: owned(resources),
            names: owned(names),
            urls: vec![],
        }
    }

    #[test]
    fn who_holds_a_part_lacks_the_rest() {
        let held = [rule(&["get"], &["pods"], &[]), rule(&["list"], &["pods"], &["a"])];
        assert_eq!(missing(&held, &[rule(&["get"], &["pods"], &["x"])]), []);
        assert_eq!(
            missing(&held, &[rule(&["get", "list"], &["pods", "secrets"], &[])]),
            [
                rule(&["list"], &["pods"], &[]),
                rule(&["get"], &["secrets"], &[]),
                rule(&["list"], &["secrets"], &[])
            ]
        );
    }

    #[test]
    fn stars_cover_what_they_stand_for() {
        let scale = [rule(&["*"], &["*/scale"], &[])];
        assert_eq!(
            missing(&scale, &[rule(&["get"], &["deployments/scale"], &[])]),
            []
        );
        assert_eq!(missing(&scale, &[rule(&["get"], &["deployments"], &[])]).len(), 1);
        assert_eq!(missing(&scale, &[rule(&["get"], &["*"], &[])]).len(), 1);
        let url = |url: &str| Rule {
            verbs: vec!["get".to_owned()],
            urls: vec![url.to_owned()],
            ..Rule::default()
        };
        assert_eq!(
            missing(&[url("/apis/*")], &[url("/apis/apps"), url("/apis/*")]),
            []
        );
        assert_eq!(missing(&[url("/apis/*")], &[url("*")]), [url("*")]);
    }

    #[test]
    fn parts_are_told_by_resource() {
        let wanted = [
            rule(&["list", "get"], &["pods"], &[]),
            rule(&["get"], &["pods"], &["a"]),
        ];
        assert_eq!(
            described(missing(&[], &wanted)),
            [
                r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get"]}"#,
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["list" "get"]}"#
            ]
        );
    }
}
