//! One set of flags for continuous integration, whichever command gives the answer, and for several histories at once.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use common::Folder;
use serde_json::Value;

const SKEW: &str = "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n";
const SERIAL: &str = "a: {w(x)=1} {r(x)=1}\nb: r(x)=1 w(x)=2\n";
const FLAGS: &str = "--junit j.xml --sarif s.json --markdown m.md";

fn folder() -> Folder {
    Folder::with(&[("skew.txt", SKEW), ("serial.txt", SERIAL), ("broken.txt", "a: r(x\n")])
}

fn read(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.file(name)).unwrap()
}

/// Validates a log against the schema of SARIF 2.1.0, which `cargo xtask sarif` fetches with a validator; without them
/// this part is left out.
fn assert_valid(text: &str) {
    const SCRIPT: &str = "const Ajv = require('ajv').default, formats = require('ajv-formats').default; \
        const ajv = new Ajv({strict: false, allErrors: true}); formats(ajv); \
        const validate = ajv.compile(JSON.parse(require('fs').readFileSync('schema.json', 'utf8'))); \
        const log = JSON.parse(require('fs').readFileSync(0, 'utf8')); \
        if (!validate(log)) { console.log(JSON.stringify(validate.errors)); process.exit(1); }";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/sarif");
    if !folder.join("schema.json").exists() || !folder.join("node_modules/ajv").exists() {
        println!("the schema of SARIF is not there (cargo xtask sarif): the log was not validated");
        return;
    }
    let mut node = Command::new("node");
    node.args(["-e", SCRIPT]).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut node = node.spawn().expect("node, with which the validator was installed");
    node.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_validator_refuses_what_the_schema_does_not_allow() {
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/sarif/node_modules/ajv").exists() {
        return;
    }
    let refused = std::panic::catch_unwind(|| assert_valid(r#"{"version":"2.1.0","runs":[{"results":[]}]}"#));
    assert!(refused.is_err(), "a run without a tool was accepted");
}

/// The fields that SARIF 2.1.0 requires (sections 3.13 to 3.49), with their types, and those that GitHub's code scanning
/// asks for.
fn check_sarif(text: &str) -> Vec<Value> {
    let log: Value = serde_json::from_str(text).unwrap();
    assert_valid(text);
    assert_eq!(log["version"], "2.1.0");
    assert!(log["$schema"].as_str().unwrap().contains("sarif-2.1.0"));
    let [run] = &log["runs"].as_array().unwrap()[..] else { panic!("{log}") };
    let driver = &run["tool"]["driver"];
    for field in ["name", "version", "semanticVersion", "informationUri"] {
        assert!(driver[field].is_string(), "{field}: {driver}");
    }
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        assert!(rule["id"].as_str().is_some_and(|id| !id.is_empty()), "{rule}");
        for field in ["shortDescription", "fullDescription", "help"] {
            let text = rule[field]["text"].as_str().unwrap();
            assert!(!text.is_empty() && text.chars().count() <= 1024, "{field}: {rule}");
        }
        assert!(
            ["none", "note", "warning", "error"]
                .contains(&rule["defaultConfiguration"]["level"].as_str().unwrap())
        );
        assert!(rule["properties"]["tags"].as_array().unwrap().len() <= 10);
    }
    let results = run["results"].as_array().unwrap();
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["warning", "error"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(!uri.contains(' ') && !uri.contains("//") && uri.is_ascii(), "{uri}");
        for field in ["startLine", "startColumn", "endLine", "endColumn"] {
            assert!(place["region"][field].as_u64().unwrap() >= 1);
        }
        let fingerprints = result["partialFingerprints"].as_object().unwrap();
        assert!(fingerprints.values().all(|print| print.as_str().is_some_and(|print| print.len() == 16)));
    }
    results.clone()
}

#[test]
fn several_files_have_one_report() {
    let folder = folder();
    let shown = folder.run(&format!("check skew.txt broken.txt serial.txt --level serializable -q {FLAGS}"));
    let (out, errors) = shown.split_once("--- standard error\n").unwrap();
    let sentences =
        "skew.txt violates serializability: there was write skew.\nserial.txt satisfies serializability.\n";
    assert_eq!(out, sentences);
    assert!(errors.starts_with("error: broken.txt:1:") && errors.ends_with("--- exit 2\n"), "{shown}");
    let junit = read(&folder, "j.xml");
    assert!(
        junit
            .contains("<testsuites name=\"isoscope\" tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"0\">"),
        "{junit}"
    );
    assert!(junit.contains("<testsuite name=\"broken.txt\""), "{junit}");
    let results = check_sarif(&read(&folder, "s.json"));
    let levels: Vec<_> = results.iter().map(|result| result["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["error", "warning"]);
    let markdown = read(&folder, "m.md");
    assert_eq!(markdown.matches("### ").count(), 3, "{markdown}");
    let answer = folder.isoscope("check skew.txt serial.txt --level ser --json").output().unwrap();
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(answer["histories"].as_array().unwrap().len(), 2);
}

#[test]
fn a_fingerprint_is_the_same_for_other_keys_and_values() {
    let other = SKEW.replace('x', "p").replace('y', "q").replace("=1", "=7");
    let folder = Folder::with(&[("h.txt", SKEW)]);
    let prints = [SKEW, &other].map(|text| {
        std::fs::write(folder.file("h.txt"), text).unwrap();
        folder.run(&format!("check h.txt --level serializable {FLAGS}"));
        check_sarif(&read(&folder, "s.json"))[0]["partialFingerprints"].clone()
    });
    assert_eq!(prints[0], prints[1]);
}

#[test]
fn a_level_that_was_not_asked_is_skipped() {
    let folder = folder();
    folder.run(&format!("check skew.txt {FLAGS}"));
    let junit = read(&folder, "j.xml");
    assert!(
        junit.contains("<skipped message=\"needs timestamps, which this file does not have\"/>"),
        "{junit}"
    );
    assert!(junit.contains("skipped=\"4\""), "{junit}");
}

#[test]
fn a_report_is_written_though_the_question_could_not_be_asked() {
    let folder = folder();
    let lines = ["check broken.txt", "run --db exec:false", "probe exec:false"];
    for line in lines {
        let shown = folder.run(&format!("{line} {FLAGS}"));
        assert!(shown.ends_with("--- exit 2\n"), "{shown}");
        let junit = read(&folder, "j.xml");
        assert!(junit.contains("errors=\"1\"") && junit.contains("message=\"error: "), "{line}: {junit}");
        assert_eq!(check_sarif(&read(&folder, "s.json")).len(), 1, "{line}");
        assert!(read(&folder, "m.md").starts_with("### error: "), "{line}");
        for name in ["j.xml", "s.json", "m.md"] {
            std::fs::remove_file(folder.file(name)).unwrap();
        }
    }
}

/// A stronger level that is violated is no failure of a promise that was kept.
#[test]
fn the_reports_of_a_run_agree_with_its_exit_code() {
    let folder = folder();
    let hot = "--workload rmw --keys 8 --transactions 300";
    let shown =
        folder.run(&format!("run --db sim:read-committed?latency-us=100 {hot} {FLAGS} --html r.html"));
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    let junit = read(&folder, "j.xml");
    assert!(junit.contains("failures=\"0\" errors=\"0\""), "{junit}");
    assert!(junit.contains("not promised, and violated: "), "{junit}");
    assert!(check_sarif(&read(&folder, "s.json")).is_empty());
    assert!(read(&folder, "r.html").starts_with("<!DOCTYPE html>"));
    let fault = "sim:serializable?fault=lost-update&rate=0.5&latency-us=300";
    let shown = folder.run(&format!("run --db {fault} {hot} {FLAGS}"));
    assert!(shown.ends_with("--- exit 1\n"), "{shown}");
    assert!(read(&folder, "j.xml").contains("failures=\"1\""));
    assert_eq!(check_sarif(&read(&folder, "s.json")).len(), 1);
}

#[test]
fn a_probe_that_is_not_as_expected_fails_in_the_report() {
    let folder = Folder::with(&[("expected.txt", "serial p4 possible\n")]);
    let shown = folder.run(&format!("probe sim:serial -q --expect expected.txt {FLAGS}"));
    let sentence = "sim 0.1.0 looks like serializability at serial (the default).\n";
    assert!(shown.starts_with(sentence) && shown.ends_with("--- exit 1\n"), "{shown}");
    let junit = read(&folder, "j.xml");
    assert!(junit.contains("failures=\"1\"") && junit.contains("name=\"serial/p4\""), "{junit}");
    assert_eq!(check_sarif(&read(&folder, "s.json")).len(), 1);
    assert!(read(&folder, "m.md").contains("- **G0**: Dirty write: "));
}

#[test]
fn some_flags_are_about_one_history() {
    let shown = folder().run("check skew.txt serial.txt --level ser --certificate c.json");
    assert!(shown.contains("--certificate is about one history") && shown.ends_with("exit 2\n"), "{shown}");
}
