//! The answer comes first: one sentence, whether the promise was kept, and an exit code that agrees with both.

mod common;

use common::Folder;
use serde_json::Value;

/// A workload on which the clients meet.
const HOT: &str = "--workload rmw --keys 8 --transactions 300 --seed 1";

#[test]
fn a_history_that_shows_nothing_is_not_green() {
    let folder = Folder::with(&[
        ("header.jsonl", "{\"isoscope\":1}\n"),
        ("aborted.txt", "a: {r(x)=0 w(x)=1} abort\nb: {r(x)=0 w(x)=2} abort\n"),
        ("apart.txt", "a: r(x)=0 w(x)=1\nb: r(y)=0 w(y)=1\n"),
    ]);
    for (file, reason) in [
        ("header.jsonl", "no transaction committed"),
        ("aborted.txt", "no transaction committed"),
        ("apart.txt", "no committed transaction read a key that another one wrote"),
    ] {
        let shown = folder.run(&format!("check {file}"));
        assert!(shown.starts_with(&format!("{file} shows nothing: {reason}.\n")), "{shown}");
        assert!(shown.ends_with("--- exit 3\n"), "{shown}");
        let answer = folder.isoscope(&format!("check {file} --json")).output().unwrap();
        let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
        assert_eq!(answer["nothing_shown"], reason);
    }
}

#[test]
fn a_run_without_a_meeting_is_not_green() {
    let folder = Folder::with(&[]);
    for (flags, reason) in [
        ("--transactions 0", "no transaction committed"),
        ("--transactions 20 --sessions 1", "no two clients touched the same key at the same time"),
    ] {
        let shown = folder.run(&format!("run --db sqlite:t.db {flags}"));
        let first =
            format!("SQLite 3.54.1 at deferred showed nothing: {reason}.\nPromise not tested: serializable");
        assert!(shown.starts_with(&first), "{shown}");
        assert!(shown.ends_with("--- exit 3\n"), "{shown}");
    }
}

#[test]
fn a_program_that_dies_at_commit_showed_nothing() {
    let program = "\
import json, sys
for line in sys.stdin:
    op = json.loads(line)['op']
    if op == 'commit':
        sys.exit(2)
    said = {'done': True, 'row': [0], 'count': 1, 'rows': []}
    if op == 'hello':
        said = {'product': 'Dying', 'version': '1', 'settings': ['only'], 'statements': ['read', 'write', 'range']}
    print(json.dumps(said), flush=True)
";
    let folder = Folder::with(&[("dying.py", program)]);
    let mut command = folder.isoscope("run --transactions 6 --sessions 2 --keys 2");
    let shown = common::show(&command.args(["--db", "exec:python3 dying.py"]).output().unwrap());
    assert!(shown.starts_with("Dying 1 at only showed nothing: no transaction committed.\n"), "{shown}");
    assert!(shown.contains("recorded in run-dying-only-general-0.jsonl"), "{shown}");
    assert!(shown.ends_with("--- exit 3\n"), "{shown}");
}

#[test]
fn the_sentence_names_what_was_given_and_what_was_not() {
    let folder = Folder::with(&[]);
    let fault = "sim:snapshot?fault=lost-update&rate=0.5&latency-us=300";
    let lost = folder.run(&format!("run --db {fault} {HOT}"));
    let sentence = "sim 0.1.0 at snapshot gave prefix consistency, not snapshot isolation: ";
    assert!(lost.starts_with(sentence) && lost.contains("\nPromise broken: strong-si ("), "{lost}");
    assert!(lost.ends_with("--- exit 1\n"), "{lost}");
    let kept = folder.run(&format!("run --db sim:serializable?latency-us=100 {HOT}"));
    let sentence = "sim 0.1.0 at serializable gave strict serializability";
    assert!(kept.starts_with(sentence) && kept.contains("\nPromise kept: strict-serializable ("), "{kept}");
    assert!(kept.contains("chances: ") && kept.contains("), checked in "), "{kept}");
    let asked = folder.run(&format!("run --db sim:snapshot?latency-us=100 {HOT} --level strong-si"));
    assert!(asked.contains("\nstrong-si holds.\n") && !asked.contains("romise"), "{asked}");
}

/// A promise that was kept has no red in it, though stronger levels are violated; a broken one begins with red.
#[test]
fn colours_agree_with_the_exit_code() {
    const RED: &str = "\x1b[31m";
    let folder = Folder::with(&[]);
    let weak = folder.run(&format!("run --db sim:read-committed?latency-us=100 {HOT} --color always"));
    assert!(weak.contains("violated") && weak.ends_with("--- exit 0\n"), "{weak}");
    assert!(weak.starts_with("\x1b[32m") && !weak.contains(RED), "{weak}");
    let fault = "sim:serializable?fault=lost-update&rate=0.5&latency-us=100";
    let broken = folder.run(&format!("run --db {fault} {HOT} --color always"));
    assert!(broken.starts_with(RED) && broken.ends_with("--- exit 1\n"), "{broken}");
    let nothing = folder.run("run --db sqlite:t.db --transactions 0 --color always");
    assert!(nothing.starts_with("\x1b[33m"), "{nothing}");
}

/// Whatever other levels take, the judged one is decided: here they have no time at all, and it still is.
#[test]
fn the_promised_level_is_decided_first() {
    let folder = Folder::with(&[]);
    let line = format!("run --db sim:read-committed?latency-us=100 {HOT} --json");
    let output = folder.isoscope(&line).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["runs"][0]["judged"][0]["verdict"], "holds", "{answer}");
}
