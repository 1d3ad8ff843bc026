//! What the rules of a derivation are checked against: external reads, final writes, and the sources of a read.
//!
//! Sorted tables, each built with one pass and one sort; every question is a binary search, but for reads that saw no
//! row, which look at all writes of their key. They hold the reads of the transactions that a derivation names, and all
//! writes of the keys that these touch (`named.rs`).

use history::{History, InitialDefault, KeyId, Op, OpId, Outcome, TxnId, ValueId};

use crate::effects::{Alternative, RowEffects};
use crate::lists::{Appenders, MadeOf};
use crate::named::Named;
use crate::observe::{EverWritten, Held, Look, Observer, Seen, live_ops, writes};
use crate::{Flaw, ReadId, Source};

/// A read that came from outside its transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Read {
    pub op: OpId,
    pub txn: TxnId,
    pub key: KeyId,
    pub look: Look,
    /// Whether something can have been so: a list must be made of whole appends.
    pub is_possible: bool,
    /// The only transaction that a list can have come from, where its last element alone does not say that.
    pub from: Option<TxnId>,
}

/// A final write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Write {
    txn: TxnId,
    key: KeyId,
    held: Held,
    version: Option<i64>,
    /// The number of what it left, where an effect tells of it.
    content: Option<u32>,
    /// Whether it is one of several alternatives, none of which is assumed.
    is_possible_only: bool,
}

pub(crate) struct Facts<'h> {
    history: &'h History,
    effects: &'h RowEffects,
    /// For each effect the alternative that is assumed, or the only one.
    alternatives: Vec<Option<u32>>,
    /// By operation and key.
    reads: Vec<Read>,
    /// Operations that contradict their own transaction.
    contradictions: Vec<OpId>,
    /// By transaction and key.
    writes: Vec<Write>,
    /// The same, by key, value and transaction.
    by_value: Vec<Write>,
    appenders: Option<Appenders>,
    unknown_initial: Option<UnknownInitial>,
}

/// What is known of initial values that were not recorded.
struct UnknownInitial {
    ever_written: EverWritten,
    /// For each key the value that a committed transaction read and no transaction wrote: it must be the initial one.
    pinned: Vec<Option<ValueId>>,
}

