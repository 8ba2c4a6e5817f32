//! Validation of flow schemas and priority levels.

use cambium_schema::names;

use super::at::At;
use super::rule::{self, Errors};

const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];
const MOST_QUEUES: i64 = 10_000_000;
/// Bits of the flow hash.
const BITS: u32 = 60;

pub(super) fn flow_schema(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    let precedence = spec.field("matchingPrecedence");
    match precedence.integer().unwrap_or_default() {
        ..=0 => rule::invalid(&precedence, "must be a positive value", errors),
        10_001.. => rule::invalid(&precedence, "must not be greater than 10000", errors),
        1 if new.field("metadata").field("name").text() != "exempt" => rule::invalid(
            &precedence,
            "only the schema named 'exempt' may have matchingPrecedence 1",
            errors,
        ),
        _ => {}
    }
    let method = spec.field("distinguisherMethod");
    if method.is_set() {
        rule::one_of(&method.field("type"), &["ByNamespace", "ByUser"], errors);
    }
    let level = spec.field("priorityLevelConfiguration").field("name");
    match level.is_empty() {
        true => rule::required_because(&level, "must reference a priority level", errors),
        false => rule::subdomain(&level, errors),
    }
    for one in spec.field("rules").items() {
        rules(&one, errors);
    }
}

fn rules(at: &At, errors: &mut Errors) {
    let subjects = at.field("subjects");
    if subjects.is_empty() {
        rule::required_because(&subjects, "subjects must contain at least one value", errors);
    }
    for one in subjects.items() {
        subject(&one, errors);
    }
    let (resources, paths) = (at.field("resourceRules"), at.field("nonResourceRules"));
    if resources.is_empty() && paths.is_empty() {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        rule::required_because(at, detail, errors);
    }
    for one in resources.items() {
        resource_rule(&one, errors);
    }
    for one in paths.items() {
        verbs(&one.field("verbs"), errors);
        let urls = one.field("nonResourceURLs");
        if at_least_one(&urls, "nonResourceURLs must contain at least one value", errors)
            && !alone(&urls, "non-resource URLs", errors)
        {
            for url in urls.items() {
                path(&url, errors);
            }
        }
    }
}

fn subject(at: &At, errors: &mut Errors) {
    const KINDS: [(&str, &str); 3] = [
        ("Group", "group"),
        ("ServiceAccount", "serviceAccount"),
        ("User", "user"),
    ];
    let kind = at.field("kind");
    let Some((_, own)) = KINDS.iter().find(|(name, _)| *name == kind.text()) else {
        return rule::one_of(&kind, &["Group", "ServiceAccount", "User"], errors);
    };
    let who = at.field(own);
    if !who.is_set() {
        let detail = format!("{own} is required when subject kind is '{}'", kind.text());
        rule::required_because(&who, &detail, errors);
    } else {
        let name = who.field("name");
        if rule::required(&name, errors) && *own == "serviceAccount" && name.text() != "*" {
            rule::subdomain(&name, errors);
        }
        if *own == "serviceAccount" {
            let namespace = who.field("namespace");
            match namespace.is_empty() {
                true => {
                    rule::required_because(&namespace, "must specify namespace for service account", errors)
                }
                false => rule::label_name(&namespace, errors),
            }
        }
    }
    for (name, field) in KINDS.iter().filter(|(_, field)| field != own) {
        if at.field(field).is_set() {
            let detail = format!("{field} is forbidden when subject kind is not '{name}'");
            rule::forbidden(&at.field(field), detail, errors);
        }
    }
}

fn resource_rule(at: &At, errors: &mut Errors) {
    verbs(&at.field("verbs"), errors);
    for (field, singular, plural) in [
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ] {
        let list = at.field(field);
        let detail = format!("resource rules must supply at least one {singular}");
        if at_least_one(&list, &detail, errors) {
            alone(&list, plural, errors);
        }
    }
    let namespaces = at.field("namespaces");
    if namespaces.is_empty() {
        if !at.field("clusterScope").is_true() {
            let detail = "resource rules that are not cluster scoped must supply at least one namespace";
            rule::required_because(&namespaces, detail, errors);
        }
    } else if !alone(&namespaces, "namespaces", errors) {
        for namespace in namespaces.items() {
            for complaint in names::dns1123_label(namespace.text()) {
                let detail = format!("each member of this list must be '*' or a DNS-1123 label; {complaint}");
                rule::invalid(&namespace, detail, errors);
            }
        }
    }
}

fn verbs(at: &At, errors: &mut Errors) {
    if at_least_one(at, "verbs must contain at least one value", errors)
        && !alone(at, "verbs", errors)
        && !at.items().all(|verb| VERBS.contains(&verb.text()))
    {
        rule::one_of(at, &VERBS, errors);
    }
}

fn at_least_one(at: &At, detail: &str, errors: &mut Errors) -> bool {
    if at.is_empty() {
        rule::required_because(at, detail, errors);
    }
    !at.is_empty()
}

