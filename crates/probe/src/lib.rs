//! Litmus schedules: small interleavings of transactions that show an anomaly if the database allows it.
//!
//! A [`Schedule`] is data, in a notation of its own ([`notation`]); a [`Runner`] asks its steps of real sessions one by
//! one, and goes on with the others while a session waits; [`judge()`] says what came of it. Nothing is taken on trust:
//! whether an outcome is serializable is found by running the committed transactions one after another, in every order,
//! on a table in memory ([`serial`]).

mod client;
mod condition;
pub mod expect;
mod from_history;
pub mod judge;
pub mod notation;
mod observer;
mod predicate;
mod report;
mod run;
mod runner;
mod schedule;
pub mod script;
pub mod serial;
mod suite;
mod transcript;
mod waiting;

pub use condition::Condition;
pub use from_history::{from_history, interleavings};
pub use judge::{Cell, Class, Judgement, judge};
pub use report::{Finding, Report, Row, probe};
pub use run::{Detail, End, Event, Run};
pub use runner::{Patience, Runner};
pub use schedule::{Action, Schedule, ScheduleStep, TABLE, Txn};
pub use suite::{Counts, Suite, built_in};
pub use transcript::transcript;
