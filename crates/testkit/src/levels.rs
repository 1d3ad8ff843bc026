//! The same history with levels that its transactions ran at.

use history::{Builder, History};

/// A copy of a history in which each transaction records one of these levels, in the order of the transactions; those
/// beyond the end record none. Operations of single keys alone.
pub fn with_levels(history: &History, levels: &[&str]) -> History {
    let mut builder = Builder::like(history);
    for txn in history.txns() {
        builder.begin(history.session_of(txn));
        if let Some(level) = levels.get(txn.index()) {
            builder.set_level(level);
        }
        builder.set_times(history.times(txn)).expect("the times of the history are in order");
        for (_, op) in history.ops(txn) {
            builder.op(op);
        }
        builder.end(history.outcome(txn));
    }
    builder.finish()
}
