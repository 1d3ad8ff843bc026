//! A history as reads and writes of registers, for the formats that know nothing else.
//!
//! One pass counts what a format cannot hold, before a byte is written. What no verdict depends on is left out with a
//! named warning, and so are all times (without any, levels of real time cannot be asked); the rest is an error, or in
//! lossy mode a named warning too.

use history::{History, KeyId, Op, OpId, Outcome, TxnId, ValueId};

use crate::error::Error;
use crate::{Format, Warning, WriteOptions};

/// What a format can hold besides committed reads and writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    pub aborted: bool,
    pub failed_ops: bool,
    pub empty_txns: bool,
    pub times: bool,
    pub names: bool,
}

impl Abilities {
    pub const NONE: Self =
        Self { aborted: false, failed_ops: false, empty_txns: false, times: false, names: false };
}

/// One read or write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RegisterOp {
    pub is_write: bool,
    pub key: KeyId,
    pub value: ValueId,
    pub is_failed: bool,
}

/// The reads and writes of a history that a format can hold.
#[derive(Debug)]
pub(crate) struct Registers<'h> {
    pub history: &'h History,
    abilities: Abilities,
    pub warnings: Vec<Warning>,
}

impl<'h> Registers<'h> {
    /// Looks through the history for what the format cannot hold.
    pub fn of(
        history: &'h History,
        format: Format,
        abilities: Abilities,
        options: &WriteOptions,
    ) -> Result<Self, Error> {
        let mut registers = Self { history, abilities, warnings: Vec::new() };
        let losses = Losses::count(&registers);
        for loss in losses.list(abilities) {
            registers.warnings.push(loss.judge(format, options)?);
        }
        Ok(registers)
    }

    /// Whether a transaction is written at all.
    pub fn keeps(&self, txn: TxnId) -> bool {
        let outcome_is_kept = self.abilities.aborted || self.history.outcome(txn) == Outcome::Committed;
        outcome_is_kept && (self.abilities.empty_txns || self.ops(txn).next().is_some())
    }

    /// The reads and writes of a transaction.
    pub fn ops(&self, txn: TxnId) -> impl Iterator<Item = RegisterOp> {
        self.history.op_range(txn).filter_map(move |op| self.op(OpId(op)))
    }

    /// An operation, if it is a read or write with a known value that happened or whose failure can be written.
    #[inline]
    pub fn op(&self, op: OpId) -> Option<RegisterOp> {
        let is_failed = self.history.failed_op_count() > 0 && self.history.is_failed(op);
        if is_failed && !self.abilities.failed_ops {
            return None;
        }
        let (is_write, key, value) = match self.history.op(op) {
            Op::Read { key, value } => (false, key, value?),
            Op::Write { key, value } | Op::Insert { key, value } => (true, key, value),
            Op::Delete { key, tombstone } => (true, key, tombstone.unwrap_or(ValueId::NIL)),
            _ => return None,
        };
        Some(RegisterOp { is_write, key, value, is_failed })
    }
}

/// How much there is of everything that a format of registers may lack.
#[derive(Default)]
struct Losses {
    aborted: usize,
    unknown: usize,
    empty: usize,
    failed: usize,
    other_ops: usize,
    unknown_reads: usize,
    inserts_and_deletes: usize,
    times: usize,
    op_times: usize,
    versions: usize,
    names: usize,
}

impl Losses {
    fn count(registers: &Registers<'_>) -> Self {
        let history = registers.history;
        let mut losses = Self {
            failed: history.failed_op_count(),
            times: usize::from(history.has_times()),
            op_times: usize::from(history.has_op_times()),
            versions: usize::from(history.has_versions()),
            ..Self::default()
        };
        let is_named = |session| history.session_name(session).is_some();
        losses.names = history.sessions().filter(|&session| is_named(session)).count();
        for txn in history.txns() {
            losses.count_txn(registers, txn);
        }
        losses
    }

    fn count_txn(&mut self, registers: &Registers<'_>, txn: TxnId) {
        let history = registers.history;
        match history.outcome(txn) {
            Outcome::Committed => {}
            Outcome::Aborted => self.aborted += 1,
            Outcome::Unknown => self.unknown += 1,
        }
        self.names += usize::from(history.txn_name(txn).is_some());
        self.empty += usize::from(registers.ops(txn).next().is_none());
        for op in history.op_range(txn).map(OpId) {
            match history.op(op) {
                Op::Read { value: Some(_), .. } | Op::Write { .. } => {}
                Op::Read { value: None, .. } => self.unknown_reads += 1,
                Op::Insert { .. } | Op::Delete { .. } => self.inserts_and_deletes += 1,
                _ => self.other_ops += 1,
            }
        }
    }

    /// What is lost, the grave ones first.
    fn list(&self, abilities: Abilities) -> Vec<Loss> {
        let unless = |able: bool, count: usize| if able { 0 } else { count };
        let grave = [
            ("operations-dropped", self.other_ops, "operations on lists, ranges or predicates"),
            ("unknown-outcomes", self.unknown, "transactions of unknown outcome"),
            ("aborted-dropped", unless(abilities.aborted, self.aborted), "aborted transactions"),
            ("versions-dropped", self.versions, "versions of operations"),
        ];
        let light = [
            ("empty-dropped", unless(abilities.empty_txns, self.empty), "transactions without operations"),
            ("failed-dropped", unless(abilities.failed_ops, self.failed), "operations that failed"),
            ("unknown-reads-dropped", self.unknown_reads, "reads whose answer is unknown"),
            ("kinds-merged", self.inserts_and_deletes, "inserts and deletes other than as writes"),
            ("times-dropped", unless(abilities.times, self.times), "times of transactions"),
            ("op-times-dropped", self.op_times, "times of operations"),
            ("names-dropped", unless(abilities.names, self.names), "names of sessions and transactions"),
        ];
        let loss = |is_grave| move |(name, count, what)| Loss { is_grave, name, count, what };
        let all = grave.map(loss(true)).into_iter().chain(light.map(loss(false)));
        all.filter(|loss| loss.count > 0).collect()
    }
}

struct Loss {
    is_grave: bool,
    name: &'static str,
    count: usize,
    what: &'static str,
}

impl Loss {
    fn judge(&self, format: Format, options: &WriteOptions) -> Result<Warning, Error> {
        let count = match self.name {
            "times-dropped" | "op-times-dropped" | "versions-dropped" => String::new(),
            _ => format!(": {} in this history", self.count),
        };
        let sentence = format!("{format} cannot hold {}{count}", self.what);
        match self.is_grave && !options.lossy {
            true => Err(Error::cannot_express(sentence)
                .with_hint("--lossy writes what it can hold; native holds everything")),
            false => Ok(Warning::new(self.name, sentence)),
        }
    }
}