impl<'h> Facts<'h> {
    /// The facts that are asked for about what is named, if transactions met keys in these alternatives, where there are
    /// several.
    pub fn of(
        history: &'h History,
        effects: &'h RowEffects,
        assumed: &[(TxnId, KeyId, u32)],
        named: &Named,
    ) -> Result<Self, Flaw> {
        let alternative = |(txn, key, count): (TxnId, KeyId, usize)| {
            let assumed = assumed
                .iter()
                .find(|&&(of, on, _)| (of, on) == (txn, key))
                .map(|&(.., alternative)| alternative);
            if count == 1 { Some(0) } else { assumed }
        };
        let told = effects.all().iter().map(|effect| (effect.txn, effect.key, effect.alternatives.len()));
        let mut facts = Self {
            history,
            effects,
            alternatives: told.map(alternative).collect(),
            reads: Vec::new(),
            contradictions: Vec::new(),
            writes: Vec::new(),
            by_value: Vec::new(),
            appenders: None,
            unknown_initial: None,
        };
        if live_ops(history).any(|(.., op)| matches!(op, Op::Append { .. } | Op::ReadList { .. })) {
            facts.appenders = Some(Appenders::of_some(history, |key| named.has_key(key))?);
        }
        let mut observer = Observer::new(history);
        for txn in history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted) {
            if named.has_txn(txn) {
                facts.add_reads(&mut observer, txn)?;
            }
            facts.add_writes(txn, named);
        }
        facts.reads.sort_unstable_by_key(|read| (read.op, read.key));
        facts.contradictions.sort_unstable();
        facts.writes.sort_by_key(|write| (write.txn, write.key));
        facts.by_value = facts.writes.clone();
        facts.by_value.sort_unstable_by_key(|write| (write.key, write.held.value, write.txn));
        if history.initial().default == InitialDefault::UnknownButOne {
            facts.unknown_initial = Some(UnknownInitial::of(history, &facts.reads));
        }
        Ok(facts)
    }

    fn add_reads(&mut self, observer: &mut Observer, txn: TxnId) -> Result<(), Flaw> {
        let history = self.history;
        let (reads, contradictions, appenders) = (&mut self.reads, &mut self.contradictions, &self.appenders);
        let effects = self.effects;
        for number in self.effects.of_txn(txn) {
            let effect = &self.effects.all()[number];
            if let Some(alternative) = self.alternatives[number] {
                let look = Look::Alternative(number as u32, alternative);
                reads.push(Read { op: effect.op, txn, key: effect.key, look, is_possible: true, from: None });
            }
        }
        observer.visit(history, self.effects, txn, |seen| {
            match seen {
                Seen::External { key, .. } if effects.leaves_out(key) => {}
                Seen::External { op, key, look } => {
                    let is_list = matches!(history.op(op), Op::ReadList { .. });
                    let appenders = appenders.as_ref().filter(|_| is_list);
                    let made_of = appenders.and_then(|all| all.made_of(history, op));
                    let is_doubtful = appenders.is_some_and(|all| all.is_doubtful(key));
                    let from = made_of.as_ref().filter(|_| is_doubtful).and_then(MadeOf::last);
                    let is_possible = !is_list || made_of.is_some();
                    reads.push(Read { op, txn, key, look, is_possible, from });
                }
                Seen::Contradiction { op, .. } => contradictions.push(op),
            }
            Ok(())
        })
    }

    fn add_writes(&mut self, txn: TxnId, named: &Named) {
        let history = self.history;
        let own = writes(history, txn).filter(|&(key, ..)| named.has_key(key));
        let own = own.map(|(key, held, op)| {
            let version = if history.has_versions() { history.op_version(op) } else { None };
            Write { txn, key, held, version, content: None, is_possible_only: false }
        });
        let mut own: Vec<Write> = own.filter(|write| self.is_by_key(txn, write.key)).collect();
        // The last write of a key is the final one: reversed, it is the first of its key, which `dedup` keeps.
        own.reverse();
        own.sort_by_key(|write| write.key);
        own.dedup_by_key(|write| write.key);
        self.writes.extend(own);
        for number in self.effects.of_txn(txn) {
            self.add_told(number);
        }
    }

    /// Whether no effect tells what a transaction did to a key, and it is not left out.
    fn is_by_key(&self, txn: TxnId, key: KeyId) -> bool {
        !self.effects.leaves_out(key) && self.effects.find(txn, key).is_none()
    }

    /// What an effect's transaction writes: in the alternative that is assumed, or in any.
    fn add_told(&mut self, number: usize) {
        let effect = &self.effects.all()[number];
        let alternative =
            |alternative: u32| &effect.alternatives[alternative as usize..=alternative as usize];
        let (alternatives, is_possible_only): (&[Alternative], bool) = match self.alternatives[number] {
            Some(chosen) => (alternative(chosen), false),
            None => (&effect.alternatives[..], true),
        };
        let mut contents: Vec<u32> =
            alternatives.iter().filter_map(|alternative| Some(alternative.written?.0)).collect();
        contents.sort_unstable();
        contents.dedup();
        for number in contents {
            let content = self.effects.content(number);
            let value = content.value(self.history);
            let held = Held { value, is_dead: content.is_dead() };
            let (txn, key) = (effect.txn, effect.key);
            self.writes.push(Write {
                txn,
                key,
                held,
                version: None,
                content: Some(number),
                is_possible_only,
            });
        }
    }

    /// Whether a transaction is in the history and may have committed.
    pub fn is_live(&self, txn: TxnId) -> bool {
        txn.index() < self.history.txn_count() && self.history.outcome(txn) != Outcome::Aborted
    }

    pub fn is_unknown(&self, txn: TxnId) -> bool {
        self.history.outcome(txn) == Outcome::Unknown
    }

    pub fn read(&self, id: ReadId) -> Option<Read> {
        let start = self.reads.partition_point(|read| read.op < id.op);
        let of_op = self.reads[start..].iter().take_while(|read| read.op == id.op);
        of_op.copied().find(|read| ReadId::of(self.history, read.op, read.key) == id)
    }

    pub fn is_contradiction(&self, op: OpId) -> bool {
        self.contradictions.binary_search(&op).is_ok()
    }

    pub fn writes_key(&self, txn: TxnId, key: KeyId) -> bool {
        self.writes_to(txn, key).iter().any(|write| !write.is_possible_only)
    }

    fn write(&self, txn: TxnId, key: KeyId) -> Option<&Write> {
        self.writes_to(txn, key).first()
    }

    /// What a transaction wrote to a key, or may have written.
    fn writes_to(&self, txn: TxnId, key: KeyId) -> &[Write] {
        let start = self.writes.partition_point(|write| (write.txn, write.key) < (txn, key));
        let end = self.writes.partition_point(|write| (write.txn, write.key) <= (txn, key));
        &self.writes[start..end]
    }

    /// Whether two transactions write a common key.
    pub fn conflict(&self, t: TxnId, u: TxnId) -> bool {
        let (of_t, of_u) = (self.writes_of(t), self.writes_of(u));
        let (few, many) = if of_t.len() < of_u.len() { (of_t, u) } else { (of_u, t) };
        few.iter().any(|write| !write.is_possible_only && self.writes_key(many, write.key))
    }

    fn writes_of(&self, txn: TxnId) -> &[Write] {
        let start = self.writes.partition_point(|write| write.txn < txn);
        let end = self.writes.partition_point(|write| write.txn <= txn);
        &self.writes[start..end]
    }

    /// Whether the recorded versions say that one transaction wrote a key before another one did.
    pub fn is_recorded_earlier(&self, t: TxnId, u: TxnId) -> bool {
        self.writes_of(t).iter().any(|earlier| {
            let later = self.write(u, earlier.key).and_then(|write| write.version);
            matches!((earlier.version, later), (Some(earlier), Some(later)) if earlier < later)
        })
    }

    /// The list that an external read saw: its key, and what it is made of.
    pub fn list(&self, op: OpId) -> Option<(KeyId, MadeOf)> {
        let read = self.read(op.into()).filter(|read| read.is_possible)?;
        Some((read.key, self.appenders.as_ref()?.made_of(self.history, op)?))
    }

    /// In how many alternatives a transaction may have met a key; none if no effect tells of it.
    pub fn alternative_count(&self, txn: TxnId, key: KeyId) -> usize {
        let effect = self.effects.find(txn, key);
        effect.map_or(0, |effect| self.effects.all()[effect].alternatives.len())
    }

    /// Whether a predicate write changed the number of rows that the database said, if these alternatives are taken: yes, no,
    /// or perhaps.
    pub fn row_count(&self, op: OpId, taken: &[(TxnId, KeyId, u32)]) -> Option<bool> {
        let count = self.effects.counts().iter().find(|count| count.op == op)?;
        let (mut least, mut most) = (0, 0);
        for &number in &count.effects {
            let effect = &self.effects.all()[number as usize];
            let alternative = taken.iter().find(|&&(txn, key, _)| (txn, key) == (effect.txn, effect.key));
            let alternative =
                alternative.map(|&(.., alternative)| alternative).or(self.alternatives[number as usize]);
            let alternatives = effect.alternatives.iter().enumerate();
            let alternatives =
                alternatives.filter(|&(number, _)| alternative.is_none_or(|taken| taken as usize == number));
            let matches: Vec<bool> =
                alternatives.map(|(_, alternative)| alternative.matched.contains(&op)).collect();
            least += u64::from(matches.iter().all(|&is_match| is_match));
            most += u64::from(matches.contains(&true));
        }
        match () {
            () if least > count.count || most < count.count => Some(false),
            () if least == most => Some(true),
            () => None,
        }
    }

    /// How many sources a read has.
    pub fn source_count(&self, read: &Read) -> usize {
        let writes = self.candidates(read).iter().filter(|write| self.may_come_from(read, write));
        let mut writers: Vec<TxnId> = writes.map(|write| write.txn).collect();
        writers.sort_unstable();
        writers.dedup();
        writers.len() + usize::from(self.may_be_initial(read))
    }

    /// Whether a read may have come from there, by its value.
    pub fn is_source(&self, read: &Read, source: Source) -> bool {
        match source {
            Source::Initial => self.may_be_initial(read),
            Source::Txn(txn) => {
                self.writes_to(txn, read.key).iter().any(|write| self.may_come_from(read, write))
            }
        }
    }

    fn may_come_from(&self, read: &Read, write: &Write) -> bool {
        let seen = if self.history.has_versions() { self.history.op_version(read.op) } else { None };
        // A write whose version was not recorded may have any.
        let is_version = seen.is_none() || write.version.is_none() || seen == write.version;
        let is_from = read.from.is_none_or(|txn| txn == write.txn);
        read.is_possible && is_from && write.txn != read.txn && self.fits(read.look, write) && is_version
    }

    fn fits(&self, look: Look, write: &Write) -> bool {
        let Look::Alternative(..) = look else { return look.fits(write.held) };
        let content = || self.effects.content_of(self.history, write.held.value, write.held.is_dead);
        write.content.or_else(content).is_some_and(|content| self.is_seen(look, content))
    }

    fn is_seen(&self, look: Look, content: u32) -> bool {
        let Look::Alternative(effect, alternative) = look else { return false };
        self.effects.all()[effect as usize].alternatives[alternative as usize].seen.contains(&content)
    }

    /// The initial value of a key was not recorded.
    pub fn has_unknown_initial(&self, key: KeyId) -> bool {
        self.history.initial().value_of(key).is_none()
    }

    /// Writes among which all sources of a read are.
    fn candidates(&self, read: &Read) -> &[Write] {
        let (from, to) = match read.look {
            Look::Nothing | Look::Alternative(..) => ((read.key, ValueId(0)), (read.key, ValueId(u32::MAX))),
            look => ((read.key, look.value()), (read.key, look.value())),
        };
        let start = self.by_value.partition_point(|write| (write.key, write.held.value) < from);
        let end = self.by_value.partition_point(|write| (write.key, write.held.value) <= to);
        &self.by_value[start..end]
    }

    fn may_be_initial(&self, read: &Read) -> bool {
        let is_possible = match (self.history.initial().value_of(read.key), &self.unknown_initial) {
            (Some(value), _) if matches!(read.look, Look::Alternative(..)) => {
                let content = self.effects.content_of(self.history, value, value == ValueId::NIL);
                content.is_some_and(|content| self.is_seen(read.look, content))
            }
            (Some(value), _) => read.look.fits(Held::initially(value)),
            (None, Some(unknown)) => unknown.may_be(read),
            (None, None) => false,
        };
        read.is_possible && is_possible && self.may_be_first(read)
    }

    /// No committed write of the key has a recorded version up to the one that was seen.
    fn may_be_first(&self, read: &Read) -> bool {
        let seen = if self.history.has_versions() { self.history.op_version(read.op) } else { None };
        let Some(seen) = seen else { return true };
        let start = self.by_value.partition_point(|write| write.key < read.key);
        let end = self.by_value.partition_point(|write| write.key <= read.key);
        let is_earlier = |write: &Write| {
            !self.is_unknown(write.txn) && write.version.is_some_and(|version| version <= seen)
        };
        !self.by_value[start..end].iter().any(is_earlier)
    }
}

impl UnknownInitial {
    fn of(history: &History, reads: &[Read]) -> Self {
        let mut unknown =
            Self { ever_written: EverWritten::of(history), pinned: vec![None; history.keys().len()] };
        for read in reads.iter().filter(|read| history.outcome(read.txn) == Outcome::Committed) {
            let may_be = read.look.fits(Held::initially(read.look.value()));
            if may_be && !unknown.ever_written.contains(read.key, read.look.value()) {
                unknown.pinned[read.key.index()].get_or_insert(read.look.value());
            }
        }
        unknown
    }

    fn may_be(&self, read: &Read) -> bool {
        // A deleted row may have been there at first, with its mark; without one it is no row.
        if let Look::Mark(mark) = read.look
            && mark != ValueId::NIL
        {
            return !self.ever_written.contains(read.key, mark);
        }
        match self.pinned[read.key.index()] {
            Some(value) => read.look.fits(Held::initially(value)),
            // A row that was deleted later may have been missing at first.
            None => {
                let value = read.look.value();
                let is_unwritten = value == ValueId::NIL || !self.ever_written.contains(read.key, value);
                is_unwritten && read.look.fits(Held::initially(value))
            }
        }
    }
}
