//! Certificates of every kind through their text form, and fingerprints of many histories.

use std::collections::BTreeMap;

use certify::{Fingerprint, Level};
use isoscope_testkit::exhaustive::Scope;
use isoscope_testkit::generate::{self, Shape};
use isoscope_testkit::{Random, mutate, oracle, prove};

#[test]
fn certificates_come_back_as_they_were_written() {
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let mut shape = Shape::any(&mut random);
        shape.most_txns = 4;
        let history = generate::sketch(&mut random, &shape).build();
        let level = random.pick(&Level::NAMED).1.with_clock_skew(random.below(3) as i64);
        let certificate =
            oracle::explain(&history, &level).or_else(|| prove::violated(&history, &level)).unwrap();
        let mutant = mutate::mutate(&certificate, &mut random);
        for certificate in [certificate, mutant] {
            let mut text = Vec::new();
            let fingerprint = Fingerprint::of(&history);
            certify::write(&certificate, &level, fingerprint, &mut text).unwrap();
            match certify::read(&text) {
                Ok(document) => {
                    assert_eq!((document.level, document.history), (level, fingerprint));
                    assert_eq!(document.certificate, certificate);
                }
                // A negated order literal has no text of its own: it is written as something that cannot be read.
                Err(error) => assert!(error.to_string().contains("expected a literal"), "{error}"),
            }
        }
    }
}

#[test]
fn different_histories_have_different_fingerprints() {
    let scope = Scope {
        sessions: vec![1, 1],
        keys: 2,
        ops: 2,
        values: 3,
        outcomes: vec![history::Outcome::Committed, history::Outcome::Unknown],
    };
    let mut seen = BTreeMap::new();
    for history in scope.histories() {
        let text = formats::notation::print(&history).unwrap();
        let earlier = seen.insert(Fingerprint::of(&history), text.clone());
        assert_eq!(earlier, None, "{text}");
    }
    assert!(seen.len() > 5_000, "{}", seen.len());
}
