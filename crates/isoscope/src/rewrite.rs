//! Histories that say less than the recorded one, for questions that are not about whole transactions.
//!
//! *Single operations*: every operation is a transaction of its own, in the order of its session. Models of single
//! operations (`sequential`, `linearizable`) are levels of transactions on such a history: session serializability, and
//! strict serializability. The first operation of a transaction has the time of its begin and the last one that of its
//! end, so what is known of real time is the same.
//!
//! *Without internal reads*: a read of a key that the transaction wrote or read before is left out, so a level does not
//! demand that a transaction sees its own writes, or the same value twice.
//!
//! Linear in the history.

use history::{Builder, Datum, History, KeyId, Op, OpId, Outcome, TxnId, TxnTimes};

/// The history in which every operation is a transaction.
///
/// An aborted transaction stays aborted in all of its operations, and one of unknown outcome may have done any of them.
pub fn single_operations(history: &History) -> History {
    let mut builder = Builder::like(history);
    for session in history.sessions() {
        for txn in history.session_txns(session) {
            let ops: Vec<(OpId, Op<'_>)> = history.ops(txn).collect();
            for (place, &(id, op)) in ops.iter().enumerate() {
                builder.begin(session);
                builder.name_txn(name_of(history, txn, place, ops.len()));
                let times = history.times(txn);
                let times = TxnTimes {
                    begin_request: times.begin_request.filter(|_| place == 0),
                    commit_response: times.commit_response.filter(|_| place + 1 == ops.len()),
                    ..TxnTimes::default()
                };
                builder.set_times(times).expect("the times of the history are in order");
                add_op(&mut builder, history, id, op);
                builder.end(history.outcome(txn));
            }
        }
    }
    builder.finish()
}

/// The history without reads of keys that their transaction had read or written before, and how many these are.
pub fn without_internal_reads(history: &History) -> (History, usize) {
    let mut builder = Builder::like(history);
    let mut left_out = 0;
    let mut touched: Vec<KeyId> = Vec::new();
    for session in history.sessions() {
        for txn in history.session_txns(session) {
            builder.begin(session);
            builder.name_txn(name_of(history, txn, 0, 1));
            builder.set_times(history.times(txn)).expect("the times of the history are in order");
            touched.clear();
            for (id, op) in history.ops(txn) {
                let is_internal = op.key().is_some_and(|key| touched.contains(&key));
                touched.extend(op.key());
                match is_internal && op.is_read() {
                    true => left_out += usize::from(history.outcome(txn) == Outcome::Committed),
                    false => add_op(&mut builder, history, id, op),
                }
            }
            builder.end(history.outcome(txn));
        }
    }
    (builder.finish(), left_out)
}

fn add_op(builder: &mut Builder, history: &History, id: OpId, op: Op<'_>) {
    builder.op(op);
    if history.has_op_times() {
        builder.set_op_times(history.op_times(id)).expect("the times of the history are in order");
    }
    if let Some(version) = history.op_version(id) {
        builder.set_op_version(version);
    }
}

/// The name of a transaction, or of one of its several operations.
fn name_of(history: &History, txn: TxnId, place: usize, count: usize) -> Datum {
    match count {
        1 => history.txn_name(txn).unwrap_or(Datum::Int(i64::from(txn.0) + 1)),
        _ => Datum::Symbol(format!("{}.{}", history.txn_label(txn), place + 1).into()),
    }
}

#[cfg(test)]
mod tests {
    use levels::LevelId;

    use super::*;
    use crate::Check;

    fn holds(history: &History, level: LevelId) -> bool {
        Check::new(history).level(level).run().expect("a report").holds(level)
    }

    #[test]
    fn a_torn_transaction_is_sequential_and_not_serializable() {
        let text = "a: {w(x)=1 w(y)=1} @[1,2]\nb: {r(x)=1 r(y)=0} @[1,2]\n";
        let history = crate::parse(text).expect("a history");
        assert!(!holds(&history, LevelId::SessionSerializable));
        let single = single_operations(&history);
        assert_eq!((single.txn_count(), single.has_times()), (4, true));
        assert!(holds(&single, LevelId::SessionSerializable));
        assert!(holds(&single, LevelId::StrictSerializable));
    }

    #[test]
    fn real_time_between_transactions_orders_all_of_their_operations() {
        let text = "a: {w(x)=1 w(y)=1} @[1,2]\nb: {r(y)=0 r(x)=1} @[3,4]\n";
        let single = single_operations(&crate::parse(text).expect("a history"));
        assert!(!holds(&single, LevelId::StrictSerializable));
        assert!(holds(&single, LevelId::SessionSerializable));
    }

    #[test]
    fn own_writes_need_not_be_seen_without_internal_reads() {
        let history = crate::parse("a: {w(x)=1 r(x)=0}\nb: r(x)=1\n").expect("a history");
        assert!(!holds(&history, LevelId::Serializable));
        let (rest, left_out) = without_internal_reads(&history);
        assert_eq!((rest.op_count(), left_out), (2, 1));
        assert!(holds(&rest, LevelId::Serializable));
    }
}
