//! Standard input, standard output, and closed pipes.

mod common;

use std::io::Read;
use std::process::Stdio;

use common::Folder;
use expect_test::expect;

const HISTORY: &str = "a: r(x)=0 w(x)=1\nb: r(x)=1\n";

#[test]
fn a_history_on_standard_input() {
    let folder = Folder::with(&[]);
    expect![[r#"
        standard input satisfies serializability.
        standard input: 2 sessions, 2 transactions, 3 operations, 1 key

          holds      serializable
                     chances: 0 lost updates, 0 read skews, 0 write skews; too little for lost update, write skew
        --- exit 0
    "#]]
    .assert_eq(&folder.run_with_input("check - --level ser", HISTORY.as_bytes()));
    expect![[r#"
        --- standard error
        error: standard input: expected a history in one of the known formats, found no content: it is empty
        --- exit 2
    "#]]
    .assert_eq(&folder.run_with_input("check -", b""));
}

#[test]
fn one_command_reads_what_another_writes() {
    let folder = Folder::with(&[("h.txt", HISTORY)]);
    let native = folder.isoscope("convert h.txt --to native").output().unwrap();
    expect![[r#"
        a: r(x)=0 w(x)=1
        b: r(x)=1
        --- exit 0
    "#]]
    .assert_eq(&folder.run_with_input("convert - --to notation", &native.stdout));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with(&[]);
    let mut generate = folder.isoscope("generate --to native --transactions 20000");
    let mut child = generate.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(141));
}

#[test]
fn nothing_in_a_pipe_is_coloured_or_counts_progress() {
    let folder = Folder::with(&[]);
    for line in [
        "demo",
        "levels",
        "levels si",
        "generate --transactions 3000 out.jsonl",
        "stats out.jsonl",
        "check out.jsonl",
    ] {
        let output = folder.isoscope(line).env("CLICOLOR_FORCE", "1").output().unwrap();
        assert!(!output.stdout.contains(&0x1b), "{line}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    }
}

#[test]
fn what_a_history_holds_does_not_steer_the_terminal() {
    let folder = Folder::with(&[("h.txt", "a: r(\"\\u{1b}[31mred\")=7\n")]);
    let output = folder.isoscope("check h.txt").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", common::show(&output));
    assert!(!output.stdout.contains(&0x1b));
}
