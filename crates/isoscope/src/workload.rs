//! Workloads of Jepsen whose invariants are checked on the operations themselves.
//!
//! Most are one pass over the operations, with a sort by time; no order of transactions is searched for. A register with
//! compare-and-set and a mutex are linearizable or not, which takes a search (`linear.rs`).

mod linear;
mod set_full;

use std::collections::{BTreeMap, BTreeSet};

use formats::{Operation, Stage};
use history::Datum;

/// A workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// Elements are added, and a last read returns them all.
    Set,
    /// A number is added to, never taken from.
    Counter,
    /// Money moves between accounts, and its sum stays the same.
    Bank {
        /// The sum.
        total: i64,
        /// Whether a balance may be negative.
        allows_negative: bool,
    },
    /// Elements are added one after the other; a read that has a later one has the earlier ones.
    Comments,
    /// Elements are added and read again and again; what was there stays.
    SetFull,
    /// Keys are written one after the other and read in the opposite order; a read that has a later one has the earlier
    /// ones.
    Sequential,
    /// A register with reads, writes and compare-and-set is linearizable.
    CasRegister,
    /// A mutex is held by one client at a time.
    Mutex,
}

impl Workload {
    /// The operations that it consists of.
    fn operations(self) -> &'static [&'static str] {
        match self {
            Self::Set | Self::SetFull | Self::Counter | Self::Sequential => &["add", "read"],
            Self::Bank { .. } => &["read", "transfer"],
            Self::Comments => &["read", "write"],
            Self::CasRegister => &["read", "write", "cas"],
            Self::Mutex => &["acquire", "release"],
        }
    }
}

/// What was found out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorkloadAnswer {
    /// Whether the invariant holds; `None` if nothing could show that.
    pub valid: Option<bool>,
    /// What is wrong, in sentences, or why nothing is known.
    pub sentences: Vec<String>,
}

/// An operation from its invocation to its end.
struct Call<'o> {
    f: &'o str,
    stage: Stage,
    asked: &'o Datum,
    value: &'o Datum,
    /// Its places in the history.
    start: usize,
    end: Option<usize>,
    line: u64,
}

/// Checks the invariant of a workload.
pub fn check(workload: Workload, operations: &[Operation]) -> WorkloadAnswer {
    let calls = calls(operations);
    if let Some(call) = calls.iter().find(|call| !workload.operations().contains(&call.f)) {
        let expected = workload.operations().join(", ");
        let sentence = format!(
            "line {}: the operation {:?} is not one of this model, which has {expected}: another model was recorded",
            call.line, call.f
        );
        return WorkloadAnswer { valid: None, sentences: vec![sentence] };
    }
    let has_read = calls.iter().any(|call| call.f == "read" && call.stage == Stage::Ok);
    if !has_read && !matches!(workload, Workload::Mutex | Workload::CasRegister) {
        return WorkloadAnswer { valid: None, sentences: vec!["no read returned anything".to_owned()] };
    }
    let sentences = match workload {
        Workload::Set => set(&calls),
        Workload::Counter => counter(&calls),
        Workload::Bank { total, allows_negative } => bank(&calls, total, allows_negative),
        Workload::Comments => comments(&calls),
        Workload::Sequential => sequential(&calls),
        Workload::SetFull => return set_full::check(&calls),
        Workload::CasRegister => return linear::register(&calls),
        Workload::Mutex => return linear::mutex(&calls),
    };
    WorkloadAnswer { valid: Some(sentences.is_empty()), sentences }
}

/// Pairs invocations with completions of the same process.
fn calls(operations: &[Operation]) -> Vec<Call<'_>> {
    let mut calls: Vec<Call<'_>> = Vec::new();
    let mut open: BTreeMap<Option<i64>, usize> = BTreeMap::new();
    for (place, operation) in operations.iter().enumerate() {
        let invoked = match operation.stage {
            Stage::Invoke => None,
            _ => open.remove(&operation.process),
        };
        match invoked {
            Some(call) => {
                let call = &mut calls[call];
                call.stage = operation.stage;
                call.value = &operation.value;
                call.line = operation.line;
                call.end = Some(place);
            }
            None => {
                if operation.stage == Stage::Invoke {
                    open.insert(operation.process, calls.len());
                }
                calls.push(Call {
                    f: &operation.f,
                    stage: if operation.stage == Stage::Invoke { Stage::Info } else { operation.stage },
                    asked: &operation.value,
                    value: &operation.value,
                    start: place,
                    end: (operation.stage != Stage::Invoke).then_some(place),
                    line: operation.line,
                });
            }
        }
    }
    calls
}

/// The members of a vector, a list or a set, in their order.
fn listed(value: &Datum) -> &[Datum] {
    match value {
        Datum::List(items) => items,
        Datum::Tagged(tagged) => listed(&tagged.1),
        _ => &[],
    }
}

fn elements(value: &Datum) -> BTreeSet<&Datum> {
    listed(value).iter().collect()
}

