//! jepsen

use std::io::Write;

use history::History;

use crate::{Error, Loaded, ReadOptions, Source, Warning, WriteOptions};

pub(crate) fn looks_like_edn(_head: &[u8]) -> bool {
    false
}

pub(crate) fn read_edn(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    Err(source.error("edn", "nothing that is read yet"))
}

pub(crate) fn looks_like_json(_head: &[u8]) -> bool {
    false
}

pub(crate) fn read_json(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    Err(source.error("json", "nothing that is read yet"))
}

pub(crate) fn write_edn(
    _history: &History,
    _out: &mut dyn Write,
    _options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    Err(Error::cannot_express("not written yet"))
}
