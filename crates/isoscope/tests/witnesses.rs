//! Witnesses: small, violating by the oracle, and from which no transaction can be left out.

use std::time::Instant;

use history::{History, TxnId};
use isoscope::witness::Part;
use isoscope::{Check, Decision, LevelId, Witness, certify, formats, history};
use testkit::{Random, corpus, generate, generate_mixed, oracle};

fn witness(history: &History, level: LevelId) -> Option<Witness> {
    let check = Check::new(history).level(level).skews(false);
    let report = check.run().unwrap();
    check.witness(&report.answers[0]).unwrap()
}

/// A witness violates its level by the oracle, and every part without one of its transactions does not.
fn assert_minimal(name: &str, witness: &Witness, level: &certify::Level) {
    assert!(witness.is_minimal, "{name}");
    assert_eq!(oracle::refusal(&witness.history), None, "{name}");
    assert!(!oracle::holds(&witness.history, level), "{name}: the witness holds");
    for txn in witness.history.txns() {
        let Some(part) = witness.without(txn) else { continue };
        let label = witness.history.txn_label(txn);
        assert!(oracle::holds(&part, level), "{name}: {label} can be left out");
    }
}

#[test]
fn the_corpus_has_minimal_witnesses() {
    let mut count = 0;
    for case in corpus::named().iter().chain(&corpus::counterexamples()).chain(&corpus::rows()) {
        for &(name, holds) in &case.verdicts {
            let Some(level) = LevelId::with_engine().find(|level| level.name() == name) else { continue };
            if holds || level.needs_times() && !case.history.has_times() {
                continue;
            }
            let title = format!("{}, {name}", case.name);
            let check = Check::new(&case.history).level(level).skews(false);
            let answer = &check.run().unwrap().answers[0];
            if answer.decision.is_undecided() {
                continue;
            }
            let found = check.witness(answer).unwrap().unwrap_or_else(|| panic!("{title}: no witness"));
            assert_minimal(&title, &found, &level.engine().unwrap());
            count += 1;
        }
    }
    assert!(count > 100, "only {count} witnesses");
}

/// Every violating recording, where the folder with them is at hand; prints the sizes.
#[test]
fn recordings_have_small_witnesses() {
    let (mut sizes, mut checking, mut shrinking) = (Vec::new(), 0.0, 0.0);
    for recording in corpus::recordings().iter().filter(|recording| !recording.holds) {
        let history = recording.load();
        let level = LevelId::with_engine().find(|level| level.name() == recording.level).unwrap();
        let name = recording.path.display().to_string();
        let check = Check::new(&history).level(level).skews(false);
        let started = Instant::now();
        let report = check.run().unwrap();
        let checked = started.elapsed().as_secs_f64();
        let found = check.witness(&report.answers[0]).unwrap().unwrap_or_else(|| panic!("{name}"));
        let took = started.elapsed().as_secs_f64() - checked;
        println!("{} {} {checked:.3} {took:.3} {}", found.history.txn_count(), found.headline, name);
        assert_minimal(&name, &found, &level.engine().unwrap());
        sizes.push(found.history.txn_count());
        (checking, shrinking) = (checking + checked, shrinking + took);
    }
    println!("checking {checking:.1} s, shrinking {shrinking:.1} s, sizes {sizes:?}");
    assert!(sizes.iter().all(|&size| size <= 8), "{sizes:?}");
}

/// Elle's files, where they are at hand: a witness for each of the weakest levels that a file violates; prints the sizes.
#[test]
fn files_of_elle_have_small_witnesses() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories/elle");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
    let mut files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|ending| ending == "edn")).collect();
    files.sort();
    let (mut sizes, mut checking, mut shrinking) = (Vec::new(), 0.0, 0.0);
    for path in &files {
        let history = isoscope::read(path).unwrap();
        let check = Check::new(&history).skews(false);
        let started = Instant::now();
        let report = check.run().unwrap();
        let checked = started.elapsed().as_secs_f64();
        let found = check.witnesses(&report.answers).unwrap();
        let took = started.elapsed().as_secs_f64() - checked;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for witness in &found {
            let size = witness.history.txn_count();
            println!("{name}: {size} of {}, {}: {}", history.txn_count(), witness.level, witness.headline);
            assert!(size <= 8 && witness.is_minimal, "{name}: {size} transactions");
            sizes.push(size);
        }
        let is_violated = report.answers.iter().any(|answer| answer.decision == Decision::Violated);
        assert_eq!(is_violated, !found.is_empty(), "{name}");
        (checking, shrinking) = (checking + checked, shrinking + took);
    }
    let counts: Vec<_> = (1..=8).map(|size| sizes.iter().filter(|&&found| found == size).count()).collect();
    println!(
        "{} files, {} witnesses, of 1 to 8 transactions: {counts:?}; checking {checking:.1} s, shrinking {shrinking:.1} s",
        files.len(),
        sizes.len()
    );
}

/// A part of a history that satisfies a level satisfies it too: otherwise a witness would prove nothing.
#[test]
fn parts_satisfy_what_the_whole_satisfies() {
    let soak = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok());
    let mut tried = 0;
    for seed in 0..soak.unwrap_or(1_500) {
        let mut random = Random::new(seed);
        let history = match seed % 3 {
            0 => generate::history(seed, &generate::Shape::any(&mut random)),
            _ => generate_mixed::history(seed),
        };
        let level = LevelId::with_engine().nth(seed as usize % 9).and_then(LevelId::engine).unwrap();
        // Lists are not decided under prefix consistency, where a list may lose what was appended to it.
        let has_lists =
            history.txns().flat_map(|txn| history.ops(txn)).any(|(_, op)| op.value_appended().is_some());
        if level == certify::Level::PREFIX && has_lists {
            continue;
        }
        if oracle::refusal(&history).is_some() || !oracle::holds(&history, &level) {
            continue;
        }
        for _ in 0..4 {
            let share = *random.pick(&[30, 60, 90]);
            let txns: Vec<bool> = history.txns().map(|_| random.percent(share)).collect();
            let ops: Vec<bool> = (0..history.op_count()).map(|_| random.percent(share.max(60))).collect();
            let part = Part::of(&history, &|txn| txns[txn.index()], &|op| ops[op.index()]);
            let Some(part) = part.filter(|part| oracle::refusal(&part.history).is_none()) else { continue };
            let shown = || {
                let print = |history| formats::notation::print(history).unwrap();
                format!("seed {seed}, {level:?}\n{}\n{}", print(&history), print(&part.history))
            };
            assert!(oracle::holds(&part.history, &level), "{}", shown());
            tried += 1;
        }
    }
    assert!(tried > 500, "only {tried} parts");
}

#[test]
fn a_witness_names_transactions_as_the_history_does() {
    let history = isoscope::parse(
        "a: w(u)=5\na: r(x)=0 r(u)=5 w(x)=1\nb: w(u)=6\nb: w(u)=7\nb: r(u)=7 r(x)=0 w(x)=2\n",
    )
    .unwrap();
    let found = witness(&history, LevelId::SnapshotIsolation).unwrap();
    assert_eq!(found.txns, [TxnId(1), TxnId(4)]);
    let labels: Vec<String> = found.history.txns().map(|txn| found.history.txn_label(txn)).collect();
    assert_eq!(labels, [1, 4].map(|txn| history.txn_label(TxnId(txn))));
    assert_eq!(found.history.op_count(), 4);
    assert_eq!(found.name(), "lost update");
}
