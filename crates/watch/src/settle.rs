//! Forgets what is settled.
//!
//! The events that [`Graph::inside`] gives come before all others in some explanation of whatever will be recorded, so
//! the recording holds if they do and the rest does from their last versions. Three things must not get lost:
//!
//! - Where the last version of a key is not known, because writers overlapped and no read tells, the transactions that
//!   this choice is tied to (its component of possible edges) stay, with what they wrote last and what they read of one
//!   another.
//! - Where such a transaction is known to be before another one that stays, but only by way of one that is forgotten,
//!   the order is kept as a read: the first writes a key that no recording has, and the second reads it.
//! - A transaction of `strong-si` whose begin is settled and whose commit is not keeps its writes.
//!
//! What these cannot keep is counted ([`Window::loosened`]): the rest then allows more than the whole, so a violation
//! stays one, and only `holds` is no longer exact.

use certify::Node;
use history::{Datum, KeyId, Outcome, TxnId, TxnTimes};
use index::Index;
use rustc_hash::FxHashSet;

use crate::fates::{Fate, Fates};
use crate::graph::{Graph, Part};
use crate::guess;
use crate::row::{Kind, Operation, Row};
use crate::window::{Built, Settled, Window};

/// The tag of keys by which orders are kept.
pub(crate) const ORDER_KEY: &str = "isoscope/order";

/// So many transactions are looked at together; the matrix of their events then takes 20 MB at most.
const MOST_NODES: usize = 4_000;

/// What is known of a small history before it is decided.
pub struct Known<'b> {
    graph: Graph<'b>,
    border: i64,
    /// Whether not all transactions are looked at that may be settled, since they are too many for once.
    is_partial: bool,
}

impl Known<'_> {
    /// An order of events that probably explains the history. It proves nothing before the checker accepts it.
    pub fn guess(&self) -> Option<Vec<Node>> {
        guess::explain(&self.graph)
    }
}

impl Window {
    /// What is known of a small history that was built from this window; `None` if nothing in it can be settled.
    pub fn observe<'b>(&self, built: &'b Built, index: &'b Index) -> Option<Known<'b>> {
        let last = built.border?;
        let border = self.bound(built, last);
        let graph = Graph::observe(&built.history, index, self.events, self.parts(built, border));
        Some(Known { graph, border, is_partial: border < last })
    }

    /// Forgets what is settled in a small history that was built from this window and holds. The explanation is the order
    /// of events by which it holds; an empty one will do, and costs a sort.
    ///
    /// Of many transactions the earliest are looked at first, and then the next ones, in what the window is by then. It
    /// has not to be decided again: the rest holds where the whole does.
    pub fn settle(&mut self, built: &Built, known: Option<Known<'_>>, explanation: &[Node]) -> Settled {
        let before = self.rows.len() as u64;
        let Some(known) = known else {
            return Settled { forgotten: 0, kept: before, is_partial: false };
        };
        let mut settled = self.settle_earliest(built, known, explanation);
        while settled.is_partial && settled.forgotten > 0 {
            let built = self.build(false);
            let index = Index::of(&built.history);
            let Some(known) = self.observe(&built, &index) else { break };
            settled = self.settle_earliest(&built, known, &[]);
        }
        Settled { forgotten: before.saturating_sub(settled.kept), ..settled }
    }

    fn settle_earliest(&mut self, built: &Built, known: Known<'_>, explanation: &[Node]) -> Settled {
        let before = self.rows.len() as u64;
        let Known { mut graph, border, is_partial } = known;
        // A write that turns out to have happened has a place in the graph only next time.
        if !self.resolve_doubts(built, graph.index) && graph.saturate(explanation) {
            let inside = graph.inside();
            let fates = Fates::of(&graph, &inside);
            if fates.loosened == 0 || !self.can_wait() {
                self.apply(built, &graph, &fates);
            }
        }
        self.take_apart();
        self.forget_rows(border);
        self.free_order_keys();
        let kept = self.rows.len() as u64;
        Settled { forgotten: before.saturating_sub(kept), kept, is_partial }
    }

    /// Whether the window is small enough to keep what would be lost by forgetting: with the transactions that come next
    /// the order that is open now is mostly known.
    fn can_wait(&self) -> bool {
        (self.rows.len() as u64) < self.patience / 2
    }

    /// A border before which few enough transactions began.
    fn bound(&self, built: &Built, border: i64) -> i64 {
        let begins = self.rows.iter().filter_map(|row| row.times.begin_request);
        let mut begins: Vec<i64> = begins.filter(|&begin| begin < border).collect();
        if begins.len() <= MOST_NODES || built.rows.len() <= MOST_NODES {
            return border;
        }
        let (_, bound, _) = begins.select_nth_unstable(MOST_NODES);
        *bound
    }

