//! Joins parts of one recording that were collected apart.
//!
//! A part numbers its keys and values in the order in which they appear in it. So the joined builder has the numbers
//! that it would have if everything had been added to it one after the other: parts that were read at the same time
//! give the same history, whatever the cuts. The tables of a part cost one look-up for each different key and value,
//! the columns are copied.

use super::Builder;
use crate::model::OpKind;
use crate::times::{NO_TIME, unpack_txn};
use crate::{Backwards, KeyId, OpId, Row, SessionId, ValueId};

/// Which ids of the whole the sessions and keys of a part have.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The session of the whole, for each of the part.
    pub sessions: Vec<SessionId>,
    /// The key of the whole, for each of the part.
    pub keys: Vec<KeyId>,
    /// How many transactions come before those of the part.
    pub txns_before: usize,
    /// How many operations come before those of the part.
    pub ops_before: usize,
}

/// The ids of the whole for those of a part.
struct Renumbering {
    keys: Vec<KeyId>,
    table: Vec<ValueId>,
    rows: Vec<ValueId>,
}

impl Renumbering {
    #[inline]
    fn key(&self, key: KeyId) -> KeyId {
        self.keys[key.index()]
    }

    #[inline]
    fn value(&self, value: ValueId) -> ValueId {
        match value.is_small_int() {
            true => value,
            false => self.kept_value(value),
        }
    }

    fn kept_value(&self, value: ValueId) -> ValueId {
        match value.is_flat() {
            true => self.rows[value.table_place()],
            false => self.table[value.table_place()],
        }
    }

    fn renumber_rows(&self, rows: &mut Option<Vec<Row>>) {
        for row in rows.iter_mut().flatten() {
            row.key = self.key(row.key);
            row.value = self.value(row.value);
        }
    }
}

impl Builder {
    /// Appends the transactions of a part. For each of its sessions the caller says which one it is, if it is known
    /// already. The part's initial state and clock are not looked at.
    ///
    /// # Errors
    /// If the times of a session run backwards from one part to the next. Nothing is appended then.
    pub fn join(&mut self, part: Self, known: &[Option<SessionId>]) -> Result<Joined, Backwards> {
        assert!(!self.is_open && !part.is_open, "a transaction is open");
        assert_eq!(part.session_count(), known.len(), "each session of the part is known or not");
        self.check_clocks(&part, known)?;
        let (txns_before, ops_before) = (self.txn_count(), self.op_count());
        let ids = Renumbering {
            keys: self.keys.absorb(&part.keys),
            table: self.values.absorb_table(&part.values),
            rows: self.values.absorb_rows(&part.values),
        };
        let sessions = self.join_sessions(&part, known, &ids);
        self.session_clocks.follow(&part.session_clocks, &sessions);
        self.join_txns(&part, &sessions, &ids);
        self.join_ops(&part, &ids);
        self.join_side(part, &ids);
        Ok(Joined { sessions, keys: ids.keys, txns_before, ops_before })
    }

    fn join_sessions(
        &mut self,
        part: &Self,
        known: &[Option<SessionId>],
        ids: &Renumbering,
    ) -> Vec<SessionId> {
        let mut new = |(place, known): (usize, &Option<SessionId>)| {
            known.unwrap_or_else(|| {
                let session = self.session();
                if let Some(&name) = part.session_names.get(place).filter(|&&name| name != ValueId::NIL) {
                    self.session_names.resize(self.session_count as usize, ValueId::NIL);
                    self.session_names[session.index()] = ids.value(name);
                }
                session
            })
        };
        known.iter().enumerate().map(&mut new).collect()
    }

    /// Whether the first time of each session in the part comes after the last one here.
    fn check_clocks(&self, part: &Self, known: &[Option<SessionId>]) -> Result<(), Backwards> {
        let mut is_seen: Vec<bool> = known.iter().map(Option::is_none).collect();
        for (row, &times) in part.txns.times.iter().enumerate() {
            let (session, times) = (part.txns.session[row].index(), unpack_txn(times));
            if !is_seen[session] && !times.is_empty() {
                is_seen[session] = true;
                let place = known[session].map_or(usize::MAX, SessionId::index);
                self.session_clocks.last_after(place, &times, || part.label(row))?;
            }
        }
        Ok(())
    }

