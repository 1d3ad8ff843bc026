//! Attacks on certificates: whatever is changed, the checker accepts only what is true.
//!
//! A certificate of the engine is changed, given for another level, another clock skew or a neighbouring history, or
//! mixed with another one. What the checker then accepts is asked of the brute-force oracle, which shares no code with
//! either. `ISOSCOPE_SOAK` says how many attacks each test makes (20,000 unless told).

use certify::{Certificate, Fingerprint, Level};
use history::{Datum, History, Outcome};
use index::Index;
use isoscope_verify::{Options, Verdict, verify};
use testkit::{Random, Sketch, generate_mixed, has_certificates, mutate, oracle};

const FIRST_SEED: u64 = 5_000_000;

fn attacks() -> u64 {
    std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(20_000)
}

/// A history that the oracle understands, a level that has certificates for it, and the engine's certificate.
struct Target {
    seed: u64,
    sketch: Sketch,
    history: History,
    level: Level,
    certificate: Certificate,
}

impl Target {
    fn draw(seed: u64) -> Option<Self> {
        let mut random = Random::new(seed);
        let sketch = generate_mixed::sketch(&mut random);
        let history = sketch.build();
        if oracle::refusal(&history).is_some() {
            return None;
        }
        let level = any_level(&history, &mut random);
        let answer = verify(&history, &Index::of(&history), &level, &Options::default()).ok()?;
        let (Verdict::Holds(certificate) | Verdict::Violated(certificate)) = answer.verdict else {
            return None;
        };
        certify::check(&history, &level, &certificate).unwrap_or_else(|flaw| {
            panic!("seed {seed}, {level:?}: the engine's own certificate: {flaw}\n{}", text(&history))
        });
        let claim = matches!(certificate, Certificate::Holds { .. });
        assert_eq!(
            claim,
            oracle::holds(&history, &level),
            "seed {seed}: the engine is wrong at {level:?}\n{}",
            text(&history)
        );
        Some(Self { seed, sketch, history, level, certificate })
    }
}

fn any_level(history: &History, random: &mut Random) -> Level {
    let levels: Vec<Level> = Level::NAMED.iter().map(|&(_, level)| level).collect();
    let levels: Vec<Level> = levels.into_iter().filter(|level| has_certificates(history, level)).collect();
    random.pick(&levels).with_clock_skew(*random.pick(&[0, 0, 2, 5]))
}

fn text(history: &History) -> String {
    formats::notation::print(history).unwrap()
}

/// What the attacks of a test came to.
#[derive(Default, Debug)]
struct Tally {
    refused: u64,
    accepted: u64,
}

impl Tally {
    fn total(&self) -> u64 {
        self.refused + self.accepted
    }

    /// Gives a certificate to the checker; what it accepts must be true.
    fn attack(&mut self, seed: u64, history: &History, level: &Level, certificate: &Certificate) {
        if certify::check(history, level, certificate).is_err() {
            self.refused += 1;
            return;
        }
        self.accepted += 1;
        if oracle::refusal(history).is_some() {
            return;
        }
        let claim = matches!(certificate, Certificate::Holds { .. });
        assert_eq!(
            claim,
            oracle::holds(history, level),
            "seed {seed}: the checker accepts a false claim at {level:?}\n{}\n{certificate:#?}",
            text(history)
        );
    }
}

/// Draws targets until there were enough attacks.
fn attack_until_enough(first_seed: u64, attack: impl Fn(&Target, &mut Random, &mut Tally)) -> Tally {
    println!("seeds from {first_seed}");
    let mut tally = Tally::default();
    let mut seed = first_seed;
    while tally.total() < attacks() {
        seed += 1;
        if let Some(target) = Target::draw(seed) {
            attack(&target, &mut Random::new(seed), &mut tally);
        }
    }
    println!("{tally:?} after seed {seed}");
    tally
}

#[test]
fn soak_a_changed_certificate_proves_nothing_false() {
    attack_until_enough(FIRST_SEED, |target, random, tally| {
        let mut mutant = target.certificate.clone();
        for _ in 0..10 {
            let base = if random.percent(70) { &target.certificate } else { &mutant };
            mutant = mutate::mutate(base, random);
            tally.attack(target.seed, &target.history, &target.level, &mutant);
        }
    });
}

#[test]
fn soak_a_certificate_for_another_level_or_skew_proves_nothing_false() {
    attack_until_enough(2 * FIRST_SEED, |target, random, tally| {
        for _ in 0..6 {
            let level = any_level(&target.history, random);
            tally.attack(target.seed, &target.history, &level, &target.certificate);
        }
        let own = target.level;
        for skew in [0, 1, own.clock_skew + 1, i64::MAX, -1] {
            tally.attack(target.seed, &target.history, &own.with_clock_skew(skew), &target.certificate);
        }
    });
}

