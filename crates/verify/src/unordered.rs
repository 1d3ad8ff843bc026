//! Levels that do not ask for session order, decided with most of it all the same.
//!
//! Sessions are the chains that make the closure small and the guess good, and an order that respects them is an answer
//! for a level that does not ask for that. So they are assumed, and if that leads to a contradiction, the links between
//! transactions that its derivation uses are cut, and the question is asked again. A derivation that uses none is one
//! for the level itself. Every round cuts at least one link, so it ends; after `ROUNDS` all links are cut at once.
//!
//! Without this, BL-10k with one stale read in a session was not decided in three minutes: 174,687 open pairs are left
//! when no session is a chain. With it, two rounds decide it.

use certify::{Certificate, Level, Node, Rule};
use history::{History, Index};

use crate::problem::Links;
use crate::{Answer, Options, Verdict, engine};

/// How often links are cut one by one.
const ROUNDS: u64 = 40;

pub(crate) fn decide(history: &History, index: &Index, level: &Level, options: &Options<'_>) -> Answer {
    let mut cuts = vec![false; history.txn_count()];
    for round in 1.. {
        let links = Links::Cut(cuts.clone());
        let mut answer = engine::decide(history, index, level, &links, options);
        answer.stats.set("session rounds", round);
        let Verdict::Violated(certificate) = &answer.verdict else { return answer };
        if !cut_used_links(certificate, level, &mut cuts) {
            return answer;
        }
        if round == ROUNDS {
            cuts.fill(true);
        }
    }
    unreachable!("every round cuts a link, and there are only so many")
}

/// Cuts the last link of every stretch of a session that a derivation uses; false if it uses none.
fn cut_used_links(certificate: &Certificate, level: &Level, cuts: &mut [bool]) -> bool {
    let Certificate::Violated { steps, .. } = certificate else { return false };
    let mut is_used = false;
    for step in steps.iter().filter(|step| step.rule == Rule::Session) {
        let ends = step.clause.iter().filter_map(|lit| match lit.atom {
            certify::Atom::Before(_, end) => Some(end),
            _ => None,
        });
        for txn in ends.filter_map(|end: Node| end.txn(level.events_per_txn())) {
            cuts[txn.index()] = true;
            is_used = true;
        }
    }
    is_used
}
