//! `isoscope elle` and `check --anomalies`, seen from outside.

mod common;

use common::Folder;
use expect_test::{Expect, expect};

const LONG_FORK: &str = "\
{:process 0 :type :ok :f :txn :value [[:append :x 1]]}
{:process 1 :type :ok :f :txn :value [[:append :y 1]]}
{:process 2 :type :ok :f :txn :value [[:r :x [1]] [:r :y nil]]}
{:process 3 :type :ok :f :txn :value [[:r :x nil] [:r :y [1]]]}
";

const SERIAL: &str = "\
{:process 0 :type :ok :f :txn :value [[:append :x 1]]}
{:process 1 :type :ok :f :txn :value [[:r :x [1]]]}
";

/// Registers without a known version order that no order explains.
const HIDDEN: &str = "\
{:process 0 :type :ok :f :txn :value [[:w :x 1] [:w :y 2]]}
{:process 1 :type :ok :f :txn :value [[:w :x 2] [:w :y 1]]}
{:process 2 :type :ok :f :txn :value [[:r :x 1] [:r :y 1]]}
";

const BANK: &str = "\
{:type :ok, :f :read, :process 0, :value {0 60, 1 40}}
{:type :ok, :f :read, :process 0, :value {0 110, 1 -20}}
";

const SET: &str = "\
{:type :invoke, :f :add, :process 0, :value 1}
{:type :ok, :f :add, :process 0, :value 1}
{:type :info, :f :kill, :process :nemesis}
{:type :invoke, :f :add, :process 0, :value 2}
{:type :invoke, :f :read, :process 1}
{:type :ok, :f :read, :process 1, :value #{2 3}}
";

const COUNTER: &str = "\
{:type :invoke, :f :add, :process 0, :value 2}
{:type :ok, :f :add, :process 0, :value 2}
{:type :invoke, :f :read, :process 1}
{:type :invoke, :f :add, :process 0, :value 3}
{:type :ok, :f :read, :process 1, :value 5}
{:type :invoke, :f :read, :process 1}
{:type :ok, :f :read, :process 1, :value 1}
";

const COMMENTS: &str = "\
{:type :invoke, :f :write, :process 0, :value 1}
{:type :ok, :f :write, :process 0, :value 1}
{:type :invoke, :f :read, :process 1}
{:type :invoke, :f :write, :process 0, :value 2}
{:type :ok, :f :read, :process 1, :value #{2}}
";

/// An element that is read, missing for good afterwards, and one that stays.
const SET_FULL: &str = "\
{:type :invoke, :f :add, :process 0, :value 1}
{:type :ok, :f :add, :process 0, :value 1}
{:type :invoke, :f :add, :process 0, :value 2}
{:type :info, :f :add, :process 0, :value 2}
{:type :invoke, :f :read, :process 1}
{:type :ok, :f :read, :process 1, :value [1 2]}
{:type :invoke, :f :read, :process 1}
{:type :ok, :f :read, :process 1, :value [1]}
";

/// A write of unknown outcome explains the first read; nothing explains that the old value comes back.
const CAS: &str = "\
{:type :invoke, :f :write, :process 0, :value 1}
{:type :ok, :f :write, :process 0, :value 1}
{:type :invoke, :f :cas, :process 1, :value [1 2]}
{:type :info, :f :cas, :process 1, :value [1 2]}
{:type :invoke, :f :cas, :process 2, :value [5 6]}
{:type :fail, :f :cas, :process 2, :value [5 6]}
{:type :invoke, :f :read, :process 0, :value nil}
{:type :ok, :f :read, :process 0, :value 2}
{:type :invoke, :f :read, :process 0, :value nil}
{:type :ok, :f :read, :process 0, :value 1}
";

const MUTEX: &str = "\
{:type :invoke, :f :acquire, :process 0}
{:type :ok, :f :acquire, :process 0}
{:type :invoke, :f :acquire, :process 1}
{:type :invoke, :f :release, :process 0}
{:type :ok, :f :release, :process 0}
{:type :ok, :f :acquire, :process 1}
{:type :invoke, :f :acquire, :process 2}
{:type :ok, :f :acquire, :process 2}
";

const SEQUENTIAL: &str = "\
{:type :ok, :f :add, :process 0, :value 7}
{:type :ok, :f :read, :process 1, :value [7 [nil nil \"7_0\"]]}
{:type :ok, :f :read, :process 1, :value [7 [\"7_2\" nil \"7_0\"]]}
";

/// A transaction that was torn apart, while nothing that one operation did is out of order.
const TORN: &str = "\
{:process 0 :type :invoke :f :txn :value [[:append :x 1] [:append :y 1]]}
{:process 1 :type :invoke :f :txn :value [[:r :x nil] [:r :y nil]]}
{:process 0 :type :ok :f :txn :value [[:append :x 1] [:append :y 1]]}
{:process 1 :type :ok :f :txn :value [[:r :x [1]] [:r :y []]]}
{:process 1 :type :invoke :f :txn :value [[:append :x 2] [:r :x nil]]}
{:process 1 :type :ok :f :txn :value [[:append :x 2] [:r :x [1]]]}
";

const FORKS: &str = "\
{:process 0 :type :ok :f :write :value [[:w 1 1]]}
{:process 1 :type :ok :f :write :value [[:w 2 1]]}
{:process 2 :type :ok :f :read :value [[:r 1 1] [:r 2 nil]]}
{:process 3 :type :ok :f :read :value [[:r 1 nil] [:r 2 1]]}
";

fn check(line: &str, expected: Expect) {
    let folder = Folder::with(&[
        ("fork.edn", LONG_FORK),
        ("serial.edn", SERIAL),
        ("hidden.edn", HIDDEN),
        ("bank.edn", BANK),
        ("set.edn", SET),
        ("counter.edn", COUNTER),
        ("comments.edn", COMMENTS),
        ("forks.edn", FORKS),
        ("set-full.edn", SET_FULL),
        ("cas.edn", CAS),
        ("mutex.edn", MUTEX),
        ("sequential.edn", SEQUENTIAL),
        ("torn.edn", TORN),
        (
            "fork.json",
            r#"[{"process": 0, "type": "ok", "f": "txn", "value": [["append", "x", 1], ["append", "x", 2]]},
            {"process": 1, "type": "ok", "f": "txn", "value": [["r", "x", [1]]]}]"#,
        ),
    ]);
    expected.assert_eq(&folder.run(line));
}

#[test]
fn a_line_for_each_file() {
    check(
        "elle -m list-append fork.edn serial.edn",
        expect![[r#"
        fork.edn 	 false
        serial.edn 	 true
        --- exit 1
    "#]],
    );
    check(
        "elle --model list-append -c read-committed fork.edn serial.edn",
        expect![[r#"
        fork.edn 	 true
        serial.edn 	 true
        --- exit 0
    "#]],
    );
    check(
        "elle -m list-append -c read-committed fork.json",
        expect![[r#"
        fork.json 	 false
        --- exit 1
    "#]],
    );
}

#[test]
fn a_long_fork_is_not_g2() {
    check(
        "elle -m list-append --output edn fork.edn",
        expect![[r#"
        {:also-not #{:serializable :strong-serializable :strong-session-serializable :strong-session-snapshot-isolation :strong-snapshot-isolation}, :anomalies {:G-nonadjacent-item [{:sentences ["T0 before T2: T2 read :x with 1, which T0 appended" "T2 before T1: T2 read :y without 1, which T1 appended" "T1 before T3: T3 read :y with 1, which T1 appended" "T3 before T0: T3 read :x without 1, which T0 appended"], :steps [{:from "T0", :to "T2", :type :wr} {:from "T2", :to "T1", :type :rw} {:from "T1", :to "T3", :type :wr} {:from "T3", :to "T0", :type :rw}], :transactions ["T0" "T2" "T1" "T3"]}]}, :anomaly-types [:G-nonadjacent-item], :not #{:repeatable-read :snapshot-isolation}, :valid? false}
        --- exit 1
    "#]],
    );
    check(
        "check --anomalies fork.edn",
        expect![[r#"
        fork.edn: 4 sessions, 4 transactions, 6 operations, 2 keys

          G-nonadjacent-item: a cycle with several reads of overwritten versions, no two in a row (such as a long fork), 4 transactions
            T0 before T2: T2 read :x with 1, which T0 appended
            T2 before T1: T2 read :y without 1, which T1 appended
            T1 before T3: T3 read :y with 1, which T1 appended
            T3 before T0: T3 read :x without 1, which T0 appended
        --- exit 1
    "#]],
    );
    check(
        "check --anomaly G0,G1 fork.edn",
        expect![[r#"
        fork.edn: 4 sessions, 4 transactions, 6 operations, 2 keys

          no anomaly was found
        --- exit 0
    "#]],
    );
    check(
        "check --anomaly G2 --json serial.edn",
        expect![[r#"
            {
              "anomalies": [],
              "assumptions": [],
              "history": {
                "aborted": 0,
                "committed": 2,
                "file": "serial.edn",
                "format": "jepsen",
                "keys": 1,
                "operations": 2,
                "sessions": 2,
                "transactions": 2,
                "unknown": 0,
                "warnings": []
              },
              "note": null,
              "unordered_keys": 0
            }
            --- exit 0
        "#]],
    );
}

#[test]
fn the_engine_decides_what_has_no_class() {
    check(
        "elle -m rw-register -c serializable --verbose hidden.edn",
        expect![[r#"
        {
          "also-not": [
            "strong-serializable",
            "strong-session-serializable"
          ],
          "anomalies": {
            "PL-3-cycle-exists": [
              {
                "sentences": [
                  "T1 before T2: T2 read :y = 1, which T1 wrote",
                  "T2 before T1: T2 read :x = 1 (from T0), and T1 wrote :x = 2 over it",
                  "T0 before T1: T0's write of :y comes before T2, which read :y = 1 from T1, so T1 overwrote T0's",
                  "T0 before T2: T2 read :x = 1, which T0 wrote"
                ]
              }
            ]
          },
          "anomaly-types": [
            "PL-3-cycle-exists"
          ],
          "not": [
            "serializable"
          ],
          "valid?": false
        }
        --- exit 1
    "#]],
    );
    check(
        "check --anomalies hidden.edn",
        expect![[r#"
        hidden.edn: 3 sessions, 3 transactions, 6 operations, 2 keys

          no anomaly was found
          2 keys with several versions in no known order, which can hide anomalies; `check` without --anomalies decides the levels
        --- exit 3
    "#]],
    );
}

#[test]
fn what_is_not_known_has_its_own_exit_code() {
    check(
        "elle -m list-append -c linearizable -a G1 serial.edn",
        expect![[r#"
            serial.edn 	 unknown
            --- standard error
            linearizable needs invocations beside completions, which this file does not have
            --- exit 3
        "#]],
    );
}

#[test]
fn names_that_do_not_exist_are_refused() {
    check(
        "elle -m list-append -c very-serializable serial.edn",
        expect![[r#"
        --- standard error
        error: no consistency model is called "very-serializable"; there are conflict-serializable, consistent-view, cursor-stability, forward-consistent-view, monotonic-snapshot-read, monotonic-view, read-committed, read-uncommitted, repeatable-read, serializable, snapshot-isolation, strict-serializable, strong-read-committed, strong-read-uncommitted, strong-serializable, strong-session-read-committed, strong-session-read-uncommitted, update-serializable, 1SR, PL-1, PL-2, PL-2+, PL-2.99, PL-2L, PL-3, PL-3U, PL-CS, PL-FCV, PL-MSR, PL-SI, PL-SS, PRAM, causal, causal-cerone, linearizable, monotonic-atomic-view, monotonic-reads, monotonic-writes, parallel-snapshot-isolation, prefix, read-atomic, read-your-writes, sequential, session-serializable, strong-PL-1, strong-PL-2, strong-session-PL-1, strong-session-PL-2, strong-session-serializable, strong-session-snapshot-isolation, strong-snapshot-isolation, update-atomic, view-serializable, writes-follow-reads
        --- exit 2
    "#]],
    );
    check(
        "check --anomaly G9 serial.edn",
        expect![[r#"
            --- standard error
            error: no class of anomalies is called "G9"; there are internal, future-read, G1a, G1b, dirty-update, duplicate-elements, incompatible-order, cyclic-versions, lost-update, G0, G1c, G-single-item, G-nonadjacent-item, G2-item, G0-process, G1c-process, G-single-item-process, G-nonadjacent-item-process, G2-item-process, G0-realtime, G1c-realtime, G-single-item-realtime, G-nonadjacent-item-realtime, G2-item-realtime, and names of Elle's that several of them imply, such as G1 and G-single
            --- exit 2
        "#]],
    );
    check(
        "check --anomaly G1 --level serializable serial.edn",
        expect![[r#"
            --- standard error
            error: the argument '--anomaly <CLASS>' cannot be used with '--level <NAME>'

            Usage: isoscope check --anomaly <CLASS> <HISTORY>...

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
}

#[test]
fn workloads_with_an_invariant_of_their_own() {
    check(
        "elle -m bank --total-amount 100 --verbose bank.edn",
        expect![[r#"
        {
          "sentences": [
            "line 2: the balances are 90 in all, and not 100",
            "line 2: a balance is -20"
          ],
          "valid?": false
        }
        --- exit 1
    "#]],
    );
    check(
        "elle -m bank --total-amount 90 -n --output edn bank.edn",
        expect![[r#"
        {:sentences ["line 1: the balances are 100 in all, and not 90"], :valid? false}
        --- exit 1
    "#]],
    );
    check(
        "elle -m bank bank.edn",
        expect![[r#"
        --- standard error
        error: the model bank needs --total-amount, the sum of all balances
        --- exit 2
    "#]],
    );
    check(
        "elle -m set --output edn set.edn",
        expect![[r#"
        {:sentences ["1 was added and is not in the last read" "3 was read and never added"], :valid? false}
        --- exit 1
    "#]],
    );
    check(
        "elle -m counter --output edn counter.edn",
        expect![[r#"
        {:sentences ["line 7: read 1, which is not from 2 to 5"], :valid? false}
        --- exit 1
    "#]],
    );
    check(
        "elle -m comments --output edn comments.edn",
        expect![[r#"
        {:sentences ["line 5: a read has 2 and not 1, which had been written before"], :valid? false}
        --- exit 1
    "#]],
    );
    check(
        "elle -m long-fork forks.edn",
        expect![[r#"
        forks.edn 	 false
        --- exit 1
    "#]],
    );
    check(
        "elle -m set serial.edn",
        expect![[r#"
            serial.edn 	 unknown
            --- standard error
            line 1: the operation "txn" is not one of this model, which has add, read: another model was recorded
            --- exit 3
        "#]],
    );
}

#[test]
fn workloads_that_are_searched() {
    check(
        "elle -m set-full --output edn set-full.edn",
        expect![[r#"
        {:sentences ["2 was there and is lost: the read in line 8 misses it"], :valid? false}
        --- exit 1
    "#]],
    );
    check(
        "elle -m cas-register --output edn cas.edn",
        expect![[r#"
        {:sentences ["line 10: no order of the operations so far explains that this read returned 1"], :valid? false}
        --- exit 1
    "#]],
    );
    check(
        "elle -m mutex --output edn mutex.edn",
        expect![[r#"
        {:sentences ["line 8: no order of the operations so far explains that this acquire succeeded"], :valid? false}
        --- exit 1
    "#]],
    );
    check(
        "elle -m sequential --output edn sequential.edn",
        expect![[r#"
        {:sentences ["line 3: a read of 7 has \"7_2\" and not all that was written before it"], :valid? false}
        --- exit 1
    "#]],
    );
    check(
        "elle -m mutex serial.edn",
        expect![[r#"
        serial.edn 	 unknown
        --- standard error
        line 1: the operation "txn" is not one of this model, which has acquire, release: another model was recorded
        --- exit 3
    "#]],
    );
}

#[test]
fn models_of_single_operations() {
    check(
        "elle -m list-append -a G0 -c sequential,linearizable --without internal torn.edn",
        expect![[r#"
        torn.edn 	 true
        --- standard error
        assumed: without internal
        --- exit 0
    "#]],
    );
    check(
        "elle -m list-append -c linearizable fork.edn",
        expect![[r#"
        fork.edn 	 unknown
        --- standard error
        linearizable needs invocations beside completions, which this file does not have
        --- exit 3
    "#]],
    );
    check(
        "elle -m list-append -a G0 -c sequential --output edn torn.edn",
        expect![[r#"
            {:also-not #{:linearizable :strong-serializable}, :anomalies {:sequential-cycle-exists [{:sentences ["T5.1 before T5.2: both are in session 1" "T5.2 before T5.1: T5.2 read :x = [1] (from T2.1), and T5.1 appended 2 to :x after that" "T2.1 before T5.1: T3.1 read the list :x with what T2.1 appended, and without what T5.1 did"]}]}, :anomaly-types [:sequential-cycle-exists], :not #{:sequential}, :valid? false}
            --- exit 1
        "#]],
    );
}

#[test]
fn assumptions_are_repeated() {
    check(
        "elle -m rw-register --assume wfr-keys,linearizable-keys -c read-committed --output edn hidden.edn",
        expect![[r#"
            {:assumptions ["linearizable-keys" "wfr-keys"], :valid? true}
            --- exit 0
        "#]],
    );
    check(
        "elle -m list-append --without internal -c read-committed serial.edn",
        expect![[r#"
        serial.edn 	 true
        --- standard error
        assumed: without internal
        --- exit 0
    "#]],
    );
}

#[test]
fn commits_that_a_recording_notes_order_versions_on_request() {
    let text = "{:type :ok :process 0 :f :txn :txn-info {:commit-ts 20} :value [[:w :x 1] [:w :y 1]]}\n\
        {:type :ok :process 1 :f :txn :transaction-order 10 :value [[:r :y 1] [:w :x 2]]}\n";
    let folder = Folder::with(&[("tidb.edn", text)]);
    let plain = folder.run("elle -m rw-register -c read-committed tidb.edn");
    assert!(plain.contains("true"), "{plain}");
    expect![[r#"
        {:also-not #{:causal-cerone :consistent-view :cursor-stability :forward-consistent-view :monotonic-atomic-view :monotonic-snapshot-read :monotonic-view :parallel-snapshot-isolation :prefix :read-atomic :repeatable-read :serializable :snapshot-isolation :strong-read-committed :strong-serializable :strong-session-read-committed :strong-session-serializable :strong-session-snapshot-isolation :strong-snapshot-isolation :update-atomic :update-serializable}, :anomalies {:G1c [{:sentences ["T0 before T1: T1 read :y = 1, which T0 wrote" "T1 before T0: T0 wrote :x = 1 over what T1 wrote"], :steps [{:from "T0", :to "T1", :type :wr} {:from "T1", :to "T0", :type :ww}], :transactions ["T0" "T1"]}]}, :anomaly-types [:G1c], :assumptions ["commit-order"], :not #{:read-committed}, :valid? false}
        --- exit 1
    "#]]
    .assert_eq(
        &folder.run("elle -m rw-register -c read-committed --assume commit-order --output edn tidb.edn"),
    );
}

#[test]
fn guarantees_of_sessions_are_decided() {
    let text = "{:type :ok :process 0 :f :txn :value [[:append :x 1]]}\n\
        {:type :ok :process 1 :f :txn :value [[:r :x [1]]]}\n\
        {:type :ok :process 1 :f :txn :value [[:r :x []]]}\n";
    let folder = Folder::with(&[("back.edn", text)]);
    for (model, answer) in [
        ("monotonic-reads", "false"),
        ("PRAM", "false"),
        ("causal", "false"),
        ("read-your-writes", "true"),
        ("monotonic-writes", "true"),
        ("writes-follow-reads", "true"),
    ] {
        let shown = folder.run(&format!("elle -m list-append -c {model} back.edn"));
        assert!(shown.contains(&format!("back.edn \t {answer}\n")), "{model}: {shown}");
    }
}

#[test]
fn a_folder_gets_sentences_pictures_and_a_report() {
    let folder = Folder::with(&[("fork.edn", LONG_FORK), ("hidden.edn", HIDDEN)]);
    folder.run("elle -m list-append --directory fork fork.edn");
    folder.run("elle -m rw-register -c serializable --directory hidden hidden.edn");
    let names = ["fork/G-nonadjacent-item", "hidden/PL-3-cycle-exists"];
    for name in names {
        let text = std::fs::read_to_string(folder.file(&format!("{name}.txt"))).unwrap();
        assert!(text.lines().count() >= 4, "{text}");
        let svg = std::fs::read_to_string(folder.file(&format!("{name}.svg"))).unwrap();
        assert!(svg.contains("class=\"edge wr\"") && svg.ends_with("</svg>\n"), "{svg}");
    }
    let page = std::fs::read_to_string(folder.file("fork/report.html")).unwrap();
    assert!(page.contains("G-nonadjacent-item") && page.contains("strong-serializable"), "{page}");
}

/// What each simulated level promises, which holds for lists too.
const PROMISES: [(&str, &str); 11] = [
    ("serial", "strict-serializable"),
    ("serializable", "strict-serializable"),
    ("snapshot", "strong-si"),
    ("session-snapshot", "strong-session-si"),
    ("generalized-snapshot", "generalized-si"),
    ("prefix", "prefix"),
    ("parallel-snapshot", "parallel-si"),
    ("causal", "causal"),
    ("read-atomic", "read-atomic"),
    ("read-committed", "read-committed"),
    ("read-uncommitted", "read-uncommitted"),
];

#[test]
fn lists_of_every_simulated_level_keep_its_promise() {
    let folder = Folder::with(&[]);
    for (simulated, promised) in PROMISES {
        for seed in 0..4 {
            let flags =
                format!("--workload append --level {simulated} --transactions 400 --sessions 6 --keys 8");
            folder.run(&format!(
                "generate {flags} --abort-share 0.1 --unknown-share 0.05 --seed {seed} h.jsonl"
            ));
            let told = folder.run(&format!("check h.jsonl --level {promised}"));
            assert!(told.ends_with("--- exit 0\n"), "{simulated}, seed {seed}: {told}");
        }
    }
}

#[test]
fn weak_levels_show_their_anomalies_in_lists() {
    let folder = Folder::with(&[]);
    for (simulated, violated) in
        [("prefix", "snapshot-isolation"), ("causal", "prefix"), ("read-committed", "read-atomic")]
    {
        let flags = format!("--workload append --level {simulated} --transactions 300 --sessions 8 --keys 4");
        folder.run(&format!("generate {flags} --seed 1 h.jsonl"));
        let told = folder.run(&format!("check h.jsonl --level {violated}"));
        assert!(told.ends_with("--- exit 1\n"), "{simulated}: {told}");
    }
}

/// The class that each planted anomaly is.
const PLANTED: [(&str, &str); 9] = [
    ("g0", "G0"),
    ("g1b", "G1b"),
    ("g1c", "G1c"),
    ("aborted-read", "G1a"),
    ("long-fork", "G-nonadjacent-item"),
    ("g-sib", "G-single-item"),
    ("lost-update", "lost-update"),
    ("write-skew", "G2-item"),
    ("fractured-read", "G-single-item"),
];

/// The levels of the simulated store.
const SIMULATED: [&str; 11] = [
    "serial",
    "serializable",
    "snapshot",
    "session-snapshot",
    "generalized-snapshot",
    "prefix",
    "parallel-snapshot",
    "causal",
    "read-atomic",
    "read-committed",
    "read-uncommitted",
];

#[test]
fn every_planted_class_is_found_in_lists_of_every_simulated_level() {
    let folder = Folder::with(&[]);
    for simulated in SIMULATED {
        for (planted, class) in PLANTED {
            let flags = "--workload append --transactions 500 --abort-share 0.1 --seed 2";
            folder.run(&format!("generate {flags} --level {simulated} --plant {planted} h.jsonl"));
            let told = folder.run("check --anomalies h.jsonl");
            assert!(
                told.contains(&format!("\n  {class}: ")) && told.ends_with("--- exit 1\n"),
                "{planted} at {simulated}: {told}"
            );
        }
    }
}
