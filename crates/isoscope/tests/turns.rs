//! Levels that were not named take turns where time is limited, instead of a short search each.

use std::time::Duration;

use drive::simulate::{Config, StoreLevel, generate, preset};
use isoscope::{Check, Decision, LevelId, Limits};

#[test]
fn levels_that_were_not_named_are_searched_for_as_long_as_their_turns_last() {
    let base = preset("twitter").expect("a workload");
    let level = StoreLevel::Prefix;
    let config = Config {
        seed: 967_396,
        level,
        transactions: 300,
        keys: 5,
        sessions: 30,
        record_times: false,
        ..base
    };
    let history = generate(&config).unwrap();
    let limits = Limits::start(Some(Duration::from_secs(60)), None).unwrap();
    let report = Check::new(&history).monitor(&limits).run().unwrap();
    for level in [LevelId::ParallelSi, LevelId::UpdateAtomic, LevelId::NoLostUpdate] {
        let answer = report.answers.iter().find(|answer| answer.level.shipped() == Some(level));
        assert_eq!(answer.map(|answer| answer.decision), Some(Decision::Violated), "{level}");
    }
}
