//! Nothing that isoscope prints steers a terminal, whatever wrote it: a history, a level, a file's name, a database, a
//! program, the command line.

mod common;

use std::fs;

use common::{Folder, show};
use expect_test::expect;

/// Escape, the control sequence introducer in one character, a bell, a mark that turns text around.
const HOSTILE: &str = "\u{1b}[31m\u{9b}2J\u{7}\u{202e}";

/// What commands print; no character in it steers.
fn harmless(folder: &Folder, words: &[&str]) -> String {
    let output = folder.isoscope("").args(words).output().unwrap();
    let shown = show(&output);
    let steering = shown.chars().find(|&char| char != '\n' && history::is_steering(char));
    assert_eq!(steering, None, "{words:?}: {shown:?}");
    shown
}

#[test]
fn a_history() {
    let text = format!("a: r(\"{HOSTILE}\")=7 w(x)=\"{HOSTILE}\"\n\"{HOSTILE}\": r(x)=9\n");
    let notation = text.replace('\u{1b}', "\\u{1b}").replace('\u{9b}', "\\u{9b}").replace('\u{7}', "\\u{7}");
    let json = |text: &str| serde_json::to_string(text).unwrap();
    let native =
        format!("{{\"isoscope\":1}}\n{{\"s\":0,\"o\":\"c\",\"ops\":[[\"r\",{0},{0}]]}}\n", json(HOSTILE));
    let wrong = format!("{{\"isoscope\":1}}\n{{{}:3}}\n", json(HOSTILE));
    let folder = Folder::with(&[
        ("h.txt", &notation),
        ("raw.txt", &text),
        ("h.jsonl", &native),
        ("wrong.jsonl", &wrong),
        ("h.edn", &format!("{{:type :{HOSTILE}, :f :txn}}\n")),
    ]);
    for file in ["h.txt", "raw.txt", "h.jsonl", "wrong.jsonl", "h.edn"] {
        for words in [
            &["check", file][..],
            &["check", file, "--json"],
            &["check", file, "--junit", "-"],
            &["check", file, "--sarif", "-"],
            &["check", file, "--markdown", "-"],
            &["stats", file],
            &["stats", file, "--json"],
            &["probe", "sim:", "--history", file],
        ] {
            harmless(&folder, words);
        }
    }
    let shown = harmless(&folder, &["check", "h.txt", "--level", "ser"]);
    assert!(shown.contains("\\u{1b}[31m\\u{9b}2J\\u{7}\\u{202e}"), "{shown}");
    // What JSON escapes is still what it was.
    let output = folder.isoscope("stats h.txt --json").output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(answer["findings"].as_array().is_some_and(|findings| !findings.is_empty()), "{answer}");
}

#[test]
fn a_level() {
    let folder = Folder::with(&[
        ("h.txt", "a: r(x)=0\n"),
        ("wrong.iso", &format!("level {HOSTILE} : \"{HOSTILE}\" nonsense\n")),
        ("string.iso", &format!("include \"{HOSTILE}\"\n")),
    ]);
    for level in ["wrong.iso", "string.iso", HOSTILE, &format!("{HOSTILE}.iso")] {
        for words in [
            &["check", "h.txt", "--level", level][..],
            &["levels", level],
            &["synth", "--allow", level, "--forbid", "ser"],
            &["compare", level, "ser"],
            &["run", "--db", "sim:", "--transactions", "5", "--level", level, "--out", "r.jsonl"],
        ] {
            let shown = harmless(&folder, words);
            assert!(shown.ends_with("exit 2\n"), "{words:?}: {shown}");
        }
    }
}

#[test]
fn the_name_of_a_file() {
    let name = format!("{HOSTILE}.txt");
    let folder = Folder::with(&[]);
    fs::write(folder.file(&name), "a: r(x)=0 w(x)=1\nb: r(x)=5\n").unwrap();
    let out = format!("{HOSTILE}.jsonl");
    for words in [
        &["check", &name][..],
        &["check", &name, "--json"],
        &["check", &name, "--junit", "-"],
        &["check", &name, "--sarif", "-"],
        &["check", &name, "--markdown", "-"],
        &["check", &name, "--junit", &name],
        &["check", &format!("no {name}")],
        &["convert", &name, &out],
        &["convert", &name, &out, "--json"],
        &["convert", &name, &format!("{HOSTILE}/{HOSTILE}.jsonl")],
        &["certify", &name, &name],
        &["run", "--db", "sim:", "--transactions", "5", "--out", &out, "--no-check"],
        &["run", "--config", &name],
        &["probe", "sim:", "--schedules", &name],
        &["probe", "sim:", "--expect", &name],
        &["probe", &format!("sqlite:{HOSTILE}/x.db")],
    ] {
        harmless(&folder, words);
    }
}

