//! Whether a relation has free variables: one without needs to be computed only once.

use crate::core::{Formula, Rel, Var};

/// Whether a relation has no free variables.
pub(crate) fn is_closed(rel: &Rel, bound: &mut Vec<Var>) -> bool {
    match rel {
        Rel::Base(_) | Rel::None(_) | Rel::Every(_) | Rel::Identity(_) | Rel::RanAt(_) => true,
        Rel::Single(var, _) => bound.contains(var),
        Rel::Union(left, right)
        | Rel::Inter(left, right)
        | Rel::Minus(left, right)
        | Rel::Join(left, right)
        | Rel::Product(left, right) => is_closed(left, bound) && is_closed(right, bound),
        Rel::Closure(inner) | Rel::Inverse(inner) => is_closed(inner, bound),
        Rel::Comprehension(vars, body) => {
            let depth = bound.len();
            bound.extend(vars.iter().map(|&(var, _)| var));
            let closed = is_closed_formula(body, bound);
            bound.truncate(depth);
            closed
        }
    }
}

fn is_closed_formula(formula: &Formula, bound: &mut Vec<Var>) -> bool {
    match formula {
        Formula::Const(_) => true,
        Formula::Not(inner) => is_closed_formula(inner, bound),
        Formula::And(left, right) | Formula::Or(left, right) => {
            is_closed_formula(left, bound) && is_closed_formula(right, bound)
        }
        Formula::All(var, _, body) | Formula::Exists(var, _, body) => {
            bound.push(*var);
            let closed = is_closed_formula(body, bound);
            bound.pop();
            closed
        }
        Formula::Same(left, right) => bound.contains(left) && bound.contains(right),
        Formula::Member(vars, rel) => vars.iter().all(|var| bound.contains(var)) && is_closed(rel, bound),
        Formula::Subset(left, right) => is_closed(left, bound) && is_closed(right, bound),
        Formula::NonEmpty(rel) | Formula::AtMostOne(rel) | Formula::Acyclic(rel) => is_closed(rel, bound),
    }
}
