//! Whether the operations on one register with compare-and-set, or on one mutex, are linearizable.
//!
//! A configuration is a value of the register and the set of open operations that have already taken effect. When an
//! operation completes, every configuration is extended by open operations until this one has taken effect (Wing and
//! Gong 1993, in the order of completions as by Lowe 2017); if no configuration is left, no order explains it. An open
//! read that fits the value takes effect at once, since it changes nothing. Exponential in the operations that are open
//! at the same time, of which those of unknown outcome stay open until the end; so the configurations are counted.

use std::collections::{BTreeMap, BTreeSet};

use formats::Stage;
use history::Datum;

use super::{Call, WorkloadAnswer};

/// More configurations than this are not looked at: about 200 MB.
const MOST_CONFIGURATIONS: usize = 1_000_000;

/// What an operation does to the register, whose values are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    Read(u32),
    Write(u32),
    Cas(u32, u32),
}

impl Effect {
    /// The value after it, if it can take effect.
    fn after(self, value: u32) -> Option<u32> {
        match self {
            Self::Read(seen) => (seen == value).then_some(value),
            Self::Write(new) => Some(new),
            Self::Cas(old, new) => (old == value).then_some(new),
        }
    }
}

/// The value of the register, and the open operations that have taken effect, ascending.
type Configuration = (u32, Vec<u32>);

/// Checks a register that starts with nil.
pub(super) fn register(calls: &[Call<'_>]) -> WorkloadAnswer {
    let mut numbers: BTreeMap<&Datum, u32> = BTreeMap::from([(&Datum::Nil, 0)]);
    let mut number = |value| {
        let next = numbers.len() as u32;
        *numbers.entry(value).or_insert(next)
    };
    let mut effects = Vec::with_capacity(calls.len());
    for call in calls {
        effects.push(match (call.f, call.asked) {
            // A read without an answer says nothing.
            ("read", _) if call.stage == Stage::Ok && *call.value != Datum::Nil => {
                Some(Effect::Read(number(call.value)))
            }
            ("write", value) => Some(Effect::Write(number(value))),
            ("cas", Datum::List(pair)) if pair.len() == 2 => {
                Some(Effect::Cas(number(&pair[0]), number(&pair[1])))
            }
            ("cas", _) => {
                let sentence = format!("line {}: expected a cas with [OLD NEW]", call.line);
                return WorkloadAnswer { valid: None, sentences: vec![sentence] };
            }
            _ => None,
        });
    }
    check(calls, &effects)
}

/// Checks a mutex that is free at first.
pub(super) fn mutex(calls: &[Call<'_>]) -> WorkloadAnswer {
    const FREE: u32 = 0;
    const HELD: u32 = 1;
    let effect = |call: &Call<'_>| match call.f {
        "acquire" => Some(Effect::Cas(FREE, HELD)),
        "release" => Some(Effect::Cas(HELD, FREE)),
        _ => None,
    };
    let effects: Vec<Option<Effect>> = calls.iter().map(effect).collect();
    check(calls, &effects)
}

fn check(calls: &[Call<'_>], effects: &[Option<Effect>]) -> WorkloadAnswer {
    // Invocations and completions by their places in the history; what failed did not happen.
    let mut events: Vec<(usize, bool, u32)> = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        if call.stage == Stage::Fail || effects[number].is_none() {
            continue;
        }
        events.push((call.start, false, number as u32));
        events.extend(call.end.filter(|_| call.stage == Stage::Ok).map(|end| (end, true, number as u32)));
    }
    events.sort_unstable();
    let mut open: BTreeSet<u32> = BTreeSet::new();
    let mut configurations: BTreeSet<Configuration> = BTreeSet::from([(0, Vec::new())]);
    for (_, is_completion, number) in events {
        if !is_completion {
            open.insert(number);
            continue;
        }
        match completed(&configurations, number, &open, effects) {
            None => return too_many(&calls[number as usize]),
            Some(left) if left.is_empty() => return unexplained(&calls[number as usize]),
            Some(left) => configurations = left,
        }
        open.remove(&number);
    }
    WorkloadAnswer { valid: Some(true), sentences: Vec::new() }
}

/// The configurations in which an operation has taken effect, without it; nothing if there are too many.
fn completed(
    before: &BTreeSet<Configuration>,
    number: u32,
    open: &BTreeSet<u32>,
    effects: &[Option<Effect>],
) -> Option<BTreeSet<Configuration>> {
    let mut after = BTreeSet::new();
    let mut known: BTreeSet<Configuration> = BTreeSet::new();
    let mut queue: Vec<Configuration> = before.iter().cloned().collect();
    while let Some(mut configuration) = queue.pop() {
        take_reads(&mut configuration, open, effects);
        if !known.insert(configuration.clone()) {
            continue;
        }
        if known.len() > MOST_CONFIGURATIONS {
            return None;
        }
        let (value, done) = configuration;
        if let Ok(place) = done.binary_search(&number) {
            let mut rest = done;
            rest.remove(place);
            after.insert((value, rest));
            continue;
        }
        for &next in open {
            let Err(place) = done.binary_search(&next) else { continue };
            if let Some(value) = effects[next as usize].and_then(|effect| effect.after(value)) {
                let mut more = done.clone();
                more.insert(place, next);
                queue.push((value, more));
            }
        }
    }
    Some(after)
}

/// Open reads that fit the value take effect.
fn take_reads(configuration: &mut Configuration, open: &BTreeSet<u32>, effects: &[Option<Effect>]) {
    let (value, done) = configuration;
    for &read in open {
        if effects[read as usize] == Some(Effect::Read(*value))
            && let Err(place) = done.binary_search(&read)
        {
            done.insert(place, read);
        }
    }
}

fn unexplained(call: &Call<'_>) -> WorkloadAnswer {
    let shown = match call.f {
        "read" => format!("read returned {}", call.value),
        "write" | "cas" => format!("{} {} succeeded", call.f, call.asked),
        f => format!("{f} succeeded"),
    };
    let sentence =
        format!("line {}: no order of the operations so far explains that this {shown}", call.line);
    WorkloadAnswer { valid: Some(false), sentences: vec![sentence] }
}

fn too_many(call: &Call<'_>) -> WorkloadAnswer {
    let sentence = format!(
        "line {}: too many operations of unknown outcome are open: more than {MOST_CONFIGURATIONS} combinations",
        call.line
    );
    WorkloadAnswer { valid: None, sentences: vec![sentence] }
}
