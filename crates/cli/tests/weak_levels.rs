//! The levels below prefix, seen from outside: fifteen small histories on which tools of the field are wrong, each by
//! itself and in the middle of ten thousand transactions that are fine.

mod common;

use std::fmt::Write;
use std::path::Path;

use common::Folder;

/// The short names in `EXPECTED.tsv`, and the levels they stand for.
const LEVELS: [(&str, &str); 6] = [
    ("rc", "read-committed"),
    ("ra", "read-atomic"),
    ("cc", "causal"),
    ("pc", "prefix"),
    ("si", "session-snapshot-isolation"),
    ("ser", "session-serializable"),
];

/// The name, the history and the levels that hold, of each counterexample.
fn counterexamples() -> Vec<(String, String, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/counterexamples");
    let expected = std::fs::read_to_string(folder.join("EXPECTED.tsv")).unwrap();
    let cases = expected.lines().map(|line| {
        let (name, holding) = line.split_once('\t').unwrap_or((line, ""));
        let history = std::fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap();
        (name.to_owned(), history, holding.split_whitespace().map(str::to_owned).collect())
    });
    cases.collect()
}

fn verdicts(history: &str) -> Vec<(String, String)> {
    let folder = Folder::with(&[("h.txt", history)]);
    let levels: String = LEVELS.iter().map(|(_, level)| format!(" --level {level}")).collect();
    let printed = folder.run(&format!("check h.txt --json{levels}"));
    let (json, _) = printed.split_once("--- exit").unwrap_or((&printed, ""));
    let answer: serde_json::Value = serde_json::from_str(json).unwrap();
    let levels = answer["verdicts"].as_array().unwrap_or_else(|| panic!("no verdicts in {printed}"));
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    levels.iter().map(|level| (text(&level["level"]), text(&level["verdict"]))).collect()
}

fn compare(name: &str, history: &str, holding: &[String]) {
    let found = verdicts(history);
    for (short, level) in LEVELS {
        let expected = if holding.iter().any(|known| known == short) { "holds" } else { "violated" };
        let verdict = found.iter().find(|(known, _)| known == level).map(|(_, verdict)| verdict.as_str());
        assert_eq!(verdict, Some(expected), "{name} at {level}");
    }
}

#[test]
fn counterexamples_have_their_verdicts_at_six_levels() {
    for (name, history, holding) in counterexamples() {
        compare(&name, &history, &holding);
    }
}

#[test]
fn counterexamples_are_found_among_ten_thousand_transactions() {
    for (name, history, holding) in counterexamples() {
        compare(&name, &planted(&history), &holding);
    }
}

/// The history after five thousand transactions of other sessions on other keys, and before as many.
fn planted(history: &str) -> String {
    let mut text = String::new();
    let serial = |text: &mut String, from: u32, to: u32| {
        for txn in from..to {
            let (key, session) = (1000 + txn % 50, 100 + txn % 20);
            let before = if txn < 50 { 0 } else { txn - 50 + 1 };
            writeln!(text, "r({key},{before},{session},{})", 10_000 + txn).unwrap();
            writeln!(text, "w({key},{},{session},{})", txn + 1, 10_000 + txn).unwrap();
        }
    };
    serial(&mut text, 0, 5000);
    text.push_str(history);
    serial(&mut text, 5000, 10_000);
    text
}
