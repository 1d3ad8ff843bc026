//! From the argument to the explanation: the contradiction, its name, the transactions that take part, and the lines.

use certify::{ReadId, Rule, Step, StepId};
use history::{History, KeyId, Op, OpId, TxnId};
use index::FindingKind;

use crate::argument::{Argument, By, Conflict, FactId};
use crate::cycle;
use crate::edge::{self, Edge, before};
use crate::tell::Teller;
use crate::terms::Terms;
use crate::{Anomaly, Explanation, finding};

/// Operations of a participant beyond this many are not listed.
const MAX_OPERATIONS: usize = 6;

/// Reads the argument.
pub(crate) fn read(terms: &Terms<'_>, argument: &mut Argument, steps: &[Step]) -> Explanation {
    if let Some(finding) = the_finding(terms, argument, steps) {
        return finding::explain(terms, finding);
    }
    let path = the_cycle(terms, argument, steps);
    let argument = &*argument;
    let mut teller = Teller::new(terms, argument, steps);
    let mut edges = Vec::new();
    match (&path, &argument.conflict) {
        (Some(path), _) => {
            teller.cycle(path, 0);
            edges = transaction_edges(terms, argument, steps, path);
        }
        (None, Some(conflict)) => teller.conflict(conflict, 0),
        (None, None) => {}
    }
    teller.finish();
    let anomaly = match (&path, &argument.conflict) {
        (Some(_), _) => Anomaly::of_cycle(terms, &edges),
        (None, Some(Conflict::Clause(step, premises))) => of_rule(argument, steps, *step, premises),
        _ => Anomaly::Contradiction,
    };
    explanation(terms, teller, anomaly, edges)
}

/// The cycle to be told, if the contradiction is one.
fn the_cycle(terms: &Terms<'_>, argument: &mut Argument, steps: &[Step]) -> Option<Vec<FactId>> {
    let path = cycle::of_conflict(argument, steps, argument.conflict.as_ref()?)?;
    let path = cycle::easiest(argument, steps, path);
    let path = cycle::with_plain_reads(terms, argument, steps, path);
    Some(from_the_first(terms, argument, path))
}

/// The name of a contradiction that is no cycle.
fn of_rule(argument: &Argument, steps: &[Step], step: StepId, premises: &[FactId]) -> Anomaly {
    let rule = |step: StepId| steps.get(step as usize).map(|step| &step.rule);
    let is_uncommitted = |fact: &FactId| match argument.fact(*fact).by {
        By::Rule(step, _) => rule(step) == Some(&Rule::ReadCommitted),
        _ => false,
    };
    match rule(step) {
        // The possible writers of the value are of unknown outcome and cannot have committed.
        Some(Rule::ReadCommitted) => Anomaly::Finding(FindingKind::AbortedRead),
        Some(Rule::Sources(_)) if premises.iter().all(is_uncommitted) => {
            Anomaly::Finding(FindingKind::AbortedRead)
        }
        Some(Rule::Sources(_)) => Anomaly::UnexplainedRead,
        _ => Anomaly::Contradiction,
    }
}

/// Turns a cycle so that it starts at its first transaction.
fn from_the_first(terms: &Terms<'_>, argument: &Argument, mut path: Vec<FactId>) -> Vec<FactId> {
    let start = |fact: &FactId| before(&argument.fact(*fact).lit).and_then(|(a, _)| Some((terms.txn(a)?, a)));
    let first = (0..path.len()).min_by_key(|&place| (start(&path[place]).is_none(), start(&path[place])));
    path.rotate_left(first.unwrap_or(0));
    path
}

/// The read that alone is the violation, if one is.
fn the_finding<'t>(terms: &Terms<'t>, argument: &Argument, steps: &[Step]) -> Option<&'t index::Finding> {
    let Some(Conflict::Clause(step, premises)) = &argument.conflict else {
        return None;
    };
    let is_outcome = |fact: &FactId| matches!(argument.fact(*fact).lit.atom, certify::Atom::In(_));
    match steps.get(*step as usize)?.rule {
        Rule::Internal(op) | Rule::Sources(ReadId { op, .. }) if premises.iter().all(is_outcome) => {
            finding::about(terms.index, op)
        }
        _ => None,
    }
}

fn explanation(terms: &Terms<'_>, teller: Teller<'_>, anomaly: Anomaly, cycle: Vec<Edge>) -> Explanation {
    let mut keys: Vec<KeyId> = cycle.iter().filter_map(|edge| edge.key).collect();
    if keys.is_empty() {
        keys.extend(&teller.keys);
    }
    keys.sort_by_key(|&key| terms.history.keys().original(key));
    keys.dedup();
    let transactions = match cycle.is_empty() {
        true => teller.mentioned.clone(),
        false => in_order(&cycle),
    };
    let participants = transactions.iter().map(|&txn| participant(terms, txn, &keys)).collect();
    Explanation {
        anomaly,
        headline: headline(terms, anomaly, &keys, transactions.len()),
        keys,
        participants,
        transactions,
        cycle,
        lines: teller.lines,
    }
}

