//! A running program: a line out, a line in, and a limit on both time and length.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use history::visible;
use serde_json::Value;

use crate::secrets::hide_secrets;
use crate::{Failure, FailureKind, Url};

const TIMEOUT_MS: u64 = 30_000;
/// A longer line is taken for the end of the program: memory stays bounded.
const LONGEST_LINE: u64 = 64 << 20;
/// A longer line of standard error is shown in parts.
const LONGEST_MESSAGE: u64 = 64 << 10;
/// How long the end of a program's standard error is waited for.
const LAST_WORDS: Duration = Duration::from_millis(300);

pub(super) struct Process {
    child: Child,
    requests: SyncSender<Vec<u8>>,
    lines: Receiver<Vec<u8>>,
    timeout: Duration,
    url: Url,
    is_lost: bool,
    /// Says when everything that the program wrote to its standard error is shown.
    errors_end: Receiver<()>,
}

impl Process {
    pub fn start(words: &[String], url: &Url) -> Result<Self, Failure> {
        let (program, arguments) = words.split_first().expect("a program was named");
        let started = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C is for isoscope: a program ends when its input does.
            .process_group(0)
            .spawn();
        let mut child =
            started.map_err(|error| Failure::refused(format!("exec: cannot start {program}: {error}")))?;
        let input = child.stdin.take().expect("it was asked for");
        let output = child.stdout.take().expect("it was asked for");
        let errors = child.stderr.take().expect("it was asked for");
        let (is_passed_on, errors_end) = sync_channel(1);
        std::thread::spawn(move || {
            pass_on(errors);
            let _ = is_passed_on.send(());
        });
        let (sender, lines) = sync_channel(1);
        std::thread::spawn(move || read_lines(output, &sender));
        // Room for a few: a program may answer before the thread that writes has taken what was asked.
        let (requests, asked) = sync_channel(16);
        std::thread::spawn(move || write_lines(input, &asked));
        let timeout = std::env::var("ISOSCOPE_EXEC_TIMEOUT_MS").ok().and_then(|text| text.parse().ok());
        let timeout = Duration::from_millis(timeout.unwrap_or(TIMEOUT_MS));
        Ok(Self { child, requests, lines, timeout, url: url.clone(), is_lost: false, errors_end })
    }

    /// Sends a request and waits for its answer; `lost` is what it means that none comes.
    pub fn ask(&mut self, request: &Value, lost: FailureKind) -> Result<Value, Failure> {
        if self.is_lost {
            return Err(Failure::new(lost, format!("exec: the program {}", self.end())));
        }
        let answer = self.exchange(request);
        let said = answer.map_err(|what| {
            self.is_lost = true;
            Failure::new(lost, format!("exec: {what}"))
        })?;
        match said.get("failed") {
            None => Ok(said),
            Some(kind) => Err(self.failure(kind, &said)),
        }
    }

    fn exchange(&mut self, request: &Value) -> Result<Value, String> {
        let asked = request.get("op").and_then(Value::as_str).unwrap_or("a request");
        let sent = self.requests.try_send(format!("{request}\n").into_bytes());
        sent.map_err(|_| format!("the program takes no more input, not even {asked}"))?;
        let line = self.lines.recv_timeout(self.timeout).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                format!("the program did not answer {asked} within {} ms", self.timeout.as_millis())
            }
            RecvTimeoutError::Disconnected => format!("the program {} before answering {asked}", self.end()),
        })?;
        serde_json::from_slice(&line).map_err(|error| format!("the answer is no line of JSON: {error}"))
    }

    /// How the program ended, to read on after its name.
    fn end(&mut self) -> String {
        /// Between the end of the output and the end of the process there is a moment.
        const MOMENT: Duration = Duration::from_millis(20);
        const TRIES: usize = 10;
        for _ in 0..TRIES {
            if let Ok(Some(status)) = self.child.try_wait() {
                return match (status.code(), status.signal()) {
                    (Some(code), _) => format!("exited with status {code}"),
                    (None, Some(signal)) => format!("was ended by signal {signal}"),
                    (None, None) => "ended".to_owned(),
                };
            }
            std::thread::sleep(MOMENT);
        }
        "closed its standard output".to_owned()
    }

    fn failure(&mut self, kind: &Value, said: &Value) -> Failure {
        let kind = match kind.as_str() {
            Some("aborted") => FailureKind::Aborted,
            Some("unknown") => FailureKind::Unknown,
            Some("lost") => FailureKind::Lost,
            _ => FailureKind::Refused,
        };
        self.is_lost |= matches!(kind, FailureKind::Unknown | FailureKind::Lost);
        let text = |name: &str| said.get(name).and_then(Value::as_str);
        let message = self.url.scrub(text("message").unwrap_or("the program gave no reason"), &[]);
        let failure = Failure::new(kind, message);
        match text("code") {
            Some(code) => failure.with_code(code),
            None => failure,
        }
    }
}

/// The end of its input asks the program to end; one that does not is killed.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        // A process that the program left behind may keep its standard error open.
        let _ = self.errors_end.recv_timeout(LAST_WORDS);
    }
}

/// Shows what a program writes to its standard error, made harmless and without passwords.
fn pass_on(errors: ChildStderr) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    while errors.by_ref().take(LONGEST_MESSAGE).read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(line.trim_ascii_end()).replace('\t', "    ");
        // There is no other place to say it.
        let _ = writeln!(std::io::stderr(), "{}", visible(&hide_secrets(&text)));
        line.clear();
    }
}

fn read_lines(output: ChildStdout, sender: &SyncSender<Vec<u8>>) {
    let mut output = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match output.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(_) if line.ends_with(b"\n") => {}
            // The end, an error, or a line that is too long.
            _ => return,
        }
        if sender.send(line).is_err() {
            return;
        }
    }
}

/// A program that does not read keeps this thread waiting, and no other.
fn write_lines(mut input: ChildStdin, requests: &Receiver<Vec<u8>>) {
    while let Ok(line) = requests.recv() {
        if input.write_all(&line).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}

/// A command line as its words: blanks part them, except between quotes. `None` if a quote is left open.
pub(super) fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in text.chars() {
        match quote {
            Some(open) if char == open => quote = None,
            Some(_) => word.get_or_insert_default().push(char),
            None if char == '\'' || char == '"' => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            None if char.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_words_together() {
        let split = |text| words(text).map(|words| words.join("|"));
        assert_eq!(split("python3  'a b.py' --x=\"1 2\" ''"), Some("python3|a b.py|--x=1 2|".into()));
        assert_eq!(split("  "), Some(String::new()));
        assert_eq!(split("it's"), None);
    }

    #[test]
    fn a_program_that_does_not_read_keeps_nobody_waiting() {
        let url = Url::parse("exec:sleep 600").unwrap();
        let mut process = Process::start(&words(url.path()).unwrap(), &url).unwrap();
        process.timeout = Duration::from_millis(50);
        // Longer than a pipe holds.
        let request = Value::String("x".repeat(1 << 20));
        for _ in 0..3 {
            let failure = process.ask(&request, FailureKind::Lost).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Lost, "{failure}");
        }
    }
}
