//! How a level's text is evaluated: its parts, each of the cheapest kind that fits.
//!
//! A level is a total order `before` that contains `order`, and `visible`: if t3 reads x from t1, every other writer of x
//! that is visible to t3 comes before t1. What is visible is a union of parts, and a part is one of three kinds:
//! what a transaction read from earlier, one step of session order, of reads-from or of the order of conflicting writers,
//! or any number of such steps. Everything else is evaluated as a matrix of all pairs. Where transactions ran at levels of
//! their own, a part of the text counts for those of one level only (`spec::recorded`).

use spec::{Base, Formula, Framework, Level, Rel, Sort, Var};

/// A level in a form that can be evaluated along an order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// Before which transactions the order contains session order.
    pub session: Readers,
    /// Before which transactions the order contains reads-from.
    pub reads_from: Readers,
    /// Before which transactions the order contains those that ended before they began.
    pub real_time: Readers,
    /// What is visible, as a union.
    pub parts: Vec<Part>,
    /// To which transactions each of the parts makes something visible.
    pub readers: Vec<Readers>,
    /// Whether all reads of a key by one transaction come from the same transaction, which no order changes.
    pub one_source: bool,
}

/// The transactions for which a part of a text counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Readers {
    /// For none.
    #[default]
    None,
    /// For all.
    All,
    /// For those that ran at one of these levels.
    At(Vec<String>),
}

impl Readers {
    /// Whether the part counts for all transactions.
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// Adds all transactions, or those of a level.
    fn add(&mut self, level: Option<&str>) {
        *self = match (std::mem::take(self), level) {
            (Self::All, _) | (_, None) => Self::All,
            (Self::None, Some(level)) => Self::At(vec![level.to_owned()]),
            (Self::At(mut levels), Some(level)) => {
                if !levels.iter().any(|known| known == level) {
                    levels.push(level.to_owned());
                }
                Self::At(levels)
            }
        };
    }
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
    /// A transaction that an earlier one of the session read from.
    SeenInSession,
    /// An earlier transaction in the session of one that something is read from.
    SessionOfSource,
    /// A transaction that something was read from by a source, or by an earlier one of the source's session.
    SeenBySource,
    /// An earlier writer of a key that the transaction writes too.
    Conflicts,
    /// Every earlier transaction; with the flag, only to transactions that write something.
    Before {
        /// Whether transactions that only read see nothing by this part.
        to_updates: bool,
    },
    /// Every transaction up to one that leads into the reader by these steps: a prefix of the order.
    Prefix {
        /// An earlier transaction of the session leads into the reader.
        session: bool,
        /// A transaction that something is read from does.
        reads_from: bool,
        /// An earlier writer of a key that the reader writes too does.
        conflicts: bool,
    },
    /// An earlier writer of the key that is read, if the reader writes this key too.
    Cursor,
    /// The writer whose version of a key the reader overwrites: the last one before it.
    Overwritten,
    /// Any number of steps.
    Steps(Steps),
    /// Any other relation, by its matrix.
    Matrix(Rel),
}

/// The kinds of steps of a closure, all of them inside the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Steps {
    /// Session order.
    pub session: bool,
    /// Reads-from.
    pub reads_from: bool,
    /// From a writer of a key to a later one.
    pub conflicts: bool,
    /// From a transaction to one that began after it had ended.
    pub real_time: bool,
}

impl Steps {
    /// Whether clocks can follow the steps: the last transaction seen of a session stands for the earlier ones.
    pub fn has_clocks(self) -> bool {
        self.session && !self.real_time
    }
}

