//! What each transaction can have seen of a key, where real time orders transactions that do not overlap.
//!
//! All begins and ends are visited in the order of the clock. An open transaction may see what the key can hold when it
//! begins, and whatever other transactions can make of that while it is open; what it makes of these is visible to
//! others. When a transaction ends, a content that was written before it began becomes invisible to transactions that
//! begin later, if the ended transaction cannot have seen the content, or overwrote it. So few contents are visible at a
//! time, however many there are over all.
//!
//! A transaction takes effect once, so it does not see contents that it had a part in: each content knows which of the
//! open transactions had. Up to 64 open transactions are distinguished, more than most recordings have; of further ones
//! this over-approximates: a contradiction is real, a solution may not be.

use rustc_hash::FxHashMap;

use super::run::{Runner, left_by, live};
use super::{Content, MAX_CONTENTS, RowEffects, Scope};
use history::{History, KeyId, OpId, Outcome, TxnId, ValueId};

/// A begin or an end; of two at one moment the begin comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begin,
    End,
}

/// Collects the effects on all keys in scope.
pub(super) fn collect(effects: &mut RowEffects, runner: &Runner<'_>, scope: &Scope<'_>, skew: i64) {
    let history = runner.history;
    let events = events(history, skew);
    let mut touched: FxHashMap<KeyId, Vec<TxnId>> = FxHashMap::default();
    for txn in live(history).filter(|&txn| !runner.is_by_predicate(txn)) {
        for (_, op) in history.ops(txn) {
            if let Some(key) = op.key().filter(|&key| left_by(history, &op).is_some() && scope.contains(key))
            {
                touched.entry(key).or_default().push(txn);
            }
        }
    }
    for (key, _) in history.keys().iter().filter(|&(key, _)| scope.contains(key)) {
        let writers = touched.remove(&key).unwrap_or_default();
        let concerns = |txn: TxnId| runner.is_by_predicate(txn) || writers.binary_search(&txn).is_ok();
        let mut sweep = Sweep::new(effects, runner, key);
        for &(moment, event, txn) in events.iter().filter(|&&(.., txn)| concerns(txn)) {
            match event {
                Event::Begin => sweep.begin(txn, moment),
                Event::End => sweep.end(txn, moment),
            }
        }
        sweep.finish();
        if effects.refused.is_some() {
            return;
        }
    }
}

/// Subtracts the skew from every begin, so that "ended before" implies "ended before in real time".
fn events(history: &History, skew: i64) -> Vec<(i64, Event, TxnId)> {
    let mut events = Vec::new();
    for txn in live(history) {
        let times = history.times(txn);
        let begin = times.begin_request.map_or(i64::MIN, |begin| begin.saturating_sub(skew));
        events.push((begin, Event::Begin, txn));
        let request = times.commit_request.or(times.begin_response).or(times.begin_request);
        let latest = [times.begin_request, request].into_iter().flatten().max();
        if let Some(end) = times.commit_response.filter(|_| history.outcome(txn) == Outcome::Committed) {
            events.push((latest.map_or(end, |latest| end.max(latest)), Event::End, txn));
        }
    }
    events.sort_unstable();
    events
}

/// What the key may hold.
#[derive(Clone, Copy)]
struct Version {
    content: u32,
    /// The open transactions that had a part in it, by their slots.
    parts: u64,
    /// Its writer; `None` for the initial state.
    writer: Option<TxnId>,
    /// When the writer ended.
    ended: i64,
}

struct Open {
    txn: TxnId,
    /// The bit of its slot; none if there is no slot.
    slot: u64,
    begin: i64,
    seen: Vec<u32>,
    /// Those of them that it may have seen and does not overwrite.
    kept: Vec<u32>,
    /// Whether anything explains what it saw.
    has_fitted: bool,
}

struct Sweep<'s, 'h> {
    effects: &'s mut RowEffects,
    runner: &'s Runner<'h>,
    key: KeyId,
    versions: Vec<Version>,
    open: Vec<Open>,
    free: u64,
}