    fn parts(&self, built: &Built, border: i64) -> Vec<Part> {
        let is_large = built.rows.len() > MOST_NODES;
        let part = |(place, row): (usize, &Option<u32>)| {
            let Some(row) = row.map(|row| &self.rows[row as usize]) else { return Part::Absent };
            let is_beyond = is_large && row.times.begin_request.is_some_and(|begin| begin >= border);
            match row.outcome {
                Outcome::Aborted => Part::Absent,
                _ if is_beyond => Part::Absent,
                Outcome::Unknown => Part::Doubt,
                Outcome::Committed => {
                    let is_complete = built.is_complete[place];
                    let times = &row.times;
                    let begun = times.begin_response.or(times.commit_request).or(times.commit_response);
                    let commit = is_complete && self.events.is_before(times.commit_response, Some(border));
                    let begin = match self.events.per_txn {
                        1 => commit,
                        _ => is_complete && self.events.is_before(begun, Some(border)),
                    };
                    Part::Node { begin, commit }
                }
            }
        };
        built.rows.iter().enumerate().map(part).collect()
    }

    fn apply(&mut self, built: &Built, graph: &Graph<'_>, fates: &Fates) {
        let mut changed: Vec<(u32, Vec<Operation>)> = Vec::new();
        for (txn, fate) in fates.all.iter().enumerate() {
            let id = TxnId::from_index(txn);
            let ops = match fate {
                Fate::Stays => continue,
                Fate::Forgotten => Vec::new(),
                Fate::Half => self.kept_ops(built, graph, id, &|_| true, &|_| false),
                Fate::Tied => {
                    let keeps_write = |key| fates.keeps_write(graph, txn as u32, key);
                    let keeps_read = |read| fates.keeps_read(graph, read);
                    self.kept_ops(built, graph, id, &keeps_write, &keeps_read)
                }
            };
            changed.push((txn as u32, ops));
        }
        for (place, &key) in built.keys.iter().enumerate() {
            if let Some(write) = fates.last_write(graph, KeyId::from_index(place)) {
                let value = built.history.values().original(graph.index.writes()[write as usize].value);
                self.state.set(key, value);
            }
        }
        self.loosened += fates.loosened;
        for (txn, ops) in changed {
            if let Some(row) = built.rows[txn as usize].map(|row| &mut self.rows[row as usize]) {
                (row.ops, row.is_part) = (ops, true);
            }
        }
        self.keep_orders(built, graph, fates);
        let is_gone = |txn: &(usize, &Fate)| *txn.1 == Fate::Forgotten;
        for (txn, _) in fates.all.iter().enumerate().filter(is_gone) {
            if let Some(row) = built.rows[txn] {
                self.rows[row as usize].number = GONE;
            }
        }
    }

    /// The last writes and the external reads of a transaction that are chosen.
    fn kept_ops(
        &self,
        built: &Built,
        graph: &Graph<'_>,
        txn: TxnId,
        keeps_write: &dyn Fn(KeyId) -> bool,
        keeps_read: &dyn Fn(usize) -> bool,
    ) -> Vec<Operation> {
        let index = graph.index;
        let mut ops: Vec<(u32, Operation)> = Vec::new();
        let value_of = |value| built.history.values().original(value);
        for read in index.reads_of(txn).filter(|&read| keeps_read(read)) {
            let read = &index.reads()[read];
            let key = built.keys[read.key.index()];
            ops.push((
                read.op.0,
                Operation { kind: Kind::Read, key, value: value_of(read.observed.value()) },
            ));
        }
        for write in index.writes_of(txn) {
            let write = &index.writes()[write];
            if keeps_write(write.key) {
                let kind = if write.is_dead { Kind::Delete } else { Kind::Write };
                let key = built.keys[write.key.index()];
                ops.push((write.op.0, Operation { kind, key, value: value_of(write.value) }));
            }
        }
        ops.sort_by_key(|&(op, _)| op);
        ops.into_iter().map(|(_, op)| op).collect()
    }

