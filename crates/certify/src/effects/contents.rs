//! What each transaction with predicates may have seen of a key, with the results that it may have had.
//!
//! Three definitions (`docs/certificates.md`): where real time counts, what can be visible between its begin and its end
//! (`by_time`); where the derivation names keys and no clock counts, what reads returned and one other row (`by_reads`);
//! otherwise everything that can be made of what is written (`by_writes`).

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use history::{Datum, History, Op, TxnId};

use super::one_key::{KeyEffect, OneKey};
use super::{Content, Scope, Sight};
use crate::observe::live_ops;

/// For each transaction that a key concerns: the contents that it may have seen, ascending, with its results on each.
type Seen = Vec<(TxnId, Vec<(Sight, Vec<KeyEffect>)>)>;

/// Up to this number of predicate writes each is applied once at most to a content; of more, as many as there are.
const DISTINGUISHED: usize = 10;
/// The most transactions that are open at a time and known to have had a part in a content.
const TRACKED: usize = 64;
/// The most contents of a key.
const MAX_CONTENTS: usize = 1 << 14;

/// What each transaction may have seen of the selected key; `None` if that is too much.
pub(super) fn seen_by_each(key: &OneKey<'_>, scope: &Scope<'_>) -> Option<Seen> {
    match scope.clock_skew {
        Some(skew) if scope.keys.is_none() || key.history.has_times() => by_time(key, skew),
        _ if scope.keys.is_some() => Some(by_reads(key)),
        _ => by_writes(key),
    }
}

/// The results of a transaction on contents, if its predicates concern the key with one of them.
fn results(
    key: &OneKey<'_>,
    txn: TxnId,
    contents: &BTreeSet<Rc<Content>>,
) -> Option<Vec<(Sight, Vec<KeyEffect>)>> {
    if !key.is_concerned(txn, contents.iter()) {
        return None;
    }
    let result = |content: &Rc<Content>| {
        let held = Sight::Known(content.clone());
        let outcomes = key.run(txn, &held, &[]);
        (held, outcomes)
    };
    Some(contents.iter().map(result).collect())
}

/// Everything that is written to the key, and what predicate writes make of that.
fn by_writes(key: &OneKey<'_>) -> Option<Seen> {
    let mut written: BTreeSet<Rc<Content>> =
        live_ops(key.history).filter_map(|(.., op)| key.left_by(&op).map(Rc::new)).collect();
    written.insert(Rc::new(key.initial()));
    let visible = close(key, written)?;
    let seen = key.by_predicate.iter().filter_map(|&txn| Some((txn, results(key, txn, &visible)?)));
    Some(seen.collect())
}

/// What predicate writes make of contents, round by round.
fn close(key: &OneKey<'_>, start: BTreeSet<Rc<Content>>) -> Option<BTreeSet<Rc<Content>>> {
    let concerns = |op: &Op<'_>| match op {
        Op::PredicateWrite(write) => write.keys.as_ref().is_none_or(|keys| keys.contains(&key.key())),
        _ => false,
    };
    let writes: Vec<Op<'_>> = live_ops(key.history).map(|(.., op)| op).filter(|op| concerns(op)).collect();
    let is_distinguished = writes.len() <= DISTINGUISHED;
    let mut visible = start.clone();
    // The writes that had a part in a content, as far as they are distinguished.
    let mut known: BTreeSet<(Rc<Content>, BTreeSet<usize>)> =
        start.into_iter().map(|content| (content, BTreeSet::new())).collect();
    let mut round: Vec<(Rc<Content>, BTreeSet<usize>)> = known.iter().cloned().collect();
    for _ in 0..writes.len() {
        let mut next = Vec::new();
        for (content, used) in &round {
            for (place, op) in writes.iter().enumerate().filter(|(place, _)| !used.contains(place)) {
                let Some(made) = key.made_by(op, content) else { continue };
                let mut used = used.clone();
                if is_distinguished {
                    used.insert(place);
                }
                let is_new = visible.insert(made.clone());
                if is_new || is_distinguished && !known.contains(&(made.clone(), used.clone())) {
                    known.insert((made.clone(), used.clone()));
                    next.push((made, used));
                }
            }
            if visible.len() > MAX_CONTENTS || key.is_too_much() {
                return None;
            }
        }
        round = next;
    }
    Some(visible)
}

