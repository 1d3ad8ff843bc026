//! Jepsen and Elle histories: pairing, outcomes, sessions, and what is written back.

use std::collections::BTreeSet;

use history::*;

use super::*;
use crate::sample_histories::{describe_op, random_history, seeds};
use crate::{ErrorKind, WriteOptions, notation, read_bytes};

fn load(text: impl AsRef<[u8]>) -> Result<Loaded, Error> {
    read_bytes("file", text.as_ref(), &ReadOptions::default().with_format(Format::JepsenEdn))
}

fn load_json(text: &str) -> Result<Loaded, Error> {
    read_bytes("file", text.as_bytes(), &ReadOptions::default().with_format(Format::JepsenJson))
}

/// What is read, in the notation.
fn read_as(text: &str) -> String {
    notation::print(&load(text).unwrap().history).unwrap()
}

fn written(text: &str, options: &WriteOptions) -> Result<(String, Vec<&'static str>), Error> {
    let mut out = Vec::new();
    let warnings = write_edn(&notation::parse(text).unwrap(), &mut out, options)?;
    let names = warnings.iter().map(|warning| warning.name).collect();
    Ok((String::from_utf8(out).unwrap(), names))
}

const LIST_APPEND: &str = "
{:index 0, :time 0, :type :invoke, :process 0, :f :txn, :value ([:append :x 1] [:r :y nil])}
{:index 1, :time 0, :type :invoke, :process 1, :f :txn, :value [[:r :x nil]]}
{:index 2, :time 0, :type :ok, :process 0, :f :txn, :value [[:append :x 1] [:r :y]]}
{:index 3, :time 1, :type :info, :process :nemesis, :f :kill, :value {\"n1\" [:a]}}
{:index 4, :time 2, :type :info, :process 1, :f :txn, :value [[:r :x nil]], :error \"}\"}
{:index 5, :time 2, :type :invoke, :process 0, :f :txn, :value [[:append :y 2]]}
{:index 6, :time 3, :type :fail, :process 0, :f :txn, :value nil}
{:index 7, :time 3, :type :invoke, :process 1, :f :txn, :value [[:r :x nil] [:append :y 3]]}
{:index 8, :time 3, :type :ok, :process 0, :f :txn, :value [[:r :x [1 2]] [:r :z nil]]}
";

#[test]
fn invocations_pair_with_completions() {
    let expected = "clock position\n\
        init *=nil\n\
        0: T2{a(:x)=1 r(:y)=[]} @[0,2]\n\
        0: T6{a(:y)=2} abort @[5,6]\n\
        0: T8{r(:x)=[1 2] r(:z)=[]} @[?,8]\n\
        1: T4{r(:x)=[?]} unknown @[1,?]\n\
        1/2: T7{r(:x)=[?] a(:y)=3} unknown @[7,?]\n";
    assert_eq!(read_as(LIST_APPEND), expected);
    let loaded = load(LIST_APPEND).unwrap();
    assert_eq!(loaded.warnings.len(), 0);
    assert_eq!(loaded.history.notes().len(), 1);
    for (open, close) in [('[', ']'), ('(', ')')] {
        assert_eq!(read_as(&format!("; all\n{open}{LIST_APPEND}{close} ; end")), expected);
    }
    let tagged = LIST_APPEND.replace("{:index", "#jepsen.history.Op{:index");
    assert_eq!(read_as(&tagged), expected);
}

#[test]
fn members_without_a_place_in_the_model_are_kept() {
    let text = "{:index 0 :type :invoke :process 0 :f :txn :node \"n1\" :value [[:append :x 1]]}\n\
        {:index 1 :time 5 :type :info :process :nemesis :f :start-partition :value [:isolated {\"n1\" #{\"n2\"}}]}\n\
        {:index 2 :type :ok :process 0 :f :txn :txn-info {:start-ts 7 :commit-ts 9} :value [[:append :x 1]]}\n\
        {:index 3 :type :invoke :process 1 :f :txn :debug nil :value [[:r :x nil]]}\n";
    let history = load(text).unwrap().history;
    let notes: Vec<_> = history.txns().map(|txn| history.txn_note(txn).unwrap_or_default()).collect();
    assert_eq!(notes, ["node \"n1\"; txn-info {:start-ts 7 :commit-ts 9}", "debug nil"]);
    assert_eq!(history.notes().len(), 1);
    let note = &history.notes()[0];
    assert_eq!(note.time, 1);
    assert_eq!(note.text, ":nemesis info :start-partition [:isolated {\"n1\" #{\"n2\"}}]");
}

#[test]
fn registers_start_with_nil() {
    let text = "{:type :ok :process 3 :value [[:r x nil] [:w x 1] #_[:w x 2]]} {:value [[:r \"k\" -1]] :process 3 :type :ok}";
    assert_eq!(read_as(text), "clock position\ninit *=nil\n3: T0{r('x)=nil w('x)=1}\n3: T1{r(k)=-1}\n");
}

#[test]
fn predicates_and_the_initial_state() {
    let text = "
        {:index 0, :type :invoke, :process 2, :f :init, :value {26 0, 31 0}}
        {:index 1, :type :ok, :process 2, :f :init, :value {26 0}}
        {:index 2, :type :ok, :process 2, :f :txn, :value [[:delete 38 nil] [:insert 31 8] [:rp :true {31 0, 38 0}] [:rp [:= 1] nil]]}";
    assert_eq!(
        read_as(text),
        "clock position\ninit *=nil 26=0\n2: T2{d(38) i(31)=8 p(:true)={31=0 38=0} p([:\"=\" 1])=?}\n"
    );
}

#[test]
fn closed_predicates_have_a_meaning() {
    let meanings = |text: &str| -> Vec<String> {
        let history = crate::read_bytes("file", text.as_bytes(), &ReadOptions::default()).unwrap().history;
        let ops = history.txns().flat_map(|txn| history.ops(txn)).filter_map(|(_, op)| match op {
            Op::PredicateRead(read) => Some(read.predicate.meaning().unwrap().print()),
            _ => None,
        });
        ops.collect()
    };
    let edn = "{:type :ok :process 0 :f :txn :value [[:rp :true {}] [:rp [:= 2] {}] [:rp [:mod 2 0] {}]]}";
    let json =
        r#"{"type":"ok","process":0,"value":[["rp","true",{}],["rp",["=",2],{}],["rp",["mod",2,0],{}]]}"#;
    for text in [edn, json] {
        assert_eq!(meanings(text), ["true", "value = 2", "value % 2 = 0"]);
    }
}

#[test]
fn json_is_an_array_or_lines() {
    let one = r#"{"type":"invoke","process":0,"f":"txn","value":[["append",5,1],["r",5,null]],"index":0}"#;
    let two = r#"{"index": 1, "type": "ok", "process": 0, "value": [["append", 5, 1], ["r", 5, [1]]]}"#;
    let three = r#"{"index": 2, "type": "ok", "process": 1, "value": [["rp", "true", {"5": 1, "x": 2}]]}"#;
    let expected =
        "clock position\ninit *=nil\n0: T1{a(5)=1 r(5)=[1]} @[0,1]\n1: T2{p(\"true\")={5=1 x=2}} @[?,2]\n";
    for text in [format!("[{one},\n{two},{three}]"), format!("{one}\n{two}\n{three}\n")] {
        assert_eq!(notation::print(&load_json(&text).unwrap().history).unwrap(), expected);
        assert!(looks_like_json(text.as_bytes()) && !looks_like_edn(text.as_bytes()));
    }
    assert!(looks_like_edn(LIST_APPEND.as_bytes()) && !looks_like_json(LIST_APPEND.as_bytes()));
}

#[test]
fn without_processes_each_transaction_is_a_session() {
    let loaded = load(
        "{:type :ok :value [[:w 1 1]]} {:type :invoke :value [[:r 1 nil]]} {:type :ok :value [[:r 1 1]]}",
    )
    .unwrap();
    assert_eq!(loaded.warnings[0].name, "no-processes");
    assert_eq!(
        notation::print(&loaded.history).unwrap(),
        "clock position\ninit *=nil\n_1: T0{w(1)=1} @[?,0]\n_2: T2{r(1)=1} @[1,2]\n"
    );
}

#[test]
fn an_ok_with_fewer_operations_than_its_invocation_is_refused() {
    let pair = |kind: &str, value: &str| {
        format!(
            "{{:type :invoke :process 0 :value [[:w 1 1] [:r 2 nil]]}}\n{{:type {kind} :process 0 :value {value}}}"
        )
    };
    for value in ["[[:w 1 1]]", "[]"] {
        assert!(load(pair(":ok", value)).is_err(), "{value}");
        // What did not certainly commit may have done all that was asked.
        assert!(read_as(&pair(":fail", value)).contains("{w(1)=1 r(2)=?} abort"), "{value}");
        assert!(read_as(&pair(":info", value)).contains("{w(1)=1 r(2)=?} unknown"), "{value}");
    }
    assert!(read_as(&pair(":ok", "[[:w 1 1] [:r 2 5]]")).contains("{w(1)=1 r(2)=5} @"));
    // An invocation without a vector says nothing.
    let silent = pair(":ok", "[[:w 1 1]]").replace("[[:w 1 1] [:r 2 nil]]}", "nil}");
    assert!(read_as(&silent).contains("{w(1)=1} @"), "{silent}");
}

#[test]
fn errors_say_where_and_what() {
    for (text, expected) in [
        ("{:type :ok :process 0 :value [[:r 1 1] [:x 1 1]]}", "file:1: expected a micro-operation: [:r k v]"),
        ("\n {:type :done}", "file:2:9: expected :invoke, :ok, :fail or :info, found `:done}`"),
        ("{:process 0}", "file:1: expected an operation with a :type"),
        ("{:type :ok :type :ok}", "file:1: expected each key once"),
        ("{:type :ok :process 0}", "file:1: expected an operation with a :value, found none"),
        ("{:type :ok :process 0 :value 5}", "file:1: expected a vector of micro-operations"),
        ("{:type :ok :process 0 :value [[:w 1]]}", "file:1: expected the value that is written, found `]]}`"),
        (
            "{:type :ok :process 0 :value [[:r 1 1]",
            "file:1: expected the rest of an operation, found the end of the file",
        ),
        ("[{:type :ok :process 0 :value []}\n", "file:2: expected the bracket that ends the history"),
        ("[] {:type :ok}", "file:1: expected nothing after the end of the history"),
        (
            "{:index 3 :type :ok :process 0 :value []}\n{:index 3 :type :ok :process 0 :value []}",
            "file:2: expected an :index that no other operation has, found 3 a second time",
        ),
        (
            "{:type :invoke :process 0 :value 7}",
            "file:1: expected a vector of micro-operations such as [[:r 1 nil] [:w 2 3]], found `7`",
        ),
        ("17", "file:1: expected a map"),
    ] {
        let error = load(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn an_ok_completes_what_was_invoked() {
    let history = |invoked: &str, completed: &str| {
        load(format!(
            "{{:type :invoke :process 0 :value {invoked}}}\n{{:type :ok :process 0 :value {completed}}}"
        ))
    };
    for (invoked, completed) in [
        ("[[:r x nil] [:w y 1]]", "([:r x 5], [:w y 1])"),
        ("[[:append 1 2] [:r 1]]", "[[:append 1 2] [:r 1 [2]]]"),
        ("[[:rp [:= 1] nil] [:delete \"k\"]]", "[[:rp [:=, 1] {2 1}] [:delete \"k\" nil]]"),
        ("nil", "[[:r 1 nil]]"),
        ("[[:w 1 {:a 1 :b 2}]]", "[[:w 1 {:b 2, :a 1}]]"),
    ] {
        assert!(
            history(invoked, completed).is_ok(),
            "{invoked} {completed}: {:?}",
            history(invoked, completed)
        );
    }
    for (invoked, completed, expected) in [
        (
            "[[:w 1 1] [:r 2 nil]]",
            "[[:w 1 1]]",
            "file:2: expected micro-operation 2 to be `[:r 2 nil]` as it was invoked, found nothing (its invocation is \
             in line 1; the recording was changed, or two processes have one number)",
        ),
        (
            "[]",
            "[[:w 1 1]]",
            "file:2: expected micro-operation 1 to be nothing as it was invoked, found `[:w 1 1]`",
        ),
        ("[[:w 1 1]]", "[[:w 2 1]]", "file:2: expected micro-operation 1 to be `[:w 1 1]` as it was invoked"),
        ("[[:w 1 1]]", "[[:w 1 2]]", "file:2: expected micro-operation 1 to be `[:w 1 1]` as it was invoked"),
        (
            "[[:w 1 1]]",
            "[[:append 1 1]]",
            "file:2: expected micro-operation 1 to be `[:w 1 1]` as it was invoked",
        ),
        (
            "[[:rp :true nil]]",
            "[[:rp [:= 1] {}]]",
            "file:2: expected micro-operation 1 to be `[:rp :true nil]`",
        ),
        ("[:w 1 1]", "[[:w 1 1]]", "file:1: expected an invocation with a vector of micro-operations"),
    ] {
        let error = history(invoked, completed).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{invoked} {completed}: {error}");
    }
}

#[test]
fn cut_or_broken_files_are_errors_or_histories() {
    let mut bytes = LIST_APPEND.as_bytes().to_vec();
    for place in 0..bytes.len() {
        let _ = load(&bytes[..place]);
        for flip in [1, 2, 4, 8, 16, 32, 64, 128] {
            bytes[place] ^= flip;
            let _ = load(&bytes);
            bytes[place] ^= flip;
        }
    }
}

#[test]
fn a_map_larger_than_the_window_is_read() {
    let reads: String = (0..60_000).map(|key| format!("[:r {key} [1 2 3]] ")).collect();
    let text = format!("{{:type :ok :process 0 :value [{reads}]}}\n").repeat(2);
    assert_eq!(load(text).unwrap().history.op_count(), 120_000);
}

#[test]
fn indices_are_unique_in_any_order() {
    let line = |index: i64| format!("{{:index {index} :type :ok :process 0 :value []}}\n");
    let text = |indices: &[i64]| indices.iter().map(|&index| line(index)).collect::<String>();
    assert!(load(text(&[5, 6, 7, 1, 2, 3, 4, 9])).is_ok());
    for repeated in [[5, 6, 6, 7], [5, 6, 4, 5], [5, 6, 1, 6], [3, 1, 2, 3]] {
        assert!(load(text(&repeated)).is_err(), "{repeated:?}");
    }
}

#[test]
fn what_was_read_is_written_and_read_the_same() {
    let (text, warnings) = written(
        "clock position\ninit *=nil\n0: T3{a(:x)=1 r(:y)=[]} @[0,2]\n1: T4{r(:x)=[1]} abort @[1,3]\n2: T5{r(:x)=[?]} unknown @[4,?]",
        &WriteOptions::default(),
    )
    .unwrap();
    assert_eq!(
        text,
        "{:index 0, :type :invoke, :process 0, :f :txn, :value [[:append :x 1] [:r :y nil]]}\n\
         {:index 1, :type :invoke, :process 1, :f :txn, :value [[:r :x nil]]}\n\
         {:index 2, :type :ok, :process 0, :f :txn, :value [[:append :x 1] [:r :y []]]}\n\
         {:index 3, :type :fail, :process 1, :f :txn, :value [[:r :x [1]]]}\n\
         {:index 4, :type :invoke, :process 2, :f :txn, :value [[:r :x nil]]}\n\
         {:index 5, :type :info, :process 2, :f :txn, :value [[:r :x nil]]}\n"
    );
    assert_eq!(warnings, ["names-dropped"]);
    assert_eq!(
        read_as(&text),
        "clock position\ninit *=nil\n0: T2{a(:x)=1 r(:y)=[]} @[0,2]\n1: T3{r(:x)=[1]} abort @[1,3]\n2: T5{r(:x)=[?]} unknown @[4,?]\n"
    );
}

#[test]
fn without_times_only_completions_are_written() {
    let (text, warnings) = written("a: r(x)=0 w(x)=1\nb: r(x)=0", &WriteOptions::default()).unwrap();
    assert_eq!(
        text,
        "{:index 0, :type :ok, :process 0, :f :txn, :value [[:r \"x\" nil] [:w \"x\" 1]]}\n\
         {:index 1, :type :ok, :process 1, :f :txn, :value [[:r \"x\" nil]]}\n"
    );
    assert_eq!(warnings, ["names-dropped", "initial-renamed"]);
}

#[test]
fn what_cannot_be_said_is_an_error_or_a_named_loss() {
    for text in [
        "a: r[1..2]={}",
        "a: pd(:true)",
        "a: r(x)=?",
        "a: r(x)=0 w(x)=0",
        "init *=?\na: r(x)=0",
        "a: w(x)=1^5",
        "init *=nil\na: r(x)=<[1]>",
        "init *=nil\na: r(x)=nil unknown",
        "a: w(x)=1 unknown\na: w(x)=2",
        "a: w(x)=1 @[1,5]\na: w(x)=2 @[5,6]",
    ] {
        let error = written(text, &WriteOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CannotExpress, "{text}: {error}");
        let (lossy, warnings) = written(text, &WriteOptions { lossy: true }).unwrap();
        assert!(warnings.contains(&"left-out"), "{text}: {warnings:?}");
        assert!(load(lossy).is_ok());
    }
}

/// The sessions in any order, with what Jepsen's format has a word for; reads that found nothing are all alike.
fn bodies(history: &History) -> Vec<String> {
    let sessions = history.sessions().filter(|&session| history.session_txns(session).len() > 0);
    let mut bodies: Vec<_> = sessions
        .map(|session| history.session_txns(session).map(|txn| body(history, txn)).collect())
        .collect();
    bodies.sort();
    bodies
}

fn initial_values(history: &History) -> BTreeSet<(Datum, Datum)> {
    let present = history.initial().recorded.iter().filter(|(_, value)| *value != ValueId::NIL);
    present
        .map(|&(key, value)| (history.keys().original(key).clone(), history.values().original(value)))
        .collect()
}

fn body(history: &History, txn: TxnId) -> String {
    let is_aborted = history.outcome(txn) == Outcome::Aborted;
    let op = |(id, op): (OpId, Op<'_>)| match op {
        _ if op.is_read() && is_aborted => String::new(),
        Op::Read { key, value: None } | Op::ReadList { key, list: None } => {
            format!("unknown {:?} ", history.keys().original(key))
        }
        Op::Read { key, value: Some(ValueId::NIL) } | Op::ReadList { key, list: Some([]) } => {
            format!("nothing {:?} ", history.keys().original(key))
        }
        // A mark that is nil says no more than no mark.
        Op::Delete { key, tombstone: None | Some(ValueId::NIL) } => {
            format!("delete {:?} ", history.keys().original(key))
        }
        _ => {
            let described = describe_op(history, id);
            described.split("OpTimes").next().unwrap().to_owned()
        }
    };
    format!("{:?} {}\n", history.outcome(txn), history.ops(txn).map(op).collect::<String>())
}

#[test]
fn random_histories_are_written_whole_or_refused() {
    let (mut whole, mut lossy) = (0, 0);
    for seed in seeds() {
        let history = random_history(seed);
        for options in [WriteOptions { lossy: false }, WriteOptions { lossy: true }] {
            let mut out = Vec::new();
            let warnings = match write_edn(&history, &mut out, &options) {
                Ok(warnings) => warnings,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::CannotExpress);
                    continue;
                }
            };
            let read = load(&out).unwrap_or_else(|error| panic!("seed {seed}: {error}")).history;
            let is_renamed = warnings.iter().any(|warning| warning.name == "initial-renamed");
            if !options.lossy && !is_renamed {
                assert_eq!(bodies(&read), bodies(&history), "seed {seed}");
                assert_eq!(initial_values(&read), initial_values(&history), "seed {seed}");
                whole += 1;
            }
            lossy += usize::from(options.lossy);
        }
    }
    assert!(whole > 100 && lossy > 100, "{whole} {lossy}");
}

#[test]
fn shared_histories_are_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/histories/elle");
    let Ok(files) = std::fs::read_dir(folder) else { return };
    let mut count = 0;
    for path in files.map(|file| file.unwrap().path()) {
        if path.extension().is_some_and(|extension| extension == "edn") {
            let bytes = std::fs::read(&path).unwrap();
            assert!(looks_like_edn(&bytes), "{path:?}");
            let history = load(&bytes).unwrap_or_else(|error| panic!("{path:?}: {error}")).history;
            let completions = bytes.split(|&byte| byte == b'\n').filter(|line| {
                let has = |word: &[u8]| contains(line, word);
                has(b":ok") && !has(b":init")
            });
            assert_eq!(Summary::of(&history).committed, completions.count(), "{path:?}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}

#[test]
fn several_open_invocations_of_a_process_pair_by_their_operations() {
    let text = "
        {:type :invoke, :process 0, :value [[:append :x 1]]}
        {:type :invoke, :process 0, :value [[:append :x 2]]}
        {:type :invoke, :process 0, :value [[:r :x nil]]}
        {:type :ok, :process 0, :value [[:append :x 2]]}
        {:type :ok, :process 0, :value [[:r :x [2]]]}
        {:type :invoke, :process 0, :value [[:append :x 3]]}
        {:type :ok, :process 0, :value [[:append :x 3]]}";
    let loaded = load(text).unwrap();
    let outcomes: Vec<Outcome> = loaded.history.txns().map(|txn| loaded.history.outcome(txn)).collect();
    use Outcome::{Committed, Unknown};
    assert_eq!(outcomes, [Committed, Committed, Committed, Unknown]);
    assert_eq!(loaded.history.session_count(), 4, "nothing orders the transactions of such a process");
    let starts: Vec<_> = loaded.history.txns().map(|txn| loaded.history.times(txn).start()).collect();
    assert_eq!(starts, [Some(1), Some(2), Some(5), Some(0)]);
    assert_eq!(
        loaded.warnings.iter().map(|warning| warning.name).collect::<Vec<_>>(),
        ["overlapping-invocations"]
    );
}

#[test]
fn a_process_that_never_completes_anything_is_read_in_linear_time() {
    let maps =
        (0..20_000).map(|value| format!("{{:type :invoke, :process 0, :value [[:append :x {value}]]}}\n"));
    let loaded = load(maps.collect::<String>()).unwrap();
    assert_eq!(loaded.history.txn_count(), 20_000);
    assert!(loaded.history.txns().all(|txn| loaded.history.outcome(txn) == Outcome::Unknown));
}
