//! What transactions with predicates may have done to rows, as a derivation speaks of it.
//!
//! This is the definition in `docs/certificates.md`, enumerated plainly: the engine has its own, faster code for the same
//! (`index::RowEffects`), and the two must agree on the number and the order of alternatives, or a derivation is refused.
//! They share the meaning of predicates and changes (`history`) and nothing else.
//!
//! `contents.rs` lists what a key can have held, `one_key.rs` runs a transaction on it. Costs one run of each transaction
//! with predicates for each key of the derivation and each content that the key can have held.

mod contents;
mod one_key;

use std::collections::BTreeMap;
use std::rc::Rc;

use history::{Datum, History, InitialDefault, KeyId, Op, OpId, TxnId, ValueId};

use crate::observe::live_ops;
use one_key::{KeyEffect, OneKey};

/// What a key can hold: a row, or nothing but perhaps the mark of a delete.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Content {
    pub is_dead: bool,
    /// The row, or the mark; [`Datum::Nil`] for nothing.
    pub datum: Datum,
}

impl Content {
    /// A row; nil is none.
    pub fn row(datum: Datum) -> Self {
        Self { is_dead: datum == Datum::Nil, datum }
    }

    /// What a delete leaves.
    pub fn mark(datum: Datum) -> Self {
        Self { is_dead: true, datum }
    }
}

/// A content, or any row that no read returned; the latter is the last of all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Sight {
    Known(Rc<Content>),
    Other,
}

impl Sight {
    pub fn is_dead(&self) -> bool {
        matches!(self, Self::Known(content) if content.is_dead)
    }

    /// The value of the row or the mark, if the history has it.
    pub fn value(&self, history: &History) -> ValueId {
        let known = match self {
            Self::Known(content) => history.values().get(&content.datum),
            Self::Other => None,
        };
        known.unwrap_or(ValueId(u32::MAX))
    }
}

/// One possibility of what a transaction saw of a key and did to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Alternative {
    /// The numbers of the contents that it may have seen, ascending.
    pub seen: Vec<u32>,
    /// The number of the content that it left, and the operation, if it wrote.
    pub written: Option<(u32, OpId)>,
    /// The predicate writes that matched.
    pub matched: Vec<OpId>,
}

/// A transaction and a key that a predicate of it concerns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RowEffect {
    pub txn: TxnId,
    pub key: KeyId,
    /// The first operation of the transaction that concerns the key.
    pub op: OpId,
    /// By the least content that each may have seen; one without contents if nothing explains what the transaction saw.
    pub alternatives: Vec<Alternative>,
}

/// How many rows a predicate write changed, as the database said, and the effects that decide it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RowCount {
    pub op: OpId,
    pub count: u64,
    /// The numbers of the effects.
    pub effects: Vec<u32>,
}

/// The keys that a derivation speaks of, and the clock skew if real time orders transactions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scope<'k> {
    /// Ascending; all keys if there are none.
    pub keys: Option<&'k [KeyId]>,
    pub clock_skew: Option<i64>,
}

/// The effects on the keys in scope, by transaction and key.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowEffects {
    contents: Vec<Sight>,
    number_of: BTreeMap<Sight, u32>,
    effects: Vec<RowEffect>,
    counts: Vec<RowCount>,
    /// Whether only these keys are in scope; empty if all are.
    is_in_scope: Vec<bool>,
}

impl RowEffects {
    /// The effects of a history; an operation if they are too many to enumerate.
    pub fn of(history: &History, scope: &Scope<'_>) -> Result<Self, OpId> {
        let mut effects = Self::default();
        let Some(first) = first_by_predicate(history) else { return Ok(effects) };
        if let Some(op) = refusal(history) {
            return Err(op);
        }
        if let Some(keys) = scope.keys {
            effects.is_in_scope = vec![false; history.keys().len()];
            keys.iter().for_each(|key| effects.is_in_scope[key.index()] = true);
        }
        let all: Vec<KeyId> = (0..history.keys().len()).map(KeyId::from_index).collect();
        let mut keys = OneKey::new(history);
        for &key in scope.keys.unwrap_or(&all) {
            keys.select(key);
            let seen = contents::seen_by_each(&keys, scope);
            let seen = seen.filter(|_| !keys.is_too_much()).ok_or(first)?;
            let mut before = Vec::new();
            for (txn, seen) in seen {
                effects.add(&keys, txn, seen, &mut before);
            }
        }
        effects.effects.sort_by_key(|effect| (effect.txn, effect.key));
        if scope.keys.is_none() {
            effects.count(history);
        }
        Ok(effects)
    }

    /// All effects, by transaction and key.
    pub fn all(&self) -> &[RowEffect] {
        &self.effects
    }

    /// Whether a key is out of scope.
    pub fn leaves_out(&self, key: KeyId) -> bool {
        self.is_in_scope.get(key.index()).is_some_and(|&is_in_scope| !is_in_scope)
    }

