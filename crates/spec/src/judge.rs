//! Judges one complete witness: the formula, evaluated with plain truth values.

use crate::core::{Base, Formula, Rel, Sort};
use crate::dense::{Algebra, Evaluator};
use crate::facts::{Columns, Facts};

/// A witness: a total order, and for each transaction the set that it sees.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Judged {
    /// The transactions in order, the initial one first; empty if there is no order.
    pub order: Vec<usize>,
    /// What each transaction sees; only where the framework has visibility.
    pub visible: Columns,
}

struct Structure<'a> {
    facts: &'a Facts,
    visible: &'a [u64],
    position: Vec<usize>,
}

impl Algebra for Structure<'_> {
    type Bit = bool;

    fn size(&self, sort: Sort) -> usize {
        self.facts.size(sort)
    }

    fn constant(&self, truth: bool) -> bool {
        truth
    }

    fn known(&self, bit: bool) -> Option<bool> {
        Some(bit)
    }

    fn not(&mut self, bit: bool) -> bool {
        !bit
    }

    fn and(&mut self, left: bool, right: bool) -> bool {
        left && right
    }

    fn or(&mut self, left: bool, right: bool) -> bool {
        left || right
    }

    fn ran_at(&mut self, level: &str, txn: usize) -> bool {
        self.facts.ran_at(level, txn)
    }

    fn base(&mut self, base: Base, tuple: &[usize]) -> bool {
        match base {
            Base::Before => self.position[tuple[0]] < self.position[tuple[1]],
            Base::Visible => self.visible[tuple[1]] >> tuple[0] & 1 == 1,
            base => self.facts.holds(base, tuple),
        }
    }
}

/// Whether a formula is true of a history and a witness.
pub fn judge(facts: &Facts, judged: &Judged, formula: &Formula) -> bool {
    let mut structure = structure(facts, judged);
    Evaluator::new(&mut structure).formula(formula)
}

/// A relation of the history, by columns.
pub(crate) fn required_columns(facts: &Facts, rel: &Rel) -> Columns {
    let witness = Judged::default();
    let mut structure = structure(facts, &witness);
    let table = Evaluator::new(&mut structure).table(rel);
    let count = facts.txn_count();
    let column =
        |txn: usize| (0..count).filter(|&from| table.at(&[from, txn])).fold(0, |set, from| set | 1 << from);
    (0..count).map(column).collect()
}

fn structure<'a>(facts: &'a Facts, judged: &'a Judged) -> Structure<'a> {
    let mut position = vec![0; facts.txn_count()];
    for (place, &txn) in judged.order.iter().enumerate() {
        position[txn] = place;
    }
    Structure { facts, visible: &judged.visible, position }
}
