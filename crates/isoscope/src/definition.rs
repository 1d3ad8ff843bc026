//! Levels that only their text decides, on small histories: those without an engine, and the user's own.
//!
//! A solver looks for a witness of the text (`spec::ground`). A witness is evaluated once more by the reference
//! semantics of the text, and a refutation is replayed by a checker that shares nothing with the solver, before the
//! verdict is given.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use explain::{Edge, EdgeKind};
use history::{History, KeyId, Op, TxnId};
use spec::ground::{self, Reason};
use spec::{Level, SmallHistory};
use verify::Limit;

use crate::answer::{Answer, AskedLevel, Decision, Obstacle};
use crate::error::Error;
use crate::explanation::{Explanation, Line};
use crate::monitor::Monitor;
use crate::question::Question;
use crate::units::counted;
use history::visible;

/// Decides a level by its text, if the history is small enough.
pub(crate) fn decide(question: &Question<'_>, level: &Level, name: AskedLevel) -> Result<Answer, Error> {
    let started = Instant::now();
    let answer = |decision| Answer::plain(name.clone(), decision, started.elapsed());
    let readings = match SmallHistory::readings(question.history, question.clock_skew, level) {
        Ok(readings) => readings,
        Err(error) => {
            let undecided = answer(Decision::Undecided(Obstacle::Definition(error)));
            return Ok(question.explained(undecided));
        }
    };
    let names = Names {
        txns: question.history.txns().collect(),
        keys: (0..question.history.keys().len()).map(KeyId::from_index).collect(),
    };
    decide_small(question, level, name, readings, &names)
}

/// What the transactions and objects of a small history are called in the recorded one.
pub(crate) struct Names {
    pub txns: Vec<TxnId>,
    pub keys: Vec<KeyId>,
}

/// Decides a level by its text on small histories; it holds if one of them is allowed.
pub(crate) fn decide_small(
    question: &Question<'_>,
    level: &Level,
    name: AskedLevel,
    readings: Vec<SmallHistory>,
    names: &Names,
) -> Result<Answer, Error> {
    let started = Instant::now();
    let answer = |decision| Answer::plain(name.clone(), decision, started.elapsed());
    let definition = level.clone();
    let decided = bounded(question, move || decide_readings(&readings, &definition));
    Ok(match decided {
        Ok(Ok(ground::GroundAnswer::Allowed(_))) => answer(Decision::Holds),
        Ok(Ok(ground::GroundAnswer::Forbidden(reasons))) => Answer {
            explanation: Some(explain(question.history, names, &reasons)),
            ..answer(Decision::Violated)
        },
        Ok(Err(failed)) => return Err(Error::Failed(failed)),
        Err(Some(limit)) => question.explained(answer(Decision::Undecided(Obstacle::Limit(limit)))),
        Err(None) => return Err(Error::Failed(format!("deciding {}", level.name))),
    })
}

/// A history with unknown initial values may be read in several ways: the level holds if it holds for one of them. Of a
/// violation the reasons of the first reading are told.
fn decide_readings(readings: &[SmallHistory], level: &Level) -> Result<ground::GroundAnswer, String> {
    let mut forbidden = None;
    for reading in readings {
        match ground::decide(reading, level) {
            ground::GroundAnswer::Allowed(witness) => {
                return match spec::oracle::accepts(reading, level, &witness) {
                    true => Ok(ground::GroundAnswer::Allowed(witness)),
                    false => Err(format!("checking the witness for {} against its text", level.name)),
                };
            }
            ground::GroundAnswer::Forbidden(reasons) => {
                let proof = ground::refutation(reading, level);
                if proof.is_none_or(|proof| synth::proof::check(&proof).is_err()) {
                    return Err(format!("checking the refutation of {}", level.name));
                }
                forbidden.get_or_insert(reasons);
            }
        }
    }
    Ok(ground::GroundAnswer::Forbidden(forbidden.unwrap_or_default()))
}

/// Runs work that cannot ask for limits in a thread that is left behind when one is reached; `None` if the thread
/// ended without a result.
fn bounded<T: Send + 'static>(
    question: &Question<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Option<Limit>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    loop {
        match receiver.recv_timeout(Duration::from_millis(5)) {
            Ok(result) => return Ok(result),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err(None),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
        }
        if let Some(limit) = question.monitor.reached() {
            return Err(Some(limit));
        }
    }
}

/// The demands of the text that contradict each other, about transactions and keys as the history names them.
fn explain(history: &History, names: &Names, reasons: &[Reason]) -> Explanation {
    let mut transactions: Vec<TxnId> =
        reasons.iter().flat_map(places_of).map(|place| names.txns[place]).collect();
    transactions.sort_unstable();
    transactions.dedup();
    let lines =
        reasons.iter().map(|reason| Line { depth: 0, text: visible(&sentence(history, names, reason)) });
    Explanation {
        anomaly: None,
        clause: None,
        headline: format!("contradiction, {}", counted(transactions.len(), "transaction")),
        transactions,
        participants: Vec::new(),
        lines: lines.collect(),
        steps: reasons.iter().filter_map(|reason| step(history, names, reason)).collect(),
    }
}

/// The step between two transactions that a demand speaks of. A reader that found the initial state comes before every
/// transaction that wrote the object.
fn step(history: &History, names: &Names, reason: &Reason) -> Option<Edge> {
    let txn = |place: usize| Some(names.txns[place]);
    let (from, to, kind, key) = match *reason {
        Reason::Ordered { first: Some(first), second, .. } => {
            (txn(first), txn(second), EdgeKind::Derived, None)
        }
        Reason::Edge { reader, object, source: None, writer: Some(writer) } => {
            (txn(reader), txn(writer), EdgeKind::Rw, Some(names.keys[object]))
        }
        Reason::Edge { object, source: Some(source), writer: Some(writer), .. } => {
            (txn(writer), txn(source), EdgeKind::Derived, Some(names.keys[object]))
        }
        _ => return None,
    };
    let is_read_of = |op: &Op<'_>| op.is_read() && op.key() == key;
    let read = from
        .filter(|_| kind == EdgeKind::Rw)
        .and_then(|reader| history.ops(reader).find(|(_, op)| is_read_of(op)).map(|(id, _)| id));
    Some(Edge { from, to, kind, key, read, reason: sentence(history, names, reason) })
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

fn sentence(history: &History, names: &Names, reason: &Reason) -> String {
    let txn = |place: usize| history.txn_label(names.txns[place]);
    let named = |place: Option<usize>| place.map_or("the initial state".to_owned(), txn);
    let key = |object: usize| history.keys().original(names.keys[object]).to_string();
    match *reason {
        Reason::NoSource { reader, object } => {
            format!("{} must have read {} from a transaction that committed", txn(reader), key(object))
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
        Reason::Demand => "the rest of the level's text demands more of these transactions".to_owned(),
    }
}
