//! Evaluates formulas and relations over any algebra of truth values.
//!
//! Relations are dense tables and quantifiers are loops, so the code is the definition read aloud. With plain truth
//! values this is the reference semantics; with gates of a circuit the same code grounds a formula for a solver.
//! A relation of k columns over n elements costs n^k cells, a composition n^3, a closure n^3.

use std::collections::HashMap;
use std::rc::Rc;

use crate::closed::is_closed;
use crate::core::{Base, Formula, Rel, Sort, Var};

/// Truth values, and a structure to ask about.
pub trait Algebra {
    /// A truth value.
    type Bit: Copy;
    /// How many elements a sort has.
    fn size(&self, sort: Sort) -> usize;
    /// True or false.
    fn constant(&self, truth: bool) -> Self::Bit;
    /// What a bit is, if it is the same in every case.
    fn known(&self, bit: Self::Bit) -> Option<bool>;
    /// The opposite.
    fn not(&mut self, bit: Self::Bit) -> Self::Bit;
    /// Both.
    fn and(&mut self, left: Self::Bit, right: Self::Bit) -> Self::Bit;
    /// Either.
    fn or(&mut self, left: Self::Bit, right: Self::Bit) -> Self::Bit;
    /// Whether an element is there at all: a transaction of unknown outcome may not be.
    fn present(&mut self, _sort: Sort, _element: usize) -> Self::Bit {
        self.constant(true)
    }
    /// An order of the transactions in which relations mostly go forward, if there is one. It changes no result, but
    /// gates built along it are shared and fewer.
    fn direction(&self) -> Option<&[usize]> {
        None
    }
    /// Whether a transaction ran at a level; never if it is not there.
    fn ran_at(&mut self, level: &str, txn: usize) -> Self::Bit;
    /// Whether a tuple is in a given relation; never if an element of it is not there.
    fn base(&mut self, base: Base, tuple: &[usize]) -> Self::Bit;
}

/// A relation as a table: one cell for each tuple, the last column fastest.
#[derive(Clone, Debug)]
pub struct DenseRelation<B> {
    sorts: Vec<Sort>,
    sizes: Vec<usize>,
    cells: Vec<B>,
}

impl<B: Copy> DenseRelation<B> {
    /// The cell of a tuple.
    pub fn at(&self, tuple: &[usize]) -> B {
        self.cells[self.place(tuple)]
    }

    fn place(&self, tuple: &[usize]) -> usize {
        tuple.iter().zip(&self.sizes).fold(0, |place, (&element, &size)| place * size + element)
    }

    fn tuple(&self, mut place: usize) -> Vec<usize> {
        let mut tuple = vec![0; self.sizes.len()];
        for column in (0..self.sizes.len()).rev() {
            tuple[column] = place % self.sizes[column];
            place /= self.sizes[column];
        }
        tuple
    }
}

/// Evaluates over one structure; relations without free variables are computed once.
///
/// Relations are known by their address, so what is given to one evaluator must outlive it.
pub struct Evaluator<'a, A: Algebra> {
    /// The structure.
    pub algebra: &'a mut A,
    values: Vec<usize>,
    closed: HashMap<*const Rel, Option<Rc<DenseRelation<A::Bit>>>>,
}

impl<'a, A: Algebra> Evaluator<'a, A> {
    /// An evaluator of a structure that does not change while it lives.
    pub fn new(algebra: &'a mut A) -> Self {
        Self { algebra, values: Vec::new(), closed: HashMap::new() }
    }

