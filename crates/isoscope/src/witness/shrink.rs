//! The smallest part of a history that still violates a level.
//!
//! The certificate says where to look: the transactions that it rests on, and the writers of what they read, are a part
//! that violates the level too. From it transactions are dropped, in halves, quarters and then one by one, and then
//! operations likewise; each smaller part is asked again, and a certificate of a smaller part may drop more at once.
//! A level that holds for a history holds for every part of it, so one round over all single transactions is enough:
//! afterwards none can be left out. That is the smallest part around, not the smallest there is: where many transactions
//! are left, other starts and another order are tried too, as long as the operations of all parts that were asked about
//! stay within a few times those of the history.
//!
//! A question about a part of a few transactions takes 20 to 400 microseconds; the first part is the only one whose size
//! depends on the history.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use certify::Certificate;
use history::{History, KeyId, Op, OpId, TxnId};

use super::mentioned;
use super::part::{Kept, Part, part};
use crate::answer::{Answer, Decision};
use crate::error::Error;

/// Asks for the level on a part.
pub(crate) type Ask<'a> = dyn Fn(&History) -> Result<Option<Answer>, Error> + 'a;

/// A part that violates the level.
pub(crate) struct Violating {
    pub part: Part,
    pub answer: Answer,
    /// Whether nothing can be left out; not so if a limit was reached first.
    pub is_minimal: bool,
}

/// Shrinks a violation of the whole history; `stop` is asked between questions.
pub(crate) fn shrink(
    history: &History,
    answer: &Answer,
    ask: &Ask<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Violating>, Error> {
    let mut smallest = Smallest { history, answer, ask, stop, asked_ops: Cell::new(0), best: None };
    smallest.start_from(Start::Told, true)?;
    // Where one start ends with many transactions, other starts from the same certificate mostly do so too, and a question
    // about the whole history takes no longer than they do.
    if smallest.best.is_some() && smallest.size() > MANY && history.txn_count() <= SHORT {
        smallest.start_from(Start::Whole, true)?;
    }
    for (start, from_the_back) in [(Start::Told, false), (Start::Used, true), (Start::Used, false)] {
        if !smallest.is_enough() {
            smallest.start_from(start, from_the_back)?;
        }
    }
    if smallest.best.is_none() && !stop() {
        smallest.start_from(Start::Whole, true)?;
    }
    smallest.finish()
}

/// A part of so many transactions is small enough.
const FEW: usize = 4;
/// A part of more transactions is looked for in the whole history, if it has no more than `SHORT`.
const MANY: usize = 8;
const SHORT: usize = 2_000;
/// Where questions were about so many times the operations of the history, `MANY` transactions are small enough.
const MOST_ASKED: usize = 1;

/// The part that transactions are dropped from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The transactions that the explanation tells of.
    Told,
    /// Those that the certificate rests on.
    Used,
    /// The whole history.
    Whole,
}

/// The smallest part so far.
struct Smallest<'a> {
    history: &'a History,
    answer: &'a Answer,
    ask: &'a Ask<'a>,
    stop: &'a dyn Fn() -> bool,
    /// The operations of all parts that were asked about.
    asked_ops: Cell<usize>,
    best: Option<Violating>,
}

impl Smallest<'_> {
    fn size(&self) -> usize {
        self.best.as_ref().map_or(usize::MAX, |best| best.part.txns.len())
    }

    fn is_enough(&self) -> bool {
        let is_long = self.asked_ops.get() > MOST_ASKED * self.history.op_count();
        self.size() <= FEW || self.size() <= MANY && is_long || (self.stop)()
    }

    fn shrinker(&self, from_the_back: bool) -> Shrinker<'_> {
        let (ask, stop, asked_ops) = (self.ask, self.stop, &self.asked_ops);
        let is_monotone = !self.history.has_predicates();
        Shrinker { ask, stop, from_the_back, is_monotone, asked_ops, needed: RefCell::default() }
    }

    fn start_from(&mut self, start: Start, from_the_back: bool) -> Result<(), Error> {
        let shrinker = self.shrinker(from_the_back);
        let Some(mut current) = shrinker.first(self.history, self.answer, start)? else { return Ok(()) };
        if start != Start::Whole {
            // From everything, another part of the history may show something smaller.
            shrinker.jump(&mut current)?;
        }
        shrinker.drop_txns(&mut current)?;
        if current.part.txns.len() < self.size() {
            self.best = Some(current);
        }
        Ok(())
    }

    /// The smallest part without the operations that can be left out.
    fn finish(mut self) -> Result<Option<Violating>, Error> {
        let Some(mut best) = self.best.take() else { return Ok(None) };
        self.shrinker(true).drop_ops(&mut best)?;
        best.is_minimal = !(self.stop)();
        Ok(Some(best))
    }
}

