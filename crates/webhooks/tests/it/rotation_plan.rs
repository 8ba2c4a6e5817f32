//! What is done about each state of the Secret, the bundles and the leaf.

use std::collections::{BTreeMap, BTreeSet};

use cambium_webhooks::certificates::{
    Authorities, Authority, AuthorityFacts, Facts, Fingerprint, LeafFacts, LeafStep, Lifetimes, NextFacts,
    Observed, SecretFacts, SecretStep, Stored, plan,
};
use cambium_webhooks::names;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;

/// So many days after the beginning.
fn day(days: i64) -> Timestamp {
    let beginning: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    beginning + SignedDuration::from_hours(24 * days)
}

/// An authority that is valid for 300 days.
fn authority(name: &str, from: i64) -> Facts {
    Facts {
        from: day(from),
        until: day(from + 300),
        id: Fingerprint::of(name.as_bytes()),
    }
}

fn next(name: &str, from: i64, published: Option<i64>) -> Option<NextFacts> {
    Some(NextFacts {
        facts: authority(name, from),
        published: published.map(day),
    })
}

fn leaf(by: &str, made: i64) -> Option<LeafFacts> {
    Some(LeafFacts {
        by: Fingerprint::of(by.as_bytes()),
        made: day(made),
        until: day(made + 30),
    })
}

fn ids(names: &[&str]) -> Vec<Fingerprint> {
    names
        .iter()
        .map(|name| Fingerprint::of(name.as_bytes()))
        .collect()
}

fn observed(
    current: &str,
    next: Option<NextFacts>,
    previous: &[(&str, i64)],
    bundles: &[&[&str]],
) -> Observed {
    let from = if current == "a" { 0 } else { 200 };
    Observed {
        secret: SecretFacts::Whole(AuthorityFacts {
            current: authority(current, from),
            next,
            previous: previous
                .iter()
                .map(|(name, from)| authority(name, *from))
                .collect(),
        }),
        bundles: bundles
            .iter()
            .map(|names| ids(names).into_iter().collect())
            .collect(),
        leaf: leaf(current, from),
        published_before: None,
    }
}

#[test]
fn a_rotation_from_beginning_to_end() {
    let lifetimes = Lifetimes::default();
    let cases: &[(&str, i64, Observed, SecretStep, &[&str])] = &[
        (
            "young",
            199,
            observed("a", None, &[], &[&["a"]]),
            SecretStep::Keep,
            &["a"],
        ),
        (
            "two thirds",
            200,
            observed("a", None, &[], &[&["a"]]),
            SecretStep::AddNext,
            &["a"],
        ),
        (
            "in one bundle of two",
            201,
            observed("a", next("b", 200, None), &[], &[&["a", "b"], &["a"]]),
            SecretStep::Keep,
            &["a", "b"],
        ),
        (
            "in every bundle",
            201,
            observed("a", next("b", 200, None), &[], &[&["a", "b"], &["a", "b"]]),
            SecretStep::RecordPublished,
            &["a", "b"],
        ),
        (
            "not settled",
            201,
            observed("a", next("b", 200, Some(201)), &[], &[&["a", "b"]]),
            SecretStep::Keep,
            &["a", "b"],
        ),
        (
            "taken out by somebody, or seen before it was published",
            202,
            observed("a", next("b", 200, Some(201)), &[], &[&["a", "b"], &["a"]]),
            SecretStep::LookAgain,
            &["a", "b"],
        ),
        (
            "taken out by somebody",
            202,
            Observed {
                published_before: Some(day(201)),
                ..observed("a", next("b", 200, Some(201)), &[], &[&["a", "b"], &["a"]])
            },
            SecretStep::ForgetPublished,
            &["a", "b"],
        ),
        (
            "settled",
            202,
            observed("a", next("b", 200, Some(201)), &[], &[&["a", "b"]]),
            SecretStep::Promote,
            &["a", "b"],
        ),
        (
            "promoted: no bundle changes",
            202,
            observed("b", None, &[("a", 0)], &[&["a", "b"]]),
            SecretStep::Keep,
            &["a", "b"],
        ),
        (
            "the old one has expired",
            300,
            observed("b", None, &[("a", 0)], &[&["a", "b"]]),
            SecretStep::Forget { expired: ids(&["a"]) },
            &["b"],
        ),
    ];
    for (what, today, observed, step, bundle) in cases {
        let plan = plan(observed, &lifetimes, day(*today));
        assert_eq!((&plan.secret, &plan.bundle), (step, &ids(bundle)), "{what}");
        assert!(plan.look_again > day(*today), "{what}");
    }
}

