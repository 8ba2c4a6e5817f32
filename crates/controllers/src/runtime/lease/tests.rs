use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn settings() -> Settings {
    Settings::new("n", "l", "us")
}

/// The rule as a table: what is known (times in seconds), and what to do at 100.
#[tokio::test(start_paused = true)]
async fn what_is_known_decides_what_to_do() {
    let zero = Instant::now();
    let at = |second: u64| zero + u32::try_from(second).expect("small") * SECOND;
    let held = |holder: &str| {
        Some(Seen {
            holder: Some(holder.to_owned()).filter(|holder| !holder.is_empty()),
            duration: Some(15 * SECOND),
            version: "1".to_owned(),
        })
    };
    let known = |lease: Option<Seen>, since: u64, looked: u64| Observed {
        lease,
        since: Some(at(since)),
        looked: Some(at(looked)),
        ..Observed::default()
    };
    let leading = |renewed: u64| Observed {
        renewed: Some(at(renewed)),
        ..known(held("us"), renewed, renewed)
    };
    let stale = |observed: Observed| Observed {
        stale: true,
        ..observed
    };
    let short = |observed: Observed, seconds: u32| {
        let lease = observed.lease.map(|lease| Seen {
            duration: Some(seconds * SECOND),
            ..lease
        });
        Observed { lease, ..observed }
    };
    let cases = [
        ("nothing is known", Observed::default(), Step::Look),
        ("there is no lease", known(None, 99, 99), Step::Take),
        ("it was given back", known(held(""), 99, 99), Step::Take),
        ("it is ours from before", known(held("us"), 99, 99), Step::Take),
        (
            "another's, seen just now",
            known(held("them"), 100, 100),
            Step::Wait(2 * SECOND),
        ),
        (
            "another's, looked at a second ago",
            known(held("them"), 90, 99),
            Step::Wait(SECOND),
        ),
        ("another's, time to look", known(held("them"), 90, 98), Step::Look),
        (
            "another's, unchanged for long enough",
            known(held("them"), 85, 99),
            Step::Take,
        ),
        (
            "another's, almost",
            known(held("them"), 86, 99),
            Step::Wait(SECOND),
        ),
        (
            "another's, who promised less",
            short(known(held("them"), 95, 99), 5),
            Step::Take,
        ),
        (
            "another's, who promised more",
            short(known(held("them"), 70, 99), 60),
            Step::Wait(SECOND),
        ),
        (
            "another's, but out of date",
            stale(known(held("them"), 10, 99)),
            Step::Look,
        ),
        ("ours, fresh", leading(99), Step::Wait(SECOND)),
        ("ours, time to renew", leading(98), Step::Renew),
        ("ours, late", leading(91), Step::Renew),
        ("ours, too late", leading(90), Step::GiveUp),
        ("ours, out of date", stale(leading(98)), Step::Look),
        ("ours, out of date and too late", stale(leading(80)), Step::GiveUp),
    ];
    for (what, observed, expected) in cases {
        assert_eq!(decide(&settings(), &observed, at(100)), expected, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_change_starts_the_count_anew() {
    let mut observed = Observed::default();
    let seen = |version: &str| {
        Some(Seen {
            holder: Some("them".to_owned()),
            duration: Some(15 * SECOND),
            version: version.to_owned(),
        })
    };
    let zero = Instant::now();
    observed.learn(seen("1"), zero);
    observed.learn(seen("1"), zero + 14 * SECOND);
    assert_eq!(decide(&settings(), &observed, zero + 15 * SECOND), Step::Take);
    observed.learn(seen("2"), zero + 15 * SECOND);
    assert_eq!(
        decide(&settings(), &observed, zero + 16 * SECOND),
        Step::Wait(SECOND)
    );
    assert_eq!(decide(&settings(), &observed, zero + 30 * SECOND), Step::Take);
}
