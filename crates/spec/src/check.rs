//! Names to relations, and a sort for everything: the tree as written becomes the core.
//!
//! The sort of every part is known when it is built, so the first mistake is found at its own place in the text.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::ast::{Binary, Binding, Definition, Expr, ExprKind, Name, Quantifier, Unary};
use crate::bounds::{self, Part};
use crate::core::{Base, Formula, Framework, Rel, Sort, Var};
use crate::error::{SpecError, SpecErrorKind as Kind};
use crate::recorded;
use crate::vocabulary::base_of;

pub(crate) type Checked<T> = Result<T, SpecError>;

/// What an expression turned out to be.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    Truth(Formula),
    Relation(Rel),
}

impl Meaning {
    fn part(&self) -> Part<'_> {
        match self {
            Self::Truth(formula) => Part::Formula(formula),
            Self::Relation(rel) => Part::Rel(rel),
        }
    }
}

/// Variables below this one are left to formulas that the tool makes itself, such as [`crate::normal::edge`].
const FIRST_VAR: u32 = 8;

/// Definitions by name, with the number of the file each stands in.
pub(crate) type Definitions = BTreeMap<String, (usize, Definition)>;

/// Resolves the expressions of one level.
pub(crate) struct Checker<'d> {
    pub definitions: &'d Definitions,
    pub framework: Framework,
    /// What `visible` means when the level defines it.
    pub visible: Option<Rel>,
    /// Whether the expression is the one that defines `visible`.
    pub defines_visible: bool,
    next_var: u32,
    pub scope: Vec<(String, Bound)>,
    pub expanding: Vec<String>,
    /// Where an error belongs: the file of the definition being expanded.
    pub file: usize,
    /// Expressions that may still be looked at, of all that the text has.
    steps_left: &'d Cell<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Var(Var, Sort),
    Rel(Rel),
}

impl<'d> Checker<'d> {
    pub fn new(
        definitions: &'d Definitions,
        framework: Framework,
        file: usize,
        steps_left: &'d Cell<usize>,
    ) -> Self {
        Self {
            definitions,
            framework,
            visible: None,
            defines_visible: false,
            next_var: FIRST_VAR,
            scope: Vec::new(),
            expanding: Vec::new(),
            file,
            steps_left,
        }
    }

    pub fn formula(&mut self, expr: &Expr) -> Checked<Formula> {
        match self.meaning(expr)? {
            Meaning::Truth(formula) => Ok(formula),
            Meaning::Relation(rel) => Err(wrong_sort(
                &expr.span,
                format!("expected a formula, found a relation over {}", sorts_text(&rel.sorts())),
            )
            .hint("`some R`, `no R`, `R in S` and `acyclic(R)` make a formula of a relation")),
        }
    }

    pub fn relation(&mut self, expr: &Expr) -> Checked<Rel> {
        match self.meaning(expr)? {
            Meaning::Relation(rel) => Ok(rel),
            Meaning::Truth(_) => Err(wrong_sort(&expr.span, "expected a relation, found a formula")
                .hint("comparisons bind tighter than `|` and `&`: a union inside one needs parentheses")),
        }
    }

    /// A relation between transactions, which is what a clause of a level defines.
    pub fn txn_relation(&mut self, expr: &Expr, clause: &str) -> Checked<Rel> {
        let rel = self.relation(expr)?;
        let sorts = rel.sorts();
        if sorts == [Sort::Txn, Sort::Txn] {
            return Ok(rel);
        }
        let kind = if sorts.len() == 2 { Kind::WrongSort } else { Kind::WrongArity };
        Err(SpecError::new(
            kind,
            expr.span.clone(),
            format!("`{clause}` relates transactions to transactions, this is over {}", sorts_text(&sorts)),
        ))
    }

    pub fn meaning(&mut self, expr: &Expr) -> Checked<Meaning> {
        let Some(steps_left) = self.steps_left.get().checked_sub(1) else {
            let message = format!("definitions expand to more than {} expressions", bounds::MOST_STEPS);
            return Err(bounds::exceeded(expr.span.clone(), message));
        };
        self.steps_left.set(steps_left);
        let meaning = self.unbounded_meaning(expr)?;
        // Only what copies can grow beyond what was written.
        let copies = matches!(
            expr.value,
            ExprKind::Name(_)
                | ExprKind::Call(..)
                | ExprKind::Binary(Binary::Iff | Binary::Equal | Binary::Unequal, ..)
                | ExprKind::Quantified(..)
                | ExprKind::Comprehension(..)
        );
        match copies && meaning.part().size().is_none() {
            true => Err(bounds::too_many_parts(expr.span.clone())),
            false => Ok(meaning),
        }
    }