    /// Keeps orders that are known by way of transactions that are forgotten.
    fn keep_orders(&mut self, built: &Built, graph: &Graph<'_>, fates: &Fates) {
        let events = graph.events;
        let staying: Vec<u32> = (0..fates.all.len() as u32)
            .filter(|&txn| graph.is_node(txn) && fates.all[txn as usize] != Fate::Forgotten)
            .collect();
        let direct = fates.direct_reads(graph);
        let session_of = |txn: u32| graph.history.session_of(TxnId(txn));
        for &first in &staying {
            let fate = &fates.all[first as usize];
            if !matches!(fate, Fate::Tied | Fate::Half) {
                continue;
            }
            let moments = graph.moments[first as usize];
            for &second in staying.iter().filter(|&&second| second != first) {
                let other = graph.moments[second as usize];
                if session_of(first) == session_of(second) || direct.contains(&(first, second)) {
                    continue;
                }
                let is_before = graph.is_earlier(first, second);
                let is_told = events.is_before(moments.commit_response, other.begin_request);
                if *fate == Fate::Half {
                    if is_before && !is_told && fates.share_a_key(graph, first, second) {
                        self.order(built, first, second);
                    }
                    continue;
                }
                if is_before && !is_told {
                    let is_between = |&&third: &&u32| {
                        third != first
                            && third != second
                            && graph.is_earlier(first, third)
                            && graph.is_earlier(third, second)
                    };
                    if !staying.iter().any(|third| is_between(&third)) {
                        self.order(built, first, second);
                    }
                }
                if events.per_txn == 2 && !is_before {
                    self.keep_weak_order(built, graph, first, second);
                }
            }
        }
    }

    /// The orders of two transactions of `strong-si` that overlap.
    fn keep_weak_order(&mut self, built: &Built, graph: &Graph<'_>, first: u32, second: u32) {
        let events = graph.events;
        let (one, other) = (graph.moments[first as usize], graph.moments[second as usize]);
        let (begin, commit) = (events.begin(first), events.commit(first));
        let (to_begin, to_commit) = (events.begin(second), events.commit(second));
        let is_told = events.is_before(one.begin_response, other.commit_request);
        if graph.reach.get(begin, to_commit) && !is_told {
            self.order_begin(built, first, second);
        }
        let commits_told = events.is_before(one.commit_response, other.commit_request);
        let is_lost = graph.reach.get(commit, to_commit) && !commits_told || graph.reach.get(begin, to_begin);
        self.loosened += u64::from(is_lost);
    }

    /// A key that no transaction has.
    fn order_key(&mut self) -> u32 {
        if let Some(key) = self.free_order_keys.pop() {
            return key;
        }
        let number = self.order_keys.len() as i64;
        let name = Datum::Tagged(Box::new((ORDER_KEY.into(), Datum::Int(number))));
        let key = self.state.key(&name);
        self.order_keys.insert(key);
        key
    }

    /// Keys of orders that nothing mentions any more can be used again, so that they do not become ever more. They hold
    /// nothing then; as long as one is read, it holds what its forgotten writer wrote.
    fn free_order_keys(&mut self) {
        let mentioned = self.rows.iter().flat_map(|row| row.ops.iter().map(|op| op.key));
        let used: FxHashSet<u32> = match self.order_keys.is_empty() {
            true => FxHashSet::default(),
            false => mentioned.filter(|key| self.order_keys.contains(key)).collect(),
        };
        let mut free: Vec<u32> = self.order_keys.iter().copied().filter(|key| !used.contains(key)).collect();
        free.sort_unstable();
        free.iter().for_each(|&key| self.state.clear(key));
        self.free_order_keys = free;
    }

    /// The second transaction reads something that the first one wrote.
    fn order(&mut self, built: &Built, first: u32, second: u32) {
        let (Some(one), Some(other)) = (built.rows[first as usize], built.rows[second as usize]) else {
            return;
        };
        let (key, value) = (self.order_key(), Datum::str("before"));
        self.rows[one as usize].ops.push(Operation { kind: Kind::Write, key, value: value.clone() });
        self.rows[other as usize].ops.push(Operation { kind: Kind::Read, key, value });
    }

    /// The first transaction does not see something that the second one wrote.
    fn order_begin(&mut self, built: &Built, first: u32, second: u32) {
        let (Some(one), Some(other)) = (built.rows[first as usize], built.rows[second as usize]) else {
            return;
        };
        let (key, value) = (self.order_key(), self.state.default.clone());
        self.rows[one as usize].ops.push(Operation { kind: Kind::Read, key, value });
        let value = Datum::str("after");
        self.rows[other as usize].ops.push(Operation { kind: Kind::Write, key, value });
    }