fn set(calls: &[Call<'_>]) -> Vec<String> {
    let reads = calls.iter().filter(|call| call.f == "read" && call.stage == Stage::Ok);
    let Some(last) = reads.max_by_key(|call| call.end) else { return Vec::new() };
    let read = elements(last.value);
    let adds = || calls.iter().filter(|call| call.f == "add");
    let attempted: BTreeSet<&Datum> = adds().map(|call| call.asked).collect();
    let is_before = |call: &&Call<'_>| call.end.is_some_and(|end| end < last.start);
    let added = adds().filter(|call| call.stage == Stage::Ok).filter(is_before).map(|call| call.asked);
    let added: BTreeSet<&Datum> = added.collect();
    let lost =
        added.difference(&read).map(|element| format!("{element} was added and is not in the last read"));
    let unexpected = read.difference(&attempted).map(|element| format!("{element} was read and never added"));
    lost.chain(unexpected).collect()
}

fn integer(value: &Datum) -> Option<i64> {
    match value {
        Datum::Int(int) => Some(*int),
        _ => None,
    }
}

/// A read lies between all additions that had ended when it began and all that had begun when it ended.
fn counter(calls: &[Call<'_>]) -> Vec<String> {
    let adds: Vec<(&Call<'_>, i64)> = calls
        .iter()
        .filter(|call| call.f == "add" && call.stage != Stage::Fail)
        .filter_map(|call| Some((call, integer(call.asked)?)))
        .collect();
    let mut ended: Vec<(usize, i64)> = adds
        .iter()
        .filter(|(call, _)| call.stage == Stage::Ok)
        .filter_map(|&(call, amount)| Some((call.end?, amount)))
        .collect();
    let mut begun: Vec<(usize, i64)> = adds.iter().map(|&(call, amount)| (call.start, amount)).collect();
    let sum_before = |sums: &mut Vec<(usize, i64)>| {
        sums.sort_unstable();
        let mut sum = 0i64;
        for (_, amount) in sums {
            sum = sum.saturating_add(*amount);
            *amount = sum;
        }
    };
    sum_before(&mut ended);
    sum_before(&mut begun);
    let up_to = |sums: &[(usize, i64)], place: usize| {
        let count = sums.partition_point(|&(at, _)| at < place);
        count.checked_sub(1).map_or(0, |last| sums[last].1)
    };
    let reads = calls.iter().filter(|call| call.f == "read" && call.stage == Stage::Ok);
    let wrong = |call: &Call<'_>| {
        let read = integer(call.value)?;
        let (lower, upper) = (up_to(&ended, call.start), up_to(&begun, call.end.unwrap_or(call.start)));
        let is_wrong = !(lower..=upper).contains(&read);
        is_wrong.then(|| format!("line {}: read {read}, which is not from {lower} to {upper}", call.line))
    };
    reads.filter_map(wrong).collect()
}

fn bank(calls: &[Call<'_>], total: i64, allows_negative: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for call in calls.iter().filter(|call| call.f == "read" && call.stage == Stage::Ok) {
        let Datum::Row(accounts) = call.value else {
            wrong.push(format!("line {}: a read returned no map of balances", call.line));
            continue;
        };
        let balances: Option<Vec<i64>> = accounts.iter().map(|(_, balance)| integer(balance)).collect();
        let Some(balances) = balances else {
            wrong.push(format!("line {}: an account has no balance", call.line));
            continue;
        };
        let sum = balances.iter().fold(0i64, |sum, &balance| sum.saturating_add(balance));
        if sum != total {
            wrong.push(format!("line {}: the balances are {sum} in all, and not {total}", call.line));
        }
        if let Some(balance) = balances.iter().find(|&&balance| balance < 0 && !allows_negative) {
            wrong.push(format!("line {}: a balance is {balance}", call.line));
        }
    }
    wrong
}

/// A write that had ended when another began is in every read that has the other.
fn comments(calls: &[Call<'_>]) -> Vec<String> {
    let mut writes: Vec<&Call<'_>> = calls.iter().filter(|call| call.f == "write").collect();
    writes.sort_by_key(|call| call.start);
    let mut wrong = Vec::new();
    for read in calls.iter().filter(|call| call.f == "read" && call.stage == Stage::Ok) {
        let seen = elements(read.value);
        // The missing write that ended first, against the seen write that began last.
        let missing = writes.iter().filter(|call| call.stage == Stage::Ok && !seen.contains(call.asked));
        let missing = missing.min_by_key(|call| call.end);
        let last = writes.iter().filter(|call| seen.contains(call.asked)).max_by_key(|call| call.start);
        if let (Some(missing), Some(last)) = (missing, last)
            && missing.end.is_some_and(|end| end < last.start)
        {
            wrong.push(format!(
                "line {}: a read has {} and not {}, which had been written before",
                read.line, last.asked, missing.asked
            ));
        }
    }
    wrong
}

/// A read is a key with what its parts held, the part that was written last first: after one that is there, all are.
fn sequential(calls: &[Call<'_>]) -> Vec<String> {
    let reads = calls.iter().filter(|call| call.f == "read" && call.stage == Stage::Ok);
    let missing = |call: &Call<'_>| {
        let [key, parts] = listed(call.value) else { return None };
        let mut rest = listed(parts).iter().skip_while(|part| **part == Datum::Nil);
        let later = rest.next()?;
        rest.any(|part| *part == Datum::Nil).then(|| {
            format!("line {}: a read of {key} has {later} and not all that was written before it", call.line)
        })
    };
    reads.filter_map(missing).collect()
}
