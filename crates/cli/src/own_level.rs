//! Levels of the user's own: text files in the language of levels, decided on small histories by their definition.

use std::path::Path;
use std::time::{Duration, Instant};

use history::{History, KeyId, TxnId};
use spec::ground::{self, Reason};
use spec::{Level, SmallHistory, Spec};

use crate::ask::{Answer, Decision, Obstacle, Question};
use crate::commands::check::rule;
use crate::exit::Failure;
use crate::explanation::{Explanation, Line};
use crate::report::Ruling;
use crate::terminal::visible;
use crate::units::counted;

/// Whether what the user named as a level is a file.
pub fn is_file_name(name: &str) -> bool {
    name.ends_with(".iso")
}

/// The levels that a file defines.
pub fn read(name: &str) -> Result<Vec<Level>, Failure> {
    let path = Path::new(name);
    let text = std::fs::read_to_string(path).map_err(|error| Failure::about(path, &error))?;
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let mut include = |included: &str| std::fs::read_to_string(folder.join(included)).ok();
    let spec = Spec::parse_with(name, &text, &mut include)
        .map_err(|error| Failure::new(format!("the level is not defined\n{error}")))?;
    match spec.levels.is_empty() {
        true => Err(Failure::new(format!("{name} defines no level; `level NAME : ...` would"))),
        false => Ok(spec.levels),
    }
}

/// Decides a level by its definition, if the history is small enough.
pub fn decide(question: &Question<'_>, level: &Level) -> Result<Ruling, Failure> {
    if level.needs_times() && !question.history.has_times() {
        return Err(Failure::new(format!(
            "{} needs to know when transactions ran, and the history has no times",
            level.name
        )));
    }
    match SmallHistory::from_history(question.history, question.clock_skew) {
        Ok(small) => decide_small(question, level, small),
        Err(error) => {
            let decision = Decision::Undecided(Obstacle::Definition(error));
            Ok(rule(question, Answer::plain(&level.name, decision, Duration::ZERO)))
        }
    }
}

/// The same for a history that is known to be small.
pub fn decide_small(question: &Question<'_>, level: &Level, small: SmallHistory) -> Result<Ruling, Failure> {
    let started = Instant::now();
    let definition = level.clone();
    let decided = question.limits.bound("deciding", move || ground::decide(&small, &definition));
    let (decision, explanation) = match decided {
        Ok(ground::Answer::Allowed(_)) => (Decision::Holds, None),
        Ok(ground::Answer::Forbidden(reasons)) => {
            (Decision::Violated, Some(explain(question.history, &reasons)))
        }
        Err(Failure::Limit(_)) => {
            let limit = question.limits.reached().unwrap_or(verify::Limit::Time);
            (Decision::Undecided(Obstacle::Limit(limit)), None)
        }
        Err(failure) => return Err(failure),
    };
    let answer = Answer::plain(&level.name, decision, started.elapsed());
    Ok(Ruling { explanation, ..rule(question, answer) })
}

/// The demands of the definition that contradict each other, about transactions and keys as the history names them.
fn explain(history: &History, reasons: &[Reason]) -> Explanation {
    let mut transactions: Vec<TxnId> = reasons.iter().flat_map(places_of).map(TxnId::from_index).collect();
    transactions.sort_unstable();
    transactions.dedup();
    let lines = reasons.iter().map(|reason| Line { depth: 0, text: visible(&sentence(history, reason)) });
    Explanation {
        anomaly: None,
        headline: format!("contradiction, {}", counted(transactions.len(), "transaction")),
        transactions,
        participants: Vec::new(),
        lines: lines.collect(),
    }
}

fn places_of(reason: &Reason) -> Vec<usize> {
    match *reason {
        Reason::NoSource { reader, .. } => vec![reader],
        Reason::Ordered { first, second, .. } => first.into_iter().chain([second]).collect(),
        Reason::Edge { reader, source, writer, .. } => {
            [Some(reader), source, writer].into_iter().flatten().collect()
        }
        Reason::Demand => Vec::new(),
    }
}

fn sentence(history: &History, reason: &Reason) -> String {
    let txn = |place: usize| history.txn_label(TxnId::from_index(place));
    let named = |place: Option<usize>| place.map_or("the initial state".to_owned(), txn);
    let key = |object: usize| history.keys().original(KeyId(object as u32)).to_string();
    match *reason {
        Reason::NoSource { reader, object } => {
            format!("{} read {} from somebody who committed", txn(reader), key(object))
        }
        Reason::Ordered { by, first, second } => {
            format!("{} comes before {}: {by}", named(first), txn(second))
        }
        Reason::Edge { reader, object, source, writer } => {
            let (reader, source, writer) = (txn(reader), named(source), named(writer));
            let key = key(object);
            format!(
                "if {reader} sees {writer}, {writer} comes before {source}: {reader} read {key} from {source}, and \
                 {writer} wrote {key} too"
            )
        }
        Reason::Demand => "the level demands something else of them".to_owned(),
    }
}
