//! How large a text of levels may be.
//!
//! The parser, the sort check and the evaluators call themselves for each part of an expression, and definitions are
//! copied where they are used. So the depth of an expression, the words of an item and the parts of an expanded
//! expression are bounded: a text beyond is an error at its place, long before the stack or the memory ends. The shipped
//! levels stay far below each bound.

use std::ops::Range;

use crate::ast::{Expr, ExprKind};
use crate::core::{Formula, Rel};
use crate::error::{SpecError, SpecErrorKind};

/// Words and symbols of one definition or level.
pub(crate) const MOST_TOKENS: usize = 2_000;

/// Parentheses, brackets, negations and quantifiers inside one another.
pub(crate) const DEEPEST_NESTING: usize = 150;

/// Operators inside one another, chains such as `a | b | c` included.
const DEEPEST_EXPRESSION: usize = 250;

/// Definitions that use one another.
pub(crate) const DEEPEST_DEFINITION: usize = 60;

/// Parts of an expression, and operators inside one another, once its definitions are expanded.
const MOST_PARTS: usize = 5_000;
const DEEPEST_PARTS: usize = 500;

/// Expressions that are looked at in a whole text, each as often as it is expanded.
pub(crate) const MOST_STEPS: usize = 2_000_000;

/// Files that a text includes.
pub(crate) const MOST_FILES: usize = 200;

/// The error for a bound.
pub(crate) fn exceeded(span: Range<usize>, message: impl Into<String>) -> SpecError {
    SpecError::new(SpecErrorKind::TooLarge, span, message)
}

/// Refuses an expression whose tree is too deep to call oneself for each of its parts.
pub(crate) fn refuse_deep(expr: &Expr) -> Result<(), SpecError> {
    let mut open = vec![(expr, 1)];
    while let Some((part, depth)) = open.pop() {
        if depth > DEEPEST_EXPRESSION {
            let message = format!("more than {DEEPEST_EXPRESSION} operators are inside one another here");
            return Err(exceeded(expr.span.clone(), message).hint("split it with `define`"));
        }
        open.extend(parts_of(part).into_iter().map(|inner| (inner, depth + 1)));
    }
    Ok(())
}

fn parts_of(expr: &Expr) -> Vec<&Expr> {
    match &expr.value {
        ExprKind::Name(_) | ExprKind::RanAt(_) => Vec::new(),
        ExprKind::Call(_, parts) | ExprKind::Tuple(parts) => parts.iter().collect(),
        ExprKind::Index(left, right) | ExprKind::Binary(_, left, right) => vec![left, right],
        ExprKind::Unary(_, inner) | ExprKind::Counted(_, inner) => vec![inner],
        ExprKind::Related(left, relation, right) => vec![left, relation, right],
        ExprKind::Quantified(_, bindings, body) | ExprKind::Comprehension(bindings, body) => {
            bindings.iter().map(|binding| &binding.domain).chain([&**body]).collect()
        }
    }
}

