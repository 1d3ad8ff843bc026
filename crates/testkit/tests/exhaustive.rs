//! All histories of a small scope: the oracle against the reference semantics, and every certificate through the checker.

use certify::Level;
use history::Outcome::{Committed, Unknown};
use isoscope_testkit::exhaustive::Scope;
use isoscope_testkit::{oracle, prove, reference};

fn check(scope: &Scope, levels: &[(&str, Level)]) -> usize {
    let mut count = 0;
    for history in scope.histories() {
        count += 1;
        for (name, level) in levels {
            let text = || formats::notation::print(&history).unwrap();
            let certificate = oracle::explain(&history, level);
            let holds = certificate.is_some();
            assert_eq!(Some(holds), reference::holds(&history, name, 0), "{name}\n{}", text());
            let certificate = certificate.or_else(|| prove::violated(&history, level));
            let certificate = certificate.unwrap_or_else(|| panic!("{name}: no proof\n{}", text()));
            if !isoscope_testkit::has_certificates(&history, level) {
                continue;
            }
            certify::check(&history, level, &certificate)
                .unwrap_or_else(|flaw| panic!("{name}: {flaw}\n{}", text()));
        }
    }
    count
}

#[test]
fn two_transactions_of_two_operations() {
    for sessions in [vec![2], vec![1, 1]] {
        let scope = Scope { sessions, keys: 2, ops: 2, values: 2, outcomes: vec![Committed] };
        assert!(check(&scope, &Level::NAMED) > 1000);
    }
}

#[test]
fn three_transactions_of_one_operation_with_unknown_outcomes() {
    for sessions in [vec![1, 2], vec![1, 1, 1]] {
        let scope = Scope { sessions, keys: 2, ops: 1, values: 3, outcomes: vec![Committed, Unknown] };
        assert!(check(&scope, &Level::NAMED) > 500);
    }
}

/// On one key, or on two if `ISOSCOPE_SOAK` is set.
#[test]
fn three_transactions_of_two_operations() {
    let levels = ["session-serializable", "session-snapshot-isolation", "prefix"];
    let levels = levels.map(|name| (name, Level::named(name).expect("a named level")));
    let is_soak = std::env::var_os("ISOSCOPE_SOAK").is_some();
    for sessions in [vec![1, 2], vec![1, 1, 1]] {
        let scope = Scope {
            sessions,
            keys: if is_soak { 2 } else { 1 },
            ops: 2,
            values: 2,
            outcomes: vec![Committed],
        };
        assert!(check(&scope, &levels) > 1000);
    }
}
