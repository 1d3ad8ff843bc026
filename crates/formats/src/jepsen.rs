//! Jepsen and Elle histories: list-append, rw-register and predicate workloads, as EDN or JSON.
//!
//! A history is a stream of maps, each an invocation or a completion. The file is read in one pass over a window: of
//! each map the few members that matter are noted, the value of a completion is read straight into the model, and the
//! value of an invocation is kept as bytes until its completion comes, because it is needed only if that has none.
//! `docs/formats/jepsen.md` says what becomes of what.

mod events;
mod micro_ops;
mod pairing;
mod plain_op;
mod same_ops;
mod write;
mod write_losses;

use crate::edn::Syntax;
use crate::{Error, Format, Loaded, ReadOptions, Source};
use pairing::Pairing;

pub(crate) use write::write_edn;

/// Whether it begins with a map that has the keys of an operation, perhaps in a vector or a list.
pub(crate) fn looks_like_edn(head: &[u8]) -> bool {
    begins_with(head, b"[({#;") && contains(head, b":type") && contains(head, b":value")
}

/// Whether it begins with an object that has the members of an operation, perhaps in an array.
pub(crate) fn looks_like_json(head: &[u8]) -> bool {
    let types: [&[u8]; 4] = [b"\"invoke\"", b"\"ok\"", b"\"fail\"", b"\"info\""];
    begins_with(head, b"[{")
        && contains(head, b"\"type\"")
        && contains(head, b"\"value\"")
        && types.into_iter().any(|kind| contains(head, kind))
}

/// Reads a history in EDN.
pub(crate) fn read_edn(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    read(source, Syntax::Edn, Format::JepsenEdn)
}

/// Reads a history in JSON.
pub(crate) fn read_json(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    read(source, Syntax::Json, Format::JepsenJson)
}

fn read(source: &mut Source<'_>, syntax: Syntax, format: Format) -> Result<Loaded, Error> {
    let mut pairing = Pairing::new(syntax);
    events::read_all(source, syntax, &mut pairing)?;
    let file = source.file().to_owned();
    let (history, warnings) = pairing.finish().map_err(|error| error.in_file(&file))?;
    let mut loaded = Loaded::new(history, format);
    loaded.warnings = warnings;
    Ok(loaded)
}

fn begins_with(head: &[u8], firsts: &[u8]) -> bool {
    head.trim_ascii_start().first().is_some_and(|first| firsts.contains(first))
}

fn contains(head: &[u8], needle: &[u8]) -> bool {
    head.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests;
