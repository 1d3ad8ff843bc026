//! What a user reads: whole screens of `check`, `run` and `probe`, as they stand in `wording/`, and the habits that
//! people bring along.
//!
//! Numbers that differ from run to run are shown as `#`.

mod common;

use common::Folder;
use expect_test::{ExpectFile, expect_file};
use serde_json::Value;

const SKEW: &str = "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n";
const SERIAL: &str = "a: {w(x)=1} {r(x)=1}\nb: r(x)=1 w(x)=2\n";

/// A screen without its numbers: counts, versions and durations. Digits in names, such as `G1a`, stay, and so does the
/// exit code.
fn without_numbers(text: &str) -> String {
    let (screen, exit) = text
        .rsplit_once("--- exit")
        .map_or((text, String::new()), |(screen, code)| (screen, format!("--- exit{code}")));
    let words = screen.split_inclusive([' ', '\n', '(', '~']).map(|word| {
        let is_number = |char: char| char.is_ascii_digit() || char == ',' || char == '.';
        match word.starts_with(|char: char| char.is_ascii_digit()) {
            true => {
                let number = word.split(|char| !is_number(char)).next().unwrap_or_default();
                let after = &word[number.trim_end_matches([',', '.']).len()..];
                format!("#{after}")
            }
            false => word.to_owned(),
        }
    });
    words.collect::<String>().replace("# ms", "# s").replace("# µs", "# s") + &exit
}

fn check(folder: &Folder, line: &str, expected: ExpectFile) {
    expected.assert_eq(&folder.run(line));
}

/// A screen whose lines fit into 80 columns.
fn check_narrow(screen: &str, expected: ExpectFile) {
    let wide: Vec<&str> = screen.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "wider than 80 columns: {wide:#?}");
    expected.assert_eq(&without_numbers(screen));
}

#[test]
fn the_answer_of_check_begins_with_one_sentence() {
    let folder = Folder::with(&[("skew.txt", SKEW), ("serial.txt", SERIAL)]);
    check(&folder, "check skew.txt", expect_file!["wording/check-violated.txt"]);
    check(&folder, "check serial.txt", expect_file!["wording/check-holds.txt"]);
    check(&folder, "check skew.txt serial.txt -q", expect_file!["wording/check-several-quiet.txt"]);
}

/// The promise is SQLite's; what is known beyond it is not promised.
#[test]
fn the_answer_of_run_says_what_was_promised_and_what_is_known() {
    let folder = Folder::with(&[]);
    let shown = folder.run("run --db sqlite:t.db --workload rmw --keys 8 --transactions 400 --out h.jsonl");
    let (before, _) = shown.split_once("  aborted: ").unwrap_or((&shown, ""));
    expect_file!["wording/run-kept.txt"].assert_eq(&without_numbers(before));
    assert!(shown.contains("checked in ") && shown.contains("chances: "), "{shown}");
}

#[test]
fn the_table_of_a_probe_fits_and_explains_itself() {
    let folder = Folder::with(&[]);
    check_narrow(&folder.run("probe sim:snapshot"), expect_file!["wording/probe.txt"]);
    assert!(folder.run("probe sim:snapshot --markdown table.md").ends_with("--- exit 0\n"));
    let table = std::fs::read_to_string(folder.file("table.md")).unwrap();
    expect_file!["wording/probe.md"].assert_eq(&without_numbers(&table));
    let json = folder.isoscope("probe sim:snapshot --json").output().unwrap().stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    let levels = folder.run("levels");
    for row in json["settings"].as_array().unwrap() {
        let level = row["looks_like"].as_str().unwrap();
        assert!(levels.contains(level), "{level} is not among the levels");
    }
}

/// On its default keys the default workload can show every anomaly that it claims to exclude.
#[test]
fn the_default_workload_has_contention() {
    let folder = Folder::with(&[]);
    let line = "run --db sim:snapshot?latency-us=100 --transactions 1500 --json";
    let answer: Value = serde_json::from_slice(&folder.isoscope(line).output().unwrap().stdout).unwrap();
    let chances = &answer["runs"][0]["check"]["chances"];
    for anomaly in ["lost_update", "read_skew", "write_skew"] {
        assert!(chances[anomaly].as_u64().unwrap() > 0, "{anomaly}: {chances}");
    }
}