    /// The truth of a closed formula.
    pub fn formula(&mut self, formula: &Formula) -> A::Bit {
        match formula {
            Formula::Const(truth) => self.algebra.constant(*truth),
            Formula::Not(inner) => {
                let inner = self.formula(inner);
                self.algebra.not(inner)
            }
            Formula::And(left, right) => self.both(left, right, true),
            Formula::Or(left, right) => self.both(left, right, false),
            Formula::All(var, sort, body) => self.quantified(*var, *sort, body, true),
            Formula::Exists(var, sort, body) => self.quantified(*var, *sort, body, false),
            Formula::Same(left, right) => self.algebra.constant(self.value(*left) == self.value(*right)),
            Formula::Member(vars, rel) => self.member(vars, rel),
            Formula::Subset(left, right) => {
                let (left, right) = (self.table(left), self.table(right));
                self.subset(&left, &right)
            }
            Formula::NonEmpty(rel) => {
                let table = self.table(rel);
                self.any(table.cells.iter().copied())
            }
            Formula::AtMostOne(rel) => self.at_most_one(rel),
            Formula::Acyclic(rel) => {
                let table = self.table(rel);
                let closure = self.closure(&table);
                let size = closure.sizes[0];
                let cyclic = self.any((0..size).map(|element| closure.cells[element * size + element]));
                self.algebra.not(cyclic)
            }
        }
    }

    /// The table of a relation.
    pub fn table(&mut self, rel: &Rel) -> Rc<DenseRelation<A::Bit>> {
        let key: *const Rel = rel;
        match self.closed.get(&key) {
            Some(Some(table)) => return Rc::clone(table),
            Some(None) => return Rc::new(self.computed(rel)),
            None => {}
        }
        let table = Rc::new(self.computed(rel));
        self.closed.insert(key, is_closed(rel, &mut Vec::new()).then(|| Rc::clone(&table)));
        table
    }

    fn value(&self, var: Var) -> usize {
        self.values[var.0 as usize]
    }

    fn set(&mut self, var: Var, value: usize) {
        let place = var.0 as usize;
        if place >= self.values.len() {
            self.values.resize(place + 1, 0);
        }
        self.values[place] = value;
    }

    /// A side that decides by itself spares the other.
    fn both(&mut self, left: &Formula, right: &Formula, conjunction: bool) -> A::Bit {
        let left = self.formula(left);
        if self.algebra.known(left) == Some(!conjunction) {
            return left;
        }
        let right = self.formula(right);
        if conjunction { self.algebra.and(left, right) } else { self.algebra.or(left, right) }
    }

    fn quantified(&mut self, var: Var, sort: Sort, body: &Formula, universal: bool) -> A::Bit {
        let mut result = self.algebra.constant(universal);
        for element in 0..self.algebra.size(sort) {
            self.set(var, element);
            let one = self.formula(body);
            result = if universal { self.algebra.and(result, one) } else { self.algebra.or(result, one) };
            if self.algebra.known(result) == Some(!universal) {
                break;
            }
        }
        result
    }

    fn member(&mut self, vars: &[Var], rel: &Rel) -> A::Bit {
        let mut tuple = [0; 4];
        for (column, &var) in vars.iter().enumerate() {
            tuple[column] = self.value(var);
        }
        let tuple = &tuple[..vars.len()];
        match rel {
            Rel::Base(base) => self.algebra.base(*base, tuple),
            rel => self.table(rel).at(tuple),
        }
    }

    fn any(&mut self, bits: impl Iterator<Item = A::Bit>) -> A::Bit {
        let mut result = self.algebra.constant(false);
        for bit in bits {
            result = self.algebra.or(result, bit);
        }
        result
    }

    fn subset(&mut self, left: &DenseRelation<A::Bit>, right: &DenseRelation<A::Bit>) -> A::Bit {
        let mut result = self.algebra.constant(true);
        for (&inside, &outside) in left.cells.iter().zip(&right.cells) {
            let absent = self.algebra.not(inside);
            let kept = self.algebra.or(absent, outside);
            result = self.algebra.and(result, kept);
        }
        result
    }

    fn at_most_one(&mut self, rel: &Rel) -> A::Bit {
        let table = self.table(rel);
        let (mut seen, mut twice) = (self.algebra.constant(false), self.algebra.constant(false));
        for &cell in &table.cells {
            let again = self.algebra.and(seen, cell);
            twice = self.algebra.or(twice, again);
            seen = self.algebra.or(seen, cell);
        }
        self.algebra.not(twice)
    }

