//! Finds the normal form of a level: one order, and what is visible in it.
//!
//! A formula over a commit order that says "a visible writer comes before the source" is such a form already, and
//! conjunctions of them are unions. For visibility, every demand that only asks for *more* visible pairs has a least
//! solution along an order, and a larger one can only break reads; so the least one decides, and it is an expression.
//! What does not fit is kept as it is: the normal form is an equivalent level, never an approximation.

use crate::core::{Base, Formula, Framework, Level, Rel, Sort, Var};
use crate::edges::{Edge, edge_of};
use crate::forward::lies_inside_default;
use crate::simplify::simplify;

impl Level {
    /// An equivalent level over a commit order with a `visible` clause, where one is found; else the level itself.
    ///
    /// With `one_source` the level is only asked about histories in which no transaction reads an object from two
    /// others, and the form may use that.
    pub fn normal_form(&self, one_source: bool) -> Self {
        let found = match self.framework {
            Framework::CommitOrder if self.visible.is_none() => from_edges(self, one_source),
            Framework::Visibility => from_visibility(self),
            _ => None,
        };
        let mut level = found.unwrap_or_else(|| self.clone());
        let inside = contains_part(&level.order, &Rel::Base(Base::Session))
            && contains_part(&level.order, &Rel::Base(Base::ReadsFrom));
        level.visible = level.visible.map(|visible| simplify(&visible, inside));
        level
    }
}

fn conjuncts(formula: &Formula) -> Vec<&Formula> {
    match formula {
        Formula::Const(true) => Vec::new(),
        Formula::And(left, right) => [conjuncts(left), conjuncts(right)].concat(),
        other => vec![other],
    }
}

fn united(parts: Vec<Rel>) -> Option<Rel> {
    parts.into_iter().fold(None, |all: Option<Rel>, part| match all {
        Some(all) if contains_part(&all, &part) => Some(all),
        Some(all) => Some(all.union(part)),
        None => Some(part),
    })
}

fn contains_part(union: &Rel, part: &Rel) -> bool {
    match union {
        rel if rel == part => true,
        Rel::Union(left, right) => contains_part(left, part) || contains_part(right, part),
        _ => false,
    }
}

fn from_edges(level: &Level, one_source: bool) -> Option<Level> {
    let mut visible = Vec::new();
    let mut implied_if = Vec::new();
    let mut rest = Vec::new();
    for conjunct in conjuncts(&level.require) {
        match edge_of(conjunct, one_source) {
            Some(Edge::Forced(phi)) => visible.push(phi),
            Some(Edge::Excluded(phi, between)) => implied_if.push((phi, between, conjunct)),
            None => rest.push(conjunct),
        }
    }
    // A pattern that asks for a stronger relation between the writers than the order follows from the one that asks
    // for the order.
    for (phi, between, conjunct) in implied_if {
        if !(lies_inside_default(&between) && visible.contains(&phi)) {
            rest.push(conjunct);
        }
    }
    let require = rest.into_iter().cloned().fold(Formula::Const(true), Formula::and);
    Some(Level { visible: Some(united(visible)?), require, ..level.clone() })
}

fn from_visibility(level: &Level) -> Option<Level> {
    let visible = Rel::Base(Base::Visible);
    let before = Rel::Base(Base::Before);
    let (mut transitive, mut prefix) = (false, false);
    let mut parts = vec![level.order.clone(), Rel::Base(Base::ReadsFrom)];
    let mut require = Formula::Const(true);
    for conjunct in conjuncts(&level.require) {
        let Formula::Subset(less, more) = conjunct else {
            return None;
        };
        if *less == visible.clone().join(visible.clone()) && *more == visible {
            transitive = true;
        } else if *less == before.clone().join(visible.clone()) && *more == visible {
            prefix = true;
        } else if less.mentions(Base::Visible) {
            return None;
        } else if *more == visible {
            require = require.and(within_before(less));
            parts.push(less.clone());
        } else {
            parts.push(either_way(less, more)?);
        }
    }
    let order = united(vec![level.order.clone(), Rel::Base(Base::ReadsFrom)])?;
    let base = united(parts)?;
    let visible = if prefix {
        before.optional().join(base)
    } else if transitive {
        Rel::Closure(Box::new(base))
    } else {
        base
    };
    Some(Level { framework: Framework::CommitOrder, order, visible: Some(visible), require, ..level.clone() })
}

fn within_before(rel: &Rel) -> Formula {
    if lies_inside_default(rel) {
        return Formula::Const(true);
    }
    Formula::Subset(rel.clone(), Rel::Base(Base::Before))
}

/// `E in (visible | ~visible)`: whichever of two comes first in the order is visible to the other.
fn either_way(less: &Rel, more: &Rel) -> Option<Rel> {
    let visible = Rel::Base(Base::Visible);
    let has_both =
        contains_part(more, &visible) && contains_part(more, &Rel::Inverse(Box::new(visible.clone())));
    let spares_self = contains_part(more, &Rel::Identity(Sort::Txn)) || *less == Rel::Base(Base::Conflict);
    if !has_both || !spares_self || union_size(more) > 3 {
        return None;
    }
    let before = Rel::Base(Base::Before);
    Some(match less {
        Rel::Every(_) => before,
        Rel::Base(Base::Conflict) => less.clone().inter(before),
        less => less.clone().union(Rel::Inverse(Box::new(less.clone()))).inter(before),
    })
}

fn union_size(rel: &Rel) -> usize {
    match rel {
        Rel::Union(left, right) => union_size(left) + union_size(right),
        _ => 1,
    }
}

/// What remains of a guard once the reads and writes of the pattern are taken out, as a relation of t2 and t3.
pub(crate) fn relation_of(t2: Var, t3: Var, bound: &[(Var, Sort)], rest: Vec<Formula>) -> Rel {
    if let ([], [Formula::Member(vars, rel)]) = (bound, rest.as_slice())
        && vars == &[t2, t3]
    {
        return rel.clone();
    }
    if let ([(y, Sort::Object)], [Formula::Member(vars, Rel::Base(Base::ReadsFromOn))]) =
        (bound, rest.as_slice())
        && vars == &[*y, t2, t3]
    {
        return Rel::Base(Base::ReadsFrom);
    }
    // `a` in a union was split when it was read; it is one relation again here.
    if let ([], [Formula::Or(left, right)]) = (bound, rest.as_slice()) {
        let side = |formula: &Formula| relation_of(t2, t3, &[], split(formula));
        return side(left).union(side(right));
    }
    if bound.is_empty() && rest.len() > 1 {
        let parts = rest.into_iter().map(|formula| relation_of(t2, t3, &[], vec![formula]));
        return parts.reduce(Rel::inter).expect("more than one part");
    }
    let body = rest.into_iter().fold(Formula::Const(true), Formula::and);
    let body = bound.iter().rev().fold(body, |body, &(var, sort)| Formula::Exists(var, sort, Box::new(body)));
    match body {
        Formula::Member(vars, rel) if vars == [t3] => {
            Rel::Product(Box::new(Rel::Every(vec![Sort::Txn])), Box::new(rel))
        }
        Formula::Same(left, right) if [left, right] == [t2, t3] || [left, right] == [t3, t2] => {
            Rel::Identity(Sort::Txn)
        }
        body => Rel::Comprehension(vec![(t2, Sort::Txn), (t3, Sort::Txn)], Box::new(body)),
    }
}

fn split(formula: &Formula) -> Vec<Formula> {
    conjuncts(formula).into_iter().cloned().collect()
}
