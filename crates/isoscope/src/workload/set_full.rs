//! A set that is read again and again: an element that was there and then stays away is lost.
//!
//! An element is known once its addition succeeded or a read returned it. It is *lost* if a read that began after that
//! misses it, and no read that began later returns it; it is *stable* if it is in every read that began after the last
//! one without it. O(n log n) for n elements in all reads together.

use std::collections::{BTreeMap, BTreeSet};

use formats::Stage;
use history::Datum;

use super::{Call, WorkloadAnswer, elements, listed};

/// What became of an element.
#[derive(PartialEq, Eq)]
enum Fate {
    Stable,
    Lost { line: u64 },
    NeverRead,
}

/// Checks the set.
pub(super) fn check(calls: &[Call<'_>]) -> WorkloadAnswer {
    let mut reads: Vec<(&Call<'_>, BTreeSet<&Datum>)> = calls
        .iter()
        .filter(|call| call.f == "read" && call.stage == Stage::Ok)
        .map(|call| (call, elements(call.value)))
        .collect();
    reads.sort_by_key(|(call, _)| call.start);
    let mut sentences: Vec<String> = reads.iter().filter_map(|(call, seen)| repeated(call, seen)).collect();
    let known = known_since(calls, &reads);
    let mut stable_count = 0;
    for (&element, &since) in &known {
        match fate(element, since, &reads) {
            Fate::Stable => stable_count += 1,
            Fate::NeverRead => {}
            Fate::Lost { line } => {
                sentences.push(format!("{element} was there and is lost: the read in line {line} misses it"));
            }
        }
    }
    let attempted: BTreeSet<&Datum> =
        calls.iter().filter(|call| call.f == "add").map(|call| call.asked).collect();
    let unexpected = known.keys().filter(|element| !attempted.contains(*element));
    sentences.extend(unexpected.map(|element| format!("{element} was read and never added")));
    match (sentences.is_empty(), stable_count) {
        (true, 0) => {
            let reason =
                "no element was in the last reads, so nothing shows that the set keeps what is added";
            WorkloadAnswer { valid: None, sentences: vec![reason.to_owned()] }
        }
        (is_empty, _) => WorkloadAnswer { valid: Some(is_empty), sentences },
    }
}

fn repeated(call: &Call<'_>, seen: &BTreeSet<&Datum>) -> Option<String> {
    let count = listed(call.value).len();
    let sentence = || format!("line {}: the read returned an element more than once", call.line);
    (count > seen.len()).then(sentence)
}

/// For each element the place at which it is known to be in the set.
fn known_since<'c>(
    calls: &[Call<'c>],
    reads: &[(&Call<'c>, BTreeSet<&'c Datum>)],
) -> BTreeMap<&'c Datum, usize> {
    let mut since: BTreeMap<&Datum, usize> = BTreeMap::new();
    let mut note = |element, place: usize| {
        since.entry(element).and_modify(|known| *known = place.min(*known)).or_insert(place);
    };
    for call in calls.iter().filter(|call| call.f == "add" && call.stage == Stage::Ok) {
        note(call.asked, call.end.unwrap_or(call.start));
    }
    for (call, seen) in reads {
        seen.iter().for_each(|&element| note(element, call.end.unwrap_or(call.start)));
    }
    since
}

/// The reads are in the order of their invocations; each that has the element is looked at once.
fn fate(element: &Datum, since: usize, reads: &[(&Call<'_>, BTreeSet<&Datum>)]) -> Fate {
    let last_absent = reads.iter().rposition(|(_, seen)| !seen.contains(element));
    let is_present = |place: usize| reads[place].1.contains(element);
    let has_later = match last_absent {
        Some(absent) => absent + 1 < reads.len(),
        None => !reads.is_empty(),
    };
    match last_absent {
        _ if has_later => Fate::Stable,
        Some(absent) if since < reads[absent].0.start => {
            // The first of the reads from which on the element stays away, for the reader of the answer.
            let run = (0..=absent).rev().take_while(|&place| !is_present(place));
            let first = run.filter(|&place| since < reads[place].0.start).last().unwrap_or(absent);
            Fate::Lost { line: reads[first].0.line }
        }
        _ => Fate::NeverRead,
    }
}
