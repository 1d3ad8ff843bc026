//! Finds out which isolation a database really gives.
//!
//! A history is what clients of a database saw: sessions of transactions of operations. [`read`] reads one in the format
//! of any tool of the field, [`parse`] in the text notation. [`Check`] decides which isolation levels it satisfies:
//!
//! ```
//! use isoscope::{Check, LevelId};
//!
//! // Each of two transactions reads what the other overwrites.
//! let history = isoscope::parse("
//!     a: r(x)=0 r(y)=0 w(x)=1
//!     b: r(x)=0 r(y)=0 w(y)=1
//! ")?;
//! let report = Check::new(&history).run()?;
//! assert!(report.holds(LevelId::SnapshotIsolation));
//! let answer = report.answer(LevelId::Serializable).expect("all levels are asked");
//! let explanation = answer.explanation.as_ref().expect("a violation is explained");
//! assert_eq!(explanation.anomaly, Some("write skew"));
//! println!("{}", explanation.paragraphs().join("\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every verdict has been checked: the engine writes a certificate, and a checker that shares no code with the engine
//! accepts it before the answer is given. If it refuses, [`Check::run`] ends with an error and no verdict.
//! What is not proved is undecided, with the reason:
//!
//! ```
//! use std::time::Duration;
//!
//! use isoscope::{Check, Limits, LevelId};
//!
//! let history = isoscope::parse("a: w(x)=1\nb: r(x)=1\n")?;
//! let limits = Limits::start(Some(Duration::from_secs(10)), None)?;
//! let check = Check::new(&history).level(LevelId::Serializable).monitor(&limits);
//! for answer in check.run()?.answers {
//!     println!("{}: {} {}", answer.level, answer.decision.word(), answer.reason().unwrap_or_default());
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In the tests of a database, record what its clients see (feature `record`) and assert the level that it promises:
//!
//! ```should_panic
//! // Two sessions read the same balance, and each wrote what it made of it.
//! let recording = isoscope::parse("a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2\n").expect("the notation is right");
//! isoscope::assert_isolation(&recording, isoscope::LevelId::SnapshotIsolation);
//! ```
//!
//! A level of your own is a text in the language of levels; [`Asked::add_own`] takes what [`spec::Spec::parse`] gives.
//! Progress and interruption go through the trait [`Monitor`].

mod answer;
mod asked;
mod assertion;
mod chances;
mod check;
mod definition;
mod elle;
mod error;
mod explanation;
mod lazy_index;
pub mod limits;
mod monitor;
mod obstacle;
mod question;
mod reasons;
mod recording;
mod rewrite;
mod skew;
mod text;
mod turns;
pub mod units;
mod unmatched;
pub mod watch;
pub mod witness;
pub mod workload;

use std::path::Path;

pub use anomalies;
pub use answer::{Answer, AskedLevel, Decision, Obstacle};
pub use asked::{Asked, NotAsked};
pub use assertion::assert_isolation;
pub use certify;
pub use chances::{ChanceErrors, Chances};
pub use check::{Check, Report};
pub use elle::{ElleAnswer, ElleQuestion, asked_of};
pub use error::{Error, Refused};
pub use explain::{Anomaly, EdgeKind};
pub use explanation::{Explanation, Line};
pub use formats;
pub use history::{self, History};
pub use lazy_index::LazyIndex;
pub use levels::{LevelId, UnknownLevel};
pub use limits::Limits;
pub use monitor::{Monitor, Unlimited};
pub use order::parallel::with_threads;
#[cfg(feature = "record")]
pub use record;
pub use recording::{Recording, RecordingAnswer};
pub use rewrite::{single_operations, without_internal_reads};
pub use skew::SkewReport;
pub use spec;
pub use verify::{Limit, Stages, Stats};
pub use witness::{Witness, WitnessEdge};

/// Reads a history from a file or a folder; the format is found out from the content.
///
/// # Errors
/// If the file cannot be read or is not a history, with the place.
pub fn read(path: impl AsRef<Path>) -> Result<History, formats::Error> {
    let input = formats::Input::Path(path.as_ref().to_owned());
    Ok(formats::read(&input, &formats::ReadOptions::default())?.history)
}

/// Reads a history in the text notation.
///
/// # Errors
/// If the text is not in the notation, with the place.
pub fn parse(text: &str) -> Result<History, formats::Error> {
    formats::notation::parse(text)
}
