//! Decides levels that are given by their text, on histories of any size.
//!
//! A level demands an order in which every visible writer of what is read stands before the source of the read. An order
//! is guessed and evaluated (`certify::text`); each visible writer that stands after a source is a pair that the
//! level demands the other way round. Where what is visible follows from sessions and reads, and every read has one
//! source, these pairs are in every order (`forced.rs`): a cycle among them is a violation, and an order without hits
//! shows that the level holds. Otherwise sources and orders of writers are choices (`choices.rs`), and a hit becomes a
//! clause of a solver. Nothing is enumerated before an order violates it.
//!
//! The evaluation is the checker's: the engine proposes, and what it proposes is checked by the code that would refuse
//! it.

mod before;
mod choices;
mod core_of;
mod cycles;
mod forced;
mod guess;
mod known;
mod least;
mod one_source;
mod paths;
mod sorted;
mod unmatched;

use before::Before;
use certify::text::facts::Facts;
use certify::text::judge::{Accepted, Witness};
use certify::text::plan::{Plan, Readers};
use certify::text::saturate;
pub use unmatched::{ApartDecision, decide_apart};

/// What the engine was given besides the facts and the level.
pub struct Options<'a> {
    /// For each node a number by which orders are guessed: the time of its commit, say. Empty if nothing is known.
    pub priority: &'a [u64],
    /// Asked now and then: whether to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// How many models of the solver are tried where sources or orders are choices.
    pub most_models: u32,
}

/// How the question ended.
#[derive(Clone, Debug)]
pub enum TextDecision<'f> {
    /// The level holds by this order.
    Holds(Witness),
    /// The level holds by this order, which the judge has evaluated whole.
    Accepted(Accepted<'f>),
    /// What is certain about these nodes contradicts itself.
    Contradiction(Vec<u32>),
    /// Whatever is chosen for these nodes contradicts itself.
    Choices(Vec<u32>),
    /// A limit was reached.
    Stopped,
    /// So many models were tried, and none explained the history.
    GivenUp,
}

/// Decides a level. All reads of committed transactions can be explained by some source.
pub fn decide<'f>(facts: &'f Facts, plan: &Plan, options: &Options<'_>) -> TextDecision<'f> {
    if options.priority.is_empty()
        && !plan.session.is_all()
        && let Some(priority) = sessions_in_turn(facts, plan)
    {
        return decide_near(facts, plan, &Options { priority: &priority, ..*options });
    }
    decide_near(facts, plan, options)
}

/// Positions in an order that keeps sessions although the level does not demand it: databases mostly do, and an order
/// that does not has thousands of hits. Nothing if sessions and reads lead in a circle.
fn sessions_in_turn(facts: &Facts, plan: &Plan) -> Option<Vec<u64>> {
    let with_sessions = Plan { session: Readers::All, ..plan.clone() };
    let is_in = vec![true; facts.node_count()];
    let source: Vec<u32> =
        (0..facts.reads().len()).map(|read| facts.only_source(read).unwrap_or(0)).collect();
    let nodes: Vec<u32> = (1..facts.node_count() as u32).collect();
    let order = Before::new(facts, &with_sessions, &is_in).order(&nodes, &source)?;
    let mut priority = vec![0; facts.node_count()];
    for (place, node) in order.into_iter().enumerate() {
        priority[node as usize] = place as u64 + 1;
    }
    Some(priority)
}

fn decide_near<'f>(facts: &'f Facts, plan: &Plan, options: &Options<'_>) -> TextDecision<'f> {
    let certain = saturate::certain_nodes(facts);
    let is_decided =
        certain.iter().all(|&node| facts.reads_of(node).all(|read| facts.only_source(read).is_some()));
    if plan.one_source {
        return one_source::decide(facts, plan);
    }
    if is_decided {
        let all: Vec<u32> =
            (0..facts.reads().len()).map(|read| facts.only_source(read).unwrap_or(0)).collect();
        match forced::decide(facts, plan, &certain, all, options) {
            forced::ForcedDecision::Holds(witness) => return TextDecision::Holds(witness),
            forced::ForcedDecision::Accepted(accepted) => return TextDecision::Accepted(accepted),
            forced::ForcedDecision::Contradiction(nodes) => return core_of::smallest(facts, plan, nodes),
            forced::ForcedDecision::Stopped => return TextDecision::Stopped,
            forced::ForcedDecision::OrderMatters => {}
        }
    }
    if let Some(witness) = guess::witness(facts, plan, &certain, options.priority) {
        return TextDecision::Holds(witness);
    }
    let least = if is_decided { None } else { least::decide(facts, plan, &certain, options) };
    least.unwrap_or_else(|| choices::decide(facts, plan, &certain, options))
}
