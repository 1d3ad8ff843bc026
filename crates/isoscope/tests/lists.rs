//! Random histories of lists at every level, against a brute force over all orders (`testkit::ListOrders`).
//!
//! `ISOSCOPE_SOAK=20000 cargo test -p isoscope --test lists` draws so many histories.

use history::History;
use isoscope::{Check, Decision, LevelId};
use testkit::ListOrders;
use testkit::generate_rows::{self, RowKind};

/// Levels that speak of an order of transactions. What no-lost-update demands of lists is not decided yet where a
/// stronger level is violated, since a part of a history can violate it although the whole does not.
fn levels(history: &History) -> Vec<LevelId> {
    let others = [LevelId::ReadUncommitted, LevelId::CutIsolation, LevelId::NoLostUpdate];
    let all = LevelId::ALL.into_iter().filter(|level| !others.contains(level));
    all.filter(|level| history.has_times() || !level.needs_times()).collect()
}

/// Whether two transactions appended the same element to a list.
fn has_repeated_element(history: &History) -> bool {
    let mut appended = Vec::new();
    for (id, op) in history.txns().flat_map(|txn| history.ops(txn)) {
        appended.extend(op.value_appended().map(|value| (op.key(), value, history.txn_of(id))));
    }
    appended.sort_unstable();
    appended.dedup();
    appended.windows(2).any(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1))
}

#[test]
fn every_level_agrees_with_the_orders_that_there_are() {
    let count = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(400u64);
    let mut tally = [0usize; 3];
    let mut repeated = [0usize; 2];
    let mut drawn = 0;
    for seed in 0.. {
        if drawn == count {
            break;
        }
        let history = generate_rows::history(seed, RowKind::Lists);
        let Some(orders) = ListOrders::of(&history) else { continue };
        drawn += 1;
        for level in levels(&history) {
            let report = Check::new(&history).level(level).run().expect("an answer");
            let answer = report.answer(level).expect("the level was asked");
            let allowed = orders.allow(level.spec());
            let is_undecided = answer.decision.is_undecided();
            if has_repeated_element(&history) {
                repeated[usize::from(is_undecided)] += 1;
                if is_undecided {
                    continue;
                }
            }
            match answer.decision {
                Decision::Undecided(_) => tally[2] += 1,
                decision => {
                    tally[usize::from(!allowed)] += 1;
                    let text = formats::notation::print(&history).unwrap_or_default();
                    assert_eq!(decision == Decision::Holds, allowed, "seed {seed}, {level}:\n{text}");
                    continue;
                }
            }
            let text = formats::notation::print(&history).unwrap_or_default();
            println!("seed {seed}, {level} is undecided: {:?}\n{text}", answer.obstacle);
        }
    }
    let [holds, violated, undecided] = tally;
    println!("{drawn} histories: {holds} hold, {violated} are violated, {undecided} undecided");
    let [decided, open] = repeated;
    println!("with an element that two transactions appended: {decided} decided, {open} undecided");
    assert_eq!(undecided, 0, "every history of lists is decided at every level");
    assert!(
        open * 20 < decided,
        "{open} answers are undecided where elements are repeated, and {decided} are decided"
    );
}
