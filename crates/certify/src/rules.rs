//! "Violated": check each step of a derivation against the rule it names.
//!
//! A clause must be what its rule says, as a set of literals; `not In` of the unknown transactions that take part may be
//! added, and must be there where the clause is false without it.

use history::{History, KeyId, OpId, TxnId};

use crate::clause::Clause;
use crate::effects::RowEffects;
use crate::facts::{Facts, Read};
use crate::named::Named;
use crate::notation::LitText;
use crate::propagate::Propagator;
use crate::times::{interval, is_before, obliges};
use crate::{Atom, Core, Flaw, Level, Lit, Node, Place, ReadId, RealTime, Rule, Source, Step};

pub(crate) fn check(
    history: &History,
    effects: &RowEffects,
    level: &Level,
    steps: &[Step],
) -> Result<(), Flaw> {
    check_if(history, effects, level, steps, None)
}

/// Checks a derivation that may assume in which alternatives transactions met keys.
fn check_if(
    history: &History,
    effects: &RowEffects,
    level: &Level,
    steps: &[Step],
    case: Option<&[(TxnId, KeyId, u32)]>,
) -> Result<(), Flaw> {
    match steps.last() {
        None => return Err(Flaw::new(Place::Whole, "there are no steps")),
        Some(last) if !last.clause.is_empty() => {
            return Err(Flaw::new(Place::Whole, "the last step is not the empty clause"));
        }
        Some(_) => {}
    }
    let named = Named::by(history, steps, level.events_per_txn());
    let facts = Facts::of(history, effects, case.unwrap_or_default(), &named)?;
    let rules = Rules { history, level, facts, events_per_txn: level.events_per_txn() };
    let at = |number: usize| move |why: String| Flaw::new(Place::Step(number as u32), why);
    for (number, step) in steps.iter().enumerate() {
        rules.check_terms(&step.clause).map_err(at(number))?;
        rules.check_rule(step).map_err(at(number))?;
        if let Rule::Case(steps) = &step.rule {
            if case.is_some() {
                return Err(at(number)("a case has no cases".into()));
            }
            let taken = rules.taken(&Clause::of(&step.clause)).map_err(at(number))?;
            check_if(history, effects, level, steps, Some(&taken))
                .map_err(|flaw| at(number)(flaw.to_string()))?;
        }
    }
    let mut propagator = Propagator::of(steps);
    for (number, step) in steps.iter().enumerate() {
        if let Rule::Derived(hints) = &step.rule {
            propagator.check(number, hints).map_err(at(number))?;
        }
    }
    Ok(())
}

struct Rules<'h> {
    history: &'h History,
    level: &'h Level,
    facts: Facts<'h>,
    events_per_txn: u32,
}

type Check = Result<(), String>;

