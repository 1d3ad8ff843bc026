//! A transaction that stands for the initial state, although its format has no word for that.
//!
//! Some converters write the initial state as an ordinary session of one transaction that writes every key, or put it
//! first in the first session with a mark for values. Left there it is a transaction like any other, and may come at
//! any place in an order; as the initial state it comes before everything. Which one is meant only the user knows.

use history::{Builder, History, Op, OpId, Outcome, SessionId, TxnId};

use crate::error::{Error, Place};
use crate::{Loaded, Warning};

/// The value that one converter gives to every key at first.
const MARK: u32 = 0xbebe_ebee;

/// Takes the one transaction that looks like the initial state as the initial state.
pub(crate) fn take(mut loaded: Loaded, file: &str) -> Result<Loaded, Error> {
    let history = &loaded.history;
    let candidates = candidates(history);
    let &[txn] = candidates.as_slice() else {
        let expected = "one transaction that looks like the initial state: alone in its session, all writes";
        let found = match candidates.len() {
            0 => "none".to_owned(),
            count => format!("{count} of them"),
        };
        return Err(Error::input(file, Place::Whole, expected, found)
            .with_hint("without that option they are transactions like any other"));
    };
    let sentence = format!(
        "{} with its {} writes was taken as the initial state",
        history.txn_label(txn),
        history.op_range(txn).len()
    );
    loaded.history = without(history, txn);
    loaded.warnings.push(Warning::new("initial-taken", sentence));
    Ok(loaded)
}

/// Says so if a transaction looks like the initial state and writes every key.
pub(crate) fn hint(loaded: &mut Loaded) {
    let history = &loaded.history;
    let &[txn] = candidates(history).as_slice() else {
        return;
    };
    if history.op_range(txn).len() == history.keys().len() && history.txn_count() > 1 {
        let place = match history.session_txns(history.session_of(txn)).len() {
            1 => "is alone in its session",
            _ => "comes first",
        };
        let sentence = format!(
            "{} writes every key and {place}; --initial-transaction takes it as the initial state",
            history.txn_label(txn)
        );
        loaded.warnings.push(Warning::new("initial-suspected", sentence));
    }
}

fn candidates(history: &History) -> Vec<TxnId> {
    let is_alone = |session: &SessionId| history.session_txns(*session).len() == 1;
    let alone = history.sessions().filter(is_alone);
    let alone = alone.filter_map(|session| history.session_txns(session).next());
    let first = history.txns().next().filter(|&txn| is_marked(history, txn));
    let mut all: Vec<_> = alone.chain(first).filter(|&txn| writes_only(history, txn)).collect();
    all.dedup();
    if let Some(marked) = all.iter().copied().find(|&txn| is_marked(history, txn)) {
        return vec![marked];
    }
    all
}

/// Whether it is committed and writes different keys, and nothing else.
fn writes_only(history: &History, txn: TxnId) -> bool {
    let ops = history.op_range(txn).map(OpId);
    let is_write =
        |op| matches!(history.op(op), Op::Write { .. } | Op::Insert { .. }) && !history.is_failed(op);
    let mut keys: Vec<_> = ops.clone().filter_map(|op| history.op(op).key()).collect();
    keys.sort_unstable();
    let is_repeated = keys.windows(2).any(|pair| pair[0] == pair[1]);
    let is_committed = history.outcome(txn) == Outcome::Committed;
    is_committed && !keys.is_empty() && !is_repeated && ops.into_iter().all(is_write)
}

fn is_marked(history: &History, txn: TxnId) -> bool {
    let mark = history.values().get(&i64::from(MARK).into());
    let mut ops = history.op_range(txn).map(OpId).peekable();
    ops.peek().is_some() && ops.all(|op| mark.is_some() && history.op(op).written() == mark)
}

/// The history in which a transaction's writes are the initial state. A session that has nothing else goes with it.
fn without(history: &History, initial: TxnId) -> History {
    let mut builder = Builder::new();
    builder.keys = history.keys().clone();
    builder.values = history.values().clone();
    builder.clock = history.clock();
    builder.initial.default = history.initial().default;
    let written = history.op_range(initial).map(|op| history.op(OpId(op)));
    builder.initial.recorded = written.filter_map(|op| op.key().zip(op.written())).collect();
    // Of two values recorded for a key the builder keeps the first, which is the transaction's.
    builder.initial.recorded.extend(&history.initial().recorded);
    for session in history.sessions() {
        let mut txns = history.session_txns(session);
        if txns.len() == 1 && txns.next() == Some(initial) {
            continue;
        }
        let copy = match history.session_name(session) {
            Some(name) => builder.named_session(name),
            None => builder.session(),
        };
        for txn in history.session_txns(session).filter(|&txn| txn != initial) {
            copy_txn(history, txn, &mut builder, copy);
        }
    }
    builder.finish()
}

/// Why copied times are accepted.
const COPIED: &str = "the times of a history do not run backwards";

fn copy_txn(history: &History, txn: TxnId, builder: &mut Builder, session: SessionId) {
    builder.begin(session);
    if let Some(name) = history.txn_name(txn) {
        builder.name_txn(name);
    }
    builder.set_times(history.times(txn)).expect(COPIED);
    for op in history.op_range(txn).map(OpId) {
        builder.op(history.op(op));
        if history.is_failed(op) {
            builder.mark_failed();
        }
        if history.has_op_times() {
            builder.set_op_times(history.op_times(op)).expect(COPIED);
        }
        if let Some(version) = history.op_version(op) {
            builder.set_op_version(version);
        }
    }
    builder.end(history.outcome(txn));
}

#[cfg(test)]
mod tests {
    use crate::{ReadOptions, read_bytes};
    use index::Index;

    const CONVERTED: &[u8] = b"w 1 5\nw 2 6\n=\nr 1 5\n-\nw 1 7\n=\nr 2 6\n-\nr 1 7\n";

    #[test]
    fn the_lone_writer_becomes_the_initial_state_when_asked() {
        let mut options = ReadOptions::default();
        let plain = read_bytes("t", CONVERTED, &options).unwrap();
        assert_eq!(plain.warnings[0].name, "initial-suspected");
        assert_eq!(plain.history.session_count(), 3);
        options.initial_txn = true;
        let taken = read_bytes("t", CONVERTED, &options).unwrap();
        assert_eq!(taken.warnings[0].name, "initial-taken");
        assert_eq!((taken.history.session_count(), taken.history.txn_count()), (2, 4));
        assert_eq!(taken.history.initial().recorded.len(), 2);
        assert!(Index::of(&taken.history).findings().is_empty());
    }

    #[test]
    fn where_several_or_none_could_be_meant_the_question_is_refused() {
        let options = ReadOptions { initial_txn: true, ..ReadOptions::default() };
        let refusal = |text: &[u8]| read_bytes("t", text, &options).unwrap_err().to_string();
        assert!(refusal(b"w 1 5\n=\nw 1 6\n").contains("found 2 of them"));
        assert!(refusal(b"r 1 5\n").contains("found none"));
    }
}
