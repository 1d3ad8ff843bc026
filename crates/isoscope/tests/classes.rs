//! Classes against verdicts: on random histories of lists and of recorded versions a level is violated exactly if a class
//! that it forbids occurs, by the oracle of `testkit`. `ISOSCOPE_SOAK=20000` asks for that many histories.

use certify::Level;
use history::{History, Outcome};
use index::{FindingKind, Index};
use isoscope::anomalies::lattice::Model;
use isoscope::anomalies::{self, ClassSearch, Tier};
use isoscope::certify;
use isoscope::history;
use testkit::Random;
use testkit::generate_rows::{self, RowKind};

/// A model, the level that it is, and the orders that count beside dependencies.
const MODELS: [(&str, Level, Tier); 5] = [
    ("PL-3", Level::SERIALIZABLE, Tier::Data),
    ("PL-SI", Level::SNAPSHOT_ISOLATION, Tier::Data),
    ("strong-session-serializable", Level::SESSION_SERIALIZABLE, Tier::Process),
    ("strong-session-snapshot-isolation", Level::SESSION_SNAPSHOT_ISOLATION, Tier::Process),
    ("PL-SS", Level::STRICT_SERIALIZABLE, Tier::Realtime),
];

/// Whether the classes have to say everything: no outcome is unknown, every value has one writer, and all was written.
fn is_plain(history: &History, index: &Index) -> bool {
    let is_known = history.txns().all(|txn| history.outcome(txn) != Outcome::Unknown);
    let is_written = index.findings().iter().all(|finding| finding.kind != FindingKind::ThinAirRead);
    is_known && is_written && index.unindexed().is_none() && !has_repeated_element(history)
}

/// Whether an element was appended twice: classes say nothing of its version.
fn has_repeated_element(history: &History) -> bool {
    let ops = history.txns().flat_map(|txn| history.ops(txn));
    let mut appended: Vec<_> = ops.filter_map(|(_, op)| Some((op.key()?, op.value_appended()?))).collect();
    appended.sort_unstable();
    appended.windows(2).any(|pair| pair[0] == pair[1])
}

#[test]
fn soak_classes_and_levels_agree() {
    let count = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok()).unwrap_or(1_500);
    let (mut violated, mut held, mut missed) = (0, 0, 0);
    for seed in 0..count {
        let random = &mut Random::new(seed);
        let content = if random.percent(70) { RowKind::Lists } else { RowKind::Versions };
        let history = generate_rows::history(seed, content);
        let index = Index::of(&history);
        if index.unindexed().is_some() {
            continue;
        }
        for (name, level, tier) in MODELS {
            if level.needs_times() && !history.has_times() {
                continue;
            }
            let forbidden = Model::named(name).expect("a model").forbids();
            let search = ClassSearch { tier, only_most_severe: seed % 2 == 0, ..ClassSearch::default() };
            let found = anomalies::find(&history, &search, &|class| forbidden.contains(class.name()));
            let verdict = verify::verify(&history, &index, &level, &verify::Options::default());
            // Elements that several transactions appended may leave a level open.
            let verdict = match verdict {
                Err(_) if index.doubtful().is_some() => continue,
                verdict => verdict.expect("an engine").verdict,
            };
            let holds = match verdict {
                verify::Verdict::Holds(_) => true,
                verify::Verdict::Violated(_) => false,
                verify::Verdict::Undecided(limit) => panic!("{limit:?}"),
            };
            let names: Vec<_> = found.names().collect();
            assert!(!holds || names.is_empty(), "seed {seed}: {name} holds, and there are {names:?}");
            violated += u32::from(!holds);
            held += u32::from(holds);
            if !holds && names.is_empty() {
                missed += 1;
                // Two appends that no list contains exclude each other as snapshots, in an order that is not known.
                let is_serial = level.core == certify::Core::Serializable;
                let shown = isoscope::formats::notation::print(&history).unwrap_or_default();
                let message = format!("seed {seed}: {name} is violated, and there is no class\n{shown}");
                assert!(!(is_serial && is_plain(&history, &index) && content == RowKind::Lists), "{message}");
            }
        }
    }
    println!("{violated} violated, {held} held, {missed} violated without a class");
    assert!(violated > held / 10 && held > violated / 10 && missed < violated / 5);
}
