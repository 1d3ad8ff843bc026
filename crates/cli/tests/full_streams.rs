//! Standard output and standard error that are full or closed: never a panic, and an exit code that says what happened.

mod common;

use std::process::{Command, Output};

use common::{Folder, show};

const HOLDS: &str = "a: r(x)=0 w(x)=1\nb: r(x)=1\n";
const VIOLATED: &str = "init x=0 y=0\na: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n";

fn folder() -> Folder {
    let files = [
        ("holds.txt", HOLDS),
        ("violated.txt", VIOLATED),
        ("broken.txt", "a: q(x)=1\n"),
        // Its reader warns.
        (
            "warns.jsonl",
            "{\"isoscope\":1}\n{\"recording\":\"open\"}\n{\"s\":0,\"o\":\"c\",\"ops\":[[\"w\",1,1]]}\n",
        ),
    ];
    Folder::with(&files)
}

/// Runs a command line in a shell, with its redirections.
fn shell(folder: &Folder, line: &str) -> Output {
    let script = format!("{} {line}", env!("CARGO_BIN_EXE_isoscope"));
    Command::new("sh").args(["-c", &script]).current_dir(folder.file("")).output().unwrap()
}

fn code(folder: &Folder, line: &str) -> i32 {
    let output = shell(folder, line);
    let shown = show(&output);
    assert!(!shown.contains("panicked"), "{line}: {shown}");
    output.status.code().unwrap_or_else(|| panic!("{line}: {shown}"))
}

/// Command lines with something to say on standard error, and their exit codes.
const TALKATIVE: [(&str, i32); 9] = [
    ("check broken.txt", 2),
    ("check missing.txt", 2),
    ("check", 2),
    ("no-such-command", 2),
    ("check warns.jsonl --level ser", 3),
    ("check violated.txt --level ser --without nothing", 2),
    ("convert violated.txt out.bincode --lossy", 0),
    ("run --db oracle:x", 2),
    ("probe exec:false", 2),
];

#[test]
fn standard_error_that_cannot_be_written_changes_no_exit_code() {
    let folder = folder();
    for (line, expected) in TALKATIVE {
        for redirection in ["", "2> /dev/full", "2>&-", "2> /dev/null"] {
            assert_eq!(code(&folder, &format!("{line} {redirection}")), expected, "{line} {redirection}");
        }
    }
    for redirection in ["2> /dev/full", "2>&-"] {
        assert_eq!(code(&folder, &format!("check holds.txt {redirection}")), 0);
        assert_eq!(code(&folder, &format!("check violated.txt --level ser {redirection}")), 1);
        assert_eq!(code(&folder, &format!("check violated.txt --level ser --json {redirection}")), 1);
        let undecided = format!("check violated.txt --level ser --memory-limit 1MB {redirection}");
        assert_eq!(code(&folder, &undecided), 3);
        let run = "run --db sim:serializable?latency-us=100 --transactions 100 --keys 2 --out h.jsonl";
        assert_eq!(code(&folder, &format!("{run} {redirection}")), 0);
        assert_eq!(code(&folder, &format!("{run} --memory-limit 1MB {redirection}")), 3);
        assert_eq!(code(&folder, &format!("--help {redirection}")), 0);
    }
}

#[test]
fn standard_output_that_is_full_is_said_and_is_exit_code_2() {
    let folder = folder();
    for line in [
        "check holds.txt",
        "check violated.txt --json",
        "check violated.txt --junit -",
        "check violated.txt --level ser --certificate -",
        "certify holds.txt certificate.json",
        "certify holds.txt certificate.json --json",
        "convert holds.txt - --to native",
        "convert holds.txt out.jsonl",
        "generate --to native --transactions 10",
        "generate out.jsonl --transactions 10",
        "stats holds.txt",
        "levels",
        "levels si",
        "levels si --spec",
        "synth --allow si --forbid ser",
        "synth --allow si --forbid ser --dot -",
        "synth --allow ser --forbid si --txns 1",
        "synth --allow si --forbid ser --txns 2 --all",
        "compare si ser",
        "compare si ser --matrix",
        "probe sim:serializable",
        "run --db sim: --transactions 20 --keys 5 --out h.jsonl",
        "run --db sim: --transactions 20 --keys 5 --out h.jsonl --json",
        "--help",
        "--version",
        "check --help",
    ] {
        assert_eq!(code(&folder, "check holds.txt --level ser --certificate certificate.json"), 0);
        let output = shell(&folder, &format!("{line} > /dev/full"));
        let shown = show(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {shown}");
        assert!(shown.contains("error: standard output: No space left on device"), "{line}: {shown}");
        assert_eq!(code(&folder, &format!("{line} > /dev/full 2> /dev/full")), 2, "{line}");
        assert_ne!(code(&folder, &format!("{line} >&-")), 101, "{line}");
        assert_ne!(code(&folder, &format!("{line} >&- 2>&-")), 101, "{line}");
    }
}
