//! Many histories: a line of JSON for each, whatever becomes of it, and going on after an end.

mod common;

use common::Folder;
use serde_json::Value;

const SKEW: &str = "a: r(x)=0 w(y)=1\nb: r(y)=0 w(x)=1\n";
const FINE: &str = "a: w(x)=1\nb: r(x)=1\n";

fn folder() -> Folder {
    let folder = Folder::with(&[("list", "many/skew.txt\nmany/fine.txt\n\n# a comment\nmany/fine.txt\n")]);
    std::fs::create_dir(folder.file("many")).unwrap();
    std::fs::write(folder.file("many/skew.txt"), SKEW).unwrap();
    std::fs::write(folder.file("many/fine.txt"), FINE).unwrap();
    folder
}

fn answers(folder: &Folder) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.file("answers.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_folder_has_one_line_for_each_history_and_sums() {
    let folder = folder();
    let said = folder.run("batch many -o answers.jsonl --jobs 2 --level serializable,si");
    assert!(said.starts_with("answers.jsonl: 2 histories\n\n"), "{said}");
    assert!(said.contains("serializable                 1 holds, 1 violated"), "{said}");
    assert!(said.ends_with("--- exit 1\n"), "{said}");
    let answers = answers(&folder);
    let skew = answers.iter().find(|answer| answer["history"]["file"] == "many/skew.txt").unwrap();
    assert_eq!(skew["verdicts"][0]["anomaly"], "write skew");
    assert_eq!(skew["verdicts"][1]["verdict"], "holds");
}

#[test]
fn what_fails_is_a_line_and_not_the_end() {
    let folder = folder();
    std::fs::write(folder.file("many/broken.jsonl"), "{]").unwrap();
    std::fs::write(folder.file("list"), "many/missing\nmany/broken.jsonl\nmany/fine.txt\n").unwrap();
    let said = folder.run("batch list -o answers.jsonl --level si");
    assert!(said.contains("3 histories, 2 without an answer"), "{said}");
    assert!(said.ends_with("--- exit 2\n"), "{said}");
    let failed = |answer: &&Value| answer["error"].is_string();
    let answers = answers(&folder);
    assert_eq!(answers.iter().filter(failed).count(), 2);
    let missing = answers.iter().find(|answer| answer["history"]["file"] == "many/missing").unwrap();
    assert_eq!(missing["error"], "many/missing: No such file or directory (os error 2)");
}

#[test]
fn answers_that_are_there_are_kept_and_a_cut_line_is_not() {
    let folder = folder();
    folder.run("batch list -o answers.jsonl --jobs 1 --level si");
    let whole = std::fs::read_to_string(folder.file("answers.jsonl")).unwrap();
    let (first, _) = whole.split_once('\n').unwrap();
    let marked = first.replacen("\"verdicts\"", "\"kept\":true,\"verdicts\"", 1);
    std::fs::write(folder.file("answers.jsonl"), format!("{marked}\n{{\"history\":{{\"fi")).unwrap();
    let said = folder.run("batch list -o answers.jsonl --jobs 1 --level si");
    assert!(said.contains("answers.jsonl: 2 histories\n"), "{said}");
    let answers = answers(&folder);
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["kept"], true);
    assert_eq!(answers[1]["history"]["file"], "many/fine.txt");
}

#[test]
fn answers_to_another_question_are_not_mixed() {
    let folder = folder();
    folder.run("batch list -o answers.jsonl --level si");
    let said = folder.run("batch list -o answers.jsonl --level serializable");
    assert!(said.contains("line 1 answers for other levels"), "{said}");
    let said = folder.run("batch list -o list --level si");
    assert!(said.ends_with("--- exit 2\n"), "{said}");
    let said = folder.run("batch list -o many/skew.txt --level si");
    assert!(said.contains("line 1 is not an answer of isoscope"), "{said}");
    let said = folder.run("batch many -o many/skew.txt --level si");
    assert!(said.contains("are the same file"), "{said}");
    assert_eq!(std::fs::read_to_string(folder.file("many/skew.txt")).unwrap(), SKEW);
}

#[test]
fn a_history_instead_of_a_list_is_refused() {
    let folder = folder();
    let said = folder.run("batch many/skew.txt -o answers.jsonl");
    assert!(said.contains("expected a list of histories, one a line"), "{said}");
    assert!(!folder.file("answers.jsonl").exists());
}

#[test]
fn a_list_on_standard_input_and_answers_on_standard_output() {
    let folder = folder();
    let said = folder.run_with_input("batch - -o - --level si", b"many/fine.txt\n");
    let (line, end) = said.split_once('\n').unwrap();
    let answer: Value = serde_json::from_str(line).unwrap();
    assert_eq!(answer["verdicts"][0]["verdict"], "holds");
    assert_eq!(end, "--- exit 0\n");
}

#[test]
fn a_time_limit_is_of_each_history() {
    let folder = folder();
    let said = folder.run("batch list -o answers.jsonl --level si --time-limit 1ns");
    assert!(said.contains("2 undecided"), "{said}");
    assert!(said.ends_with("--- exit 3\n"), "{said}");
}
