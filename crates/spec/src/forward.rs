//! Which levels can be judged while an order grows.
//!
//! A relation is *forward* if it lies inside `before` and what leads into a transaction depends only on what stands
//! before it. Then nothing that is appended later can change a judgement, and a prefix that fails need not be extended.
//! Every `visible` level of the standard library is forward; any other level is judged on complete orders.

use crate::core::{Base, Formula, Framework, Level, Rel, Sort, Var};

/// A level that a growing order can be judged by.
#[derive(Clone, Debug)]
pub(crate) struct Forward<'l> {
    /// What the order must contain, apart from reads-from; with a level, only before transactions that ran at it.
    pub order: Vec<(Base, Option<&'l str>)>,
    /// What a transaction surely sees.
    pub visible: &'l Rel,
    /// Relations that must stay empty.
    pub empty: Vec<&'l Rel>,
    /// Whether `visible` speaks of the read that is judged.
    pub reads_matter: bool,
}

/// The level in that form, if it has it.
pub(crate) fn forward(level: &Level) -> Option<Forward<'_>> {
    if level.framework != Framework::CommitOrder {
        return None;
    }
    let mut order = Vec::new();
    order_bases(&level.order, None, &mut order)?;
    // A transaction is placed after those that it reads from, whatever its level says.
    order.contains(&(Base::ReadsFrom, None)).then_some(())?;
    order.retain(|&(base, _)| base != Base::ReadsFrom);
    let visible = level.visible.as_ref()?;
    let mut empty = Vec::new();
    empty_relations(&level.require, &mut empty)?;
    let is_forward = |rel: &Rel| lies_inside(rel, &order, None);
    (is_forward(visible) && empty.iter().all(|rel| is_forward(rel))).then_some(())?;
    Some(Forward { reads_matter: visible.mentions(Base::Earlier), visible, empty, order })
}

/// A base relation of the order, of all transactions or before those that ran at a level.
type Ordered<'l> = (Base, Option<&'l str>);

fn order_bases<'l>(rel: &'l Rel, level: Option<&'l str>, found: &mut Vec<Ordered<'l>>) -> Option<()> {
    match rel {
        Rel::Union(left, right) => {
            order_bases(left, level, found)?;
            order_bases(right, level, found)
        }
        Rel::Base(base @ (Base::Session | Base::ReadsFrom | Base::RealTime | Base::CommitRealTime)) => {
            if !found.contains(&(*base, level)) {
                found.push((*base, level));
            }
            Some(())
        }
        rel => match rel.of_level() {
            Some((inner, name)) if level.is_none() => order_bases(inner, Some(name), found),
            _ => None,
        },
    }
}

fn empty_relations<'f>(formula: &'f Formula, found: &mut Vec<&'f Rel>) -> Option<()> {
    match formula {
        Formula::Const(true) => Some(()),
        Formula::And(left, right) => {
            empty_relations(left, found)?;
            empty_relations(right, found)
        }
        Formula::Not(inner) => match inner.as_ref() {
            Formula::NonEmpty(rel) => {
                found.push(rel);
                Some(())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Inside `before` if the order contains session order and reads-from.
pub(crate) fn lies_inside_default(rel: &Rel) -> bool {
    lies_inside(rel, &[(Base::Session, None)], None)
}

/// Inside `before`, with columns that depend only on what stands before; with a level, this is asked of the columns of
/// transactions that ran at it.
fn lies_inside(rel: &Rel, order: &[Ordered<'_>], level: Option<&str>) -> bool {
    match rel {
        Rel::Base(Base::Before | Base::ReadsFrom | Base::Earlier) => true,
        Rel::Base(base) => {
            order.contains(&(*base, None)) || level.is_some() && order.contains(&(*base, level))
        }
        Rel::None(_) => true,
        Rel::Union(left, right) => lies_inside(left, order, level) && lies_inside(right, order, level),
        Rel::Inter(left, right) => {
            let of_level = rel.of_level().filter(|_| level.is_none());
            of_level.is_some_and(|(inner, name)| lies_inside(inner, order, Some(name)))
                || (lies_inside(left, order, level) && is_stable(right, order))
                || (is_stable(left, order) && lies_inside(right, order, level))
        }
        Rel::Minus(left, right) => lies_inside(left, order, level) && is_stable(right, order),
        // With one side inside and the other inside or identity, a step never leaves what stands before. Only the last
        // step leads into the transaction whose level counts.
        Rel::Join(left, right) => {
            (steps_inside(left, order, None) && lies_inside(right, order, level))
                || (lies_inside(left, order, None) && steps_inside(right, order, level))
        }
        Rel::Closure(inner) => lies_inside(inner, order, None),
        _ => false,
    }
}

/// Inside `before` or standing still.
fn steps_inside(rel: &Rel, order: &[Ordered<'_>], level: Option<&str>) -> bool {
    match rel {
        Rel::Identity(Sort::Txn) => true,
        Rel::Union(left, right) => steps_inside(left, order, level) && steps_inside(right, order, level),
        rel => lies_inside(rel, order, level),
    }
}

/// Whether a pair of transactions is in it is settled once both stand in the order.
fn is_stable(rel: &Rel, order: &[Ordered<'_>]) -> bool {
    match rel {
        Rel::Base(base) => base.sorts() == [Sort::Txn, Sort::Txn] && *base != Base::Visible,
        Rel::Every(sorts) => sorts.iter().all(|&sort| sort == Sort::Txn),
        Rel::Identity(Sort::Txn) => true,
        Rel::Inverse(inner) => is_stable(inner, order),
        Rel::Union(left, right) | Rel::Inter(left, right) | Rel::Minus(left, right) => {
            is_stable(left, order) && is_stable(right, order)
        }
        Rel::Product(left, right) => is_local_set(left) && is_local_set(right),
        rel => lies_inside(rel, order, None),
    }
}

/// A set of transactions that each transaction's own operations decide.
pub(crate) fn is_local_set(rel: &Rel) -> bool {
    match rel {
        Rel::Every(sorts) => sorts == &[Sort::Txn],
        Rel::Base(base) => *base == Base::Initial,
        Rel::RanAt(_) => true,
        Rel::Comprehension(vars, body) => {
            matches!(vars.as_slice(), [(var, Sort::Txn)] if is_local(body, *var, &mut Vec::new()))
        }
        _ => false,
    }
}

fn is_local(formula: &Formula, txn: Var, others: &mut Vec<Var>) -> bool {
    match formula {
        Formula::Const(_) => true,
        Formula::Not(inner) => is_local(inner, txn, others),
        Formula::And(left, right) | Formula::Or(left, right) => {
            is_local(left, txn, others) && is_local(right, txn, others)
        }
        Formula::All(var, sort, body) | Formula::Exists(var, sort, body) => {
            others.push(*var);
            *sort == Sort::Object && is_local(body, txn, others)
        }
        Formula::Same(left, right) => {
            [left, right].into_iter().all(|var| *var == txn || others.contains(var))
        }
        Formula::Member(vars, Rel::Base(Base::Writers | Base::Readers)) => vars.contains(&txn),
        _ => false,
    }
}
