//! Reads a recording that others still write to: a file that grows, is rotated or truncated, or a pipe.
//!
//! A file is followed by its name: when it has been read to its end and the name stands for another file, that one is
//! read from its beginning; a file that became shorter is read from its beginning too. A pipe is read by a thread, so
//! that a reader can do something else while nothing comes.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;

/// The longest line.
const LONGEST_LINE: usize = 64 << 20;

/// How long to wait before a file is looked at again.
const PAUSE: Duration = Duration::from_millis(10);

/// A file that is followed.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    file: File,
    /// How much of the file was read.
    offset: u64,
}

/// Where a recording comes from.
#[derive(Debug)]
pub struct Source {
    input: Input,
    buffer: Vec<u8>,
    /// What of the buffer was handed out.
    taken: usize,
    rotations: u64,
}

#[derive(Debug)]
enum Input {
    File(Tail),
    Pipe(Receiver<io::Result<Vec<u8>>>),
}

/// What a look at the source gave.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'s> {
    /// Whole lines.
    Lines(&'s [u8]),
    /// Nothing new.
    Idle,
    /// The name stands for another file, which is read from its beginning.
    Rotated,
    /// Nothing more will come.
    End,
}

/// What came from below.
enum Came {
    Some,
    None,
    Rotated,
    End,
}

impl Tail {
    fn open(path: &Path, offset: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if offset > file.metadata()?.len() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the file is shorter than it was"));
        }
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { path: path.to_owned(), file, offset })
    }

    fn read(&mut self, buffer: &mut Vec<u8>) -> io::Result<Came> {
        let count = read_into(&mut self.file, buffer)?;
        self.offset += count as u64;
        if count > 0 {
            return Ok(Came::Some);
        }
        let is_shorter = self.file.metadata()?.len() < self.offset;
        if !is_shorter && !self.is_replaced() {
            return Ok(Came::None);
        }
        // The file may have grown between the read and the look at its name.
        if !is_shorter && read_into(&mut self.file, buffer)? > 0 {
            return Ok(Came::Some);
        }
        match Self::open(&self.path, 0) {
            Ok(tail) => *self = tail,
            // Between two files of one name there may be none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Came::None),
            Err(error) => return Err(error),
        }
        Ok(Came::Rotated)
    }

    /// Whether the name stands for another file by now.
    #[cfg(unix)]
    fn is_replaced(&self) -> bool {
        use std::os::unix::fs::MetadataExt;
        let identity =
            |metadata: io::Result<std::fs::Metadata>| metadata.map(|file| (file.dev(), file.ino()));
        match (identity(self.file.metadata()), identity(std::fs::metadata(&self.path))) {
            (Ok(open), Ok(named)) => open != named,
            _ => false,
        }
    }

    #[cfg(not(unix))]
    fn is_replaced(&self) -> bool {
        false
    }
}

impl Source {
    /// Follows a file from an offset.
    ///
    /// # Errors
    /// If it cannot be opened, or is shorter.
    pub fn file(path: &Path, offset: u64) -> io::Result<Self> {
        Ok(Self::new(Input::File(Tail::open(path, offset)?)))
    }

    /// Follows a pipe.
    pub fn pipe(mut pipe: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = sync_channel(4);
        std::thread::spawn(move || {
            let mut chunk = vec![0; CHUNK];
            loop {
                let sent = match pipe.read(&mut chunk) {
                    Ok(0) => break,
                    Ok(count) => sender.send(Ok(chunk[..count].to_vec())),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => {
                        let _ = sender.send(Err(error));
                        break;
                    }
                };
                if sent.is_err() {
                    break;
                }
            }
        });
        Self::new(Input::Pipe(receiver))
    }

    fn new(input: Input) -> Self {
        Self { input, buffer: Vec::new(), taken: 0, rotations: 0 }
    }

