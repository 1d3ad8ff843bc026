//! The number of threads changes no verdict, no certificate and no count.

use drive::simulate::{Config, generate, preset};
use history::History;
use isoscope::{Check, LevelId, Stages};

/// Large enough that tables are cut into blocks.
const TRANSACTIONS: u32 = 30_000;

fn history(workload: &str, seed: u64) -> History {
    let config = preset(workload).expect("a workload");
    generate(&Config { seed, transactions: TRANSACTIONS, keys: TRANSACTIONS / 4, ..config })
        .expect("a history")
}

fn answer(history: &History, level: LevelId, threads: usize) -> String {
    // The order of the recorded times would explain most of these histories, and leave nothing for the threads.
    let stages = Stages { recorded: false, ..Stages::default() };
    let check = Check::new(history).stages(stages).level(level).threads(threads);
    let report = check.run().expect("an answer");
    let answer = &report.answers[0];
    format!("{:?} {:?} {:?}", answer.decision, answer.certificate, answer.stats.counts)
}

#[test]
fn several_threads_give_the_same_certificate() {
    for (workload, level) in [
        ("general", LevelId::SessionSerializable),
        ("duplicates", LevelId::SessionSerializable),
        ("blindw-rw", LevelId::StrictSerializable),
        ("blindw-wr", LevelId::SessionSnapshotIsolation),
    ] {
        let history = history(workload, 7);
        let one = answer(&history, level, 1);
        for threads in [2, 5] {
            assert!(answer(&history, level, threads) == one, "{workload}, {level}, {threads} threads");
        }
    }
}

#[test]
fn long_recordings_have_the_same_order_on_several_threads() {
    for (workload, level) in
        [("general", LevelId::SessionSerializable), ("blindw-rw", LevelId::SessionSnapshotIsolation)]
    {
        let transactions = 210_000;
        let config = preset(workload).expect("a workload");
        let config = Config { seed: 3, transactions, keys: transactions / 10, ..config };
        let history = generate(&config).expect("a history");
        let order = |threads: usize| {
            let report = Check::new(&history).level(level).threads(threads).run().expect("an answer");
            let answer = &report.answers[0];
            assert!(answer.stats.stages.iter().any(|&(stage, _)| stage == "recorded"), "{workload}");
            answer.certificate.clone()
        };
        assert!(order(1) == order(2), "{workload}");
    }
}
