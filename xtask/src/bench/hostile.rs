//! Histories that are ordinary for applications and hard for a checker, written as native JSON Lines.
//!
//! Most are runs of transactions one after the other, so that they hold at every level; a seed decides them. They are
//! written session by session: in the order of the run, the order of the recording alone would explain them.

use std::fmt::Write as _;

/// A generator of a history, with its sizes.
#[derive(Clone, Copy, Debug)]
pub enum Hostile {
    /// This many transactions write one value to one key, and as many read it, each in a session of its own.
    EqualWrites(usize),
    /// This many sessions write one value to one key, and one reads it.
    OneReader(usize),
    /// This many equal writes of one session, which then overwrites the value and reads it.
    Overwritten(usize),
    /// This many transactions write different values to one key, and as many read one each.
    OneReaderEach(usize),
    /// Transactions of two operations on few keys with few values.
    Status { sessions: usize, txns: usize, keys: usize, plant: Plant },
    /// Transactions that read two and write two of five keys with two values.
    TwoAndTwo { sessions: usize, txns: usize },
    /// A chain of unknown outcomes, each of which the next transaction read.
    UnknownChain(usize),
    /// Pairs of neighbours of a session that are exchanged, in transactions on 20 keys.
    SessionBreaks(usize),
    /// An insert, six additions by predicate of which three are unknown, and a read of the sum of the others.
    Additions,
}

/// What is wrong with a history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plant {
    /// Nothing.
    Nothing,
    /// Two transactions that each miss the write of the other, on keys of their own.
    WriteSkew,
    /// A transaction that saw one key of each of two writers of both.
    Fracture,
}

/// A sequence of numbers that a seed decides (Knuth's linear congruential generator).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

/// Lines of a history in the making, session by session.
struct Lines {
    head: String,
    sessions: Vec<String>,
}

impl Lines {
    fn new(default: &str) -> Self {
        Self { head: format!("{{\"isoscope\":1}}\n{{\"default\":{default}}}\n"), sessions: Vec::new() }
    }

    fn txn(&mut self, session: usize, ops: &str, outcome: char) {
        if self.sessions.len() <= session {
            self.sessions.resize(session + 1, String::new());
        }
        let _ = writeln!(self.sessions[session], "{{\"s\":{session},\"ops\":[{ops}],\"o\":\"{outcome}\"}}");
    }

    fn text(self) -> String {
        self.head + &self.sessions.concat()
    }
}

fn read(key: usize, value: usize) -> String {
    format!("[\"r\",{key},{value}]")
}

fn write(key: usize, value: usize) -> String {
    format!("[\"w\",{key},{value}]")
}

impl Hostile {
    /// What to call it in a table, and its file.
    pub fn name(self) -> String {
        match self {
            Self::EqualWrites(count) => format!("{count} equal writes and {count} reads"),
            Self::OneReader(count) => format!("{count} sessions write one value and one reads it"),
            Self::Overwritten(count) => format!("{count} equal writes that are overwritten and then read"),
            Self::OneReaderEach(count) => format!("{count} different writes and a read of each"),
            Self::Status { sessions, txns, keys, plant } => {
                let planted = match plant {
                    Plant::Nothing => "",
                    Plant::WriteSkew => " with write skew",
                    Plant::Fracture => " with a fractured read",
                };
                format!("{sessions} sessions of {txns} on {keys} keys of 3 values{planted}")
            }
            Self::TwoAndTwo { sessions, txns } => {
                format!("{sessions} sessions of {txns} that read 2 write 2")
            }
            Self::UnknownChain(count) => format!("{count} unknown outcomes each read by the next"),
            Self::SessionBreaks(count) => format!("{count} session breaks on 20 keys"),
            Self::Additions => "8 transactions that add by predicate".to_owned(),
        }
    }

    /// The history as text.
    pub fn text(self) -> String {
        match self {
            Self::EqualWrites(count) => equal_writes(count),
            Self::OneReader(count) => one_reader(count),
            Self::Overwritten(count) => overwritten(count),
            Self::OneReaderEach(count) => one_reader_each(count),
            Self::Status { sessions, txns, keys, plant } => status(sessions, txns, keys, plant),
            Self::TwoAndTwo { sessions, txns } => two_and_two(sessions, txns),
            Self::UnknownChain(count) => unknown_chain(count),
            Self::SessionBreaks(count) => session_breaks(count),
            Self::Additions => additions(),
        }
    }
}

fn equal_writes(count: usize) -> String {
    let mut lines = Lines::new("0");
    (0..count).for_each(|session| lines.txn(session, &write(0, 1), 'c'));
    (count..2 * count).for_each(|session| lines.txn(session, &read(0, 1), 'c'));
    lines.text()
}

fn one_reader(count: usize) -> String {
    let mut lines = Lines::new("0");
    (0..count).for_each(|session| lines.txn(session, &write(0, 1), 'c'));
    lines.txn(count, &read(0, 1), 'c');
    lines.text()
}

