//! The transactions as reads and writes of values: all that a search over serial orders needs to know of them.
//!
//! Transactions are numbered row by row. A row is a session, or a transaction that is in no session. A value is the class
//! of sources that a read may have come from, so that equal values of a key are one number; values that no read can have
//! seen are one number for each key.

use std::ops::Range;

use history::TxnId;
use order::NONE;

use crate::classes::Classes;
use crate::problem::{INITIAL, Problem, Status};

/// What a transaction does to a key: it reads first, then writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub step: u32,
    pub key: u32,
    /// The value that was read, or `NONE`.
    pub read: u32,
    /// Whether the initial state fits the read too.
    pub initial: bool,
    /// The value that was written, or `NONE`.
    pub write: u32,
}

impl Access {
    /// Whether the read, if there is one, sees what the key holds: a value, or `INITIAL`.
    #[inline]
    pub(crate) fn fits(&self, holder: u32) -> bool {
        self.read == NONE || self.read == holder || (self.initial && holder == INITIAL)
    }
}

/// The transactions that took part.
pub(crate) struct Steps {
    pub txns: Vec<TxnId>,
    pub rows: Vec<Range<u32>>,
    pub accesses: Vec<Access>,
    /// For each transaction where its accesses begin, and where the last one's end.
    start: Vec<u32>,
    pub key_count: usize,
    /// How many values are read; those that no read can have seen are numbered behind them.
    pub value_count: usize,
}

impl Steps {
    /// `None` where a serial order of values is not all there is to explain: unknown outcomes, recorded versions, deleted
    /// rows, and keys of which a transaction read two values.
    pub(crate) fn of(problem: &Problem<'_>) -> Option<Self> {
        let (history, index) = (problem.history, problem.index);
        let is_plain = index.selected_groups().len() == 0 && index.version_order().is_empty();
        let is_settled = history.txns().all(|txn| problem.status[txn.index()] != Status::Maybe);
        if !is_plain || !is_settled {
            return None;
        }
        let mut steps = Self {
            txns: Vec::new(),
            rows: Vec::new(),
            accesses: Vec::with_capacity(index.reads().len() + index.writes().len()),
            start: vec![0],
            key_count: history.keys().len(),
            value_count: 0,
        };
        let classes = Classes::of(index);
        steps.add_rows(problem, &classes).then_some(())?;
        steps.number_values(classes.count);
        Some(steps)
    }

    fn add_rows(&mut self, problem: &Problem<'_>, classes: &Classes) -> bool {
        let distance = problem.links().distance;
        for session in problem.history.sessions() {
            let txns = || problem.history.session_txns(session).filter(|&txn| problem.is_in(txn));
            for first in 0..distance {
                let start = self.txns.len() as u32;
                let linked = txns().filter(|&txn| problem.is_linked(txn));
                if !linked.skip(first).step_by(distance).all(|txn| self.add(problem, classes, txn)) {
                    return false;
                }
                self.rows.push(start..self.txns.len() as u32);
            }
            for txn in txns().filter(|&txn| !problem.is_linked(txn)) {
                let step = self.txns.len() as u32;
                if !self.add(problem, classes, txn) {
                    return false;
                }
                self.rows.push(step..step + 1);
            }
        }
        self.rows.retain(|row| !row.is_empty());
        true
    }

    /// Adds a transaction; false if it read two values of a key.
    fn add(&mut self, problem: &Problem<'_>, classes: &Classes, txn: TxnId) -> bool {
        let index = problem.index;
        let (step, first) = (self.txns.len() as u32, self.accesses.len());
        for read in index.reads_of(txn) {
            let key = index.reads()[read].key.0;
            let (read, initial) = (classes.of_read(read), index.sources(read).initial);
            match self.accesses[first..].iter_mut().find(|access| access.key == key) {
                Some(known) if known.read == read => {
                    known.initial &= initial;
                    continue;
                }
                Some(_) => return false,
                None => {}
            }
            self.accesses.push(Access { step, key, read, initial, write: NONE });
        }
        for write in index.writes_of(txn) {
            let key = index.writes()[write].key;
            let value = classes.of_holder(key, write as u32).last().unwrap_or(write as u32);
            match self.accesses[first..].iter_mut().find(|access| access.key == key.0) {
                Some(access) => access.write = value,
                None => {
                    self.accesses.push(Access { step, key: key.0, read: NONE, initial: false, write: value })
                }
            }
        }
        self.txns.push(txn);
        self.start.push(self.accesses.len() as u32);
        true
    }

    /// Numbers the values that are read from 0 on, and those of a key that no read can have seen as one behind them: more
    /// states are equal then.
    fn number_values(&mut self, class_count: usize) {
        let mut number_of = vec![NONE; class_count];
        let mut count = 0;
        for access in self.accesses.iter_mut().filter(|access| access.read != NONE) {
            let number = &mut number_of[access.read as usize];
            if *number == NONE {
                *number = count;
                count += 1;
            }
            access.read = *number;
        }
        self.value_count = count as usize;
        for access in self.accesses.iter_mut().filter(|access| access.write != NONE) {
            access.write = match number_of[access.write as usize] {
                NONE => count + access.key,
                number => number,
            };
        }
    }

    /// For each transaction of the history its number here, or `NONE`.
    pub(crate) fn of_txns(&self, txn_count: usize) -> Vec<u32> {
        let mut step_of = vec![NONE; txn_count];
        self.txns.iter().enumerate().for_each(|(step, txn)| step_of[txn.index()] = step as u32);
        step_of
    }

    /// How many transactions there are.
    pub(crate) fn len(&self) -> usize {
        self.txns.len()
    }

    /// The numbers of the accesses of a transaction.
    #[inline]
    pub(crate) fn access_numbers(&self, step: u32) -> Range<u32> {
        self.start[step as usize]..self.start[step as usize + 1]
    }

    /// What a transaction does to each of its keys.
    #[inline]
    pub(crate) fn accesses_of(&self, step: u32) -> &[Access] {
        let numbers = self.access_numbers(step);
        &self.accesses[numbers.start as usize..numbers.end as usize]
    }
}
