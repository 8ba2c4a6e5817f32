//! Versions, references and names: what is read, what is refused, and what the refusal says.

use cambium_lineage::{GivenName, Reference, RevisionName, Series, Version, VersionProblem, Wanted};
use proptest::prelude::*;
use std::collections::HashSet;

fn version_error(text: &str) -> (VersionProblem, String, Option<String>) {
    let error = text.parse::<Version>().expect_err("a refusal");
    (error.problem, error.part, error.suggestion)
}

#[test]
fn declared_versions_are_read() {
    for (text, shown) in [
        ("2", "2.0.0"),
        ("3.4", "3.4.0"),
        ("1.2.3", "1.2.3"),
        ("0.0.0", "0.0.0"),
        ("1.2.0-rc.0", "1.2.0-rc.0"),
        ("1.0.0-alpha-1.0a+build.007", "1.0.0-alpha-1.0a+build.007"),
        ("1.2.3+b7", "1.2.3+b7"),
        ("18446744073709551615.0.0", "18446744073709551615.0.0"),
    ] {
        assert_eq!(text.parse::<Version>().unwrap().to_string(), shown);
    }
}

#[test]
fn versions_are_refused_with_the_offending_part_and_a_suggestion() {
    use VersionProblem::*;
    for (text, problem, part, suggestion) in [
        ("", Empty, "", None),
        ("v1.2.3", Prefix, "v", Some("1.2.3")),
        ("V2", Prefix, "V", Some("2")),
        ("1.2.x", NotANumber, "x", Some("1.2.0")),
        ("1..3", NotANumber, "", Some("1.0.3")),
        ("01.2.3", LeadingZero, "01", Some("1.2.3")),
        ("1.2.3.4", TooManyNumbers, "4", Some("1.2.3")),
        ("1.2-rc.1", NeedsThreeNumbers, "rc.1", Some("1.2.0-rc.1")),
        ("2+b", NeedsThreeNumbers, "b", Some("2.0.0+b")),
        ("1.2.3-", EmptyIdentifier, "", Some("1.2.3")),
        ("1.2.3-a..b", EmptyIdentifier, "a..b", Some("1.2.3-a.b")),
        ("1.2.3-rc_1", BadCharacter, "rc_1", Some("1.2.3-rc-1")),
        ("1.2.3-rc.01", LeadingZero, "rc.01", Some("1.2.3-rc.1")),
        (" 1.2.3", Blank, " 1.2.3", Some("1.2.3")),
        ("99999999999999999999", TooLarge, "99999999999999999999", None),
        ("-1.2.3", NotANumber, "", None),
        ("+1.2.3", NotANumber, "", None),
        ("latest", NotANumber, "latest", None),
        ("é.1", NotANumber, "é", None),
    ] {
        let expected = (problem, part.to_string(), suggestion.map(str::to_string));
        assert_eq!(version_error(text), expected, "{text:?}");
    }
    assert_eq!(version_error(&"1".repeat(129)).0, TooLong);
    let message = "v1.2.3".parse::<Version>().unwrap_err().to_string();
    assert_eq!(
        message,
        "\"v1.2.3\" is not a semantic version: a declared version does not begin with \"v\"; write \"1.2.3\""
    );
}

#[test]
fn precedence_is_that_of_semantic_versioning() {
    let ordered = [
        "0.9.0",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta.2",
        "1.0.0-beta.11",
        "1.0.0-rc.1",
        "1.0.0",
        "1.0.1",
        "1.2.0",
        "1.10.0",
        "2.0.0",
    ];
    let versions: Vec<Version> = ordered.iter().map(|text| text.parse().unwrap()).collect();
    assert!(versions.is_sorted());
}

#[test]
fn build_metadata_is_kept_and_decides_nothing() {
    let [a, b]: [Version; 2] = ["1.2.3+a", "1.2.3+b"].map(|text| text.parse().unwrap());
    assert_eq!(a, b);
    assert_eq!((a.build(), b.build()), ("a", "b"));
    assert_eq!(HashSet::from([a, b]).len(), 1);
}

#[test]
fn references_are_read() {
    let wanted = |text: &str| text.parse::<Reference>().unwrap().wanted().clone();
    assert_eq!(wanted("web"), Wanted::Newest);
    assert_eq!(wanted("my-app.example.org@v1"), Wanted::Series(Series::major(1)));
    for text in ["web@1.2", "web@v1.2"] {
        assert_eq!(wanted(text), Wanted::Series(Series::minor(1, 2)));
    }
    assert_eq!(wanted("web@1.2.3"), Wanted::Exact("1.2.3".parse().unwrap()));
    assert_eq!(
        wanted("web@v1.3.0-RC.1"),
        Wanted::Exact("1.3.0-RC.1".parse().unwrap())
    );
    for text in [
        "web@prod",
        "web@1.2-rc.1",
        "web@1.2.3.4",
        "web@01",
        "web@vault",
        "web@1.foo",
    ] {
        assert!(matches!(wanted(text), Wanted::Named(_)), "{text}");
    }
}