fn overwritten(count: usize) -> String {
    let mut lines = Lines::new("0");
    (0..count).for_each(|_| lines.txn(0, &write(0, 1), 'c'));
    lines.txn(0, &write(0, 2), 'c');
    lines.txn(0, &read(0, 1), 'c');
    lines.text()
}

fn one_reader_each(count: usize) -> String {
    let mut lines = Lines::new("0");
    (0..count).for_each(|txn| lines.txn(txn % 10, &write(0, txn + 1), 'c'));
    (0..count).for_each(|txn| lines.txn(10 + txn % 10, &read(0, (txn * 7919) % count + 1), 'c'));
    lines.text()
}

fn status(sessions: usize, txns: usize, keys: usize, plant: Plant) -> String {
    let (mut lines, mut random) = (Lines::new("0"), Random(7));
    let mut store = vec![0; keys];
    let total = sessions * txns;
    let mut left = vec![txns; sessions];
    for number in 0..total {
        if number == total / 2 {
            put(&mut lines, plant, sessions, &mut store);
        }
        let session = next_session(&mut random, &mut left);
        lines.txn(session, &two_operations(&mut random, &mut store), 'c');
    }
    lines.text()
}

/// A session that has transactions left.
fn next_session(random: &mut Random, left: &mut [usize]) -> usize {
    let start = random.below(left.len());
    let session = (0..left.len()).map(|step| (start + step) % left.len()).find(|&session| left[session] > 0);
    let session = session.unwrap_or(0);
    left[session] -= 1;
    session
}

fn two_operations(random: &mut Random, store: &mut [usize]) -> String {
    let mut ops = Vec::new();
    for _ in 0..2 {
        let key = random.below(store.len());
        if random.below(2) == 0 {
            ops.push(read(key, store[key]));
        } else {
            store[key] = 1 + random.below(3);
            ops.push(write(key, store[key]));
        }
    }
    ops.join(",")
}

fn put(lines: &mut Lines, plant: Plant, sessions: usize, store: &mut [usize]) {
    let keys = store.len();
    match plant {
        Plant::Nothing => {}
        Plant::WriteSkew => {
            lines.txn(0, &format!("{},{}", read(keys, 0), write(keys + 1, 1)), 'c');
            lines.txn(sessions - 1, &format!("{},{}", read(keys + 1, 0), write(keys, 1)), 'c');
        }
        Plant::Fracture => {
            lines.txn(0, &format!("{},{}", write(0, 8), write(1, 8)), 'c');
            lines.txn(1, &format!("{},{}", write(0, 9), write(1, 9)), 'c');
            lines.txn(sessions - 1, &format!("{},{}", read(0, 8), read(1, 9)), 'c');
            (store[0], store[1]) = (9, 9);
        }
    }
}

fn two_and_two(sessions: usize, txns: usize) -> String {
    let (mut lines, mut random) = (Lines::new("0"), Random(5));
    let mut store = [0; 5];
    for _ in 0..sessions * txns {
        let first = random.below(5);
        let reads = [first, (first + 1 + random.below(4)) % 5].map(|key| read(key, store[key]));
        let second = random.below(5);
        let writes = [second, (second + 1 + random.below(4)) % 5].map(|key| {
            store[key] = 1 + random.below(2);
            write(key, store[key])
        });
        lines.txn(random.below(sessions), &[reads, writes].concat().join(","), 'c');
    }
    lines.text()
}

fn unknown_chain(count: usize) -> String {
    let mut lines = Lines::new("0");
    for number in 0..count {
        lines.txn(number, &format!("{},{}", read(number, 1), write(number + 1, 1)), 'u');
    }
    lines.txn(count, &write(0, 1), 'c');
    lines.txn(count + 1, &read(count, 1), 'c');
    lines.text()
}

fn session_breaks(count: usize) -> String {
    let (mut lines, mut random) = (Lines::new("0"), Random(3));
    let mut store = [0; 20];
    let mut sessions: Vec<Vec<String>> = vec![Vec::new(); 10];
    for number in 0..10 * count {
        let (from, to) = (random.below(20), random.below(20));
        let seen = read(from, store[from]);
        store[to] = number + 1;
        sessions[random.below(10)].push(format!("{seen},{}", write(to, store[to])));
    }
    for _ in 0..count {
        let session = &mut sessions[random.below(10)];
        let place = random.below(session.len() - 1);
        session.swap(place, place + 1);
    }
    for (session, txns) in sessions.iter().enumerate() {
        txns.iter().for_each(|ops| lines.txn(session, ops, 'c'));
    }
    lines.text()
}

fn additions() -> String {
    let mut lines = Lines::new("null");
    lines.txn(0, "[\"i\",1,0]", 'c');
    for (session, amount) in [1, 2, 4, 8, 16, 32].into_iter().enumerate() {
        let outcome = if session % 2 == 0 { 'c' } else { 'u' };
        lines.txn(session + 1, &format!("[\"pw\",\"v >= 0\",{{\"row\":[[\"+\",{amount}]]}}]"), outcome);
    }
    lines.txn(7, &read(1, 21), 'c');
    lines.text()
}