#[test]
fn a_leaf_is_renewed_in_time_and_follows_the_authority() {
    let lifetimes = Lifetimes::default();
    let sign = |until| LeafStep::Sign { until: day(until) };
    let cases = [
        ("none", None, 10, &["a"], sign(40)),
        ("young", leaf("a", 10), 29, &["a"], LeafStep::Keep),
        ("two thirds", leaf("a", 10), 30, &["a"], sign(60)),
        (
            "never longer than its authority",
            leaf("a", 260),
            290,
            &["a"],
            sign(300),
        ),
        ("another authority signs", leaf("z", 10), 11, &["a"], sign(41)),
        ("bundles first", leaf("z", 10), 11, &["z"], LeafStep::Keep),
        ("but not for ever", leaf("z", 10), 30, &["z"], sign(60)),
    ];
    for (what, leaf, today, bundle, expected) in cases {
        let observed = Observed {
            leaf,
            ..observed("a", None, &[], &[bundle])
        };
        assert_eq!(plan(&observed, &lifetimes, day(today)).leaf, expected, "{what}");
    }
}

#[test]
fn what_cannot_be_believed_is_replaced_and_what_is_not_ours_is_left() {
    let lifetimes = Lifetimes::default();
    let decide = |secret, today| {
        let observed = Observed {
            secret,
            bundles: vec![BTreeSet::new()],
            leaf: None,
            published_before: None,
        };
        let plan = plan(&observed, &lifetimes, day(today));
        assert!(
            plan.bundle.is_empty() && plan.leaf == LeafStep::Keep,
            "nobody is trusted"
        );
        plan.secret
    };
    assert_eq!(decide(SecretFacts::Absent, 0), SecretStep::Create);
    assert!(
        matches!(decide(SecretFacts::Foreign, 0), SecretStep::Refuse { why } if why.contains("not created by Cambium"))
    );
    let damaged = SecretFacts::Damaged {
        why: "why".to_owned(),
        readable: vec![authority("a", 0), authority("b", 200)],
    };
    let expected = SecretStep::Replace {
        why: "why".to_owned(),
        keep: ids(&["b"]),
    };
    assert_eq!(
        decide(damaged, 301),
        expected,
        "what can be read and has not expired stays"
    );
    let with = |next| {
        SecretFacts::Whole(AuthorityFacts {
            current: authority("a", 0),
            next,
            previous: Vec::new(),
        })
    };
    assert_eq!(decide(with(next("b", 200, None)), 300), SecretStep::Promote);
    assert!(
        matches!(decide(with(None), 300), SecretStep::Replace { why, keep } if why.contains("expired") && keep.is_empty())
    );
    assert!(matches!(decide(with(None), -1), SecretStep::Refuse { why } if why.contains("check the clocks")));
}

