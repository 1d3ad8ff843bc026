//! What the oracle knows of a history: what each live transaction saw from outside and left behind.
//!
//! Found in the plainest way: for each operation, look at the operations of the same transaction before and after it.

use history::{History, KeyId, Op, Outcome, TxnId, ValueId};

/// A transaction that did not abort.
pub(super) struct Txn {
    pub id: TxnId,
    pub is_unknown: bool,
    /// Whether its reads agree with its own earlier operations.
    pub is_consistent: bool,
    /// Keys read from outside, with the number of the value.
    pub reads: Vec<(usize, u8)>,
    /// Keys written, with the number of the last value.
    pub writes: Vec<(usize, u8)>,
}

pub(super) struct Facts {
    pub txns: Vec<Txn>,
    /// For each key the numbers of the values that it may hold at first.
    initial: Vec<Vec<u8>>,
}

/// Numbers for values.
struct Numbers(Vec<ValueId>);

impl Numbers {
    /// The number of an initial value that no transaction saw.
    const UNSEEN: u8 = u8::MAX;

    fn of(&mut self, value: ValueId) -> u8 {
        let place = self.0.iter().position(|&known| known == value).unwrap_or_else(|| {
            self.0.push(value);
            self.0.len() - 1
        });
        u8::try_from(place).ok().filter(|&number| number != Self::UNSEEN).expect("fewer than 255 values")
    }
}

impl Facts {
    pub fn of(history: &History) -> Self {
        let mut numbers = Numbers(Vec::new());
        let live = history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted);
        let txns: Vec<Txn> = live.map(|txn| Txn::of(history, txn, &mut numbers)).collect();
        assert!(txns.len() <= 16, "the oracle tries everything: at most 16 transactions");
        assert!(history.keys().len() <= 12, "the oracle tries everything: at most 12 keys");
        let keys = (0..history.keys().len()).map(KeyId::from_index);
        let initial = keys.map(|key| initial_values(history, key, &mut numbers)).collect();
        Self { txns, initial }
    }

    /// Whether two transactions write a common key.
    pub fn conflict(&self, t: usize, u: usize) -> bool {
        let writes =
            |txn: usize, key: usize| self.txns[txn].writes.iter().any(|&(written, _)| written == key);
        self.txns[t].writes.iter().any(|&(key, _)| writes(u, key))
    }

    /// All stores that the history may have started with.
    pub fn initial_stores(&self) -> Vec<Vec<u8>> {
        self.initial.iter().fold(vec![Vec::new()], |stores, values| {
            let extended =
                stores.iter().flat_map(|store| values.iter().map(|&value| [&store[..], &[value]].concat()));
            extended.collect()
        })
    }

    /// All sets of transactions that may be taken as committed: those that did, and any of the unknown ones. None if
    /// one that did commit contradicts itself.
    pub fn outcomes(&self) -> impl Iterator<Item = u32> {
        let set = |keep: &dyn Fn(&Txn) -> bool| {
            let kept = self.txns.iter().enumerate().filter(|(_, txn)| keep(txn));
            kept.fold(0u32, |set, (place, _)| set | 1 << place)
        };
        let committed = set(&|txn| !txn.is_unknown);
        let contradictory = set(&|txn| !txn.is_consistent);
        (0..1u32 << self.txns.len())
            .filter(move |taken| taken & committed == committed && taken & contradictory == 0)
    }
}

/// The values that a key may hold at first: the recorded one, or else any that was read and never written, or one that
/// nobody saw.
fn initial_values(history: &History, key: KeyId, numbers: &mut Numbers) -> Vec<u8> {
    if let Some(value) = history.initial().value_of(key) {
        return vec![numbers.of(value)];
    }
    let of_key = |op: &Op<'_>| op.key() == Some(key);
    let ops: Vec<Op<'_>> =
        history.txns().flat_map(|txn| history.ops(txn)).map(|(_, op)| op).filter(of_key).collect();
    let is_written = |value: ValueId| ops.iter().any(|op| op.written() == Some(value));
    let mut values = vec![Numbers::UNSEEN];
    for value in
        ops.iter().filter(|op| op.is_read()).filter_map(Op::value).filter(|&value| !is_written(value))
    {
        let number = numbers.of(value);
        if !values.contains(&number) {
            values.push(number);
        }
    }
    values
}

impl Txn {
    fn of(history: &History, id: TxnId, numbers: &mut Numbers) -> Self {
        // A read without an answer says nothing.
        let ops: Vec<Op<'_>> = history.ops(id).map(|(_, op)| op).filter(|op| op.value().is_some()).collect();
        let mut txn = Self {
            id,
            is_unknown: history.outcome(id) == Outcome::Unknown,
            is_consistent: true,
            reads: Vec::new(),
            writes: Vec::new(),
        };
        for (place, op) in ops.iter().enumerate() {
            let (Some(key), Some(value)) = (op.key(), op.value()) else {
                continue;
            };
            let before = ops[..place].iter().rev().find(|other| other.key() == Some(key));
            let is_last_write =
                !ops[place + 1..].iter().any(|other| other.key() == Some(key) && !other.is_read());
            match (op.is_read(), before) {
                (false, _) if is_last_write => txn.writes.push((key.index(), numbers.of(value))),
                (false, _) => {}
                (true, None) => txn.reads.push((key.index(), numbers.of(value))),
                (true, Some(before)) => txn.is_consistent &= before.value() == Some(value),
            }
        }
        txn
    }
}
