//! From a URL to its driver.

use crate::{Database, Failure, Url};

/// The URLs that are understood, for messages.
const SCHEMES: &str = "sqlite:PATH";

/// Opens a database; several URLs are several nodes of one.
///
/// The kinds of URL are in [`Url`]. Nothing is created or changed before [`Database::prepare`].
pub fn open(urls: &[Url]) -> Result<Box<dyn Database>, Failure> {
    let Some(first) = urls.first() else {
        return Err(Failure::refused("no database was named"));
    };
    if let Some(other) = urls.iter().find(|url| url.scheme() != first.scheme()) {
        return Err(Failure::refused(format!("{first} and {other} are not nodes of one database")));
    }
    Err(Failure::refused(format!("no driver for {}:, expected one of {SCHEMES}", first.scheme())))
}