    fn computed(&mut self, rel: &Rel) -> DenseRelation<A::Bit> {
        match rel {
            Rel::Base(base) => self.filled(base.sorts(), |this, tuple| this.algebra.base(*base, tuple)),
            Rel::None(sorts) => self.filled(sorts, |this, _| this.algebra.constant(false)),
            Rel::Every(sorts) => self.filled(sorts, |this, tuple| this.all_present(sorts, tuple)),
            Rel::Identity(sort) => {
                self.filled(&[*sort, *sort], |this, tuple| this.algebra.constant(tuple[0] == tuple[1]))
            }
            Rel::RanAt(level) => {
                self.filled(&[Sort::Txn], |this, tuple| this.algebra.ran_at(level, tuple[0]))
            }
            Rel::Single(var, sort) => {
                let value = self.value(*var);
                self.filled(&[*sort], |this, tuple| this.algebra.constant(tuple[0] == value))
            }
            Rel::Union(left, right) => self.cellwise(left, right, |algebra, a, b| algebra.or(a, b)),
            Rel::Inter(left, right) => self.cellwise(left, right, |algebra, a, b| algebra.and(a, b)),
            Rel::Minus(left, right) => self.cellwise(left, right, |algebra, a, b| {
                let absent = algebra.not(b);
                algebra.and(a, absent)
            }),
            Rel::Join(left, right) => {
                let (left, right) = (self.table(left), self.table(right));
                self.join(&left, &right)
            }
            Rel::Product(left, right) => {
                let (left, right) = (self.table(left), self.table(right));
                let sorts = [left.sorts.clone(), right.sorts.clone()].concat();
                let split = left.sorts.len();
                self.filled(&sorts, |this, tuple| {
                    this.algebra.and(left.at(&tuple[..split]), right.at(&tuple[split..]))
                })
            }
            Rel::Closure(inner) => {
                let inner = self.table(inner);
                self.closure(&inner)
            }
            Rel::Inverse(inner) => {
                let inner = self.table(inner);
                let sorts: Vec<Sort> = inner.sorts.iter().rev().copied().collect();
                self.filled(&sorts, |_, tuple| inner.at(&tuple.iter().rev().copied().collect::<Vec<_>>()))
            }
            Rel::Comprehension(vars, body) => {
                let sorts: Vec<Sort> = vars.iter().map(|&(_, sort)| sort).collect();
                self.filled(&sorts, |this, tuple| {
                    for (&(var, _), &element) in vars.iter().zip(tuple) {
                        this.set(var, element);
                    }
                    let inside = this.formula(body);
                    let present = this.all_present(&sorts, tuple);
                    this.algebra.and(present, inside)
                })
            }
        }
    }

    fn all_present(&mut self, sorts: &[Sort], tuple: &[usize]) -> A::Bit {
        let mut present = self.algebra.constant(true);
        for (&sort, &element) in sorts.iter().zip(tuple) {
            let one = self.algebra.present(sort, element);
            present = self.algebra.and(present, one);
        }
        present
    }

    fn filled(
        &mut self,
        sorts: &[Sort],
        mut cell: impl FnMut(&mut Self, &[usize]) -> A::Bit,
    ) -> DenseRelation<A::Bit> {
        let sizes: Vec<usize> = sorts.iter().map(|&sort| self.algebra.size(sort)).collect();
        let count = sizes.iter().product();
        let mut table = DenseRelation { sorts: sorts.to_vec(), sizes, cells: Vec::with_capacity(count) };
        for place in 0..count {
            let tuple = table.tuple(place);
            let bit = cell(self, &tuple);
            table.cells.push(bit);
        }
        table
    }