#[test]
fn the_command_line() {
    let folder = Folder::with(&[("h.txt", "a: r(x)=0\n")]);
    for words in [
        &[HOSTILE][..],
        &["check", "h.txt", &format!("--{HOSTILE}")],
        &["check", "h.txt", "--time-limit", HOSTILE],
        &["check", "h.txt", "--without", HOSTILE],
        &["generate", "--workload", HOSTILE],
        &["run", "--db", HOSTILE],
        &["run", "--db", "sim:", "--isolation", HOSTILE],
        &["run", "--db", &format!("sim:{HOSTILE}")],
        &["run", "--db", &format!("postgres://{HOSTILE}@127.0.0.1:1/x")],
        &["run", "--db", "sim:", "--workload", HOSTILE],
        &["probe", "sim:", "--setting", HOSTILE],
        &["probe", "sim:", "--transcript", HOSTILE],
    ] {
        let shown = harmless(&folder, words);
        assert!(shown.ends_with("exit 2\n"), "{words:?}: {shown}");
    }
}

/// A program that answers hello, and says something hostile wherever it can; `answer` is its answer to a begin.
fn program(answer: &str) -> String {
    let hostile = "\\033[31m\\302\\2332J\\007\\342\\200\\256";
    let json = "\\\\u001b[31m\\\\u009b2J\\\\u0007\\\\u202e";
    format!(
        "printf '{hostile} to standard error, for ann:s3cret@host\\n' >&2\n\
         while read -r line; do\n\
         case \"$line\" in\n\
         *hello*) printf '{{\"product\":\"{json}\",\"version\":\"{json}\",\"settings\":[\"{json}\"],\
         \"statements\":[\"read\",\"write\"]}}\\n';;\n\
         *prepare*|*tables*) printf '{{\"done\":true}}\\n';;\n\
         *) printf '{}\\n';;\n\
         esac\ndone\n",
        answer.replace("HOSTILE", json)
    )
}

const PROBES: [&[&str]; 5] = [
    &["probe", "exec:sh db.sh"],
    &["probe", "exec:sh db.sh", "--all"],
    &["probe", "exec:sh db.sh", "--markdown", "-"],
    &["probe", "exec:sh db.sh", "--json"],
    &["probe", "exec:sh db.sh", "--transcript", "g0"],
];

#[test]
fn a_program_that_plays_a_database() {
    for answer in [
        r#"{"failed":"aborted","message":"HOSTILE","code":"HOSTILE"}"#,
        r#"{"failed":"refused","message":"HOSTILE ann:s3cret@host","code":"HOSTILE"}"#,
        r#"{"failed":"lost","message":"HOSTILE"}"#,
        r#"{"odd":"HOSTILE"}"#,
        "HOSTILE",
    ] {
        let folder = Folder::with(&[("db.sh", &program(answer))]);
        // A probe asks a database again and again that aborts everything.
        let probes: &[&[&str]] = if answer.contains("aborted") { &[] } else { &PROBES };
        let runs = [
            &["run", "--db", "exec:sh db.sh", "--duration", "100ms", "--sessions", "1"][..],
            &["run", "--db", "exec:sh db.sh", "--duration", "100ms", "--sessions", "1", "--json"],
        ];
        for words in probes.iter().chain(&runs) {
            let shown = harmless(&folder, words);
            assert!(!shown.contains("s3cret"), "{words:?}: {shown}");
            assert!(shown.contains("to standard error, for ann:***@host"), "{words:?}: {shown}");
        }
    }
}

#[test]
fn json_says_the_same_in_other_characters() {
    let folder = Folder::with(&[("h\u{9b}.txt", "a: r(x)=0\n")]);
    let output = folder.isoscope("check --json --level ser").arg("h\u{9b}.txt").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\"h\\u009b.txt\""), "{text}");
    let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["history"]["file"], "h\u{9b}.txt");
}

#[test]
fn a_line_of_another_origin_does_not_look_like_one_of_the_answer() {
    let folder = Folder::with(&[]);
    fs::write(folder.file("h\n  holds      all.txt"), "a: r(x)=0\n").unwrap();
    let output = folder.isoscope("check --level ser").arg("h\n  holds      all.txt").output().unwrap();
    expect![[r#"
        h\n  holds      all.txt shows nothing: no committed transaction read a key that another one wrote.
        h\n  holds      all.txt: 1 session, 1 transaction, 1 operation, 1 key

          holds      serializable
                     chances: 0 lost updates, 0 read skews, 0 write skews
        --- exit 3
    "#]]
    .assert_eq(&show(&output));
}
