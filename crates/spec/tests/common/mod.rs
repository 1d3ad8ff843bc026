//! Seeded random small histories for the tests of this crate.

use isoscope_spec::{Outcome, SmallHistory, SmallTimes, SmallTxn};

/// SplitMix64: a seed, and the same numbers every time.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// What a random history may hold.
#[derive(Clone, Copy)]
pub struct Shape {
    pub txns: usize,
    pub objects: usize,
    pub sessions: usize,
    /// Whether values repeat.
    pub duplicates: bool,
    /// Whether outcomes may be unknown or aborted.
    pub outcomes: bool,
    /// Whether transactions carry times.
    pub times: bool,
}

/// A history whose reads take values that a transaction wrote, or the initial one.
pub fn history(random: &mut Random, shape: Shape) -> SmallHistory {
    let mut next_value = 0;
    let mut txns: Vec<SmallTxn> = Vec::new();
    for _ in 0..shape.txns {
        let mut txn = SmallTxn::committed(random.below(shape.sessions), &[], &[]);
        for object in 0..shape.objects {
            if random.chance(45) {
                next_value += 1;
                let value = if shape.duplicates { 1 + random.below(2) as u32 } else { next_value };
                txn.writes.push((object, value));
            }
        }
        if shape.outcomes && random.chance(30) {
            txn.outcome = if random.chance(60) { Outcome::Unknown } else { Outcome::Aborted };
        }
        txns.push(txn);
    }
    for reader in 0..txns.len() {
        add_reads(random, shape, &mut txns, reader);
    }
    let mut history = SmallHistory::new(txns);
    if shape.times {
        add_times(random, &mut history);
    }
    history
}

fn add_reads(random: &mut Random, shape: Shape, txns: &mut [SmallTxn], reader: usize) {
    for object in 0..shape.objects {
        let repeats = if random.chance(8) { 2 } else { 1 };
        for _ in 0..repeats {
            if !random.chance(55) {
                continue;
            }
            let written: Vec<u32> = (0..txns.len())
                .filter(|&writer| writer != reader)
                .filter_map(|writer| txns[writer].written(object))
                .chain([0])
                .collect();
            let value = written[random.below(written.len())];
            let at = random.below(txns[reader].reads.len() + 1);
            txns[reader].reads.insert(at, (object, value));
        }
    }
}

fn add_times(random: &mut Random, history: &mut SmallHistory) {
    history.clock_skew = random.below(3) as i64;
    let mut now = [0i64; 8];
    for txn in &mut history.txns {
        let clock = &mut now[txn.session % 8];
        let mut moment = || {
            *clock += random.below(5) as i64;
            *clock
        };
        let (begin_request, begin_response, commit_request, commit_response) =
            (moment(), moment(), moment(), moment());
        txn.times = SmallTimes {
            begin_request: Some(begin_request),
            begin_response: Some(begin_response),
            commit_request: Some(commit_request),
            commit_response: (txn.outcome == Outcome::Committed).then_some(commit_response),
        };
    }
}

/// How many rounds a test runs: its own number, or more in a soak.
pub fn rounds(usual: usize) -> usize {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}
