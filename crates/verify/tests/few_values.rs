//! Histories of few values, as status columns have them: reads have hundreds of possible sources.

use std::fmt::Write as _;

use certify::Level;
use history::History;
use index::Index;
use isoscope_verify::{Options, Stages, Verdict, Verified, verify};

/// A sequence of numbers that a seed decides (Knuth's linear congruential generator).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

/// A serial run of transactions of a read and a write on keys with three values. In the middle come the operations of
/// some more transactions, each in a session of its own. It is written session by session, so that the order of the
/// recording says nothing.
fn serial_run(seed: u64, sessions: usize, txns: usize, keys: usize, planted: &[&str]) -> History {
    let mut random = Random(seed);
    let mut store = vec![0; keys];
    let mut text = "{\"isoscope\":1}\n{\"default\":0}\n".to_owned();
    let mut lines = vec![String::new(); sessions + planted.len()];
    for number in 0..sessions * txns {
        if number == sessions * txns / 2 {
            for (place, ops) in planted.iter().enumerate() {
                let session = sessions + place;
                let _ = writeln!(lines[session], "{{\"s\":{session},\"ops\":[{ops}],\"o\":\"c\"}}");
            }
        }
        let (session, read, written) = (random.below(sessions), random.below(keys), random.below(keys));
        let seen = store[read];
        store[written] = 1 + random.below(3);
        let ops = format!("[\"r\",{read},{seen}],[\"w\",{written},{}]", store[written]);
        let _ = writeln!(lines[session], "{{\"s\":{session},\"ops\":[{ops}],\"o\":\"c\"}}");
    }
    text.extend(lines);
    let options = formats::ReadOptions::default();
    formats::read_bytes("a serial run", text.as_bytes(), &options).expect("a history").history
}

fn answer(history: &History, level: &str, stages: Stages) -> Verified {
    let level = Level::named(level).expect("a level");
    let options = Options { stages, ..Options::default() };
    let answer = verify(history, &Index::of(history), &level, &options).expect("reads and writes");
    if let Verdict::Holds(certificate) | Verdict::Violated(certificate) = &answer.verdict {
        certify::check(history, &level, certificate).expect("the certificate is right");
    }
    answer
}

fn count(answer: &Verified, name: &str) -> Option<u64> {
    answer.stats.counts.iter().find(|(known, _)| *known == name).map(|&(_, count)| count)
}

/// The run of the transactions leaves some of them, which single moves bring to their places.
#[test]
fn what_the_schedule_leaves_is_repaired() {
    let mut repaired = 0;
    for seed in 0..4 {
        let history = serial_run(seed, 300, 10, 20, &[]);
        for level in ["session-serializable", "session-snapshot-isolation"] {
            let answer = answer(&history, level, Stages::default());
            assert!(matches!(answer.verdict, Verdict::Holds(_)), "seed {seed} at {level}: {answer:?}");
            repaired += usize::from(count(&answer, "not scheduled").is_some());
        }
    }
    assert!(repaired > 0, "the schedule explains all of these, so nothing was tested");
}

/// A contradiction among reads of values that were written once is found without the others.
#[test]
fn a_contradiction_beside_many_equal_values_is_found_without_them() {
    let skew = ["[\"r\",100,0],[\"w\",101,1]", "[\"r\",101,0],[\"w\",100,1]"];
    let history = serial_run(3, 8, 200, 5, &skew);
    let answer = answer(&history, "session-serializable", Stages::default());
    assert!(matches!(answer.verdict, Verdict::Violated(_)));
    assert!(answer.stats.stages.iter().any(|(name, _)| *name == "relaxed"));
    assert!(!answer.stats.stages.iter().any(|(name, _)| *name == "frontier"));
}
