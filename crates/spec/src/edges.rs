//! Recognises the formulas that say "t3 reads x from t1, t2 writes x too, and t3 sees t2: so t2 comes before t1".
//!
//! Two spellings are known: as an implication (Biswas and Enea), and as a pattern that must not occur, in which t1
//! stands before t2 (Plume). What is left of the guard is then the relation through which t3 sees t2.

use crate::core::{Base, Formula, Rel, Sort, Var};
use crate::normalize::relation_of;

/// What a recognised formula demands.
pub(crate) enum Edge {
    /// Every other writer that the relation shows comes before the source.
    Forced(Rel),
    /// No other writer that the first relation shows follows the source by the second.
    Excluded(Rel, Rel),
}

/// The formula as an edge, if it is one.
pub(crate) fn edge_of(formula: &Formula, one_source: bool) -> Option<Edge> {
    let mut vars = Vec::new();
    let (guard, conclusion) = guard_of(formula, &mut vars)?;
    let mut literals = Vec::new();
    flatten(guard, &mut literals);
    reads_then(&literals, conclusion, vars.len()).or_else(|| {
        let mains = literals.iter().filter_map(|literal| match literal {
            Formula::Member(tuple, Rel::Base(Base::ReadsFromOn)) => Some((tuple[0], tuple[1], tuple[2])),
            _ => None,
        });
        mains.into_iter().find_map(|main| with_main(&vars, &literals, conclusion, main, one_source))
    })
}

/// Strips the quantifiers of `all ... . guard => conclusion`, `no ... . guard` and `!(some ... . guard)`.
fn guard_of<'f>(
    formula: &'f Formula,
    vars: &mut Vec<(Var, Sort)>,
) -> Option<(&'f Formula, Option<&'f Formula>)> {
    match formula {
        Formula::All(var, sort, body) => {
            vars.push((*var, *sort));
            guard_of(body, vars)
        }
        Formula::Or(left, right) => match left.as_ref() {
            Formula::Not(guard) if !vars.is_empty() => Some((guard, Some(right))),
            _ => None,
        },
        Formula::Not(inner) => {
            let mut body = inner.as_ref();
            while let Formula::Exists(var, sort, inner) = body {
                vars.push((*var, *sort));
                body = inner;
            }
            (!vars.is_empty()).then_some((body, None))
        }
        _ => None,
    }
}

fn flatten<'f>(formula: &'f Formula, literals: &mut Vec<&'f Formula>) {
    match formula {
        Formula::And(left, right) => {
            flatten(left, literals);
            flatten(right, literals);
        }
        literal => literals.push(literal),
    }
}

/// Read committed: the reader had read from t2 before it read x from t1.
fn reads_then(literals: &[&Formula], conclusion: Option<&Formula>, var_count: usize) -> Option<Edge> {
    let (x, t2, t1) = literals.iter().find_map(|literal| match literal {
        Formula::Member(tuple, Rel::Base(Base::ReadsThen)) => Some((tuple[0], tuple[1], tuple[2])),
        _ => None,
    })?;
    let expected = [differ(t1, t2), differ(t2, t1), is_in(&[x, t2], Base::Writers)];
    let others =
        literals.iter().filter(|literal| !matches!(literal, Formula::Member(_, Rel::Base(Base::ReadsThen))));
    let fits =
        literals.len() == 3 && var_count == 4 && others.clone().all(|literal| expected.contains(literal));
    (fits && conclusion == Some(&is_in(&[t2, t1], Base::Before)))
        .then_some(Edge::Forced(Rel::Base(Base::Earlier)))
}

fn is_in(vars: &[Var], base: Base) -> Formula {
    Formula::Member(vars.to_vec(), Rel::Base(base))
}

fn differ(left: Var, right: Var) -> Formula {
    Formula::Same(left, right).negated()
}

