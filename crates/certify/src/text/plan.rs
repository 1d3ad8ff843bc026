//! How a level's text is evaluated: its parts, each of the cheapest kind that fits.
//!
//! A level is a total order `before` that contains `order`, and `visible`: if t3 reads x from t1, every other writer of x
//! that is visible to t3 comes before t1. What is visible is a union of parts, and a part is one of three kinds:
//! what a transaction read from earlier, one step of session order, of reads-from or of the order of conflicting writers,
//! or any number of such steps. Everything else is evaluated as a matrix of all pairs.

use spec::{Base, Formula, Framework, Level, Rel, Sort, Var};

/// A level in a form that can be evaluated along an order.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether the order contains session order.
    pub session: bool,
    /// Whether the order contains reads-from.
    pub reads_from: bool,
    /// What is visible, as a union.
    pub parts: Vec<Part>,
    /// Whether all reads of a key by one transaction come from the same transaction, which no order changes.
    pub one_source: bool,
}

/// A part of what is visible.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// A transaction that something was read from before the read that is judged.
    Earlier,
    /// An earlier transaction of the session.
    Session,
    /// A transaction that something is read from.
    ReadsFrom,
    /// An earlier writer of a key that the transaction writes too.
    Conflicts,
    /// Every earlier transaction; with the flag, only to transactions that write something.
    Before {
        /// Whether transactions that only read see nothing by this part.
        to_updates: bool,
    },
    /// Any number of steps.
    Steps(Steps),
    /// Any other relation, by its matrix.
    Matrix(Rel),
}

/// The kinds of steps of a closure that contains session order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// Reads-from.
    pub reads_from: bool,
    /// From a writer of a key to a later one.
    pub conflicts: bool,
}

impl Plan {
    /// The plan of a level.
    ///
    /// # Errors
    /// With the reason, as the rest of a sentence about the level, if its text is not of this form.
    pub fn of(level: &Level) -> Result<Self, &'static str> {
        if level.allows_uncommitted {
            return Err("speaks of values alone");
        }
        if is_cut_isolation(level) {
            return Ok(Self { session: false, reads_from: false, parts: Vec::new(), one_source: true });
        }
        let level = &level.normal_form(false);
        if level.framework != Framework::CommitOrder {
            return Err("is not one order and what is visible in it");
        }
        if level.require != Formula::Const(true) {
            return Err("demands more than one order and what is visible in it");
        }
        let mut plan = Self { session: false, reads_from: false, parts: Vec::new(), one_source: false };
        plan.add_order(&level.order)?;
        let visible = level.visible.as_ref().ok_or("does not say what is visible")?;
        plan.add_visible(visible)?;
        Ok(plan)
    }

    fn add_order(&mut self, rel: &Rel) -> Result<(), &'static str> {
        match rel {
            Rel::Union(left, right) => {
                self.add_order(left)?;
                self.add_order(right)
            }
            Rel::Base(Base::Session) => {
                self.session = true;
                Ok(())
            }
            Rel::Base(Base::ReadsFrom) => {
                self.reads_from = true;
                Ok(())
            }
            Rel::None(_) => Ok(()),
            _ => Err("puts more into its order than session order and reads-from"),
        }
    }

    fn add_visible(&mut self, rel: &Rel) -> Result<(), &'static str> {
        let part = match rel {
            Rel::Union(left, right) => {
                self.add_visible(left)?;
                return self.add_visible(right);
            }
            Rel::None(_) => return Ok(()),
            Rel::Base(Base::Earlier) => Part::Earlier,
            Rel::Base(Base::Session) => Part::Session,
            Rel::Base(Base::ReadsFrom) => Part::ReadsFrom,
            rel if is_conflict_order(rel) => Part::Conflicts,
            Rel::Base(Base::Before) => Part::Before { to_updates: false },
            rel if is_before_updates(rel) => Part::Before { to_updates: true },
            Rel::Closure(inner) => match self.steps(inner) {
                Some(steps) => Part::Steps(steps),
                None => matrix(rel)?,
            },
            rel => matrix(rel)?,
        };
        self.parts.push(part);
        Ok(())
    }

    /// The steps of a closure that clocks can follow: session order is among them and in the order.
    fn steps(&self, inner: &Rel) -> Option<Steps> {
        let mut steps = Steps::default();
        let mut session = false;
        let mut open = vec![inner];
        while let Some(rel) = open.pop() {
            match rel {
                Rel::Union(left, right) => open.extend([left.as_ref(), right.as_ref()]),
                Rel::Base(Base::Session) => session = true,
                Rel::Base(Base::ReadsFrom) => steps.reads_from = true,
                rel if is_conflict_order(rel) => steps.conflicts = true,
                _ => return None,
            }
        }
        (session && self.session && (self.reads_from || !steps.reads_from)).then_some(steps)
    }

    /// Whether what is visible follows from the sources of reads alone, so that every order gives the same.
    pub fn is_static(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Earlier | Part::Session | Part::ReadsFrom => true,
            Part::Conflicts | Part::Before { .. } => false,
            Part::Steps(steps) => !steps.conflicts,
            Part::Matrix(rel) => !rel.mentions(Base::Before),
        })
    }

    /// How the level is decided, as the rest of a sentence.
    pub fn description(&self) -> &'static str {
        if self.one_source {
            return "each transaction is looked at by itself";
        }
        let is_matrix = self.parts.iter().any(|part| matches!(part, Part::Matrix(_)));
        match (self.is_static(), is_matrix) {
            (true, false) => {
                "what is visible follows from sessions and reads: forced edges and a test for a cycle"
            }
            (true, true) => {
                "what is visible follows from sessions and reads, by a matrix of all pairs: forced edges and a test \
                 for a cycle"
            }
            (false, false) => {
                "what is visible depends on the order of writers: orders are tried and repaired"
            }
            (false, true) => {
                "what is visible depends on the order, by a matrix of all pairs: orders are tried and repaired"
            }
        }
    }
}