impl Rules<'_> {
    /// Every literal speaks of something that is there.
    fn check_terms(&self, clause: &[Lit]) -> Check {
        clause.iter().try_for_each(|&lit| match lit.atom {
            Atom::Before(..) if lit.negated => Err("an order literal is negated instead of turned".into()),
            Atom::Before(a, b) if a == b => Err(format!("{} puts an event before itself", self.text(lit))),
            Atom::Before(a, b) => self.check_node(lit, a).and_then(|()| self.check_node(lit, b)),
            Atom::ReadFrom(read, source) => self.check_read_from(lit, read, source),
            Atom::In(txn) => self.check_txn(lit, txn),
            Atom::Took(txn, key, alternative) => self.check_took(lit, txn, key, alternative),
        })
    }

    fn check_node(&self, lit: Lit, node: Node) -> Check {
        node.txn(self.events_per_txn).map_or(Ok(()), |txn| self.check_txn(lit, txn))
    }

    fn check_took(&self, lit: Lit, txn: TxnId, key: KeyId, alternative: u32) -> Check {
        self.check_txn(lit, txn)?;
        match self.facts.alternative_count(txn, key) {
            count if (alternative as usize) < count => Ok(()),
            count => Err(format!("{}: there are {count} alternatives", self.text(lit))),
        }
    }

    /// The alternatives that a clause denies, if it does nothing else.
    fn taken(&self, clause: &Clause) -> Result<Vec<(TxnId, KeyId, u32)>, String> {
        let taken = clause.lits.iter().map(|lit| match lit.atom {
            Atom::Took(txn, key, alternative) if lit.negated => Ok((txn, key, alternative)),
            _ => Err(format!("{} does not deny a alternative", self.text(*lit))),
        });
        let mut taken: Vec<(TxnId, KeyId, u32)> = taken.collect::<Result<_, _>>()?;
        taken.sort_unstable();
        match taken.windows(2).any(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
            true => Err("two alternatives of one transaction and key are assumed".into()),
            false => Ok(taken),
        }
    }

    fn one_way(&self, clause: &Clause) -> Check {
        let Some(Atom::Took(txn, key, _)) = clause.lits.first().map(|lit| lit.atom) else {
            return Err("the clause names no alternatives".into());
        };
        let alternatives = 0..self.facts.alternative_count(txn, key) as u32;
        self.matches(clause, Form::new(alternatives.map(|alternative| Lit::took(txn, key, alternative))))
    }

    fn row_count(&self, clause: &Clause, op: OpId) -> Check {
        let (outcome, alternatives): (Vec<Lit>, Vec<Lit>) =
            clause.lits.iter().partition(|lit| matches!(lit.atom, Atom::In(_)));
        let taken = self.taken(&Clause::of(&alternatives))?;
        if self.facts.row_count(op, &taken) != Some(false) {
            return Err(format!("operation {} may have changed as many rows as it said", op.0));
        }
        let mut form = Form::new([]);
        form.must_be_out(self, self.history.txn_of(op));
        self.matches(&Clause::of(&outcome), form)
    }

    fn check_txn(&self, lit: Lit, txn: TxnId) -> Check {
        if self.facts.is_live(txn) {
            return Ok(());
        }
        Err(format!("{}: transaction {} aborted or does not exist", self.text(lit), txn.0))
    }

    fn check_read_from(&self, lit: Lit, read: ReadId, source: Source) -> Check {
        if self.facts.read(read).is_none() {
            return Err(format!("{}: operation {} is not an external read", self.text(lit), read.op.0));
        }
        match source {
            Source::Initial => Ok(()),
            Source::Txn(txn) => self.check_txn(lit, txn),
        }
    }

    fn check_rule(&self, step: &Step) -> Check {
        let clause = Clause::of(&step.clause);
        match &step.rule {
            Rule::Session => self.session(&clause),
            Rule::RealTime => self.real_time(&clause),
            Rule::BeginCommit => self.begin_commit(&clause),
            Rule::Initial => self.initial(&clause),
            Rule::Internal(op) => self.internal(&clause, *op),
            Rule::Sources(read) => self.sources(&clause, *read),
            Rule::ListOrder(op) => self.list_order(&clause, *op),
            Rule::Listed(op) => self.listed(&clause, *op),
            Rule::RecordedOrder => self.recorded_order(&clause),
            Rule::ReadAfterWrite => self.read_after_write(&clause),
            Rule::ReadCommitted => self.read_committed(&clause),
            Rule::OneInitial => self.one_initial(&clause),
            Rule::TwoWriters => self.two_writers(&clause),
            Rule::Overwritten => self.overwritten(&clause),
            Rule::OneWay => self.one_way(&clause),
            Rule::RowCount(op) => self.row_count(&clause, *op),
            // Its steps are checked apart.
            Rule::Case(_) => self.taken(&clause).map(|_| ()),
            Rule::Cycle => clause.check_cycle(),
            Rule::NoOrder => {
                Err("that no order explains the history is an argument alone, not a step".into())
            }
            Rule::Derived(_) => Ok(()),
        }
    }

    fn session(&self, clause: &Clause) -> Check {
        let (a, b) = clause.only_before()?;
        let (t, u) = (self.txn_of(a)?, self.txn_of(b)?);
        if !self.level.sessions {
            return Err("the level does not respect sessions".into());
        }
        if (a, b) != (self.commit(t), self.begin(u)) {
            return Err("sessions order a commit before a begin".into());
        }
        if t >= u || self.history.session_of(t) != self.history.session_of(u) {
            return Err(format!("transaction {} is not before {} in a session", t.0, u.0));
        }
        let mut form = Form::new([Lit::before(a, b)]);
        form.may_be_out(self, [t, u]);
        if self.level.real_time != RealTime::Ignored {
            form.must_be_out(self, t);
        }
        self.matches(clause, form)
    }

    fn real_time(&self, clause: &Clause) -> Check {
        let (a, b) = clause.only_before()?;
        let (t, u) = (self.txn_of(a)?, self.txn_of(b)?);
        if t == u {
            return Err("real time orders the events of two transactions".into());
        }
        let is_commit = |node: Node| node.is_commit(self.events_per_txn);
        if !obliges(self.level.real_time, is_commit(a), is_commit(b)) {
            return Err("the level does not oblige to an order of these events in real time".into());
        }
        if !self.is_before_in_real_time((t, a), (u, b)) {
            return Err("the first event is not before the second in real time".into());
        }
        let mut form = Form::new([Lit::before(a, b)]);
        form.must_be_out(self, t);
        form.may_be_out(self, [u]);
        self.matches(clause, form)
    }

    fn is_before_in_real_time(&self, (t, a): (TxnId, Node), (u, b): (TxnId, Node)) -> bool {
        let is_one_session = self.history.session_of(t) == self.history.session_of(u);
        let clock_skew = if is_one_session { 0 } else { self.level.clock_skew };
        let response = interval(self.history, t, a, self.events_per_txn).response;
        let request = interval(self.history, u, b, self.events_per_txn).request;
        matches!((response, request), (Some(response), Some(request)) if is_before(response, clock_skew, request))
    }

    fn begin_commit(&self, clause: &Clause) -> Check {
        let (a, b) = clause.only_before()?;
        let t = self.txn_of(a)?;
        if self.events_per_txn < 2 || (a, b) != (self.begin(t), self.commit(t)) {
            return Err("these are not the begin and the commit of one transaction".into());
        }
        self.matches(clause, Form::new([Lit::before(a, b)]))
    }

    fn initial(&self, clause: &Clause) -> Check {
        let (a, b) = clause.only_before()?;
        if a != Node::INITIAL {
            return Err("the first event is not the initial state".into());
        }
        self.matches(clause, Form::new([Lit::before(a, b)]))
    }

    fn internal(&self, clause: &Clause, op: OpId) -> Check {
        if !self.facts.is_contradiction(op) {
            return Err(format!("operation {} does not contradict its own transaction", op.0));
        }
        let mut form = Form::new([]);
        form.must_be_out(self, self.history.txn_of(op));
        self.matches(clause, form)
    }

    /// The two transactions of a clause that puts one version before another.
    fn two_versions(&self, clause: &Clause) -> Result<(TxnId, TxnId), String> {
        let (a, b) = clause.only_before()?;
        let (t, u) = (self.txn_of(a)?, self.txn_of(b)?);
        if t == u || (a, b) != (self.commit(t), self.install(u)) {
            return Err("the clause does not put one version before another".into());
        }
        Ok((t, u))
    }

    fn list_order(&self, clause: &Clause, op: OpId) -> Check {
        let (t, u) = self.two_versions(clause)?;
        let (key, list) = self.facts.list(op).ok_or("the operation did not read a list from outside")?;
        let reader = self.history.txn_of(op);
        let place = |txn: TxnId| list.known().position(|listed| listed == txn);
        let is_later = match (place(t), place(u)) {
            (Some(t), Some(u)) => t < u,
            (Some(_), None) => list.lacks(u) && u != reader && self.facts.writes_key(u, key),
            (None, _) => false,
        };
        if !is_later {
            return Err(format!("the list does not show transaction {} before {}", t.0, u.0));
        }
        let mut form = Form::new([Lit::before(self.commit(t), self.install(u))]);
        form.may_be_out(self, [t]);
        form.must_be_out(self, u);
        form.must_be_out(self, reader);
        self.matches(clause, form)
    }

    fn listed(&self, clause: &Clause, op: OpId) -> Check {
        let (_, list) = self.facts.list(op).ok_or("the operation did not read a list from outside")?;
        let mut committed = clause.lits.iter().filter(|lit| !lit.negated);
        let Some(Atom::In(t)) = committed.next().map(|lit| lit.atom) else {
            return Err("the clause does not say that a transaction committed".into());
        };
        if !list.known().any(|listed| listed == t) {
            return Err(format!("transaction {} is not in the list", t.0));
        }
        let mut form = Form::new([Lit::committed(t)]);
        form.must_be_out(self, self.history.txn_of(op));
        self.matches(clause, form)
    }

    fn recorded_order(&self, clause: &Clause) -> Check {
        let (t, u) = self.two_versions(clause)?;
        if !self.facts.is_recorded_earlier(t, u) {
            return Err(format!("no recorded version of transaction {} is before one of {}", t.0, u.0));
        }
        let mut form = Form::new([Lit::before(self.commit(t), self.install(u))]);
        form.must_be_out(self, t);
        form.must_be_out(self, u);
        self.matches(clause, form)
    }

    fn sources(&self, clause: &Clause, id: ReadId) -> Check {
        let read = self.read(id)?;
        let mut found = 0;
        let mut form = Form::new([]);
        form.must_be_out(self, read.txn);
        for &lit in &clause.lits {
            match lit.atom {
                Atom::ReadFrom(of, source)
                    if of == id && !lit.negated && self.facts.is_source(&read, source) =>
                {
                    found += 1;
                }
                _ => form.check_has(self, lit)?,
            }
        }
        let wanted = self.facts.source_count(&read);
        if found != wanted {
            return Err(format!("the clause lists {found} of the {wanted} sources of operation {}", id.op.0));
        }
        form.check_all_in(self, clause)
    }

    fn read_after_write(&self, clause: &Clause) -> Check {
        let (read, source) = self.only_source(clause)?;
        let order = Lit::before(self.commit_of(source), self.begin(read.txn));
        let mut form = Form::new([!Lit::read_from(self.id(&read), source), order]);
        form.may_be_out(self, [read.txn]);
        form.may_be_out(self, txn_of_source(source));
        self.matches(clause, form)
    }

    fn read_committed(&self, clause: &Clause) -> Check {
        let (read, source) = self.only_source(clause)?;
        let Source::Txn(t) = source else {
            return Err("the initial state has no outcome".into());
        };
        if !self.facts.is_unknown(t) {
            return Err(format!("the outcome of transaction {} is not unknown", t.0));
        }
        let mut form = Form::new([!Lit::read_from(self.id(&read), source), Lit::committed(t)]);
        form.may_be_out(self, [read.txn]);
        self.matches(clause, form)
    }

    fn one_initial(&self, clause: &Clause) -> Check {
        let mut reads = clause.negated_sources().map(|(read, _)| self.read(read));
        let (Some(first), Some(second)) = (reads.next(), reads.next()) else {
            return Err("the clause does not name two reads".into());
        };
        let (first, second) = (first?, second?);
        if first.key != second.key
            || first.look.value() == second.look.value()
            || first.look.may_be_one_row_gone(second.look)
            || !self.facts.has_unknown_initial(first.key)
        {
            return Err("the reads do not see two values of a key whose initial value is unknown".into());
        }
        let mut form =
            Form::new([first, second].map(|read| !Lit::read_from(self.id(&read), Source::Initial)));
        form.may_be_out(self, [first.txn, second.txn]);
        self.matches(clause, form)
    }

    fn two_writers(&self, clause: &Clause) -> Check {
        let (a, b) = clause.befores().next().ok_or("the clause has no order literal")?;
        let (t, u) = (self.txn_of(a)?, self.txn_of(b)?);
        if t == u || !self.facts.conflict(t, u) {
            return Err(format!("transactions {} and {} are not two writers of a key", t.0, u.0));
        }
        let orders = [(t, u), (u, t)].map(|(t, u)| Lit::before(self.commit(t), self.install(u)));
        let mut form = Form::new(orders);
        form.may_be_out(self, [t, u]);
        // Two commits are always ordered; only that writers do not overlap needs them to have committed.
        if self.level.core == Core::Snapshot {
            form.must_be_out(self, t);
            form.must_be_out(self, u);
        }
        self.matches(clause, form)
    }

    fn overwritten(&self, clause: &Clause) -> Check {
        let (read, source) = self.only_source(clause)?;
        let later = clause.befores().find(|&(a, _)| a == self.begin(read.txn));
        let (_, b) = later.ok_or("the clause does not put the read before a commit")?;
        let u = self.txn_of(b)?;
        if u == read.txn || source == Source::Txn(u) || !self.facts.writes_key(u, read.key) {
            return Err(format!("transaction {} is not another writer of the key", u.0));
        }
        let mut form = Form::new([
            !Lit::read_from(self.id(&read), source),
            Lit::before(self.begin(read.txn), self.commit(u)),
        ]);
        if let Source::Txn(t) = source {
            form.required.push(!Lit::before(self.commit(t), self.install(u)));
            form.may_be_out(self, [t]);
        }
        form.may_be_out(self, [read.txn]);
        form.must_be_out(self, u);
        self.matches(clause, form)
    }

    /// The one read and source that the clause denies, if the values allow that source.
    fn only_source(&self, clause: &Clause) -> Result<(Read, Source), String> {
        let (id, source) = clause.negated_sources().next().ok_or("the clause denies no source of a read")?;
        let read = self.read(id)?;
        if !self.facts.is_source(&read, source) {
            return Err(format!("{} is not possible by the values", self.text(Lit::read_from(id, source))));
        }
        Ok((read, source))
    }

    fn read(&self, id: ReadId) -> Result<Read, String> {
        self.facts.read(id).ok_or_else(|| format!("operation {} is not an external read", id.op.0))
    }

    fn id(&self, read: &Read) -> ReadId {
        ReadId::of(self.history, read.op, read.key)
    }

    fn matches(&self, clause: &Clause, form: Form) -> Check {
        clause.lits.iter().try_for_each(|&lit| form.check_has(self, lit))?;
        form.check_all_in(self, clause)
    }

    fn txn_of(&self, node: Node) -> Result<TxnId, String> {
        node.txn(self.events_per_txn).ok_or_else(|| "the initial state has no place in this rule".into())
    }

    fn begin(&self, txn: TxnId) -> Node {
        Node::begin(txn, self.events_per_txn)
    }

    fn commit(&self, txn: TxnId) -> Node {
        Node::commit(txn, self.events_per_txn)
    }

    fn install(&self, txn: TxnId) -> Node {
        match self.level.core {
            Core::Snapshot => self.begin(txn),
            Core::Serializable | Core::Prefix => self.commit(txn),
        }
    }

    fn commit_of(&self, source: Source) -> Node {
        match source {
            Source::Initial => Node::INITIAL,
            Source::Txn(txn) => self.commit(txn),
        }
    }

    fn text(&self, lit: Lit) -> String {
        LitText(lit, self.events_per_txn).to_string()
    }
}

