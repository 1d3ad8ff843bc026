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
//! the chains stay few and long. From then on only transactions that are some places apart in their session are taken to
//! be in order (`DISTANCES`): most breaks of session order exchange neighbours, and a session that is loosened like that
//! is a few chains instead of one. If that does not end it, a contradiction without any session is looked for
//! (`matrix.rs`).
//!
//! Without any of this, BL-10k with one stale read in a session was not decided in three minutes: 174,687 open pairs are
//! left when no session is a chain. With it, two rounds decide it. 500 exchanged pairs of neighbours in 5,000 transactions
//! on 20 keys take 4 rounds and 0.06 s of processor time (12 rounds and 0.13 s before sessions were loosened), 5,000 in
//! 50,000 take 6 rounds and 0.7 to 1.8 s (undecided after 20 s before). 20,000 transactions of a store at snapshot
//! isolation violate serializability in 0.8 s (117 rounds did not decide it in 20 s before there was the matrix), 100,000
//! with blind writes alone on 10,000 keys from a store at read-committed in 12 s (undecided after 20 s before).
//!
//! Before the second round the transactions are run without any session order (`schedule`), which explains a history
//! with a writer and a reader for each of many values at once.
//!
//! What did not pay: as many more contradictions as one for 200 transactions, with as many cycles, which took longer to
//! find than it saved; also going on after reads that lost all their sources, since their derivations take seconds to
//! write; doubting ever more stretches of each derivation, which takes thousands out for nothing; distances of 16 to 64,
//! with which a round takes seconds and finds as few contradictions; a closure without sessions of windows of 1,000 and
//! 8,000 transactions, since a version is read for 2,500 transactions on average and what leads back to it is not in the
//! window; derivations that avoid sessions where they can (each session step 64 times as dear).

use certify::{Atom, Certificate, Level, Node, Rule};
use history::{History, TxnId};
use index::Index;
use rustc_hash::FxHashMap;

use crate::problem::Links;
use crate::{Options, Stats, Verdict, Verified, engine};

/// How often transactions are taken out of sessions before all are.
const ROUNDS: u64 = 400;

/// The round before which a contradiction is looked for that uses no session.
const MATRIX_ROUND: u64 = 6;

/// For each round how far apart transactions of a session are that it takes to be in order; the last one is for all
/// further rounds.
const DISTANCES: [usize; 4] = [1, 1, 2, 4];

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
        if round == MATRIX_ROUND
            && options.stages.saturate
            && let Some(answer) = engine::refute_without_sessions(history, index, level, options)
        {
            return answer;
        }
        let distance = DISTANCES[DISTANCES.len().min(round as usize) - 1];
        let links = Links::without(detached.clone(), distance);
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
