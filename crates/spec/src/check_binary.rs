//! The operators with two sides: what they mean depends on whether the sides are truths or relations.

use crate::ast::{Binary, Expr, ExprKind};
use crate::check::{Checked, Checker, Meaning, sorts_text, wrong_sort};
use crate::core::{Formula, Rel, Sort};
use crate::error::{SpecError, SpecErrorKind as Kind};

impl Checker<'_> {
    pub(crate) fn binary(&mut self, operator: Binary, left: &Expr, right: &Expr) -> Checked<Meaning> {
        match operator {
            Binary::Iff => {
                let (left, right) = (self.formula(left)?, self.formula(right)?);
                let forth = left.clone().implies(right.clone());
                Ok(Meaning::Truth(forth.and(right.implies(left))))
            }
            Binary::Implies => Ok(Meaning::Truth(self.formula(left)?.implies(self.formula(right)?))),
            Binary::Or | Binary::And => self.or_and(operator, left, right),
            Binary::Equal => Ok(Meaning::Truth(self.equal(left, right)?)),
            Binary::Unequal => Ok(Meaning::Truth(self.equal(left, right)?.negated())),
            Binary::In => self.within(left, right).map(Meaning::Truth),
            Binary::Minus => {
                let (left, right) = self.same_sorts(left, right, "`-`")?;
                Ok(Meaning::Relation(Rel::Minus(Box::new(left), Box::new(right))))
            }
            Binary::Product => {
                let (left, right) = (self.relation(left)?, self.relation(right)?);
                Ok(Meaning::Relation(Rel::Product(Box::new(left), Box::new(right))))
            }
            Binary::Join => self.joined(left, right).map(Meaning::Relation),
            Binary::DomainRestrict => self.restricted(left, right, true).map(Meaning::Relation),
            Binary::RangeRestrict => self.restricted(right, left, false).map(Meaning::Relation),
        }
    }

    fn or_and(&mut self, operator: Binary, left: &Expr, right: &Expr) -> Checked<Meaning> {
        let left_meaning = self.meaning(left)?;
        let right_meaning = self.meaning(right)?;
        let word = if operator == Binary::Or { "`|`" } else { "`&`" };
        match (left_meaning, right_meaning) {
            (Meaning::Truth(left), Meaning::Truth(right)) => {
                Ok(Meaning::Truth(if operator == Binary::Or { left.or(right) } else { left.and(right) }))
            }
            (Meaning::Relation(left_rel), Meaning::Relation(right_rel)) => {
                agree(&left_rel, &right_rel, right, word)?;
                Ok(Meaning::Relation(if operator == Binary::Or {
                    left_rel.union(right_rel)
                } else {
                    left_rel.inter(right_rel)
                }))
            }
            _ => Err(wrong_sort(
                &(left.span.start..right.span.end),
                format!("{word} joins two formulas or two relations, not one of each"),
            )
            .hint("comparisons bind tighter than `|` and `&`: a union inside one needs parentheses")),
        }
    }

    fn equal(&mut self, left: &Expr, right: &Expr) -> Checked<Formula> {
        let (left, right) = self.same_sorts(left, right, "`=`")?;
        if let (Rel::Single(left, _), Rel::Single(right, _)) = (&left, &right) {
            return Ok(Formula::Same(*left, *right));
        }
        Ok(Formula::Subset(left.clone(), right.clone()).and(Formula::Subset(right, left)))
    }

    fn within(&mut self, left: &Expr, right: &Expr) -> Checked<Formula> {
        if let ExprKind::Tuple(terms) = &left.value {
            let rel = self.relation(right)?;
            return self.member(terms, rel, &left.span);
        }
        let (left, right) = self.same_sorts(left, right, "`in`")?;
        if let Rel::Single(var, _) = left {
            return Ok(crate::check::membership(vec![var], right));
        }
        Ok(Formula::Subset(left, right))
    }

    fn same_sorts(&mut self, left: &Expr, right: &Expr, word: &str) -> Checked<(Rel, Rel)> {
        let (left_rel, right_rel) = (self.relation(left)?, self.relation(right)?);
        agree(&left_rel, &right_rel, right, word)?;
        Ok((left_rel, right_rel))
    }

    fn joined(&mut self, left: &Expr, right: &Expr) -> Checked<Rel> {
        let (left_rel, right_rel) = (self.relation(left)?, self.relation(right)?);
        let (left_sorts, right_sorts) = (left_rel.sorts(), right_rel.sorts());
        if left_sorts.len() + right_sorts.len() < 3 {
            return Err(SpecError::new(
                Kind::WrongArity,
                left.span.start..right.span.end,
                "`;` of two sets leaves nothing to relate",
            ));
        }
        if left_sorts.last() != right_sorts.first() {
            return Err(wrong_sort(
                &right.span,
                format!(
                    "`;` joins {} to {}: the columns that meet differ",
                    sorts_text(&left_sorts),
                    sorts_text(&right_sorts)
                ),
            ));
        }
        Ok(left_rel.join(right_rel))
    }

    /// `S <: R` keeps the tuples of R that begin in S, `R :> S` those that end in it.
    fn restricted(&mut self, set: &Expr, relation: &Expr, first: bool) -> Checked<Rel> {
        let (set_rel, rel) = (self.relation(set)?, self.relation(relation)?);
        let sorts = rel.sorts();
        let (column, rest): (Sort, Vec<Sort>) = if first {
            (sorts[0], sorts[1..].to_vec())
        } else {
            (sorts[sorts.len() - 1], sorts[..sorts.len() - 1].to_vec())
        };
        if set_rel.sorts() != [column] {
            return Err(wrong_sort(
                &set.span,
                format!(
                    "a restriction needs a set of {}, found {}",
                    column.name(),
                    sorts_text(&set_rel.sorts())
                ),
            ));
        }
        if rest.is_empty() {
            return Ok(rel.inter(set_rel));
        }
        let every = Rel::Every(rest);
        let (left, right) = if first { (set_rel, every) } else { (every, set_rel) };
        Ok(rel.inter(Rel::Product(Box::new(left), Box::new(right))))
    }
}

fn agree(left: &Rel, right: &Rel, place: &Expr, word: &str) -> Checked<()> {
    let (left, right) = (left.sorts(), right.sorts());
    if left == right {
        return Ok(());
    }
    let kind = if left.len() == right.len() { Kind::WrongSort } else { Kind::WrongArity };
    Err(SpecError::new(
        kind,
        place.span.clone(),
        format!("{word} needs two sides of the same sorts: {} and {}", sorts_text(&left), sorts_text(&right)),
    ))
}
