//! Every claim about a small history that a certificate of a level's text can make: the checker accepts one for each true
//! verdict, and none for a false one.
//!
//! A claim that the level holds is an order of transactions with the sources of reads, and a claim that it is violated is
//! a set of transactions. Of at most four transactions all claims are tried, whatever an engine would make of the
//! history; the truth is the reference semantics of the text (`spec::oracle`), and for lists a brute force over orders.
//! `ISOSCOPE_SOAK` says how many histories each test draws.

use certify::text::facts::Facts;
use certify::text::plan::Plan;
use certify::text::{TextCertificate, check_with_skew};
use history::{History, KeyId, OpId, Outcome, TxnId};
use isoscope_testkit::generate::{self, Shape};
use isoscope_testkit::generate_rows::{self, RowKind};
use isoscope_testkit::{ListOrders, Random, with_levels};
use spec::{Framework, Level, SmallHistory, library};

/// More small forms of a history than this are not tried.
const MOST_READINGS: usize = 64;

/// More combinations of sources than this are not tried; then it is not asked whether a true verdict has a proof.
const MOST_COMBINATIONS: usize = 24;

fn count(usual: u64) -> u64 {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Some of the shipped levels that are evaluated along an order and that can be asked of a history.
fn some_levels(history: &History, random: &mut Random) -> Vec<&'static Level> {
    const ENOUGH: usize = 3;
    let is_asked = |level: &&Level| (history.has_times() || !level.needs_times()) && Plan::of(level).is_ok();
    let all: Vec<&Level> = library::levels().iter().filter(is_asked).collect();
    (0..ENOUGH).map(|_| *random.pick(&all)).collect()
}

/// Whether a history satisfies a level by the definition, if that can be asked.
fn truth(history: &History, level: &Level, clock_skew: i64) -> Option<bool> {
    let readings = SmallHistory::readings_up_to(history, clock_skew, level, MOST_READINGS).ok()?;
    Some(readings.iter().any(|reading| spec::oracle::holds(reading, level)))
}

/// Tries all claims about a history and gives how many were accepted.
fn try_claims(history: &History, level: &Level, clock_skew: i64, holds: bool) -> usize {
    let Ok(facts) = Facts::for_level(history, level) else { return 0 };
    let mut accepted = 0;
    let mut offer = |certificate: TextCertificate| {
        let claim = matches!(certificate, TextCertificate::Holds { .. });
        if check_with_skew(history, level, &certificate, clock_skew).is_ok() {
            accepted += 1;
            assert_eq!(claim, holds, "{}, skew {clock_skew}: {certificate:?}\n{}", level.name, text(history));
        }
    };
    let all: Vec<TxnId> = history.txns().collect();
    for txns in subsets(&all) {
        offer(TextCertificate::Violated { txns });
    }
    let (combinations, are_all) = combinations(&facts);
    let may_commit: Vec<TxnId> =
        all.iter().copied().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect();
    for taken in subsets(&may_commit) {
        for order in permutations(taken) {
            for sources in &combinations {
                offer(TextCertificate::Holds { order: order.clone(), sources: sources.clone() });
            }
        }
    }
    let can_be_shown = if holds { are_all } else { can_show_violations(&facts, level) };
    assert!(accepted > 0 || !can_be_shown, "{}: no proof of {holds}\n{}", level.name, text(history));
    accepted
}

/// Whether a read without a source proves a violation: not where it is open what there was at first, nor where only reads
/// of one transaction are compared. An engine then has certificates of another kind.
fn can_show_violations(facts: &Facts, level: &Level) -> bool {
    facts.has_sure_sources() && Plan::of(level).is_ok_and(|plan| !plan.one_source)
}

type Sources = Vec<(OpId, KeyId, Option<TxnId>)>;