    fn unbounded_meaning(&mut self, expr: &Expr) -> Checked<Meaning> {
        match &expr.value {
            ExprKind::Name(name) => self.name(name, &expr.span),
            ExprKind::RanAt(level) => Ok(Meaning::Relation(Rel::RanAt(recorded::canonical(level)))),
            ExprKind::Call(name, arguments) => self.call(name, arguments, &expr.span),
            ExprKind::Index(relation, index) => self.index(relation, index).map(Meaning::Relation),
            ExprKind::Tuple(_) => {
                Err(SpecError::new(Kind::Syntax, expr.span.clone(), "a tuple can only stand before `in`"))
            }
            ExprKind::Unary(Unary::Not, inner) => Ok(Meaning::Truth(self.formula(inner)?.negated())),
            ExprKind::Unary(operator, inner) => self.unary(*operator, inner).map(Meaning::Relation),
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right),
            ExprKind::Related(left, relation, right) => {
                let relation_rel = self.relation(relation)?;
                let terms = [(**left).clone(), (**right).clone()];
                self.member(&terms, relation_rel, &relation.span).map(Meaning::Truth)
            }
            ExprKind::Quantified(quantifier, bindings, body) => {
                self.quantified(*quantifier, bindings, body).map(Meaning::Truth)
            }
            ExprKind::Counted(quantifier, relation) => {
                let rel = self.relation(relation)?;
                Ok(Meaning::Truth(counted(*quantifier, rel)))
            }
            ExprKind::Comprehension(bindings, body) => {
                self.comprehension(bindings, body).map(Meaning::Relation)
            }
        }
    }

    fn call(&mut self, name: &Name, arguments: &[Expr], span: &Range<usize>) -> Checked<Meaning> {
        if name.value == "acyclic"
            || name.value == "irreflexive"
            || name.value == "transitive"
            || name.value == "total"
        {
            return self.property(name, arguments).map(Meaning::Truth);
        }
        let is_definition = self.definitions.contains_key(&name.value)
            && base_of(&name.value).is_none()
            && !self.scope.iter().any(|(known, _)| *known == name.value);
        if is_definition && !self.definitions[&name.value].1.parameters.is_empty() {
            return self.expand(&name.value, arguments, span);
        }
        match self.name(&name.value, &name.span)? {
            Meaning::Relation(rel) => self.member(arguments, rel, span).map(Meaning::Truth),
            Meaning::Truth(_) => Err(SpecError::new(
                Kind::WrongArity,
                span.clone(),
                format!("`{}` takes no arguments", name.value),
            )),
        }
    }

    fn property(&mut self, name: &Name, arguments: &[Expr]) -> Checked<Formula> {
        let [argument] = arguments else {
            return Err(SpecError::new(
                Kind::WrongArity,
                name.span.clone(),
                format!("`{}` takes one relation, found {} arguments", name.value, arguments.len()),
            ));
        };
        let rel = self.relation(argument)?;
        homogeneous(&rel, &argument.span, &format!("`{}`", name.value))?;
        let sort = rel.sorts()[0];
        let identity = Rel::Identity(sort);
        Ok(match name.value.as_str() {
            "acyclic" => Formula::Acyclic(rel),
            "irreflexive" => Formula::NonEmpty(rel.inter(identity)).negated(),
            "transitive" => Formula::Subset(rel.clone().join(rel.clone()), rel),
            _ => {
                let either_way = rel.clone().union(Rel::Inverse(Box::new(rel))).union(identity);
                Formula::Subset(Rel::Every(vec![sort, sort]), either_way)
            }
        })
    }

    fn index(&mut self, relation: &Expr, index: &Expr) -> Checked<Rel> {
        // `reads_from[x]` is the only name whose meaning depends on being indexed.
        let is_reads_from =
            matches!(&relation.value, ExprKind::Name(name) if base_of(name) == Some(Base::ReadsFrom));
        let rel = if is_reads_from { Rel::Base(Base::ReadsFromOn) } else { self.relation(relation)? };
        let single = self.relation(index)?;
        let (sorts, index_sorts) = (rel.sorts(), single.sorts());
        if sorts.len() < 2 {
            return Err(SpecError::new(
                Kind::WrongArity,
                relation.span.clone(),
                format!(
                    "only a relation of two or more columns can be indexed, this is over {}",
                    sorts_text(&sorts)
                ),
            ));
        }
        if index_sorts != sorts[..1] {
            return Err(wrong_sort(
                &index.span,
                format!("the index must be over {}, found {}", sorts[0].name(), sorts_text(&index_sorts)),
            ));
        }
        Ok(single.join(rel))
    }

    /// A tuple is in a relation. What the tuple's terms are decides how cheaply that can be asked.
    pub(crate) fn member(&mut self, terms: &[Expr], rel: Rel, span: &Range<usize>) -> Checked<Formula> {
        let sorts = rel.sorts();
        if terms.len() != sorts.len() {
            return Err(SpecError::new(
                Kind::WrongArity,
                span.clone(),
                format!("{} given to a relation over {}", count_text(terms.len()), sorts_text(&sorts)),
            ));
        }
        let mut product: Option<Rel> = None;
        let mut vars = Vec::new();
        for (term, &sort) in terms.iter().zip(&sorts) {
            let found = self.relation(term)?;
            if found.sorts() != [sort] {
                return Err(wrong_sort(
                    &term.span,
                    format!("expected one {}, found {}", sort.name(), sorts_text(&found.sorts())),
                ));
            }
            if let Rel::Single(var, _) = found {
                vars.push(var);
            }
            product = Some(match product {
                None => found,
                Some(left) => Rel::Product(Box::new(left), Box::new(found)),
            });
        }
        if vars.len() == terms.len() {
            return Ok(membership(vars, rel));
        }
        Ok(Formula::Subset(product.expect("a relation has columns"), rel))
    }

    fn unary(&mut self, operator: Unary, inner: &Expr) -> Checked<Rel> {
        let rel = self.relation(inner)?;
        if operator == Unary::Inverse {
            binary_relation(&rel, &inner.span, "`~`")?;
            return Ok(Rel::Inverse(Box::new(rel)));
        }
        let word = match operator {
            Unary::Closure => "`+`",
            Unary::Star => "`*`",
            _ => "`?`",
        };
        homogeneous(&rel, &inner.span, word)?;
        if operator == Unary::Optional {
            return Ok(rel.optional());
        }
        if rel.sorts()[0] != Sort::Txn {
            return Err(wrong_sort(&inner.span, format!("{word} is for relations between transactions")));
        }
        let closure = Rel::Closure(Box::new(rel));
        Ok(if operator == Unary::Star { closure.optional() } else { closure })
    }

    fn quantified(&mut self, quantifier: Quantifier, bindings: &[Binding], body: &Expr) -> Checked<Formula> {
        if matches!(quantifier, Quantifier::One | Quantifier::Lone) {
            let rel = self.comprehension(bindings, body)?;
            return Ok(counted(quantifier, rel));
        }
        let depth = self.scope.len();
        let bound = self.bind(bindings)?;
        let mut formula = self.formula(body)?;
        self.scope.truncate(depth);
        if quantifier == Quantifier::No {
            formula = formula.negated();
        }
        let universal = quantifier != Quantifier::Some;
        for (var, sort, domain) in bound.into_iter().rev() {
            let within = membership(vec![var], domain);
            formula = if universal {
                Formula::All(var, sort, Box::new(guarded(within, formula)))
            } else {
                Formula::Exists(var, sort, Box::new(within.and(formula)))
            };
        }
        Ok(formula)
    }

    fn comprehension(&mut self, bindings: &[Binding], body: &Expr) -> Checked<Rel> {
        let depth = self.scope.len();
        let bound = self.bind(bindings)?;
        let formula = self.formula(body)?;
        self.scope.truncate(depth);
        let vars = bound.iter().map(|&(var, sort, _)| (var, sort)).collect();
        let within = bound.into_iter().map(|(var, _, domain)| membership(vec![var], domain));
        Ok(Rel::Comprehension(vars, Box::new(within.fold(formula, |all, one| one.and(all)))))
    }

    fn bind(&mut self, bindings: &[Binding]) -> Checked<Vec<(Var, Sort, Rel)>> {
        let mut bound = Vec::new();
        for binding in bindings {
            let domain = self.relation(&binding.domain)?;
            let &[sort] = domain.sorts().as_slice() else {
                return Err(SpecError::new(
                    Kind::WrongArity,
                    binding.domain.span.clone(),
                    format!("a variable ranges over a set, this is over {}", sorts_text(&domain.sorts())),
                ));
            };
            if !Part::Rel(&domain).can_be_copied(binding.names.len()) {
                return Err(bounds::too_many_parts(binding.domain.span.clone()));
            }
            for name in &binding.names {
                self.refuse_known(name)?;
                let var = Var(self.next_var);
                self.next_var += 1;
                self.scope.push((name.value.clone(), Bound::Var(var, sort)));
                bound.push((var, sort, domain.clone()));
            }
        }
        Ok(bound)
    }
}

