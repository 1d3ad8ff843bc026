//! What a level means once its names are resolved: relations, formulas and the level itself.
//!
//! Definitions are expanded, sets of variables are sorted out, and every operator that can be written with another is:
//! the evaluators see eleven relations and ten formulas, so each of them is short.

use crate::bounds::Part;

/// What a variable or a column of a relation ranges over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Sort {
    /// Committed transactions, with the initial one that wrote the initial state.
    Txn,
    /// Objects: keys of the database.
    Object,
    /// Values that someone wrote or that were there initially.
    Value,
}

impl Sort {
    /// The word for it in the language.
    pub fn name(self) -> &'static str {
        match self {
            Self::Txn => "txn",
            Self::Object => "object",
            Self::Value => "value",
        }
    }
}

/// A relation that the history or the witness gives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Base {
    /// Session order, transitive; the initial transaction precedes all.
    Session,
    /// Write-read: the second read something that the first wrote.
    ReadsFrom,
    /// The first ended before the second began, by the clocks.
    RealTime,
    /// The first committed before the second committed, by the clocks.
    CommitRealTime,
    /// The first began before the second committed, by the clocks.
    BeginRealTime,
    /// The witness: a total order (commit order, or arbitration).
    Before,
    /// The witness: visibility, in the framework that has it.
    Visible,
    /// Two different transactions that write the same object.
    Conflict,
    /// (object, txn, txn): reads-from of one object.
    ReadsFromOn,
    /// (object, txn): the transaction writes the object.
    Writers,
    /// (object, txn): the transaction reads the object.
    Readers,
    /// (txn, object, value): final writes.
    Writes,
    /// (txn, object, value): external reads.
    Reads,
    /// The initial transaction alone.
    Initial,
    /// (object, txn, txn, txn): the last reads something from the first, and later the object from the second.
    ReadsThen,
    /// Only inside `visible`: the second had read something from the first before the read that is being judged.
    Earlier,
}

/// A variable of a formula; every binder has its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Var(pub u32);

/// A relation over sorts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rel {
    /// Given by the history or the witness.
    Base(Base),
    /// Nothing.
    None(Vec<Sort>),
    /// Every tuple.
    Every(Vec<Sort>),
    /// Every element with itself.
    Identity(Sort),
    /// The one element that a variable stands for.
    Single(Var, Sort),
    /// The transactions that ran at a level, by the name of the level.
    RanAt(String),
    /// In either.
    Union(Box<Rel>, Box<Rel>),
    /// In both.
    Inter(Box<Rel>, Box<Rel>),
    /// In the first and not in the second.
    Minus(Box<Rel>, Box<Rel>),
    /// Tuples that meet: the last column of the first and the first column of the second are equal, and dropped.
    Join(Box<Rel>, Box<Rel>),
    /// Every tuple of the first followed by every tuple of the second.
    Product(Box<Rel>, Box<Rel>),
    /// One or more steps.
    Closure(Box<Rel>),
    /// The columns the other way round.
    Inverse(Box<Rel>),
    /// The tuples for which a formula is true.
    Comprehension(Vec<(Var, Sort)>, Box<Formula>),
}

/// A statement about a history and a witness.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Formula {
    /// Always, or never.
    Const(bool),
    /// Not.
    Not(Box<Formula>),
    /// Both.
    And(Box<Formula>, Box<Formula>),
    /// Either.
    Or(Box<Formula>, Box<Formula>),
    /// For every element of the sort.
    All(Var, Sort, Box<Formula>),
    /// For some element of the sort.
    Exists(Var, Sort, Box<Formula>),
    /// Two variables stand for the same element.
    Same(Var, Var),
    /// A tuple of variables is in a relation.
    Member(Vec<Var>, Rel),
    /// Every tuple of the first is in the second.
    Subset(Rel, Rel),
    /// Some tuple is in it.
    NonEmpty(Rel),
    /// At most one tuple is in it.
    AtMostOne(Rel),
    /// No steps lead back to where they began.
    Acyclic(Rel),
}

impl Rel {
    /// The sorts of the columns.
    pub fn sorts(&self) -> Vec<Sort> {
        use Sort::*;
        match self {
            Self::Base(base) => base.sorts().to_vec(),
            Self::None(sorts) | Self::Every(sorts) => sorts.clone(),
            Self::Identity(sort) => vec![*sort, *sort],
            Self::Single(_, sort) => vec![*sort],
            Self::RanAt(_) => vec![Txn],
            Self::Union(left, _) | Self::Inter(left, _) | Self::Minus(left, _) => left.sorts(),
            Self::Join(left, right) => {
                let (left, right) = (left.sorts(), right.sorts());
                [&left[..left.len() - 1], &right[1..]].concat()
            }
            Self::Product(left, right) => [left.sorts(), right.sorts()].concat(),
            Self::Closure(_) => vec![Txn, Txn],
            Self::Inverse(inner) => inner.sorts().into_iter().rev().collect(),
            Self::Comprehension(vars, _) => vars.iter().map(|&(_, sort)| sort).collect(),
        }
    }

