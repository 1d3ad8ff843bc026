//! All histories of a scope, and proofs that there are none.

mod common;

use std::collections::BTreeSet;

use common::{confirm, problem, scope};
use isoscope_synth::{Options, Synthesis, all, proof};
use spec::oracle;
use spec::{SmallHistory, SmallTxn};

/// The histories of two transactions, one object and chained sessions, by plain enumeration: each reads or not, writes
/// or not, from any writer, in one session or in two.
fn by_enumeration(allow: &str, forbid: &str) -> usize {
    let problem = problem(allow, forbid, Options::default());
    let mut kinds = BTreeSet::new();
    for code in 0..2 * 2 * 3 * 3 * 3 {
        let (writes, reads, sessions) = ((code & 1, code >> 1 & 1), (code / 4 % 3, code / 12 % 3), code / 36);
        let mut txns = Vec::new();
        for (own, read, write) in [(0, reads.0, writes.0), (1, reads.1, writes.1)] {
            // A read of 0 is no read, of 1 the initial state, of 2 the other transaction.
            let other = 2 - own as u32;
            let reads: Vec<(usize, u32)> = match read {
                0 => vec![],
                1 => vec![(0, 0)],
                _ => vec![(0, other)],
            };
            let writes: Vec<(usize, u32)> = if write == 1 { vec![(0, own as u32 + 1)] } else { vec![] };
            txns.push(SmallTxn::committed(if sessions == 0 { 0 } else { own }, &reads, &writes));
        }
        if sessions == 2 {
            continue;
        }
        let is_well_formed = txns.iter().enumerate().all(|(own, txn)| {
            let sourced = txn.reads.iter().all(|&(_, value)| value == 0 || !txns[1 - own].writes.is_empty());
            sourced && !(txn.reads.is_empty() && txn.writes.is_empty())
        });
        let history = SmallHistory::new(txns);
        let is_answer = problem.allow.iter().all(|level| oracle::holds(&history, level))
            && problem.forbid.iter().all(|level| !oracle::holds(&history, level));
        if is_well_formed && is_answer {
            kinds.insert(canonical(&history));
        }
    }
    kinds.len()
}

/// The same for both names of the two transactions, unless a session orders them.
fn canonical(history: &SmallHistory) -> String {
    let named = |first: usize, second: usize| {
        let value = |value: u32| {
            if value == 0 {
                0
            } else if value as usize == first + 1 {
                1
            } else {
                2
            }
        };
        let line = |txn: &SmallTxn| {
            let reads: Vec<u32> = txn.reads.iter().map(|&(_, read)| value(read)).collect();
            let writes: Vec<u32> = txn.writes.iter().map(|&(_, written)| value(written)).collect();
            format!("{reads:?} {writes:?}")
        };
        format!("{} / {}", line(&history.txns[first]), line(&history.txns[second]))
    };
    if history.txns[0].session == history.txns[1].session {
        return format!("one session {}", named(0, 1));
    }
    named(0, 1).min(named(1, 0))
}

#[test]
fn all_histories_of_a_tiny_scope() {
    for (allow, forbid) in [
        ("", "session-serializable"),
        ("read-atomic", "update-atomic"),
        ("", "read-atomic"),
        ("serializable", ""),
    ] {
        let problem = problem(allow, forbid, Options::default());
        let found = all(&problem, scope(2, 1, 3), 1000);
        assert!(found.is_complete);
        assert_eq!(found.histories.len(), by_enumeration(allow, forbid), "{{{allow}, !{forbid}}}");
    }
}

#[test]
fn all_histories_differ_and_are_right() {
    let problem = problem("session-snapshot-isolation", "session-serializable", Options::default());
    let found = all(&problem, scope(2, 2, 3), 1000);
    assert!(found.is_complete);
    let texts: BTreeSet<String> = found.histories.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), found.histories.len());
    for history in found.histories {
        for (levels, expected) in [(&problem.allow, true), (&problem.forbid, false)] {
            assert!(levels.iter().all(|level| oracle::holds(&history, level) == expected), "{history}");
            levels.iter().for_each(|level| common::confirm_by_engine(&history, &level.name, expected));
        }
    }
    assert!(!all(&problem, scope(2, 2, 3), 1).is_complete);
}

#[test]
fn none_can_be_proved() {
    let options = Options { log_proof: true, ..Options::default() };
    for (allow, forbid, at) in [
        ("session-serializable", "session-snapshot-isolation", scope(5, 3, 5)),
        ("si-b", "ser-b", scope(4, 1, 5)),
        ("causal", "read-atomic", scope(4, 2, 5)),
        ("causal", "prefix", scope(3, 2, 5)),
        ("psi-c,pc-c", "si-c", scope(3, 2, 3)),
    ] {
        let problem = problem(allow, forbid, options);
        let outcome = isoscope_synth::synth_within(&problem, at);
        if let Synthesis::Found(found) = &outcome {
            confirm(&problem, found);
            panic!("unexpected:\n{}", found.history);
        }
        let Synthesis::None(none) = outcome else { unreachable!() };
        let log = none.proof.expect("asked for");
        assert_eq!(proof::check(&log.clauses), Ok(()), "{{{allow}, !{forbid}}}");
        assert!(log.legend.contains(&format!("forbidden: {forbid}")));
        assert!(log.clauses.dimacs(&log.legend).contains("p cnf"));
    }
}

#[test]
fn a_proof_with_a_clause_missing_is_no_proof() {
    let options = Options { log_proof: true, ..Options::default() };
    let Synthesis::None(none) =
        isoscope_synth::synth_within(&problem("si-b", "ser-b", options), scope(4, 1, 5))
    else {
        panic!("one object has no write skew")
    };
    let mut clauses = none.proof.expect("asked for").clauses;
    clauses.given.truncate(clauses.given.len() / 2);
    assert_ne!(proof::check(&clauses), Ok(()));
}
