//! `check --anomalies` and `check --anomaly`: the classes that occur in a history, each with its smallest witness.

use std::io::Write;

use isoscope::anomalies::{self, Anomaly, Class, ClassSearch, Found, lattice};
use isoscope::{Limits, units};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::load::Subject;
use crate::report;
use crate::screen::Screen;
use crate::terminal::{Tone, visible};

/// The classes that names stand for: a class, or all that imply it.
pub fn parse(names: &[String]) -> Result<Vec<Class>, Failure> {
    let mut classes = Vec::new();
    for name in names {
        let known = lattice::anomaly_named(name).or_else(|| Class::named(name).map(Class::name));
        let Some(known) = known else {
            let all: Vec<_> = Class::all().map(Class::name).collect();
            return Err(Failure::new(format!(
                "no class of anomalies is called {name:?}; there are {}, and names of Elle's that several of them imply, \
                 such as G1 and G-single",
                all.join(", ")
            )));
        };
        let implying = lattice::implying(std::iter::once(known));
        let before = classes.len();
        classes.extend(Class::all().filter(|class| class.name() == known || implying.contains(class.name())));
        if classes.len() == before {
            return Err(Failure::new(format!(
                "{name} is not looked for: no class that isoscope finds implies it"
            )));
        }
    }
    classes.sort_unstable();
    classes.dedup();
    Ok(classes)
}

/// Looks for classes, all if none is named, and prints what was found.
pub fn run(
    subject: Subject,
    wanted: Vec<Class>,
    search: ClassSearch,
    json: bool,
    limits: &Limits,
) -> Result<Exit, Failure> {
    let (subject, found) = limits.bound("looking for anomalies", move || {
        let is_wanted = |class| wanted.is_empty() || wanted.contains(&class);
        let found = anomalies::find(&subject.history, &search, &is_wanted);
        (subject, found)
    })?;
    let assumed: Vec<&str> = search.assumptions.names().collect();
    match json {
        true => report::json::print_value(&as_json(&subject, &found, &assumed))?,
        false => print(&subject, &found, &assumed)?,
    }
    Ok(exit(&found))
}

fn exit(found: &Found) -> Exit {
    match (found.anomalies.is_empty(), note(found)) {
        (false, _) => Exit::Violated,
        (true, None) => Exit::Holds,
        (true, Some(_)) => Exit::Undecided,
    }
}

fn print(subject: &Subject, found: &Found, assumed: &[&str]) -> Result<(), Failure> {
    let mut out = Screen::stdout();
    writeln!(out, "{}", subject.headline())?;
    if !assumed.is_empty() {
        writeln!(out, "assumed: {}", assumed.join(", "))?;
    }
    writeln!(out)?;
    for anomaly in &found.anomalies {
        out.write_all(b"  ")?;
        out.paint(Tone::Bad, anomaly.class.name())?;
        let count = match anomaly.txns.len() {
            0 => String::new(),
            count => format!(", {}", units::counted(count, "transaction")),
        };
        writeln!(out, ": {}{count}", anomaly.class.meaning())?;
        for sentence in &anomaly.sentences {
            writeln!(out, "    {}", visible(sentence))?;
        }
    }
    if found.anomalies.is_empty() {
        writeln!(out, "  no anomaly was found")?;
    }
    if let Some(note) = note(found) {
        writeln!(out, "  {note}")?;
    }
    Ok(out.flush()?)
}

/// What the answer does not cover.
fn note(found: &Found) -> Option<String> {
    if found.has_more {
        return Some("ranges and predicates were not looked at, which can hide anomalies".to_owned());
    }
    (found.unordered_keys > 0).then(|| {
        format!(
            "{} with several versions in no known order, which can hide anomalies; `check` without --anomalies \
             decides the levels",
            units::counted(found.unordered_keys, "key")
        )
    })
}

fn as_json(subject: &Subject, found: &Found, assumed: &[&str]) -> Value {
    json!({
        "assumptions": assumed,
        "history": subject.json(),
        "anomalies": found.anomalies.iter().map(|anomaly| anomaly_json(subject, anomaly)).collect::<Vec<_>>(),
        "unordered_keys": found.unordered_keys,
        "note": note(found),
    })
}

/// An anomaly with its witness.
pub fn anomaly_json(subject: &Subject, anomaly: &Anomaly) -> Value {
    let label = |txn: &history::TxnId| subject.history.txn_label(*txn);
    json!({
        "class": anomaly.class.name(),
        "meaning": anomaly.class.meaning(),
        "transactions": anomaly.txns.iter().map(label).collect::<Vec<_>>(),
        "sentences": anomaly.sentences,
    })
}
