//! The corpus against the oracle and the reference semantics.

use certify::Level;
use isoscope_testkit::{corpus, oracle, reference};

#[test]
fn every_verdict_of_the_corpus_is_that_of_both_oracles() {
    let mut wrong = Vec::new();
    let mut count = 0;
    corpus::for_each(|case, level, holds| {
        count += 1;
        let by_reference = reference::holds(&case.history, level, 0).expect("a level of the library");
        let by_oracle = Level::named(level).map_or(holds, |level| oracle::holds(&case.history, &level));
        if by_reference != holds || by_oracle != holds {
            wrong.push(format!(
                "{}: {level}: corpus {holds}, reference {by_reference}, oracle {by_oracle}",
                case.name
            ));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 400, "only {count} verdicts");
}

#[test]
fn every_verdict_of_rows_is_that_of_the_oracle() {
    let cases = corpus::rows();
    assert!(cases.len() >= 90, "only {} cases", cases.len());
    for case in &cases {
        for &(name, holds) in &case.verdicts {
            let level = Level::named(name).expect("a level with certificates");
            assert_eq!(oracle::holds(&case.history, &level), holds, "{} at {name}", case.name);
        }
    }
}

#[test]
fn every_case_says_why_and_has_a_name_of_its_own() {
    let cases = [corpus::named(), corpus::rows(), corpus::counterexamples()].concat();
    let mut names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), cases.len());
    assert!(cases.iter().all(|case| case.why.ends_with('.') && case.history.txn_count() > 0));
}

#[test]
fn the_recordings_are_there_when_their_folder_is() {
    let recordings = corpus::recordings();
    assert!(recordings.iter().all(|recording| recording.path.exists()), "the table and the folder agree");
    assert!(recordings.iter().all(|recording| Level::named(&recording.level).is_some()));
}