#[test]
fn soak_a_certificate_for_a_neighbouring_history_proves_nothing_false() {
    attack_until_enough(3 * FIRST_SEED, |target, random, tally| {
        for _ in 0..10 {
            let neighbour = neighbour(&target.sketch, random);
            tally.attack(target.seed, &neighbour, &target.level, &target.certificate);
        }
    });
}

#[test]
fn soak_certificates_of_neighbours_mixed_prove_nothing_false() {
    attack_until_enough(4 * FIRST_SEED, |target, random, tally| {
        for _ in 0..3 {
            let other = neighbour(&target.sketch, random);
            if !has_certificates(&other, &target.level) {
                continue;
            }
            let answer = verify(&other, &Index::of(&other), &target.level, &Options::default());
            let Ok(Verdict::Holds(certificate) | Verdict::Violated(certificate)) =
                answer.map(|it| it.verdict)
            else {
                continue;
            };
            tally.attack(target.seed, &target.history, &target.level, &certificate);
            for _ in 0..3 {
                let mixed = mutate::cross(&target.certificate, &certificate, random);
                tally.attack(target.seed, &target.history, &target.level, &mixed);
                tally.attack(target.seed, &other, &target.level, &mixed);
            }
        }
    });
}

/// A history that differs in one thing: an outcome, a time, a value, a version, a key, an operation.
fn neighbour(sketch: &Sketch, random: &mut Random) -> History {
    let mut sketch = sketch.clone();
    let (keys, count) = (sketch.keys.len(), sketch.txns().count());
    if count == 0 {
        return sketch.build();
    }
    let place = random.below(count);
    let txn = sketch.txns_mut().nth(place).unwrap();
    let nudge = random.below(9) as i64 - 4;
    match random.below(8) {
        0 => txn.outcome = *random.pick(&[Outcome::Committed, Outcome::Aborted, Outcome::Unknown]),
        1 => txn.times.commit_response = txn.times.commit_response.map(|time| time + nudge),
        2 => txn.times.begin_request = txn.times.begin_request.map(|time| time + nudge),
        3 => txn.times = Default::default(),
        _ if txn.ops.is_empty() => {}
        4 => drop(txn.ops.remove(random.below(txn.ops.len()))),
        5 => {
            let op = random.below(txn.ops.len());
            let key = random.below(keys);
            txn.ops[op].keys_mut().into_iter().for_each(|old| *old = key);
        }
        6 => {
            let op = random.below(txn.ops.len());
            txn.ops[op].version = txn.ops[op].version.map(|version| version + nudge);
        }
        _ => {
            let op = random.below(txn.ops.len());
            let value = Datum::Int(*random.pick(&[0, 1, 2, 3, 11, 21]));
            for key in 0..keys {
                txn.ops[op].values_mut(key).into_iter().for_each(|old| *old = value.clone());
            }
        }
    }
    sketch.build()
}

/// The text of a certificate with anything done to it is an error or a document, and never accepted for a false claim.
#[test]
fn soak_a_changed_text_is_refused_or_true() {
    attack_until_enough(6 * FIRST_SEED, |target, random, tally| {
        let mut bytes = Vec::new();
        let fingerprint = Fingerprint::of(&target.history);
        certify::write(&target.certificate, &target.level, fingerprint, &mut bytes).unwrap();
        for _ in 0..20 {
            let mut text = bytes.clone();
            for _ in 0..random.between(1, 3) {
                change_text(&mut text, random);
            }
            match certify::read(&text) {
                Err(_) => tally.refused += 1,
                Ok(document) if document.history != fingerprint => {
                    assert!(document.check(&target.history).is_err());
                    tally.refused += 1;
                }
                Ok(document) => {
                    tally.attack(target.seed, &target.history, &document.level, &document.certificate);
                }
            }
        }
    });
}

fn change_text(text: &mut Vec<u8>, random: &mut Random) {
    const PIECES: [&[u8]; 18] = [
        b"0",
        b"1",
        b"2",
        b"9",
        b"t",
        b"b",
        b"c",
        b"!",
        b"<",
        b"=",
        b"init",
        b"[",
        b"]",
        b",",
        b"4294967295",
        b"18446744073709551616",
        b"-1",
        b"true",
    ];
    let place = random.below(text.len().max(1));
    match random.below(4) {
        0 if place < text.len() => drop(text.remove(place)),
        1 if place < text.len() => text[place] = b"0123456789tbcrin!<="[random.below(19)],
        2 if place < text.len() => {
            let end = (place + random.below(40)).min(text.len());
            let piece = text[place..end].to_vec();
            drop(text.splice(place..place, piece));
        }
        _ => drop(text.splice(place..place, random.pick(&PIECES).iter().copied())),
    }
}
