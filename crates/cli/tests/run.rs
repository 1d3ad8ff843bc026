//! `isoscope run`, seen from outside: what it answers, and what is left of a run that is stopped or killed.

mod common;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::Folder;
use serde_json::Value;

/// The answer to a run, as JSON, and its exit code.
fn run(folder: &Folder, line: &str) -> (Value, Option<i32>) {
    let output = folder.isoscope(&format!("run {line} --json")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{line}: {errors}"));
    (answer["runs"][0].clone(), output.status.code())
}

fn judged(answer: &Value) -> (&str, &str) {
    let judged = &answer["judged"][0];
    (judged["level"].as_str().unwrap(), judged["verdict"].as_str().unwrap())
}

#[test]
fn a_promise_is_kept_or_broken() {
    let folder = Folder::with(&[]);
    let hot = "--workload general --keys 8 --operations 4 --transactions 300";
    let (answer, code) = run(&folder, &format!("--db sim:snapshot?latency-us=100 {hot}"));
    assert_eq!((judged(&answer), code), (("strong-si", "holds"), Some(0)));
    let (answer, code) =
        run(&folder, &format!("--db sim:serializable?latency-us=100&fault=aborted-read&rate=0.3 {hot}"));
    assert_eq!((judged(&answer), code), (("strict-serializable", "violated"), Some(1)));
    // A key that is read twice may hold something else the second time.
    let (answer, code) = run(&folder, &format!("--db sim:read-committed?latency-us=100 {hot}"));
    // The judged level comes after the levels with an engine around it.
    assert_eq!(answer["check"]["verdicts"].as_array().unwrap().last().unwrap()["level"], "read-committed");
    assert_eq!((judged(&answer), code), (("read-committed", "holds"), Some(0)));
    let (answer, code) = run(&folder, &format!("--db sim:read-uncommitted?latency-us=100 {hot}"));
    assert_eq!((judged(&answer), code), (("read-uncommitted", "holds"), Some(0)));
    let (answer, code) = run(
        &folder,
        &format!(
            "--db sim:read-committed?latency-us=100&fault=aborted-read&rate=0.5 {hot} --abort-share 0.3"
        ),
    );
    assert_eq!((judged(&answer), code), (("read-committed", "violated"), Some(1)));
}

#[test]
fn what_cannot_be_decided_at_one_level_does_not_hide_the_others() {
    let folder = Folder::with(&[]);
    let lists = "--workload append --keys 3 --transactions 300 --level session-serializable,prefix";
    let (answer, code) =
        run(&folder, &format!("--db sim:serializable?latency-us=100&fault=lost-update&rate=0.3 {lists}"));
    assert_eq!(answer["check"]["verdicts"][0]["verdict"], "violated", "{answer}");
    assert_eq!(code, Some(1));
}

/// A run that would take minutes, after it has recorded some transactions.
fn start_endless(folder: &Folder) -> Child {
    let line = "run --db sim:serializable?latency-us=100 --workload rmw --duration 10m --out h.jsonl";
    let mut child = folder.isoscope(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    const ENOUGH: u64 = 200_000;
    while std::fs::metadata(folder.file("h.jsonl")).map_or(0, |file| file.len()) < ENOUGH {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn send(signal: &str, child: &Child) {
    let kill = format!("kill -{signal} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

#[test]
fn a_run_that_is_interrupted_ends_whole_and_is_checked() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::with(&[]);
        let child = start_endless(&folder);
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        let shown = common::show(&output);
        assert!(shown.contains("commits per second, stopped"), "{shown}");
        assert!(shown.contains("Promise kept: strict-serializable"), "{shown}");
        assert!(shown.ends_with("--- exit 0\n"), "{shown}");
        let history = std::fs::read_to_string(folder.file("h.jsonl")).unwrap();
        assert!(history.contains("{\"recording\":\"closed\"}") && history.ends_with("}\n"));
        assert!(history.contains("\"name\":\"final read\""));
        let checked = folder.run("check h.jsonl --level strict-serializable");
        assert!(checked.ends_with("--- exit 0\n") && !checked.contains("warning"), "{checked}");
    }
}

#[test]
fn a_run_that_is_killed_leaves_what_it_recorded() {
    let folder = Folder::with(&[]);
    let mut child = start_endless(&folder);
    send("KILL", &child);
    assert_eq!(child.wait().unwrap().code(), None);
    let history = std::fs::read_to_string(folder.file("h.jsonl")).unwrap();
    assert!(history.contains("\"recording\":\"open\"") && !history.contains("\"recording\":\"closed\""));
    let whole = history.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok());
    let committed = whole.filter(|line| line.contains("\"o\":\"c\"")).count();
    let output = folder.isoscope("check h.jsonl --level strict-serializable --json").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", common::show(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let count = |name: &str| answer["history"][name].as_u64().unwrap() as usize;
    // Those at the very end may have read from what was never written down, and are taken as unknown.
    assert!(count("committed") > 0, "{}", answer["history"]);
    assert_eq!(count("committed") + count("unknown"), committed, "{}", answer["history"]);
}

#[test]
fn several_urls_are_for_servers() {
    let shown = Folder::with(&[]).run("run --db sim: --db sim:");
    assert!(shown.contains("only servers may have several URLs") && shown.ends_with("exit 2\n"), "{shown}");
}
