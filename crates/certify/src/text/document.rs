//! Certificates of levels that are given by their text, as JSON; `docs/certificates.md` describes the form.
//!
//! The file names the level and does not quote its text: the checker takes the text from the shipped levels or from a
//! file that the user names.

use std::io::{self, Write};

use history::{History, KeyId, OpId, TxnId};
use serde::Deserialize;
use spec::Level;

use super::TextCertificate;
use crate::Fingerprint;
use crate::read::Error;
use crate::write::VERSION;

/// A certificate with what it is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextDocument {
    /// The argument.
    pub certificate: TextCertificate,
    /// The name of the level that it is about.
    pub level: String,
    /// The history that it is about.
    pub history: Fingerprint,
    /// How far two clients' clocks may be apart.
    pub clock_skew: i64,
}

impl TextDocument {
    /// Checks that the certificate is for this history, and that it proves its verdict for a level of this text.
    ///
    /// # Errors
    /// With what is wrong.
    pub fn check(&self, history: &History, level: &Level) -> Result<(), Error> {
        let found = Fingerprint::of(history);
        if found != self.history {
            return Err(Error::OtherHistory { expected: self.history, found });
        }
        super::check_with_skew(history, level, &self.certificate, self.clock_skew).map_err(Error::Flaw)
    }
}

/// Writes a certificate with the level and the history that it is for.
///
/// # Errors
/// If the writer fails. Give it a buffered one.
pub fn write(document: &TextDocument, out: &mut impl Write) -> io::Result<()> {
    let name = serde_json::to_string(&document.level)?;
    writeln!(out, "{{\"isoscope_certificate\": {VERSION},")?;
    writeln!(out, " \"history\": \"{}\",", document.history)?;
    writeln!(out, " \"text_level\": {name},")?;
    if document.clock_skew != 0 {
        writeln!(out, " \"clock_skew\": {},", document.clock_skew)?;
    }
    match &document.certificate {
        TextCertificate::Holds { order, sources } => {
            writeln!(out, " \"verdict\": \"holds\",")?;
            write!(out, " \"sources\": [")?;
            for (number, (op, key, txn)) in sources.iter().enumerate() {
                let comma = if number == 0 { "" } else { ", " };
                let txn = txn.map_or("null".to_owned(), |txn| txn.0.to_string());
                write!(out, "{comma}[{}, {}, {txn}]", op.0, key.0)?;
            }
            write!(out, "],\n \"order\": [")?;
            write_txns(order, out)?;
        }
        TextCertificate::Violated { txns } => {
            writeln!(out, " \"verdict\": \"violated\",")?;
            write!(out, " \"transactions\": [")?;
            write_txns(txns, out)?;
        }
    }
    out.write_all(b"]}\n")
}

fn write_txns(txns: &[TxnId], out: &mut impl Write) -> io::Result<()> {
    for (number, txn) in txns.iter().enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        write!(out, "{comma}{}", txn.0)?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    isoscope_certificate: u32,
    history: String,
    text_level: String,
    clock_skew: Option<i64>,
    verdict: String,
    order: Option<Vec<u32>>,
    sources: Option<Vec<(u32, u32, Option<u32>)>>,
    transactions: Option<Vec<u32>>,
}

#[derive(Deserialize)]
struct Kind {
    text_level: Option<serde::de::IgnoredAny>,
}

/// Reads a certificate of a level that is given by its text; nothing if it is one of another kind.
///
/// # Errors
/// If it is one, and is not of the documented form.
pub fn read(bytes: &[u8]) -> Result<Option<TextDocument>, Error> {
    match serde_json::from_slice::<Kind>(bytes) {
        Ok(Kind { text_level: Some(_) }) => {}
        // The other reader says what is wrong.
        _ => return Ok(None),
    }
    let raw: Raw = serde_json::from_slice(bytes).map_err(Error::Form)?;
    let meaning = |part: &str, why: &str| Error::Meaning { part: part.to_owned(), why: why.to_owned() };
    if raw.isoscope_certificate != VERSION {
        return Err(meaning("isoscope_certificate", "this program reads another version of the form"));
    }
    let history = raw.history.parse().map_err(|why: String| meaning("history", &why))?;
    let txns = |numbers: Vec<u32>| numbers.into_iter().map(TxnId).collect::<Vec<_>>();
    let certificate = match (&*raw.verdict, raw.order, raw.sources, raw.transactions) {
        ("holds", Some(order), Some(sources), None) => TextCertificate::Holds {
            order: txns(order),
            sources: sources
                .into_iter()
                .map(|(op, key, txn)| (OpId(op), KeyId(key), txn.map(TxnId)))
                .collect(),
        },
        ("violated", None, None, Some(transactions)) => {
            TextCertificate::Violated { txns: txns(transactions) }
        }
        ("holds", ..) => {
            return Err(meaning("verdict", "\"holds\" needs order and sources, and nothing else"));
        }
        ("violated", ..) => {
            return Err(meaning("verdict", "\"violated\" needs transactions, and nothing else"));
        }
        _ => return Err(meaning("verdict", "expected \"holds\" or \"violated\"")),
    };
    let clock_skew = raw.clock_skew.unwrap_or(0);
    Ok(Some(TextDocument { certificate, level: raw.text_level, history, clock_skew }))
}
