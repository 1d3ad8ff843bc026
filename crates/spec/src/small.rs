//! A history small enough to decide by trying everything.
//!
//! Only what levels speak of is here: external reads in program order, final writes, sessions, outcomes and times.
//! Values may repeat, outcomes may be unknown and ends may be missing; [`crate::oracle`] tries every way to fill them.

use std::fmt;

pub use history::Outcome;

/// A key of a small history, numbered from 0.
pub type Object = usize;

/// A value of a small history.
pub type Value = u32;

/// What clients observed, reduced to external reads and final writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SmallHistory {
    /// The transactions; those of one session are in session order.
    pub txns: Vec<SmallTxn>,
    /// The initial value of each object; objects beyond the end begin with 0.
    pub initial: Vec<Value>,
    /// How far two clients' clocks may be apart.
    pub clock_skew: i64,
    /// Pairs that are in session order besides those of one session: some definitions of a history let session order
    /// be any partial order. Recorded histories have none.
    pub extra_session_order: Vec<(usize, usize)>,
}

/// A transaction of a small history.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SmallTxn {
    /// The session it belongs to.
    pub session: usize,
    /// External reads in program order: an object may be read again, and then with another value.
    pub reads: Vec<(Object, Value)>,
    /// For each read the number of its statement, ascending: reads of one statement are not before one another. Empty if
    /// each read is a statement of its own.
    pub statements: Vec<usize>,
    /// Final writes, at most one for each object.
    pub writes: Vec<(Object, Value)>,
    /// What became of it.
    pub outcome: Outcome,
    /// When it began and ended, as far as that was recorded.
    pub times: SmallTimes,
    /// The level it ran at, if that was recorded.
    pub level: Option<String>,
}

/// Request and response of a begin and a commit, where they were recorded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SmallTimes {
    /// The earliest moment at which it can have begun.
    pub begin_request: Option<i64>,
    /// The latest moment at which it can have begun.
    pub begin_response: Option<i64>,
    /// The earliest moment at which it can have committed.
    pub commit_request: Option<i64>,
    /// The latest moment at which it can have committed.
    pub commit_response: Option<i64>,
}

impl SmallTimes {
    /// A transaction that began and committed at exactly these moments.
    pub fn exact(begin: i64, commit: i64) -> Self {
        Self {
            begin_request: Some(begin),
            begin_response: Some(begin),
            commit_request: Some(commit),
            commit_response: Some(commit),
        }
    }

    /// A transaction of which only its whole span is known.
    pub fn span(begin: i64, end: Option<i64>) -> Self {
        Self { begin_request: Some(begin), commit_response: end, ..Self::default() }
    }

    /// The latest moment at which it can have begun: it had begun when it asked to commit, or heard that it had.
    fn latest_begin(&self) -> Option<i64> {
        self.begin_response.or(self.commit_request).or(self.commit_response)
    }

    /// The earliest moment at which it can have committed: not before it had begun.
    fn earliest_commit(&self) -> Option<i64> {
        self.commit_request.or(self.begin_response).or(self.begin_request)
    }

    /// The latest moment at which it can have committed.
    fn latest_commit(&self) -> Option<i64> {
        self.commit_response
    }
}

impl SmallTxn {
    /// A committed transaction without times.
    pub fn committed(session: usize, reads: &[(Object, Value)], writes: &[(Object, Value)]) -> Self {
        Self {
            session,
            reads: reads.to_vec(),
            statements: Vec::new(),
            writes: writes.to_vec(),
            outcome: Outcome::Committed,
            times: SmallTimes::default(),
            level: None,
        }
    }

    /// How many of its reads were made by earlier statements than a read.
    pub fn reads_before(&self, read: usize) -> usize {
        match self.statements.get(read) {
            Some(statement) => self.statements.partition_point(|known| known < statement),
            None => read,
        }
    }

    /// The final value it writes to an object.
    pub fn written(&self, object: Object) -> Option<Value> {
        self.writes.iter().find(|&&(written, _)| written == object).map(|&(_, value)| value)
    }
}

impl SmallHistory {
    /// A history of committed transactions whose objects begin with 0.
    pub fn new(txns: Vec<SmallTxn>) -> Self {
        Self { txns, ..Self::default() }
    }

    /// How many objects there are.
    pub fn object_count(&self) -> usize {
        let used = self
            .txns
            .iter()
            .flat_map(|txn| txn.reads.iter().chain(&txn.writes))
            .map(|&(object, _)| object + 1);
        used.max().unwrap_or(0).max(self.initial.len())
    }

    /// The value an object begins with.
    pub fn initial_value(&self, object: Object) -> Value {
        self.initial.get(object).copied().unwrap_or(0)
    }

