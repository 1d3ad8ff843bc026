//! A history with predicates explained by running its transactions on the rows.
//!
//! Which row a predicate write changed, and what a predicate read did not see, is settled by running: so an order that
//! explains a history leaves nothing open, whatever it was that the recording left open. The order is built from its
//! front, with the rows as they are after what has come, among the transactions that may come next by sessions and by
//! the clock (`ready`), of which there are as many as clients. An order that keeps sessions and real time explains
//! the history at every level; only if there is none the level's own obligations count.
//!
//! Costs a run over all rows for each predicate, on one lane of cells, and one or two comparisons for each changed row
//! and open transaction. A dead end proves nothing, but says which rows to look at.

mod blocks;
mod contents;
mod dead_end;
mod extent;
mod key_set;
mod lane;
mod open;
mod pending_reads;
mod ready;
mod scripts;
mod search;
mod table;
mod trial;

use certify::{Certificate, Core, Level, RealTime};
use history::{History, KeyId};

use crate::options::{Limit, Options};
use crate::stats::Stats;
use trial::Misfits;

/// What running the transactions gave.
pub(crate) enum RowsEnd {
    /// The order that explains the history.
    Explained(Certificate),
    /// None was found; these rows are in doubt.
    InDoubt(Vec<KeyId>),
    Limit(Limit),
}

/// Runs the transactions, if their order is free enough to find one.
pub(crate) fn explain(history: &History, level: &Level, options: &Options<'_>, stats: &mut Stats) -> RowsEnd {
    let mut in_doubt = Vec::new();
    for attempt in attempts(history, level) {
        let Some(search) = search::RowSearch::new(history, &attempt, options) else { continue };
        let (end, counts) = search.run();
        stats.set("learned orders", counts.learned);
        stats.set("taken back", counts.taken_back);
        stats.set("overridden", counts.overrides);
        match end {
            search::End::Found { order, committed_unknown } => {
                return RowsEnd::Explained(expand(level, &attempt, order, committed_unknown));
            }
            search::End::Limit(limit) => return RowsEnd::Limit(limit),
            search::End::Stuck(keys) => in_doubt = keys,
        }
    }
    RowsEnd::InDoubt(in_doubt)
}

/// The levels at which an order is looked for: one after the other as they ask for less, the strongest first.
fn attempts(history: &History, level: &Level) -> Vec<Level> {
    let strict = Level { core: Core::Serializable, sessions: true, real_time: RealTime::Strict, ..*level };
    let real_time = match level.core {
        Core::Serializable => RealTime::Strict,
        Core::Snapshot | Core::Prefix => RealTime::AllButBegins,
    };
    let timely = Level { sessions: true, real_time, ..*level };
    let own = Level { sessions: true, ..*level };
    // At one point each, transactions keep no clock of begins.
    let is_for_one_point = level.core == Core::Serializable || level.real_time == RealTime::Ignored;
    let mut attempts = if is_for_one_point { vec![strict, timely, own] } else { vec![timely, own] };
    if !history.has_times() {
        attempts.iter_mut().for_each(|attempt| attempt.real_time = RealTime::Ignored);
    }
    attempts.dedup();
    attempts
}

/// A key of which a committed transaction saw two things that do not go together.
pub(crate) fn contradicted_alone(history: &History) -> Option<KeyId> {
    let mut scripts = scripts::Scripts::of(history)?;
    let committed = history.txns().filter(|&txn| history.outcome(txn) == history::Outcome::Committed);
    for txn in committed.filter(|txn| scripts.of_txn[txn.index()].steps.len() > 1).collect::<Vec<_>>() {
        let mut shown = Vec::new();
        pending_reads::each(&scripts, txn, |key, content| shown.push((key, content)));
        let is_wrong = |&(key, content): &(KeyId, _)| !scripts.meet(txn, key, content).is_right;
        if let Some((key, _)) = shown.into_iter().find(is_wrong) {
            return Some(key);
        }
    }
    None
}

/// What does not fit when transactions run in this order, of the first transactions to which that happens. `None` if they
/// cannot be run.
pub(crate) fn misfits(history: &History, level: &Level, order: &[certify::Node]) -> Option<Misfits> {
    trial::Trial::new(history, level)?.run(order)
}

/// The order as one of the level's events: where transactions came at one point, a begin and a commit side by side.
fn expand(
    level: &Level,
    attempt: &Level,
    order: Vec<certify::Node>,
    committed_unknown: Vec<history::TxnId>,
) -> Certificate {
    let (from, to) = (attempt.events_per_txn(), level.events_per_txn());
    if from == to {
        return Certificate::Holds { order, committed_unknown };
    }
    let txns = order.iter().filter_map(|node| node.txn(from));
    let both = |txn| [certify::Node::begin(txn, to), certify::Node::commit(txn, to)];
    Certificate::Holds { order: txns.flat_map(both).collect(), committed_unknown }
}