fn guarded(within: Formula, formula: Formula) -> Formula {
    if within == Formula::Const(true) { formula } else { within.implies(formula) }
}

/// Membership of variables, asked of the parts of a relation where that avoids building the relation.
pub(crate) fn membership(mut vars: Vec<Var>, rel: Rel) -> Formula {
    match rel {
        Rel::Every(_) => Formula::Const(true),
        Rel::None(_) => Formula::Const(false),
        Rel::Identity(_) => Formula::Same(vars[0], vars[1]),
        Rel::Single(var, _) => Formula::Same(vars[0], var),
        Rel::Union(left, right) => membership(vars.clone(), *left).or(membership(vars, *right)),
        Rel::Inter(left, right) => membership(vars.clone(), *left).and(membership(vars, *right)),
        Rel::Minus(left, right) => membership(vars.clone(), *left).and(membership(vars, *right).negated()),
        Rel::Inverse(inner) => {
            vars.reverse();
            membership(vars, *inner)
        }
        Rel::Product(left, right) => {
            let rest = vars.split_off(left.sorts().len());
            membership(vars, *left).and(membership(rest, *right))
        }
        Rel::Join(left, right) => match *left {
            Rel::Single(var, _) => {
                vars.insert(0, var);
                membership(vars, *right)
            }
            left => Formula::Member(vars, left.join(*right)),
        },
        rel => Formula::Member(vars, rel),
    }
}