/// Whether the list has a `*`, which must be its only item.
fn alone(at: &At, what: &str, errors: &mut Errors) -> bool {
    let everything = at.items().any(|one| one.text() == "*");
    if everything && at.items().count() > 1 {
        rule::invalid(
            at,
            format!("if '*' is present, must not specify other {what}"),
            errors,
        );
    }
    everything
}

fn path(at: &At, errors: &mut Errors) {
    let text = at.text();
    let detail = match text {
        "" => "must not be empty",
        "/" => return,
        _ if !text.starts_with('/') => "must start with slash",
        _ if text.contains(' ') => "must not contain white-space",
        _ if text.contains("//") => "must not contain double slash",
        _ if text
            .find('*')
            .is_some_and(|place| place + 1 < text.len() || !text.ends_with("/*")) =>
        {
            "wildcard can only do suffix matching"
        }
        _ => return,
    };
    rule::invalid(at, detail, errors);
}

pub(super) fn priority_level(new: &At, errors: &mut Errors) {
    let spec = new.field("spec");
    let (kind, exempt, limited) = (spec.field("type"), spec.field("exempt"), spec.field("limited"));
    if (new.field("metadata").field("name").text() == "exempt") != (kind.text() == "Exempt") {
        rule::invalid(
            &kind,
            "must be 'Exempt' if and only if `name` is 'exempt'",
            errors,
        );
    }
    match kind.text() {
        "Exempt" => {
            if limited.is_set() {
                rule::forbidden(&limited, "must be nil if the type is not Limited", errors);
            }
            shares(&exempt, errors);
        }
        "Limited" => {
            if exempt.is_set() {
                rule::forbidden(&exempt, "must be nil if the type is Limited", errors);
            }
            match limited.is_set() {
                true => self::limited(&limited, errors),
                false => rule::required_because(&limited, "must not be empty when type is Limited", errors),
            }
        }
        "" => rule::required_because(&kind, "", errors),
        _ => rule::one_of(&kind, &["Exempt", "Limited"], errors),
    }
}

fn limited(at: &At, errors: &mut Errors) {
    shares(at, errors);
    let borrowing = at.field("borrowingLimitPercent");
    if borrowing.integer().is_some_and(|percent| percent < 0) {
        rule::invalid(&borrowing, "if specified, must be a non-negative integer", errors);
    }
    let response = at.field("limitResponse");
    let (kind, queuing) = (response.field("type"), response.field("queuing"));
    match kind.text() {
        "Reject" if queuing.is_set() => rule::forbidden(
            &queuing,
            "must be nil if limited.limitResponse.type is not Limited",
            errors,
        ),
        "Reject" => {}
        "Queue" if queuing.is_set() => self::queuing(&queuing, errors),
        "Queue" => {
            let detail = "must not be empty if limited.limitResponse.type is Limited";
            rule::required_because(&queuing, detail, errors);
        }
        "" => rule::required_because(&kind, "", errors),
        _ => rule::one_of(&kind, &["Queue", "Reject"], errors),
    }
}

fn shares(at: &At, errors: &mut Errors) {
    let shares = at.field("nominalConcurrencyShares");
    if shares.integer().is_some_and(|shares| shares < 0) {
        rule::invalid(&shares, "must be a non-negative integer", errors);
    }
    let percent = at.field("lendablePercent");
    if percent
        .integer()
        .is_some_and(|percent| !(0..=100).contains(&percent))
    {
        rule::invalid(&percent, "must be between 0 and 100, inclusive", errors);
    }
}

fn queuing(at: &At, errors: &mut Errors) {
    let number = |field: &str| at.field(field).integer().unwrap_or_default();
    if number("queueLengthLimit") <= 0 {
        rule::invalid(&at.field("queueLengthLimit"), "must be positive", errors);
    }
    let (queues, hand) = (number("queues"), number("handSize"));
    if queues <= 0 {
        rule::invalid(&at.field("queues"), "must be positive", errors);
    } else if queues > MOST_QUEUES {
        let detail = format!("must not be greater than {MOST_QUEUES}");
        rule::invalid(&at.field("queues"), detail, errors);
    }
    let at = at.field("handSize");
    if hand <= 0 {
        rule::invalid(&at, "must be positive", errors);
    } else if hand > queues {
        rule::invalid(
            &at,
            format!("should not be greater than queues ({queues})"),
            errors,
        );
    } else if bits(queues, hand) > BITS {
        let detail = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {BITS}"
        );
        rule::invalid(&at, detail, errors);
    }
}

/// The bits that shuffle sharding needs to deal a hand.
fn bits(queues: i64, hand: i64) -> u32 {
    let mut hands: u128 = 1;
    for drawn in 0..hand {
        let left = u128::try_from(queues - drawn).unwrap_or(1);
        hands = hands.saturating_mul(left);
        if hands > 1 << BITS {
            return BITS + 1;
        }
    }
    // The smallest number of bits with as many values.
    u128::BITS - (hands - 1).leading_zeros()
}
