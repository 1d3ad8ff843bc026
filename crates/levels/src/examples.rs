//! A history that each level allows and one that it forbids, in the text notation.
//!
//! The forbidden one is allowed by the levels just below wherever a small history shows that. A test asks the engine
//! and the text about every one of them.

use crate::LevelId;

/// What a level allows and forbids.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// A history that satisfies the level.
    pub allowed: Sample,
    /// A history that violates it.
    pub forbidden: Sample,
}

/// A history in the text notation.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// What it shows.
    pub shows: &'static str,
    /// The history.
    pub text: &'static str,
}

impl Sample {
    const fn new(shows: &'static str, text: &'static str) -> Self {
        Self { shows, text }
    }
}

const ONE_AFTER_THE_OTHER: Sample =
    Sample::new("one after the other", "a: r(x)=0 w(x)=1 @[0,10]\nb: r(x)=1 w(x)=2 @[20,30]\n");
const WRITE_SKEW: Sample = Sample::new(
    "write skew: each read what the other wrote over",
    "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n",
);
const TIMED_WRITE_SKEW: Sample = Sample::new(
    "write skew: two transactions at the same time, each read what the other wrote over",
    "a: r(x)=0 r(y)=0 w(x)=1 @[0,10]\nb: r(x)=0 r(y)=0 w(y)=1 @[1,11]\n",
);
const LOST_UPDATE: Sample =
    Sample::new("lost update: both read 0 and wrote over it", "a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2\n");
const LONG_FORK: Sample = Sample::new(
    "long fork: two readers see two writes in opposite orders",
    "a: w(x)=1\nb: w(y)=1\nc: r(x)=1 r(y)=0\nd: r(x)=0 r(y)=1\n",
);
const FRACTURED: Sample =
    Sample::new("fractured read: half of a transaction is seen", "a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0\n");
const REVERSED_FRACTURED: Sample = Sample::new(
    "fractured read, the old value first: half of a transaction is seen",
    "a: w(x)=1 w(y)=1\nb: r(y)=0 r(x)=1\n",
);
const CAUSALITY: Sample = Sample::new(
    "an answer is seen without the question it answers",
    "a: w(x)=1\nb: r(x)=1 w(y)=1\nc: r(y)=1 r(x)=0\n",
);
const FORGOTTEN_WRITE: Sample =
    Sample::new("a session does not see its own earlier write", "a: {w(x)=1} {r(x)=0}\n");
const STALE_READ: Sample =
    Sample::new("a read of what was overwritten before it began", "a: w(x)=1 @[0,10]\nb: r(x)=0 @[20,30]\n");
const READ_FROM_THE_FUTURE: Sample = Sample::new(
    "a transaction sees what was committed after it began",
    "a: r(x)=1 @[0..1,40..41]\nb: w(x)=1 @[10..11,20..21]\n",
);
const TWO_VALUES: Sample = Sample::new("two reads of a key differ", "a: w(x)=1\nb: r(x)=0 r(x)=1\n");
const READERS_DISAGREE: Sample = Sample::new(
    "readers disagree about an order that no writer depends on",
    "a: w(x)=1\nb: w(y)=1\nc: r(x)=1 r(y)=0\nd: r(x)=0 r(y)=1\n",
);

const DIRTY_READ: Sample =
    Sample::new("dirty read: a value of a transaction that aborted", "a: w(x)=1 abort\nb: r(x)=1\n");
const THIN_AIR_READ: Sample = Sample::new("a value that no transaction wrote", "a: w(x)=1\nb: r(x)=5\n");

impl LevelId {
    /// A history that the level allows, and one that it forbids.
    pub const fn example(self) -> Example {
        let (allowed, forbidden) = match self {
            Self::StrictSerializable => (ONE_AFTER_THE_OTHER, STALE_READ),
            Self::SessionSerializable => (ONE_AFTER_THE_OTHER, FORGOTTEN_WRITE),
            Self::Serializable => (FORGOTTEN_WRITE, WRITE_SKEW),
            Self::StrongSi => (TIMED_WRITE_SKEW, STALE_READ),
            Self::StrongSessionSi => (STALE_READ, READ_FROM_THE_FUTURE),
            Self::GeneralizedSi => (STALE_READ, READ_FROM_THE_FUTURE),
            Self::SessionSnapshotIsolation => (WRITE_SKEW, FORGOTTEN_WRITE),
            Self::SnapshotIsolation => (WRITE_SKEW, LOST_UPDATE),
            Self::Prefix => (LOST_UPDATE, LONG_FORK),
            Self::ParallelSi => (LONG_FORK, LOST_UPDATE),
            Self::UpdateSerializable => (READERS_DISAGREE, WRITE_SKEW),
            Self::Causal => (LONG_FORK, CAUSALITY),
            Self::UpdateAtomic => (CAUSALITY, LOST_UPDATE),
            Self::NoLostUpdate => (CAUSALITY, LOST_UPDATE),
            Self::ReadAtomic => (CAUSALITY, FRACTURED),
            Self::ReadCommitted => (REVERSED_FRACTURED, FRACTURED),
            Self::CutIsolation => (FRACTURED, TWO_VALUES),
            Self::ReadUncommitted => (DIRTY_READ, THIN_AIR_READ),
        };
        Example { allowed, forbidden }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the text says, and the engine where there is one.
    fn holds(level: LevelId, text: &str) -> bool {
        let history = formats::notation::parse(text).unwrap();
        let readings = spec::SmallHistory::readings(&history, 0, level.spec()).unwrap();
        let by_text = readings.iter().any(|reading| spec::oracle::holds(reading, level.spec()));
        if let Some(engine) = level.engine() {
            let index = index::Index::of(&history);
            let answer = verify::verify(&history, &index, &engine, &verify::Options::default()).unwrap();
            let by_engine = matches!(answer.verdict, verify::Verdict::Holds(_));
            assert_eq!(by_engine, by_text, "{level}: {text}");
        }
        by_text
    }

    #[test]
    fn each_level_allows_and_forbids_what_it_shows() {
        for level in LevelId::ALL {
            let Example { allowed, forbidden } = level.example();
            assert!(holds(level, allowed.text), "{level} forbids {}", allowed.shows);
            assert!(!holds(level, forbidden.text), "{level} allows {}", forbidden.shows);
        }
    }

    #[test]
    fn the_lattice_is_not_contradicted_by_any_example() {
        let samples = LevelId::ALL.into_iter().map(LevelId::example);
        for sample in samples.flat_map(|example| [example.allowed, example.forbidden]) {
            for stronger in LevelId::ALL {
                for &weaker in stronger.directly_implies() {
                    let is_refuted = holds(stronger, sample.text) && !holds(weaker, sample.text);
                    assert!(!is_refuted, "{stronger} allows {}, and {weaker} does not", sample.shows);
                }
            }
        }
    }
}
