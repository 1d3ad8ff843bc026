//! Random histories with everything the model can hold, and a description to compare two histories by.
//!
//! The description is made from the originals, so two histories are equal in it if they differ only in how keys and
//! values are numbered.

use std::collections::BTreeSet;

use history::{
    Bound, Builder, Change, Clock, Datum, History, InitialDefault, KeyId, Op, OpId, OpTimes, Outcome,
    PredicateRead, PredicateWrite, RangeRead, Row, SessionId, TxnTimes, ValueId,
};

/// A small generator of numbers (SplitMix64): the same seed gives the same history everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.one_in(2) { Some(make(self)) } else { None }
    }
}

const TEXTS: [&str; 16] = [
    "",
    "x",
    "key",
    "nil",
    "true",
    "abort",
    "T7",
    "_3",
    "a b",
    "a-b",
    "\"\\",
    "\n\t\r\u{1}\u{7f}",
    "ß→𝄞",
    "[1]",
    "a/2:",
    "float-bits",
];

/// Any datum.
pub fn random_datum(random: &mut Random, depth: usize) -> Datum {
    let kinds = if depth > 2 { 12 } else { 16 };
    match random.below(kinds) {
        0 => Datum::Nil,
        1 => Datum::Bool(random.one_in(2)),
        2 | 3 => Datum::Int(random.below(10) as i64),
        4 => Datum::Int(random.pick(&[-1, i64::MIN, i64::MAX, 1 << 31, (1 << 31) - 1, 1 << 53])),
        5 => Datum::uint(u64::MAX - random.below(3)),
        6 => Datum::int_from_decimal("-123456789012345678901234567890").unwrap(),
        7 => Datum::Float(random_float(random)),
        8 | 9 => Datum::str(random.pick(&TEXTS)),
        10 => Datum::Keyword(random.pick(&TEXTS).into()),
        11 => Datum::Symbol(random.pick(&TEXTS).into()),
        12 | 13 => Datum::List((0..random.below(4)).map(|_| random_datum(random, depth + 1)).collect()),
        14 => {
            let column =
                |random: &mut Random| (random_datum(random, depth + 1), random_datum(random, depth + 1));
            Datum::row((0..random.below(3)).map(|_| column(random)).collect())
        }
        _ => Datum::Tagged(Box::new((random.pick(&TEXTS).into(), random_datum(random, depth + 1)))),
    }
}

