//! One order, tried as it is: each read takes the last of its possible sources that stands before it.
//!
//! A history that is serializable has an order in which this explains every read, at every level that serializability
//! implies. So nothing has to be listed for the solver, however many writers wrote the same value. One pass over the
//! possible sources, and one evaluation.

use certify::text::check_witness;
use certify::text::facts::{Facts, INITIAL};
use certify::text::judge::Witness;
use certify::text::plan::Plan;

/// The witness by the order of these numbers, if it explains the history; nodes with the largest number are left out
/// where their outcome is unknown.
pub(crate) fn witness(facts: &Facts, plan: &Plan, certain: &[u32], priority: &[u64]) -> Option<Witness> {
    if priority.is_empty() {
        return None;
    }
    let is_in = |node: &u32| certain.binary_search(node).is_ok() || priority[*node as usize] != u64::MAX;
    let mut order: Vec<u32> = (1..facts.node_count() as u32).filter(is_in).collect();
    order.sort_by_key(|&node| priority[node as usize]);
    let mut witness = Witness::new(facts, order, vec![INITIAL; facts.reads().len()]);
    for place in 1..witness.order.len() {
        let node = witness.order[place];
        for read in facts.reads_of(node) {
            let position = |candidate: &&u32| witness.position[**candidate as usize];
            let earlier =
                facts.candidates(read).iter().filter(|candidate| position(candidate) < place as u32);
            witness.source[read] = *earlier.max_by_key(position)?;
        }
    }
    check_witness(facts, plan, &witness).is_ok().then_some(witness)
}
