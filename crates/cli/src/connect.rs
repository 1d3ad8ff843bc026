//! Opens the database of a command line; what is said of its URLs never holds a password.

use ::run::RunError;
use databases::{Database, FailureKind, Url};

use crate::exit::Failure;
use crate::files::{Named, named};
use crate::terminal::visible;

/// Reads the URLs of the nodes.
pub fn urls(texts: &[String]) -> Result<Vec<Url>, Failure> {
    let urls = texts.iter().map(|text| Url::parse(text)).collect::<Result<_, _>>();
    urls.map_err(|failure| Failure::new(visible(&failure.message)))
}

/// The files and folders of databases that are here.
pub fn files(urls: &[Url]) -> impl Iterator<Item = Named> {
    urls.iter().filter_map(|url| Some(named("the database", url.file()?)))
}

/// Opens a database.
pub fn open(urls: &[Url]) -> Result<Box<dyn Database>, Failure> {
    databases::open(urls).map_err(|failure| {
        // The driver explains why a URL is refused, without secrets of it; an error code comes from a server that answered.
        if failure.kind == FailureKind::Refused && failure.code.is_none() {
            return Failure::new(visible(&RunError::of("connecting", &failure).to_string()));
        }
        let nodes: Vec<String> = urls.iter().map(Url::to_string).collect();
        Failure::new(visible(
            &RunError::of(&format!("connecting to {}", nodes.join(", ")), &failure).to_string(),
        ))
    })
}