fn random_float(random: &mut Random) -> u64 {
    let common = [0.0, -0.0, 1.5, 1e300, 5e-324, 1e16, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    match random.one_in(3) {
        true => random.next(),
        false => random.pick(&common).to_bits(),
    }
}

/// Any history.
pub fn random_history(seed: u64) -> History {
    let mut generator = Generator { random: Random(seed), builder: Builder::new(), now: -10 };
    generator.initial_state();
    let sessions = generator.sessions();
    for _ in 0..generator.random.below(8) {
        let Some(&session) = sessions.get(generator.random.below(4) as usize) else {
            continue;
        };
        generator.transaction(session);
    }
    generator.builder.finish()
}

struct Generator {
    random: Random,
    builder: Builder,
    /// The clock of all sessions.
    now: i64,
}

impl Generator {
    fn key(&mut self) -> KeyId {
        let datum = match self.random.one_in(2) {
            true => Datum::Int(self.random.below(5) as i64),
            false => random_datum(&mut self.random, 0),
        };
        self.builder.keys.intern(datum)
    }

    fn value(&mut self) -> ValueId {
        let datum = random_datum(&mut self.random, 0);
        self.builder.values.intern(datum)
    }

    fn initial_state(&mut self) {
        self.builder.clock = self.random.pick(&[Clock::Nanoseconds, Clock::Position]);
        self.builder.initial.default = match self.random.below(4) {
            0 => InitialDefault::UnknownButOne,
            1 => InitialDefault::Value(ValueId::NIL),
            2 => InitialDefault::Value(ValueId(0)),
            _ => InitialDefault::Value(self.value()),
        };
        for _ in 0..self.random.below(3) {
            let (key, value) = (self.key(), self.value());
            if self.builder.initial.recorded.iter().all(|&(other, _)| other != key) {
                self.builder.initial.recorded.push((key, value));
            }
        }
        if self.random.one_in(4) {
            self.key();
        }
    }

    fn sessions(&mut self) -> Vec<SessionId> {
        let is_named = self.random.one_in(2);
        let session = |generator: &mut Self| match is_named && !generator.random.one_in(4) {
            true => {
                let name = match generator.random.one_in(2) {
                    true => "a".into(),
                    false => random_datum(&mut generator.random, 0),
                };
                generator.builder.named_session(name)
            }
            false => generator.builder.session(),
        };
        (0..self.random.below(5)).map(|_| session(self)).collect()
    }

    fn transaction(&mut self, session: SessionId) {
        self.builder.begin(session);
        if self.random.one_in(3) {
            let name = random_datum(&mut self.random, 0);
            self.builder.name_txn(name);
        }
        for _ in 0..self.random.below(6) {
            self.operation();
            self.attributes();
        }
        if self.random.one_in(2) {
            let times = self.txn_times();
            self.builder.set_times(times).expect("the clock of all sessions runs forwards");
        }
        let outcome = self.random.pick(&[Outcome::Committed, Outcome::Aborted, Outcome::Unknown]);
        self.builder.end(outcome);
    }

    fn txn_times(&mut self) -> TxnTimes {
        let (random, now) = (&mut self.random, &mut self.now);
        let mut time = || {
            *now += random.below(3) as i64;
            random.maybe(|_| *now)
        };
        TxnTimes {
            begin_request: time(),
            begin_response: time(),
            commit_request: time(),
            commit_response: time(),
        }
    }

    fn attributes(&mut self) {
        if self.random.one_in(4) {
            let time = |random: &mut Random| random.next() as i64 >> 1;
            let (request, response) = (self.random.maybe(time), self.random.maybe(time));
            let times = OpTimes { request, response: response.max(response.and(request)) };
            self.builder.set_op_times(times).expect("the response is not before the request");
        }
        if self.random.one_in(4) {
            let version = self.random.below(100) as i64 - 50;
            self.builder.set_op_version(version);
        }
        if self.random.one_in(5) {
            self.builder.mark_failed();
        }
    }

    fn operation(&mut self) {
        let (key, value) = (self.key(), self.value());
        match self.random.below(13) {
            0 | 1 => self.builder.read(key, value),
            2 => self.builder.read_unknown(key),
            3 => self.builder.write(key, value),
            4 => {
                let list: Vec<_> = (0..self.random.below(4)).map(|_| self.value()).collect();
                self.builder.read_list(key, &list)
            }
            5 => self.builder.read_list_unknown(key),
            6 => self.builder.append(key, value),
            7 => self.builder.insert(key, value),
            8 => self.builder.delete(key, None),
            9 => self.builder.delete(key, Some(value)),
            10 => {
                let (from, to, rows) = (self.bound(), self.bound(), self.rows());
                self.builder.range_read(RangeRead { from, to, rows })
            }
            11 => {
                let (predicate, rows) = (self.predicate().into(), self.rows());
                self.builder.predicate_read(PredicateRead { predicate, rows })
            }
            _ => {
                let write = self.predicate_write();
                self.builder.predicate_write(write)
            }
        };
    }

    fn bound(&mut self) -> Bound {
        match self.random.below(3) {
            0 => Bound::Unbounded,
            1 => Bound::Included(random_datum(&mut self.random, 0)),
            _ => Bound::Excluded(random_datum(&mut self.random, 0)),
        }
    }

    fn rows(&mut self) -> Option<Vec<Row>> {
        if self.random.one_in(4) {
            return None;
        }
        let row = |generator: &mut Self| Row {
            key: generator.key(),
            value: generator.value(),
            is_dead: generator.random.one_in(3),
        };
        Some((0..self.random.below(4)).map(|_| row(self)).collect())
    }

    fn predicate(&mut self) -> Datum {
        const TEXTS: [&str; 8] = [
            "v = 1",
            "v1 between 3 and 9 and key < 5",
            "not (\"a b\" like 'x)%')",
            "name = 'it''s # \"5\"'",
            " v = 1",
            "v = ",
            "true",
            "(v = 1)) or (v = 2",
        ];
        match self.random.one_in(2) {
            true => TEXTS[self.random.below(TEXTS.len() as u64) as usize].into(),
            false => random_datum(&mut self.random, 0),
        }
    }

    fn predicate_write(&mut self) -> PredicateWrite {
        let change = match self.random.one_in(2) {
            true => Change::Delete,
            false => Change::Set(random_datum(&mut self.random, 0)),
        };
        PredicateWrite {
            predicate: self.predicate().into(),
            change,
            row_count: self.random.maybe(Random::next),
            keys: self.random.one_in(4).then(|| (0..self.random.below(3)).map(|_| self.key()).collect()),
            is_returning: self.random.one_in(4),
        }
    }
}

/// Everything in a history, a line for each thing.
pub fn describe(history: &History) -> Vec<String> {
    let mut lines = vec![format!("{:?} {:?}", history.clock(), initial_default(history))];
    let recorded = &history.initial().recorded;
    let mut initial: Vec<_> = recorded
        .iter()
        .map(|&(key, value)| {
            format!("{:?} starts as {:?}", history.keys().original(key), original(history, value))
        })
        .collect();
    initial.sort();
    lines.extend(initial);
    let keys: BTreeSet<_> = history.keys().iter().map(|(_, key)| format!("{key:?}")).collect();
    lines.push(format!("{keys:?}"));
    for session in history.sessions() {
        lines.push(format!("session {:?}", history.session_name(session)));
        for txn in history.session_txns(session) {
            lines.push(format!(
                "{:?} {:?} {:?}",
                history.txn_name(txn),
                history.outcome(txn),
                history.times(txn)
            ));
            lines.extend(history.op_range(txn).map(|op| describe_op(history, OpId(op))));
        }
    }
    lines
}

fn initial_default(history: &History) -> String {
    match history.initial().default {
        InitialDefault::UnknownButOne => "unknown".into(),
        InitialDefault::Value(value) => original(history, value),
    }
}

fn original(history: &History, value: ValueId) -> String {
    format!("{:?}", history.values().original(value))
}

/// An operation with all that is known of it.
pub fn describe_op(history: &History, op: OpId) -> String {
    let rows = |rows: &Option<Vec<Row>>| -> Option<Vec<(&Datum, Datum, bool)>> {
        let row =
            |row: &Row| (history.keys().original(row.key), history.values().original(row.value), row.is_dead);
        rows.as_ref().map(|rows| rows.iter().map(row).collect())
    };
    let content = match history.op(op) {
        Op::ReadList { list, .. } => {
            let original = |&value: &ValueId| original(history, value);
            format!("list {:?}", list.map(|list| list.iter().map(original).collect::<Vec<_>>()))
        }
        Op::RangeRead(range) => format!("range {:?} {:?} {:?}", range.from, range.to, rows(&range.rows)),
        Op::PredicateRead(read) => format!("predicate {:?} {:?}", read.predicate.datum(), rows(&read.rows)),
        Op::PredicateWrite(write) => {
            let keys = write.keys.iter().flatten().map(|&key| history.keys().original(key));
            let keys: Vec<_> = keys.collect();
            format!("{:?} {:?} {:?} {keys:?}", write.predicate.datum(), write.change, write.row_count)
        }
        Op::Delete { tombstone, .. } => format!("delete {:?}", tombstone.map(|mark| original(history, mark))),
        other => format!(
            "{:?} {:?}",
            std::mem::discriminant(&other),
            other.value().or(append(&other)).map(|value| original(history, value))
        ),
    };
    format!(
        "  {:?} {content} {:?} {:?} {}",
        history.op(op).key().map(|key| history.keys().original(key)),
        history.op_times(op),
        history.op_version(op),
        history.is_failed(op)
    )
}

fn append(op: &Op<'_>) -> Option<ValueId> {
    match *op {
        Op::Append { value, .. } => Some(value),
        _ => None,
    }
}

/// How many random histories a test tries; more in a long run.
pub fn seeds() -> std::ops::Range<u64> {
    let soak = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok());
    0..soak.unwrap_or(3000)
}
