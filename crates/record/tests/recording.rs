//! What a recording holds: everything that was told, in order, whatever happened to the process.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use formats::{Input, Loaded, ReadOptions};
use history::{Bound, Change, Datum, Op, Outcome, TxnId};
use isoscope_record::Recorder;

fn path(name: &str) -> std::path::PathBuf {
    std::env::temp_dir().join(format!("isoscope-record-{name}-{}.jsonl", std::process::id()))
}

fn read(path: &std::path::Path) -> Loaded {
    formats::read(&Input::named(path), &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_file_has_one_recording_at_a_time() {
    let path = path("one");
    let recorder = Recorder::create(&path).unwrap();
    recorder.session(None).unwrap().begin();
    let clone = recorder.clone();
    drop(recorder);
    let before = std::fs::read(&path).unwrap();
    let refused = Recorder::create(&path).unwrap_err();
    assert_eq!(refused.to_string(), "another recording is being written to this file");
    assert_eq!(Recorder::create_new(&path).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    drop(clone);
    Recorder::create(&path).unwrap();
    assert!(std::fs::read(&path).unwrap().len() < before.len());
    // Many may write to a device.
    let _first = Recorder::create("/dev/null").unwrap();
    Recorder::create("/dev/null").unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn every_kind_of_operation_comes_back() {
    let path = path("kinds");
    let recorder = Recorder::create(&path).unwrap();
    recorder.default_value(&0.into()).unwrap();
    recorder.initial(&[("x".into(), 7.into())]).unwrap();
    recorder.keys(&["unused".into()]).unwrap();
    let mut session = recorder.session(Some(&"ann".into())).unwrap();
    session.record_op_times(true);
    session.begin_named(&"first".into());
    session.begun();
    session.ask();
    session.read(&"x".into(), &7.into());
    session.read_unknown(&"y".into());
    session.read_list(&"l".into(), &[1.into(), 2.into()]);
    session.write(&"x".into(), &8.into());
    session.append(&"l".into(), &3.into());
    session.insert(&"z".into(), &1.into());
    session.refused();
    session.delete(&"x".into(), None);
    session.range(&Bound::Included(1.into()), &Bound::Unbounded, Some(&[(1.into(), 2.into(), false)]));
    session.predicate_read(&"v > 1".into(), None);
    session.predicate_write(&"v > 1".into(), &Change::Set(0.into()), Some(3));
    session.ending();
    session.commit().unwrap();
    let loaded = read(&path);
    assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
    let history = loaded.history;
    let txn = TxnId(0);
    assert_eq!(history.op_range(txn).len(), 10);
    assert_eq!(history.failed_op_count(), 1);
    assert_eq!(history.txn_label(txn), "first");
    let times = history.times(txn);
    let order = [times.begin_request, times.begin_response, times.commit_request, times.commit_response];
    assert!(order.iter().all(Option::is_some) && order.is_sorted(), "{order:?}");
    let op = history::OpId(0);
    assert!(history.op_times(op).request <= history.op_times(op).response);
    assert!(matches!(history.op(op), Op::Read { .. }));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn sessions_that_write_at_once_do_not_mix() {
    const SESSIONS: i64 = 8;
    const EACH: i64 = 200;
    let path = path("threads");
    let recorder = Recorder::create(&path).unwrap();
    std::thread::scope(|scope| {
        for session in 0..SESSIONS {
            let recorder = recorder.clone();
            scope.spawn(move || {
                let mut recorded = recorder.session(Some(&Datum::Int(session))).unwrap();
                for place in 0..EACH {
                    recorded.begin();
                    recorded.write(&Datum::Int(place), &Datum::Int(session * EACH + place + 1));
                    match place % 3 {
                        0 => recorded.commit().unwrap(),
                        1 => recorded.abort().unwrap(),
                        _ => recorded.unknown().unwrap(),
                    }
                }
            });
        }
    });
    let counts = recorder.counts();
    assert_eq!((counts.committed, counts.aborted, counts.unknown), (536, 536, 528));
    let history = read(&path).history;
    assert_eq!(history.txn_count() as i64, SESSIONS * EACH);
    for session in history.sessions() {
        let Some(Datum::Int(number)) = history.session_name(session) else { panic!("named") };
        for (place, txn) in history.session_txns(session).enumerate() {
            let written = history.ops(txn).next().unwrap().1.value().unwrap();
            assert_eq!(history.values().original(written), Datum::Int(number * EACH + place as i64 + 1));
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_was_not_ended_is_unknown() {
    let path = path("dropped");
    let recorder = Recorder::create(&path).unwrap();
    let mut session = recorder.session(None).unwrap();
    session.begin();
    session.write(&"x".into(), &1.into());
    session.begin();
    session.write(&"x".into(), &2.into());
    drop(session);
    let history = read(&path).history;
    let outcomes: Vec<_> = history.txns().map(|txn| history.outcome(txn)).collect();
    assert_eq!(outcomes, [Outcome::Unknown, Outcome::Unknown]);
    assert_eq!(history.times(TxnId(0)).commit_response, None);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_cut_last_line_is_named_and_left_out() {
    let path = path("cut");
    let recorder = Recorder::create(&path).unwrap();
    let mut session = recorder.session(None).unwrap();
    for value in 1..=3 {
        session.begin();
        session.write(&"x".into(), &value.into());
        session.commit().unwrap();
    }
    let whole = std::fs::read(&path).unwrap();
    for cut in 1..20 {
        std::fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        let loaded = read(&path);
        // Without its line break alone the line is whole.
        let is_whole = cut == 1;
        assert_eq!(loaded.history.txn_count(), if is_whole { 3 } else { 2 }, "{cut}");
        assert_eq!(loaded.warnings.len(), usize::from(!is_whole), "{cut}: {:?}", loaded.warnings);
    }
    std::fs::remove_file(path).unwrap();
}

/// The process of the next test: says each transaction after it has been recorded, until it is killed.
#[test]
fn child_that_is_killed() {
    let Ok(path) = std::env::var("ISOSCOPE_RECORD_CHILD") else { return };
    let recorder = Recorder::create(path).unwrap();
    let mut session = recorder.session(None).unwrap();
    for value in 1.. {
        session.begin();
        session.write(&"x".into(), &Datum::Int(value));
        session.commit().unwrap();
        println!("recorded {value}");
    }
}

#[test]
fn a_killed_process_leaves_every_finished_transaction() {
    let path = path("killed");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_is_killed", "--nocapture"])
        .env("ISOSCOPE_RECORD_CHILD", &path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut told = lines.filter_map(|line| line.strip_prefix("recorded ")?.parse::<usize>().ok());
    let last = told.find(|&count| count >= 500).expect("the child records");
    child.kill().unwrap();
    child.wait().unwrap();
    let history = read(&path).history;
    assert!(history.txn_count() >= last, "{} of {last}", history.txn_count());
    assert!(history.txns().all(|txn| history.outcome(txn) == Outcome::Committed));
    std::fs::remove_file(path).unwrap();
}
