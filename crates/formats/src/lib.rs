//! Bytes to and from histories, one module per format.
//!
//! [`read`] opens a file, a folder or standard input, takes off compression, finds out the format and gives the
//! history with what is worth knowing about the input; [`write_to_path`] puts a history into a file whole or not at
//! all. Readers are strict: what is not as its format says is an [`Error`] with the file, the place, what was expected
//! and what was found. They work on a window of the input, so a recording larger than its model costs no more memory
//! than the model.
//!
//! The crate knows nothing of levels.

mod awdit;
mod by_number;
mod cobra;
mod dbcop_bincode;
mod dbcop_hist;
mod dbcop_json;
mod detect;
mod edn;
mod error;
mod format;
mod initial_txn;
mod input;
mod jepsen;
mod key_cache;
pub mod native_jsonl;
pub mod notation;
mod numbers;
mod operations;
mod options;
mod output;
mod parts;
mod polysi;
mod registers;
#[cfg(test)]
mod sample_histories;
mod scan;
mod source;
mod target;
mod temporary;
mod unused_keys;
mod viper;
mod warning;
mod whole_file;
mod zero_implied;

pub use detect::detect;
pub use error::{Error, ErrorKind, Place};
pub use format::Format;
pub use input::{Input, Loaded, read, read_bytes, read_from};
pub use operations::{Operation, Stage, read_operations};
pub use options::{ReadOptions, WriteOptions};
pub use output::{write_to, write_to_path};
pub use source::Source;
pub use target::Target;
pub use temporary::{Temporary, abandon_unfinished};
pub use warning::Warning;
pub use whole_file::write_whole;
