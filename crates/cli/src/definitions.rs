//! Levels by their definitions, for the commands that reason about levels: shipped ones and those of files.

use clap::Args;
use spec::{Level, SmallHistory, SmallTimes};
use synth::{Bounds, Options};

use crate::exit::Failure;
use crate::files::{Named, named};
use crate::{levels, own_level};

/// The files among the names of levels.
pub fn level_files<'n>(names: impl IntoIterator<Item = &'n String>) -> impl Iterator<Item = Named> {
    let files = names.into_iter().filter(|name| own_level::is_file_name(name));
    files.map(|name| named("the level of", name))
}

/// The definition of every level that a name stands for: one for a name or alias, all of a file's for a file.
pub fn find(name: &str) -> Result<Vec<Level>, Failure> {
    if own_level::is_file_name(name) {
        return own_level::read(name);
    }
    let canonical = levels::canonical(name);
    match spec::library::level(&canonical) {
        Some(level) => Ok(vec![level.clone()]),
        None => levels::find(name).map(|level| vec![level.spec.clone()]),
    }
}

/// The definitions of several names.
pub fn find_all(names: &[String]) -> Result<Vec<Level>, Failure> {
    let mut found = Vec::new();
    for name in names {
        found.extend(find(name)?);
    }
    Ok(found)
}

/// A small history as text, a transaction a line, with its times if a level asked for them.
pub fn history_text(history: &SmallHistory) -> String {
    let text = history.to_string();
    // What follows the transactions is session order that no session shows.
    let times = history.txns.iter().map(|txn| times_text(&txn.times)).chain(std::iter::repeat(String::new()));
    text.lines().zip(times).map(|(line, times)| format!("{line}{times}\n")).collect()
}

fn times_text(times: &SmallTimes) -> String {
    let exact = [times.begin_request, times.begin_response, times.commit_request, times.commit_response];
    if exact == [None; 4] {
        return String::new();
    }
    let [a, b, c, d] = exact.map(|time| time.map_or("?".to_owned(), |time| time.to_string()));
    format!(" @[{a}..{b},{c}..{d}]")
}

/// Which histories are looked at.
#[derive(Args, Debug)]
pub struct ScopeArguments {
    /// Exactly this many transactions; without it ever more, up to --max-txns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=32))]
    txns: Option<u8>,
    /// At most this many transactions
    #[arg(long, value_name = "N", default_value_t = synth::MOST_TXNS as u8, conflicts_with = "txns",
        value_parser = clap::value_parser!(u8).range(1..=32))]
    max_txns: u8,
    /// At most this many objects
    #[arg(long, value_name = "N", default_value_t = synth::MOST_OBJECTS as u8,
        value_parser = clap::value_parser!(u8).range(1..=16))]
    objects: u8,
    /// At most this many values of an object, the initial one counted; without it as many as could be written
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=33))]
    values: Option<u8>,
    /// A transaction reads an object before it writes it
    #[arg(long)]
    no_blind_writes: bool,
    /// The restrictions of Isolde's published benchmark: no blind writes, and session order is any partial order
    #[arg(long)]
    isolde_compatible: bool,
}

impl ScopeArguments {
    /// The bounds.
    pub fn bounds(&self) -> Bounds {
        Bounds {
            txns: self.txns.map(usize::from),
            objects: Some(usize::from(self.objects)),
            values: self.values.map(usize::from),
            most_txns: Some(usize::from(self.max_txns)),
        }
    }

    /// What histories may look like.
    pub fn options(&self, log_proof: bool) -> Options {
        let options = match self.isolde_compatible {
            true => Options::isolde_compatible(),
            false => Options::default(),
        };
        Options { blind_writes: options.blind_writes && !self.no_blind_writes, log_proof, ..options }
    }

    /// The scope in words.
    pub fn words(&self) -> String {
        let txns = match self.txns {
            Some(txns) => format!("{txns} transactions"),
            None => format!("up to {} transactions", self.max_txns),
        };
        let values = self.values.map_or(String::new(), |values| format!(" and {values} values of each"));
        format!("{txns}, up to {} objects{values}", self.objects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_history_is_read_back_as_it_was_printed() {
        let mut history = SmallHistory::parse("a: w(x)=1\na: r(x)=0\nb: r(x)=1\n").unwrap();
        for (txn, begin) in history.txns.iter_mut().zip(0..) {
            txn.times = SmallTimes::exact(10 * begin, 10 * begin + 5);
        }
        let text = history_text(&history);
        let read = formats::notation::parse(&text).unwrap();
        assert_eq!(SmallHistory::from_history(&read, 0).unwrap().txns, history.txns);
        history.extra_session_order.push((0, 2));
        assert!(history_text(&history).ends_with("session order: line 1 before line 3\n"));
    }
}