    /// A transaction of unknown outcome that was read has committed, before the reader ended. One that stays unread for
    /// long is taken apart: each of its writes may have happened, apart from the others. True if one that was taken apart
    /// turns out to have committed.
    fn resolve_doubts(&mut self, built: &Built, index: &Index) -> bool {
        let read_until = read_until(built, index);
        for (txn, row) in built.rows.iter().enumerate() {
            let (Some(until), Some(row)) = (read_until[txn], *row) else { continue };
            let id = TxnId::from_index(txn);
            let next = built.history.session_txns(built.history.session_of(id)).find(|&later| later > id);
            // The level orders a session, so what committed did so before the session went on.
            let next_begin = next.and_then(|next| built.history.times(next).begin_request);
            commit_doubt(&mut self.rows[row as usize], next_begin.map_or(until, |begin| begin.min(until)));
        }
        let mut read: Vec<usize> = Vec::new();
        for &(place, txn) in &built.optional {
            if let Some(until) = read_until[txn.index()] {
                commit_doubt(&mut self.optional[place], until);
                read.push(place);
            }
        }
        let is_any = !read.is_empty();
        for place in read.into_iter().rev() {
            self.rows.push(self.optional.swap_remove(place));
        }
        is_any
    }

    fn take_apart(&mut self) {
        let (seen, patience) = (self.seen, self.patience);
        let is_old = |row: &Row| {
            row.outcome == Outcome::Unknown
                && row.number != GONE
                && seen.saturating_sub(row.number) > patience
        };
        for place in 0..self.rows.len() {
            if is_old(&self.rows[place]) {
                self.take_row_apart(place);
            }
        }
    }

    /// Each last write of a transaction may have happened, apart from the others.
    fn take_row_apart(&mut self, place: usize) {
        self.loosened += 1;
        let row = &mut self.rows[place];
        let number = std::mem::replace(&mut row.number, GONE);
        let times = TxnTimes { begin_request: row.times.begin_request, ..TxnTimes::default() };
        let mut written = FxHashSet::default();
        for op in std::mem::take(&mut row.ops).into_iter().rev().filter(|op| op.kind != Kind::Read) {
            if !self.order_keys.contains(&op.key) && written.insert(op.key) {
                let (name, outcome, ops) = (row.name.clone(), Outcome::Unknown, vec![op]);
                let (session, is_part) = (None, true);
                self.optional.push(Row { number, session, name, outcome, times, ops, is_part });
            }
        }
    }

    /// Takes transactions apart that violate the level, so that the others can be followed further; false if none of
    /// them is in the window. Their writes may still be read.
    pub fn leave_out(&mut self, built: &Built, txns: &[TxnId]) -> bool {
        let rows: Vec<u32> = txns.iter().filter_map(|txn| built.rows[txn.index()]).collect();
        rows.iter().for_each(|&row| self.take_row_apart(row as usize));
        self.rows.retain(|row| row.number != GONE);
        !rows.is_empty()
    }

    /// Aborted transactions that ended before the border can explain no read that is still to come.
    fn forget_rows(&mut self, border: i64) {
        let events = self.events;
        self.rows.retain(|row| {
            let is_over = events.is_before(row.times.commit_response, Some(border));
            row.number != GONE && !(row.outcome == Outcome::Aborted && is_over)
        });
    }
}

/// The number of a row that is about to go.
const GONE: u64 = u64::MAX;

/// For each transaction of unknown outcome that certainly was read, the earliest end of a reader.
fn read_until(built: &Built, index: &Index) -> Vec<Option<i64>> {
    let mut until: Vec<Option<i64>> = vec![None; built.history.txn_count()];
    for (number, read) in index.reads().iter().enumerate() {
        let sources = index.sources(number);
        let ([write], false) = (sources.writes, sources.initial) else { continue };
        let (writer, end) = (index.writer(*write), built.history.times(read.txn).commit_response);
        let is_doubt = built.history.outcome(writer) == Outcome::Unknown && writer != read.txn;
        if is_doubt && built.history.outcome(read.txn) == Outcome::Committed {
            let known = &mut until[writer.index()];
            *known = [*known, end].into_iter().flatten().min();
        }
    }
    until
}

/// A transaction committed before this moment after all.
fn commit_doubt(row: &mut Row, until: i64) {
    let begin_request = row.times.begin_request.map(|begin| begin.min(until));
    let inner = |time: Option<i64>| time.filter(|&time| begin_request <= Some(time) && time <= until);
    row.times = TxnTimes {
        begin_request,
        begin_response: inner(row.times.begin_response),
        commit_request: inner(row.times.commit_request),
        commit_response: Some(until),
    };
    row.outcome = Outcome::Committed;
}
