//! One spelling for relations that mean the same, as far as cheap rules reach.
//!
//! Unions are flat, sorted and without repeats; compositions that begin alike are joined; and what lies inside `before`
//! vanishes next to it. Two definitions of one level then often become the same expression, and comparing them is free.

use crate::core::{Base, Rel};
use crate::forward::lies_inside_default;

/// The same relation in its simplest spelling; `inside` if session order and reads-from lie inside `before`.
pub(crate) fn simplify(rel: &Rel, inside: bool) -> Rel {
    let again = |inner: &Rel| Box::new(simplify(inner, inside));
    match rel {
        Rel::Union(..) => union(rel, inside),
        Rel::Inter(left, right) => Rel::Inter(again(left), again(right)),
        Rel::Minus(left, right) => Rel::Minus(again(left), again(right)),
        Rel::Join(left, right) => {
            let (left, right) = (again(left), again(right));
            let before = Rel::Base(Base::Before);
            // A total order is transitive: before? ; before = before.
            if *right == before && *left == simplify(&before.clone().optional(), inside) {
                return before;
            }
            Rel::Join(left, right)
        }
        Rel::Product(left, right) => Rel::Product(again(left), again(right)),
        Rel::Closure(inner) => match again(inner) {
            inner if *inner == Rel::Base(Base::Before) => *inner,
            inner => Rel::Closure(inner),
        },
        Rel::Inverse(inner) => Rel::Inverse(again(inner)),
        other => other.clone(),
    }
}

fn union(rel: &Rel, inside: bool) -> Rel {
    let mut parts = Vec::new();
    flatten(rel, inside, &mut parts);
    parts.sort();
    parts.dedup();
    let before = Rel::Base(Base::Before);
    if inside && parts.contains(&before) {
        parts.retain(|part| *part == before || !lies_inside_default(part));
    }
    let parts = join_alike(parts, inside);
    parts.into_iter().reduce(Rel::union).expect("a union has parts")
}

fn flatten(rel: &Rel, inside: bool, parts: &mut Vec<Rel>) {
    match rel {
        Rel::Union(left, right) => {
            flatten(left, inside, parts);
            flatten(right, inside, parts);
        }
        Rel::None(_) => {}
        other => parts.push(simplify(other, inside)),
    }
    if parts.is_empty() {
        parts.push(rel.clone());
    }
}

/// `A;B | A;C` is `A;(B | C)`.
fn join_alike(parts: Vec<Rel>, inside: bool) -> Vec<Rel> {
    let mut kept: Vec<Rel> = Vec::new();
    for part in parts {
        if let Rel::Join(left, right) = &part
            && let Some(Rel::Join(_, known)) = kept.iter_mut().find(|kept| begins_with(kept, left))
        {
            **known = simplify(&(**known).clone().union((**right).clone()), inside);
            continue;
        }
        kept.push(part);
    }
    kept
}

fn begins_with(rel: &Rel, first: &Rel) -> bool {
    matches!(rel, Rel::Join(left, _) if **left == *first)
}
