//! A certificate from its JSON text; any bytes give a document or an error.
//!
//! Events and literals are parsed while the text is read, into eight and sixteen bytes each, and become events of the
//! level once that is known.

use std::borrow::Cow;
use std::fmt;

use history::{History, KeyId, OpId, TxnId};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use crate::write::{VERSION, core_name, real_time_name};
use crate::{
    Certificate, Core, Fingerprint, Flaw, Level, Lit, Node, ReadId, RealTime, Rule, Source, Step, StepId,
};

/// A certificate with what it is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// The argument.
    pub certificate: Certificate,
    /// The level that it is about.
    pub level: Level,
    /// The history that it is about.
    pub history: Fingerprint,
}

/// Why a document could not be read, or not be used for a history.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are not JSON of the documented form; the message names line and column.
    Form(serde_json::Error),
    /// The form is right, but a part of it has no meaning.
    Meaning {
        /// The path of the part, such as `steps[3].clause[0]`.
        part: String,
        /// What is wrong.
        why: String,
    },
    /// The certificate is for another history.
    OtherHistory {
        /// The history that the certificate is for.
        expected: Fingerprint,
        /// The history given.
        found: Fingerprint,
    },
    /// The certificate does not prove its verdict.
    Flaw(Flaw),
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(error) => write!(out, "not a certificate: {error}"),
            Self::Meaning { part, why } => write!(out, "not a certificate: {part}: {why}"),
            Self::OtherHistory { expected, found } => write!(
                out,
                "the certificate is for another history: it names {expected}, and this history is {found}; \
                 check it against the file that it was made from"
            ),
            Self::Flaw(flaw) => write!(out, "the certificate does not prove its verdict: {flaw}"),
        }
    }
}

impl std::error::Error for Error {}

impl Document {
    /// Checks that the certificate is for this history, and that it proves its verdict.
    pub fn check(&self, history: &History) -> Result<(), Error> {
        let found = Fingerprint::of(history);
        if found != self.history {
            let expected = self.history;
            return Err(Error::OtherHistory { expected, found });
        }
        crate::check(history, &self.level, &self.certificate).map_err(Error::Flaw)
    }
}

/// Reads a certificate.
pub fn read(bytes: &[u8]) -> Result<Document, Error> {
    let header: Header = serde_json::from_slice(bytes).map_err(Error::Form)?;
    if header.isoscope_certificate != VERSION {
        let why = format!(
            "the form has version {}, and this program reads version {VERSION}",
            header.isoscope_certificate
        );
        return Err(meaning("isoscope_certificate", why));
    }
    let raw: RawDocument<'_> = serde_json::from_slice(bytes).map_err(Error::Form)?;
    let level = raw.level.meant()?;
    let history = raw.history.parse().map_err(|why: String| meaning("history", why))?;
    let certificate = match (&*raw.verdict, raw.order, raw.committed_unknown, raw.steps) {
        ("holds", Some(order), Some(unknown), None) if raw.keys.is_none() => holds(&level, &order, unknown)?,
        ("violated", None, None, Some(steps)) => violated(&level, steps, raw.keys)?,
        ("holds", ..) => {
            return Err(meaning(
                "verdict",
                "\"holds\" needs order and committed_unknown, and neither steps nor keys",
            ));
        }
        ("violated", ..) => {
            return Err(meaning("verdict", "\"violated\" needs steps, may have keys, and nothing else"));
        }
        _ => return Err(meaning("verdict", "expected \"holds\" or \"violated\"")),
    };
    Ok(Document { certificate, level, history })
}

fn meaning(part: impl Into<String>, why: impl Into<String>) -> Error {
    Error::Meaning { part: part.into(), why: why.into() }
}

fn holds(level: &Level, order: &[RawNode], unknown: Vec<u32>) -> Result<Certificate, Error> {
    let node = |(place, raw): (usize, &RawNode)| {
        raw.meant(level).map_err(|why| meaning(format!("order[{place}]"), why))
    };
    Ok(Certificate::Holds {
        order: order.iter().enumerate().map(node).collect::<Result<_, _>>()?,
        committed_unknown: unknown.into_iter().map(TxnId).collect(),
    })
}

