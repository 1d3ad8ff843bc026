//! Levels that do not ask for session order, decided with most of it all the same.
//!
//! Sessions are the chains that make the closure small and the guess good, and an order that respects them is an answer
//! for a level that does not ask for that. So they are assumed, and if that leads to a contradiction, transactions whose
//! place in their session its derivation uses are taken out of their sessions, and the question is asked again. A
//! derivation that uses no session is one for the level itself. Of the stretches of sessions that a derivation uses, the
//! shortest are doubted first: what two neighbours say of each other is wrong more easily than what a long stretch says.
//! Every round takes somebody out, so it ends; after `ROUNDS` all are taken out at once.
//!
//! After a few rounds, saturation does not stop at the first contradiction but looks for more, so that what is wrong at
//! many places is mended at many places in one round; and each time more stretches are doubted.
//!
//! Without any of this, BL-10k with one stale read in a session was not decided in three minutes: 174,687 open pairs are
//! left when no session is a chain. With it, two rounds decide it. Of 10,000 transactions on skewed keys with 200 pairs
//! of neighbours exchanged, the same was true when a contradiction cut the sessions at all the stretches that it used,
//! one contradiction a round.

use certify::{Atom, Certificate, Level, Node, Rule};
use history::{History, Index, TxnId};

use crate::problem::Links;
use crate::{Answer, Options, Stats, Verdict, engine};

/// How often transactions are taken out of sessions before all are.
const ROUNDS: u64 = 200;

/// How many rounds look for one contradiction.
const SINGLE_ROUNDS: u64 = 2;

/// How many more contradictions are looked for after that.
const MORE: usize = 32;

/// After so many rounds one more stretch of each derivation is doubted.
const ROUNDS_PER_STRETCH: u64 = 8;

pub(crate) fn decide(history: &History, index: &Index, level: &Level, options: &Options<'_>) -> Answer {
    let mut detached = vec![false; history.txn_count()];
    for round in 1.. {
        let links = Links::Without(detached.clone());
        let more = if round <= SINGLE_ROUNDS { 0 } else { MORE };
        let (mut answer, others) = engine::decide_with_more(history, index, level, &links, options, more);
        answer.stats.set("session rounds", round);
        let Verdict::Violated(certificate) = &answer.verdict else { return answer };
        let doubted = 1 + (round / ROUNDS_PER_STRETCH) as usize;
        for certificate in std::iter::once(certificate).chain(&others) {
            let stretches = Stretches::of(history, certificate, level);
            if stretches.0.is_empty() {
                return violated(history, index, level, options, &links, certificate, answer.stats.clone());
            }
            stretches.detach(doubted, &mut detached);
        }
        if round == ROUNDS {
            detached.fill(true);
        }
    }
    unreachable!("every round takes somebody out, and there are only so many")
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
) -> Answer {
    let simplest = engine::decide(history, index, level, links, options).verdict;
    let verdict = match simplest {
        Verdict::Violated(simplest) if Stretches::of(history, &simplest, level).0.is_empty() => {
            Verdict::Violated(simplest)
        }
        _ => Verdict::Violated(certificate.clone()),
    };
    Answer { verdict, stats }
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
            let of_session = ends.filter(|&(start, end)| history.session_of(start) == history.session_of(end));
            stretches.extend(of_session.map(|(start, end)| (end.0.abs_diff(start.0), end)));
        }
        stretches.sort_unstable();
        stretches.dedup();
        Self(stretches)
    }

    /// Takes the ends of the shortest out of their sessions, unless another derivation put one of them in doubt.
    fn detach(&self, count: usize, detached: &mut [bool]) {
        if !self.0.iter().any(|&(_, end)| detached[end.index()]) {
            self.0.iter().take(count).for_each(|&(_, end)| detached[end.index()] = true);
        }
    }
}