impl<'s, 'h> Sweep<'s, 'h> {
    fn new(effects: &'s mut RowEffects, runner: &'s Runner<'h>, key: KeyId) -> Self {
        let history = runner.history;
        let initial = history.initial().value_of(key).unwrap_or(ValueId::NIL);
        let content = effects.intern(Content::row(history.values().original(initial)));
        let versions = vec![Version { content, parts: 0, writer: None, ended: i64::MIN }];
        Self { effects, runner, key, versions, open: Vec::new(), free: u64::MAX }
    }

    fn begin(&mut self, txn: TxnId, moment: i64) {
        let slot = self.free & self.free.wrapping_neg();
        self.free &= !slot;
        let (seen, kept) = (Vec::new(), Vec::new());
        self.open.push(Open { txn, slot, begin: moment, seen, kept, has_fitted: false });
        let place = self.open.len() - 1;
        if !self.effects.can_afford(self.runner.history, self.versions.len()) {
            return;
        }
        let mut made = Vec::new();
        for version in self.versions.clone() {
            made.extend(self.see(place, version));
        }
        self.spread(made);
    }

    /// What an open transaction makes of a version, if it can have seen it and writes.
    fn see(&mut self, place: usize, version: Version) -> Option<Version> {
        let open = &mut self.open[place];
        if version.parts & open.slot != 0 || version.writer == Some(open.txn) {
            return None;
        }
        if !open.seen.contains(&version.content) {
            open.seen.push(version.content);
        }
        let held = &self.effects.contents[version.content as usize];
        let ending = self.runner.run(open.txn, self.key, held)?;
        open.has_fitted = true;
        let Some((written, _)) = ending.written else {
            if !open.kept.contains(&version.content) {
                open.kept.push(version.content);
            }
            return None;
        };
        let (parts, writer) = (version.parts | open.slot, Some(open.txn));
        Some(Version { content: self.effects.intern(written), parts, writer, ended: i64::MAX })
    }

    /// Puts versions where all open transactions can see them, and what those make of them.
    fn spread(&mut self, mut made: Vec<Version>) {
        while let Some(version) = made.pop() {
            let is_too_much = self.versions.len() > MAX_CONTENTS;
            if is_too_much || !self.effects.can_afford(self.runner.history, self.open.len()) {
                self.refuse();
                return;
            }
            if !self.put(version) {
                continue;
            }
            for place in 0..self.open.len() {
                made.extend(self.see(place, version));
            }
        }
    }

    /// Adds a version, unless there is one of the same content and writer that more can see.
    fn put(&mut self, version: Version) -> bool {
        let is_same = |known: &Version| (known.content, known.writer) == (version.content, version.writer);
        let covers = |known: &Version| is_same(known) && known.parts & !version.parts == 0;
        let is_new = !self.versions.iter().any(covers);
        if is_new {
            self.versions.push(version);
        }
        is_new
    }

    fn refuse(&mut self) {
        let first = super::first_by_predicate(self.runner.history);
        self.effects.refused = self.effects.refused.or(first).or(Some(OpId(0)));
        self.open.clear();
        self.versions.truncate(1);
    }

    fn end(&mut self, txn: TxnId, moment: i64) {
        let Some(place) = self.open.iter().position(|open| open.txn == txn) else { return };
        let open = self.open.swap_remove(place);
        // What it may have written was written by now.
        for version in &mut self.versions {
            version.parts &= !open.slot;
            if version.writer == Some(txn) {
                version.ended = moment;
            }
        }
        self.free |= open.slot;
        // A transaction that begins later does not see a content from before this begin that this transaction cannot
        // have seen or overwrote. The initial state was there before every begin.
        let is_kept = |version: &Version| {
            let is_before = version.writer.is_none() || version.ended < open.begin;
            !is_before || open.kept.contains(&version.content)
        };
        if open.has_fitted {
            self.versions.retain(is_kept);
        }
        self.effects.add(self.runner, txn, self.key, open.seen);
    }

    fn finish(mut self) {
        for open in std::mem::take(&mut self.open) {
            self.effects.add(self.runner, open.txn, self.key, open.seen);
        }
    }
}