fn in_order(cycle: &[Edge]) -> Vec<TxnId> {
    let mut transactions = Vec::new();
    for txn in cycle.iter().filter_map(|edge| edge.from) {
        if !transactions.contains(&txn) {
            transactions.push(txn);
        }
    }
    transactions
}

/// A cycle of events as a cycle of transactions: the step from a begin to its own commit is no edge.
fn transaction_edges(terms: &Terms<'_>, argument: &Argument, steps: &[Step], path: &[FactId]) -> Vec<Edge> {
    let edges = path.iter().filter_map(|&fact| {
        let (a, b) = before(&argument.fact(fact).lit)?;
        let (kind, key, read) = edge::kind(terms, argument, steps, fact);
        let (from, to) = (terms.txn(a), terms.txn(b));
        (from != to).then(|| Edge {
            from,
            to,
            kind,
            key,
            read,
            reason: one_line(terms, argument, steps, fact),
        })
    });
    edges.collect()
}

/// The first line of what would be told of a fact.
fn one_line(terms: &Terms<'_>, argument: &Argument, steps: &[Step], fact: FactId) -> String {
    let mut teller = Teller::new(terms, argument, steps);
    teller.cycle(&[fact], 0);
    let first = teller.lines.into_iter().next();
    first.map_or_else(|| terms.say(argument.fact(fact).lit), |line| line.text)
}

pub(crate) fn headline(terms: &Terms<'_>, anomaly: Anomaly, keys: &[KeyId], transactions: usize) -> String {
    let names: Vec<_> = keys.iter().take(3).map(|&key| terms.key(key)).collect();
    let more = if keys.len() > names.len() { ", ..." } else { "" };
    let on = match names.len() {
        0 => String::new(),
        1 => format!(" on key {}", names[0]),
        _ => format!(" on keys {}{more}", names.join(", ")),
    };
    let class = anomaly.class().map_or_else(String::new, |class| format!(" ({class})"));
    let plural = if transactions == 1 { "" } else { "s" };
    format!("{}{on}{class}, {transactions} transaction{plural}", anomaly.name())
}

/// What a read of several keys found of some of them.
fn found_by(terms: &Terms<'_>, txn: TxnId, op: OpId, keys: &[KeyId]) -> Option<String> {
    let reads = terms.index.reads_of(txn).map(|read| terms.index.reads()[read]);
    let reads = reads.filter(|read| read.op == op && keys.contains(&read.key));
    let found = reads.filter_map(|read| terms.read(ReadId { op, key: Some(read.key) }));
    let found: Vec<String> = found.map(|read| terms.saw(read)).collect();
    (!found.is_empty()).then(|| found.join(" and "))
}

/// `T812 (session 3) read 17 = 40, then wrote 17 = 45`.
fn participant(terms: &Terms<'_>, txn: TxnId, keys: &[KeyId]) -> String {
    let is_told = |key: KeyId| keys.is_empty() || keys.contains(&key);
    let ops = terms.history.ops(txn).filter_map(|(id, op)| match op.key() {
        Some(key) => is_told(key).then(|| operation(terms, key, &op)),
        None => found_by(terms, txn, id, keys),
    });
    sentence(terms, txn, ops.collect())
}

/// What an operation on one key did.
pub(crate) fn operation(terms: &Terms<'_>, key: KeyId, op: &Op<'_>) -> String {
    let key = terms.key(key);
    match *op {
        Op::Read { value: Some(value), .. } => format!("read {key} = {}", terms.value(value)),
        Op::ReadList { list: Some(list), .. } => format!("read {key} = {}", terms.list(list)),
        Op::Write { value, .. } => format!("wrote {key} = {}", terms.value(value)),
        Op::Insert { value, .. } => format!("inserted {key} = {}", terms.value(value)),
        Op::Delete { .. } => format!("deleted {key}"),
        Op::Append { value, .. } => format!("appended {} to {key}", terms.value(value)),
        _ => format!("read {key}"),
    }
}

/// A transaction with its session and what it did.
pub(crate) fn sentence(terms: &Terms<'_>, txn: TxnId, mut ops: Vec<String>) -> String {
    let history = terms.history;
    let more = ops.len().saturating_sub(MAX_OPERATIONS);
    ops.truncate(MAX_OPERATIONS);
    if more > 0 {
        ops.push(format!("and {more} more operations"));
    }
    if ops.is_empty() {
        ops.push("took no part in these keys".into());
    }
    let session = session_phrase(history, txn);
    format!("{} ({session}) {}", history.txn_label(txn), ops.join(", then "))
}

/// The session of a transaction, as a sentence names it. A run reads everything at its end in a session of its own, which
/// is no client's.
pub fn session_phrase(history: &History, txn: TxnId) -> String {
    let session = history.session_of(txn);
    match history.session_name(session).is_some_and(|name| name == "final read".into()) {
        true => "the final read of the run".to_owned(),
        false => format!("session {}", history.session_label(session)),
    }
}
