//! Levels that do not ask for session order, on histories whose sessions are wrong at many places.

use certify::Level;
use history::{Builder, History, InitialState, Outcome, ValueId};
use index::Index;
use isoscope_verify::{Options, Verdict, verify};
use testkit::Random;

/// A transaction as (key, value, whether it wrote).
type Txn = Vec<(u32, u32, bool)>;

const SESSIONS: usize = 8;

/// Transactions as they ran one after the other, dealt to sessions.
fn sessions(random: &mut Random, count: usize, keys: usize) -> Vec<Vec<Txn>> {
    let mut state = vec![0; keys];
    let mut sessions = vec![Vec::new(); SESSIONS];
    let mut last_value = 0;
    for _ in 0..count {
        let mut txn = Txn::new();
        for _ in 0..4 {
            // Skewed: the smaller the key, the hotter.
            let key = random.below(keys).min(random.below(keys));
            let is_write = random.below(2) == 0;
            if is_write {
                last_value += 1;
                state[key] = last_value;
            }
            txn.push((key as u32, state[key], is_write));
        }
        sessions[random.below(SESSIONS)].push(txn);
    }
    sessions
}

fn exchange_neighbours(random: &mut Random, sessions: &mut [Vec<Txn>], count: usize) {
    for _ in 0..count {
        let session = &mut sessions[random.below(SESSIONS)];
        let place = random.below(session.len() - 1);
        session.swap(place, place + 1);
    }
}

fn history(sessions: &[Vec<Txn>]) -> History {
    let mut builder = Builder::new();
    builder.initial = InitialState::all(ValueId(0));
    for txns in sessions {
        let session = builder.session();
        for txn in txns {
            builder.begin(session);
            for &(key, value, is_write) in txn {
                let key = builder.keys.intern_int(i64::from(key));
                match is_write {
                    true => builder.write(key, ValueId(value)),
                    false => builder.read(key, ValueId(value)),
                };
            }
            builder.end(Outcome::Committed);
        }
    }
    builder.finish()
}

/// The verdict, whose certificate is checked, and how many rounds it took.
fn holds(history: &History, level: &str) -> (bool, u64) {
    let level = Level::named(level).unwrap();
    let answer = verify(history, &Index::of(history), &level, &Options::default()).unwrap();
    let (Verdict::Holds(certificate) | Verdict::Violated(certificate)) = &answer.verdict else {
        panic!("undecided without a limit");
    };
    if testkit::has_certificates(history, &level) {
        certify::check(history, &level, certificate).unwrap();
    }
    (matches!(answer.verdict, Verdict::Holds(_)), answer.stats.count("session rounds"))
}

#[test]
fn sessions_that_are_wrong_at_many_places_do_not_matter() {
    let mut random = Random::new(17);
    for (count, keys, exchanged) in [(300, 10, 20), (1500, 60, 100), (2000, 400, 300)] {
        let mut sessions = sessions(&mut random, count, keys);
        assert!(holds(&history(&sessions), "session-serializable").0);
        exchange_neighbours(&mut random, &mut sessions, exchanged);
        let history = history(&sessions);
        assert!(!holds(&history, "session-serializable").0);
        let (is_serializable, rounds) = holds(&history, "serializable");
        assert!(is_serializable);
        assert!(rounds > 1, "what is wrong was not noticed");
    }
}

#[test]
fn a_violation_is_found_behind_sessions_that_are_wrong() {
    let mut random = Random::new(18);
    let mut sessions = sessions(&mut random, 800, 40);
    exchange_neighbours(&mut random, &mut sessions, 60);
    // Each reads what the other overwrites.
    let (a, b) = (1000, 1001);
    sessions[0].push(vec![(a, 0, false), (b, 900_001, true)]);
    sessions[1].push(vec![(b, 0, false), (a, 900_002, true)]);
    assert!(!holds(&history(&sessions), "serializable").0);
}

/// Many sessions of a store at snapshot isolation: pairs of transactions that each miss the write of the other, in the
/// middle of sessions that are wrong at many places.
#[test]
fn a_violation_is_found_without_sessions_if_all_of_them_are_wrong() {
    let mut random = Random::new(19);
    let mut sessions = sessions(&mut random, 2000, 300);
    exchange_neighbours(&mut random, &mut sessions, 1500);
    for pair in 0..20 {
        let (a, b) = (1000 + 2 * pair, 1001 + 2 * pair);
        let places = [random.below(200), random.below(200)];
        sessions[0].insert(places[0], vec![(a, 0, false), (b, 900_000 + a, true)]);
        sessions[1].insert(places[1], vec![(b, 0, false), (a, 900_000 + b, true)]);
    }
    assert!(!holds(&history(&sessions), "serializable").0);
}
