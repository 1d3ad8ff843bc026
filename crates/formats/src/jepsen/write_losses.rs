//! What Jepsen's EDN cannot say of a history, and what is done about it.
//!
//! What no verdict depends on is left out with a warning; anything else is an error unless the caller takes the loss.

use history::{Clock, History, InitialDefault, Op, OpId, OpTimes, TxnTimes, ValueId};

use crate::{Error, Warning, WriteOptions};

/// The losses so far.
pub(super) struct Losses {
    is_lossy: bool,
    pub warnings: Vec<Warning>,
}

impl Losses {
    pub fn new(options: &WriteOptions) -> Self {
        Self { is_lossy: options.lossy, warnings: Vec::new() }
    }

    /// A loss on which a verdict may depend.
    pub fn semantic(&mut self, whose: &str, what: &str) -> Result<(), Error> {
        if !self.is_lossy {
            return Err(Error::cannot_express(format!("Jepsen's EDN cannot express {what} ({whose})"))
                .with_hint("--lossy leaves it out; native holds everything"));
        }
        self.warn("left-out", format!("Jepsen's EDN cannot express {what}: left out"));
        Ok(())
    }

    /// A loss of names.
    pub fn names(&mut self, what: &str) {
        self.warn("names-dropped", format!("Jepsen's EDN does not hold {what}"));
    }

    fn warn(&mut self, name: &'static str, sentence: String) {
        let warning = Warning::new(name, sentence);
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Whole columns that have no place in the format.
    pub fn note_columns(&mut self, history: &History) -> Result<(), Error> {
        if history.has_versions() {
            self.semantic("the recorded versions", "versions")?;
        }
        if history.txns().any(|txn| history.txn_name(txn).is_some()) {
            self.names("the names of transactions, which are called by the index of their completion");
        }
        if history.failed_op_count() > 0 {
            let sentence = "operations that failed inside a transaction did not happen, and were left out";
            self.warn("failed-operations-dropped", sentence.into());
        }
        let has_op_times =
            (0..history.op_count() as u32).any(|op| history.op_times(OpId(op)) != OpTimes::default());
        let has_inner_times = history.txns().any(|txn| {
            let times = history.times(txn);
            let outer = TxnTimes { begin_response: None, commit_request: None, ..times };
            times != outer
        });
        if has_inner_times {
            let what = "the begin's response and the commit's request, on which levels of snapshot isolation in real \
                time depend";
            self.semantic("times of transactions", what)?;
        }
        if has_op_times {
            self.warn("op-times-dropped", "Jepsen's EDN does not hold times of operations".into());
        }
        if history.has_times() && history.clock() == Clock::Nanoseconds {
            let sentence = "times became places in the file, to which no clock skew applies";
            self.warn("clock-dropped", sentence.into());
        }
        Ok(())
    }
}

/// The value that has to be written as nil, since in Jepsen all keys start so; `None` if they do.
pub(super) fn initial_stand_in(history: &History, losses: &mut Losses) -> Result<Option<ValueId>, Error> {
    let value = match history.initial().default {
        InitialDefault::Value(ValueId::NIL) => return Ok(None),
        InitialDefault::Value(value) => value,
        InitialDefault::UnknownButOne => {
            losses.semantic("the initial state", "an unknown initial state")?;
            return Ok(None);
        }
    };
    // A register whose initial value no transaction writes and which is never nil may start with nil as well.
    let is_in_the_way = (0..history.op_count() as u32).map(OpId).any(|op| match history.op(op) {
        Op::Read { value: read, .. } => read == Some(ValueId::NIL),
        Op::Write { value: written, .. } | Op::Insert { value: written, .. } => {
            written == value || written == ValueId::NIL
        }
        Op::Append { .. } | Op::ReadList { .. } => false,
        Op::Delete { .. } | Op::RangeRead(_) | Op::PredicateRead(_) | Op::PredicateWrite(_) => true,
    });
    let has_absent = history.initial().recorded.iter().any(|&(_, recorded)| recorded == ValueId::NIL);
    let original = history.values().original(value);
    if is_in_the_way || has_absent {
        losses.semantic("the initial state", &format!("that keys start with {original} instead of nil"))?;
        return Ok(None);
    }
    losses.warn(
        "initial-renamed",
        format!("keys start with nil in Jepsen's EDN: the initial value {original} is written so"),
    );
    Ok(Some(value))
}
