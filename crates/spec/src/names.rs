//! What a name stands for: a variable, a word of the language, a relation of the framework, or a definition.
//!
//! Definitions are expanded where they are used, with their arguments bound; one that is met again inside its own
//! expansion is a cycle.

use std::ops::Range;

use crate::ast::{Definition, Expr, Name};
use crate::bounds;
use crate::check::{Bound, Checked, Checker, Meaning, count_text, sorts_text, wrong_sort};
use crate::core::{Base, Formula, Framework, Rel, Sort, Var};
use crate::error::{SpecError, SpecErrorKind as Kind};
use crate::vocabulary::{WORDS, base_of, nearest};

impl Checker<'_> {
    pub(crate) fn name(&mut self, name: &str, span: &Range<usize>) -> Checked<Meaning> {
        if let Some((_, bound)) = self.scope.iter().rev().find(|(known, _)| known == name) {
            return Ok(Meaning::Relation(match bound {
                Bound::Var(var, sort) => Rel::Single(*var, *sort),
                Bound::Rel(rel) => rel.clone(),
            }));
        }
        if let Some(builtin) = builtin(name) {
            return Ok(builtin);
        }
        if let Some(base) = base_of(name) {
            return self.base(base, name, span).map(Meaning::Relation);
        }
        self.expand(name, &[], span)
    }

    fn base(&self, base: Base, name: &str, span: &Range<usize>) -> Checked<Rel> {
        if base == Base::Visible && self.framework == Framework::CommitOrder {
            return self.visible.clone().filter(|visible| !visible.mentions(Base::Earlier)).ok_or_else(
                || {
                    SpecError::new(
                        Kind::NotInFramework,
                        span.clone(),
                        format!("`{name}` is not defined here"),
                    )
                    .hint("a level over commit_order has `visible` only after a clause `visible = ...`")
                },
            );
        }
        if base == Base::Earlier && !self.defines_visible {
            return Err(SpecError::new(
                Kind::NotInFramework,
                span.clone(),
                format!("`{name}` has a meaning only inside `visible = ...`"),
            ));
        }
        if !base.is_in(self.framework) {
            return Err(SpecError::new(
                Kind::NotInFramework,
                span.clone(),
                format!("`{name}` is part of a witness, and this level asks for none"),
            )
            .hint("say `over commit_order` or `over visibility`"));
        }
        Ok(Rel::Base(base))
    }

    pub(crate) fn refuse_known(&self, name: &Name) -> Checked<()> {
        let is_word = base_of(&name.value).is_some() || builtin(&name.value).is_some();
        if is_word || self.scope.iter().any(|(known, _)| *known == name.value) {
            return Err(SpecError::new(
                Kind::DuplicateName,
                name.span.clone(),
                format!("`{}` already means something here", name.value),
            ));
        }
        Ok(())
    }

    pub(crate) fn expand(&mut self, name: &str, arguments: &[Expr], span: &Range<usize>) -> Checked<Meaning> {
        let definitions = self.definitions;
        let Some((file, definition)) = definitions.get(name) else {
            return Err(self.unknown(name, span));
        };
        if self.expanding.iter().any(|open| open == name) {
            let path: Vec<&str> = self.expanding.iter().map(String::as_str).chain([name]).collect();
            return Err(SpecError::new(
                Kind::CyclicDefinition,
                span.clone(),
                format!("`{name}` is defined by itself: {}", path.join(" -> ")),
            ));
        }
        if self.expanding.len() >= bounds::DEEPEST_DEFINITION {
            let message = format!("more than {} definitions use one another", bounds::DEEPEST_DEFINITION);
            return Err(bounds::exceeded(span.clone(), message));
        }
        let scope = self.arguments(definition, arguments, span)?;
        let outer = (std::mem::replace(&mut self.scope, scope), std::mem::replace(&mut self.file, *file));
        self.expanding.push(name.to_string());
        let meaning = self.meaning(&definition.body)?;
        self.expanding.pop();
        (self.scope, self.file) = outer;
        Ok(meaning)
    }

    fn arguments(
        &mut self,
        definition: &Definition,
        arguments: &[Expr],
        span: &Range<usize>,
    ) -> Checked<Vec<(String, Bound)>> {
        let names: Vec<(&Name, &Expr)> =
            definition.parameters.iter().flat_map(|p| p.names.iter().map(|name| (name, &p.domain))).collect();
        if names.len() != arguments.len() {
            return Err(SpecError::new(
                Kind::WrongArity,
                span.clone(),
                format!(
                    "`{}` takes {}, found {}",
                    definition.name.value,
                    count_text(names.len()),
                    arguments.len()
                ),
            ));
        }
        let mut scope = Vec::new();
        for ((name, domain), argument) in names.into_iter().zip(arguments) {
            let wanted = self.relation(domain)?.sorts();
            let rel = self.relation(argument)?;
            if rel.sorts() != wanted {
                return Err(wrong_sort(
                    &argument.span,
                    format!(
                        "`{}` of `{}` is over {}, found {}",
                        name.value,
                        definition.name.value,
                        sorts_text(&wanted),
                        sorts_text(&rel.sorts())
                    ),
                ));
            }
            scope.push((name.value.clone(), Bound::Rel(rel)));
        }
        Ok(scope)
    }

    /// Checks a definition by itself, with its parameters as variables or as relations of their sorts.
    pub fn definition(&mut self, definition: &Definition) -> Checked<()> {
        for binding in &definition.parameters {
            let domain = self.relation(&binding.domain)?;
            for name in &binding.names {
                self.refuse_known(name)?;
                let bound = match domain.sorts().as_slice() {
                    &[sort] => Bound::Var(Var(u32::MAX), sort),
                    sorts => Bound::Rel(Rel::Every(sorts.to_vec())),
                };
                self.scope.push((name.value.clone(), bound));
            }
        }
        self.expanding.push(definition.name.value.clone());
        self.meaning(&definition.body)?;
        Ok(())
    }

    fn unknown(&self, name: &str, span: &Range<usize>) -> SpecError {
        let error =
            SpecError::new(Kind::UnknownName, span.clone(), format!("nothing is called `{name}` here"));
        let known = WORDS.iter().flat_map(|word| [word.name, word.short]).chain(["txn", "object", "value"]);
        let known = known.chain(self.definitions.keys().map(String::as_str));
        let known = known.chain(self.scope.iter().map(|(name, _)| name.as_str()));
        match nearest(name, known) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    }
}

/// Words of the language that are neither definitions nor relations of a history.
fn builtin(name: &str) -> Option<Meaning> {
    let set = |sort| Meaning::Relation(Rel::Every(vec![sort]));
    Some(match name {
        "txn" => set(Sort::Txn),
        "object" => set(Sort::Object),
        "value" => set(Sort::Value),
        "none" => Meaning::Relation(Rel::None(vec![Sort::Txn, Sort::Txn])),
        "any" => Meaning::Relation(Rel::Every(vec![Sort::Txn, Sort::Txn])),
        "identity" => Meaning::Relation(Rel::Identity(Sort::Txn)),
        "true" => Meaning::Truth(Formula::Const(true)),
        "false" => Meaning::Truth(Formula::Const(false)),
        _ => return None,
    })
}
