//! The engine on histories with known verdicts: the named ones, the peers' counterexamples, and, where the folder of
//! shared histories is beside the project, the recordings of its manifest. Every certificate is checked.

use certify::Level;
use history::History;
use index::Index;
use isoscope_verify::{Options, Verdict, verify};

fn holds(history: &History, level: &Level) -> bool {
    let answer =
        verify(history, &Index::of(history), level, &Options::default()).expect("reads and writes only");
    let (verdict, certificate) = match answer.verdict {
        Verdict::Holds(certificate) => (true, certificate),
        Verdict::Violated(certificate) => (false, certificate),
        Verdict::Undecided(limit) => panic!("no limit was set, but {limit:?} was reached"),
    };
    let checked = certify::check(history, level, &certificate);
    if let (true, Err(flaw)) = (testkit::has_certificates(history, level), checked) {
        panic!("the certificate is wrong: {flaw}");
    }
    verdict
}

#[test]
fn named_histories_and_counterexamples() {
    let mut count = 0;
    testkit::corpus::for_each(|case, level, expected| {
        if let Some(level) = Level::named(level) {
            count += 1;
            assert_eq!(holds(&case.history, &level), expected, "{} at {:?}", case.name, level.name());
        }
    });
    assert!(count > 100, "{count}");
}

/// Ranges, lists, versions and predicates, among them the predicate schedules.
#[test]
fn histories_of_rows() {
    let mut count = 0;
    for case in testkit::corpus::rows() {
        for &(name, expected) in &case.verdicts {
            let Some(level) = Level::named(name) else { continue };
            if Index::of(&case.history).first_of_list().is_some() && level.core == certify::Core::Prefix {
                continue;
            }
            count += 1;
            println!("{} at {name}", case.name);
            assert_eq!(holds(&case.history, &level), expected, "{} at {name}", case.name);
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn recordings_of_the_manifest() {
    for recording in testkit::corpus::recordings() {
        if let Some(level) = Level::named(&recording.level) {
            let history = recording.load();
            assert_eq!(holds(&history, &level), recording.holds, "{}", recording.path.display());
        }
    }
}

/// What other checkers get wrong.
#[test]
fn known_errors_of_others() {
    let cases = [
        // The initial state is before everything.
        ("S1: {w(x)=1} {r(x)=0}", Level::SESSION_SERIALIZABLE, false),
        ("S1: {w(x)=1} {r(x)=0}", Level::SERIALIZABLE, true),
        // A committed duplicate explains a read that an aborted write would not.
        ("a: w(x)=1 abort\nb: w(x)=1\nc: r(x)=1", Level::SESSION_SERIALIZABLE, true),
        ("a: w(x)=1 abort\nb: w(x)=1\nb: w(x)=2\nb: r(x)=1", Level::SESSION_SERIALIZABLE, false),
        ("a: w(x)=1 abort\nc: r(x)=1", Level::SESSION_SERIALIZABLE, false),
        // Snapshot isolation with duplicate values.
        (
            "S1: {w(x)=2 r(y)=2}\nS2: {r(z)=2} {r(x)=1}\nS3: {w(x)=1} {w(x)=1 w(y)=2}\nS4: {r(x)=2} {w(z)=2} {w(z)=2}",
            Level::SESSION_SNAPSHOT_ISOLATION,
            false,
        ),
    ];
    for (text, level, expected) in cases {
        let history = formats::notation::parse(text).expect("the notation is right");
        assert_eq!(holds(&history, &level), expected, "{text} at {:?}", level.name());
    }
}

/// Transactions of unknown outcome among duplicate values: each of these was once answered wrongly or not at all.
#[test]
fn unknown_outcomes() {
    let histories = [
        "a: r(x)=0 w(x)=1\na: r(x)=0 w(x)=0 unknown\nb: r(x)=0 w(x)=2",
        "a: r(x)=0 w(x)=2\nb: r(x)=0 w(x)=1 r(x)=1\nb: r(x)=0 r(x)=0 w(x)=0 unknown",
        "a: w(x)=1 unknown\na: r(x)=0\na: r(x)=1\na: w(x)=1",
        "a: {}\na: r(y)=0\nb: w(y)=1 unknown\nb: r(y)=1\nb: w(y)=1",
        "a: r(y)=1\nb: r(z)=1 w(y)=1 unknown\nb: w(y)=1\nb: w(z)=1",
        "a: w(y)=1\na: w(x)=0 r(y)=0 unknown\nb: r(y)=0 w(y)=0\nc: r(x)=0 r(y)=0",
        "a: w(x)=0\na: w(x)=0 unknown\nb: w(x)=1 unknown\nb: r(x)=0\nb: r(x)=1",
        "init *=?\na: r(y)=0\nb: w(y)=0 abort",
        "init *=?\na: r(x)=1 unknown\nb: r(x)=0",
        // A commit that must have been contradicts a clock.
        "a: w(1)=1^4 @[?..4,27..?]\nb: r(1)=1 @[?..14,?]\nc: w(1)=1^2 unknown @[?,8..?]",
    ];
    for text in histories {
        let history = formats::notation::parse(text).expect("the notation is right");
        for (name, level) in Level::NAMED {
            let level = level.with_clock_skew(2);
            assert_eq!(holds(&history, &level), testkit::oracle::holds(&history, &level), "{text} at {name}");
        }
    }
}