    /// Whether a base relation occurs anywhere in it.
    pub fn mentions(&self, base: Base) -> bool {
        match self {
            Self::Base(found) => *found == base,
            Self::None(_) | Self::Every(_) | Self::Identity(_) | Self::Single(..) | Self::RanAt(_) => false,
            Self::Union(left, right)
            | Self::Inter(left, right)
            | Self::Minus(left, right)
            | Self::Join(left, right)
            | Self::Product(left, right) => left.mentions(base) || right.mentions(base),
            Self::Closure(inner) | Self::Inverse(inner) => inner.mentions(base),
            Self::Comprehension(_, formula) => formula.mentions(base),
        }
    }

    /// `R` and every element with itself.
    pub fn optional(self) -> Self {
        let sort = self.sorts()[0];
        Self::Union(Box::new(self), Box::new(Self::Identity(sort)))
    }

    /// The union of two relations of the same sorts.
    pub fn union(self, other: Self) -> Self {
        Self::Union(Box::new(self), Box::new(other))
    }

    /// The intersection of two relations of the same sorts.
    pub fn inter(self, other: Self) -> Self {
        Self::Inter(Box::new(self), Box::new(other))
    }

    /// The pairs whose second transaction ran at a level.
    pub fn into_level(self, level: &str) -> Self {
        let all = Box::new(Self::Every(vec![Sort::Txn]));
        self.inter(Self::Product(all, Box::new(Self::RanAt(level.to_owned()))))
    }

    /// The relation and the level, if this is [`Rel::into_level`] of them.
    pub fn of_level(&self) -> Option<(&Self, &str)> {
        let Self::Inter(left, right) = self else { return None };
        match (ran_at(left), ran_at(right)) {
            (None, Some(name)) => Some((left, name)),
            (Some(name), None) => Some((right, name)),
            _ => None,
        }
    }

    /// The composition of two relations.
    pub fn join(self, other: Self) -> Self {
        Self::Join(Box::new(self), Box::new(other))
    }
}

/// The level, if a relation is all pairs whose second transaction ran at it.
fn ran_at(rel: &Rel) -> Option<&str> {
    let Rel::Product(from, to) = rel else { return None };
    match (from.as_ref(), to.as_ref()) {
        (Rel::Every(_), Rel::RanAt(name)) => Some(name),
        _ => None,
    }
}

impl Formula {
    /// Whether a base relation occurs anywhere in it.
    pub fn mentions(&self, base: Base) -> bool {
        match self {
            Self::Const(_) | Self::Same(..) => false,
            Self::Not(inner) | Self::All(_, _, inner) | Self::Exists(_, _, inner) => inner.mentions(base),
            Self::And(left, right) | Self::Or(left, right) => left.mentions(base) || right.mentions(base),
            Self::Member(_, rel) | Self::NonEmpty(rel) | Self::AtMostOne(rel) | Self::Acyclic(rel) => {
                rel.mentions(base)
            }
            Self::Subset(left, right) => left.mentions(base) || right.mentions(base),
        }
    }

    /// Both, dropping what is constant.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Const(true), formula) | (formula, Self::Const(true)) => formula,
            (left, right) => Self::And(Box::new(left), Box::new(right)),
        }
    }

    /// Either.
    pub fn or(self, other: Self) -> Self {
        Self::Or(Box::new(self), Box::new(other))
    }

    /// The first only if the second.
    pub fn implies(self, other: Self) -> Self {
        self.negated().or(other)
    }

    /// The opposite.
    pub fn negated(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            Self::Const(truth) => Self::Const(!truth),
            formula => Self::Not(Box::new(formula)),
        }
    }
}

/// Which witness a level asks for, and what every witness must satisfy before the level's own demand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Framework {
    /// No witness: the history alone decides.
    History,
    /// One total order of the transactions (Biswas and Enea's commit order).
    CommitOrder,
    /// A total order, and a visibility inside it from which every read takes the last visible write (Cerone, Bernardi
    /// and Gotsman's arbitration and visibility).
    Visibility,
}

/// An isolation level: what some witness must satisfy for a history to be allowed.
#[derive(Clone, Debug)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
    /// What it promises, in words.
    pub description: String,
    /// The witness it asks for.
    pub framework: Framework,
    /// Whether a read may return what an aborted transaction wrote, or what its writer overwrote. Then only the values
    /// count: some transaction must have written each.
    pub allows_uncommitted: bool,
    /// What the total order must contain; for visibility, what visibility must contain.
    pub order: Rel,
    /// What a transaction surely sees: every visible writer of what it reads comes before the one it read from.
    pub visible: Option<Rel>,
    /// What else must be true.
    pub require: Formula,
    /// Its definition as written.
    pub text: String,
}

impl Level {
    /// Whether the level mentions a relation, in any of its clauses.
    pub fn mentions(&self, base: Base) -> bool {
        self.order.mentions(base)
            || self.visible.as_ref().is_some_and(|visible| visible.mentions(base))
            || self.require.mentions(base)
    }

    /// The names of the levels that it tells transactions apart by.
    pub fn recorded_levels(&self) -> Vec<String> {
        let mut names = Vec::new();
        let rels = [Some(&self.order), self.visible.as_ref()];
        rels.into_iter().flatten().for_each(|rel| Part::Rel(rel).recorded_levels(&mut names));
        Part::Formula(&self.require).recorded_levels(&mut names);
        names
    }

    /// Whether the level needs recorded times.
    pub fn needs_times(&self) -> bool {
        [Base::RealTime, Base::CommitRealTime, Base::BeginRealTime]
            .into_iter()
            .any(|base| self.mentions(base))
    }
}