/// What reads returned of the key or a write of the key itself left, and one content for all other rows.
fn by_reads(key: &OneKey<'_>) -> Seen {
    let mut known: BTreeSet<Rc<Content>> = key.returned().cloned().collect();
    for (.., op) in live_ops(key.history).filter(|(.., op)| op.key() == Some(key.key())) {
        let content = match op {
            Op::Read { value: Some(value), .. } => Some(Content::row(key.history.values().original(value))),
            _ => key.left_by(&op),
        };
        known.extend(content.map(Rc::new));
    }
    known.extend([key.initial(), Content::row(Datum::Nil)].map(Rc::new));
    let known: Vec<Rc<Content>> = known.into_iter().collect();
    let of_txn = |&txn: &TxnId| Some((txn, results_by_reads(key, txn, &known)?));
    key.by_predicate.iter().filter_map(of_txn).collect()
}

fn results_by_reads(
    key: &OneKey<'_>,
    txn: TxnId,
    known: &[Rc<Content>],
) -> Option<Vec<(Sight, Vec<KeyEffect>)>> {
    let has_writes = key.history.ops(txn).any(|(_, op)| matches!(op, Op::PredicateWrite(_)));
    if !has_writes && !key.is_concerned(txn, known.iter()) {
        return None;
    }
    let shown = key.shown_first(txn);
    let is_possible = |held: &Sight| match (held, &shown) {
        (_, None) => true,
        (Sight::Known(content), Some(shown)) => content == *shown,
        (Sight::Other, Some(_)) => false,
    };
    let result = |held: Sight| {
        let mut outcomes = if is_possible(&held) { key.run(txn, &held, known) } else { Vec::new() };
        outcomes.iter_mut().for_each(|outcome| forget_unread(outcome, known));
        (held, outcomes)
    };
    Some(known.iter().cloned().map(Sight::Known).chain([Sight::Other]).map(result).collect())
}

/// A row that no read returned is one of the others, also where it is known what a transaction left.
fn forget_unread(outcome: &mut KeyEffect, known: &[Rc<Content>]) {
    if let Some((held, _)) = &mut outcome.written
        && !matches!(held, Sight::Known(content) if known.contains(content))
    {
        *held = Sight::Other;
    }
}

/// A content that can be visible, and what is known of how it came about.
#[derive(Clone, PartialEq, Eq)]
struct Version {
    content: Rc<Content>,
    /// The open transactions that had a part in it.
    parts: BTreeSet<TxnId>,
    /// `None` for the initial state.
    writer: Option<TxnId>,
    /// When the writer ended.
    ended: i64,
}

struct Open {
    txn: TxnId,
    begin: i64,
    is_tracked: bool,
    seen: BTreeSet<Rc<Content>>,
    /// Contents that it may have seen without overwriting them.
    kept: BTreeSet<Rc<Content>>,
    fits: bool,
}

/// What can be visible between the begin and the end of a transaction, where real time orders transactions.
fn by_time(key: &OneKey<'_>, skew: i64) -> Option<Seen> {
    let mut moments = Moments { key, versions: Vec::new(), open: Vec::new(), seen: BTreeMap::new() };
    moments.versions.push(Version {
        content: Rc::new(key.initial()),
        parts: BTreeSet::new(),
        writer: None,
        ended: i64::MIN,
    });
    let by_predicate: BTreeSet<TxnId> = key.by_predicate.iter().copied().collect();
    for (moment, is_end, txn) in events(key.history, skew) {
        let writes_key = || key.history.ops(txn).any(|(_, op)| key.left_by(&op).is_some());
        if !by_predicate.contains(&txn) && !writes_key() {
            continue;
        }
        match is_end {
            false => moments.begin(txn, moment)?,
            true => moments.end(txn, moment),
        }
    }
    moments.open.iter().for_each(|open| _ = moments.seen.insert(open.txn, open.seen.clone()));
    let with_predicate = moments.seen.iter().filter(|(txn, _)| by_predicate.contains(txn));
    let of_txn =
        |(&txn, contents): (&TxnId, &BTreeSet<Rc<Content>>)| Some((txn, results(key, txn, contents)?));
    Some(with_predicate.filter_map(of_txn).collect())
}