fn violated(level: &Level, raw: Vec<RawStep<'_>>, keys: Option<Vec<u32>>) -> Result<Certificate, Error> {
    let step = |(place, raw): (usize, RawStep<'_>)| raw.meant(level, place, true);
    let steps = raw.into_iter().enumerate().map(step).collect::<Result<_, _>>()?;
    Ok(Certificate::Violated { steps, keys: keys.map(|keys| keys.into_iter().map(KeyId).collect()) })
}

/// Only the version, which tells whether the rest can be understood.
#[derive(Deserialize)]
struct Header {
    isoscope_certificate: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDocument<'b> {
    #[serde(rename = "isoscope_certificate")]
    _version: u32,
    #[serde(borrow)]
    history: Cow<'b, str>,
    #[serde(borrow)]
    level: RawLevel<'b>,
    #[serde(borrow)]
    verdict: Cow<'b, str>,
    order: Option<Vec<RawNode>>,
    committed_unknown: Option<Vec<u32>>,
    keys: Option<Vec<u32>>,
    #[serde(borrow)]
    steps: Option<Vec<RawStep<'b>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLevel<'b> {
    #[serde(borrow)]
    name: Option<Cow<'b, str>>,
    #[serde(borrow)]
    core: Cow<'b, str>,
    sessions: bool,
    #[serde(borrow)]
    real_time: Cow<'b, str>,
    clock_skew: i64,
}

impl RawLevel<'_> {
    fn meant(&self) -> Result<Level, Error> {
        let cores = [Core::Serializable, Core::Snapshot, Core::Prefix];
        let real_times = [RealTime::Ignored, RealTime::Strict, RealTime::ToCommits, RealTime::AllButBegins];
        let core = cores.into_iter().find(|&core| core_name(core) == self.core);
        let real_time = real_times.into_iter().find(|&real_time| real_time_name(real_time) == self.real_time);
        let level = Level {
            core: core.ok_or_else(|| meaning("level.core", "expected serializable, snapshot or prefix"))?,
            sessions: self.sessions,
            real_time: real_time.ok_or_else(|| {
                meaning("level.real_time", "expected ignored, strict, to_commits or all_but_begins")
            })?,
            clock_skew: self.clock_skew,
        };
        if self.name.as_deref() != level.name() {
            let why = format!(
                "the other parts of the level are those of {}",
                level.name().unwrap_or("no named level")
            );
            return Err(meaning("level.name", why));
        }
        Ok(level)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStep<'b> {
    #[serde(borrow)]
    rule: Cow<'b, str>,
    read: Option<u32>,
    key: Option<u32>,
    from: Option<Vec<StepId>>,
    #[serde(borrow)]
    steps: Option<Vec<RawStep<'b>>>,
    clause: Vec<RawLit>,
}

impl RawStep<'_> {
    fn meant(self, level: &Level, place: usize, is_outermost: bool) -> Result<Step, Error> {
        let lit = |(index, raw): (usize, RawLit)| {
            raw.meant(level).map_err(|why| meaning(format!("steps[{place}].clause[{index}]"), why))
        };
        let clause = self.clause.into_iter().enumerate().map(lit).collect::<Result<_, _>>()?;
        let wrong = |why: String| meaning(format!("steps[{place}].rule"), why);
        let rule = match (&*self.rule, self.steps) {
            ("case", Some(steps)) if is_outermost => {
                let step = |(inner, raw): (usize, RawStep<'_>)| {
                    raw.meant(level, inner, false).map_err(|error| within(place, error))
                };
                Rule::Case(steps.into_iter().enumerate().map(step).collect::<Result<_, _>>()?)
            }
            ("case", _) => return Err(wrong("the rule case needs steps, and is no part of a case".into())),
            (_, Some(_)) => return Err(wrong("only the rule case has steps".into())),
            (name, None) => rule_named(name, self.read, self.key, self.from).map_err(wrong)?,
        };
        Ok(Step { clause, rule })
    }
}

/// An error in a step of a case.
fn within(place: usize, error: Error) -> Error {
    match error {
        Error::Meaning { part, why } => meaning(format!("steps[{place}].{part}"), why),
        other => other,
    }
}

fn rule_named(
    name: &str,
    read: Option<u32>,
    key: Option<u32>,
    from: Option<Vec<StepId>>,
) -> Result<Rule, String> {
    if key.is_some() && name != "sources" {
        return Err(format!("the rule {name:?} has no key"));
    }
    let rule = match (name, read, from) {
        ("internal", Some(op), None) => Rule::Internal(OpId(op)),
        ("sources", Some(op), None) => Rule::Sources(ReadId { op: OpId(op), key: key.map(KeyId) }),
        ("list_order", Some(op), None) => Rule::ListOrder(OpId(op)),
        ("listed", Some(op), None) => Rule::Listed(OpId(op)),
        ("row_count", Some(op), None) => Rule::RowCount(OpId(op)),
        ("derived", None, Some(hints)) => Rule::Derived(hints),
        ("internal" | "sources" | "list_order" | "listed" | "row_count", ..) => {
            return Err(format!("the rule {name} needs a read, and no from"));
        }
        ("derived", ..) => return Err("the rule derived needs a from, and no read".into()),
        (_, None, None) => plain_rule(name).ok_or_else(|| format!("there is no rule {name:?}"))?,
        _ => return Err(format!("the rule {name:?} has no read and no from")),
    };
    Ok(rule)
}

fn plain_rule(name: &str) -> Option<Rule> {
    Some(match name {
        "session" => Rule::Session,
        "real_time" => Rule::RealTime,
        "begin_commit" => Rule::BeginCommit,
        "initial" => Rule::Initial,
        "read_after_write" => Rule::ReadAfterWrite,
        "read_committed" => Rule::ReadCommitted,
        "one_initial" => Rule::OneInitial,
        "recorded_order" => Rule::RecordedOrder,
        "one_way" => Rule::OneWay,
        "two_writers" => Rule::TwoWriters,
        "overwritten" => Rule::Overwritten,
        "cycle" => Rule::Cycle,
        "no_order" => Rule::NoOrder,
        _ => return None,
    })
}

/// An event whose level is not known yet.
#[derive(Clone, Copy)]
enum RawNode {
    Initial,
    Whole(u32),
    Begin(u32),
    Commit(u32),
}

impl RawNode {
    fn parse(text: &str) -> Option<Self> {
        if text == "init" {
            return Some(Self::Initial);
        }
        let number = number(text.get(1..)?)?;
        match text.as_bytes()[0] {
            b't' => Some(Self::Whole(number)),
            b'b' => Some(Self::Begin(number)),
            b'c' => Some(Self::Commit(number)),
            _ => None,
        }
    }

    fn meant(self, level: &Level) -> Result<Node, String> {
        let events_per_txn = level.events_per_txn();
        let (txn, is_commit) = match (self, events_per_txn) {
            (Self::Initial, _) => return Ok(Node::INITIAL),
            (Self::Whole(txn), 1) => (txn, true),
            (Self::Begin(txn), 2) => (txn, false),
            (Self::Commit(txn), 2) => (txn, true),
            (_, 1) => {
                return Err("transactions of this level have one event each: write t and a number".into());
            }
            _ => return Err("transactions of this level begin and commit: write b or c and a number".into()),
        };
        if txn >= (u32::MAX / events_per_txn) {
            return Err(format!("transaction {txn} is out of range"));
        }
        let node = if is_commit { Node::commit } else { Node::begin };
        Ok(node(TxnId(txn), events_per_txn))
    }
}

/// A literal whose level is not known yet.
#[derive(Clone, Copy)]
enum RawLit {
    Before(RawNode, RawNode),
    Other(Lit),
}

impl RawLit {
    fn parse(text: &str) -> Option<Self> {
        if let Some((a, b)) = text.split_once('<') {
            return Some(Self::Before(RawNode::parse(a)?, RawNode::parse(b)?));
        }
        let (negated, atom) = match text.strip_prefix('!') {
            Some(atom) => (true, atom),
            None => (false, text),
        };
        let lit = if let Some(txn) = atom.strip_prefix("in") {
            Lit::committed(TxnId(number(txn)?))
        } else if let Some(way) = atom.strip_prefix("took") {
            let mut parts = way.split('.').map(number);
            let (txn, key, way) = (parts.next()??, parts.next()??, parts.next()??);
            if parts.next().is_some() {
                return None;
            }
            Lit::took(TxnId(txn), KeyId(key), way)
        } else {
            parse_read_from(atom)?
        };
        Some(Self::Other(if negated { !lit } else { lit }))
    }

    fn meant(self, level: &Level) -> Result<Lit, String> {
        match self {
            Self::Before(a, b) => Ok(Lit::before(a.meant(level)?, b.meant(level)?)),
            Self::Other(lit) => Ok(lit),
        }
    }
}

fn parse_read_from(text: &str) -> Option<Lit> {
    let (read, source) = text.strip_prefix('r')?.split_once('=')?;
    let source = match source {
        "init" => Source::Initial,
        _ => Source::Txn(TxnId(number(source.strip_prefix('t')?)?)),
    };
    let read = match read.split_once('.') {
        None => ReadId::from(OpId(number(read)?)),
        Some((op, key)) => ReadId { op: OpId(number(op)?), key: Some(KeyId(number(key)?)) },
    };
    Some(Lit::read_from(read, source))
}

/// Decimal digits without a sign.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

macro_rules! parsed_from_text {
    ($type:ty, $expected:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;

                    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                        out.write_str($expected)
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$type, E> {
                        <$type>::parse(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

parsed_from_text!(RawNode, "an event such as \"t3\", \"b3\", \"c3\" or \"init\"");
parsed_from_text!(RawLit, "a literal such as \"b3<c4\", \"r15=t3\", \"!r15=init\" or \"!in5\"");
