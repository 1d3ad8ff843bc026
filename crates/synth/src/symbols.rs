//! The unknown history and one witness, as a structure that formulas are evaluated over.

use spec::circuit::{Circuit, Lit};
use spec::dense::Algebra;
use spec::{Base, Sort};

use crate::unknown::Unknown;

/// A relation between transactions as literals: `relation[a][b]`.
pub(crate) type Pairs = Vec<Vec<Lit>>;

/// Evaluates over the unknown history with a given order (and visibility), each constant or unknown.
pub(crate) struct Symbols<'a> {
    pub unknown: &'a Unknown,
    pub circuit: &'a mut Circuit,
    pub before: &'a Pairs,
    pub visible: Option<&'a Pairs>,
    /// The transactions in the witness's order, if that is constant.
    pub direction: Option<Vec<usize>>,
}

/// The sequence of a constant order.
pub(crate) fn direction(before: &Pairs) -> Option<Vec<usize>> {
    let is_constant = |lit: &Lit| *lit == Lit::TRUE || *lit == Lit::FALSE;
    if !before.iter().flatten().all(is_constant) {
        return None;
    }
    let mut sequence: Vec<usize> = (0..before.len()).collect();
    sequence.sort_by_key(|&txn| before.iter().filter(|row| row[txn] == Lit::TRUE).count());
    Some(sequence)
}

impl Algebra for Symbols<'_> {
    type Bit = Lit;

    fn size(&self, sort: Sort) -> usize {
        match sort {
            Sort::Txn | Sort::Value => self.unknown.txns,
            Sort::Object => self.unknown.objects,
        }
    }

    fn constant(&self, truth: bool) -> Lit {
        Lit::constant(truth)
    }

    fn known(&self, bit: Lit) -> Option<bool> {
        (bit == Lit::TRUE || bit == Lit::FALSE).then_some(bit == Lit::TRUE)
    }

    fn not(&mut self, bit: Lit) -> Lit {
        !bit
    }

    fn and(&mut self, left: Lit, right: Lit) -> Lit {
        self.circuit.and(left, right)
    }

    fn or(&mut self, left: Lit, right: Lit) -> Lit {
        self.circuit.or(left, right)
    }

    fn direction(&self) -> Option<&[usize]> {
        self.direction.as_deref()
    }

    fn ran_at(&mut self, level: &str, txn: usize) -> Lit {
        self.unknown.ran_at(level, txn)
    }

    fn base(&mut self, base: Base, tuple: &[usize]) -> Lit {
        match base {
            Base::Before => self.before[tuple[0]][tuple[1]],
            Base::Visible => self.visible.expect("only this framework speaks of it")[tuple[0]][tuple[1]],
            base => self.unknown.base(self.circuit, base, tuple),
        }
    }
}

/// The order of a sequence of all transactions, as constants.
pub(crate) fn constant_order(order: &[usize]) -> Pairs {
    let count = order.len();
    let mut before = vec![vec![Lit::FALSE; count]; count];
    for (at, &first) in order.iter().enumerate() {
        for &second in &order[at + 1..] {
            before[first][second] = Lit::TRUE;
        }
    }
    before
}