/// A database that lets two clients in, and aborts every third commit.
const PICKY: &str = "\
import json, os, sys
count = 0
for line in sys.stdin:
    op = json.loads(line)['op']
    said = {'done': True, 'row': [0], 'count': 1, 'rows': []}
    if op == 'hello':
        said = {'product': 'Picky', 'version': '1', 'settings': ['only'], 'statements': ['read', 'write']}
    if op == 'tables':
        try:
            os.mkdir('first')
        except FileExistsError:
            try:
                os.mkdir('second')
            except FileExistsError:
                said = {'failed': 'lost', 'message': 'too many clients already', 'code': '53300'}
    if op == 'commit':
        count += 1
        if count % 3 == 0:
            said = {'failed': 'aborted', 'code': '40001', 'message': 'could not serialize'}
    print(json.dumps(said), flush=True)
";

#[test]
fn a_run_names_its_errors_and_the_clients_that_are_missing() {
    let folder = Folder::with(&[("picky.py", PICKY)]);
    let mut command = folder.isoscope("run --duration 2s --sessions 3 --keys 2 --operations 2");
    let shown = common::show(&command.args(["--db", "exec:python3 picky.py"]).output().unwrap());
    assert!(shown.contains("1 client never connected: "), "{shown}");
    assert!(shown.contains("aborted: 40001 serialization failure ("), "{shown}");
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_run() {
    let folder = Folder::with(&[]);
    let shown = folder.run("run --db sqlite:t.db --out none/h.jsonl");
    assert!(shown.contains("none/h.jsonl: ") && shown.ends_with("--- exit 2\n"), "{shown}");
    assert!(!folder.file("t.db").exists());
}

#[test]
fn durations_and_sizes_are_written_as_people_write_them() {
    let folder = Folder::with(&[("serial.txt", SERIAL)]);
    for flags in ["--time-limit 1h30m", "--time-limit 1.5s", "--time-limit 2m", "--memory-limit 512MB"] {
        let shown = folder.run(&format!("check serial.txt {flags}"));
        assert!(shown.ends_with("--- exit 0\n"), "{flags}: {shown}");
    }
    let wrong = folder.run("check serial.txt --time-limit soon");
    assert!(wrong.contains("expected a duration such as ") && wrong.ends_with("--- exit 2\n"), "{wrong}");
}

/// Two writers that merely overlapped leave a serial order in real time: nothing was fractured.
#[test]
fn writers_that_overlapped_make_no_fractured_read() {
    let overlapped = "a: w(x)=1 @[0..1,9..10]\nb: w(y)=1 @[5..6,18..20]\nc: r(x)=0 r(y)=1 @[8..9,29..30]\n";
    let folder = Folder::with(&[("h.txt", overlapped)]);
    let shown = folder.run("check h.txt");
    assert!(shown.contains("strict-serializable") && shown.contains("late snapshot"), "{shown}");
    assert!(!shown.contains("fractured"), "{shown}");
}

/// What the final read of a run saw is not said of a client.
#[test]
fn the_final_read_is_no_client() {
    let history = r#"{"isoscope":1}
{"default":0}
{"session":0,"name":"client"}
{"session":1,"name":"final read"}
{"s":0,"ops":[["w","x",1],["w","y",1]],"o":"c"}
{"s":1,"ops":[["r","x",1],["r","y",0]],"o":"c"}
"#;
    let folder = Folder::with(&[("h.jsonl", history)]);
    let shown = folder.run("check h.jsonl --level session-serializable");
    assert!(shown.contains("1 session and the final read"), "{shown}");
    assert!(shown.contains("the final read of the run"), "{shown}");
}

/// Every flag that the ready workflows use is one of the command's.
#[test]
fn the_workflows_use_flags_that_there_are() {
    let folder = Folder::with(&[]);
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ci");
    for name in ["github-actions.yml", "gitlab-ci.yml"] {
        let text = std::fs::read_to_string(examples.join(name)).unwrap();
        let (_, command) = text.split_once("isoscope run ").unwrap();
        let end = command.find("\n  #").or(command.find("\n      - ")).unwrap_or(command.len());
        let flags = command[..end].split_whitespace().filter(|word| word.starts_with("--"));
        let help = folder.run("run --help");
        let unknown: Vec<&str> = flags.filter(|flag| !help.contains(&format!("{flag} <"))).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}
