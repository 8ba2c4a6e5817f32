//! Laws: what holds in every world.

use crate::fixtures::{content, hours, now, revision};
use crate::model::{self, World, is_even, lineage, policy, scheme, world};
use cambium_lineage::{
    Action, Closed, Content, InUse, Lineage, Lock, Movement, Next, Policy, Question, Reference, Resolution,
    Retention, Revision, Scheme, Selector, Usage, Verdict, Version, Wanted, next, resolve, retain,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn ask<'w>(world: &'w World) -> Question<'w, 'w> {
    let question = Question::new(&world.reference, world.policy, &world.lineage).using(world.in_use.as_ref());
    let question = question.closed_to(&world.closed);
    if world.selects_even {
        question.among(Selector::new("even", &is_even))
    } else {
        question
    }
}

fn chosen(resolution: &Resolution<'_>) -> Option<String> {
    resolution.revision().map(|revision| revision.name().to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn resolution_equals_the_naive_model(world in world()) {
        let resolution = ask(&world).resolve();
        prop_assert_eq!(chosen(&resolution), model::resolve(&world), "{:?}", resolution.decision);
    }

    #[test]
    fn explanations_have_one_line_per_revision_and_agree(world in world()) {
        let explanation = ask(&world).explain();
        let names: BTreeSet<_> = explanation.lines.iter().map(|(revision, _)| revision.name()).collect();
        prop_assert_eq!(names.len(), world.lineage.revisions().len());
        prop_assert_eq!(explanation.lines.len(), names.len());
        let marked: Vec<_> = explanation.lines.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Chosen(_))).collect();
        let picked = explanation.resolution.revision();
        prop_assert_eq!(marked.len(), usize::from(picked.is_some()));
        prop_assert!(marked.iter().all(|(revision, _)| Some(*revision) == picked));
    }

    #[test]
    fn resolving_again_stays(world in world()) {
        if let Some(revision) = ask(&world).resolve().revision() {
            let settled = World { in_use: Some(InUse::of(revision)), ..world.clone() };
            let again = ask(&settled).resolve().decision.unwrap();
            prop_assert_eq!((again.revision, again.movement), (revision, Movement::Stays));
        }
    }

    #[test]
    fn only_a_full_version_selects_a_prerelease(world in world()) {
        let first = World { in_use: None, ..world };
        if first.lineage.scheme() != Scheme::Versioned {
            return Ok(());
        }
        if let Some(revision) = ask(&first).resolve().revision() {
            let release = revision.version().is_some_and(Version::is_release);
            prop_assert!(release || matches!(first.reference.wanted(), Wanted::Exact(_)));
        }
    }

    #[test]
    fn publishing_moves_nobody_down_and_a_back_port_moves_nobody_above_it(world in world(), new in (0_u64..3, 0_u64..3, 3_u64..5)) {
        if world.lineage.scheme() != Scheme::Versioned {
            return Ok(());
        }
        let before = World { in_use: None, selects_even: false, closed: Closed::default(), ..world };
        let Some(held) = ask(&before).resolve().revision() else { return Ok(()) };
        let version: Version = format!("{}.{}.{}", new.0, new.1, new.2).parse().unwrap();
        let added = revision("web-new", before.lineage.issued() + 1, "new").with_version(version.clone());
        let lineage = Lineage::builder("web", Scheme::Versioned)
            .revisions(before.lineage.revisions().iter().cloned())
            .revision(added)
            .build()
            .unwrap();
        let in_use = InUse::of(held);
        let after = resolve(&before.reference, before.policy, &lineage, Some(&in_use));
        let after = after.revision().unwrap();
        prop_assert!(after.version() >= held.version());
        if Some(&version) < held.version() {
            prop_assert_eq!(after.name(), held.name());
        }
    }

    #[test]
    fn opening_never_moves_a_follower_down_and_closing_again_takes_back(world in world()) {
        let follower = World { policy: Policy::Automatic, in_use: None, ..world };
        let opened = World { closed: Closed::default(), ..follower.clone() };
        let intact = follower.lineage.revisions().iter().all(|revision| revision.altered().is_none());
        if intact {
            prop_assert!(model_place(&follower) <= model_place(&opened));
        }
        let Some(taken) = ask(&opened).resolve().revision() else { return Ok(()) };
        let closed_again = World { in_use: Some(InUse::of(taken)), ..follower.clone() };
        let fixed = !ask(&follower).follows();
        prop_assert!(fixed || chosen(&ask(&closed_again).resolve()) == chosen(&ask(&follower).resolve()));
    }

    #[test]
    fn who_does_not_follow_is_not_moved_by_what_is_closed(world in world()) {
        let opened = World { closed: Closed::default(), ..world.clone() };
        let Some(held) = ask(&opened).resolve().revision() else { return Ok(()) };
        if ask(&opened).follows() {
            return Ok(());
        }
        let holder = World { in_use: Some(InUse::of(held)), ..world };
        let stays = chosen(&ask(&holder).resolve());
        prop_assert_eq!(stays, Some(held.name().to_string()));
    }

    #[test]
    fn a_lock_of_what_was_chosen_gives_what_was_chosen(world in world()) {
        let first = World { in_use: None, ..world };
        let Some(revision) = ask(&first).resolve().revision() else { return Ok(()) };
        let mut lock = Lock::default();
        lock.record("kind", first.reference.clone(), revision);
        let again: Lock = lock.to_string().parse().unwrap();
        let locked = again.locked("kind", &first.reference).unwrap();
        prop_assert!(again.check("kind", &first.reference, revision).is_ok());
        let resolution = ask(&first).locked_to(locked).resolve();
        prop_assert_eq!(resolution.revision().map(Revision::digest), Some(revision.digest()));
    }

    #[test]
    fn retention_equals_the_naive_model(
        lineage in lineage(), newest in 0_usize..6, grace in 0_i64..48, delay in 0_i64..5, used in prop::collection::vec(0_u64..20, 0..4),
    ) {
        let retention = Retention { newest, grace: hours(grace), delay: hours(delay) };
        let used: Vec<String> = used
            .into_iter()
            .filter_map(|number| lineage.revisions().iter().find(|revision| revision.number() == number))
            .map(|revision| revision.name().to_string())
            .collect();
        let mut usage = Usage::none();
        used.iter().for_each(|name| usage.refer(name.parse().unwrap(), "somebody"));
        usage.select(Selector::new("even", &is_even));
        for retained in retain(&lineage, &usage, &retention, now()) {
            let kept = model::is_kept(&lineage, &used, &retention, retained.revision);
            prop_assert_eq!(kept, !retained.reasons.is_empty(), "{:?}", retained);
            let marked = retained.revision.unused_since();
            let ripe = marked.is_some_and(|since| since <= now() - retention.delay);
            let expected = match (kept, marked.is_some()) {
                (true, false) => Action::Keep,
                (true, true) => Action::Unmark,
                (false, false) => Action::Mark,
                (false, true) => if ripe { Action::Delete } else { Action::Wait },
            };
            prop_assert_eq!(retained.action, expected);
        }
    }

    #[test]
    fn a_history_of_edits_and_deletions_never_reuses_a_number_and_settles(
        scheme in scheme(), steps in prop::collection::vec((0_usize..5, 0_u64..4, prop::bool::weighted(0.2)), 1..30),
    ) {
        let mut history = Vec::new();
        let mut lineage = Lineage::builder("web", scheme).build().unwrap();
        for (text, patch, forget) in steps {
            let content = edit(scheme, text, patch);
            let number = match next(&lineage, &content) {
                Next::Issue { number, .. } | Next::Reuse { number, .. } => Some(number),
                _ => None,
            };
            if let Some(number) = number {
                prop_assert!(history.iter().all(|earlier| *earlier < number), "{} in {:?}", number, history);
                history.push(number);
            }
            lineage = carry_out(&lineage, text, patch);
            let settled = next(&lineage, &content);
            prop_assert!(matches!(settled, Next::Unchanged(_) | Next::Conflict { .. }), "{:?}", settled);
            if let (Next::Unchanged(revision), false) = (settled, scheme == Scheme::Versioned) {
                prop_assert_eq!(Some(revision), lineage.newest());
            }
            if forget {
                let rest = lineage.revisions().iter().skip(1).cloned();
                lineage = Lineage::builder("web", scheme).issued(lineage.issued()).revisions(rest).build().unwrap();
            }
        }
    }

    #[test]
    fn references_follow_by_policy_alone(policy in policy(), lineage in lineage()) {
        let fixed: Reference = "web@1.2.3".parse().unwrap();
        let free = resolve(&fixed, Policy::Automatic, &lineage, None);
        prop_assert_eq!(chosen(&resolve(&fixed, policy, &lineage, None)), chosen(&free));
    }
}

