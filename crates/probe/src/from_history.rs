//! A small history as a schedule: an order of its steps in which a database could give the reads that it shows.
//!
//! The order is found by search. A read is believed if it gives the transaction's own write, or what was committed at
//! that moment or when the transaction began, or (if nothing else does) what was written and not yet committed. A
//! history that no such order gives is refused: no database that keeps versions could show it step by step.
//! The search is exponential in the history, which has at most nine transactions, and stops after a million steps.
//!
//! Orders in which no transaction writes what another that has not ended wrote come first: such a write would wait for a
//! lock. Which order a database shows depends on its locks, so several are found: the search prefers another transaction each
//! time, and either stays with it or takes turns.
//!
//! The anomaly is shown if the database gives the very history: every transaction ends as it does there, and every read
//! answers what it answers there.

use std::collections::BTreeMap;

use databases::{ColumnType, Reply, Statement, Table};
use history::{Datum, History, Op, Outcome, TxnId};

use crate::schedule::{MOST_TXNS, TABLE};
use crate::{Action, Condition, Schedule, ScheduleStep, Txn};

/// At most this many interleavings are made of a history.
const MOST_INTERLEAVINGS: usize = 8;

/// Steps of the search before it is given up.
const MOST_TRIES: u32 = 1_000_000;

/// One operation: a read of a value, or a write of one; nothing stands for a row that is not there.
#[derive(Clone, PartialEq, Debug)]
enum Access {
    Read(Datum, Option<Datum>),
    Write(Datum, Option<Datum>),
}

/// A transaction of the history.
struct Draft {
    accesses: Vec<Access>,
    commits: bool,
    /// The transaction before it in its session.
    after: Option<usize>,
}

/// The schedule of a history; the error says why there is none.
pub fn from_history(name: &str, history: &History) -> Result<Schedule, String> {
    let schedules = schedules(name, history, 1)?;
    schedules.into_iter().next().ok_or_else(|| NO_ORDER.to_owned())
}

/// Different schedules of a history, at least one; the error says why there is none.
pub fn interleavings(name: &str, history: &History) -> Result<Vec<Schedule>, String> {
    schedules(name, history, MOST_INTERLEAVINGS)
}

fn schedules(name: &str, history: &History, most: usize) -> Result<Vec<Schedule>, String> {
    if history.txn_count() == 0 || history.txn_count() > MOST_TXNS {
        return Err(format!("a schedule has 1 to {MOST_TXNS} transactions, not {}", history.txn_count()));
    }
    let drafts: Vec<Draft> = history.txns().map(|txn| draft(history, txn)).collect::<Result<_, _>>()?;
    let rows = initial_rows(history, &drafts)?;
    let orders = InterleavingSearch::orders(&drafts, &rows, most)?;
    let table = Table {
        name: TABLE.to_owned(),
        key: key_type(&drafts)?,
        columns: vec![("v".to_owned(), ColumnType::Int)],
        rows: rows.iter().map(|(key, value)| (key.clone(), vec![value.clone()])).collect(),
        keeps_old: false,
    };
    let about = "The history is shown if every transaction sees what it sees there.".to_owned();
    let schedule = |(place, order): (usize, &Vec<usize>)| Schedule {
        name: if place == 0 { name.to_owned() } else { format!("{name}-{}", place + 1) },
        about: about.clone(),
        class: String::new(),
        table: table.clone(),
        steps: steps(&drafts, &rows, order),
        shown: vec![shown(&drafts)],
    };
    Ok(orders.iter().enumerate().map(schedule).collect())
}

fn draft(history: &History, txn: TxnId) -> Result<Draft, String> {
    let accesses = history.ops(txn).map(|(_, op)| access(history, op)).collect::<Result<Vec<_>, _>>()?;
    if accesses.is_empty() {
        return Err("a transaction does nothing".to_owned());
    }
    let place = history.place_in_session(txn);
    let commits = match history.outcome(txn) {
        Outcome::Committed => true,
        Outcome::Aborted => false,
        Outcome::Unknown => return Err("a transaction of unknown outcome cannot be asked for".to_owned()),
    };
    Ok(Draft { accesses, commits, after: (place > 0).then(|| txn.index() - 1) })
}

fn access(history: &History, op: Op<'_>) -> Result<Access, String> {
    let key = |key| history.keys().original(key).clone();
    let value = |value| match history.values().original(value) {
        Datum::Nil => Ok(None),
        Datum::Int(int) => Ok(Some(Datum::Int(int))),
        other => Err(format!("values are integers in a schedule, found {other}")),
    };
    match op {
        Op::Read { key: of, value: Some(seen) } => Ok(Access::Read(key(of), value(seen)?)),
        Op::Write { key: of, value: new } | Op::Insert { key: of, value: new } => {
            Ok(Access::Write(key(of), value(new)?))
        }
        Op::Delete { key: of, .. } => Ok(Access::Write(key(of), None)),
        _ => {
            Err("only reads with their values, writes, inserts and deletes of keys can be scheduled"
                .to_owned())
        }
    }
}

