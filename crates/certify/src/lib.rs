//! Certificates for verdicts, and a checker that shares no code with the engines.
//!
//! A certificate is the whole argument for an answer, in terms of the history alone: for "holds" a total order of
//! events that explains every read, for "violated" a derivation of the empty clause from the rules of the level.
//! [`check`] replays it against the history; it reads nothing but the history and the certificate.

mod certificate;
mod check;
mod clause;
mod effects;
mod execution;
mod facts;
mod fingerprint;
mod flaw;
mod level;
mod lists;
mod named;
mod notation;
mod observe;
mod orders;
mod propagate;
mod read;
mod replay;
mod rows;
mod rules;
mod store;
pub mod text;
mod times;
mod write;

pub use certificate::{Atom, Certificate, Lit, Node, ReadId, Rule, Source, Step, StepId};
pub use check::{check, check_on};
pub use fingerprint::Fingerprint;
pub use flaw::{Flaw, Place};
pub use level::{Core, Level, RealTime};
pub use orders::try_orders;
pub use read::{Document, Error, read};
pub use replay::PieceReplay;
pub use write::write;
