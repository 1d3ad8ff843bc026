//! The engine against the brute-force oracle on histories of ranges, inserts, deletes, lists, recorded versions and
//! predicates.
//! Every verdict's certificate is checked. `ISOSCOPE_SOAK=200000` asks for that many random histories per level.

use std::cell::Cell;
use std::fmt::Write;

use certify::{Certificate, Core, Level};
use history::History;
use index::Index;
use isoscope_verify::{Options, Stages, Verdict, verify};
use testkit::generate_rows::{self, RowKind};
use testkit::{agree_if_decided, oracle};

fn engine(history: &History, level: &Level, stages: Stages) -> Option<(bool, Certificate)> {
    let options = Options { stages, ..Options::default() };
    match verify(history, &Index::of(history), level, &options).ok()?.verdict {
        Verdict::Holds(certificate) => Some((true, certificate)),
        Verdict::Violated(certificate) => Some((false, certificate)),
        Verdict::Undecided(limit) => panic!("no limit was set, but {limit:?} was reached"),
    }
}

fn count_per_level(default: u64) -> u64 {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

/// Random histories of one content at every level; both verdicts must be well represented, and few undecided.
fn agreement(content: RowKind, most_undecided: f64) {
    agreement_with(content, most_undecided, Stages::default());
}

fn agreement_with(content: RowKind, most_undecided: f64, stages: Stages) {
    for (number, (name, level)) in Level::NAMED.into_iter().enumerate() {
        if content == RowKind::Lists && level.core == Core::Prefix {
            continue;
        }
        let (first, count) = (7_000_000 * (number as u64 + 1), count_per_level(1_500));
        println!("{name}: seeds {first} to {}", first + count);
        let (holds, undecided) = (Cell::new(0u64), Cell::new(0u64));
        let counting = |history: &History, level: &Level| {
            let answer = engine(history, level, stages);
            match &answer {
                None => undecided.set(undecided.get() + 1),
                Some((verdict, _)) => holds.set(holds.get() + u64::from(*verdict)),
            }
            answer
        };
        for seed in first..first + count {
            let history = generate_rows::history(seed, content);
            if let Some(why) = oracle::refusal(&history) {
                panic!("seed {seed}: {why}");
            }
            let skew = [0, 0, 1, 3][seed as usize % 4];
            let level = if history.has_times() { level.with_clock_skew(skew) } else { level };
            if let Err(disagreement) = agree_if_decided(&history, &level, &counting) {
                panic!("seed {seed}: {disagreement}");
            }
        }
        let share = holds.get() as f64 / count as f64;
        let left = undecided.get() as f64 / count as f64;
        println!("{name}: {share:.2} hold, {left:.3} undecided");
        assert!((0.1..=0.9).contains(&share), "{name}: {share} of the histories satisfy the level");
        assert!(left <= most_undecided, "{name}: {left} of the histories are not decided");
    }
}

#[test]
fn soak_ranges() {
    agreement(RowKind::Ranges, 0.01);
}

#[test]
fn soak_lists() {
    agreement(RowKind::Lists, 0.02);
}

#[test]
fn soak_versions() {
    agreement(RowKind::Versions, 0.7);
}

#[test]
fn soak_predicates() {
    agreement(RowKind::Predicates, 0.0);
}

/// Without running transactions on rows: every choice is made by cases.
#[test]
fn soak_predicates_by_cases() {
    for content in [RowKind::Predicates, RowKind::Mixed] {
        agreement_with(content, 0.0, Stages { rows: false, ..Stages::default() });
    }
}

/// As if there were many keys: those in doubt first, and others as they turn out to be.
#[test]
fn soak_predicates_in_part() {
    for content in [RowKind::Predicates, RowKind::Columns, RowKind::Mixed] {
        agreement_with(content, 0.0, Stages { rows: false, whole: false, ..Stages::default() });
        agreement_with(content, 0.0, Stages { whole: false, ..Stages::default() });
    }
}

#[test]
fn soak_columns() {
    agreement(RowKind::Columns, 0.0);
}

#[test]
fn soak_mixed() {
    agreement(RowKind::Mixed, 0.0);
}

/// An unknown transaction that must have committed is before the rest of its session, also when that has begun already.
#[test]
fn an_unknown_insert_is_before_what_its_session_did_later() {
    let text =
        "init *=nil\na: pw(true)={\"+\": 1}~{1} @[?..38,?]\nb: i(1)=0 unknown\nb: r(1)=nil @[?,54..?]\n";
    let history = formats::notation::parse(text).expect("the notation is right");
    for (name, level) in Level::NAMED {
        let level = level.with_clock_skew(1);
        let answer =
            agree_if_decided(&history, &level, &|history, level| engine(history, level, Stages::default()));
        assert!(answer.is_ok(), "{name}: {answer:?}");
    }
}

/// Runs the transactions on rows at strong snapshot isolation, which must explain them; gives how many orders it learned.
fn orders_learned_for(text: &str) -> u64 {
    let history = formats::notation::parse(text).expect("the notation is right");
    let options = Options { stages: Stages { whole: false, ..Stages::default() }, ..Options::default() };
    let answer = verify(&history, &Index::of(&history), &Level::STRONG_SI, &options).expect("it is decided");
    let Verdict::Holds(certificate) = &answer.verdict else { panic!("{:?}", answer.verdict) };
    certify::check(&history, &Level::STRONG_SI, certificate).expect("the order is right");
    let count = |name: &str| answer.stats.counts.iter().find(|(of, _)| *of == name).map(|&(_, count)| count);
    assert_eq!(count("reads"), None, "the engine was not asked: {:?}", answer.stats);
    count("learned orders").unwrap_or(0)
}

/// The writer's commit took long, so a transaction that began in the meantime may not have seen it, although everything else of it came
/// later. It has to have begun first, not to have committed first.
#[test]
fn a_snapshot_is_taken_before_a_commit_that_took_long() {
    let text = "init x={\"v\": 1} y={\"v\": 2}\n\
        a: pw(v=1)={\"v\": 5} @[0..0,1..30]\n\
        b: r(y)={\"v\": 2} @[16..16,18..19]\n\
        b: pw(v=2)={\"v\": 6} p(v=1)={x={\"v\": 1}} @[20..21,40..41]\n";
    assert_eq!(orders_learned_for(text), 1);
}

/// The same, where only the number of changed rows tells so.
#[test]
fn a_number_of_rows_tells_who_came_too_early() {
    let text = "init x={\"v\": 1} y={\"v\": 1} z={\"v\": 7} u={\"v\": 0}\n\
        a: w(z)={\"v\": 1} @[0..0,3..30]\n\
        b: r(u)={\"v\": 0} @[16..16,18..19]\n\
        b: pw(v=1)={\"v\": 9}*2 @[20..21,40..41]\n";
    assert_eq!(orders_learned_for(text), 1);
}

/// Of many rows that were changed in many ways it is not known what they held; but a transaction that saw two things of one row, without
/// having changed it, contradicts itself, and that is said at every level.
#[test]
fn two_sights_of_a_row_contradict_each_other_however_many_rows_there_are() {
    let rows = |value: i64| format!("{{\"a\": {value}, \"b\": {value}}}");
    let mut text: String = (0..128).map(|key| format!("init x{key}={}\n", rows(key))).collect();
    for value in 0..128 {
        let column = ["a", "b"][value % 2];
        let _ = writeln!(text, "s{}: pw(a>={value})={{\"{column}\": {}}}", value % 8, value + 200);
    }
    let _ = writeln!(text, "t: p(b=7)={{x7={}}} p(a=7)={{}}", rows(7));
    let history = formats::notation::parse(&text).expect("the notation is right");
    for (name, level) in Level::NAMED {
        let (holds, certificate) = engine(&history, &level, Stages::default()).expect(name);
        assert!(!holds, "{name}");
        if testkit::has_certificates(&history, &level) {
            certify::check(&history, &level, &certificate).expect(name);
        }
    }
}

/// Two transactions saw both rows, and each changed one of them: the contradiction is about these rows alone.
#[test]
fn rows_that_were_overwritten_crosswise_are_asked_about_first() {
    let mut text: String = (0..40).map(|key| format!("init x{key}={{\"v\": {key}}}\n")).collect();
    let rows: Vec<String> = (0..40).map(|key| format!("x{key}={{\"v\": {key}}}")).collect();
    for (session, key) in [("a", 3), ("b", 17)] {
        let _ = writeln!(
            text,
            "{session}: p(v < 50)={{{}}} pw(v = {key})={{\"v\": {}}}~{{x{key}}}",
            rows.join(" "),
            key + 100
        );
    }
    let history = formats::notation::parse(&text).expect("the notation is right");
    let stages = Stages { whole: false, ..Stages::default() };
    let (holds, certificate) = engine(&history, &Level::SERIALIZABLE, stages).expect("it is decided");
    assert!(!holds);
    certify::check(&history, &Level::SERIALIZABLE, &certificate).expect("it is a contradiction");
    let Certificate::Violated { keys: Some(keys), .. } = &certificate else { panic!("{certificate:?}") };
    assert_eq!(keys.iter().map(|key| key.0).collect::<Vec<_>>(), [3, 17]);
    let (holds, _) = engine(&history, &Level::SNAPSHOT_ISOLATION, stages).expect("it is decided");
    assert!(holds);
}

/// All rows of a large history are decided at once, and the derivation names those that it needs.
#[test]
fn a_violation_in_a_large_history_names_few_rows() {
    let mut text: String = (0..8).map(|key| format!("init x{key}={{\"v\": {key}}}\n")).collect();
    (0..600).for_each(|_| text.push_str("c: r(x5)={\"v\": 5}\n"));
    let rows: Vec<String> = (0..8).map(|key| format!("x{key}={{\"v\": {key}}}")).collect();
    for (session, key) in [("a", 3), ("b", 7)] {
        let all = rows.join(" ");
        let new = key + 100;
        let _ = writeln!(text, "{session}: p(v < 50)={{{all}}} pw(v = {key})={{\"v\": {new}}}~{{x{key}}}");
    }
    let history = formats::notation::parse(&text).expect("the notation is right");
    let (holds, certificate) =
        engine(&history, &Level::SERIALIZABLE, Stages::default()).expect("it is decided");
    assert!(!holds);
    certify::check(&history, &Level::SERIALIZABLE, &certificate).expect("it is a contradiction");
    let Certificate::Violated { keys: Some(keys), .. } = &certificate else { panic!("{certificate:?}") };
    assert_eq!(keys.iter().map(|key| key.0).collect::<Vec<_>>(), [3, 7]);
}
