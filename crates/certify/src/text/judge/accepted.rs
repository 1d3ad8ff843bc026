//! Orders that were evaluated whole already.
//!
//! An engine asks the judge about the orders that it makes, and the checker asks the same judge about the order of a
//! certificate: mostly the last one that the engine asked about. A second evaluation of the same order with the same facts
//! proves nothing that the first one did not, and takes a tenth of a whole check. So the judge hands out a proof that
//! nothing else can make, and the checker takes it for this order with these sources, for these facts and this plan alone.

use super::{Facts, Hit, Judge, Looked, Plan, Stopped, Witness};

/// An order in which no visible writer stands after the source of a read.
#[derive(Clone, Debug)]
pub struct Accepted<'f> {
    facts: &'f Facts,
    plan: Plan,
    witness: Witness,
}

/// What came of an evaluation.
#[derive(Debug)]
pub enum Judgement<'f> {
    /// The order was evaluated whole, and has no hit.
    Accepted(Accepted<'f>),
    /// It has none but perhaps those that were looked for along an earlier order.
    NoMoreHits(Witness),
    /// The order, and its hits.
    Hits(Witness, Vec<Hit>),
}

impl<'f> Judge<'f, '_> {
    /// Evaluates an order: whole, unless hits were looked for along an earlier one (see [`Judge::hits_beyond`]).
    ///
    /// # Errors
    /// If it was told to stop.
    pub fn judge(&self, witness: Witness, looked: &mut Option<Looked>) -> Result<Judgement<'f>, Stopped> {
        let is_whole = looked.is_none();
        let hits = self.hits_beyond(&witness, looked)?;
        Ok(match (hits.is_empty(), is_whole) {
            (false, _) => Judgement::Hits(witness, hits),
            (true, false) => Judgement::NoMoreHits(witness),
            (true, true) => {
                Judgement::Accepted(Accepted { facts: self.facts, plan: self.plan.clone(), witness })
            }
        })
    }
}

impl Accepted<'_> {
    /// The order.
    pub fn witness(&self) -> &Witness {
        &self.witness
    }

    /// The order, without the proof.
    pub fn into_witness(self) -> Witness {
        self.witness
    }

    /// Whether it is this order that was evaluated, for these facts and this plan.
    pub(in crate::text) fn is_about(&self, facts: &Facts, plan: &Plan, witness: &Witness) -> bool {
        std::ptr::eq(self.facts, facts)
            && self.plan == *plan
            && self.witness.order == witness.order
            && self.witness.source == witness.source
    }
}
