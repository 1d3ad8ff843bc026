//! Facts as sentences, with the reasons for their reasons below them, until it gets too long.

use std::collections::BTreeSet;

use certify::{Atom, Lit, ReadId, Step, StepId};
use history::{KeyId, Op, OpId, TxnId};
use index::Observed;

use crate::Line;
use crate::argument::{Argument, By, Conflict, FactId};
use crate::cycle;
use crate::edge::{Use, before};
use crate::finding;
use crate::terms::{Terms, source_txn};

/// So many lines are told at most, and so deep.
const MAX_LINES: usize = 40;
const MAX_DEPTH: usize = 5;
/// Of the excluded sources of a read, so many are told one by one.
const MAX_SOURCES: usize = 4;

/// Tells facts line by line.
pub(crate) struct Teller<'a> {
    pub terms: &'a Terms<'a>,
    pub argument: &'a Argument,
    pub steps: &'a [Step],
    pub lines: Vec<Line>,
    /// What was told already, and need not be told again.
    told: BTreeSet<Lit>,
    /// Transactions that the lines speak of, in the order of their first appearance.
    pub mentioned: Vec<TxnId>,
    /// The keys that the lines speak of.
    pub keys: BTreeSet<KeyId>,
    left_out: bool,
}

impl<'a> Teller<'a> {
    pub fn new(terms: &'a Terms<'a>, argument: &'a Argument, steps: &'a [Step]) -> Self {
        Self {
            terms,
            argument,
            steps,
            lines: Vec::new(),
            told: BTreeSet::new(),
            mentioned: Vec::new(),
            keys: BTreeSet::new(),
            left_out: false,
        }
    }

    /// Ends with a note if something was left out.
    pub fn finish(&mut self) {
        if self.left_out {
            let count = self.steps.len();
            self.lines.push(Line {
                depth: 0,
                text: format!("the rest is in the certificate, which has {count} steps in all"),
            });
        }
    }

    /// Tells a cycle: each fact on it with its reasons.
    ///
    /// A reason may rest on another fact of the cycle, which is then told in its own place only.
    pub fn cycle(&mut self, path: &[FactId], depth: usize) {
        let untold = |fact: &FactId| !self.told.contains(&self.argument.fact(*fact).lit);
        let untold: Vec<FactId> = path.iter().copied().filter(untold).collect();
        for &fact in &untold {
            let lit = self.argument.fact(fact).lit;
            self.mention(lit);
            self.told.insert(lit);
        }
        for fact in untold {
            self.tell(fact, depth);
        }
    }

    /// Tells why some facts cannot all be true.
    pub fn conflict(&mut self, conflict: &Conflict, depth: usize) {
        if let Some(path) = cycle::of_conflict(self.argument, self.steps, conflict) {
            return self.cycle(&path, depth);
        }
        match conflict {
            Conflict::Clause(step, premises) => self.clause_conflict(*step, premises, depth),
            Conflict::Cycle(premises) => self.facts(premises, depth),
        }
    }

    fn clause_conflict(&mut self, step: StepId, premises: &[FactId], depth: usize) {
        let used = self.steps.get(step as usize).map(|step| Use::of(self.terms, step));
        if let Some(Use::Sources { op }) = used
            && let Some(read) = self.terms.read(op)
        {
            let reader = self.terms.name(Some(read.txn));
            let text = format!("{reader} {}, and cannot have read it from anyone", self.terms.saw(read));
            self.note(read.txn);
            self.note_keys(used);
            self.line(depth, text);
            self.excluded_sources(premises, depth + 1);
            return;
        }
        self.facts(premises, depth);
    }

    fn facts(&mut self, facts: &[FactId], depth: usize) {
        for &fact in facts {
            self.fact(fact, depth);
        }
    }

    /// Tells a fact with its reason, unless it was told or needs no telling.
    fn fact(&mut self, fact: FactId, depth: usize) {
        let lit = self.argument.fact(fact).lit;
        if !self.told.insert(lit) {
            return;
        }
        let path = cycle::flatten(self.argument, self.steps, fact);
        if path == [fact] {
            self.tell(fact, depth);
        } else {
            self.facts(&path, depth);
        }
    }

    fn tell(&mut self, fact: FactId, depth: usize) {
        let lit = self.argument.fact(fact).lit;
        match &self.argument.fact(fact).by {
            By::Assumed | By::Path(_) => {}
            By::Rule(step, premises) => self.by_rule(lit, *step, premises, depth),
            By::Contradiction(conflict) => self.by_contradiction(lit, conflict, depth),
            By::Step(step) => {
                self.left_out = true;
                self.mention(lit);
                let text = format!("{}: follows from step {step}", self.terms.say(lit));
                self.line(depth, text);
            }
        }
    }

    fn by_contradiction(&mut self, lit: Lit, conflict: &Conflict, depth: usize) {
        self.mention(lit);
        let (fact, otherwise) = (self.terms.say(lit), self.terms.say(!lit));
        if self.line(depth, format!("{fact}: if {otherwise}, then")) {
            let told = self.told.clone();
            self.conflict(conflict, depth + 1);
            self.close_circle(conflict, depth + 1);
            // What followed from the assumption is no longer true.
            self.told = told;
        }
    }

