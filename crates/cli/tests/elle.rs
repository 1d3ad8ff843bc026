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
        linearizable has no anomalies and no level here
        --- exit 3
    "#]],
    );
}

#[test]
fn names_that_do_not_exist_are_refused() {
    check(
        "elle -m mutex serial.edn",
        expect![[r#"
            --- standard error
            error: the model mutex is not supported: isoscope elle checks list-append, rw-register, long-fork, set, counter, bank and comments
            --- exit 2
        "#]],
    );
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
            no read returned anything
            --- exit 3
        "#]],
    );
}
