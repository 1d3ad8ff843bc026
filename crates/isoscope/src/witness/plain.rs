//! A witness with plain names: keys `x`, `y`, `z`, values 0, 1, 2, and transactions numbered anew.
//!
//! Values are only ever compared with values of the same key, so renaming them changes no verdict; that a key is absent
//! at first becomes 0 as well, unless rows come and go. What ranges and predicates say depends on the names, so a witness
//! with them keeps its own. A value of a key whose initial value is unknown and that no transaction wrote is the initial one.

use std::collections::{BTreeMap, BTreeSet};

use history::{Builder, Datum, History, InitialDefault, InitialState, KeyId, Op, ValueId};

/// The history with plain names; `None` if names mean something in it.
pub(crate) fn plain(history: &History) -> Option<History> {
    let ops = || history.txns().flat_map(|txn| history.ops(txn)).map(|(_, op)| op);
    let is_plain = |op: Op<'_>| matches!(op, Op::Read { value: Some(_), .. } | Op::Write { .. });
    if !ops().all(is_plain) || history.has_versions() {
        return None;
    }
    let initial = initial_values(history)?;
    let mut names = Names { keys: BTreeMap::new(), values: BTreeMap::new(), initial };
    let mut builder = Builder::new();
    builder.initial = InitialState::all(ValueId(0));
    builder.clock = history.clock();
    for session in history.sessions() {
        let new = builder.named_session(Datum::str(letter(session.index())));
        for txn in history.session_txns(session) {
            builder.begin(new);
            builder.set_times(history.times(txn)).ok()?;
            for (_, op) in history.ops(txn) {
                let (key, value) = (op.key()?, op.value()?);
                let (key, value) = names.of(key, value);
                let (key, value) = (builder.keys.intern(key), builder.values.intern_int(value));
                match op.is_read() {
                    true => builder.read(key, value),
                    false => builder.write(key, value),
                };
            }
            builder.end(history.outcome(txn));
        }
    }
    Some(builder.finish())
}

struct Names {
    keys: BTreeMap<KeyId, Datum>,
    values: BTreeMap<(KeyId, ValueId), i64>,
    initial: BTreeMap<KeyId, ValueId>,
}

impl Names {
    fn of(&mut self, key: KeyId, value: ValueId) -> (Datum, i64) {
        let number = self.keys.len();
        let name = self.keys.entry(key).or_insert_with(|| key_name(number)).clone();
        if self.initial.get(&key) == Some(&value) {
            return (name, 0);
        }
        let next = 1 + self.values.keys().filter(|(of, _)| *of == key).count() as i64;
        (name, *self.values.entry((key, value)).or_insert(next))
    }
}

/// The initial value of each key that is read; `None` where two values could be the one.
fn initial_values(history: &History) -> Option<BTreeMap<KeyId, ValueId>> {
    let ops = || history.txns().flat_map(|txn| history.ops(txn)).map(|(_, op)| op);
    let written: BTreeSet<(KeyId, ValueId)> =
        ops().filter(|op| !op.is_read()).filter_map(|op| op.key().zip(op.written())).collect();
    let mut initial = BTreeMap::new();
    for (key, value) in ops().filter_map(|op| op.key().zip(op.value())) {
        match history.initial().value_of(key) {
            Some(first) => drop(initial.insert(key, first)),
            None if written.contains(&(key, value)) => {}
            None => {
                debug_assert_eq!(history.initial().default, InitialDefault::UnknownButOne);
                if initial.insert(key, value).is_some_and(|known| known != value) {
                    return None;
                }
            }
        }
    }
    Some(initial)
}

fn key_name(number: usize) -> Datum {
    match ["x", "y", "z"].get(number) {
        Some(&name) => Datum::str(name),
        None => Datum::str(format!("k{}", number + 1)),
    }
}

fn letter(number: usize) -> String {
    match u8::try_from(number) {
        Ok(number @ 0..=25) => char::from(b'a' + number).to_string(),
        _ => format!("s{}", number + 1),
    }
}
