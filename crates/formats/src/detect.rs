//! Finds out the format from the first bytes.
//!
//! Formats that say what they are come first, then those of a narrow grammar, and last the binary one without a magic
//! number. Each module judges for itself; a wrong guess is repaired by naming the format.

use crate::error::{Error, excerpt};
use crate::{
    Format, Source, awdit, cobra, dbcop_bincode, dbcop_hist, dbcop_json, jepsen, native_jsonl, notation,
    polysi, viper,
};

/// What some editors put before a text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How much of the input is looked at.
const HEAD: usize = 64 << 10;

/// The format of an input that begins with these bytes (the whole of it, or its first 64 KiB after decompression).
pub fn detect(head: &[u8]) -> Option<Format> {
    type Judge = fn(&[u8]) -> bool;
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    const JUDGES: [(Format, Judge); 11] = [
        (Format::Native, native_jsonl::looks_like),
        (Format::DbcopJson, dbcop_json::looks_like),
        (Format::Viper, viper::looks_like),
        (Format::JepsenJson, jepsen::looks_like_json),
        (Format::JepsenEdn, jepsen::looks_like_edn),
        (Format::Polysi, polysi::looks_like),
        (Format::DbcopHist, dbcop_hist::looks_like),
        (Format::Awdit, awdit::looks_like),
        (Format::Notation, notation::looks_like),
        (Format::Cobra, cobra::looks_like),
        (Format::DbcopBincode, dbcop_bincode::looks_like),
    ];
    JUDGES.into_iter().find_map(|(format, looks_like)| {
        let head = if format.is_binary() { head } else { text };
        looks_like(head).then_some(format)
    })
}

pub(crate) fn of_source(source: &mut Source<'_>) -> Result<Format, Error> {
    let head = source.peek(HEAD)?;
    if head.is_empty() {
        return Err(Error::unknown_format(source.file(), "no content: it is empty"));
    }
    let found = excerpt(head);
    detect(head).ok_or_else(|| {
        Error::unknown_format(source.file(), found).with_hint("if it is one of them, name it with --format")
    })
}
