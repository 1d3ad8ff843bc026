//! Leaves a dead end: learns an order of two transactions from a value that was overwritten too early.
//!
//! A transaction that does not fit needs a content of a row. If the row held that content before, the transaction that
//! overwrote it was placed too early: it belongs after the reader or, if the clock puts it before the reader, before the
//! writer of the content. That is a *learned order*; everything placed since is taken back, and the order is kept. Each
//! order is learned once, so this ends. If there is nothing to learn, a transaction of unknown outcome that no other
//! transaction needed so far may help; after that the reasons to wait are overridden one by one.

use certify::Core;
use history::{KeyId, Outcome, TxnId};
use rustc_hash::FxHashMap;

use super::blocks::Blocked;
use super::contents::ContentNumber;
use super::open::{Open, concerned};
use super::search::{Deed, LearnedOrder, RowSearch};
use super::table::Overwritten;

/// The most rows that do not fit which are examined for one transaction.
const MAX_WRONG: usize = 16;
/// The most earlier contents of a row that are examined.
const MAX_PAST: usize = 64;
/// How often reasons to wait may be overridden.
const MAX_OVERRIDES: u64 = 200;
/// The most rows in doubt at first; further rows follow when an order explains these.
const MAX_DOUBTS: usize = 12;

/// A transaction that was placed recently.
struct Recent {
    txn: TxnId,
    moment: u32,
    overwritten: Vec<Overwritten>,
}

impl Recent {
    fn wrote(&self, key: KeyId) -> bool {
        self.overwritten.iter().any(|entry| entry.key == key)
    }
}

impl RowSearch<'_, '_> {
    /// Goes on from a dead end, or gives the rows that it is about.
    pub(super) fn leave_dead_end(&mut self, blocked: Blocked) -> Result<(), Vec<KeyId>> {
        let mut learned = blocked.late.clone();
        let wrong = self.wrong_rows();
        for &(txn, key) in &wrong {
            learned.extend(self.order_of(txn, key));
        }
        for place in 0..self.open.len() {
            learned.extend(self.order_of_past(place));
            learned.extend(self.orders_of_overlap(place));
        }
        learned.retain(|order| self.is_new(order));
        // The one that takes least back.
        let moment = |order: &LearnedOrder| self.moment_of[order.second.index()];
        if let Some(order) = learned.into_iter().max_by_key(moment) {
            let moment = moment(&order);
            self.stats.learned += 1;
            self.learned[order.second.index()].push(order);
            self.take_back(moment);
            return Ok(());
        }
        if self.place_an_unknown(&wrong) {
            return Ok(());
        }
        if let Some(best) = blocked.best.filter(|_| self.stats.overrides < MAX_OVERRIDES) {
            self.stats.overrides += 1;
            self.place_at(best);
            return Ok(());
        }
        Err(self.rows_in_doubt(&wrong, &blocked))
    }

    fn is_new(&self, order: &LearnedOrder) -> bool {
        let is_known = |known: &LearnedOrder| {
            known.first == order.first && (known.deed == order.deed || known.deed == Deed::Commit)
        };
        order.first != order.second
            && self.is_placed(order.second)
            && !self.ready.must_precede(order.second, order.first)
            && (order.deed == Deed::Begin || !self.ready.must_commit_before(order.second, order.first))
            && !self.learned[order.second.index()].iter().any(is_known)
    }

    /// Rows that do not fit, with the transaction that saw them.
    fn wrong_rows(&mut self) -> Vec<(TxnId, KeyId)> {
        let mut rows = Vec::new();
        for txn in self.open.iter().filter(|open| !open.has_fitted()).map(|open| open.txn).collect::<Vec<_>>()
        {
            let mut left = MAX_WRONG;
            for key in concerned(&self.scripts, &self.table, txn) {
                if left > 0 && !self.scripts.meet(txn, key, self.table.now(key)).is_right {
                    rows.push((txn, key));
                    left -= 1;
                }
            }
        }
        rows
    }

    /// What is to be learnt from a row that does not fit.
    fn order_of(&mut self, reader: TxnId, key: KeyId) -> Option<LearnedOrder> {
        let past: Vec<_> = self.table.past(key).take(MAX_PAST).collect();
        let fits = |content: ContentNumber| self.scripts.meet(reader, key, content).is_right;
        let place = past.iter().map(|entry| entry.content).position(fits)?;
        let overwriter = self.placed[past[place].moment as usize].txn;
        if !self.ready.must_precede(overwriter, reader) {
            return Some(LearnedOrder { first: reader, deed: Deed::Begin, second: overwriter, key });
        }
        let writer = self.placed[past.get(place + 1)?.moment as usize].txn;
        Some(LearnedOrder { first: overwriter, deed: Deed::Commit, second: writer, key })
    }

    /// An open transaction that does not fit now, by all rows and by how many rows it was told to have changed, would fit
    /// without what one of the last transactions did, or several: it should have come before that.
    fn order_of_past(&mut self, place: usize) -> Option<LearnedOrder> {
        if self.open[place].has_fitted() {
            return None;
        }
        let first = self.open[place].txn;
        let recent = self.recent();
        let (fixed, free): (Vec<Recent>, Vec<Recent>) =
            recent.into_iter().partition(|recent| self.ready.must_precede(recent.txn, first));
        let one =
            free.iter().find_map(|recent| self.fits_without(place, &fixed, std::slice::from_ref(recent)));
        let some = || (1..=free.len()).find_map(|count| self.fits_without(place, &fixed, &free[..count]));
        let (second, key) = one.or_else(some)?;
        Some(LearnedOrder { first, deed: Deed::Begin, second, key })
    }

