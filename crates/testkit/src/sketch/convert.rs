//! A sketch to a history and back.

use history::{
    Builder, Datum, History, InitialDefault, InitialState, KeyId, Op, OpId, PredicateRead, PredicateWrite,
    RangeRead, Row, TxnTimes, ValueId,
};

use super::{Sketch, SketchOp, SketchRow, SketchTxn, What};

impl Sketch {
    /// The history, with sessions called `a`, `b`, .... A time that runs backwards in its session is left out: no
    /// history holds one.
    pub fn build(&self) -> History {
        let mut builder = Builder::new();
        let keys: Vec<_> = self.keys.iter().map(|key| builder.keys.intern(key.clone())).collect();
        builder.initial = match &self.initial {
            Some(value) => InitialState::all(builder.values.intern(value.clone())),
            None => InitialState::unknown(),
        };
        for (key, value) in &self.recorded {
            let value = builder.values.intern(value.clone());
            builder.initial.recorded.push((keys[*key], value));
        }
        for (number, txns) in self.sessions.iter().enumerate() {
            let session = builder.named_session(session_name(number));
            let mut now = i64::MIN;
            for txn in txns {
                builder.begin(session);
                builder.set_times(forwards(txn.times, &mut now)).expect("they run forwards");
                txn.ops.iter().for_each(|op| build_op(&mut builder, &keys, op));
                builder.end(txn.outcome);
            }
        }
        builder.finish()
    }

    /// A history taken apart, or `None` if it has operations that failed, which a sketch cannot hold.
    pub fn of(history: &History) -> Option<Self> {
        if history.failed_op_count() > 0 {
            return None;
        }
        let original = |value: ValueId| history.values().original(value);
        let initial = match history.initial().default {
            InitialDefault::Value(value) => Some(original(value)),
            InitialDefault::UnknownButOne => None,
        };
        let recorded = history.initial().recorded.iter();
        let txn = |txn| SketchTxn {
            ops: history.ops(txn).map(|(id, op)| sketch_op(history, id, op)).collect(),
            outcome: history.outcome(txn),
            times: history.times(txn),
        };
        let sessions = history.sessions().map(|session| history.session_txns(session).map(txn).collect());
        Some(Self {
            keys: history.keys().iter().map(|(_, key)| key.clone()).collect(),
            initial,
            recorded: recorded.map(|&(key, value)| (key.index(), original(value))).collect(),
            sessions: sessions.collect(),
        })
    }
}

/// The times without those that are before the latest time of their session so far.
fn forwards(times: TxnTimes, now: &mut i64) -> TxnTimes {
    let mut keep = |time: Option<i64>| {
        let time = time.filter(|&time| time >= *now);
        *now = time.unwrap_or(*now);
        time
    };
    TxnTimes {
        begin_request: keep(times.begin_request),
        begin_response: keep(times.begin_response),
        commit_request: keep(times.commit_request),
        commit_response: keep(times.commit_response),
    }
}

fn session_name(number: usize) -> Datum {
    match u8::try_from(number) {
        Ok(number) if number < 26 => Datum::str(char::from(b'a' + number).to_string()),
        _ => Datum::str(format!("s{number}")),
    }
}

fn build_op(builder: &mut Builder, keys: &[KeyId], op: &SketchOp) {
    let value = |builder: &mut Builder, value: &Datum| builder.values.intern(value.clone());
    match &op.what {
        What::Read { key, value: None } => builder.read_unknown(keys[*key]),
        What::Read { key, value: Some(seen) } => {
            let seen = value(builder, seen);
            builder.read(keys[*key], seen)
        }
        What::ReadList { key, list: None } => builder.read_list_unknown(keys[*key]),
        What::ReadList { key, list: Some(list) } => {
            let list: Vec<_> = list.iter().map(|element| value(builder, element)).collect();
            builder.read_list(keys[*key], &list)
        }
        What::Write { key, value: written } => {
            let written = value(builder, written);
            builder.write(keys[*key], written)
        }
        What::Append { key, value: element } => {
            let element = value(builder, element);
            builder.append(keys[*key], element)
        }
        What::Insert { key, value: written } => {
            let written = value(builder, written);
            builder.insert(keys[*key], written)
        }
        What::Delete { key, mark } => {
            let mark = mark.as_ref().map(|mark| value(builder, mark));
            builder.delete(keys[*key], mark)
        }
        What::Range { from, to, rows } => {
            let rows = build_rows(builder, keys, rows.as_deref());
            builder.range_read(RangeRead { from: from.clone(), to: to.clone(), rows })
        }
        What::PredicateRead { predicate, rows } => {
            let rows = build_rows(builder, keys, rows.as_deref());
            builder.predicate_read(PredicateRead { predicate: predicate.clone().into(), rows })
        }
        What::PredicateWrite { predicate, change, row_count, keys: changed, is_returning } => {
            let changed = changed.as_ref().map(|changed| changed.iter().map(|&key| keys[key]).collect());
            builder.predicate_write(PredicateWrite {
                predicate: predicate.clone().into(),
                change: change.clone(),
                row_count: *row_count,
                keys: changed,
                is_returning: *is_returning,
            })
        }
    };
    if let Some(version) = op.version {
        builder.set_op_version(version);
    }
}

fn build_rows(builder: &mut Builder, keys: &[KeyId], rows: Option<&[SketchRow]>) -> Option<Vec<Row>> {
    let row = |row: &SketchRow| Row {
        key: keys[row.key],
        value: builder.values.intern(row.value.clone()),
        is_dead: row.is_dead,
    };
    rows.map(|rows| rows.iter().map(row).collect())
}

fn sketch_op(history: &History, id: OpId, op: Op<'_>) -> SketchOp {
    let original = |value: ValueId| history.values().original(value);
    let row =
        |row: &Row| SketchRow { key: row.key.index(), value: original(row.value), is_dead: row.is_dead };
    let rows = |rows: &Option<Vec<Row>>| rows.as_ref().map(|rows| rows.iter().map(row).collect());
    let what = match op {
        Op::Read { key, value } => What::Read { key: key.index(), value: value.map(original) },
        Op::ReadList { key, list } => What::ReadList {
            key: key.index(),
            list: list.map(|list| list.iter().map(|&element| original(element)).collect()),
        },
        Op::Write { key, value } => What::Write { key: key.index(), value: original(value) },
        Op::Append { key, value } => What::Append { key: key.index(), value: original(value) },
        Op::Insert { key, value } => What::Insert { key: key.index(), value: original(value) },
        Op::Delete { key, tombstone } => What::Delete { key: key.index(), mark: tombstone.map(original) },
        Op::RangeRead(read) => {
            What::Range { from: read.from.clone(), to: read.to.clone(), rows: rows(&read.rows) }
        }
        Op::PredicateRead(read) => {
            What::PredicateRead { predicate: read.predicate.datum().clone(), rows: rows(&read.rows) }
        }
        Op::PredicateWrite(write) => What::PredicateWrite {
            predicate: write.predicate.datum().clone(),
            change: write.change.clone(),
            row_count: write.row_count,
            keys: write.keys.as_ref().map(|keys| keys.iter().map(|key| key.index()).collect()),
            is_returning: write.is_returning,
        },
    };
    SketchOp { what, version: history.op_version(id) }
}