    /// What is new; waits for it at most this long.
    ///
    /// # Errors
    /// If it cannot be read, or a line has no end.
    pub fn next(&mut self, wait: Duration) -> io::Result<Next<'_>> {
        self.buffer.drain(..std::mem::take(&mut self.taken));
        let started = Instant::now();
        loop {
            let before = self.buffer.len();
            match self.read(wait.saturating_sub(started.elapsed()))? {
                Came::Some => {}
                Came::End => return Ok(Next::End),
                Came::Rotated => {
                    self.rotations += 1;
                    // A line that was cut off by the rotation has no other end.
                    self.buffer.clear();
                    return Ok(Next::Rotated);
                }
                Came::None if started.elapsed() >= wait => return Ok(Next::Idle),
                Came::None => std::thread::sleep(PAUSE.min(wait)),
            }
            if let Some(last) = self.buffer[before..].iter().rposition(|&byte| byte == b'\n') {
                self.taken = before + last + 1;
                return Ok(Next::Lines(&self.buffer[..self.taken]));
            }
            if self.buffer.len() > LONGEST_LINE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line has more than 64 MiB"));
            }
        }
    }

    fn read(&mut self, wait: Duration) -> io::Result<Came> {
        match &mut self.input {
            Input::File(tail) => tail.read(&mut self.buffer),
            Input::Pipe(receiver) => match receiver.recv_timeout(wait) {
                Ok(chunk) => {
                    self.buffer.extend_from_slice(&chunk?);
                    Ok(Came::Some)
                }
                Err(RecvTimeoutError::Timeout) => Ok(Came::None),
                Err(RecvTimeoutError::Disconnected) => Ok(Came::End),
            },
        }
    }

    /// The beginning of a line whose end has not come.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.taken..]
    }

    /// How many bytes of the file were handed out; `None` for a pipe, and once a file was rotated.
    pub fn offset(&self) -> Option<u64> {
        match &self.input {
            Input::File(tail) if self.rotations == 0 => Some(tail.offset - self.rest().len() as u64),
            _ => None,
        }
    }

    /// Whether a recorder holds the lock of the file, so that more may come.
    pub fn is_locked(&self) -> bool {
        match &self.input {
            Input::Pipe(_) => true,
            Input::File(tail) => match tail.file.try_lock_shared() {
                Ok(()) => {
                    // Closing the file would unlock it too.
                    let _ = tail.file.unlock();
                    false
                }
                Err(_) => true,
            },
        }
    }
}

/// Appends what a file has, up to a chunk.
fn read_into(file: &mut File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    buffer.reserve(CHUNK);
    file.take(CHUNK as u64).read_to_end(buffer)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("isoscope-tail-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn lines(source: &mut Source) -> String {
        match source.next(Duration::from_millis(50)).unwrap() {
            Next::Lines(lines) => String::from_utf8(lines.to_vec()).unwrap(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_file_is_followed_as_it_grows_and_is_rotated() {
        let folder = folder("rotate");
        let path = folder.join("r.jsonl");
        std::fs::write(&path, "one\ntw").unwrap();
        let mut source = Source::file(&path, 0).unwrap();
        assert_eq!(lines(&mut source), "one\n");
        assert_eq!(source.offset(), Some(4));
        assert_eq!(lines(&mut source), "Idle");
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"o\nthree\n").unwrap();
        assert_eq!(lines(&mut source), "two\nthree\n");
        std::fs::rename(&path, folder.join("old")).unwrap();
        assert_eq!(lines(&mut source), "Idle");
        file.write_all(b"four\n").unwrap();
        assert_eq!(lines(&mut source), "four\n");
        std::fs::write(&path, "five\n").unwrap();
        assert_eq!(lines(&mut source), "Rotated");
        assert_eq!(lines(&mut source), "five\n");
        assert_eq!(source.offset(), None);
        File::create(&path).unwrap();
        assert_eq!(lines(&mut source), "Rotated");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_lock_shows_that_a_recorder_is_there() {
        let folder = folder("lock");
        let path = folder.join("r.jsonl");
        let recorder = File::create(&path).unwrap();
        recorder.lock().unwrap();
        let source = Source::file(&path, 0).unwrap();
        assert!(source.is_locked());
        drop(recorder);
        assert!(!source.is_locked());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_pipe_ends() {
        let mut source = Source::pipe(&b"one\ntwo\nthr"[..]);
        assert_eq!(lines(&mut source), "one\ntwo\n");
        assert_eq!(lines(&mut source), "End");
        assert_eq!(source.rest(), b"thr");
    }
}
