//! Searches and clocks against the closure of all steps, and suspects against all reads.

use std::fmt::Write as _;

use super::clocks::Walk;
use super::nearby::Nearby;
use super::suspects::Suspect;
use super::*;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Transactions of two reads, each of any version so far, and two writes.
fn facts(random: &mut Random) -> Facts {
    let (txns, sessions, keys) = (2 + random.below(40), 1 + random.below(5), 1 + random.below(4));
    let mut versions: Vec<Vec<u64>> = vec![vec![0]; keys as usize];
    let mut text = "{\"isoscope\":1}\n{\"default\":0}\n".to_owned();
    for txn in 1..=txns {
        let session = random.below(sessions);
        let mut ops = Vec::new();
        let first = random.below(keys);
        for read in [first, first + 1].into_iter().filter(|&read| read < keys) {
            let known = &versions[read as usize];
            let value = known[random.below(known.len() as u64) as usize];
            ops.push(format!(r#"["r",{read},{value}]"#));
        }
        let first = random.below(keys);
        for written in [first, first + 1].into_iter().filter(|&written| written < keys) {
            versions[written as usize].push(txn);
            ops.push(format!(r#"["w",{written},{txn}]"#));
        }
        let _ = writeln!(text, r#"{{"s":{session},"ops":[{}],"o":"c"}}"#, ops.join(","));
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
        let all = judge.suspects(&witness, None).expect("not stopped").all;
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

#[test]
fn no_read_has_a_hit_but_suspects_unless_something_stands_after_its_reader() {
    let plan = Plan::of(spec::library::level("read-atomic").expect("shipped")).expect("a plan");
    let (mut with_hits, mut with_inversion) = (0, 0);
    for seed in 1..3_000 {
        let random = &mut Random(seed * 0x9E37_79B9);
        let facts = facts(random);
        let mut witness = witness(&facts, random);
        if seed % 3 == 0 {
            let (first, second) =
                (random.below(facts.node_count() as u64 - 1), random.below(facts.node_count() as u64 - 1));
            let mut order = witness.order[1..].to_vec();
            order.swap(first as usize, second as usize);
            witness = Witness::new(&facts, order, witness.source);
        }
        let judge = Judge::new(&facts, &plan, &|| false);
        let few = judge.suspects(&witness, None).expect("not stopped");
        with_inversion += u32::from(few.has_inversion);
        let all = Suspects { has_inversion: true, ..judge.suspects(&witness, None).expect("not stopped") };
        let readers = facts.mask(&plan.readers[0]);
        let hits = |suspects: &Suspects| {
            let mut hits = [const { Vec::new() }; 3];
            judge.earlier(&witness, suspects, (0, &readers), &mut hits[0]).expect("not stopped");
            judge.session(&witness, suspects, (0, &readers), &mut hits[1]).expect("not stopped");
            judge.reads_from(&witness, suspects, (0, &readers), &mut hits[2]).expect("not stopped");
            hits.iter_mut().for_each(|hits| hits.sort_unstable());
            hits
        };
        let expected = hits(&all);
        assert_eq!(hits(&few), expected, "seed {seed}");
        with_hits += u32::from(expected.iter().any(|hits| !hits.is_empty()));
    }
    assert!(with_hits > 500 && with_inversion > 200, "{with_hits} {with_inversion}");
}

#[test]
fn an_accepted_order_says_nothing_of_another_one() {
    let mut random = Random(23);
    let spec = spec::Spec::parse("any.iso", "level any : visible = earlier").expect("a level");
    let plan = Plan::of(&spec.levels[0]).expect("a plan");
    let mut accepted_count = 0;
    for _ in 0..200 {
        let facts = facts(&mut random);
        let order = witness(&facts, &mut random);
        let judge = Judge::new(&facts, &plan, &|| false);
        let has_hits = !judge.hits(&order).expect("no limit").is_empty();
        let Judgement::Accepted(accepted) = judge.judge(order.clone(), &mut None).expect("no limit") else {
            assert!(has_hits);
            continue;
        };
        assert!(!has_hits);
        accepted_count += 1;
        assert!(accepted.is_about(&facts, &plan, &order));
        let other_facts = facts.clone();
        assert!(!accepted.is_about(&other_facts, &plan, &order));
        assert!(!accepted.is_about(&facts, &Plan::default(), &order));
        let turned = Witness::new(&facts, order.order[1..].iter().rev().copied(), order.source.clone());
        assert_eq!(accepted.is_about(&facts, &plan, &turned), turned.order == order.order);
    }
    assert!(accepted_count > 0);
}