fn txn_of_source(source: Source) -> Option<TxnId> {
    match source {
        Source::Initial => None,
        Source::Txn(txn) => Some(txn),
    }
}

/// The literals that a clause must have, and those that it may have besides.
struct Form {
    required: Vec<Lit>,
    optional: Vec<Lit>,
}

impl Form {
    fn new(required: impl IntoIterator<Item = Lit>) -> Self {
        Self { required: required.into_iter().collect(), optional: Vec::new() }
    }

    fn may_be_out(&mut self, rules: &Rules<'_>, txns: impl IntoIterator<Item = TxnId>) {
        let unknown = txns.into_iter().filter(|&txn| rules.facts.is_unknown(txn));
        self.optional.extend(unknown.map(|txn| !Lit::committed(txn)));
    }

    fn must_be_out(&mut self, rules: &Rules<'_>, txn: TxnId) {
        if rules.facts.is_unknown(txn) {
            self.required.push(!Lit::committed(txn));
        }
    }

    fn check_has(&self, rules: &Rules<'_>, lit: Lit) -> Check {
        if self.required.contains(&lit) || self.optional.contains(&lit) {
            return Ok(());
        }
        Err(format!("{} does not belong to the clause", rules.text(lit)))
    }

    fn check_all_in(&self, rules: &Rules<'_>, clause: &Clause) -> Check {
        match self.required.iter().find(|lit| clause.lits.binary_search(lit).is_err()) {
            Some(&lit) => Err(format!("{} is missing from the clause", rules.text(lit))),
            None => Ok(()),
        }
    }
}