    /// The transactions that came last, the latest first, with what they overwrote.
    fn recent(&self) -> Vec<Recent> {
        let mut entries = self.table.overwritten().peekable();
        let last = self.placed.iter().enumerate().rev().take(MAX_PAST);
        last.map(|(moment, placed)| {
            let of_moment = std::iter::from_fn(|| entries.next_if(|entry| entry.moment as usize == moment));
            Recent { txn: placed.txn, moment: moment as u32, overwritten: of_moment.collect() }
        })
        .collect()
    }

    /// Whether a transaction fits if some, the latest first, had not come yet: the earliest of them, and a row. What
    /// others overwrote since stays.
    fn fits_without(&mut self, place: usize, fixed: &[Recent], late: &[Recent]) -> Option<(TxnId, KeyId)> {
        let mut then = self.open[place].counts();
        let mut held: FxHashMap<KeyId, ContentNumber> = FxHashMap::default();
        let mut key = None;
        for recent in late {
            for entry in &recent.overwritten {
                let is_later = |other: &&Recent| other.moment > recent.moment;
                let is_covered = fixed.iter().filter(is_later).any(|other| other.wrote(entry.key));
                let is_own =
                    held.contains_key(&entry.key) || self.table.since(entry.key) == Some(recent.moment);
                if is_own && !is_covered {
                    let after = held.insert(entry.key, entry.content).unwrap_or(self.table.now(entry.key));
                    then.note(&mut self.scripts, entry.key, after, entry.content);
                    key = Some(entry.key);
                }
            }
        }
        then.fits().then_some((late.last()?.txn, key?))
    }

    /// A transaction that began before a commit that wrote one of its rows should have committed before that; or that
    /// commit should have come before the one after which the transaction did not fit any more.
    fn orders_of_overlap(&mut self, place: usize) -> Vec<LearnedOrder> {
        let (txn, Some(&began)) = (self.open[place].txn, self.open[place].fitted.last()) else {
            return Vec::new();
        };
        if self.core != Core::Snapshot {
            return Vec::new();
        }
        let effects = self.effects_at(txn, began);
        let overlap = |&(key, _): &(KeyId, ContentNumber)| {
            let since = self.table.since(key).filter(|&since| since >= began)?;
            Some((self.placed[since as usize].txn, key))
        };
        let Some((other, key)) = effects.iter().find_map(overlap) else { return Vec::new() };
        let order = |first, second| LearnedOrder { first, deed: Deed::Commit, second, key };
        vec![order(txn, other), order(other, self.placed[began as usize].txn)]
    }

    /// Takes in a transaction of unknown outcome that writes what a transaction saw.
    fn place_an_unknown(&mut self, wrong: &[(TxnId, KeyId)]) -> bool {
        let is_open = |&txn: &TxnId| {
            self.history.outcome(txn) == Outcome::Unknown
                && !self.is_placed(txn)
                && self.ready.may_begin(txn)
                && self.ready.may_commit(txn)
                && self.may_begin_now(txn)
                && self.ready.is_its_turn(txn, |txn| self.is_placed(txn), |txn| self.has_begun(txn))
        };
        let unknown: Vec<TxnId> = self.history.txns().filter(is_open).collect();
        for txn in unknown {
            let open = Open::new(&mut self.scripts, &self.table, txn, Vec::new());
            if open.fits() && self.helps(txn, wrong) {
                let effects = super::open::effects(&mut self.scripts, &self.table, txn);
                let writes = self.writes(effects);
                self.commit(txn, self.moment(), &writes);
                return true;
            }
        }
        false
    }

    /// Whether a row that does not fit would fit after a transaction.
    fn helps(&mut self, txn: TxnId, wrong: &[(TxnId, KeyId)]) -> bool {
        wrong.iter().any(|&(reader, key)| {
            let left = self.scripts.meet(txn, key, self.table.now(key)).left;
            left.is_some_and(|left| self.scripts.meet(reader, key, left).is_right)
        })
    }

    /// Rows of a dead end: of those that do not fit, of those for which a transaction waits, and of the learned about the
    /// transactions concerned, some each, of the earliest transactions.
    fn rows_in_doubt(&self, wrong: &[(TxnId, KeyId)], blocked: &Blocked) -> Vec<KeyId> {
        let mut txns: Vec<TxnId> = self.open.iter().map(|open| open.txn).collect();
        txns.sort_by_key(|&txn| self.ready.moment(txn));
        let mut keys = Vec::new();
        for txn in txns {
            let wrong = wrong.iter().filter(|&&(of, _)| of == txn).map(|&(_, key)| key);
            let learned = self.learned[txn.index()].iter().map(|order| order.key);
            let waits = blocked.waits.iter().chain(&blocked.late).filter(|order| order.second == txn);
            keys.extend(wrong.take(2).chain(learned.take(2)).chain(waits.map(|order| order.key).take(2)));
            if keys.len() >= MAX_DOUBTS {
                break;
            }
        }
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}