impl Part {
    /// Whether whatever the other part makes visible, this one does too, along an order that contains session order and
    /// reads-from. "No" means that it is not seen from their forms.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (known, other) if known == other => true,
            (Self::ReadsFrom, Self::Earlier) => true,
            (Self::Before { to_updates: false }, other) => match other {
                Self::Steps(steps) => !steps.real_time,
                other => !matches!(other, Self::Matrix(_)),
            },
            (Self::Steps(known), Self::Earlier | Self::ReadsFrom) => known.reads_from,
            (Self::Steps(known), Self::Session) => known.session,
            (Self::Steps(known), Self::Conflicts) => known.conflicts,
            (Self::Steps(known), Self::SeenInSession | Self::SessionOfSource | Self::SeenBySource) => {
                known.session && known.reads_from
            }
            (Self::Steps(known), Self::Steps(other)) => {
                let pairs = [
                    (known.session, other.session),
                    (known.reads_from, other.reads_from),
                    (known.conflicts, other.conflicts),
                    (known.real_time, other.real_time),
                ];
                pairs.into_iter().all(|(known, other)| known || !other)
            }
            _ => false,
        }
    }
}

impl Plan {
    /// Whether an order that satisfies this level satisfies the other one: it contains what the other's contains, and makes
    /// visible what the other does. "No" means that it is not seen from their forms.
    pub fn implies(&self, weaker: &Self) -> bool {
        let is_ordered = self.session.is_all() && self.reads_from.is_all();
        let contains = is_ordered && (self.real_time.is_all() || weaker.real_time == Readers::None);
        let parts = || self.parts.iter().zip(&self.readers);
        let is_covered = |part: &Part| parts().any(|(known, readers)| readers.is_all() && known.covers(part));
        contains && !self.one_source && !weaker.one_source && weaker.parts.iter().all(is_covered)
    }

