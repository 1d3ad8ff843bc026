//! Searches and clocks against the closure of all steps.

use std::fmt::Write as _;

use super::*;
use crate::text::facts::{Facts, INITIAL};
use crate::text::judge::{Judge, Witness};
use crate::text::plan::{Plan, Steps};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Transactions of one read, of any version so far, and one write.
fn facts(random: &mut Random) -> Facts {
    let (txns, sessions, keys) = (2 + random.below(40), 1 + random.below(5), 1 + random.below(4));
    let mut versions: Vec<Vec<u64>> = vec![vec![0]; keys as usize];
    let mut text = "{\"isoscope\":1}\n{\"default\":0}\n".to_owned();
    for txn in 1..=txns {
        let (read, written) = (random.below(keys), random.below(keys));
        let known = &versions[read as usize];
        let value = known[random.below(known.len() as u64) as usize];
        let session = random.below(sessions);
        let _ =
            writeln!(text, r#"{{"s":{session},"ops":[["r",{read},{value}],["w",{written},{txn}]],"o":"c"}}"#);
        versions[written as usize].push(txn);
    }
    let read = formats::read_bytes("h", text.as_bytes(), &formats::ReadOptions::default());
    Facts::of(&read.expect("a history").history).expect("facts")
}

/// Some order in which sessions and sources come before readers.
fn witness(facts: &Facts, random: &mut Random) -> Witness {
    let source: Vec<u32> =
        (0..facts.reads().len()).map(|read| facts.only_source(read).expect("one")).collect();
    let count = facts.node_count() as u32;
    let (mut order, mut is_placed) = (Vec::new(), vec![false; count as usize]);
    is_placed[INITIAL as usize] = true;
    while order.len() + 1 < count as usize {
        let is_ready = |&node: &u32| {
            let is_first = facts.session_start(node) == node || is_placed[node as usize - 1];
            let mut sources = source[facts.reads_of(node)].iter();
            !is_placed[node as usize] && is_first && sources.all(|&source| is_placed[source as usize])
        };
        let ready: Vec<u32> = (1..count).filter(is_ready).collect();
        let node = ready[random.below(ready.len() as u64) as usize];
        is_placed[node as usize] = true;
        order.push(node);
    }
    Witness::new(facts, order, source)
}

/// The hits of all suspects, by the closure of all steps.
fn by_closure(walk: &Walk<'_>, suspects: &[Suspect]) -> Vec<Hit> {
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); walk.facts.node_count()];
    for &node in &walk.witness.order[1..] {
        let mut seen = Vec::new();
        walk.for_each_before(node, &mut |other| {
            seen.push(other);
            seen.extend(&before[other as usize]);
        });
        seen.sort_unstable();
        seen.dedup();
        before[node as usize] = seen;
    }
    let mut hits = Vec::new();
    for suspect in suspects {
        let seen = &before[suspect.reader as usize];
        walk.add_seen(suspect, 0, &mut hits, |rival| seen.binary_search(&rival).is_ok());
    }
    hits.sort_unstable();
    hits
}

#[test]
fn searches_and_clocks_find_what_the_closure_has() {
    let plan = Plan::of(spec::library::level("causal").expect("shipped")).expect("a plan");
    let (mut with_hits, mut without_search, mut by_both) = (0, 0, 0);
    for seed in 1..3_000 {
        let random = &mut Random(seed * 0x9E37_79B9);
        let facts = facts(random);
        let witness = witness(&facts, random);
        let judge = Judge::new(&facts, &plan, &|| false);
        let steps = Steps { session: true, reads_from: true, conflicts: seed % 2 == 0, real_time: false };
        let walk =
            Walk { facts: &facts, witness: &witness, writers: &judge.writers_in_order(&witness), steps };
        let all = judge.suspects(&witness, &facts.mask(&plan.readers[0])).expect("not stopped");
        let expected = by_closure(&walk, &all);
        for most_steps in [0, random.below(60) as usize, usize::MAX] {
            let (mut left, mut hits) = (all.clone(), Vec::new());
            Nearby::with_steps(&walk, most_steps).take_decided(&mut left, 0, &mut hits);
            without_search += u32::from(left.len() == all.len() && !all.is_empty());
            by_both += u32::from(!left.is_empty() && left.len() < all.len());
            assert!(most_steps < usize::MAX || left.is_empty(), "seed {seed}");
            judge.by_clocks(&walk, &left, 0, &mut hits).expect("not stopped");
            hits.sort_unstable();
            assert_eq!(hits, expected, "seed {seed}, {most_steps} steps");
        }
        with_hits += u32::from(!expected.is_empty());
    }
    assert!(
        with_hits > 500 && without_search > 500 && by_both > 500,
        "{with_hits} {without_search} {by_both}"
    );
}
