//! A history that each level allows and one that it forbids, in the text notation.
//!
//! The forbidden one is allowed by the levels just below wherever a small history shows that. A test asks the engine,
//! or where there is none the definition itself, about every one of them.

/// What a level allows and forbids.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The level.
    pub level: &'static str,
    /// A history that satisfies it, with what it shows.
    pub allowed: (&'static str, &'static str),
    /// A history that violates it, with what it shows; none for the level that forbids nothing.
    pub forbidden: Option<(&'static str, &'static str)>,
}

const ONE_AFTER_THE_OTHER: (&str, &str) =
    ("one after the other", "a: r(x)=0 w(x)=1 @[0,10]\nb: r(x)=1 w(x)=2 @[20,30]\n");
const WRITE_SKEW: (&str, &str) =
    ("write skew: each read what the other wrote over", "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n");
const TIMED_WRITE_SKEW: (&str, &str) = (
    "write skew: two transactions at the same time, each read what the other wrote over",
    "a: r(x)=0 r(y)=0 w(x)=1 @[0,10]\nb: r(x)=0 r(y)=0 w(y)=1 @[1,11]\n",
);
const LOST_UPDATE: (&str, &str) =
    ("lost update: both read 0 and wrote over it", "a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2\n");
const LONG_FORK: (&str, &str) = (
    "long fork: two readers see two writes in opposite orders",
    "a: w(x)=1\nb: w(y)=1\nc: r(x)=1 r(y)=0\nd: r(x)=0 r(y)=1\n",
);
const FRACTURED: (&str, &str) =
    ("fractured read: half of a transaction is seen", "a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0\n");
const REVERSED_FRACTURED: (&str, &str) = (
    "fractured read, the old value first: half of a transaction is seen",
    "a: w(x)=1 w(y)=1\nb: r(y)=0 r(x)=1\n",
);
const CAUSALITY: (&str, &str) =
    ("an answer is seen without the question it answers", "a: w(x)=1\nb: r(x)=1 w(y)=1\nc: r(y)=1 r(x)=0\n");
const FORGOTTEN_WRITE: (&str, &str) =
    ("a session does not see its own earlier write", "a: {w(x)=1} {r(x)=0}\n");
const STALE_READ: (&str, &str) =
    ("a read of what was overwritten before it began", "a: w(x)=1 @[0,10]\nb: r(x)=0 @[20,30]\n");
const READ_FROM_THE_FUTURE: (&str, &str) = (
    "a transaction sees what was committed after it began",
    "a: r(x)=1 @[0..1,40..41]\nb: w(x)=1 @[10..11,20..21]\n",
);
const TWO_VALUES: (&str, &str) = ("two reads of a key differ", "a: w(x)=1\nb: r(x)=0 r(x)=1\n");
const READERS_DISAGREE: (&str, &str) = (
    "readers disagree about an order that no writer depends on",
    "a: w(x)=1\nb: w(y)=1\nc: r(x)=1 r(y)=0\nd: r(x)=0 r(y)=1\n",
);

/// The examples, in the order of the lattice.
pub const EXAMPLES: [Example; 18] = [
    example("strict-serializable", ONE_AFTER_THE_OTHER, STALE_READ),
    example("session-serializable", ONE_AFTER_THE_OTHER, FORGOTTEN_WRITE),
    example("serializable", FORGOTTEN_WRITE, WRITE_SKEW),
    example("strong-si", TIMED_WRITE_SKEW, STALE_READ),
    example("strong-session-si", STALE_READ, READ_FROM_THE_FUTURE),
    example("generalized-si", STALE_READ, READ_FROM_THE_FUTURE),
    example("session-snapshot-isolation", WRITE_SKEW, FORGOTTEN_WRITE),
    example("snapshot-isolation", WRITE_SKEW, LOST_UPDATE),
    example("prefix", LOST_UPDATE, LONG_FORK),
    example("parallel-si", LONG_FORK, LOST_UPDATE),
    example("update-serializable", READERS_DISAGREE, WRITE_SKEW),
    example("causal", LONG_FORK, CAUSALITY),
    example("update-atomic", CAUSALITY, LOST_UPDATE),
    example("no-lost-update", CAUSALITY, LOST_UPDATE),
    example("read-atomic", CAUSALITY, FRACTURED),
    example("read-committed", REVERSED_FRACTURED, FRACTURED),
    example("cut-isolation", FRACTURED, TWO_VALUES),
    Example { level: "read-uncommitted", allowed: FRACTURED, forbidden: None },
];

const fn example(
    level: &'static str,
    allowed: (&'static str, &'static str),
    forbidden: (&'static str, &'static str),
) -> Example {
    Example { level, allowed, forbidden: Some(forbidden) }
}

/// The example of a level.
pub fn of(level: &str) -> Option<&'static Example> {
    EXAMPLES.iter().find(|example| example.level == level)
}

#[cfg(test)]
mod tests {
    use super::EXAMPLES;
    use crate::levels;

    /// What the definition says, and the engine where there is one.
    fn holds(level: &str, text: &str) -> bool {
        let history = formats::notation::parse(text).unwrap();
        let named = levels::find(level).unwrap();
        let small = spec::SmallHistory::from_history(&history, 0).unwrap();
        let by_definition = spec::oracle::holds(&small, named.spec);
        if let Some(engine) = named.engine {
            let index = history::Index::of(&history);
            let answer = verify::verify(&history, &index, &engine, &verify::Options::default()).unwrap();
            let by_engine = matches!(answer.verdict, verify::Verdict::Holds(_));
            assert_eq!(by_engine, by_definition, "{level}: {text}");
        }
        by_definition
    }

    #[test]
    fn each_level_allows_and_forbids_what_it_shows() {
        for example in EXAMPLES {
            assert!(
                holds(example.level, example.allowed.1),
                "{} forbids {}",
                example.level,
                example.allowed.0
            );
            if let Some((what, text)) = example.forbidden {
                assert!(!holds(example.level, text), "{} allows {what}", example.level);
            }
        }
    }

    #[test]
    fn the_lattice_is_not_contradicted_by_any_example() {
        let texts = EXAMPLES.iter().flat_map(|example| [Some(example.allowed), example.forbidden]).flatten();
        for (what, text) in texts {
            for (stronger, weaker) in levels::IMPLIES {
                for weaker in weaker {
                    let is_refuted = holds(stronger, text) && !holds(weaker, text);
                    assert!(!is_refuted, "{stronger} allows {what}, and {weaker} does not");
                }
            }
        }
    }

    #[test]
    fn every_level_has_an_example() {
        let named: Vec<_> = EXAMPLES.iter().map(|example| example.level).collect();
        let levels: Vec<_> = levels::IMPLIES.iter().map(|&(level, _)| level).collect();
        assert_eq!(named, levels);
    }
}