fn key_of(access: &Access) -> &Datum {
    match access {
        Access::Read(key, _) | Access::Write(key, _) => key,
    }
}

fn key_type(drafts: &[Draft]) -> Result<ColumnType, String> {
    let mut keys = drafts.iter().flat_map(|draft| &draft.accesses).map(key_of);
    match () {
        () if keys.clone().all(|key| matches!(key, Datum::Int(_))) => Ok(ColumnType::Int),
        () if keys.all(|key| matches!(key, Datum::Str(_))) => Ok(ColumnType::Text),
        () => Err("keys are either all integers or all words".to_owned()),
    }
}

fn initial_rows(history: &History, drafts: &[Draft]) -> Result<BTreeMap<Datum, Datum>, String> {
    let mut rows = BTreeMap::new();
    for key in drafts.iter().flat_map(|draft| &draft.accesses).map(key_of) {
        let id = history.keys().get(key).ok_or("a key without a number")?;
        let value = history.initial().value_of(id).ok_or("the initial values must be known")?;
        match history.values().original(value) {
            Datum::Nil => {}
            Datum::Int(int) => drop(rows.insert(key.clone(), Datum::Int(int))),
            other => return Err(format!("values are integers in a schedule, found {other}")),
        }
    }
    Ok(rows)
}

/// The state of a search for an order.
#[derive(Clone)]
struct State {
    /// How many steps each transaction has made; its end is one.
    made: Vec<usize>,
    committed: BTreeMap<Datum, Datum>,
    /// What transactions that have not ended wrote last, with the transaction.
    dirty: BTreeMap<Datum, (usize, Option<Datum>)>,
    /// What was committed when each began.
    snapshots: Vec<Option<BTreeMap<Datum, Datum>>>,
    /// What each wrote itself.
    own: Vec<BTreeMap<Datum, Option<Datum>>>,
}

const NO_ORDER: &str = "no order of its steps gives this history on a database that keeps versions";

struct InterleavingSearch<'d> {
    drafts: &'d [Draft],
    /// Whether a key that an open transaction wrote is not written by others.
    locks: bool,
    believes_dirty: bool,
    /// The transaction that is tried first.
    preferred: usize,
    /// Whether the transaction after the one of the last step is tried first instead.
    takes_turns: bool,
    tries: u32,
    order: Vec<usize>,
}