/// Something that grows with how high the choice is.
fn model_place(world: &World) -> Option<(Option<Version>, u64)> {
    let revision = ask(world).resolve().revision()?;
    match world.lineage.scheme() {
        Scheme::Versioned => Some((revision.version().cloned(), 0)),
        _ => Some((None, revision.number())),
    }
}

fn edit(scheme: Scheme, text: usize, patch: u64) -> Content {
    let digest = content(&text.to_string());
    match scheme {
        Scheme::Versioned => Content::versioned(digest, format!("1.0.{patch}").parse().expect("a version")),
        _ => Content::new(digest),
    }
}

/// The lineage after the edit was published.
fn carry_out(lineage: &Lineage, text: usize, patch: u64) -> Lineage {
    let content_of = text.to_string();
    let mut revisions: Vec<Revision> = lineage.revisions().to_vec();
    match next(lineage, &edit(lineage.scheme(), text, patch)) {
        Next::Issue { number, .. } => {
            let issued = revision(&format!("web-{number}"), number, &content_of);
            revisions.push(match lineage.scheme() {
                Scheme::Versioned => issued.with_version(format!("1.0.{patch}").parse().expect("a version")),
                _ => issued,
            });
        }
        Next::Reuse {
            revision: old,
            number,
        } => {
            revisions.retain(|revision| revision.name() != old.name());
            revisions.push(Revision::new(
                old.name().clone(),
                number,
                old.digest(),
                old.created(),
            ));
        }
        _ => {}
    }
    let builder = Lineage::builder("web", lineage.scheme()).issued(lineage.issued());
    builder.revisions(revisions).build().expect("a lineage")
}