    /// Lists the transactions of a cycle under an assumption: some of its facts were told elsewhere.
    fn close_circle(&mut self, conflict: &Conflict, depth: usize) {
        let Some(path) = cycle::of_conflict(self.argument, self.steps, conflict) else {
            return;
        };
        let ends = path.iter().filter_map(|&fact| before(&self.argument.fact(fact).lit));
        let mut names: Vec<String> = ends.map(|(a, _)| self.terms.name(self.terms.txn(a))).collect();
        names.dedup();
        if names.len() > 1 && names.first() == names.last() {
            names.pop();
        }
        names.extend(names.first().cloned());
        self.line(depth, format!("which closes a circle: {}", names.join(", ")));
    }

    fn by_rule(&mut self, lit: Lit, step: StepId, premises: &[FactId], depth: usize) {
        let used = self.steps.get(step as usize).map(|step| Use::of(self.terms, step));
        let Some(sentence) = used.and_then(|used| self.sentence(lit, used, premises)) else {
            return;
        };
        self.mention(lit);
        self.note_keys(used);
        if !self.line(depth, sentence) {
            return;
        }
        if let Some(Use::Sources { .. }) = used {
            return self.excluded_sources(premises, depth + 1);
        }
        for premise in self.unsaid(premises) {
            self.fact(premise, depth + 1);
        }
    }

    /// The premises that a sentence leaves open: that a read came from the only possible source goes without saying,
    /// but not that the reader committed.
    fn unsaid(&self, premises: &[FactId]) -> Vec<FactId> {
        let is_read = |fact: &FactId| matches!(self.argument.fact(*fact).lit.atom, Atom::ReadFrom(..));
        let mut unsaid = Vec::new();
        for &premise in premises {
            match &self.argument.fact(premise).by {
                By::Rule(_, below) if is_read(&premise) && !below.iter().any(is_read) => {
                    unsaid.extend(below);
                }
                _ => unsaid.push(premise),
            }
        }
        unsaid
    }

    fn sentence(&self, lit: Lit, used: Use, premises: &[FactId]) -> Option<String> {
        let terms = self.terms;
        if let (Use::Sources { op }, Atom::ReadFrom(_, source)) = (used, lit.atom) {
            let read = terms.read(op)?;
            let (reader, writer) = (terms.name(Some(read.txn)), terms.name(source_txn(source)));
            let seen = terms.seen(read);
            return Some(format!("{reader} can only have read {seen} from {writer}"));
        }
        let reason = self.reason(lit, used, premises)?;
        Some(format!("{}: {reason}", terms.say(lit)))
    }

    /// Why a fact follows by a rule; `None` for what goes without saying.
    fn reason(&self, lit: Lit, used: Use, premises: &[FactId]) -> Option<String> {
        let terms = self.terms;
        let name = |txn| terms.name(Some(txn));
        match (used, lit.atom) {
            (Use::BeginCommit | Use::Initial, _) => None,
            (Use::Session, Atom::Before(a, _)) => {
                let session = terms.history.session_of(terms.txn(a)?);
                let session = terms.history.session_label(session);
                Some(format!("both are in session {session}"))
            }
            (Use::RealTime, Atom::Before(..)) => Some(self.real_time(lit)?),
            (Use::ReadAfterWrite { op, source }, Atom::Before(..)) => {
                let read = terms.read(op)?;
                let (reader, saw) = (name(read.txn), terms.saw(read));
                Some(match (source, read.observed) {
                    (Some(writer), Observed::Absent | Observed::Mark(_)) => {
                        format!("{reader} {saw}, which {} deleted", name(writer))
                    }
                    (Some(writer), Observed::RowEffect(..)) => {
                        format!("{reader} {saw} as {} left it", name(writer))
                    }
                    (Some(writer), _) => format!("{reader} {saw}, which {} wrote", name(writer)),
                    (None, _) => format!("{reader} {saw}, the initial value"),
                })
            }
            (Use::ReadAfterWrite { op, source }, Atom::ReadFrom(..)) => {
                let reader = name(terms.read(op)?.txn);
                Some(format!("{reader} comes before {}", terms.name(source)))
            }
            (Use::Overwritten { .. }, _) => self.overwritten(lit, used),
            (Use::TwoWriters { t, u }, Atom::Before(..)) => {
                let key = terms.key(terms.key_of_both(t, u)?);
                let mut orders = premises.iter().map(|&fact| self.argument.fact(fact).lit);
                let order = terms.say(orders.find(|lit| before(lit).is_some())?);
                Some(format!("both wrote {key}, and {order}"))
            }
            (Use::ReadCommitted { .. }, Atom::ReadFrom(_, source)) => {
                Some(format!("{} did not commit", terms.name(source_txn(source))))
            }
            (Use::ReadCommitted { op }, Atom::In(_)) => {
                let read = terms.read(op)?;
                Some(format!("{} {} from it", name(read.txn), terms.saw(read)))
            }
            (Use::Internal { op } | Use::Sources { op: ReadId { op, .. } }, Atom::In(_)) => {
                let finding = finding::about(terms.index, op)?;
                Some(finding.sentence(terms.history))
            }
            (Use::Told { op, t, u }, Atom::Before(..)) => self.told_order(op, t, u),
            _ => Some("by the rules of the level".into()),
        }
    }