#[test]
fn references_are_refused_with_the_nearest_legal_one() {
    for (text, nearest) in [
        ("", None),
        ("   ", None),
        ("@v10", None),
        ("web@", Some("web")),
        ("web@@v2", Some("web@v2")),
        ("web@v10@v3", Some("web@v10")),
        ("web @1.2", Some("web@1.2")),
        (" web", Some("web")),
        ("web@ 1.2", Some("web@1.2")),
        ("Web@1.2", Some("web@1.2")),
        ("web@V1.2", Some("web@v1.2")),
        ("web@PROD", Some("web@prod")),
        ("my_app@1", Some("my-app@1")),
        ("web@1.2.", Some("web@1.2")),
        ("web@.1", Some("web@1")),
        ("web@1.2+b", Some("web@1.2")),
        ("web@rc_1", Some("web@rc-1")),
        ("web@>1.2", Some("web@1")),
        ("web@>=1.2.3", Some("web@1")),
        ("web@>= v1.2.3", Some("web@1")),
        ("web@>1.2.0 <2", Some("web@1")),
        ("web@^1", Some("web@1")),
        ("web@^1.2.3", Some("web@1")),
        ("web@^0.2.3", Some("web@0.2")),
        ("web@^0.0.3", Some("web@0.0.3")),
        ("web@~1.2", Some("web@1.2")),
        ("web@~1.2.3", Some("web@1.2")),
        ("web@~1", Some("web@1")),
        ("web@<2", Some("web@1")),
        ("web@<1.4.0", Some("web@1.3")),
        ("web@<=1.4", Some("web@1.4")),
        ("web@<0", Some("web")),
        ("web@=1.2.3", Some("web@1.2.3")),
        ("web@1.2 - 1.4", Some("web@1.2")),
        ("web@1.2,1.3", Some("web@1.2")),
        ("web@1 || 2", Some("web@1")),
        ("web@latest", Some("web")),
        ("web@LATEST", Some("web")),
        ("web@1.x", Some("web@1")),
        ("web@v1.X", Some("web@1")),
        ("web@1.2.*", Some("web@1.2")),
        ("web@x", Some("web")),
        ("web@*", Some("web")),
        ("web@99999999999999999999", Some("web")),
    ] {
        let error = text.parse::<Reference>().unwrap_err();
        assert_eq!(error.suggestion.as_deref(), nearest, "{text:?}: {error}");
    }
}

#[test]
fn refusals_read_as_sentences() {
    for (text, message) in [
        (
            "web@^1.2",
            "\"web@^1.2\" is not a reference: \"^1.2\" is a range, and ranges are not supported; the nearest legal reference is \"web@1\"",
        ),
        (
            "web@v10@v3",
            "\"web@v10@v3\" is not a reference: \"v10@v3\" contains a second \"@\"; the nearest legal reference is \"web@v10\"",
        ),
        ("@v10", "\"@v10\" is not a reference: no name before the \"@\""),
        (
            "web@Prod",
            "\"web@Prod\" is not a reference: \"Prod\" contains upper-case letters; the nearest legal reference is \"web@prod\"",
        ),
    ] {
        assert_eq!(text.parse::<Reference>().unwrap_err().to_string(), message);
    }
    let long = format!("web@{}", "a".repeat(10_000));
    assert!(long.parse::<Reference>().unwrap_err().to_string().len() < 400);
}

#[test]
fn a_name_that_no_reference_could_name_cannot_be_given() {
    for text in ["latest", "1.x", "x", "Prod", "a b", "a_b", "-a", "a.", ""] {
        assert!(text.parse::<GivenName>().is_err(), "{text:?}");
    }
    for text in ["prod", "1.2", "1.2.3-rc.1", "2024-01-31", "vault"] {
        assert!(text.parse::<GivenName>().is_ok(), "{text:?}");
    }
}

/// Texts that look like references and versions, with everything that goes wrong in them.
fn nearly() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("web"),
        Just("@"),
        Just("v"),
        Just("1"),
        Just("2"),
        Just("0"),
        Just("01"),
        Just("."),
        Just("-"),
        Just("+"),
        Just("rc"),
        Just("x"),
        Just("*"),
        Just("^"),
        Just("~"),
        Just(">="),
        Just("<"),
        Just(" "),
        Just("latest"),
        Just("A"),
        Just("é"),
        Just("\u{0}"),
        Just("99999999999999999999"),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn whatever_is_read_is_shown_as_it_was_written(text in nearly()) {
        if let Ok(reference) = text.parse::<Reference>() {
            prop_assert_eq!(reference.to_string(), text.clone());
        }
        if let Ok(name) = text.parse::<RevisionName>() {
            prop_assert_eq!(name.to_string(), text.clone());
        }
        if let Ok(version) = text.parse::<Version>() {
            let again: Version = version.to_string().parse().unwrap();
            prop_assert_eq!(again.to_string(), version.to_string());
        }
    }

    #[test]
    fn suggestions_are_legal_and_different(text in prop_oneof![nearly(), ".{0,40}"]) {
        if let Err(error) = text.parse::<Reference>() && let Some(suggestion) = error.suggestion {
            prop_assert_ne!(&suggestion, &text);
            prop_assert!(suggestion.parse::<Reference>().is_ok(), "{}", suggestion);
        }
        if let Err(error) = text.parse::<Version>() && let Some(suggestion) = error.suggestion {
            prop_assert_ne!(&suggestion, &text);
            prop_assert!(suggestion.parse::<Version>().is_ok(), "{}", suggestion);
        }
    }

    #[test]
    fn reading_never_panics_and_messages_are_bounded(text in prop_oneof![".{0,200}", nearly()]) {
        if let Err(error) = text.parse::<Reference>() {
            prop_assert!(error.to_string().chars().count() < 2500);
        }
        if let Err(error) = text.parse::<Version>() {
            prop_assert!(error.to_string().chars().count() < 2500);
        }
        let _ = text.parse::<GivenName>();
    }
}
