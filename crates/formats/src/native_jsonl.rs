//! native_jsonl

use std::io::Write;

use history::History;

use crate::{Error, Loaded, ReadOptions, Source, Warning, WriteOptions};

pub(crate) fn looks_like(_head: &[u8]) -> bool {
    false
}

pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    Err(source.error("native_jsonl", "nothing that is read yet"))
}

pub(crate) fn write(
    _history: &History,
    _out: &mut dyn Write,
    _options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    Err(Error::cannot_express("not written yet"))
}
