//! Levels that do not ask for session order, decided with most of it all the same.
//!
//! Sessions are the chains that make the closure small and the guess good, and an order that respects them is an answer
//! for a level that does not ask for that. So they are assumed, and if that leads to a contradiction, transactions whose
//! place in their session its derivation uses are taken out of their sessions, and the question is asked again. A
//! derivation that uses no session is one for the level itself. Of the stretches of sessions that a derivation uses, short
//! ones are doubted first: what two neighbours say of each other is wrong more easily than what a long stretch says.
//! Every round takes a transaction out, so it ends; after `ROUNDS` all are taken out at once.
//!
//! After a few rounds, saturation does not stop at the first contradiction but looks for more, so that what is wrong at
//! many places is mended at many places in one round. A transaction that is taken out leaves its neighbours linked, so
//! the chains stay few and long.
//!
//! Without any of this, BL-10k with one stale read in a session was not decided in three minutes: 174,687 open pairs are
//! left when no session is a chain. With it, two rounds decide it. 10,000 transactions with 200 pairs of neighbours
//! exchanged take 26 ms on uniform keys (one round) and 140 ms on 90 hot keys that are read and written (10 rounds; 13
//! when sessions were cut at every stretch that a contradiction used). On skewed keys with 20 operations and duplicate
//! values the contradictions become large after ten rounds, and 40 rounds (5 s of processor time) do not end it.
//!
//! Before the second round the transactions are run without any session order (`schedule`), which explains a history
//! with a writer and a reader for each of many values at once. 500 exchanged pairs of neighbours in 5,000 transactions on
//! 20 keys take 0.5 s and 12 rounds; 5,000 in 50,000 are not decided in 20 s, since every round costs half a second and
//! mends few places.
//!
//! What did not pay: as many more contradictions as one for 200 transactions, with as many cycles, which took longer to
//! find than it saved; also going on after reads that lost all their sources, since their derivations take seconds to
//! write; doubting ever more stretches of each derivation, which takes thousands out for nothing. Two further attempts at
//! 100,000 transactions with unique values and blind writes on 10,000 keys from a store at read-committed (40 s do not
//! decide it): a closure without sessions of windows of 1,000 and 8,000 transactions found no contradiction in any of
//! them, since a version is read for 2,500 transactions on average and what leads back to it is not in the window;
//! derivations that avoid sessions where they can (each session step 64 times as dear) did not end in the 11 rounds (5 s) that they were given.

use certify::{Atom, Certificate, Level, Node, Rule};
use history::{History, TxnId};
use index::Index;
use rustc_hash::FxHashMap;

use crate::problem::Links;
use crate::{Options, Stats, Verdict, Verified, engine};

/// How often transactions are taken out of sessions before all are.
const ROUNDS: u64 = 400;

/// How many rounds look for one contradiction.
const SINGLE_ROUNDS: u64 = 2;

/// How many more contradictions are looked for after that.
const MORE: usize = 32;

/// How many stretches are few.
const FEW: usize = 4;

pub(crate) fn decide(history: &History, index: &Index, level: &Level, options: &Options<'_>) -> Verified {
    let mut detached = vec![false; history.txn_count()];
    for round in 1.. {
        if round == 2
            && options.stages.schedule
            && let Some(answer) = engine::schedule_without_sessions(history, index, level, options)
        {
            return answer;
        }
        let links = Links::Without(detached.clone());
        let more = if round <= SINGLE_ROUNDS { 0 } else { MORE };
        let (mut answer, others) = engine::decide_with_more(history, index, level, &links, options, more);
        answer.stats.set("session rounds", round);
        let Verdict::Violated(certificate) = &answer.verdict else { return answer };
        let certificates = std::iter::once(certificate).chain(&others);
        let found: Vec<_> = certificates.clone().map(|one| Stretches::of(history, one, level)).collect();
        if let Some((_, own)) = found.iter().zip(certificates).find(|(stretches, _)| stretches.0.is_empty()) {
            return violated(history, index, level, options, &links, own, answer.stats.clone());
        }
        detach(found, &mut detached);
        if round == ROUNDS {
            detached.fill(true);
        }
    }
    unreachable!("every round takes a transaction out, and there are only so many")
}

/// The level itself is violated: the simplest derivation, if that one needs no session either.
fn violated(
    history: &History,
    index: &Index,
    level: &Level,
    options: &Options<'_>,
    links: &Links,
    certificate: &Certificate,
    stats: Stats,
) -> Verified {
    let simplest = engine::decide(history, index, level, links, options).verdict;
    let verdict = match simplest {
        Verdict::Violated(simplest) if Stretches::of(history, &simplest, level).0.is_empty() => {
            Verdict::Violated(simplest)
        }
        _ => Verdict::Violated(certificate.clone()),
    };
    Verified { verdict, stats }
}

/// The stretches of sessions that a derivation uses, shortest first: how long, and which transaction is at the end.
struct Stretches(Vec<(u32, TxnId)>);

impl Stretches {
    fn of(history: &History, certificate: &Certificate, level: &Level) -> Self {
        let Certificate::Violated { steps, .. } = certificate else { return Self(Vec::new()) };
        let txn = |node: Node| node.txn(level.events_per_txn());
        let mut stretches = Vec::new();
        for step in steps.iter().filter(|step| step.rule == Rule::Session) {
            let ends = step.clause.iter().filter_map(|lit| match lit.atom {
                Atom::Before(start, end) => Some((txn(start)?, txn(end)?)),
                _ => None,
            });
            let of_session =
                ends.filter(|&(start, end)| history.session_of(start) == history.session_of(end));
            stretches.extend(of_session.map(|(start, end)| (end.0.abs_diff(start.0), end)));
        }
        stretches.sort_unstable();
        stretches.dedup();
        Self(stretches)
    }
}

/// Takes transactions out of their sessions until each derivation lacks one. Of a derivation that uses few stretches it is
/// one that is short and that others use too; of one that uses many all of the shortest, since more rounds cost more.
fn detach(mut found: Vec<Stretches>, detached: &mut [bool]) {
    found.sort_by_key(|stretches| stretches.0.len());
    let mut weight: FxHashMap<TxnId, f64> = FxHashMap::default();
    for Stretches(stretches) in &found {
        for &(length, end) in stretches {
            *weight.entry(end).or_default() += 1.0 / (stretches.len() as f64 * f64::from(length.max(1)));
        }
    }
    for Stretches(mut stretches) in found {
        if stretches.iter().any(|&(_, end)| detached[end.index()]) {
            continue;
        }
        if stretches.len() <= FEW {
            stretches.sort_by(|(_, a), (_, b)| weight[b].total_cmp(&weight[a]).then(a.cmp(b)));
            stretches.truncate(1);
        } else {
            let shortest = stretches[0].0;
            stretches.retain(|&(length, _)| length == shortest);
        }
        stretches.iter().for_each(|&(_, end)| detached[end.index()] = true);
    }
}