    fn cellwise(
        &mut self,
        left: &Rel,
        right: &Rel,
        operation: impl Fn(&mut A, A::Bit, A::Bit) -> A::Bit,
    ) -> DenseRelation<A::Bit> {
        let (left, right) = (self.table(left), self.table(right));
        let pairs = left.cells.iter().zip(&right.cells);
        let cells = pairs.map(|(&a, &b)| operation(self.algebra, a, b)).collect();
        DenseRelation { sorts: left.sorts.clone(), sizes: left.sizes.clone(), cells }
    }

    fn join(&mut self, left: &DenseRelation<A::Bit>, right: &DenseRelation<A::Bit>) -> DenseRelation<A::Bit> {
        let split = left.sorts.len() - 1;
        let sorts = [&left.sorts[..split], &right.sorts[1..]].concat();
        let middle_size = right.sizes[0];
        let rest: usize = right.sizes[1..].iter().product();
        // From the last backwards: what can be reached from one is then part of what can be reached from the one before.
        let middles: Vec<usize> = match self.algebra.direction() {
            Some(direction) if right.sorts[0] == Sort::Txn => direction.iter().rev().copied().collect(),
            _ => (0..middle_size).rev().collect(),
        };
        self.filled(&sorts, |this, tuple| {
            let from = tuple[..split].iter().zip(&left.sizes).fold(0, |place, (&e, &size)| place * size + e);
            let to =
                tuple[split..].iter().zip(&right.sizes[1..]).fold(0, |place, (&e, &size)| place * size + e);
            let mut met = this.algebra.constant(false);
            for &middle in &middles {
                let through = this
                    .algebra
                    .and(left.cells[from * middle_size + middle], right.cells[middle * rest + to]);
                met = this.algebra.or(met, through);
            }
            met
        })
    }

    /// The closure, by last steps if the relation goes forward, and by Warshall's way otherwise.
    fn closure(&mut self, table: &DenseRelation<A::Bit>) -> DenseRelation<A::Bit> {
        let direction: Vec<usize> = match self.algebra.direction() {
            Some(direction) => direction.to_vec(),
            None => (0..table.sizes[0]).collect(),
        };
        let goes_forward = direction.len() == table.sizes[0]
            && (0..direction.len()).all(|later| {
                let back = direction[..=later].iter().map(|&earlier| table.at(&[direction[later], earlier]));
                back.into_iter().all(|cell| self.algebra.known(cell) == Some(false))
            });
        if goes_forward {
            self.closure_by_last_steps(table, &direction)
        } else {
            self.closure_by_middles(table)
        }
    }

    /// A path is a step, or a path to some transaction and a last step from there.
    fn closure_by_last_steps(
        &mut self,
        table: &DenseRelation<A::Bit>,
        direction: &[usize],
    ) -> DenseRelation<A::Bit> {
        let mut closure = table.clone();
        let size = closure.sizes[0];
        for (last, &to) in direction.iter().enumerate() {
            for (first, &from) in direction[..last].iter().enumerate() {
                let mut reached = table.cells[from * size + to];
                for &middle in direction[first + 1..last].iter() {
                    let through = self
                        .algebra
                        .and(closure.cells[from * size + middle], table.cells[middle * size + to]);
                    reached = self.algebra.or(reached, through);
                }
                closure.cells[from * size + to] = reached;
            }
        }
        closure
    }

    /// Warshall: after round k, a cell tells of the paths whose inner steps are among the first k elements.
    fn closure_by_middles(&mut self, table: &DenseRelation<A::Bit>) -> DenseRelation<A::Bit> {
        let mut closure = table.clone();
        let size = closure.sizes[0];
        for middle in 0..size {
            for from in 0..size {
                let first = closure.cells[from * size + middle];
                if self.algebra.known(first) == Some(false) {
                    continue;
                }
                for to in 0..size {
                    let through = self.algebra.and(first, closure.cells[middle * size + to]);
                    closure.cells[from * size + to] =
                        self.algebra.or(closure.cells[from * size + to], through);
                }
            }
        }
        closure
    }
}
