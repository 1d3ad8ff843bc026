//! Orders of other levels as hints: a right one is the answer, a wrong one changes nothing.

use certify::{Certificate, Level, Node};
use history::History;
use index::Index;
use isoscope_verify::{Options, Verdict, verify};

fn read(text: &str) -> History {
    let options = formats::ReadOptions::default();
    formats::read_bytes("hints", text.as_bytes(), &options).expect("a history").history
}

fn decide(history: &History, level: &Level, hints: &[(Level, &Certificate)]) -> Verdict {
    let options = Options { hints, ..Options::default() };
    let answer = verify(history, &Index::of(history), level, &options).expect("reads and writes");
    match &answer.verdict {
        Verdict::Holds(certificate) | Verdict::Violated(certificate) => {
            assert_eq!(certify::check(history, level, certificate), Ok(()));
        }
        Verdict::Undecided(limit) => panic!("{limit:?}"),
    }
    answer.verdict
}

#[test]
fn a_serial_order_explains_every_level_of_snapshots() {
    let history = read("a: {r(x)=0 w(x)=1} {r(y)=1}\nb: {r(x)=1 w(y)=1}\n");
    let Verdict::Holds(serial) = decide(&history, &Level::SESSION_SERIALIZABLE, &[]) else { panic!() };
    // A history without times is not asked for levels of real time.
    for (_, level) in Level::NAMED.into_iter().filter(|(_, level)| !level.needs_times()) {
        let hints = [(Level::SESSION_SERIALIZABLE, &serial)];
        assert!(matches!(decide(&history, &level, &hints), Verdict::Holds(_)));
    }
}

#[test]
fn an_order_that_is_wrong_at_a_level_is_no_answer() {
    let skew = read("a: r(x)=0 w(y)=1\nb: r(y)=0 w(x)=1\n");
    let Verdict::Holds(snapshot) = decide(&skew, &Level::SNAPSHOT_ISOLATION, &[]) else { panic!() };
    let hints = [(Level::SNAPSHOT_ISOLATION, &snapshot)];
    assert!(matches!(decide(&skew, &Level::SERIALIZABLE, &hints), Verdict::Violated(_)));
}

#[test]
fn an_order_of_another_history_is_no_answer() {
    let history = read("a: r(x)=0 w(y)=1\nb: r(y)=1\n");
    let foreign = Certificate::Holds { order: vec![Node(7), Node(1)], committed_unknown: vec![] };
    let hints = [(Level::SERIALIZABLE, &foreign)];
    assert!(matches!(decide(&history, &Level::SERIALIZABLE, &hints), Verdict::Holds(_)));
}
