//! A recording that is decided in pieces has the verdict of a check of the whole.

use std::fmt::Write as _;
use std::io::{Cursor, Read};
use std::sync::Arc;

use drive::simulate::{Config, StoreLevel, generate, preset};
use history::{History, Op, Outcome, TxnId};
use isoscope::{Check, Decision, LevelId, Recording, RecordingAnswer, Unlimited};
use testkit::Random;
use testkit::generate::{Shape, history};

/// The lines of a recorder: transactions in the order of their ends. `None` if a line says more than these can.
fn lines(history: &History) -> Option<String> {
    let default = history.values().original(history.initial().value_of(history::KeyId(0))?);
    let mut text = format!("{{\"isoscope\":1,\"clock\":\"nanoseconds\"}}\n{{\"default\":{default}}}\n");
    let mut txns: Vec<TxnId> = history.txns().collect();
    let last = |txn: &TxnId| history.times(*txn).recorded().map(|moment| moment.time).max();
    txns.sort_by_key(|txn| (last(txn), txn.0));
    for txn in txns {
        let ops: Option<Vec<String>> = history.ops(txn).map(|(_, op)| line_of(history, &op)).collect();
        let outcome = match history.outcome(txn) {
            Outcome::Committed => "c",
            Outcome::Aborted => "a",
            Outcome::Unknown => "u",
        };
        let times = history.times(txn);
        let all = [times.begin_request, times.begin_response, times.commit_request, times.commit_response];
        let all = all.map(|time| time.map_or("null".to_owned(), |time| time.to_string())).join(",");
        let (session, ops) = (history.session_of(txn).0, ops?.join(","));
        writeln!(text, "{{\"s\":{session},\"ops\":[{ops}],\"o\":\"{outcome}\",\"t\":[{all}]}}").unwrap();
    }
    Some(text)
}

fn line_of(history: &History, op: &Op<'_>) -> Option<String> {
    let key = |key| history.keys().original(key).to_string();
    let value = |value: history::ValueId| value.small_int();
    match *op {
        Op::Read { key: of, value: Some(saw) } => Some(format!("[\"r\",\"{}\",{}]", key(of), value(saw)?)),
        Op::Write { key: of, value: new } => Some(format!("[\"w\",\"{}\",{}]", key(of), value(new)?)),
        _ => None,
    }
}

fn in_pieces(text: &str, level: LevelId, piece_bytes: usize, threads: usize) -> Option<RecordingAnswer> {
    let bytes = text.as_bytes().to_vec();
    let monitor = Unlimited::default();
    let open = Arc::new(move || Ok(Box::new(Cursor::new(bytes.clone())) as Box<dyn Read + Send>));
    Recording { open, level, clock_skew: 0, threads, piece_bytes, monitor: &monitor }.decide()
}

fn whole(text: &str, level: LevelId) -> Decision {
    let history = formats::read_bytes("recording", text.as_bytes(), &formats::ReadOptions::default());
    let history = history.unwrap().history;
    Check::new(&history).level(level).skews(false).run().unwrap().answers[0].decision
}

const LEVELS: [LevelId; 4] = [
    LevelId::StrictSerializable,
    LevelId::StrongSi,
    LevelId::SessionSerializable,
    LevelId::SessionSnapshotIsolation,
];

#[test]
fn pieces_of_any_size_hold_only_where_the_whole_does() {
    let count = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    let (mut holding, mut violated) = (0, 0);
    for seed in 0..count {
        let random = &mut Random::new(seed);
        let shape = Shape {
            times: true,
            bad_times: 0,
            least_txns: 3,
            most_txns: random.between(4, 14),
            unknown: *random.pick(&[0, 0, 20]),
            ..Shape::any(random)
        };
        let Some(text) = lines(&history(seed, &shape)) else { continue };
        for level in LEVELS {
            let found = in_pieces(&text, level, *random.pick(&[70, 200, 10_000]), 1).is_some();
            let decision = whole(&text, level);
            assert!(!found || decision == Decision::Holds, "{level} is {decision:?} by check\n{text}");
            holding += u32::from(found);
            violated += u32::from(decision == Decision::Violated);
        }
    }
    println!("{holding} hold in pieces, {violated} are violated");
    assert!(holding > 0 && violated > 0);
}

/// Lines of a simulated store.
fn simulated(workload: &str, level: StoreLevel, seed: u64) -> (History, String) {
    let base = preset(workload).expect("a workload");
    let history = generate(&Config { seed, level, transactions: 3_000, keys: 3_000, ..base }).unwrap();
    let text = lines(&history).expect("reads and writes");
    (history, text)
}

#[test]
fn a_large_recording_holds_in_pieces_with_the_same_counts() {
    for (workload, store, level) in [
        ("million", StoreLevel::Serializable, LevelId::StrictSerializable),
        ("million", StoreLevel::Snapshot, LevelId::StrongSi),
        ("blindw-rw", StoreLevel::Serializable, LevelId::SessionSerializable),
    ] {
        let (history, text) = simulated(workload, store, 3);
        let one = in_pieces(&text, level, 20_000, 1).expect("it holds");
        let two = in_pieces(&text, level, 20_000, 2).expect("it holds");
        assert_eq!(one.summary, history::Summary::of(&history));
        assert_eq!(one.answer.decision, Decision::Holds);
        assert_eq!((one.summary, one.chances), (two.summary, two.chances));
    }
}

#[test]
fn a_recording_that_is_not_in_the_order_of_ends_is_left_to_the_whole() {
    let (_, text) = simulated("million", StoreLevel::Serializable, 3);
    let mut lines: Vec<&str> = text.lines().collect();
    lines[2..].sort_by_key(|line| line.split(',').next().map(str::to_owned));
    let by_session = lines.join("\n") + "\n";
    assert!(in_pieces(&by_session, LevelId::StrictSerializable, 20_000, 1).is_none());
}

#[test]
fn a_recording_that_is_cut_off_or_broken_is_left_to_the_whole() {
    let (_, text) = simulated("million", StoreLevel::Serializable, 3);
    assert!(in_pieces(&text[..text.len() - 9], LevelId::StrictSerializable, 20_000, 1).is_none());
    let broken = text.replace("\"o\":\"c\"", "\"o\":\"committed?\"");
    assert!(in_pieces(&broken, LevelId::StrictSerializable, 20_000, 2).is_none());
    let open = text.replacen("{\"default\"", "{\"recording\":\"open\"}\n{\"default\"", 1);
    assert!(in_pieces(&open, LevelId::StrictSerializable, 20_000, 2).is_none());
}
