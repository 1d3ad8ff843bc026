//! Relations between at most 16 transactions as bit matrices, for judging growing orders quickly.
//!
//! A column is the set of transactions that lead into one, because that is what a judgement asks for. A composition
//! is at most 256 or-operations, a closure as many; a whole `visible` expression takes some hundred nanoseconds.

use crate::core::{Base, Formula, Rel, Sort};

/// The most transactions that a matrix holds, the initial one included.
pub(crate) const SIDE: usize = 16;

/// A relation by columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Matrix(pub [u16; SIDE]);

/// What the transactions placed so far are known to do. Only pairs of placed transactions are in it.
#[derive(Clone, Debug)]
pub(crate) struct Placed<'s> {
    pub session: Matrix,
    pub real_time: Matrix,
    pub commit_real_time: Matrix,
    pub begin_real_time: Matrix,
    pub conflict: Matrix,
    pub reads_from: Matrix,
    pub before: Matrix,
    /// The pairs of the read that is judged.
    pub earlier: Matrix,
    /// The transactions that stand in the order.
    pub placed: u16,
    /// Which transactions write each object, placed or not.
    pub writers: &'s [u16],
    /// Which transactions read each object, placed or not.
    pub readers: &'s [u16],
    /// The level that each transaction but the initial one ran at.
    pub levels: &'s [Option<&'s str>],
}

impl Matrix {
    fn zip(self, other: Self, operation: impl Fn(u16, u16) -> u16) -> Self {
        Self(std::array::from_fn(|column| operation(self.0[column], other.0[column])))
    }

    fn compose(self, other: Self) -> Self {
        Self(other.0.map(|middles| ones(middles).fold(0, |from, middle| from | self.0[middle])))
    }

    fn closure(mut self) -> Self {
        for middle in 0..SIDE {
            for column in 0..SIDE {
                if self.0[column] >> middle & 1 == 1 {
                    self.0[column] |= self.0[middle];
                }
            }
        }
        self
    }

    /// Adds a transaction to a relation that may hold in either direction.
    pub fn add_both_ways(&mut self, whole: &Self, txn: usize, placed: u16) {
        self.0[txn] = whole.0[txn] & placed;
        ones(placed)
            .filter(|&other| whole.0[other] >> txn & 1 == 1)
            .for_each(|other| self.0[other] |= 1 << txn);
    }

    fn inverse(self) -> Self {
        let mut inverse = Self::default();
        for (column, &rows) in self.0.iter().enumerate() {
            ones(rows).for_each(|row| inverse.0[row] |= 1 << column);
        }
        inverse
    }

    pub fn is_empty(&self) -> bool {
        self.0 == [0; SIDE]
    }
}

pub(crate) fn ones(mut set: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (lowest < SIDE).then_some(lowest)
    })
}

impl Placed<'_> {
    /// A relation among the placed transactions; only what [`crate::forward`] lets through is asked for.
    pub fn relation(&self, rel: &Rel) -> Matrix {
        match rel {
            Rel::Base(base) => self.base(*base),
            Rel::None(_) => Matrix::default(),
            Rel::Every(_) => Matrix(std::array::from_fn(|column| self.column(column, self.placed))),
            Rel::Identity(_) => Matrix(std::array::from_fn(|column| self.column(column, 1 << column))),
            Rel::Union(left, right) => self.relation(left).zip(self.relation(right), |a, b| a | b),
            Rel::Inter(left, right) => self.relation(left).zip(self.relation(right), |a, b| a & b),
            Rel::Minus(left, right) => self.relation(left).zip(self.relation(right), |a, b| a & !b),
            Rel::Join(left, right) => self.relation(left).compose(self.relation(right)),
            Rel::Closure(inner) => self.relation(inner).closure(),
            Rel::Inverse(inner) => self.relation(inner).inverse(),
            Rel::Product(left, right) => {
                let (from, to) = (self.set(left), self.set(right));
                Matrix(std::array::from_fn(|column| if to >> column & 1 == 1 { from } else { 0 }))
            }
            Rel::Single(..) | Rel::Comprehension(..) | Rel::RanAt(_) => {
                unreachable!("not a forward relation")
            }
        }
    }

    fn column(&self, column: usize, set: u16) -> u16 {
        if self.placed >> column & 1 == 1 { set } else { 0 }
    }

    fn base(&self, base: Base) -> Matrix {
        match base {
            Base::Session => self.session,
            Base::RealTime => self.real_time,
            Base::CommitRealTime => self.commit_real_time,
            Base::BeginRealTime => self.begin_real_time,
            Base::Conflict => self.conflict,
            Base::ReadsFrom => self.reads_from,
            Base::Before => self.before,
            Base::Earlier => self.earlier,
            _ => unreachable!("{base:?} does not relate two transactions"),
        }
    }

    fn set(&self, rel: &Rel) -> u16 {
        match rel {
            Rel::Every(_) => self.placed,
            Rel::Base(_) => 1,
            Rel::RanAt(level) => ones(self.placed & !1)
                .filter(|&txn| self.levels[txn - 1] == Some(level.as_str()))
                .fold(0, |set, txn| set | 1 << txn),
            Rel::Comprehension(_, body) => {
                let mut objects = Vec::new();
                ones(self.placed)
                    .filter(|&txn| self.local(body, txn, &mut objects))
                    .fold(0, |set, txn| set | 1 << txn)
            }
            _ => unreachable!("not a local set"),
        }
    }

    /// A formula about one transaction; `objects` are the values of the object variables bound so far.
    fn local(&self, formula: &Formula, txn: usize, objects: &mut Vec<(u32, usize)>) -> bool {
        match formula {
            Formula::Const(truth) => *truth,
            Formula::Not(inner) => !self.local(inner, txn, objects),
            Formula::And(left, right) => self.local(left, txn, objects) && self.local(right, txn, objects),
            Formula::Or(left, right) => self.local(left, txn, objects) || self.local(right, txn, objects),
            Formula::All(var, sort, body) => {
                !self.some_object(*sort, var.0, objects, |this, objects| !this.local(body, txn, objects))
            }
            Formula::Exists(var, sort, body) => {
                self.some_object(*sort, var.0, objects, |this, objects| this.local(body, txn, objects))
            }
            Formula::Same(left, right) => {
                let value = |var: u32| {
                    objects.iter().rev().find(|(bound, _)| *bound == var).map(|&(_, object)| object)
                };
                value(left.0) == value(right.0)
            }
            Formula::Member(vars, Rel::Base(base)) => {
                let object = objects.iter().rev().find(|(bound, _)| *bound == vars[0].0).expect("bound").1;
                let of_object = if *base == Base::Writers { self.writers } else { self.readers };
                of_object[object] >> txn & 1 == 1
            }
            _ => unreachable!("not a local formula"),
        }
    }

    fn some_object(
        &self,
        sort: Sort,
        var: u32,
        objects: &mut Vec<(u32, usize)>,
        mut test: impl FnMut(&Self, &mut Vec<(u32, usize)>) -> bool,
    ) -> bool {
        debug_assert_eq!(sort, Sort::Object);
        (0..self.writers.len()).any(|object| {
            objects.push((var, object));
            let found = test(self, objects);
            objects.pop();
            found
        })
    }
}