    /// The numbers of the effects of a transaction.
    pub fn of_txn(&self, txn: TxnId) -> std::ops::Range<usize> {
        let start = self.effects.partition_point(|effect| effect.txn < txn);
        start..start + self.effects[start..].partition_point(|effect| effect.txn == txn)
    }

    /// The number of the effect of a transaction on a key.
    pub fn find(&self, txn: TxnId, key: KeyId) -> Option<usize> {
        self.effects.binary_search_by_key(&(txn, key), |effect| (effect.txn, effect.key)).ok()
    }

    /// A content by its number.
    pub fn content(&self, number: u32) -> &Sight {
        &self.contents[number as usize]
    }

    /// The number of what a write leaves, if an effect may see it.
    pub fn content_of(&self, history: &History, value: ValueId, is_dead: bool) -> Option<u32> {
        let datum = history.values().original(value);
        let content = if is_dead { Content::mark(datum) } else { Content::row(datum) };
        self.number_of.get(&Sight::Known(Rc::new(content))).copied()
    }

    /// Row counts that several effects decide; only where all keys are in scope.
    pub fn counts(&self) -> &[RowCount] {
        &self.counts
    }

    fn number(&mut self, held: Sight) -> u32 {
        let next = self.contents.len() as u32;
        *self.number_of.entry(held).or_insert_with_key(|held| {
            self.contents.push(held.clone());
            next
        })
    }

    /// Adds the effect of a transaction, from what it may have seen: the contents in their order, with the results that
    /// the transaction may have had on each. `before` are the numbers of what the last one may have seen, mostly the same.
    fn add(
        &mut self,
        keys: &OneKey<'_>,
        txn: TxnId,
        seen: Vec<(Sight, Vec<KeyEffect>)>,
        before: &mut Vec<u32>,
    ) {
        let visible = seen.len();
        let mut alternatives: Vec<Alternative> = Vec::new();
        let known = std::mem::take(before);
        for (place, (held, outcomes)) in seen.into_iter().enumerate() {
            let same = known.get(place).copied().filter(|&number| *self.content(number) == held);
            let number = same.unwrap_or_else(|| self.number(held));
            before.push(number);
            for outcome in outcomes {
                let written = outcome.written.map(|(held, op)| (self.number(held), op));
                let is_same =
                    |known: &&mut Alternative| known.written == written && known.matched == outcome.matched;
                match alternatives.iter_mut().find(is_same) {
                    Some(known) => known.seen.push(number),
                    None => {
                        let matched = outcome.matched.clone();
                        alternatives.push(Alternative { seen: vec![number], written, matched });
                    }
                }
            }
        }
        if alternatives.is_empty() {
            alternatives.push(Alternative { seen: Vec::new(), written: None, matched: Vec::new() });
        }
        for alternative in &mut alternatives {
            alternative.seen.sort_unstable();
            alternative.seen.dedup();
        }
        // A single alternative that fits whatever there was and writes nothing says nothing.
        let says_something = |known: &Alternative| known.written.is_some() || known.seen.len() != visible;
        if alternatives.len() > 1 || says_something(&alternatives[0]) {
            let op = keys.first_op(txn);
            self.effects.push(RowEffect { txn, key: keys.key(), op, alternatives });
        }
    }

    /// The effects that decide how many rows predicate writes changed.
    fn count(&mut self, history: &History) {
        for (_, op, operation) in live_ops(history) {
            let Op::PredicateWrite(write) = operation else { continue };
            let Some(count) = write.row_count else { continue };
            let matches =
                |effect: &RowEffect| effect.alternatives.iter().any(|known| known.matched.contains(&op));
            let deciding = self.effects.iter().enumerate().filter(|(_, effect)| matches(effect));
            let effects = deciding.map(|(number, _)| number as u32).collect();
            self.counts.push(RowCount { op, count, effects });
        }
    }
}

/// The first operation because of which derivations cannot speak of a history with predicates.
pub(crate) fn refusal(history: &History) -> Option<OpId> {
    let first = first_by_predicate(history)?;
    let is_list = |op: &Op<'_>| matches!(op, Op::Append { .. } | Op::ReadList { list: Some(_), .. });
    if history.initial().default == InitialDefault::UnknownButOne
        || history.has_versions()
        || live_ops(history).any(|(.., op)| is_list(&op))
    {
        return Some(first);
    }
    let has_meaning = |op: &Op<'_>| match op {
        Op::PredicateRead(read) => read.predicate.meaning().is_ok(),
        Op::PredicateWrite(write) => write.predicate.meaning().is_ok(),
        _ => true,
    };
    live_ops(history).find(|(.., op)| !has_meaning(op)).map(|(_, id, _)| id)
}

fn first_by_predicate(history: &History) -> Option<OpId> {
    if !history.has_predicates() {
        return None;
    }
    live_ops(history).find(|(.., op)| is_by_predicate(op)).map(|(_, id, _)| id)
}

pub(crate) fn is_by_predicate(op: &Op<'_>) -> bool {
    matches!(op, Op::PredicateRead(_) | Op::PredicateWrite(_))
}