    fn join_txns(&mut self, part: &Self, sessions: &[SessionId], ids: &Renumbering) {
        let (txns, ops) = (self.txns.outcome.len(), self.ops.kind.len());
        let value = |&value: &ValueId| ids.value(value);
        self.txns.session.extend(part.txns.session.iter().map(|session| sessions[session.index()]));
        self.txns.outcome.extend_from_slice(&part.txns.outcome);
        u32::try_from(ops + part.ops.kind.len()).expect("fewer than 2^32 operations");
        self.txns.first_op.extend(part.txns.first_op[1..].iter().map(|first| first + ops as u32));
        extend_optional(&mut self.txns.name, txns, ValueId::NIL, part.txns.name.iter().map(value));
        extend_optional(&mut self.txns.note, txns, ValueId::NIL, part.txns.note.iter().map(value));
        extend_optional(&mut self.txns.level, txns, ValueId::NIL, part.txns.level.iter().map(value));
        extend_optional(&mut self.txns.times, txns, [NO_TIME; 4], part.txns.times.iter().copied());
    }

    fn join_ops(&mut self, part: &Self, ids: &Renumbering) {
        let ops = self.ops.kind.len();
        let lists = self.side.list_start.len() as u32 - 1;
        let ranges = self.side.ranges.len() as u32;
        let (reads, writes) =
            (self.side.predicate_reads.len() as u32, self.side.predicate_writes.len() as u32);
        let of_range =
            |kind| matches!(kind, OpKind::RangeRead | OpKind::PredicateRead | OpKind::PredicateWrite);
        let key = |(&kind, &key): (&OpKind, &u32)| if of_range(kind) { key } else { ids.key(KeyId(key)).0 };
        let value = |(&kind, &value): (&OpKind, &u32)| match kind {
            OpKind::Read | OpKind::Write | OpKind::Append | OpKind::Insert | OpKind::DeleteMarked => {
                ids.value(ValueId(value)).0
            }
            OpKind::ReadUnknown | OpKind::ReadListUnknown | OpKind::Delete => value,
            OpKind::ReadList => value + lists,
            OpKind::RangeRead => value + ranges,
            OpKind::PredicateRead => value + reads,
            OpKind::PredicateWrite => value + writes,
        };
        let kinds = &part.ops.kind;
        self.ops.key.extend(kinds.iter().zip(&part.ops.key).map(key));
        self.ops.value.extend(kinds.iter().zip(&part.ops.value).map(value));
        self.ops.kind.extend_from_slice(kinds);
        self.ops.failed.extend(part.ops.failed.iter().map(|op| OpId(op.0 + ops as u32)));
        extend_optional(&mut self.ops.times, ops, (NO_TIME, NO_TIME), part.ops.times.iter().copied());
        extend_optional(&mut self.ops.version, ops, NO_TIME, part.ops.version.iter().copied());
    }

    fn join_side(&mut self, part: Self, ids: &Renumbering) {
        let mut side = part.side;
        let elements = self.side.list_elements.len();
        u32::try_from(elements + side.list_elements.len()).expect("fewer than 2^32 elements");
        self.side.list_elements.extend(side.list_elements.iter().map(|&value| ids.value(value)));
        self.side.list_start.extend(side.list_start[1..].iter().map(|start| start + elements as u32));
        side.ranges.iter_mut().for_each(|range| ids.renumber_rows(&mut range.rows));
        side.predicate_reads.iter_mut().for_each(|read| ids.renumber_rows(&mut read.rows));
        for key in side.predicate_writes.iter_mut().flat_map(|write| write.keys.iter_mut().flatten()) {
            *key = ids.key(*key);
        }
        self.side.ranges.append(&mut side.ranges);
        self.side.predicate_reads.append(&mut side.predicate_reads);
        self.side.predicate_writes.append(&mut side.predicate_writes);
        self.side.row_bytes += side.row_bytes;
        self.notes.extend(part.notes);
    }
}