    fn overwritten(&self, lit: Lit, used: Use) -> Option<String> {
        let Use::Overwritten { op, source, writer } = used else {
            return None;
        };
        let terms = self.terms;
        let read = terms.read(op)?;
        let (reader, writer_name, saw) =
            (terms.name(Some(read.txn)), terms.name(Some(writer)), terms.saw(read));
        let (key, origin) = (terms.key(read.key), terms.name(source));
        Some(match lit.atom {
            Atom::Before(_, b) if terms.txn(b) == Some(writer) => {
                let from = source.map_or_else(|| "the initial value".into(), |_| format!("from {origin}"));
                let overwrote = terms.overwrote(writer, read.key);
                format!("{reader} {saw} ({from}), and {writer_name} {overwrote}")
            }
            Atom::Before(..) => format!(
                "{writer_name}'s write of {key} comes before {reader}, which {saw} from {origin}, \
                 so {origin} overwrote {writer_name}'s"
            ),
            Atom::ReadFrom(..) => format!("{writer_name} overwrote it before {reader}"),
            Atom::In(_) | Atom::Took(..) => format!("{reader} {saw}, which it would have overwritten"),
        })
    }

    /// A list shows two appends in their order, or lacks the later one; or versions were recorded.
    fn told_order(&self, op: Option<OpId>, t: TxnId, u: TxnId) -> Option<String> {
        let terms = self.terms;
        let key = terms.key_of_both(t, u)?;
        let (first, second) = (terms.name(Some(t)), terms.name(Some(u)));
        let Some(read) = op.and_then(|op| terms.read(op.into())) else {
            return Some(format!(
                "the recorded version of {} that {first} wrote is the earlier one",
                terms.key(key)
            ));
        };
        let reader = terms.name(Some(read.txn));
        let key = terms.key(read.key);
        let appended = terms.appended(u, read.key);
        let is_listed = match terms.history.op(read.op) {
            Op::ReadList { list: Some(list), .. } => appended.is_some_and(|element| list.contains(&element)),
            _ => false,
        };
        Some(match is_listed {
            true => {
                format!("{reader} read the list {key} with what {first} appended before what {second} did")
            }
            false => format!(
                "{reader} read the list {key} with what {first} appended, and without what {second} did"
            ),
        })
    }

    fn real_time(&self, lit: Lit) -> Option<String> {
        let (a, b) = before(&lit)?;
        let (first, second) = (self.terms.name(self.terms.txn(a)), self.terms.name(self.terms.txn(b)));
        let done = if self.terms.is_begin(a) { "begun" } else { "ended" };
        let next = match self.terms.level.events_per_txn() == 1 || self.terms.is_begin(b) {
            true => "began",
            false => "asked to commit",
        };
        Some(format!("{first} had {done} when {second} {next}"))
    }

    fn excluded_sources(&mut self, sources: &[FactId], depth: usize) {
        for &source in sources.iter().take(MAX_SOURCES) {
            self.fact(source, depth);
        }
        if sources.len() > MAX_SOURCES {
            let more = sources.len() - MAX_SOURCES;
            self.left_out = true;
            self.line(depth, format!("and {more} more sources are excluded likewise"));
        }
    }

    /// Adds a line; false if it was left out, and what would be below it must be too.
    fn line(&mut self, depth: usize, text: String) -> bool {
        if depth > MAX_DEPTH || self.lines.len() >= MAX_LINES {
            self.left_out = true;
            return false;
        }
        self.lines.push(Line { depth, text });
        true
    }

    fn mention(&mut self, lit: Lit) {
        let txns = match lit.atom {
            Atom::Before(a, b) => [self.terms.txn(a), self.terms.txn(b)],
            Atom::ReadFrom(op, source) => [self.terms.read(op).map(|read| read.txn), source_txn(source)],
            Atom::In(txn) | Atom::Took(txn, ..) => [Some(txn), None],
        };
        for txn in txns.into_iter().flatten() {
            self.note(txn);
        }
    }

    fn note_keys(&mut self, used: Option<Use>) {
        let key = match used {
            Some(
                Use::ReadAfterWrite { op, .. }
                | Use::ReadCommitted { op }
                | Use::Overwritten { op, .. }
                | Use::Sources { op },
            ) => self.terms.read(op).map(|read| read.key),
            Some(Use::Internal { op }) => finding::about(self.terms.index, op).map(|finding| finding.key),
            Some(Use::TwoWriters { t, u } | Use::Told { t, u, .. }) => self.terms.key_of_both(t, u),
            _ => None,
        };
        self.keys.extend(key);
    }

    fn note(&mut self, txn: TxnId) {
        if txn.index() < self.terms.history.txn_count() && !self.mentioned.contains(&txn) {
            self.mentioned.push(txn);
        }
    }
}
