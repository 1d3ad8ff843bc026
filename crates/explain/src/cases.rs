//! Contradictions that come in cases: what predicates did to rows is open, and each alternative leads to one.
//!
//! The case that assumes least is told in full, under its assumptions; of the others there is a number.

use certify::{Atom, Level, Lit, Rule, Step};
use history::History;
use index::Index;

use crate::terms::Terms;
use crate::{Explanation, Line};

/// A case: what it denies, and its steps.
pub(crate) type Case<'s> = (&'s [Lit], &'s [Step]);

/// The case that assumes least.
pub(crate) fn simplest(steps: &[Step]) -> Option<Case<'_>> {
    all(steps).min_by_key(|(clause, steps)| (clause.len(), steps.len()))
}

fn all(steps: &[Step]) -> impl Iterator<Item = Case<'_>> {
    steps.iter().filter_map(|step| match &step.rule {
        Rule::Case(steps) => Some((&step.clause[..], &steps[..])),
        _ => None,
    })
}

/// Tells a case.
pub(crate) fn explain(
    history: &History,
    index: &Index,
    level: &Level,
    steps: &[Step],
    (clause, inner): Case<'_>,
) -> Explanation {
    let mut choice = index.choice().to_vec();
    for lit in clause {
        if let Atom::Took(txn, key, alternative) = lit.atom
            && let Some(effect) = index.effects().find(txn, key)
            && (alternative as usize) < index.effects().all()[effect].alternatives.len()
        {
            choice[effect] = alternative;
        }
    }
    let index = Index::choosing(history, index.effects().clone(), choice);
    let mut explanation = crate::explain_steps(history, &index, level, inner);
    let terms = Terms::new(history, &index, level);
    let assumed: Vec<String> = clause.iter().map(|&lit| terms.say(!lit)).collect();
    let count = all(steps).count();
    let others = match count {
        1 => String::new(),
        2 => "; the other case is refuted likewise".into(),
        count => format!("; {} other cases are refuted likewise", count - 1),
    };
    let text = format!("suppose that {}{others}", assumed.join(", and "));
    explanation.lines.iter_mut().for_each(|line| line.depth += 1);
    explanation.lines.insert(0, Line { depth: 0, text });
    explanation
}