pub(crate) fn counted(quantifier: Quantifier, rel: Rel) -> Formula {
    match quantifier {
        Quantifier::No => Formula::NonEmpty(rel).negated(),
        Quantifier::One => Formula::NonEmpty(rel.clone()).and(Formula::AtMostOne(rel)),
        Quantifier::Lone => Formula::AtMostOne(rel),
        Quantifier::Some | Quantifier::All => Formula::NonEmpty(rel),
    }
}

pub(crate) fn wrong_sort(span: &Range<usize>, message: impl Into<String>) -> SpecError {
    SpecError::new(Kind::WrongSort, span.clone(), message)
}

fn binary_relation(rel: &Rel, span: &Range<usize>, what: &str) -> Checked<()> {
    if rel.sorts().len() == 2 {
        return Ok(());
    }
    Err(SpecError::new(
        Kind::WrongArity,
        span.clone(),
        format!("{what} is for relations of two columns, this is over {}", sorts_text(&rel.sorts())),
    ))
}

fn homogeneous(rel: &Rel, span: &Range<usize>, what: &str) -> Checked<()> {
    binary_relation(rel, span, what)?;
    if rel.sorts()[0] == rel.sorts()[1] {
        return Ok(());
    }
    Err(wrong_sort(
        span,
        format!("{what} needs both columns of one sort, this is over {}", sorts_text(&rel.sorts())),
    ))
}

/// `(txn, object)`, or the one sort of a set.
pub(crate) fn sorts_text(sorts: &[Sort]) -> String {
    let names: Vec<&str> = sorts.iter().map(|sort| sort.name()).collect();
    if names.len() == 1 { names[0].to_string() } else { format!("({})", names.join(", ")) }
}

pub(crate) fn count_text(count: usize) -> String {
    match count {
        0 => "no arguments".to_string(),
        1 => "1 argument".to_string(),
        many => format!("{many} arguments"),
    }
}
