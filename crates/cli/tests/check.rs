//! `isoscope check`, seen from outside.

mod common;

use common::{Folder, without_times};
use expect_test::{Expect, expect};

const WRITE_SKEW: &str = "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n";
const LOST_UPDATE: &str = "a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2\n";
const SERIAL: &str = "a: r(x)=0 w(x)=1\nb: r(x)=1 w(x)=2\n";
const STALE: &str = "a: w(x)=1 @[0,1000]\nb: r(x)=0 @[2000,3000]\n";

/// Checks the history in `h.txt` with these flags.
fn check(history: &str, flags: &str, expected: Expect) {
    let folder = Folder::with(&[("h.txt", history)]);
    expected.assert_eq(&without_times(&folder.run(&format!("check h.txt {flags}"))));
}

#[test]
fn all_levels_strongest_first() {
    check(
        WRITE_SKEW,
        "",
        expect![[r#"
            h.txt satisfies session snapshot isolation, not serializability: there was write skew.
            h.txt: 2 sessions, 2 transactions, 6 operations, 2 keys

              holds      session-snapshot-isolation
                         and with it snapshot-isolation, prefix, parallel-si, causal, update-atomic, no-lost-update, read-atomic, read-committed, cut-isolation, read-uncommitted
                         chances: 0 lost updates, 0 read skews, 1 write skew; too little for lost update, read skew
              violated   serializable, update-serializable: write skew on keys x, y (G2-item), 2 transactions
                         and with it session-serializable
              not asked  strict-serializable, strong-si, strong-session-si, generalized-si: needs timestamps, which this file does not have

              T1 (session a) read x = 0, then read y = 0, then wrote x = 1
              T2 (session b) read x = 0, then read y = 0, then wrote y = 1
                T1 before T2: T1 read y = 0 (the initial value), and T2 wrote y = 1 over it
                T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
            --- exit 1
        "#]],
    );
    check(
        LOST_UPDATE,
        "",
        expect![[r#"
            h.txt satisfies prefix consistency, not snapshot isolation: updates were lost.
            h.txt: 2 sessions, 2 transactions, 4 operations, 1 key

              holds      prefix
                         and with it causal, read-atomic, read-committed, cut-isolation, read-uncommitted
                         chances: 1 lost update, 0 read skews, 0 write skews; too little for read skew
              violated   snapshot-isolation, update-serializable, no-lost-update: lost update on key x (G-single), 2 transactions
                         and with it session-serializable, serializable, session-snapshot-isolation, parallel-si, update-atomic
              not asked  strict-serializable, strong-si, strong-session-si, generalized-si: needs timestamps, which this file does not have

              T1 (session a) read x = 0, then wrote x = 1
              T2 (session b) read x = 0, then wrote x = 2
                T1 began before T2 committed: T1 read x = 0 (the initial value), and T2 wrote x = 2 over it
                T2 committed before T1 began: both wrote x, and T2 began before T1 committed
                  T2 began before T1 committed: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
            --- exit 1
        "#]],
    );
    check(
        SERIAL,
        "",
        expect![[r#"
            h.txt satisfies session serializability.
            h.txt: 2 sessions, 2 transactions, 4 operations, 1 key

              holds      session-serializable
                         and with it serializable, session-snapshot-isolation, snapshot-isolation, prefix, parallel-si, update-serializable, causal, update-atomic, no-lost-update, read-atomic, read-committed, cut-isolation, read-uncommitted
                         chances: 1 lost update, 0 read skews, 0 write skews; too little for read skew, write skew
              not asked  strict-serializable, strong-si, strong-session-si, generalized-si: needs timestamps, which this file does not have
            --- exit 0
        "#]],
    );
}

#[test]
fn one_level_by_name_or_alias() {
    check(
        WRITE_SKEW,
        "--level snapshot-isolation",
        expect![[r#"
            h.txt satisfies snapshot isolation.
            h.txt: 2 sessions, 2 transactions, 6 operations, 2 keys

              holds      snapshot-isolation
                         chances: 0 lost updates, 0 read skews, 1 write skew; too little for lost update
            --- exit 0
        "#]],
    );
    check(
        WRITE_SKEW,
        "--level PL-3",
        expect![[r#"
            h.txt violates serializability: there was write skew.
            h.txt: 2 sessions, 2 transactions, 6 operations, 2 keys

              violated   serializable: write skew on keys x, y (G2-item), 2 transactions

              T1 (session a) read x = 0, then read y = 0, then wrote x = 1
              T2 (session b) read x = 0, then read y = 0, then wrote y = 1
                T1 before T2: T1 read y = 0 (the initial value), and T2 wrote y = 1 over it
                T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
            --- exit 1
        "#]],
    );
    check(
        WRITE_SKEW,
        "--level si,ser --threads 2",
        expect![[r#"
            h.txt satisfies snapshot isolation, not serializability: there was write skew.
            h.txt: 2 sessions, 2 transactions, 6 operations, 2 keys

              holds      snapshot-isolation
                         chances: 0 lost updates, 0 read skews, 1 write skew; too little for lost update
              violated   serializable: write skew on keys x, y (G2-item), 2 transactions

              T1 (session a) read x = 0, then read y = 0, then wrote x = 1
              T2 (session b) read x = 0, then read y = 0, then wrote y = 1
                T1 before T2: T1 read y = 0 (the initial value), and T2 wrote y = 1 over it
                T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
            --- exit 1
        "#]],
    );
}

#[test]
fn validation_is_enough() {
    check(
        "a: r(x)=7\n",
        "",
        expect![[r#"
            h.txt violates read uncommitted: values were read that no transaction wrote.
            h.txt: 1 session, 1 transaction, 1 operation, 1 key

              violated   read-uncommitted: thin-air read on key x
                         and with it session-serializable, serializable, session-snapshot-isolation, snapshot-isolation, prefix, parallel-si, update-serializable, causal, update-atomic, no-lost-update, read-atomic, read-committed, cut-isolation
              not asked  strict-serializable, strong-si, strong-session-si, generalized-si: needs timestamps, which this file does not have

              T1 read x = 7, which no transaction wrote
            --- exit 1
        "#]],
    );
    check(
        "a: w(x)=1   abort\nb: r(x)=1\n",
        "--level prefix",
        expect![[r#"
            h.txt violates prefix consistency: aborted writes were read.
            h.txt: 2 sessions, 2 transactions (1 committed, 1 aborted), 1 operation, 1 key

              violated   prefix: aborted read on key x (G1a)

              T2 read x = 1, which only T1 wrote, and T1 did not commit
            --- exit 1
        "#]],
    );
}

#[test]
fn an_aborted_read_is_hidden_by_a_committed_duplicate() {
    check(
        "a: w(x)=1   abort\nb: w(x)=1\nc: r(x)=1\n",
        "--level serializable",
        expect![[r#"
            h.txt satisfies serializability.
            h.txt: 3 sessions, 3 transactions (2 committed, 1 aborted), 2 operations, 1 key

              holds      serializable
                         chances: 0 lost updates, 0 read skews, 0 write skews; too little for lost update, write skew
            --- exit 0
        "#]],
    );
}

#[test]
fn the_initial_state_comes_first() {
    check(
        "a: {w(x)=1} {r(x)=0}\n",
        "--level session-serializable",
        expect![[r#"
            h.txt violates session serializability: sessions missed their own past.
            h.txt: 1 session, 2 transactions, 2 operations, 1 key

              violated   session-serializable: stale read in a session on key x, 2 transactions

              T1 (session a) wrote x = 1
              T2 (session a) read x = 0
                T1 before T2: both are in session a
                T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
            --- exit 1
        "#]],
    );
}

#[test]
fn real_time_and_clock_skew() {
    check(
        STALE,
        "",
        expect![[r#"
            h.txt satisfies session serializability and strong session snapshot isolation, not strict serializability: reads were stale.
            h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

              holds      session-serializable, strong-session-si
                         and with it serializable, generalized-si, session-snapshot-isolation, snapshot-isolation, prefix, parallel-si, update-serializable, causal, update-atomic, no-lost-update, read-atomic, read-committed, cut-isolation, read-uncommitted
                         chances: 0 lost updates, 0 read skews, 0 write skews; too little for lost update, read skew, write skew
              violated   strict-serializable, strong-si: stale read on key x, 2 transactions

              T1 (session a) wrote x = 1
              T2 (session b) read x = 0
                T1 before T2: T1 had ended when T2 began
                T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it

              strict-serializable, strong-si: is violated for any clock skew up to 999 ns, and holds with 1000 ns
              strong-session-si: holds whatever the clock skew
            --- exit 1
        "#]],
    );
    check(
        STALE,
        "--level strict-serializable --clock-skew 2us",
        expect![[r#"
            h.txt satisfies strict serializability.
            h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

              holds      strict-serializable
                         chances: 0 lost updates, 0 read skews, 0 write skews; too little for lost update, read skew, write skew

              strict-serializable: holds for any clock skew of at least 1000 ns, and is violated with 999 ns
            --- exit 0
        "#]],
    );
    check(
        SERIAL,
        "--level strict-serializable",
        expect![[r#"
            --- standard error
            error: h.txt: strict-serializable needs to know when transactions ran, and the history has no times; without times ask for session-serializable
            --- exit 2
        "#]],
    );
}

#[test]
fn json() {
    check(
        LOST_UPDATE,
        "--json --level si,prefix",
        expect![[r#"
            {
              "chances": {
                "errors": null,
                "lost_update": 1,
                "read_conflicts": 2,
                "read_skew": 0,
                "write_conflicts": 1,
                "write_skew": 0
              },
              "headline": "h.txt satisfies prefix consistency, not snapshot isolation: updates were lost.",
              "history": {
                "aborted": 0,
                "committed": 2,
                "file": "h.txt",
                "format": "notation",
                "keys": 1,
                "operations": 4,
                "sessions": 2,
                "transactions": 2,
                "unknown": 0,
                "warnings": []
              },
              "verdicts": [
                {
                  "anomaly": "lost update",
                  "headline": "lost update on key x (G-single), 2 transactions",
                  "level": "snapshot-isolation",
                  "participants": [
                    "T1 (session a) read x = 0, then wrote x = 1",
                    "T2 (session b) read x = 0, then wrote x = 2"
                  ],
                  "reason": "T1 began before T2 committed: T1 read x = 0 (the initial value), and T2 wrote x = 2 over it; T2 committed before T1 began: both wrote x, and T2 began before T1 committed",
                  "sentences": [
                    "T1 began before T2 committed: T1 read x = 0 (the initial value), and T2 wrote x = 2 over it",
                    "T2 committed before T1 began: both wrote x, and T2 began before T1 committed",
                    "T2 began before T1 committed: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it"
                  ],
                  "time_ms": 0.0,
                  "transactions": [
                    "T1",
                    "T2"
                  ],
                  "verdict": "violated"
                },
                {
                  "anomaly": null,
                  "headline": null,
                  "level": "prefix",
                  "participants": [],
                  "reason": null,
                  "sentences": [],
                  "time_ms": 0.0,
                  "transactions": [],
                  "verdict": "holds"
                }
              ]
            }
            --- exit 1
        "#]],
    );
}

#[test]
fn reports_for_ci() {
    check(
        LOST_UPDATE,
        "--junit - --level si,prefix",
        expect![[r#"
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="isoscope" tests="2" failures="1" errors="0" skipped="0">
              <testsuite name="h.txt" tests="2" failures="1" errors="0" skipped="0">
                <testcase classname="h.txt" name="snapshot-isolation" time="0">
                  <failure type="violated" message="lost update on key x (G-single), 2 transactions">T1 (session a) read x = 0, then wrote x = 1&#10;T2 (session b) read x = 0, then wrote x = 2&#10;T1 began before T2 committed: T1 read x = 0 (the initial value), and T2 wrote x = 2 over it&#10;T2 committed before T1 began: both wrote x, and T2 began before T1 committed&#10;  T2 began before T1 committed: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it</failure>
                </testcase>
                <testcase classname="h.txt" name="prefix" time="0"/>
              </testsuite>
            </testsuites>
            --- exit 1
        "#]],
    );
    check(
        LOST_UPDATE,
        "--sarif - --level si,prefix",
        expect![[r#"
            {
              "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
              "runs": [
                {
                  "columnKind": "unicodeCodePoints",
                  "results": [
                    {
                      "level": "error",
                      "locations": [
                        {
                          "physicalLocation": {
                            "artifactLocation": {
                              "uri": "h.txt"
                            },
                            "region": {
                              "endColumn": 2,
                              "endLine": 1,
                              "startColumn": 1,
                              "startLine": 1
                            }
                          }
                        }
                      ],
                      "message": {
                        "text": "h.txt: snapshot-isolation is violated: lost update on key x (G-single), 2 transactions: T1 (session a) read x = 0, then wrote x = 1\nT2 (session b) read x = 0, then wrote x = 2\nT1 began before T2 committed: T1 read x = 0 (the initial value), and T2 wrote x = 2 over it\nT2 committed before T1 began: both wrote x, and T2 began before T1 committed\n  T2 began before T1 committed: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it"
                      },
                      "partialFingerprints": {
                        "isoscope/v1": "9fbe0f20277b8fb9"
                      },
                      "ruleId": "snapshot-isolation",
                      "ruleIndex": 0
                    }
                  ],
                  "tool": {
                    "driver": {
                      "informationUri": "https://docs.rs/isoscope",
                      "name": "isoscope",
                      "rules": [
                        {
                          "defaultConfiguration": {
                            "level": "error"
                          },
                          "fullDescription": {
                            "text": "Each transaction reads from a snapshot and commits only if no other transaction wrote its objects since; snapshots may be old, and nothing ties them to sessions or clocks."
                          },
                          "help": {
                            "markdown": "Each transaction reads from a snapshot and commits only if no other transaction wrote its objects since; snapshots may be old, and nothing ties them to sessions or clocks.\n\n`isoscope levels snapshot-isolation` shows the definition and examples.",
                            "text": "Each transaction reads from a snapshot and commits only if no other transaction wrote its objects since; snapshots may be old, and nothing ties them to sessions or clocks. `isoscope levels snapshot-isolation` shows the definition and examples."
                          },
                          "helpUri": "https://docs.rs/isoscope",
                          "id": "snapshot-isolation",
                          "name": "snapshot-isolation",
                          "properties": {
                            "precision": "very-high",
                            "tags": [
                              "isolation",
                              "database"
                            ]
                          },
                          "shortDescription": {
                            "text": "snapshot-isolation"
                          }
                        },
                        {
                          "defaultConfiguration": {
                            "level": "error"
                          },
                          "fullDescription": {
                            "text": "Everybody sees a prefix of one order of commits."
                          },
                          "help": {
                            "markdown": "Everybody sees a prefix of one order of commits.\n\n`isoscope levels prefix` shows the definition and examples.",
                            "text": "Everybody sees a prefix of one order of commits. `isoscope levels prefix` shows the definition and examples."
                          },
                          "helpUri": "https://docs.rs/isoscope",
                          "id": "prefix",
                          "name": "prefix",
                          "properties": {
                            "precision": "very-high",
                            "tags": [
                              "isolation",
                              "database"
                            ]
                          },
                          "shortDescription": {
                            "text": "prefix"
                          }
                        }
                      ],
                      "semanticVersion": "0.1.0",
                      "version": "0.1.0"
                    }
                  }
                }
              ],
              "version": "2.1.0"
            }
            --- exit 1
        "#]],
    );
    check(
        LOST_UPDATE,
        "--markdown -",
        expect![[r#"
            ### h.txt satisfies prefix consistency, not snapshot isolation: updates were lost.

            h.txt: 2 sessions, 2 transactions, 4 operations, 1 key

            | level | verdict | |
            |---|---|---|
            | session-serializable | ❌ violated | lost update on key x (G-single), 2 transactions |
            | serializable | ❌ violated | lost update on key x (G-single), 2 transactions |
            | session-snapshot-isolation | ❌ violated | lost update on key x (G-single), 2 transactions |
            | snapshot-isolation | ❌ violated | lost update on key x (G-single), 2 transactions |
            | prefix | ✅ holds |  |
            | parallel-si | ❌ violated | contradiction, 2 transactions |
            | update-serializable | ❌ violated | contradiction, 2 transactions |
            | causal | ✅ holds | follows from prefix |
            | update-atomic | ❌ violated | contradiction, 2 transactions |
            | no-lost-update | ❌ violated | contradiction between choices, 2 transactions |
            | read-atomic | ✅ holds | follows from prefix |
            | read-committed | ✅ holds | follows from prefix |
            | cut-isolation | ✅ holds | follows from prefix |
            | read-uncommitted | ✅ holds | follows from prefix |
            | strict-serializable | not asked | needs timestamps, which this file does not have |
            | strong-si | not asked | needs timestamps, which this file does not have |
            | strong-session-si | not asked | needs timestamps, which this file does not have |
            | generalized-si | not asked | needs timestamps, which this file does not have |

            **snapshot-isolation, update-serializable, no-lost-update**

            - T1 (session a) read x = 0, then wrote x = 1
            - T2 (session b) read x = 0, then wrote x = 2
            - T1 began before T2 committed: T1 read x = 0 (the initial value), and T2 wrote x = 2 over it
            - T2 committed before T1 began: both wrote x, and T2 began before T1 committed
              - T2 began before T1 committed: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
            --- exit 1
        "#]],
    );
}

#[test]
fn a_level_of_ones_own() {
    let level = "level own : visible = session | reads_from\n";
    let fractured = "a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0\n";
    let folder =
        Folder::with(&[("h.txt", fractured), ("own.iso", level), ("bad.iso", "level own : nothing\n")]);
    expect![[r#"
        h.txt violates own.
        h.txt: 2 sessions, 2 transactions, 4 operations, 2 keys

          violated   own: contradiction, 2 transactions

          T2 read y as it was at the beginning and missed what T1 wrote, although T1 was visible to T2 (T2 read x from it)
          so T2 should have seen what T1 wrote
        --- exit 1
    "#]].assert_eq(&folder.run("check h.txt --level own.iso"));
    expect![[r#"
        --- standard error
        error: the level is not defined
        error: nothing is called `nothing` here
         --> bad.iso:1:13
          |
        1 | level own : nothing
          |             ^^^^^^^
        --- exit 2
    "#]]
    .assert_eq(&folder.run("check h.txt --level bad.iso"));
    expect![[r#"
        --- standard error
        error: missing.iso: No such file or directory (os error 2)
        --- exit 2
    "#]]
    .assert_eq(&folder.run("check h.txt --level missing.iso"));
}

/// Whether a limit is noticed while the history is read or when the first level is asked depends on the machine; the
/// answer is the same. What it looks like in full is tested beside `report/text.rs` and `report/json.rs`.
#[test]
fn limits_end_it() {
    let folder = Folder::with(&[("h.txt", WRITE_SKEW)]);
    let shown = folder.run("check h.txt --time-limit 0s");
    assert!(shown.contains("the time limit of 0 ns was reached"), "{shown}");
    assert!(shown.ends_with("--- exit 3\n"), "{shown}");
    let output = folder.isoscope("check h.txt --memory-limit 1MB --json --level si").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [verdict] = answer["verdicts"].as_array().unwrap().as_slice() else { panic!("{answer}") };
    assert_eq!((&verdict["level"], &verdict["verdict"]), (&"snapshot-isolation".into(), &"undecided".into()));
    let reason = verdict["reason"].as_str().unwrap();
    assert!(reason.starts_with("the memory limit of 1.00 MB was reached"), "{reason}");
}

#[test]
fn stages_can_be_switched_off_without_changing_the_answer() {
    for stage in ["saturate", "windows", "guess", "components", "lazy", "polarity"] {
        let folder = Folder::with(&[("h.txt", WRITE_SKEW)]);
        let shown = folder.run(&format!("check h.txt --without {stage} --level ser"));
        assert!(shown.contains("write skew") && shown.ends_with("--- exit 1\n"), "without {stage}: {shown}");
    }
    check(
        WRITE_SKEW,
        "--without everything",
        expect![[r#"
            --- standard error
            error: no stage is called "everything"; there are recorded, versions, rows, schedule, frontier, repair, whole, saturate, windows, guess, components, lazy, polarity, and internal for internal consistency
            --- exit 2
        "#]],
    );
}

#[test]
fn statistics_name_the_stages() {
    let folder = Folder::with(&[("h.txt", WRITE_SKEW)]);
    let shown = folder.run("check h.txt --stats --level ser");
    for name in ["read", "index", "prepare", "saturate", "total", "peak memory"] {
        assert!(shown.contains(name), "{name} is missing in {shown}");
    }
}

#[test]
fn lists_ranges_and_predicates_are_decided() {
    check(
        "init *=nil\na: a(x)=1\nb: r(x)=[1]\n",
        "--level serializable",
        expect![[r#"
            h.txt satisfies serializability.
            h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

              holds      serializable
                         chances: 0 lost updates, 0 read skews, 0 write skews; too little for lost update, write skew
            --- exit 0
        "#]],
    );
    check(
        "init *=nil\na: i(x)=1 i(y)=1\na: w(x)=2 w(y)=2\nb: pw(v = 2)=3\nc: p(v = 2)={x=2}\n",
        "--level serializable",
        expect![[r#"
            h.txt violates serializability: there were phantoms.
            h.txt: 3 sessions, 4 transactions, 6 operations, 2 keys

              violated   serializable: phantom on keys x, y (G2), 2 transactions

              T1 (session a) inserted x = 1, then inserted y = 1
              T4 (session c) saw x = 2 and saw no row y or y = 1 or y = 3
                suppose that T3 left y as it was; 2 other cases are refuted likewise
                  T1 before T4: T4 saw no row y or y = 1 or y = 3 as T1 left it
                    T4 can only have read no row y or y = 1 or y = 3 from T1
                      T4 cannot have read no row y or y = 1 or y = 3 from the initial state: T2 overwrote it before T4
                        T2 before T4: T4 saw x = 2 as T2 left it
                  T4 before T1: T4 saw x = 2 (from T2), and T1 inserted x = 1 after that
                    T2 before T1: T2's write of y comes before T4, which saw no row y or y = 1 or y = 3 from T1, so T1 overwrote T2's
            --- exit 1
        "#]],
    );
}

#[test]
fn what_is_not_decided_says_why() {
    check(
        "a: pw([:foo 1])=7\nb: r(x)=7\n",
        "--level ser,si",
        expect![[r#"
            h.txt is undecided: T1 has a predicate without a meaning: expected one of the operators = != < <= > >= between in is-null like mod and or not matches, with its arguments, found `[:foo 1]` (docs/formats/predicates.md has the grammar).
            h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

              undecided  serializable, snapshot-isolation: T1 has a predicate without a meaning: expected one of the operators = != < <= > >= between in is-null like mod and or not matches, with its arguments, found `[:foo 1]` (docs/formats/predicates.md has the grammar)
            --- exit 3
        "#]],
    );
    check(
        "init *=?\na: pw(v > 1)={\"+\": 1}~{x}\nb: r(x)=nil\n",
        "--level ser",
        expect![[r#"
            h.txt is undecided: T1 has a predicate, and initial values were not recorded: any row may have matched.
            h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

              undecided  serializable: T1 has a predicate, and initial values were not recorded: any row may have matched
            --- exit 3
        "#]],
    );
    // Other levels are decided all the same.
    check(
        "init *=nil\na: a(x)=1\nb: r(x)=[1]\n",
        "",
        expect![[r#"
            h.txt satisfies session serializability.
            h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

              holds      session-serializable
                         and with it serializable, session-snapshot-isolation, snapshot-isolation, prefix, parallel-si, update-serializable, causal, update-atomic, no-lost-update, read-atomic, read-committed, cut-isolation, read-uncommitted
                         chances: 0 lost updates, 0 read skews, 0 write skews; too little for lost update, read skew, write skew
              not asked  strict-serializable, strong-si, strong-session-si, generalized-si: needs timestamps, which this file does not have
            --- exit 0
        "#]],
    );
    let folder = Folder::with(&[("h.txt", "a: pw([:foo 1])=7\nb: r(x)=7\n")]);
    let output = folder.isoscope("check h.txt --json --level ser").output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (answer["verdicts"][0]["verdict"].as_str(), output.status.code()),
        (Some("undecided"), Some(3))
    );
    assert!(
        answer["verdicts"][0]["reason"].as_str().unwrap().starts_with("T1 has a predicate without a meaning"),
        "{answer}"
    );
}

#[test]
fn small_histories_that_mix_kinds_are_decided_by_trying_their_orders() {
    check(
        "a: a(x)=1\nb: a(x)=1\nc: r(x)=[1 1]\n",
        "--level ser,si",
        expect![[r#"
            h.txt satisfies serializability.
            h.txt: 3 sessions, 3 transactions, 3 operations, 1 key

              holds      serializable
                         and with it snapshot-isolation
                         chances: 0 lost updates, 0 read skews, 0 write skews; too little for lost update, write skew
            --- exit 0
        "#]],
    );
    check(
        "init *=?\na: p(v > 1)={}\nb: w(x)=2\n",
        "--level ser",
        expect![[r#"
            h.txt satisfies serializability.
            h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

              holds      serializable
                         chances: not counted where there are predicates
            --- exit 0
        "#]],
    );
    check(
        "init *=nil\na: i(k)=0\nb: pw(v >= 0)=7 a(l)=1\nc: r(k)=7 r(l)=[]\n",
        "--level ser,si",
        expect![[r#"
            h.txt violates snapshot isolation: what clients saw contradicts itself.
            h.txt: 3 sessions, 3 transactions, 5 operations, 2 keys

              violated   snapshot-isolation: contradiction, 3 transactions
                         and with it serializable

              T1 (session a) inserted k = 0
              T2 (session b) set the rows where v >= 0 to 7, then appended 1 to l
              T3 (session c) read k = 7, then read l = []
                Every order of the begins and commits that the level allows was tried; in each of them some operation returns something else than it did.
            --- exit 1
        "#]],
    );
}

#[test]
fn a_level_without_an_engine_is_decided_by_its_definition_where_the_history_is_small() {
    check(
        WRITE_SKEW,
        "--level causal,rc,ser",
        expect![[r#"
            h.txt satisfies causal consistency, not serializability: there was write skew.
            h.txt: 2 sessions, 2 transactions, 6 operations, 2 keys

              holds      causal
                         and with it read-committed
                         chances: 0 lost updates, 0 read skews, 1 write skew; too little for read skew
              violated   serializable: write skew on keys x, y (G2-item), 2 transactions

              T1 (session a) read x = 0, then read y = 0, then wrote x = 1
              T2 (session b) read x = 0, then read y = 0, then wrote y = 1
                T1 before T2: T1 read y = 0 (the initial value), and T2 wrote y = 1 over it
                T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
            --- exit 1
        "#]],
    );
    check(
        "a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0\n",
        "--level rc",
        expect![[r#"
            h.txt violates read committed.
            h.txt: 2 sessions, 2 transactions, 4 operations, 2 keys

              violated   read-committed: contradiction, 2 transactions

              T2 read y as it was at the beginning and missed what T1 wrote, although T1 was visible to T2 (T2 had read x from it before)
              so T2 should have seen what T1 wrote
            --- exit 1
        "#]],
    );
    check(
        "a: w(x)=1 abort\nb: r(x)=1\n",
        "--level ra",
        expect![[r#"
            h.txt violates read atomicity: aborted writes were read.
            h.txt: 2 sessions, 2 transactions (1 committed, 1 aborted), 1 operation, 1 key

              violated   read-atomic: aborted read on key x (G1a)

              T2 read x = 1, which only T1 wrote, and T1 did not commit
            --- exit 1
        "#]],
    );
}

#[test]
fn a_level_without_an_engine_is_decided_on_a_large_history_by_what_else_is_known() {
    let many = |text: &str| text.to_owned() + &"c: r(z)=0\n".repeat(70);
    // Prefix holds, and implies it.
    check(
        &many("a: w(x)=1\n"),
        "--level causal",
        expect![[r#"
            h.txt shows nothing: no committed transaction read a key that another one wrote.
            h.txt: 2 sessions, 71 transactions, 71 operations, 2 keys

              holds      causal
                         chances: 0 lost updates, 0 read skews, 0 write skews
            --- exit 3
        "#]],
    );
    check(
        &many("a: w(x)=1 abort\nb: r(x)=1\n"),
        "--level causal",
        expect![[r#"
            h.txt violates causal consistency: aborted writes were read.
            h.txt: 3 sessions, 72 transactions (71 committed, 1 aborted), 71 operations, 2 keys

              violated   causal: aborted read on key x (G1a)

              T2 read x = 1, which only T1 wrote, and T1 did not commit
            --- exit 1
        "#]],
    );
    check(
        &many("a: r(x)=5\n"),
        "--level ru",
        expect![[r#"
            h.txt violates read uncommitted: values were read that no transaction wrote.
            h.txt: 2 sessions, 71 transactions, 71 operations, 2 keys

              violated   read-uncommitted: thin-air read on key x

              T1 read x = 5, which no transaction wrote
            --- exit 1
        "#]],
    );
    let long_fork = "a: w(x)=1\nb: w(y)=1\nd: r(x)=1 r(y)=0\ne: r(x)=0 r(y)=1\n";
    check(
        &many(long_fork),
        "--level causal",
        expect![[r#"
            h.txt satisfies causal consistency.
            h.txt: 5 sessions, 74 transactions, 76 operations, 3 keys

              holds      causal
                         chances: 0 lost updates, 0 read skews, 0 write skews; too little for read skew
            --- exit 0
        "#]],
    );
    check(
        &many(long_fork),
        "--level ru",
        expect![[r#"
            h.txt satisfies read uncommitted.
            h.txt: 5 sessions, 74 transactions, 76 operations, 3 keys

              holds      read-uncommitted
                         chances: 0 lost updates, 0 read skews, 0 write skews
            --- exit 0
        "#]],
    );
    // Lists are decided from the text.
    check(
        "init *=nil\na: a(x)=1\nb: r(x)=[1]\n",
        "--level causal",
        expect![[r#"
            h.txt satisfies causal consistency.
            h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

              holds      causal
                         chances: 0 lost updates, 0 read skews, 0 write skews; too little for read skew
            --- exit 0
        "#]],
    );
    check(
        "a: a(x)=1\nb: a(x)=1\n",
        "--level causal",
        expect![[r#"
            h.txt shows nothing: no committed transaction read a key that another one wrote.
            h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

              holds      causal
                         chances: 0 lost updates, 0 read skews, 0 write skews
            --- exit 3
        "#]],
    );
}

#[test]
fn warnings_are_shown_even_if_the_question_cannot_be_asked() {
    let folder = Folder::with(&[("h.edn", "{:type :info :process 0 :value []}\n{:type :info :value nil}\n")]);
    expect![[r#"
        --- standard error
        warning: h.edn: left out 1 operation without a process [not-a-client]
        error: h.edn: strict-serializable needs to know when transactions ran, and the history has no times; without times ask for session-serializable
        --- exit 2
    "#]].assert_eq(&folder.run("check h.edn --level strict-serializable"));
}

#[test]
fn further_levels_of_the_library_are_decided_by_name() {
    check(
        "a: w(x)=1\na: r(x)=0\nb: r(x)=1 w(y)=2\nb: r(x)=1\nc: r(y)=2 r(x)=1\n",
        "--level read-your-writes,monotonic-reads,mw,wfr,pram,mav,cursor-stability,consistent-view",
        expect![[r#"
            h.txt satisfies monotonic-reads and monotonic-writes, not pram.
            h.txt: 3 sessions, 5 transactions, 7 operations, 2 keys

              holds      monotonic-reads, monotonic-writes, writes-follow-reads, monotonic-atomic-view, cursor-stability, consistent-view
                         chances: 0 lost updates, 0 read skews, 0 write skews
              violated   read-your-writes, pram: contradiction, 2 transactions

              T2 read x as it was at the beginning and missed what T1 wrote, although T1 was visible to T2 (T1 is earlier in the session of T2)
              so T2 should have seen what T1 wrote
            --- exit 1
        "#]],
    );
}
