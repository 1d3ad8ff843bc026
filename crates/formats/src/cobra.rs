//! cobra

use std::io::Write;

use history::History;

use crate::{Error, Loaded, ReadOptions, Source, Warning, WriteOptions};

pub(crate) fn looks_like(_head: &[u8]) -> bool {
    false
}

pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    Err(source.error("cobra", "nothing that is read yet"))
}

pub(crate) fn write(
    _history: &History,
    _out: &mut dyn Write,
    _options: &WriteOptions,
) -> Result<Vec<Warning>, Error> {
    Err(Error::cannot_express("not written yet"))
}

pub(crate) fn read_folder(
    folder: &crate::input::Folder<'_>,
    _options: &ReadOptions,
) -> Result<Loaded, Error> {
    Err(Error::unknown_format(&folder.name, "nothing"))
}

pub(crate) fn write_folder(
    _history: &History,
    _options: &WriteOptions,
    _create: &mut dyn FnMut(&str, &mut dyn FnMut(&mut dyn Write) -> Result<(), Error>) -> Result<(), Error>,
) -> Result<Vec<Warning>, Error> {
    Err(Error::cannot_express("not written yet"))
}
