//! Lists, as the checker sees them: which transaction appended an element, and whether a list is made of whole appends.

use history::{History, KeyId, Op, OpId, Outcome, RangeRead, TxnId, ValueId};

use crate::observe::outside_of;
use crate::{Flaw, Place};

/// The transaction that appended each element, by key and element.
pub(crate) struct Appenders(Vec<(KeyId, ValueId, TxnId)>);

impl Appenders {
    /// Refuses histories in which an element does not tell which transaction appended it, or in which lists are not only appended to.
    pub fn of(history: &History) -> Result<Self, Flaw> {
        let mut all: Vec<(KeyId, ValueId, TxnId, OpId)> = Vec::new();
        let mut others: Vec<(KeyId, OpId)> = Vec::new();
        let mut lists: Vec<KeyId> = Vec::new();
        let mut ranges: Vec<(OpId, &RangeRead)> = Vec::new();
        for (id, op) in history.txns().flat_map(|txn| history.ops(txn)) {
            match op {
                Op::Append { key, value } => all.push((key, value, history.txn_of(id), id)),
                Op::ReadList { key, list: Some(_) } => lists.push(key),
                Op::Read { key, value: Some(_) } => others.push((key, id)),
                Op::RangeRead(range) if range.rows.is_some() => ranges.push((id, range)),
                Op::Write { key, .. } | Op::Insert { key, .. } | Op::Delete { key, .. } => {
                    others.push((key, id))
                }
                _ => {}
            }
        }
        lists.extend(all.iter().map(|&(key, ..)| key));
        lists.sort_unstable();
        lists.dedup();
        let refuse = |op: OpId, why: &str| Err(Flaw::new(Place::Op(op), why));
        let is_list = |key: KeyId| lists.binary_search(&key).is_ok();
        if let Some(&(_, op)) = others.iter().find(|&&(key, _)| is_list(key)) {
            return refuse(op, "certificates for keys that are lists and values are not supported yet");
        }
        let is_over_list =
            |range: &RangeRead| lists.iter().any(|&key| range.contains(history.keys().original(key)));
        if let Some(&(op, _)) = ranges.iter().find(|(_, range)| is_over_list(range)) {
            return refuse(op, "certificates for ranges of keys that are lists are not supported yet");
        }
        if lists.iter().any(|&key| history.initial().value_of(key) != Some(ValueId::NIL)) {
            return Err(Flaw::new(
                Place::Whole,
                "certificates for lists that do not start empty are not supported yet",
            ));
        }
        all.sort_unstable();
        if let Some(pair) = all.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
            return refuse(
                pair[1].3,
                "certificates for elements that are appended twice are not supported yet",
            );
        }
        Ok(Self(all.into_iter().map(|(key, value, txn, _)| (key, value, txn)).collect()))
    }

    fn appender(&self, key: KeyId, element: ValueId) -> Option<TxnId> {
        let place = self.0.binary_search_by_key(&(key, element), |&(key, value, _)| (key, value)).ok()?;
        Some(self.0[place].2)
    }

    /// The transactions that a list is made of, in its order; `None` if it is not made of all that each of them
    /// appended to it, or if one of them did not commit or is the reader.
    pub fn made_of(&self, history: &History, read: OpId) -> Option<Vec<TxnId>> {
        let key = history.op(read).key()?;
        let mut rest = outside_of(history, read)?;
        let reader = history.txn_of(read);
        let mut txns = Vec::new();
        while let Some(&element) = rest.first() {
            let txn = self.appender(key, element)?;
            let appends = history.ops(txn).filter(|(_, op)| op.key() == Some(key));
            let appends: Vec<ValueId> = appends.filter_map(|(_, op)| op.value_appended()).collect();
            rest = rest.strip_prefix(&appends[..])?;
            if history.outcome(txn) == Outcome::Aborted || txn == reader {
                return None;
            }
            txns.push(txn);
        }
        let mut sorted = txns.clone();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1]).then_some(txns)
    }
}