struct Shrinker<'a> {
    ask: &'a Ask<'a>,
    stop: &'a dyn Fn() -> bool,
    /// Whether the last transactions are the first to be dropped.
    from_the_back: bool,
    /// Whether a transaction that cannot be left out of a part cannot be left out of a smaller part either. A write by
    /// predicate keeps some parts from being asked about, which says nothing of smaller ones.
    is_monotone: bool,
    /// Transactions of the whole history that cannot be left out.
    needed: RefCell<BTreeSet<TxnId>>,
    /// The operations of all parts that were asked about, those of a part that violates the level three times: its
    /// certificate and its explanation cost as much again as the verdict, each.
    asked_ops: &'a Cell<usize>,
}

impl Shrinker<'_> {
    /// A part to start from: what the explanation tells of, what the certificate rests on, or everything.
    fn first(&self, history: &History, answer: &Answer, start: Start) -> Result<Option<Violating>, Error> {
        let seed = match (start, &answer.certificate) {
            (Start::Told, _) => {
                let told = answer.explanation.iter().flat_map(|explanation| &explanation.transactions);
                told.copied().collect()
            }
            (Start::Used, Some((level, certificate))) => mentioned::transactions(history, level, certificate),
            (Start::Whole, _) => return self.ask(part(history, &Kept::ALL)),
            _ => BTreeSet::new(),
        };
        if seed.is_empty() {
            return Ok(None);
        }
        let keys = keys_of(answer);
        let keeps_key = |key: KeyId| keys.is_none_or(|keys| keys.binary_search(&key).is_ok());
        let seed = with_writers(history, &seed);
        let kept = Kept { txn: &|txn| seed.contains(&txn), key: &keeps_key, ..Kept::ALL };
        let found = self.ask(part(history, &kept))?;
        if found.is_some() || !history.has_predicates() {
            return Ok(found);
        }
        // Beside writes by predicate, only transactions that change nothing can be left out.
        let keeps = |txn: TxnId| seed.contains(&txn) || writes(history, txn);
        self.ask(part(history, &Kept { txn: &keeps, key: &keeps_key, ..Kept::ALL }))
    }

    fn ask(&self, part: Option<Part>) -> Result<Option<Violating>, Error> {
        let Some(part) = part else { return Ok(None) };
        let answer = (self.ask)(&part.history)?;
        let violated = answer.filter(|answer| answer.decision == Decision::Violated);
        let weight = if violated.is_some() { 3 } else { 1 };
        self.asked_ops.set(self.asked_ops.get() + weight * part.history.op_count());
        Ok(violated.map(|answer| Violating { part, answer, is_minimal: false }))
    }

    /// The part of a part, if it still violates the level; its transactions are those of the whole.
    fn smaller(&self, current: &Violating, kept: &Kept<'_>) -> Result<Option<Violating>, Error> {
        let found = self.ask(part(&current.part.history, kept))?;
        Ok(found.map(|mut found| {
            found.part.txns.iter_mut().for_each(|txn| *txn = current.part.txns[txn.index()]);
            found
        }))
    }

    fn without_txns(&self, current: &Violating, gone: &BTreeSet<TxnId>) -> Result<Option<Violating>, Error> {
        self.smaller(current, &Kept { txn: &|txn| !gone.contains(&txn), ..Kept::ALL })
    }

    fn drop_txns(&self, current: &mut Violating) -> Result<(), Error> {
        let mut size = current.part.txns.len().div_ceil(2);
        while size > 0 {
            self.drop_chunks(current, size)?;
            size = match size {
                1 => 0,
                _ => size.min(current.part.txns.len()).div_ceil(2),
            };
        }
        Ok(())
    }

    /// Tries to drop each run of so many transactions.
    fn drop_chunks(&self, current: &mut Violating, size: usize) -> Result<(), Error> {
        // How many transactions at the end where it started are known to be needed.
        let mut needed = 0;
        while needed < current.part.txns.len() && !(self.stop)() {
            let count = current.part.txns.len();
            let (from, to) = (needed, (needed + size).min(count));
            let place = |place: usize| if self.from_the_back { count - 1 - place } else { place };
            let gone: BTreeSet<TxnId> = (from..to).map(|at| TxnId::from_index(place(at))).collect();
            if self.is_any_needed(current, &gone) {
                needed = to;
                continue;
            }
            match self.without_txns(current, &gone)? {
                Some(found) => {
                    *current = found;
                    let before = current.part.txns.len();
                    self.jump(current)?;
                    if current.part.txns.len() < before {
                        needed = 0;
                    }
                }
                None => {
                    if let [txn] = gone.into_iter().collect::<Vec<_>>()[..] {
                        self.needed.borrow_mut().insert(current.part.txns[txn.index()]);
                    }
                    needed = to;
                }
            }
        }
        Ok(())
    }

    /// Whether one of the transactions cannot be left out, as an earlier question showed.
    fn is_any_needed(&self, current: &Violating, gone: &BTreeSet<TxnId>) -> bool {
        let needed = self.needed.borrow();
        self.is_monotone && gone.iter().any(|txn| needed.contains(&current.part.txns[txn.index()]))
    }

    /// Drops at once what the certificate of the part does not rest on.
    fn jump(&self, current: &mut Violating) -> Result<(), Error> {
        loop {
            let history = &current.part.history;
            let Some((level, certificate)) = &current.answer.certificate else { return Ok(()) };
            let used = mentioned::transactions(history, level, certificate);
            let used = with_writers(history, &used);
            if used.len() == history.txn_count() || used.is_empty() {
                return Ok(());
            }
            let kept = Kept { txn: &|txn| used.contains(&txn), ..Kept::ALL };
            match self.smaller(current, &kept)? {
                Some(found) => *current = found,
                None => return Ok(()),
            }
        }
    }

    fn drop_ops(&self, current: &mut Violating) -> Result<(), Error> {
        self.keep_used_keys(current)?;
        let mut size = current.part.history.op_count().div_ceil(2);
        while size > 0 {
            let mut end = current.part.history.op_count();
            while end > 0 && !(self.stop)() {
                end = end.min(current.part.history.op_count());
                let start = end.saturating_sub(size);
                let gone = |op: OpId| (start..end).contains(&op.index());
                let kept = Kept { op: &|op| !gone(op), ..Kept::ALL };
                if let Some(found) = self.smaller(current, &kept)? {
                    *current = found;
                }
                end = start;
            }
            size = match size {
                1 => 0,
                _ => size.min(current.part.history.op_count()).div_ceil(2),
            };
        }
        self.drop_empty(current)
    }

    /// Drops at once the operations on keys that the certificate does not speak of.
    fn keep_used_keys(&self, current: &mut Violating) -> Result<(), Error> {
        let Some((level, certificate)) = &current.answer.certificate else { return Ok(()) };
        let used = mentioned::keys(&current.part.history, level, certificate);
        let kept = Kept { key: &|key| used.contains(&key), ..Kept::ALL };
        if !used.is_empty()
            && let Some(found) = self.smaller(current, &kept)?
        {
            *current = found;
        }
        Ok(())
    }

    /// A transaction of which nothing is left says nothing.
    fn drop_empty(&self, current: &mut Violating) -> Result<(), Error> {
        let history = &current.part.history;
        let empty = history.txns().filter(|&txn| history.ops(txn).next().is_none());
        let empty: BTreeSet<TxnId> = empty.collect();
        if !empty.is_empty()
            && let Some(found) = self.without_txns(current, &empty)?
        {
            *current = found;
        }
        Ok(())
    }
}

