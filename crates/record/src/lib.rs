//! Records what clients of a database see, as it happens, for `isoscope check` to decide afterwards.
//!
//! A [`Recorder`] owns the file; each client thread has a [`SessionRecorder`] and tells it what it asks and what it
//! hears. A finished transaction is one line and one write, so `kill -9` leaves every finished transaction readable.
//! A client builds its line alone and takes the lock of the file only to append it, so that recording costs a client
//! about a microsecond per transaction and never makes it wait for another client's database call.
//!
//! What makes a recording sound, and what this crate takes care of as far as it can:
//! - the begin is noted *before* the database is asked ([`SessionRecorder::begin`]), the end *after* it answered;
//! - a transaction whose commit was sent and never answered is *unknown*, never aborted;
//! - a retry is a new transaction, with values of its own.
//!
//! ```
//! use isoscope_record::{Datum, Recorder};
//! # let path = std::env::temp_dir().join(format!("record-doc-{}.jsonl", std::process::id()));
//!
//! let recorder = Recorder::create(&path)?;
//! recorder.default_value(&Datum::from(0))?;
//! let mut session = recorder.session(None)?;
//!
//! session.begin();                                        // before BEGIN is sent
//! session.begun();                                        // when it was answered
//! session.read(&Datum::from("x"), &Datum::from(0));       // what the database returned
//! session.write(&Datum::from("x"), &Datum::from(1));
//! session.ending();                                       // before COMMIT is sent
//! session.commit()?;                                      // or abort, or unknown
//!
//! assert_eq!(recorder.counts().committed, 1);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), std::io::Error>(())
//! ```

mod recorder;
mod session;
mod slots;
mod wall_clock;

pub use formats::native_jsonl::RecordedRow;
pub use history::{Bound, Change, Datum};
pub use recorder::{Counts, Recorder};
pub use session::SessionRecorder;
