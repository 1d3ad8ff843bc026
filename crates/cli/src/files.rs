//! Files that isoscope writes: whole or not at all, `-` for standard output, and never over one another or an input.

use std::fs::{self, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use formats::{Target, Temporary};

use crate::exit::Failure;
use crate::screen::{Form, Screen};
use crate::terminal::visible;

/// Whether a name on the command line means standard input or output.
pub fn is_dash(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether an output goes to standard output, by whichever name.
pub fn is_stdout(path: &Path) -> bool {
    matches!(Target::of(path), Ok(Target::Stdout))
}

/// Writes text or JSON to a file, or to standard output.
pub fn write_whole(
    path: &Path,
    form: Form,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let written = formats::write_whole(path, |out| {
        let mut out = Noting { out, error: None };
        let written = write(&mut Screen::over(&mut out, form));
        match out.error {
            Some(error) => Err(NotWritten::System(error)),
            None => written.map_err(NotWritten::Failure),
        }
    });
    written.map_err(|error| match error {
        NotWritten::Failure(failure) => failure,
        NotWritten::System(error) => refused(path, error),
    })
}

/// Why a file was not written.
enum NotWritten {
    System(io::Error),
    Failure(Failure),
}

impl From<io::Error> for NotWritten {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// The operating system refused to write to an output.
pub fn refused(path: &Path, error: io::Error) -> Failure {
    match is_stdout(path) {
        true => Failure::from(error),
        false => Failure::about(path, &error),
    }
}

/// Keeps the first error of a writer, of which the errors of formats tell only the text.
pub struct Noting<W> {
    /// Where it writes to.
    pub out: W,
    /// The first error.
    pub error: Option<io::Error>,
}

impl<W: Write> Noting<W> {
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| {
            let same = match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            };
            if error.kind() != io::ErrorKind::Interrupted {
                self.error.get_or_insert(same);
            }
        })
    }
}

impl<W: Write> Write for Noting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.note(flushed)
    }
}

/// A file that a command line names, with what it is there, such as `--junit`.
#[derive(Clone, Debug)]
pub struct Named {
    what: String,
    path: PathBuf,
}

/// A name of a file on the command line.
pub fn named(what: impl Into<String>, path: impl Into<PathBuf>) -> Named {
    Named { what: what.into(), path: path.into() }
}

/// The same for flags, of which those that were not given name nothing.
pub fn flags<'p>(flags: impl IntoIterator<Item = (&'p str, &'p Option<PathBuf>)>) -> Vec<Named> {
    flags.into_iter().filter_map(|(what, path)| Some(named(what, path.as_ref()?))).collect()
}

/// Refuses a command line on which an output is also an input, or two outputs are the same file.
///
/// Files are compared by device and inode, so links and other spellings of a name are recognised. Standard output is
/// an output of every command. Character devices may have any number of uses.
pub fn keep_apart(inputs: &[Named], outputs: &[Named]) -> Result<(), Failure> {
    let mut known: Vec<(Identity, String)> = Vec::new();
    for input in inputs {
        known.extend(input_identities(&input.path).into_iter().map(|identity| (identity, input.shown())));
    }
    let mut outputs = outputs.to_vec();
    if !outputs.iter().any(|output| is_stdout(&output.path)) {
        outputs.push(Named { what: "standard output".to_owned(), path: "-".into() });
    }
    for output in &outputs {
        for identity in output_identities(&output.path) {
            if let Some((_, other)) = known.iter().find(|(other, _)| *other == identity) {
                return Err(Failure::new(format!(
                    "{} and {other} are the same file; nothing was read or written: name another file",
                    output.shown()
                )));
            }
            known.push((identity, output.shown()));
        }
    }
    outputs.iter().try_for_each(Named::check_writable)
}

impl Named {
    /// Refuses an output that cannot be written, before anything was done for it.
    fn check_writable(&self) -> Result<(), Failure> {
        let refuse = |error| Err(Failure::about(&self.path, &error));
        match Target::of(&self.path) {
            Err(error) => refuse(error),
            Ok(Target::File(place)) => {
                let folder = place.parent().filter(|folder| *folder != Path::new(""));
                Temporary::file_in(folder.unwrap_or(Path::new("."))).map(drop).or_else(refuse)
            }
            // Some formats are folders.
            Ok(Target::Stdout | Target::Stderr | Target::Stream(_) | Target::Folder(_)) => Ok(()),
        }
    }

    fn shown(&self) -> String {
        match is_dash(&self.path) && self.what.starts_with("standard") {
            true => self.what.clone(),
            false => format!("{} {}", self.what, visible(&self.path.display().to_string())),
        }
    }
}

/// What makes two names the same file.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Identity {
    Inode(u64, u64),
    /// A name that is not taken yet, in a folder that is.
    Free((u64, u64), PathBuf),
    Stdout,
}

/// The file, or the folder with all its files, that a command reads.
fn input_identities(path: &Path) -> Vec<Identity> {
    if is_dash(path) {
        return open_file("/dev/stdin").into_iter().collect();
    }
    let Ok(found) = fs::metadata(path) else { return Vec::new() };
    let mut identities: Vec<Identity> = inode_of(&found).into_iter().collect();
    let members = fs::read_dir(path).into_iter().flatten().flatten();
    let members = members.filter_map(|member| inode_of(&fs::metadata(member.path()).ok()?));
    identities.extend(members);
    identities
}

fn output_identities(path: &Path) -> Vec<Identity> {
    match Target::of(path) {
        Ok(Target::Stdout) => open_file("/dev/stdout").into_iter().chain([Identity::Stdout]).collect(),
        Ok(Target::Stderr) | Err(_) => Vec::new(),
        Ok(Target::Stream(place) | Target::File(place) | Target::Folder(place)) => {
            let found = fs::metadata(&place).map_or_else(|_| free_name(&place), |found| inode_of(&found));
            found.into_iter().collect()
        }
    }
}

/// The regular file behind a standard stream, if there is one; the two ends of a socket may be the same.
fn open_file(stream: &str) -> Option<Identity> {
    fs::metadata(stream).ok().filter(Metadata::is_file).and_then(|found| inode_of(&found))
}

fn inode_of(found: &Metadata) -> Option<Identity> {
    let is_shared = found.file_type().is_char_device();
    (!is_shared).then(|| Identity::Inode(found.dev(), found.ino()))
}

fn free_name(place: &Path) -> Option<Identity> {
    let folder = match place.parent()? {
        folder if folder == Path::new("") => Path::new("."),
        folder => folder,
    };
    let folder = fs::metadata(folder).ok()?;
    Some(Identity::Free((folder.dev(), folder.ino()), place.file_name()?.into()))
}
