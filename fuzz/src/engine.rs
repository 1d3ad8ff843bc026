//! Arbitrary notation of a few transactions through the whole engine: what it answers is what the oracle says, and its
//! certificate passes the checker.

use std::cell::Cell;

use certify::{Certificate, Level};
use formats::{Format, ReadOptions, read_bytes};
use history::History;
use index::Index;
use testkit::{has_certificates, oracle};
use verify::{Limit, Options, Verdict, verify};

/// How often the engine may ask whether to go on.
const PATIENCE: u32 = 2_000;

/// Reads a notation and decides every level.
pub fn decide(bytes: &[u8]) {
    let Ok(loaded) = read_bytes("input", bytes, &ReadOptions::default().with_format(Format::Notation)) else {
        return;
    };
    let history = loaded.history;
    let is_small = history.txn_count() <= 5 && history.op_count() <= 14 && history.keys().len() <= 5;
    if !is_small {
        return;
    }
    for (_, level) in Level::NAMED {
        if has_certificates(&history, &level) {
            decide_level(&history, &level);
        }
    }
}

fn decide_level(history: &History, level: &Level) {
    let asked = Cell::new(0);
    let limit = || {
        asked.set(asked.get() + 1);
        (asked.get() > PATIENCE).then_some(Limit::Interrupt)
    };
    let options = Options { limit: &limit, ..Options::default() };
    let Ok(answer) = verify(history, &Index::of(history), level, &options) else { return };
    let (Verdict::Holds(certificate) | Verdict::Violated(certificate)) = answer.verdict else { return };
    let name = level.name().unwrap_or_default();
    if let Err(flaw) = certify::check(history, level, &certificate) {
        panic!("{name}: the checker refuses the certificate: {flaw}");
    }
    if oracle::refusal(history).is_none() {
        let claim = matches!(certificate, Certificate::Holds { .. });
        assert_eq!(claim, oracle::holds(history, level), "{name}: the engine and the oracle differ");
    }
}
