//! viper

use crate::{Error, Loaded, ReadOptions, Source};

pub(crate) fn looks_like(_head: &[u8]) -> bool {
    false
}

pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    Err(source.error("viper", "nothing that is read yet"))
}

pub(crate) fn read_folder(
    folder: &crate::input::Folder<'_>,
    _options: &ReadOptions,
) -> Result<Loaded, Error> {
    Err(Error::unknown_format(&folder.name, "nothing"))
}
