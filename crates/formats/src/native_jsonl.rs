//! The native JSON Lines: everything the model holds, one transaction a line.
//!
//! ```text
//! {"isoscope":1,"clock":"nanoseconds"}
//! {"default":0}
//! {"session":0,"name":"a"}
//! {"s":0,"ops":[["r","x",0],["w","y",1]],"o":"c","t":[10,null,null,20]}
//! ```
//!
//! `docs/formats/native.md` describes it. Lines may come in any order after the header and sessions may be interleaved,
//! so a recorder appends a line for each transaction as it ends; after a crash the whole lines are a history. The
//! reader scans each byte once, by hand, because a table of all of JSON's freedom would cost more than the content:
//! what the format writes is the fast path, other spellings of the same JSON are read too.

mod datum;
mod encode;
mod flat_row;
mod follow;
mod json;
mod line;
mod ops;
mod read;
mod write;

pub use follow::{Batch, LineReader, in_line_order};
pub use line::{RecordedRow, TxnLine};
pub use write::NativeWriter;

pub(crate) use read::{looks_like, read, read_parts};
pub(crate) use write::write;

/// The version that is written, and the only one that is read.
const VERSION: i64 = 1;

#[cfg(test)]
mod tests;
