//! The normal form, spelled out: what a `visible` clause demands, as a formula.
//!
//! If t3 reads x from t1, every other writer t2 of x that is visible to t3 comes before t1. `earlier` inside `visible`
//! speaks of the read that is judged, so its meaning is filled in here, where that read has a name.

use crate::check::membership;
use crate::core::{Base, Formula, Framework, Level, Rel, Sort, Var};

const X: Var = Var(0);
const T1: Var = Var(1);
const T2: Var = Var(2);
const T3: Var = Var(3);
const S: Var = Var(4);
const T: Var = Var(5);

/// The demand of a `visible` clause as a formula over the order `before`.
pub fn edge(visible: &Rel) -> Formula {
    let sees = membership(vec![T2, T3], at_read(visible));
    let guard = Formula::Same(T1, T2)
        .negated()
        .and(Formula::Member(vec![X, T1, T3], Rel::Base(Base::ReadsFromOn)))
        .and(Formula::Member(vec![X, T2], Rel::Base(Base::Writers)))
        .and(sees);
    let body = guard.implies(Formula::Member(vec![T2, T1], Rel::Base(Base::Before)));
    let all = |var, sort, body| Formula::All(var, sort, Box::new(body));
    all(X, Sort::Object, all(T1, Sort::Txn, all(T2, Sort::Txn, all(T3, Sort::Txn, body))))
}

/// Every read takes the last visible write: its source is visible, and every other visible writer comes before it.
fn reads_last_visible() -> Formula {
    let base = |vars: &[Var], base| Formula::Member(vars.to_vec(), Rel::Base(base));
    let rival = base(&[X, T2], Base::Writers).and(base(&[T2, T3], Base::Visible));
    let in_order = rival.implies(Formula::Same(T2, T1).or(base(&[T2, T1], Base::Before)));
    let seen = base(&[T1, T3], Base::Visible).and(Formula::All(T2, Sort::Txn, Box::new(in_order)));
    let body = base(&[X, T1, T3], Base::ReadsFromOn).implies(seen);
    let all = |var, sort, body| Formula::All(var, sort, Box::new(body));
    all(X, Sort::Object, all(T1, Sort::Txn, all(T3, Sort::Txn, body)))
}

impl Level {
    /// What the framework demands of every witness, apart from `before` being a total order that begins with the
    /// initial transaction.
    pub fn axioms(&self) -> Formula {
        match self.framework {
            Framework::History => Formula::Const(true),
            Framework::CommitOrder => Formula::Subset(self.order.clone(), Rel::Base(Base::Before)),
            Framework::Visibility => {
                let visible = || Rel::Base(Base::Visible);
                let others = Rel::Every(vec![Sort::Txn]);
                let initial = Rel::Product(Box::new(Rel::Base(Base::Initial)), Box::new(others));
                let all_see_initial = Formula::Subset(initial, visible().optional());
                Formula::Subset(self.order.clone(), visible())
                    .and(Formula::Subset(visible(), Rel::Base(Base::Before)))
                    .and(all_see_initial)
                    .and(reads_last_visible())
            }
        }
    }

    /// Everything the level demands of a witness beyond what its framework demands, as one formula.
    pub fn demand(&self) -> Formula {
        match &self.visible {
            Some(visible) => edge(visible).and(self.require.clone()),
            None => self.require.clone(),
        }
    }
}

/// `visible` at the read of x from t1 by t3: `earlier` becomes what `reads_then` says of that read.
fn at_read(rel: &Rel) -> Rel {
    if !rel.mentions(Base::Earlier) {
        return rel.clone();
    }
    let again = |inner: &Rel| Box::new(at_read(inner));
    match rel {
        Rel::Base(Base::Earlier) => {
            let then = Formula::Member(vec![X, S, T1, T], Rel::Base(Base::ReadsThen));
            Rel::Comprehension(vec![(S, Sort::Txn), (T, Sort::Txn)], Box::new(then.and(Formula::Same(T, T3))))
        }
        Rel::Union(left, right) => Rel::Union(again(left), again(right)),
        Rel::Inter(left, right) => Rel::Inter(again(left), again(right)),
        Rel::Minus(left, right) => Rel::Minus(again(left), again(right)),
        Rel::Join(left, right) => Rel::Join(again(left), again(right)),
        Rel::Product(left, right) => Rel::Product(again(left), again(right)),
        Rel::Closure(inner) => Rel::Closure(again(inner)),
        Rel::Inverse(inner) => Rel::Inverse(again(inner)),
        Rel::Comprehension(vars, body) => Rel::Comprehension(vars.clone(), Box::new(at_read_formula(body))),
        rel => rel.clone(),
    }
}

fn at_read_formula(formula: &Formula) -> Formula {
    let again = |inner: &Formula| Box::new(at_read_formula(inner));
    match formula {
        Formula::Not(inner) => Formula::Not(again(inner)),
        Formula::And(left, right) => Formula::And(again(left), again(right)),
        Formula::Or(left, right) => Formula::Or(again(left), again(right)),
        Formula::All(var, sort, body) => Formula::All(*var, *sort, again(body)),
        Formula::Exists(var, sort, body) => Formula::Exists(*var, *sort, again(body)),
        Formula::Member(vars, rel) => Formula::Member(vars.clone(), at_read(rel)),
        Formula::Subset(left, right) => Formula::Subset(at_read(left), at_read(right)),
        Formula::NonEmpty(rel) => Formula::NonEmpty(at_read(rel)),
        Formula::AtMostOne(rel) => Formula::AtMostOne(at_read(rel)),
        Formula::Acyclic(rel) => Formula::Acyclic(at_read(rel)),
        Formula::Const(_) | Formula::Same(..) => formula.clone(),
    }
}
