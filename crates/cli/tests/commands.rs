//! The other commands, seen from outside.

mod common;

use common::{Folder, without_times};
use expect_test::expect;

const HISTORY: &str = "a: {r(x)=0 w(x)=1} {r(x)=1 w(y)=1}\nb: r(y)=1 w(x)=2   unknown\nc: w(y)=1   abort\n";

/// Whether SQLite waited depends on how busy the machine is; what is possible does not.
#[test]
fn demo() {
    let shown = Folder::with(&[]).run("demo");
    let row =
        |setting: &str| shown.lines().find(|line| line.trim_start().starts_with(setting)).unwrap().to_owned();
    assert!(
        shown.contains(" looks like serializability at deferred (the default) and immediate.\n"),
        "{shown}"
    );
    let simulated = "sim 0.1.0 looks like serializability at serializable (the default), snapshot isolation at snapshot, \
                     read committed at read-committed, read uncommitted at read-uncommitted.\n";
    assert!(shown.contains(simulated), "{shown}");
    expect!["  snapshot         ✓a  ✓   ✓   ✓   ✓a  ✓       ✓a  ✓a  ✓a       ✗       ✗"]
        .assert_eq(&row("snapshot"));
    assert!(
        shown.contains("\n  G0        Dirty write: the writes of two transactions end up mixed.\n"),
        "{shown}"
    );
    expect!["  sim, snapshot             this happened"].assert_eq(&row("sim, snapshot"));
    let (_, checked) = shown.split_once("Which level is that?\n").unwrap();
    expect![[r#"

        doctors satisfies session snapshot isolation, not serializability: there was write skew.
        doctors: 3 sessions, 3 transactions, 8 operations, 2 keys

          holds      session-snapshot-isolation
                     and with it snapshot-isolation, prefix, parallel-si, causal, update-atomic, no-lost-update, read-atomic, read-committed, cut-isolation, read-uncommitted
                     chances: 0 lost updates, 0 read skews, 1 write skew; too little for lost update, read skew
          violated   serializable, update-serializable: write skew on keys alice, bob (G2-item), 2 transactions
                     and with it session-serializable

          T1 (session one) read alice = 1, then read bob = 1, then wrote alice = 0
          T2 (session two) read alice = 1, then read bob = 1, then wrote bob = 0
            T1 before T2: T1 read bob = 1 (the initial value), and T2 wrote bob = 0 over it
            T2 before T1: T2 read alice = 1 (the initial value), and T1 wrote alice = 0 over it

        `isoscope probe URL` makes the table of your database; `isoscope check FILE` checks a history of your own.
        `isoscope levels snapshot-isolation` explains a level; `isoscope --help` lists the commands.
        The tables and the picture are in TEMPORARY/isoscope-demo.html.
        --- exit 0
    "#]]
    .assert_eq(&checked.replace(&std::env::temp_dir().display().to_string(), "TEMPORARY"));
}

#[test]
fn stats() {
    let folder = Folder::with(&[("h.txt", HISTORY)]);
    expect![[r#"
        h.txt: 3 sessions, 4 transactions (2 committed, 1 aborted, 1 unknown), 4 operations, 2 keys

          contents (notation)
            read operations                               3
            write operations                              4
            transactions of a session             1 / 1 / 2
            operations of a transaction           1 / 2 / 2
            transactions that only read                   0
            external reads                                3
              with several possible writers               0
              of the initial state                        1
            final writes                                  3
              of a value written before                   0
            operations that failed                        0
            times                                        no
            memory                                    692 B

          what it could have shown (pairs of transactions of different sessions)
            writes of the same key                        0
            lost update                                   0
            read skew                                     0
            write skew                                    0
        --- exit 0
    "#]]
    .assert_eq(&folder.run("stats h.txt"));
    let json = without_times(&folder.run("stats h.txt --json"));
    let json: Vec<_> = json.lines().filter(|line| !line.contains("_bytes")).take(14).collect();
    expect![[r#"
        {
          "history": {
            "file": "h.txt",
            "format": "notation",
            "sessions": 3,
            "transactions": 4,
            "committed": 2,
            "aborted": 1,
            "unknown": 1,
            "operations": 4,
            "keys": 2,
            "warnings": []
          },
          "contents": {
    "#]]
    .assert_eq(&(json.join("\n") + "\n"));
}

#[test]
fn levels() {
    let folder = Folder::with(&[]);
    expect![[r#"
        snapshot-isolation

          Each transaction reads from a snapshot and commits only if no other transaction wrote its objects since; snapshots may be old, and nothing ties them to sessions or clocks.

          also called  si, adya-si, pl-si
          implied by   serializable, generalized-si, session-snapshot-isolation
          implies      cut-isolation
          engine       complete

          definition
            level snapshot-isolation alias si, adya-si, pl-si :
                order   = reads_from,
                visible = before? ; (reads_from | (conflict & before))

          allows      write skew: each read what the other wrote over
            a: r(x)=0 r(y)=0 w(x)=1
            b: r(x)=0 r(y)=0 w(y)=1

          forbids     lost update: both read 0 and wrote over it
            a: r(x)=0 w(x)=1
            b: r(x)=0 w(x)=2
        --- exit 0
    "#]].assert_eq(&folder.run("levels snapshot-isolation"));
    expect![[r#"
        include "std/relations.iso"

        /// A transaction sees everything that could have influenced what it sees.
        level causal alias cc, tcc, causal-consistency, transactional-causal-consistency :
            visible = (session | reads_from)+
        --- exit 0
    "#]]
    .assert_eq(&folder.run("levels causal --spec"));
    let all: serde_json::Value = json(&folder, "levels --json");
    assert_eq!(all.as_array().unwrap().len(), 18);
}

fn json(folder: &Folder, line: &str) -> serde_json::Value {
    serde_json::from_slice(&folder.isoscope(line).output().unwrap().stdout).unwrap()
}

#[test]
fn every_level_has_a_page_and_a_definition_that_can_be_asked() {
    let folder = Folder::with(&[("h.txt", "a: r(x)=0 w(x)=1 @[0,10]\nb: r(x)=1 @[20,30]\n")]);
    for level in json(&folder, "levels --json").as_array().unwrap() {
        let name = level["name"].as_str().unwrap();
        assert!(folder.run(&format!("levels {name}")).ends_with("--- exit 0\n"), "{name}");
        let spec = folder.isoscope(&format!("levels {name} --spec")).output().unwrap().stdout;
        std::fs::write(folder.file("level.iso"), spec).unwrap();
        let shown = folder.run("check h.txt --level level.iso");
        assert!(shown.contains(&format!("holds      {name}")), "{name}: {shown}");
    }
}

#[test]
fn a_history_survives_every_format_that_can_hold_it() {
    let plain = "a: {r(x)=0 w(x)=1} {r(x)=1 w(y)=1}\nb: r(y)=1 w(x)=2\n";
    let folder = Folder::with(&[("h.txt", plain)]);
    let counts = |file: &str| {
        let history = &json(&folder, &format!("stats {file} --json"))["history"];
        ["sessions", "committed", "operations"].map(|name| history[name].as_u64().unwrap())
    };
    for (format, file) in [("native", "n.jsonl.zst"), ("notation", "n.txt.gz"), ("jepsen", "n.edn")] {
        let shown = folder.run(&format!("convert h.txt {file} --to {format}"));
        assert!(shown.ends_with("--- exit 0\n"), "{format}: {shown}");
        assert_eq!(counts(file), counts("h.txt"), "{format}");
    }
}

#[test]
fn an_answer_can_be_checked_by_someone_else() {
    let folder = Folder::with(&[("h.txt", HISTORY), ("other.txt", "a: r(x)=0\n")]);
    assert!(folder.run("check h.txt --level ser --certificate c.json").ends_with("--- exit 0\n"));
    expect![[r#"
        h.txt: 3 sessions, 4 transactions (2 committed, 1 aborted, 1 unknown), 4 operations, 2 keys

          holds      serializable, proved by an order of 2 events
        --- exit 0
    "#]]
    .assert_eq(&folder.run("certify h.txt c.json"));
    let other = folder.run("certify other.txt c.json");
    assert!(other.contains("for another history") && other.ends_with("--- exit 2\n"), "{other}");
}

#[test]
fn a_violation_can_be_checked_by_someone_else() {
    let folder = Folder::with(&[("h.txt", "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n")]);
    assert!(folder.run("check h.txt --level ser --certificate c.json").ends_with("--- exit 1\n"));
    let shown = folder.run("certify h.txt c.json");
    assert!(
        shown.contains("violated   serializable, proved by") && shown.ends_with("--- exit 1\n"),
        "{shown}"
    );
    let forged = std::fs::read_to_string(folder.file("c.json"))
        .unwrap()
        .replace("\"sessions\": false", "\"sessions\": true");
    std::fs::write(folder.file("c.json"), forged.replacen("r1=init", "r1=t0", 1)).unwrap();
    let shown = folder.run("certify h.txt c.json");
    assert!(shown.ends_with("--- exit 2\n"), "{shown}");
}

#[test]
fn the_clock_skew_that_a_certificate_assumes_is_told_and_can_be_refused() {
    let folder = Folder::with(&[("h.txt", "a: w(x)=1 @[0,1]\nb: r(x)=0 @[3,4]\n")]);
    assert!(folder.run("check h.txt --level strict-serializable").ends_with("--- exit 1\n"));
    folder.run("check h.txt --level strict-serializable --clock-skew 1s --certificate c.json");
    expect![[r#"
        h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

          holds      strict-serializable, clock skew 1s, proved by an order of 2 events

          This verdict assumes that the clocks of two clients may be 1s apart.
          Give --clock-skew 1s to accept that, or --clock-skew 0 to refuse it.
        --- exit 0
    "#]]
    .assert_eq(&folder.run("certify h.txt c.json"));
    expect![[r#"
        h.txt: 2 sessions, 2 transactions, 2 operations, 1 key

          holds      strict-serializable, clock skew 1s, proved by an order of 2 events
        --- exit 0
    "#]]
    .assert_eq(&folder.run("certify h.txt c.json --level strict-serializable --clock-skew 1000ms"));
    expect![[r#"
        --- standard error
        error: c.json: expected a certificate with a clock skew of 0, found one with 1s
        --- exit 2
    "#]]
    .assert_eq(&folder.run("certify h.txt c.json --clock-skew 0"));
    expect![[r#"
        --- standard error
        error: c.json: expected a certificate for serializable, found one for strict-serializable
        --- exit 2
    "#]]
    .assert_eq(&folder.run("certify h.txt c.json --level serializable"));
    let json = folder.run("certify h.txt c.json --json");
    assert!(json.contains("\"clock_skew\": 1000000000"), "{json}");
}

#[test]
fn the_clock_skew_of_a_certificate_for_a_text_is_told_and_can_be_refused() {
    let mine = "level mine : order = session | reads_from | real_time, visible = (session | reads_from | real_time)+\n";
    let folder = Folder::with(&[("h.txt", "a: w(x)=1 @[0,1]\nb: r(x)=0 @[3,4]\n"), ("mine.iso", mine)]);
    assert!(folder.run("check h.txt --level mine.iso").ends_with("--- exit 1\n"));
    folder.run("check h.txt --level mine.iso --clock-skew 1s --certificate c.json");
    let told = folder.run("certify h.txt c.json --level mine.iso");
    assert!(told.contains("holds      mine, clock skew 1s, proved by"), "{told}");
    assert!(told.contains("This verdict assumes that the clocks of two clients may be 1s apart."), "{told}");
    let stated = folder.run("certify h.txt c.json --level mine.iso --clock-skew 1s");
    assert!(!stated.contains("assumes") && stated.ends_with("--- exit 0\n"), "{stated}");
    let refused = folder.run("certify h.txt c.json --level mine.iso --clock-skew 0");
    assert!(
        refused.contains("expected a certificate with a clock skew of 0, found one with 1s"),
        "{refused}"
    );
    let json = folder.run("certify h.txt c.json --level mine.iso --json");
    assert!(json.contains("\"clock_skew\": 1000000000"), "{json}");
    folder.run("check h.txt --level strict-serializable --certificate s.json");
    let other = folder.run("certify h.txt s.json --level mine.iso");
    assert!(other.contains("about strict-serializable, which isoscope ships: name that level"), "{other}");
}

#[test]
fn equal_seeds_give_equal_histories() {
    let folder = Folder::with(&[]);
    let generate = |seed: u32| {
        folder
            .isoscope(&format!("generate --workload small --to native --seed {seed}"))
            .output()
            .unwrap()
            .stdout
    };
    assert!(generate(1) == generate(1) && generate(1) != generate(2));
    expect![[r#"
        small: 4 sessions, 60 transactions, 180 operations, 5 keys
        written to g.jsonl as native
        --- exit 0
    "#]]
    .assert_eq(&folder.run("generate --workload small --level prefix --seed 3 g.jsonl"));
}

#[test]
fn what_the_simulated_database_promises_is_kept() {
    let folder = Folder::with(&[]);
    for (level, promise) in
        [("serializable", "strict-serializable"), ("snapshot", "strong-si"), ("prefix", "prefix")]
    {
        folder.run(&format!("generate --workload small --level {level} --transactions 200 g.jsonl"));
        let shown = folder.run(&format!("check g.jsonl --level {promise}"));
        assert!(shown.ends_with("--- exit 0\n"), "{level}: {shown}");
    }
}

#[test]
fn a_planted_anomaly_is_found() {
    let folder = Folder::with(&[]);
    folder.run("generate --workload small --level serial g.jsonl");
    folder.run("convert g.jsonl planted.jsonl --plant long-fork --seed 7");
    let shown = folder.run("check planted.jsonl --level prefix");
    assert!(shown.contains("violated   prefix: ") && shown.ends_with("--- exit 1\n"), "{shown}");
}