fn with_main(
    vars: &[(Var, Sort)],
    literals: &[&Formula],
    conclusion: Option<&Formula>,
    (x, t1, t3): (Var, Var, Var),
    one_source: bool,
) -> Option<Edge> {
    let writers = literals.iter().find_map(|literal| match literal {
        Formula::Member(tuple, Rel::Base(Base::Writers))
            if tuple[0] == x && tuple[1] != t1 && tuple[1] != t3 =>
        {
            Some(tuple[1])
        }
        _ => None,
    });
    let t2 = writers?;
    let distinct = |literal: &&&Formula| ***literal == differ(t1, t2) || ***literal == differ(t2, t1);
    let between: Option<&Rel> = literals.iter().find_map(|literal| match literal {
        Formula::Member(tuple, rel) if tuple == &[t1, t2] => Some(rel),
        _ => None,
    });
    match conclusion {
        Some(conclusion) => {
            let is_edge =
                *conclusion == is_in(&[t2, t1], Base::Before) && literals.iter().any(|l| distinct(&l));
            (is_edge && between.is_none()).then_some(())?;
        }
        None => {
            between?;
        }
    }
    let spent = [
        is_in(&[x, t1, t3], Base::ReadsFromOn),
        is_in(&[x, t2], Base::Writers),
        differ(t3, t1),
        differ(t1, t3),
    ];
    let mut rest: Vec<Formula> = literals
        .iter()
        .filter(|literal| !distinct(literal) && !spent.contains(literal))
        .filter(|literal| !matches!(literal, Formula::Member(tuple, _) if tuple == &[t1, t2]))
        .map(|&literal| literal.clone())
        .collect();
    drop_redundant(&mut rest, x, t2, t3, one_source);
    let bound: Vec<(Var, Sort)> =
        vars.iter().copied().filter(|(var, _)| ![x, t1, t2, t3].contains(var)).collect();
    if rest.iter().any(|literal| mentions_var(literal, x) || mentions_var(literal, t1)) {
        return None;
    }
    let phi = relation_of(t2, t3, &bound, rest);
    Some(match between {
        Some(Rel::Base(Base::Before)) | None => Edge::Forced(phi),
        Some(between) => Edge::Excluded(phi, between.clone()),
    })
}

/// t2 != t3 where t3 sees t2 anyway through a relation without loops; x != y where t3 reads y from t2 and x from t1,
/// which one source for each object makes different.
fn drop_redundant(rest: &mut Vec<Formula>, x: Var, t2: Var, t3: Var, one_source: bool) {
    let sees = rest.iter().any(|literal| {
        matches!(literal, Formula::Member(tuple, rel) if tuple == &[t2, t3] && crate::forward::lies_inside_default(rel))
    });
    let other_objects: Vec<Var> = rest
        .iter()
        .filter_map(|literal| match literal {
            Formula::Member(tuple, Rel::Base(Base::ReadsFromOn)) if tuple[1..] == [t2, t3] => Some(tuple[0]),
            _ => None,
        })
        .collect();
    rest.retain(|literal| {
        let loop_free = sees && (*literal == differ(t2, t3) || *literal == differ(t3, t2));
        let is_other = |y: &Var| *literal == differ(x, *y) || *literal == differ(*y, x);
        let follows_from_sources = one_source && other_objects.iter().any(is_other);
        !loop_free && !follows_from_sources
    });
}

fn mentions_var(formula: &Formula, var: Var) -> bool {
    match formula {
        Formula::Const(_) => false,
        Formula::Same(left, right) => *left == var || *right == var,
        Formula::Not(inner) | Formula::All(_, _, inner) | Formula::Exists(_, _, inner) => {
            mentions_var(inner, var)
        }
        Formula::And(left, right) | Formula::Or(left, right) => {
            mentions_var(left, var) || mentions_var(right, var)
        }
        Formula::Member(tuple, rel) => tuple.contains(&var) || rel_mentions_var(rel, var),
        Formula::Subset(left, right) => rel_mentions_var(left, var) || rel_mentions_var(right, var),
        Formula::NonEmpty(rel) | Formula::AtMostOne(rel) | Formula::Acyclic(rel) => {
            rel_mentions_var(rel, var)
        }
    }
}

fn rel_mentions_var(rel: &Rel, var: Var) -> bool {
    match rel {
        Rel::Single(found, _) => *found == var,
        Rel::Union(left, right)
        | Rel::Inter(left, right)
        | Rel::Minus(left, right)
        | Rel::Join(left, right)
        | Rel::Product(left, right) => rel_mentions_var(left, var) || rel_mentions_var(right, var),
        Rel::Closure(inner) | Rel::Inverse(inner) => rel_mentions_var(inner, var),
        Rel::Comprehension(_, body) => mentions_var(body, var),
        Rel::Base(_) | Rel::None(_) | Rel::Every(_) | Rel::Identity(_) | Rel::RanAt(_) => false,
    }
}
