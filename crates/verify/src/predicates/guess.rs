//! A first choice: the alternatives that transactions take if they run as the recording suggests.

use history::{History, TxnId, ValueId};
use index::Index;

/// The alternatives that transactions take if they run one after the other, as the recording suggests.
pub(super) fn guess(history: &History, index: &Index) -> Vec<u32> {
    let effects = index.effects();
    let mut held: Vec<Option<u32>> = Vec::with_capacity(history.keys().len());
    for (key, _) in history.keys().iter() {
        let initial = history.initial().value_of(key).unwrap_or(ValueId::NIL);
        held.push(effects.content_of(history, initial, initial == ValueId::NIL));
    }
    let mut order: Vec<TxnId> =
        history.txns().filter(|&txn| history.outcome(txn) != history::Outcome::Aborted).collect();
    order.sort_by_key(|&txn| moment(history, txn));
    let mut choice = vec![0; effects.all().len()];
    for txn in order {
        for number in effects.of_txn(txn) {
            let effect = &effects.all()[number];
            let saw = held[effect.key.index()];
            let is_it = |alternative: &index::Alternative| {
                saw.is_some_and(|saw| alternative.seen.binary_search(&saw).is_ok())
            };
            let alternative = effect.alternatives.iter().position(is_it).unwrap_or(0);
            choice[number] = alternative as u32;
            if let Some((content, _)) = effect.alternatives[alternative].written {
                held[effect.key.index()] = Some(content);
            }
        }
        for write in index.writes_of(txn).map(|write| index.writes()[write]) {
            if effects.find(txn, write.key).is_none() {
                held[write.key.index()] = effects.content_of(history, write.value, write.is_dead);
            }
        }
    }
    choice
}

/// When a transaction seems to have happened: by the clock, or by its place in its session.
fn moment(history: &History, txn: TxnId) -> (i64, u64) {
    let times = history.times(txn);
    let time = times.commit_request.or(times.commit_response).or(times.begin_request).unwrap_or(i64::MAX);
    let session = history.session_txns(history.session_of(txn));
    let progress = ((history.place_in_session(txn) as u64) << 32) / (session.len() as u64).max(1);
    (time, progress)
}