    /// Whether the first of two transactions precedes the second in a session.
    pub fn in_session_order(&self, first: usize, second: usize) -> bool {
        let same_session = first < second && self.txns[first].session == self.txns[second].session;
        same_session || self.extra_session_order.contains(&(first, second))
    }

    /// Whether one moment surely precedes another; clocks of one session do not differ.
    fn surely_before(&self, first: usize, moment: Option<i64>, second: usize, later: Option<i64>) -> bool {
        let same_clock = self.txns[first].session == self.txns[second].session;
        let skew = if same_clock { 0 } else { self.clock_skew };
        matches!((moment, later), (Some(moment), Some(later)) if moment.saturating_add(skew) < later)
    }

    /// Whether the first ended before the second began.
    pub fn in_real_time(&self, first: usize, second: usize) -> bool {
        let (end, begin) = (self.txns[first].times.latest_commit(), self.txns[second].times.begin_request);
        first != second && self.surely_before(first, end, second, begin)
    }

    /// Whether the first committed before the second committed.
    pub fn in_commit_real_time(&self, first: usize, second: usize) -> bool {
        let (end, commit) =
            (self.txns[first].times.latest_commit(), self.txns[second].times.earliest_commit());
        first != second && self.surely_before(first, end, second, commit)
    }

    /// Whether the first began before the second committed.
    pub fn in_begin_real_time(&self, first: usize, second: usize) -> bool {
        let (begin, commit) =
            (self.txns[first].times.latest_begin(), self.txns[second].times.earliest_commit());
        first != second && self.surely_before(first, begin, second, commit)
    }

    /// Reads `a: r(x)=0 w(y)=1`, one transaction a line. Lines with the same label are one session. A label that ends
    /// in `?` is of unknown outcome, one that ends in `!` was aborted. Objects are numbered by first appearance.
    ///
    /// This is for tests: reads after an own write of the same object are not told apart from external ones.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut names: (Vec<String>, Vec<String>) = Default::default();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let txns = lines.map(|line| parse_line(line, &mut names)).collect::<Result<_, _>>()?;
        Ok(Self::new(txns))
    }
}

fn parse_line(line: &str, (sessions, objects): &mut (Vec<String>, Vec<String>)) -> Result<SmallTxn, String> {
    let (label, ops) = line.split_once(':').ok_or_else(|| format!("no label in `{line}`"))?;
    let outcome = match label.chars().last() {
        Some('?') => Outcome::Unknown,
        Some('!') => Outcome::Aborted,
        _ => Outcome::Committed,
    };
    let mut txn = SmallTxn::committed(place_of(sessions, label.trim_end_matches(['?', '!'])), &[], &[]);
    txn.outcome = outcome;
    for op in ops.split_whitespace() {
        let parts =
            op.split_once(")=").and_then(|(head, value)| Some((head.split_once('(')?, value.parse().ok()?)));
        let Some(((kind, object), value)) = parts else {
            return Err(format!("`{op}` is neither r(x)=v nor w(x)=v"));
        };
        let object = place_of(objects, object);
        match kind {
            "r" => txn.reads.push((object, value)),
            _ => {
                txn.writes.retain(|&(written, _)| written != object);
                txn.writes.push((object, value));
            }
        }
    }
    Ok(txn)
}

fn place_of(names: &mut Vec<String>, name: &str) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_string());
        names.len() - 1
    })
}

/// The name of an object: x, y, z, then x3, x4 and so on.
pub fn object_name(object: Object) -> String {
    match object {
        0 => "x".to_string(),
        1 => "y".to_string(),
        2 => "z".to_string(),
        more => format!("x{more}"),
    }
}

/// The name of a session: a, b, ... z, then s26 and so on.
pub fn session_name(session: usize) -> String {
    match u8::try_from(session) {
        Ok(small) if small < 26 => char::from(b'a' + small).to_string(),
        _ => format!("s{session}"),
    }
}

impl fmt::Display for SmallHistory {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for txn in &self.txns {
            writeln!(out, "{txn}")?;
        }
        for &(first, second) in &self.extra_session_order {
            writeln!(out, "session order: line {} before line {}", first + 1, second + 1)?;
        }
        Ok(())
    }
}

impl fmt::Display for SmallTxn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.outcome {
            Outcome::Committed => "",
            Outcome::Aborted => "!",
            Outcome::Unknown => "?",
        };
        write!(out, "{}{mark}:", session_name(self.session))?;
        for &(object, value) in &self.reads {
            write!(out, " r({})={value}", object_name(object))?;
        }
        for &(object, value) in &self.writes {
            write!(out, " w({})={value}", object_name(object))?;
        }
        if let Some(level) = &self.level {
            write!(out, " at {level}")?;
        }
        Ok(())
    }
}
