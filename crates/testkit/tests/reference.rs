//! The oracle against the reference semantics of the spec crate: two formulations of the same levels.

use certify::Level;
use isoscope_testkit::generate::{self, Shape};
use isoscope_testkit::{Random, oracle, reference};

#[test]
fn the_oracle_and_the_reference_semantics_agree_on_every_level() {
    let soak = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok());
    let mut verdicts = vec![[0u64; 2]; Level::NAMED.len()];
    for seed in 0..soak.unwrap_or(2_000u64) {
        let mut random = Random::new(seed);
        let mut shape = Shape::any(&mut random);
        shape.most_txns = shape.most_txns.min(5);
        let clock_skew = *random.pick(&[0, 0, 2, 5]);
        let history = generate::sketch(&mut random, &shape).build();
        for (place, (name, level)) in Level::NAMED.into_iter().enumerate() {
            let holds = oracle::holds(&history, &level.with_clock_skew(clock_skew));
            let expected = reference::holds(&history, name, clock_skew).expect("a level of the library");
            let text = || formats::notation::print(&history).unwrap();
            assert_eq!(holds, expected, "seed {seed}, {name}, clock skew {clock_skew}\n{}", text());
            verdicts[place][usize::from(holds)] += 1;
        }
    }
    for ((name, _), [violated, holds]) in Level::NAMED.into_iter().zip(verdicts) {
        println!("{name}: {violated} violated, {holds} hold");
        assert!(violated * 9 > holds && holds * 9 > violated, "{name}: {violated} violated, {holds} hold");
    }
}