impl InterleavingSearch<'_> {
    /// Up to so many different orders of steps, as the transaction of each.
    fn orders(
        drafts: &[Draft],
        rows: &BTreeMap<Datum, Datum>,
        most: usize,
    ) -> Result<Vec<Vec<usize>>, String> {
        let start = State {
            made: vec![0; drafts.len()],
            committed: rows.clone(),
            dirty: BTreeMap::new(),
            snapshots: vec![None; drafts.len()],
            own: vec![BTreeMap::new(); drafts.len()],
        };
        for (locks, believes_dirty) in [(true, false), (false, false), (false, true)] {
            let mut orders: Vec<Vec<usize>> = Vec::new();
            let preferences = (0..drafts.len()).flat_map(|preferred| [(preferred, false), (preferred, true)]);
            for (preferred, takes_turns) in preferences {
                let (tries, order) = (0, Vec::new());
                let mut search = InterleavingSearch {
                    drafts,
                    locks,
                    believes_dirty,
                    preferred,
                    takes_turns,
                    tries,
                    order,
                };
                if orders.len() == most || !search.extend(&start) {
                    // Another preference would find nothing either, or take as long.
                    break;
                }
                if !orders.contains(&search.order) {
                    orders.push(search.order);
                }
            }
            if !orders.is_empty() {
                return Ok(orders);
            }
        }
        Err(NO_ORDER.to_owned())
    }

    /// The transactions in the order in which they are tried.
    fn by_preference(&self) -> impl Iterator<Item = usize> + use<> {
        let (count, turn) = (self.drafts.len(), self.order.last().filter(|_| self.takes_turns));
        let first = turn.map_or(self.preferred, |&last| last + 1);
        (0..count).map(move |place| (first + place) % count)
    }

    fn extend(&mut self, state: &State) -> bool {
        let mut is_over = true;
        for txn in self.by_preference() {
            if state.made[txn] > self.drafts[txn].accesses.len() {
                continue;
            }
            is_over = false;
            self.tries += 1;
            if self.tries > MOST_TRIES {
                return false;
            }
            let Some(after) = self.step(state, txn) else { continue };
            self.order.push(txn);
            if self.extend(&after) {
                return true;
            }
            self.order.pop();
        }
        is_over
    }

    /// The state after the next step of a transaction, if it can be made now.
    fn step(&self, state: &State, txn: usize) -> Option<State> {
        let draft = &self.drafts[txn];
        let has_ended = |other: usize| state.made[other] > self.drafts[other].accesses.len();
        if draft.after.is_some_and(|before| !has_ended(before)) {
            return None;
        }
        let mut next = state.clone();
        let committed = &state.committed;
        next.snapshots[txn].get_or_insert_with(|| committed.clone());
        match draft.accesses.get(state.made[txn]) {
            Some(Access::Read(key, value)) if !self.is_believed(&next, txn, key, value.as_ref()) => {
                return None;
            }
            Some(Access::Read(..)) => {}
            Some(Access::Write(key, _)) if self.locks && is_written_by_another(state, txn, key) => {
                return None;
            }
            Some(Access::Write(key, value)) => {
                next.dirty.insert(key.clone(), (txn, value.clone()));
                next.own[txn].insert(key.clone(), value.clone());
            }
            None => self.end(&mut next, txn),
        }
        next.made[txn] += 1;
        Some(next)
    }

    fn end(&self, state: &mut State, txn: usize) {
        state.dirty.retain(|_, (writer, _)| *writer != txn);
        if !self.drafts[txn].commits {
            return;
        }
        for (key, value) in std::mem::take(&mut state.own[txn]) {
            match value {
                Some(value) => drop(state.committed.insert(key, value)),
                None => drop(state.committed.remove(&key)),
            }
        }
    }

    fn is_believed(&self, state: &State, txn: usize, key: &Datum, value: Option<&Datum>) -> bool {
        if let Some(own) = state.own[txn].get(key) {
            return own.as_ref() == value;
        }
        let snapshot = state.snapshots[txn].as_ref().and_then(|rows| rows.get(key));
        let dirty = state.dirty.get(key).filter(|_| self.believes_dirty);
        state.committed.get(key) == value
            || snapshot == value
            || dirty.is_some_and(|(_, written)| written.as_ref() == value)
    }
}

/// Whether a transaction that has not ended wrote a key, other than this one.
fn is_written_by_another(state: &State, txn: usize, key: &Datum) -> bool {
    state.dirty.get(key).is_some_and(|&(writer, _)| writer != txn)
}

fn steps(drafts: &[Draft], rows: &BTreeMap<Datum, Datum>, order: &[usize]) -> Vec<ScheduleStep> {
    let deletes = drafts
        .iter()
        .flat_map(|draft| &draft.accesses)
        .any(|access| matches!(access, Access::Write(_, None)));
    let mut made = vec![0; drafts.len()];
    let step = |&txn: &usize| {
        let access = drafts[txn].accesses.get(made[txn]);
        made[txn] += 1;
        let (action, text) = match access {
            Some(access) => statement(access, !deletes && rows.contains_key(key_of(access))),
            None if drafts[txn].commits => (Action::Commit, "commit".to_owned()),
            None => (Action::Abort, "abort".to_owned()),
        };
        ScheduleStep { txn: Txn(txn), action, text }
    };
    order.iter().map(step).collect()
}

fn statement(access: &Access, exists: bool) -> (Action, String) {
    let (table, column) = (TABLE.to_owned(), "v".to_owned());
    let (statement, text) = match access.clone() {
        Access::Read(key, _) => (Statement::Read { table, key: key.clone() }, format!("r({key})")),
        Access::Write(key, None) => (Statement::Delete { table, key: key.clone() }, format!("d({key})")),
        Access::Write(key, Some(value)) if exists => {
            let text = format!("w({key})={value}");
            (Statement::Write { table, key, column, value }, text)
        }
        Access::Write(key, Some(value)) => {
            let text = format!("put({key})={value}");
            (Statement::Put { table, key, values: vec![value] }, text)
        }
    };
    (Action::Ask(statement), text)
}

fn shown(drafts: &[Draft]) -> Vec<Condition> {
    let committed = (0..drafts.len()).filter(|&txn| drafts[txn].commits).map(Txn).collect();
    let mut conditions = vec![Condition::Committed(committed)];
    for (txn, draft) in drafts.iter().enumerate() {
        for (place, access) in draft.accesses.iter().enumerate() {
            if let Access::Read(_, value) = access {
                let row = value.clone().map(|value| vec![value]);
                conditions.push(Condition::Answered(Txn(txn), place, Reply::Row(row)));
            }
        }
    }
    conditions
}