    /// The plan of a level.
    ///
    /// # Errors
    /// With the reason, as the rest of a sentence about the level, if its text is not of this form.
    pub fn of(level: &Level) -> Result<Self, &'static str> {
        if level.allows_uncommitted {
            return Err("speaks of values alone");
        }
        if is_cut_isolation(level) {
            return Ok(Self { one_source: true, ..Self::default() });
        }
        let level = &level.normal_form(false);
        if level.framework != Framework::CommitOrder {
            return Err("is not one order and what is visible in it");
        }
        let mut plan = Self::default();
        plan.add_order(&level.order, None)?;
        match (is_cursor_stability(level), &level.visible) {
            (true, _) => plan.add_part(Part::Cursor, None),
            (false, _) if level.require != Formula::Const(true) => {
                return Err("demands more than one order and what is visible in it");
            }
            (false, None) => return Err("does not say what is visible"),
            (false, Some(visible)) => plan.add_visible(visible, None)?,
        }
        Ok(plan)
    }

    fn add_order(&mut self, rel: &Rel, level: Option<&str>) -> Result<(), &'static str> {
        match rel {
            Rel::Union(left, right) => {
                self.add_order(left, level)?;
                self.add_order(right, level)?;
            }
            Rel::Base(Base::Session) => self.session.add(level),
            Rel::Base(Base::ReadsFrom) => self.reads_from.add(level),
            Rel::Base(Base::RealTime) => self.real_time.add(level),
            Rel::None(_) => {}
            rel => match rel.of_level() {
                Some((inner, name)) if level.is_none() => self.add_order(inner, Some(name))?,
                _ => return Err("puts more into its order than session order, reads-from and real time"),
            },
        }
        Ok(())
    }

    fn add_part(&mut self, part: Part, level: Option<&str>) {
        let place = self.parts.iter().position(|known| *known == part).unwrap_or_else(|| {
            self.parts.push(part);
            self.readers.push(Readers::None);
            self.parts.len() - 1
        });
        self.readers[place].add(level);
    }

    fn add_visible(&mut self, rel: &Rel, level: Option<&str>) -> Result<(), &'static str> {
        if let Some((inner, name)) = rel.of_level().filter(|_| level.is_none()) {
            return self.add_visible(inner, Some(name));
        }
        let part = match rel {
            Rel::Union(left, right) => {
                self.add_visible(left, level)?;
                return self.add_visible(right, level);
            }
            Rel::None(_) => return Ok(()),
            Rel::Base(Base::Earlier) => Part::Earlier,
            Rel::Base(Base::Session) => Part::Session,
            Rel::Base(Base::ReadsFrom) => Part::ReadsFrom,
            rel if is_joined(rel, Base::ReadsFrom, Base::Session) => Part::SeenInSession,
            rel if self.session.is_all() && is_joined(rel, Base::Session, Base::ReadsFrom) => {
                Part::SessionOfSource
            }
            rel if is_seen_by_source(rel) => Part::SeenBySource,
            rel if is_conflict_order(rel) => Part::Conflicts,
            rel if is_overwrites(rel) => {
                // Who overwrites what it read has seen the last writer, so the other writers come before its source: the
                // same by a part that only grows, and whose contradictions need few transactions.
                self.add_part(Part::Cursor, level);
                Part::Overwritten
            }
            Rel::Base(Base::Before) => Part::Before { to_updates: false },
            rel if is_before_updates(rel) => Part::Before { to_updates: true },
            Rel::Closure(inner) => match self.steps(inner) {
                Some(steps) => Part::Steps(steps),
                None => matrix(rel)?,
            },
            rel => match prefix(rel) {
                Some(part) => part,
                None => matrix(rel)?,
            },
        };
        self.add_part(part, level);
        Ok(())
    }

    /// The steps of a closure, if they are inside the order.
    fn steps(&self, inner: &Rel) -> Option<Steps> {
        let mut steps = Steps::default();
        let mut open = vec![inner];
        while let Some(rel) = open.pop() {
            match rel {
                Rel::Union(left, right) => open.extend([left.as_ref(), right.as_ref()]),
                Rel::Base(Base::Session) => steps.session = true,
                Rel::Base(Base::RealTime) => steps.real_time = true,
                Rel::Base(Base::ReadsFrom) => steps.reads_from = true,
                rel if is_conflict_order(rel) => steps.conflicts = true,
                _ => return None,
            }
        }
        let is_inside = (self.session.is_all() || !steps.session)
            && (self.reads_from.is_all() || !steps.reads_from)
            && (self.real_time.is_all() || !steps.real_time);
        is_inside.then_some(steps)
    }

    /// Whether what is visible follows from the sources of reads alone, so that every order gives the same.
    pub fn is_static(&self) -> bool {
        self.parts.iter().all(|part| match part {
            Part::Earlier
            | Part::Session
            | Part::ReadsFrom
            | Part::SeenInSession
            | Part::SessionOfSource
            | Part::SeenBySource => true,
            Part::Conflicts
            | Part::Before { .. }
            | Part::Prefix { .. }
            | Part::Cursor
            | Part::Overwritten => false,
            Part::Steps(steps) => !steps.conflicts,
            Part::Matrix(rel) => !rel.mentions(Base::Before),
        })
    }

    /// Whether a transaction sees nothing but the sources of its own earlier reads, so that rows that a predicate did not match
    /// need no reads of their own (`facts/unmatched.rs`).
    pub fn is_local(&self) -> bool {
        let is_earlier = |(part, readers): (&Part, &Readers)| *part == Part::Earlier && readers.is_all();
        let is_ordered = self.reads_from.is_all() && !self.one_source;
        is_ordered && self.parts.iter().zip(&self.readers).all(is_earlier)
    }

    /// Whether what is visible may become less when there are more writers, so that what contradicts itself among some
    /// transactions proves nothing where other writers of their keys are left out.
    pub fn depends_on_all_writers(&self) -> bool {
        self.parts.contains(&Part::Overwritten)
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

/// The composition of two relations of the language.
fn is_joined(rel: &Rel, first: Base, second: Base) -> bool {
    let Rel::Join(left, right) = rel else { return false };
    **left == Rel::Base(first) && **right == Rel::Base(second)
}

/// `reads_from ; session? ; reads_from`, however it is grouped.
fn is_seen_by_source(rel: &Rel) -> bool {
    let is_read = |rel: &Rel| *rel == Rel::Base(Base::ReadsFrom);
    let is_session = |rel: &Rel| *rel == Rel::Base(Base::Session).optional();
    let Rel::Join(left, right) = rel else { return false };
    match (left.as_ref(), right.as_ref()) {
        (Rel::Join(first, then), last) => is_read(first) && is_session(then) && is_read(last),
        (first, Rel::Join(then, last)) => is_read(first) && is_session(then) && is_read(last),
        _ => false,
    }
}

/// `conflict & before`, either way round.
fn is_conflict_order(rel: &Rel) -> bool {
    let Rel::Inter(left, right) = rel else { return false };
    let bases = [left.as_ref(), right.as_ref()];
    bases.contains(&&Rel::Base(Base::Conflict)) && bases.contains(&&Rel::Base(Base::Before))
}

/// The relation `overwrites` of the standard library.
fn is_overwrites(rel: &Rel) -> bool {
    let shipped = spec::library::level("no-lost-update").expect("a test finds the text of every level");
    let mut open: Vec<&Rel> = shipped.visible.iter().collect();
    while let Some(part) = open.pop() {
        match part {
            Rel::Union(left, right) => open.extend([left.as_ref(), right.as_ref()]),
            Rel::Comprehension(..) => return part == rel,
            _ => {}
        }
    }
    false
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

/// `before? ; R`, where R is a union of session order, reads-from and the order of conflicting writers.
fn prefix(rel: &Rel) -> Option<Part> {
    let Rel::Join(left, right) = rel else { return None };
    let mut open = vec![left.as_ref()];
    let (mut has_before, mut has_identity) = (false, false);
    while let Some(rel) = open.pop() {
        match rel {
            Rel::Union(left, right) => open.extend([left.as_ref(), right.as_ref()]),
            Rel::Base(Base::Before) => has_before = true,
            Rel::Identity(Sort::Txn) => has_identity = true,
            _ => return None,
        }
    }
    let (mut session, mut reads_from, mut conflicts) = (false, false, false);
    open.push(right);
    while let Some(rel) = open.pop() {
        match rel {
            Rel::Union(left, right) => open.extend([left.as_ref(), right.as_ref()]),
            Rel::Base(Base::Session) => session = true,
            Rel::Base(Base::ReadsFrom) => reads_from = true,
            rel if is_conflict_order(rel) => conflicts = true,
            _ => return None,
        }
    }
    (has_before && has_identity).then_some(Part::Prefix { session, reads_from, conflicts })
}

/// The demand of cursor stability, whatever the level is called: its reader is also a writer of the key, which `visible`
/// cannot say.
fn is_cursor_stability(level: &Level) -> bool {
    let shipped = spec::library::level("cursor-stability").expect("a test finds the text of every level");
    level.visible.is_none() && level.require == shipped.require
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
            matches!(base, Base::Session | Base::ReadsFrom | Base::RealTime | Base::Before | Base::Conflict)
        }
        Rel::None(sorts) | Rel::Every(sorts) => sorts == &[Sort::Txn, Sort::Txn],
        Rel::Identity(sort) => *sort == Sort::Txn,
        Rel::Union(left, right) | Rel::Inter(left, right) | Rel::Join(left, right) => {
            is_growing(left) && is_growing(right)
        }
        Rel::Product(left, right) => set_of(left).is_some() && set_of(right).is_some(),
        Rel::Closure(inner) | Rel::Inverse(inner) => is_growing(inner),
        Rel::Minus(..) | Rel::Single(..) | Rel::Comprehension(..) | Rel::RanAt(_) => false,
    }
}

/// A set of transactions that a matrix can be restricted to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Set {
    All,
    Initial,
    /// Those that write something.
    Updates,
    /// Those that read something from another.
    Readers,
    /// Those that ran at a level.
    At(String),
}

/// The set that a relation of one column stands for, if it is a known one.
pub(super) fn set_of(rel: &Rel) -> Option<Set> {
    match rel {
        Rel::Every(sorts) if sorts == &[Sort::Txn] => Some(Set::All),
        Rel::Base(Base::Initial) => Some(Set::Initial),
        Rel::RanAt(level) => Some(Set::At(level.clone())),
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