/// `conflict & before`, either way round.
fn is_conflict_order(rel: &Rel) -> bool {
    let Rel::Inter(left, right) = rel else { return false };
    let bases = [left.as_ref(), right.as_ref()];
    bases.contains(&&Rel::Base(Base::Conflict)) && bases.contains(&&Rel::Base(Base::Before))
}

/// `before :> updates`: the transactions before one that writes something.
fn is_before_updates(rel: &Rel) -> bool {
    let Rel::Inter(left, right) = rel else { return false };
    let is_into = |rel: &Rel| match rel {
        Rel::Product(from, to) => set_of(from) == Some(Set::All) && set_of(to) == Some(Set::Updates),
        _ => false,
    };
    let is_before = |rel: &Rel| *rel == Rel::Base(Base::Before);
    is_before(left) && is_into(right) || is_into(left) && is_before(right)
}

/// The text of cut isolation, whatever it is called.
fn is_cut_isolation(level: &Level) -> bool {
    let shipped = spec::library::level("cut-isolation").expect("a test finds the text of every level");
    level.framework == Framework::History && level.require == shipped.require && level.visible.is_none()
}

/// A relation that can be evaluated as a matrix, and that only grows with what there is.
fn matrix(rel: &Rel) -> Result<Part, &'static str> {
    match is_growing(rel) {
        true => Ok(Part::Matrix(rel.clone())),
        false => Err("says what is visible with an operator that has no engine beyond small histories"),
    }
}

fn is_growing(rel: &Rel) -> bool {
    match rel {
        Rel::Base(base) => {
            matches!(base, Base::Session | Base::ReadsFrom | Base::Before | Base::Conflict)
        }
        Rel::None(sorts) | Rel::Every(sorts) => sorts == &[Sort::Txn, Sort::Txn],
        Rel::Identity(sort) => *sort == Sort::Txn,
        Rel::Union(left, right) | Rel::Inter(left, right) | Rel::Join(left, right) => {
            is_growing(left) && is_growing(right)
        }
        Rel::Product(left, right) => set_of(left).is_some() && set_of(right).is_some(),
        Rel::Closure(inner) | Rel::Inverse(inner) => is_growing(inner),
        Rel::Minus(..) | Rel::Single(..) | Rel::Comprehension(..) => false,
    }
}

/// A set of transactions that a matrix can be restricted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Set {
    All,
    Initial,
    /// Those that write something.
    Updates,
    /// Those that read something from another.
    Readers,
}

/// The set that a relation of one column stands for, if it is a known one.
pub(super) fn set_of(rel: &Rel) -> Option<Set> {
    match rel {
        Rel::Every(sorts) if sorts == &[Sort::Txn] => Some(Set::All),
        Rel::Base(Base::Initial) => Some(Set::Initial),
        Rel::Comprehension(vars, body) => match (vars.as_slice(), body.as_ref()) {
            ([(txn, Sort::Txn)], Formula::Exists(key, Sort::Object, body)) => member_set(*txn, *key, body),
            _ => None,
        },
        _ => None,
    }
}

fn member_set(txn: Var, key: Var, body: &Formula) -> Option<Set> {
    match body {
        Formula::Member(vars, Rel::Base(Base::Writers)) if vars == &[key, txn] => Some(Set::Updates),
        Formula::Member(vars, Rel::Base(Base::Readers)) if vars == &[key, txn] => Some(Set::Readers),
        _ => None,
    }
}
