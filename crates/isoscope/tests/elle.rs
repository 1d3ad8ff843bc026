//! Elle's own cases (`../shared/histories/elle`, where it is there): the same verdicts and the same classes, except where
//! a line of `EXCEPTIONS` says why not.

use std::path::PathBuf;

use isoscope::anomalies::Assumptions;
use isoscope::anomalies::lattice::{self, Model};
use isoscope::{ElleAnswer, ElleQuestion, Unlimited};
use serde_json::Value;

/// Cases by history and models or anomalies, with the reason why the answer is another one.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("list-append-004.edn", "read-uncommitted", NO_DEPENDENCIES),
    ("list-append-004.edn", "\"G2\"", NO_DEPENDENCIES),
    ("list-append-013.edn", "dirty-update", NO_DEPENDENCIES),
    (
        "list-append-025.edn",
        "serializable",
        "Elle gave up in a component; the classes that it names are the same",
    ),
    ("rw-register-037.edn", "serializable", TWICE),
    ("rw-register-038.edn", "serializable", TWICE),
];

/// Elle says unknown.
const NO_DEPENDENCIES: &str =
    "no two transactions depend on each other, so nothing that was asked is violated";

/// Elle's test asks both with different assumptions, of which the case records none.
const TWICE: &str = "one question with two answers: the order that Elle was told is not in the case";

/// Histories whose operations are not those of a list or a register.
const OTHER_WORKLOADS: &str = "closed-predicate";

fn shared(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path)
}

fn names(value: &Value) -> Vec<String> {
    let items = value.as_array().into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn question(case: &Value) -> ElleQuestion {
    let models = names(&case["models"]);
    let anomalies = names(&case["anomalies"]);
    let keys = names(&case["keys"]);
    let has = |key: &str| keys.iter().any(|known| known == key);
    let model = |name: &String| Model::named(name).unwrap_or_else(|| panic!("{name} is no model"));
    let anomaly =
        |name: &String| lattice::anomaly_named(name).unwrap_or_else(|| panic!("{name} is no anomaly"));
    let mut question = ElleQuestion {
        models: models.iter().map(model).collect(),
        anomalies: anomalies.iter().map(anomaly).collect(),
        assumptions: Assumptions {
            writes_follow_reads: has("wfr-keys?"),
            sequential_keys: has("sequential-keys?"),
            linearizable_keys: has("linearizable-keys?"),
            noted_commits: false,
        },
        without_internal: false,
    };
    if models.is_empty() && anomalies.is_empty() {
        question.models.extend(Model::named("strict-serializable"));
    }
    question
}

fn ask(history: &str, question: &ElleQuestion) -> ElleAnswer {
    let history = isoscope::read(shared("histories/elle").join(history)).expect("a history");
    question.ask(&history, &Unlimited::default()).expect("an answer")
}

#[test]
fn cases_of_elle_have_the_same_answer() {
    let Ok(text) = std::fs::read_to_string(shared("histories/elle/cases.json")) else {
        println!("no cases of Elle here");
        return;
    };
    let cases: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let mut differences = Vec::new();
    let mut compared = 0;
    for case in cases.iter().filter(|case| case["workload"] != OTHER_WORKLOADS) {
        let history = case["history"].as_str().expect("a name");
        let answer = ask(history, &question(case));
        let (valid, types) = (case["valid"].as_str().unwrap_or_default(), names(&case["anomaly-types"]));
        let own = answer.valid.map_or(":unknown".to_owned(), |valid| valid.to_string());
        let asked = format!("{}{}{}", case["models"], case["anomalies"], case["keys"]);
        let is_listed = EXCEPTIONS.iter().any(|&(known, of, _)| known == history && asked.contains(of));
        // Of two answers to one question one is the same.
        let is_exception = is_listed && !(history.starts_with("rw-register-03") && valid == "true");
        let is_same = own == valid && answer.anomaly_types == types;
        let boundary = (answer.not.clone(), answer.also_not.clone());
        compared += 1;
        if is_same == is_exception {
            differences.push(format!(
                "{history} {asked}: Elle {valid} {types:?}, here {own} {:?} {:?}",
                answer.anomaly_types, answer.unknown
            ));
        }
        if is_same
            && !is_exception
            && boundary != (as_str(&names(&case["not"])), as_str(&names(&case["also-not"])))
        {
            differences.push(format!(
                "{history} {asked}: not {boundary:?} but {} {}",
                case["not"], case["also-not"]
            ));
        }
    }
    assert!(differences.is_empty(), "of {compared}:\n{}", differences.join("\n"));
}

fn as_str(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Histories that Elle accepts although they violate the model.
#[test]
fn gaps_of_elle_are_closed() {
    let gaps = [
        ("gap-causal.edn", "causal-cerone"),
        ("gap-cross-writes-rw.edn", "strong-session-serializable"),
        ("gap-fractured.edn", "read-atomic"),
        ("gap-info-wr.edn", "snapshot-isolation"),
        ("gap-long-fork.edn", "prefix"),
        ("gap-ser-poly.edn", "serializable"),
    ];
    if !shared("histories/elle").exists() {
        println!("no histories of Elle here");
        return;
    }
    for (history, model) in gaps {
        let model = Model::named(model).expect("a model");
        let answer = ask(history, &ElleQuestion { models: vec![model], ..ElleQuestion::default() });
        // Lists may be undecided at levels that have no engine, with the reason; they are never said to hold.
        let is_right = match answer.valid {
            Some(valid) => !valid && !answer.anomaly_types.is_empty(),
            None => model.forbids().contains("internal") && !answer.unknown.is_empty(),
        };
        assert!(is_right, "{history}: {:?} {:?}", answer.anomaly_types, answer.unknown);
        let is_strong = ["PL-3", "PL-SI", "strong-session-serializable"].contains(&model.name());
        assert!(answer.valid.is_some() || !is_strong, "{history}: {:?}", answer.unknown);
    }
}

#[test]
fn the_document_has_every_name() {
    let document = include_str!("../../../docs/elle.md");
    let aliases = lattice::ALIASES.iter().map(|&(alias, _)| alias);
    let names: Vec<&str> = lattice::MODELS.iter().copied().chain(aliases).collect();
    assert_eq!(names.len(), 54);
    for name in names {
        assert!(document.contains(&format!("| `{name}` |")), "docs/elle.md has no row for {name}");
    }
}

/// The boundary of every anomaly, as Elle's documentation has it.
#[test]
fn every_boundary_is_that_of_the_lattice() {
    let Ok(text) = std::fs::read_to_string(shared("design/elle-lattice.json")) else {
        println!("no lattice here");
        return;
    };
    let lattice: Value = serde_json::from_str(&text).expect("JSON");
    let boundaries = lattice["anomaly-boundary"].as_object().expect("a table");
    for (anomaly, expected) in boundaries {
        let (not, also_not) = isoscope::anomalies::lattice::boundary([anomaly.as_str()].into_iter(), &[]);
        assert_eq!(not, as_str(&names(&expected["not"])), "{anomaly}");
        assert_eq!(also_not, as_str(&names(&expected["also-not"])), "{anomaly}");
    }
    for (model, expected) in lattice["model-prohibits-closure"].as_object().expect("a table") {
        let forbids = Model::named(model).expect("a model").forbids();
        assert_eq!(forbids.into_iter().collect::<Vec<_>>(), as_str(&names(expected)), "{model}");
    }
}
