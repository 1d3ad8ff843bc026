//! The checker against the oracle: it accepts a certificate for every true verdict, and none for a false one.

use certify::{Certificate, Level};
use history::History;
use isoscope_testkit::generate::{self, Shape};
use isoscope_testkit::{Random, has_certificates, mutate, oracle, prove};

/// How many histories to draw: a few thousand, or as many as `ISOSCOPE_SOAK` says.
fn count(usual: u64) -> u64 {
    let soak = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok());
    soak.unwrap_or(usual)
}

/// A history and a level to ask about, drawn together.
fn question(seed: u64, most_txns: usize) -> (History, Level) {
    let mut random = Random::new(seed);
    let mut shape = Shape::any(&mut random);
    shape.most_txns = shape.most_txns.min(most_txns);
    shape.least_txns = 2;
    shape.unknown_initial = random.percent(20);
    let levels: Vec<Level> = Level::NAMED.iter().map(|&(_, level)| level).collect();
    let skew = *random.pick(&[0, 0, 2, 5]);
    let history = generate::sketch(&mut random, &shape).build();
    let levels: Vec<_> = levels.into_iter().filter(|level| has_certificates(&history, level)).collect();
    let level = random.pick(&levels).with_clock_skew(skew);
    (history, level)
}

fn certificate(history: &History, level: &Level) -> Certificate {
    oracle::explain(history, level).unwrap_or_else(|| {
        let proof = prove::violated(history, level);
        proof.unwrap_or_else(|| panic!("{level:?}: no proof\n{}", text(history)))
    })
}

fn text(history: &History) -> String {
    formats::notation::print(history).unwrap()
}

#[test]
fn every_true_verdict_has_a_certificate_that_passes() {
    let mut verdicts = [0u64; 2];
    for seed in 0..count(4_000) {
        let (history, level) = question(seed, 5);
        let certificate = certificate(&history, &level);
        let holds = matches!(certificate, Certificate::Holds { .. });
        verdicts[usize::from(holds)] += 1;
        if let Err(flaw) = certify::check(&history, &level, &certificate) {
            panic!("seed {seed}, {level:?}: {flaw}\n{}\n{certificate:#?}", text(&history));
        }
        assert!(
            !holds || prove::violated(&history, &level).is_none(),
            "seed {seed}: both verdicts have proofs"
        );
    }
    let [violated, holds] = verdicts;
    assert!(
        violated * 5 > holds && holds * 5 > violated,
        "{violated} violated, {holds} hold: one verdict is rare"
    );
}

#[test]
fn no_false_verdict_passes_with_a_changed_certificate() {
    let (mut refused, mut passed) = (0u64, 0u64);
    for seed in 0..count(1_500) {
        let (history, level) = question(seed, 4);
        let mut random = Random::new(seed);
        let original = certificate(&history, &level);
        let mut mutant = original.clone();
        for _ in 0..8 {
            mutant = mutate::mutate(if random.percent(70) { &original } else { &mutant }, &mut random);
            let truth = oracle::holds(&history, &level);
            let claim = matches!(mutant, Certificate::Holds { .. });
            match certify::check(&history, &level, &mutant) {
                Err(_) => refused += 1,
                Ok(()) => {
                    assert_eq!(claim, truth, "seed {seed}, {level:?}\n{}\n{mutant:#?}", text(&history));
                    passed += 1;
                }
            }
        }
    }
    assert!(refused > passed * 2, "{refused} refused, {passed} passed: the changes change too little");
}

/// The strongest test of soundness: a proof for one history, given for another that the level allows.
#[test]
fn no_certificate_passes_for_a_history_with_the_other_verdict() {
    let mut tried = 0u64;
    for seed in 0..count(3_000) {
        let (history, level) = question(seed, 4);
        let proof = certificate(&history, &level);
        let claim = matches!(proof, Certificate::Holds { .. });
        let mut random = Random::new(seed);
        for _ in 0..6 {
            let other = neighbour(&history, &mut random);
            if oracle::holds(&other, &level) == claim {
                continue;
            }
            tried += 1;
            let result = certify::check(&other, &level, &proof);
            assert!(
                result.is_err(),
                "seed {seed}, {level:?}\n{}\n{}\n{proof:#?}",
                text(&history),
                text(&other)
            );
        }
    }
    assert!(tried > 500, "only {tried} pairs");
}

/// A history that differs in one thing.
fn neighbour(history: &History, random: &mut Random) -> History {
    use history::{Datum, Outcome};
    let mut sketch = isoscope_testkit::Sketch::of(history).unwrap();
    let txns: Vec<_> = sketch.txns_mut().collect();
    let place = random.below(txns.len());
    let txn = txns.into_iter().nth(place).unwrap();
    match random.below(5) {
        0 => txn.outcome = *random.pick(&[Outcome::Committed, Outcome::Aborted, Outcome::Unknown]),
        1 => txn.times.commit_response = txn.times.commit_response.map(|time| time + random.below(9) as i64),
        2 => txn.times.begin_request = txn.times.begin_request.map(|time| time - random.below(9) as i64),
        _ if txn.ops.is_empty() => {}
        _ => {
            let op = random.below(txn.ops.len());
            let value = Datum::Int(*random.pick(&[0, 1, 2, 11, 21, 22]));
            let key = txn.ops[op].key().unwrap();
            txn.ops[op].values_mut(key).into_iter().for_each(|old| *old = value.clone());
        }
    }
    sketch.build()
}