fn secret(labels: &[(&str, &str)], data: BTreeMap<String, ByteString>) -> Secret {
    let labels = labels
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Secret {
        metadata: ObjectMeta {
            labels: Some(labels.collect()),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..Secret::default()
    }
}

const OURS: &[(&str, &str)] = &[(names::MANAGED_BY, names::CAMBIUM)];

#[test]
fn a_secret_comes_back_as_it_was_written() {
    let new = || Authority::generate(day(0), SignedDuration::from_hours(24 * 300)).unwrap();
    let lifetimes = Lifetimes::default();
    let mut stored = Stored::Whole(Box::new(Authorities::only(new())));
    let forget = SecretStep::Forget { expired: Vec::new() };
    for step in [
        SecretStep::AddNext,
        SecretStep::RecordPublished,
        SecretStep::ForgetPublished,
        SecretStep::RecordPublished,
        SecretStep::Promote,
        SecretStep::AddNext,
        SecretStep::Promote,
        forget,
    ] {
        let after = stored.after(&step, &lifetimes, day(201)).unwrap().unwrap();
        stored = Stored::read(Some(&secret(OURS, after.data())));
        assert_eq!(stored, Stored::Whole(Box::new(after)), "{step:?}");
    }
    assert_eq!(stored.certificates().len(), 3);
}

#[test]
fn nothing_is_believed_that_does_not_hold_together() {
    let lifetime = SignedDuration::from_hours(24 * 300);
    let [one, other] =
        [0, 0].map(|from| Authorities::only(Authority::generate(day(from), lifetime).unwrap()).data());
    let leaf_like = {
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = rcgen::CertificateParams::new(["a.b.svc".to_owned()]).unwrap();
        (certificate.self_signed(&key).unwrap().pem(), key.serialize_pem())
    };
    let foreign = {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
    };
    let with = |changes: &[(&str, Option<&[u8]>)]| {
        let mut data = one.clone();
        for (key, value) in changes {
            match value {
                Some(value) => data.insert((*key).to_owned(), ByteString(value.to_vec())),
                None => data.remove(*key),
            };
        }
        data
    };
    let both = [one["ca.crt"].0.as_slice(), other["ca.crt"].0.as_slice()].concat();
    let cases: Vec<(&str, BTreeMap<String, ByteString>, &str, usize)> = vec![
        ("empty", BTreeMap::new(), "not a private key", 0),
        ("no key", with(&[("ca.key", None)]), "not a private key", 1),
        (
            "no certificate",
            with(&[("ca.crt", None)]),
            "not one certificate",
            0,
        ),
        (
            "garbage",
            with(&[("ca.crt", Some(b"\xff\x00garbage"))]),
            "not one certificate",
            0,
        ),
        (
            "cut off",
            with(&[("ca.crt", Some(&one["ca.crt"].0[..200]))]),
            "not one certificate",
            0,
        ),
        (
            "two certificates",
            with(&[("ca.crt", Some(&both))]),
            "not one certificate",
            0,
        ),
        (
            "another's key",
            with(&[("ca.key", Some(&other["ca.key"].0))]),
            "belongs to another",
            1,
        ),
        (
            "no authority",
            with(&[
                ("ca.crt", Some(leaf_like.0.as_bytes())),
                ("ca.key", Some(leaf_like.1.as_bytes())),
            ]),
            "not the certificate of an authority",
            0,
        ),
        (
            "somebody else's authority",
            with(&[
                ("ca.crt", Some(foreign.0.as_bytes())),
                ("ca.key", Some(foreign.1.as_bytes())),
            ]),
            "not an authority of ours",
            0,
        ),
    ];
    for (what, data, expected, count) in cases {
        let Stored::Damaged { why, readable } = Stored::read(Some(&secret(OURS, data))) else {
            unreachable!("{what} was believed");
        };
        assert!(why.contains(expected), "{what}: {why}");
        assert_eq!(readable.len(), count, "{what}");
    }
    assert_eq!(Stored::read(None), Stored::Absent);
    assert_eq!(Stored::read(Some(&secret(&[], one.clone()))), Stored::Foreign);
    let odd = with(&[
        ("next.crt", Some(b"x")),
        ("previous.crt", Some(b"y")),
        ("next.published", Some(b"z")),
    ]);
    let Stored::Whole(authorities) = Stored::read(Some(&secret(OURS, odd))) else {
        unreachable!("the authority itself is whole");
    };
    assert!(authorities.next.is_none() && authorities.previous.is_empty());
}

#[test]
fn keys_are_shown_to_nobody() {
    let authority = Authority::generate(day(0), SignedDuration::from_hours(24)).unwrap();
    let data = Authorities::only(authority).data();
    let key = std::str::from_utf8(&data["ca.key"].0).unwrap();
    let secret_line = key.lines().nth(1).unwrap();
    let shown = format!("{:?}", Stored::read(Some(&secret(OURS, data.clone()))));
    assert!(shown.contains("PrivateKey(…)"), "{shown}");
    assert!(!shown.contains(secret_line));
    let mut damaged = data.clone();
    damaged.insert(
        "ca.key".to_owned(),
        ByteString(key.replace("BEGIN", "BEGUN").into_bytes()),
    );
    let shown = format!("{:?}", Stored::read(Some(&secret(OURS, damaged))));
    assert!(!shown.contains(secret_line), "not even when it cannot be read");
}
