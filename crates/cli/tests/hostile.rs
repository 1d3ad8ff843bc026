//! Hostile inputs under limits: each ends within the limits with an exit code of 0 to 3, none by a signal.
//!
//! The inputs are large, deep, compressed without end, special files, or worst cases of the engine; all are made here.
//! A run without `ISOSCOPE_SOAK` tries those that end at once and a few that end at a limit; with it all are tried.

mod common;
#[path = "../../../xtask/src/bench/hostile.rs"]
mod hostile;

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::Folder;
use hostile::{Hostile, Plant};

const TIME_LIMIT: Duration = Duration::from_secs(2);
const MEMORY_LIMIT: u64 = 512 << 20;
const LIMITS: &str = "--time-limit 2s --memory-limit 512MiB";

/// What a busy machine may add to the time of a process: to start it, to wake its threads, and to reap it.
const BUSY: Duration = Duration::from_millis(1500);

/// A file to make, and a command line about it in which `@` is its name.
struct Input {
    name: String,
    content: Content,
    line: String,
    /// Whether it runs into a limit, or takes long to make.
    is_slow: bool,
}

enum Content {
    Bytes(Vec<u8>),
    /// Bytes that are repeated so often, compressed.
    Bomb(Packing, Vec<u8>, usize),
    History(Hostile),
    /// A file that is there already.
    Path(&'static str),
    /// A pipe without a writer.
    Pipe,
    /// A folder of so many empty logs.
    Folder(usize),
}

#[derive(Clone, Copy, Debug)]
enum Packing {
    Gzip,
    Zstd,
}

#[test]
fn every_hostile_input_ends_within_its_limits() {
    let is_soak = std::env::var_os("ISOSCOPE_SOAK").is_some();
    let inputs = inputs();
    assert!(inputs.len() >= 300, "{} inputs", inputs.len());
    let mut slow_left = 6;
    let chosen: Vec<&Input> = inputs
        .iter()
        .filter(|input| {
            let is_chosen = is_soak || !input.is_slow || slow_left > 0;
            slow_left -= i32::from(is_chosen && input.is_slow);
            is_chosen
        })
        .collect();
    let next = AtomicUsize::new(0);
    let worker = || -> Vec<String> {
        let take = || chosen.get(next.fetch_add(1, Ordering::Relaxed)).copied();
        std::iter::from_fn(take).filter_map(|input| input.fault(is_soak)).collect()
    };
    let faults: Vec<String> = std::thread::scope(|scope| {
        let workers = [scope.spawn(worker), scope.spawn(worker)];
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{} of {} inputs:\n{}", faults.len(), chosen.len(), faults.join("\n"));
}

#[test]
fn a_signal_ends_every_stage() {
    let status = Hostile::Status { sessions: 8, txns: 4_000, keys: 5, plant: Plant::Nothing };
    let inputs = [
        ("reading", Content::Pipe, "check input"),
        ("counting", Content::Pipe, "stats input"),
        ("certifying", Content::Pipe, "certify input input"),
        ("deciding", Content::History(status), "check input --level session-serializable"),
        ("comparing", Content::Pipe, "compare serializable snapshot-isolation --txns 12 --objects 8"),
    ];
    for (stage, content, line) in inputs {
        let folder = Folder::with(&[]);
        content.make(&folder.file("input")).unwrap();
        let mut child = folder.isoscope(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Long enough for the stage to begin, also on a busy machine.
        std::thread::sleep(Duration::from_millis(1000));
        let signal = std::process::Command::new("kill").arg("-TERM").arg(child.id().to_string()).status();
        assert!(signal.unwrap().success(), "{stage} had ended before");
        let asked = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if asked.elapsed() > 10 * BUSY {
                child.kill().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(matches!(status.code(), Some(3 | 130)), "{stage}: {status}");
        assert!(asked.elapsed() < BUSY + Duration::from_millis(500), "{stage}: {:?}", asked.elapsed());
    }
}

/// How a process ended.
struct Ended {
    status: ExitStatus,
    time: Duration,
    peak_bytes: u64,
}

impl Input {
    fn new(name: impl Into<String>, content: Content, line: impl Into<String>) -> Self {
        Self { name: name.into(), content, line: line.into(), is_slow: false }
    }

    fn slow(mut self) -> Self {
        self.is_slow = true;
        self
    }

    /// Runs the command; a sentence if it did not end as it should.
    fn fault(&self, is_soak: bool) -> Option<String> {
        let folder = Folder::with(&[]);
        let file = folder.file("input");
        let name = match &self.content {
            Content::Path(path) => (*path).to_owned(),
            content => {
                content.make(&file).unwrap();
                "input".to_owned()
            }
        };
        let name = match self.line.contains("@.iso") {
            true => {
                std::fs::rename(&file, folder.file("input.iso")).unwrap();
                name
            }
            false => name,
        };
        std::fs::write(folder.file("small.txt"), "a: w(x)=1 r(x)=1\nb: r(x)=1\n").unwrap();
        let ended = self.run(&folder, &format!("{} {LIMITS}", self.line.replace('@', &name)));
        if is_soak {
            println!(
                "{:>6} ms {:>5} MB  exit {:?}  {} ({})",
                ended.time.as_millis(),
                ended.peak_bytes >> 20,
                ended.status.code(),
                self.name,
                self.line
            );
        }
        let fault = match ended.status.code() {
            None => format!("ended by a signal: {}", ended.status),
            Some(code @ 4..) => format!("exit code {code}"),
            Some(_) if ended.time > TIME_LIMIT + TIME_LIMIT / 10 + BUSY => format!("took {:?}", ended.time),
            Some(_) if ended.peak_bytes > MEMORY_LIMIT + MEMORY_LIMIT / 10 => {
                format!("held {} MB", ended.peak_bytes >> 20)
            }
            Some(_) => return None,
        };
        Some(format!("{} ({}): {fault}", self.name, self.line))
    }

    fn run(&self, folder: &Folder, line: &str) -> Ended {
        let started = Instant::now();
        let mut command = folder.isoscope(line);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let folder_of_child = format!("/proc/{}", child.id());
        std::thread::scope(|scope| {
            // An answer may be larger than the pipe.
            scope.spawn(move || io::copy(&mut stdout, &mut io::sink()));
            let mut peak_bytes = 0;
            loop {
                peak_bytes = peak_bytes.max(high_water(&folder_of_child).unwrap_or(0));
                if let Some(status) = child.try_wait().unwrap() {
                    return Ended { status, time: started.elapsed(), peak_bytes };
                }
                if started.elapsed() > 10 * TIME_LIMIT {
                    child.kill().unwrap();
                }
                std::thread::sleep(Duration::from_millis(3));
            }
        })
    }
}

/// The most memory that a process ever held, as long as it is there. For a moment after it was made, a process shows the
/// memory of this one.
fn high_water(process: &str) -> Option<u64> {
    let runs_this_program =
        std::fs::read_link(format!("{process}/exe")).ok()? == std::env::current_exe().ok()?;
    let status = std::fs::read_to_string(format!("{process}/status")).ok().filter(|_| !runs_this_program)?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

impl Content {
    fn make(&self, file: &Path) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => std::fs::write(file, bytes),
            Self::History(hostile) => std::fs::write(file, hostile.text()),
            Self::Bomb(packing, unit, count) => {
                let packed = packing.pack(unit);
                let mut out = io::BufWriter::new(std::fs::File::create(file)?);
                // Both formats may be concatenated.
                (0..*count).try_for_each(|_| out.write_all(&packed))?;
                out.flush()
            }
            Self::Pipe => {
                let made = std::process::Command::new("mkfifo").arg(file).status()?;
                assert!(made.success());
                Ok(())
            }
            Self::Folder(count) => {
                std::fs::create_dir(file)?;
                (0..*count).try_for_each(|number| std::fs::write(file.join(format!("T{number}.log")), b""))
            }
            Self::Path(_) => Ok(()),
        }
    }
}

impl Packing {
    fn pack(self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Gzip => {
                let mut packed = Vec::new();
                flate2::read::GzEncoder::new(bytes, flate2::Compression::fast())
                    .read_to_end(&mut packed)
                    .unwrap();
                packed
            }
            Self::Zstd => zstd::encode_all(bytes, 1).unwrap(),
        }
    }
}

fn inputs() -> Vec<Input> {
    [histories(), broken_files(), bombs(), special_files(), levels(), certificates(), questions()]
        .into_iter()
        .flatten()
        .collect()
}

/// Worst cases of the engine.
fn histories() -> Vec<Input> {
    let status = |sessions, txns, keys, plant| Hostile::Status { sessions, txns, keys, plant };
    let quick = [
        Hostile::EqualWrites(300),
        Hostile::EqualWrites(3_000),
        Hostile::OneReader(10_000),
        Hostile::Overwritten(2_000),
        Hostile::OneReaderEach(1_000),
        Hostile::TwoAndTwo { sessions: 8, txns: 12 },
        Hostile::Additions,
        Hostile::UnknownChain(12_000),
        status(1_000, 10, 5, Plant::Nothing),
        status(4, 100, 5, Plant::WriteSkew),
    ];
    let slow = [
        status(8, 200, 5, Plant::Nothing),
        status(8, 2_000, 5, Plant::Nothing),
        status(10_000, 10, 1_000, Plant::Nothing),
        Hostile::SessionBreaks(500),
        Hostile::OneReader(100_000),
        Hostile::Overwritten(200_000),
        Hostile::EqualWrites(20_000),
        Hostile::OneReaderEach(10_000),
        Hostile::TwoAndTwo { sessions: 8, txns: 1_000 },
        Hostile::UnknownChain(120_000),
        Hostile::SessionBreaks(5_000),
        status(20, 2_000, 5, Plant::Nothing),
        status(20, 2_000, 5, Plant::WriteSkew),
        status(20, 2_000, 5, Plant::Fracture),
        status(8, 200, 5, Plant::Fracture),
        status(1_000, 10, 1_000, Plant::Nothing),
    ];
    let input = |hostile: Hostile, level: &str| {
        Input::new(hostile.name(), Content::History(hostile), format!("check @ --json --stats {level}"))
    };
    let mut inputs = Vec::new();
    for hostile in quick {
        inputs.push(input(hostile, "--level session-serializable"));
        for level in ["serializable", "session-snapshot-isolation", "prefix-consistency"] {
            inputs.push(input(hostile, &format!("--level {level}")).slow());
        }
        inputs.push(input(hostile, "").slow());
        inputs.push(input(hostile, "--threads 4").slow());
    }
    for hostile in slow {
        for level in
            ["--level session-serializable", "--level snapshot-isolation", "--level read-committed", ""]
        {
            inputs.push(input(hostile, level).slow());
        }
    }
    inputs
}

const FORMATS: [&str; 11] = [
    "native",
    "notation",
    "dbcop-bincode",
    "dbcop-json",
    "dbcop-hist",
    "cobra",
    "viper",
    "polysi",
    "awdit",
    "jepsen-edn",
    "jepsen-json",
];

/// Files that are of no format, or of one only at first sight.
fn broken_files() -> Vec<Input> {
    let repeated = |unit: &str, count: usize| unit.repeat(count).into_bytes();
    let native = "{\"isoscope\":1}\n{\"default\":0}\n";
    let contents = [
        ("nothing", Vec::new()),
        ("a million zeros", vec![0; 1 << 20]),
        ("a million bytes of ones", vec![0xff; 1 << 20]),
        ("100,000 open brackets", repeated("[", 100_000)),
        ("100,000 open braces", repeated("{\"a\":", 100_000)),
        ("100,000 open parentheses", repeated("(", 100_000)),
        ("a number of a million digits", repeated("9", 1_000_000)),
        ("a text without an end", [b"\"".to_vec(), repeated("x", 1_000_000)].concat()),
        ("a million line breaks", repeated("\n", 1_000_000)),
        (
            "a value deep inside",
            [native.as_bytes(), b"{\"s\":0,\"ops\":[[\"r\",0,", &repeated("[", 100_000)].concat(),
        ),
    ];
    let mut inputs = Vec::new();
    for (name, bytes) in contents {
        for format in FORMATS {
            let line = format!("stats @ --format {format}");
            inputs.push(Input::new(name, Content::Bytes(bytes.clone()), line));
        }
        inputs.push(Input::new(name, Content::Bytes(bytes), "check @"));
    }
    inputs
}

/// Small files that become large ones.
fn bombs() -> Vec<Input> {
    const UNIT: usize = 16 << 20;
    let native = b"{\"isoscope\":1}\n{\"default\":0}\n";
    let units = [
        ("blanks", vec![b' '; UNIT]),
        ("line breaks", vec![b'\n'; UNIT]),
        ("zeros", vec![0; UNIT]),
        ("transactions", b"{\"s\":0,\"ops\":[[\"w\",0,1]],\"o\":\"c\"}\n".repeat(UNIT / 36)),
        ("open brackets", vec![b'['; UNIT]),
    ];
    let mut inputs = Vec::new();
    for (name, unit) in units {
        for packing in [Packing::Gzip, Packing::Zstd] {
            for (size, count) in [("160 MB", 10), ("9 GB", 560)] {
                let unit = if name == "transactions" { [&native[..], &unit].concat() } else { unit.clone() };
                let name = format!("{size} of {name} in {packing:?}");
                let (_, is_slow) = (name.as_str(), size == "9 GB" || name.contains("transactions"));
                for line in ["stats @", "check @ --format native"] {
                    let input = Input::new(name.clone(), Content::Bomb(packing, unit.clone(), count), line);
                    inputs.push(if is_slow { input.slow() } else { input });
                }
            }
        }
    }
    inputs
}

/// Things that are no files.
fn special_files() -> Vec<Input> {
    let mut inputs = Vec::new();
    for path in ["/dev/zero", "/dev/null", "/proc/self/mem", "/proc/self/maps", "/", "/nowhere", "/dev/full"]
    {
        for line in ["check @", "stats @", "certify small.txt @", "certify @ @"] {
            inputs.push(Input::new(path, Content::Path(path), line));
        }
        inputs.push(Input::new(path, Content::Path(path), "check @ --format notation").slow());
        inputs.push(Input::new(path, Content::Path(path), "convert @ out.jsonl --format native").slow());
    }
    let random = "an endless stream of random bytes";
    inputs.push(Input::new(random, Content::Path("/dev/urandom"), "check @ --format native"));
    for line in ["check @", "stats @", "certify small.txt @", "convert @ out.jsonl"] {
        inputs.push(Input::new("a pipe without a writer", Content::Pipe, line).slow());
    }
    let line = "check small.txt --level @.iso";
    inputs.push(Input::new("a pipe without a writer as a level", Content::Pipe, line).slow());
    for count in [0, 1, 2_000] {
        inputs.push(Input::new(format!("a folder of {count} empty logs"), Content::Folder(count), "check @"));
    }
    inputs
}

/// Texts of levels that are deep, long, or grow where definitions are expanded.
fn levels() -> Vec<Input> {
    let level = |formula: &str| format!("level l : {formula}\n");
    let nested = |count: usize| level(&format!("{}true{}", "(".repeat(count), ")".repeat(count)));
    let doubling = |count: usize| {
        let line = |number: usize| format!("define a{number} = a{0} | a{0}\n", number - 1);
        let lines: String = (1..=count).map(line).collect();
        format!("define a0 = session\n{lines}{}", level(&format!("acyclic(a{count})")))
    };
    let chain = |count: usize| {
        let lines: String =
            (1..=count).map(|number| format!("define a{number} = a{}\n", number - 1)).collect();
        format!("define a0 = session\n{lines}{}", level(&format!("acyclic(a{count})")))
    };
    let quantified = |count: usize| {
        let variables: String = (0..count).map(|number| format!("all t{number} : txn . ")).collect();
        level(&format!("{variables}t0 session t0 => t0 before t0"))
    };
    let texts = [
        ("100 parentheses", nested(100)),
        ("10,000 parentheses", nested(10_000)),
        ("100,000 parentheses", nested(100_000)),
        ("10,000 negations", level(&format!("{}true", "!".repeat(10_000)))),
        ("10,000 quantifiers", quantified(10_000)),
        ("100 quantifiers", quantified(100)),
        ("8 quantifiers", quantified(8)),
        ("doubled 8 times", doubling(8)),
        ("doubled 24 times", doubling(24)),
        ("doubled 1,000 times", doubling(1_000)),
        ("a union of 100", level(&format!("acyclic(session{})", " | before".repeat(100)))),
        ("a union of 20,000", level(&format!("acyclic(session{})", " | session".repeat(20_000)))),
        ("a union of 100,000", level(&format!("acyclic(session{})", " | session".repeat(100_000)))),
        ("5,000 definitions in a chain", chain(5_000)),
        ("50 definitions in a chain", chain(50)),
        ("5,000 levels", (0..5_000).map(|number| format!("level l{number} : true\n")).collect()),
        ("a name of 200,000 letters", level(&"x".repeat(200_000))),
        ("10,000 closures", level(&format!("acyclic(session{})", "+".repeat(10_000)))),
        ("40 equivalences", level(&format!("{}true{}", "(true iff ".repeat(40), ")".repeat(40)))),
        ("itself included", format!("include \"input.iso\"\n{}", level("true"))),
        ("a device included", format!("include \"/dev/zero\"\n{}", level("true"))),
        ("no text", "\u{0}\u{1}\u{2}".to_owned()),
    ];
    let mut inputs = Vec::new();
    for (name, text) in texts {
        let is_slow = matches!(name, "8 quantifiers" | "100 quantifiers");
        for line in ["check small.txt --level @.iso", "compare @.iso serializable --txns 2"] {
            let input = Input::new(name, Content::Bytes(text.clone().into_bytes()), line);
            inputs.push(if is_slow { input.slow() } else { input });
        }
    }
    inputs
}

/// Certificates that are none.
fn certificates() -> Vec<Input> {
    let head = "{\"isoscope\":1,\"level\":\"serializable\",\"holds\":{\"order\":[";
    let contents = [
        ("nothing", String::new()),
        ("100,000 open brackets", "[".repeat(100_000)),
        ("100,000 open braces", "{\"a\":".repeat(100_000)),
        ("an order of a million events", format!("{head}{}1]}}}}", "1,".repeat(1_000_000))),
        ("a large number", format!("{head}{}]}}}}", "9".repeat(100_000))),
        ("a text without an end", format!("\"{}", "x".repeat(1_000_000))),
    ];
    contents
        .into_iter()
        .map(|(name, text)| {
            Input::new(
                format!("certificate: {name}"),
                Content::Bytes(text.into_bytes()),
                "certify small.txt @",
            )
        })
        .collect()
}

/// Questions about levels that take long.
fn questions() -> Vec<Input> {
    let empty = || Content::Bytes(Vec::new());
    [
        "compare --matrix serializable snapshot-isolation causal read-atomic --txns 6",
        "compare serializable snapshot-isolation --txns 12 --objects 8",
        "synth --allow causal --forbid snapshot-isolation --txns 12 --objects 8",
        "synth --allow serializable --forbid read-committed --txns 12 --objects 8",
        "synth --all --allow read-committed --forbid causal --txns 4",
    ]
    .into_iter()
    .map(|line| Input::new("a large scope", empty(), line).slow())
    .collect()
}