/// Appends to a column that is empty where the input says nothing, and has the given number of rows before.
fn extend_optional<T: Clone>(
    column: &mut Vec<T>,
    rows: usize,
    filler: T,
    more: impl ExactSizeIterator<Item = T>,
) {
    if more.len() > 0 {
        column.resize(rows, filler);
        column.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Datum, History, Outcome, PredicateRead, TxnTimes};

    /// Adds a transaction of each kind of operation; what it contains depends on its number.
    fn add(builder: &mut Builder, session: SessionId, number: i64) {
        builder.begin(session);
        let key = builder.keys.intern(Datum::str(format!("k{}", number * 7 % 5)));
        let value = builder.values.intern(Datum::str(format!("v{}", number * 5 % 3)));
        let row = builder
            .values
            .intern(Datum::row(vec![(format!("c{}", number % 2).as_str().into(), number.into())]));
        builder.write(key, value);
        builder.read_list(key, &[value, ValueId(number as u32), row]);
        if number % 3 == 0 {
            builder.mark_failed();
        }
        let rows = Some(vec![Row { key, value: row, is_dead: false }]);
        builder.predicate_read(PredicateRead { predicate: Datum::str("v > 1").into(), rows });
        if number % 4 == 3 {
            builder.set_op_version(number);
            builder.name_txn(Datum::str(format!("name {number}")));
        }
        builder.set_times(TxnTimes::span(number * 10, Some(number * 10 + 5))).unwrap();
        builder.end(Outcome::Committed);
    }

    fn whole(cuts: &[i64]) -> History {
        let mut whole = Builder::new();
        let mut sessions = [None, None];
        let mut from = 0;
        for &cut in cuts.iter().chain(&[20]) {
            let mut part = Builder::new();
            let own = [part.named_session("even".into()), part.named_session("odd".into())];
            (from..cut).for_each(|number| add(&mut part, own[number as usize % 2], number));
            let joined = whole.join(part, &sessions).unwrap();
            assert_eq!(joined.txns_before, from as usize);
            sessions = [Some(joined.sessions[0]), Some(joined.sessions[1])];
            from = cut;
        }
        whole.finish()
    }

    #[test]
    fn parts_give_the_history_that_the_whole_gives_wherever_it_is_cut() {
        let mut builder = Builder::new();
        let sessions = [builder.named_session("even".into()), builder.named_session("odd".into())];
        (0..20).for_each(|number| add(&mut builder, sessions[number as usize % 2], number));
        let expected = format!("{:?}", Shown(&builder.finish()));
        for cuts in [&[][..], &[1], &[10], &[3, 4, 17], &[0, 20]] {
            assert_eq!(format!("{:?}", Shown(&whole(cuts))), expected, "{cuts:?}");
        }
    }

    /// What of a history does not depend on the room that its tables have.
    struct Shown<'h>(&'h History);

    impl std::fmt::Debug for Shown<'_> {
        fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            let history = self.0;
            write!(out, "{:?} {:?} {:?}", history.txns, history.ops, history.side)?;
            write!(out, "{:?} {:?}", history.session_names, history.session_start)?;
            let values = history.ops.value.iter().filter(|&&value| value >> 31 == 1);
            let originals: Vec<_> = values.map(|&value| history.values.original(ValueId(value))).collect();
            write!(out, "{originals:?} {:?}", history.keys.iter().collect::<Vec<_>>())
        }
    }

    #[test]
    fn times_that_run_backwards_between_parts_are_refused() {
        let mut whole = Builder::new();
        let session = Some(whole.session());
        let part = |number| {
            let mut part = Builder::new();
            let session = part.session();
            add(&mut part, session, number);
            part
        };
        whole.join(part(2), &[session]).unwrap();
        assert!(whole.join(part(1), &[session]).is_err());
        assert_eq!(whole.txn_count(), 1);
        whole.join(part(3), &[session]).unwrap();
    }
}