/// The choices of sources for the reads that have several, and whether these are all.
fn combinations(facts: &Facts) -> (Vec<Sources>, bool) {
    let mut combinations = vec![Vec::new()];
    for (number, read) in facts.reads().iter().enumerate() {
        if facts.only_source(number).is_some() {
            continue;
        }
        let sources = facts.candidates(number).iter().map(|&node| (node > 0).then(|| facts.txn(node)));
        let sources: Vec<Option<TxnId>> = sources.collect();
        if combinations.len() * sources.len() > MOST_COMBINATIONS {
            return (combinations, false);
        }
        let with = |known: &Sources| {
            let known = known.clone();
            sources.clone().into_iter().map(move |source| {
                known.iter().copied().chain([(read.op, KeyId(read.key), source)]).collect()
            })
        };
        combinations = combinations.iter().flat_map(with).collect();
    }
    (combinations, true)
}

fn subsets(txns: &[TxnId]) -> impl Iterator<Item = Vec<TxnId>> {
    (0..1usize << txns.len()).map(|set| {
        let is_in = |place: &usize| set >> place & 1 == 1;
        (0..txns.len()).filter(is_in).map(|place| txns[place]).collect()
    })
}

fn permutations(txns: Vec<TxnId>) -> Vec<Vec<TxnId>> {
    if txns.is_empty() {
        return vec![txns];
    }
    let first = |place: usize| {
        let mut rest = txns.clone();
        let first = rest.remove(place);
        permutations(rest).into_iter().map(move |rest| [vec![first], rest].concat())
    };
    (0..txns.len()).flat_map(first).collect()
}

fn text(history: &History) -> String {
    formats::notation::print(history).unwrap_or_default()
}

fn small(random: &mut Random) -> Shape {
    let shape = Shape::any(random);
    Shape { least_txns: 2, most_txns: random.between(2, 4), ..shape }
}

#[test]
fn soak_claims_about_registers() {
    let mut accepted = 0;
    for seed in 0..count(3_000) {
        let mut random = Random::new(seed);
        let mut shape = small(&mut random);
        shape.unknown_initial = random.percent(20);
        let history = generate::sketch(&mut random, &shape).build();
        let clock_skew = if shape.times { *random.pick(&[0, 0, 2, 5]) } else { 0 };
        for level in some_levels(&history, &mut random) {
            let Some(holds) = truth(&history, level, clock_skew) else { continue };
            accepted += try_claims(&history, level, clock_skew, holds);
        }
    }
    assert!(accepted > 0);
}

#[test]
fn soak_claims_about_recorded_levels() {
    const LEVELS: [&str; 6] =
        ["read-uncommitted", "read-committed", "causal", "prefix", "snapshot-isolation", "serializable"];
    let mut accepted = 0;
    for seed in 0..count(3_000) {
        let mut random = Random::new(seed);
        let shape = Shape { times: false, ..small(&mut random) };
        let history = generate::sketch(&mut random, &shape).build();
        let names: Vec<&str> = history.txns().map(|_| *random.pick(&LEVELS)).collect();
        let history = with_levels(&history, &names);
        let level = spec::recorded::level(&history).unwrap();
        if Plan::of(&level).is_ok()
            && let Some(holds) = truth(&history, &level, 0)
        {
            accepted += try_claims(&history, &level, 0, holds);
        }
    }
    assert!(accepted > 0);
}

#[test]
fn soak_claims_about_rows() {
    let mut accepted = 0;
    for seed in 0..count(3_000) {
        let mut random = Random::new(seed);
        let content = *random.pick(&[RowKind::Predicates, RowKind::Columns, RowKind::Lists, RowKind::Ranges]);
        let shape = generate_rows::Shape::any(content, &mut random);
        let most_txns = random.between(2, 4);
        let shape =
            generate_rows::Shape { least_txns: 2, most_txns, keys: 2, ops: 3, returning: 80, ..shape };
        let history = generate_rows::sketch(&mut random, &shape).build();
        let orders = if content == RowKind::Lists { ListOrders::of(&history) } else { None };
        for level in some_levels(&history, &mut random) {
            let holds = match &orders {
                Some(_) if !speaks_of_lists(level) => None,
                Some(orders) => Some(orders.allow(level)),
                None => truth(&history, level, 0),
            };
            let Some(holds) = holds else { continue };
            accepted += try_claims(&history, level, 0, holds);
        }
    }
    assert!(accepted > 0);
}

/// Whether the brute force over orders of lists knows the level.
fn speaks_of_lists(level: &Level) -> bool {
    level.framework == Framework::CommitOrder && level.name != "no-lost-update"
}