fn keys_of(answer: &Answer) -> Option<&[KeyId]> {
    match &answer.certificate {
        Some((_, Certificate::Violated { keys, .. })) => keys.as_deref(),
        _ => None,
    }
}

fn writes(history: &History, txn: TxnId) -> bool {
    history.ops(txn).any(|(_, op)| !op.is_read())
}

/// The transactions, and those that wrote something that they read, whatever became of them.
fn with_writers(history: &History, txns: &BTreeSet<TxnId>) -> BTreeSet<TxnId> {
    let mut read = BTreeSet::new();
    for op in txns.iter().flat_map(|&txn| history.ops(txn)).map(|(_, op)| op) {
        match op {
            Op::Read { key, value: Some(value) } => drop(read.insert((key, value))),
            Op::ReadList { key, list: Some(list) } => read.extend(list.iter().map(|&value| (key, value))),
            Op::RangeRead(range) => {
                read.extend(range.rows.iter().flatten().map(|row| (row.key, row.value)));
            }
            Op::PredicateRead(answer) => {
                read.extend(answer.rows.iter().flatten().map(|row| (row.key, row.value)));
            }
            _ => {}
        }
    }
    let wrote = |op: Op<'_>| {
        let value = op.written().or(op.value_appended());
        op.key().zip(value).is_some_and(|written| read.contains(&written))
    };
    let writers = history.txns().filter(|&txn| history.ops(txn).any(|(_, op)| wrote(op)));
    txns.iter().copied().chain(writers).collect()
}