/// A part of an expanded expression.
#[derive(Clone, Copy)]
pub(crate) enum Part<'p> {
    Rel(&'p Rel),
    Formula(&'p Formula),
}

impl<'p> Part<'p> {
    /// How many parts it has, if they are not too many, nor too deep inside one another.
    pub(crate) fn size(self) -> Option<usize> {
        let mut open = vec![(self, 1)];
        let mut size = 0;
        while let Some((part, depth)) = open.pop() {
            size += 1;
            if size > MOST_PARTS || depth > DEEPEST_PARTS {
                return None;
            }
            part.inner(|inner| open.push((inner, depth + 1)));
        }
        Some(size)
    }

    /// The names of the levels whose transactions it speaks of.
    pub(crate) fn recorded_levels(self, names: &mut Vec<String>) {
        let mut open = vec![self];
        while let Some(part) = open.pop() {
            if let Part::Rel(Rel::RanAt(name)) = part
                && !names.contains(name)
            {
                names.push(name.clone());
            }
            part.inner(|inner| open.push(inner));
        }
    }

    /// Whether so many copies of it are not too many parts.
    pub(crate) fn can_be_copied(self, copies: usize) -> bool {
        self.size().is_some_and(|size| size.saturating_mul(copies) <= MOST_PARTS)
    }

    fn inner(self, mut each: impl FnMut(Part<'p>)) {
        match self {
            Part::Rel(rel) => match rel {
                Rel::Base(_)
                | Rel::None(_)
                | Rel::Every(_)
                | Rel::Identity(_)
                | Rel::Single(..)
                | Rel::RanAt(_) => {}
                Rel::Union(left, right)
                | Rel::Inter(left, right)
                | Rel::Minus(left, right)
                | Rel::Join(left, right)
                | Rel::Product(left, right) => {
                    each(Part::Rel(left));
                    each(Part::Rel(right));
                }
                Rel::Closure(inner) | Rel::Inverse(inner) => each(Part::Rel(inner)),
                Rel::Comprehension(_, formula) => each(Part::Formula(formula)),
            },
            Part::Formula(formula) => match formula {
                Formula::Const(_) | Formula::Same(..) => {}
                Formula::Not(inner) | Formula::All(_, _, inner) | Formula::Exists(_, _, inner) => {
                    each(Part::Formula(inner));
                }
                Formula::And(left, right) | Formula::Or(left, right) => {
                    each(Part::Formula(left));
                    each(Part::Formula(right));
                }
                Formula::Subset(left, right) => {
                    each(Part::Rel(left));
                    each(Part::Rel(right));
                }
                Formula::Member(_, rel)
                | Formula::NonEmpty(rel)
                | Formula::AtMostOne(rel)
                | Formula::Acyclic(rel) => each(Part::Rel(rel)),
            },
        }
    }
}

/// The error for an expression that is too large once its definitions are expanded.
pub(crate) fn too_many_parts(span: Range<usize>) -> SpecError {
    let message = format!("once definitions are expanded, this has more than {MOST_PARTS} parts");
    exceeded(span, message).hint("each use of a definition counts with all that it stands for")
}

#[cfg(test)]
mod tests {
    use crate::{Spec, SpecErrorKind};

    fn kind(text: &str) -> Option<SpecErrorKind> {
        Spec::parse("t.iso", text).err().map(|error| error.kind)
    }

    fn level(formula: &str) -> String {
        format!("level l : {formula}\n")
    }

    #[test]
    fn deep_and_long_expressions_are_refused() {
        let too_large = Some(SpecErrorKind::TooLarge);
        let nested = |count: usize| level(&format!("{}true{}", "(".repeat(count), ")".repeat(count)));
        assert_eq!(kind(&nested(100)), None);
        for count in [200, 10_000, 300_000] {
            assert_eq!(kind(&nested(count)), too_large, "{count} parentheses");
            assert_eq!(kind(&level(&format!("{}true", "!".repeat(count)))), too_large, "{count} negations");
            assert_eq!(kind(&level(&"no (session".repeat(count))), too_large, "{count} relations");
            assert_eq!(kind(&level(&"all a : txn . ".repeat(count))), too_large, "{count} quantifiers");
            assert_eq!(kind(&level(&"true => ".repeat(count))), too_large, "{count} implications");
        }
        assert_eq!(kind(&level(&format!("acyclic(session{})", " | session".repeat(100)))), None);
        for count in [300, 100_000] {
            let union = format!("acyclic(session{})", " | session".repeat(count));
            assert_eq!(kind(&level(&union)), too_large, "a union of {count}");
            assert_eq!(
                kind(&level(&format!("no session{}", "+".repeat(count)))),
                too_large,
                "{count} closures"
            );
        }
    }

    #[test]
    fn definitions_that_double_are_refused() {
        let doubling = |count: usize, body: &str| {
            let line = |number: usize| {
                let last = format!("a{}", number - 1);
                format!("define a{number} = {}\n", body.replace('@', &last))
            };
            let lines: String = (1..=count).map(line).collect();
            format!("define a0 = session\n{lines}{}", level(&format!("acyclic(a{count})")))
        };
        let too_large = Some(SpecErrorKind::TooLarge);
        assert_eq!(kind(&doubling(8, "@ | @")), None);
        assert_eq!(kind(&doubling(24, "@ | @")), too_large);
        assert_eq!(kind(&doubling(50, "@ | @")), too_large);
        assert_eq!(kind(&doubling(100, "@")), too_large);
        // Each use looks at its arguments, also where nothing of them is left.
        let ignoring = format!("define f(r, s : any) = session\n{}", doubling(40, "f(@, @)"));
        assert_eq!(kind(&ignoring), too_large);
        let equivalences = format!("{}true{}", "(true iff ".repeat(40), ")".repeat(40));
        assert_eq!(kind(&level(&equivalences)), too_large);
    }

    #[test]
    fn the_shipped_levels_are_far_below_the_bounds() {
        for level in crate::library::levels() {
            let size = super::Part::Formula(&level.require).size();
            assert!(size.is_some_and(|size| size * 4 < super::MOST_PARTS), "{}: {size:?}", level.name);
        }
    }
}
