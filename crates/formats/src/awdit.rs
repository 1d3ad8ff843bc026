//! awdit

use crate::{Error, Loaded, ReadOptions, Source};

pub(crate) fn looks_like(_head: &[u8]) -> bool {
    false
}

pub(crate) fn read(source: &mut Source<'_>, _options: &ReadOptions) -> Result<Loaded, Error> {
    Err(source.error("awdit", "nothing that is read yet"))
}