/// Begins, earlier by the skew, and the ends of committed transactions; at one moment begins come first.
fn events(history: &History, skew: i64) -> Vec<(i64, bool, TxnId)> {
    let mut events = Vec::new();
    for txn in history.txns().filter(|&txn| history.outcome(txn) != history::Outcome::Aborted) {
        let times = history.times(txn);
        let begin = times.begin_request.map_or(i64::MIN, |begin| begin.saturating_sub(skew));
        events.push((begin, false, txn));
        let is_committed = history.outcome(txn) == history::Outcome::Committed;
        if let Some(end) = times.commit_response.filter(|_| is_committed) {
            // A clock may run backwards inside a transaction.
            let request = times.commit_request.or(times.begin_response).or(times.begin_request);
            let end = [times.begin_request, request].into_iter().flatten().fold(end, i64::max);
            events.push((end, true, txn));
        }
    }
    events.sort_unstable();
    events
}

struct Moments<'k, 'h> {
    key: &'k OneKey<'h>,
    versions: Vec<Version>,
    open: Vec<Open>,
    seen: BTreeMap<TxnId, BTreeSet<Rc<Content>>>,
}

impl Moments<'_, '_> {
    fn begin(&mut self, txn: TxnId, moment: i64) -> Option<()> {
        let is_tracked = self.open.iter().filter(|open| open.is_tracked).count() < TRACKED;
        let (seen, kept) = (BTreeSet::new(), BTreeSet::new());
        self.open.push(Open { txn, begin: moment, is_tracked, seen, kept, fits: false });
        let place = self.open.len() - 1;
        let mut made: Vec<Version> = Vec::new();
        for version in self.versions.clone() {
            made.extend(self.see(place, &version));
        }
        while let Some(version) = made.pop() {
            if self.versions.len() > MAX_CONTENTS || self.key.is_too_much() {
                return None;
            }
            if self.is_covered(&version) {
                continue;
            }
            self.versions.push(version.clone());
            for place in 0..self.open.len() {
                made.extend(self.see(place, &version));
            }
        }
        Some(())
    }

    /// Whether a version of the same content and writer is visible to all that this one is visible to.
    fn is_covered(&self, version: &Version) -> bool {
        let covers = |known: &Version| {
            known.content == version.content
                && known.writer == version.writer
                && known.parts.is_subset(&version.parts)
        };
        self.versions.iter().any(covers)
    }

    /// What an open transaction makes of a version, if it can have seen it and writes.
    fn see(&mut self, place: usize, version: &Version) -> Option<Version> {
        let open = &mut self.open[place];
        if version.parts.contains(&open.txn) || version.writer == Some(open.txn) {
            return None;
        }
        open.seen.insert(version.content.clone());
        let held = Sight::Known(version.content.clone());
        let outcome = self.key.run(open.txn, &held, &[]).pop()?;
        open.fits = true;
        let Some((Sight::Known(content), _)) = outcome.written else {
            open.kept.insert(version.content.clone());
            return None;
        };
        let mut parts = version.parts.clone();
        if open.is_tracked {
            parts.insert(open.txn);
        }
        Some(Version { content, parts, writer: Some(open.txn), ended: i64::MAX })
    }

    fn end(&mut self, txn: TxnId, moment: i64) {
        let Some(place) = self.open.iter().position(|open| open.txn == txn) else { return };
        let open = self.open.remove(place);
        for version in &mut self.versions {
            version.parts.remove(&txn);
            if version.writer == Some(txn) {
                version.ended = moment;
            }
        }
        if open.fits {
            let is_older = |version: &Version| version.writer.is_none() || version.ended < open.begin;
            self.versions.retain(|version| !is_older(version) || open.kept.contains(&version.content));
        }
        self.seen.insert(txn, open.seen);
    }
}

impl OneKey<'_> {
    /// What a predicate write makes of a content, if it matches.
    fn made_by(&self, op: &Op<'_>, content: &Content) -> Option<Rc<Content>> {
        let Op::PredicateWrite(write) = op else { return None };
        self.note_step();
        self.is_match(op, content).then(|| Rc::new(Content::row(write.change.apply(&content.datum))))
    }

    /// What a transaction was shown of the key before it can have changed it.
    fn shown_first(&self, txn: TxnId) -> Option<&Rc<Content>> {
        for (id, op) in self.history.ops(txn) {
            match op {
                Op::PredicateWrite(_) => return None,
                Op::PredicateRead(_) | Op::RangeRead(_) => {
                    if let Some(content) = self.returned_by(id) {
                        return Some(content);
                    }
                }
                op if op.key() == Some(self.key()) => return None,
                _ => {}
            }
        }
        None
    }
}
