//! How fast a format is read and written, and what it costs in memory.
//!
//! ```text
//! throughput make FORMAT PATH TXNS     writes a generated history of 20 operations a transaction
//! throughput read PATH [FORMAT]        reads it
//! throughput threads COUNT PATH        reads it on several threads; seconds are those of the clock
//! ```
//!
//! Each prints bytes, seconds, MB/s, the size of the model and the peak memory of the process. Where the system tells,
//! seconds are those that the processor spent, so that a busy machine gives the same figures.

use std::error::Error;
use std::path::Path;
use std::time::Instant;
use std::{env, fs};

use history::{Builder, History, InitialState, Outcome, ValueId};
use isoscope_formats::{Format, Input, ReadOptions, WriteOptions, read, write_to_path};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["make", format, path, txns] => make(format.parse()?, Path::new(path), txns.parse()?),
        ["read", path] => time_read(Path::new(path), ReadOptions::default()),
        ["threads", count, path] => {
            let started = Instant::now();
            let options = ReadOptions { threads: count.parse()?, ..ReadOptions::default() };
            let loaded = read(&Input::Path(path.into()), &options)?;
            let seconds = started.elapsed().as_secs_f64();
            report(&format!("read {}", loaded.format), Path::new(path), seconds, &loaded.history)
        }
        ["read", path, format] => {
            time_read(Path::new(path), ReadOptions::default().with_format(format.parse()?))
        }
        _ => Err("usage: throughput make FORMAT PATH TXNS | throughput read PATH [FORMAT]".into()),
    }
}

fn make(format: Format, path: &Path, txns: u32) -> Result<(), Box<dyn Error>> {
    let history = generate(txns);
    let stopwatch = Stopwatch::start();
    let warnings = write_to_path(&history, format, path, &WriteOptions::default())?;
    report("wrote", path, stopwatch.seconds(), &history)?;
    for warning in warnings {
        println!("  {warning}");
    }
    Ok(())
}

fn time_read(path: &Path, options: ReadOptions) -> Result<(), Box<dyn Error>> {
    let stopwatch = Stopwatch::start();
    let loaded = read(&Input::Path(path.to_owned()), &options)?;
    let seconds = stopwatch.seconds();
    report(&format!("read {}", loaded.format), path, seconds, &loaded.history)
}

fn report(verb: &str, path: &Path, seconds: f64, history: &History) -> Result<(), Box<dyn Error>> {
    let bytes = size_of_path(path)? as f64;
    println!(
        "{verb} {}: {:.1} MB in {seconds:.3} s = {:.0} MB/s, model {:.1} MB, peak {:.1} MB",
        path.display(),
        bytes / 1e6,
        bytes / 1e6 / seconds,
        history.heap_bytes() as f64 / 1e6,
        peak_bytes().unwrap_or_default() as f64 / 1e6,
    );
    Ok(())
}

fn size_of_path(path: &Path) -> Result<u64, Box<dyn Error>> {
    if !path.is_dir() {
        return Ok(fs::metadata(path)?.len());
    }
    let mut total = 0;
    for entry in fs::read_dir(path)? {
        total += entry?.metadata()?.len();
    }
    Ok(total)
}

struct Stopwatch {
    started: Instant,
    spent: Option<f64>,
}

impl Stopwatch {
    fn start() -> Self {
        Self { started: Instant::now(), spent: processor_seconds() }
    }

    fn seconds(&self) -> f64 {
        let spent = processor_seconds().zip(self.spent).map(|(end, start)| end - start);
        spent.unwrap_or_else(|| self.started.elapsed().as_secs_f64())
    }
}

/// What the main thread spent on a processor so far.
fn processor_seconds() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanoseconds: u64 = status.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds as f64 / 1e9)
}

/// The most memory the process ever held, where the system tells.
fn peak_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Transactions of ten reads and ten writes over 20 sessions and 5,000 keys; each write has its own value.
fn generate(txns: u32) -> History {
    let mut builder = Builder::new();
    builder.initial = InitialState::all(ValueId(0));
    let sessions: Vec<_> = (0..20).map(|_| builder.session()).collect();
    let mut last = vec![ValueId(0); 5000];
    let (mut state, mut next_value) = (1u64, 0);
    for txn in 0..txns {
        builder.begin(sessions[(txn % 20) as usize]);
        for op in 0..20 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let place = (state >> 33) as usize % last.len();
            let key = builder.keys.intern_int(place as i64);
            if op % 2 == 0 {
                builder.read(key, last[place]);
            } else {
                next_value += 1;
                last[place] = ValueId(next_value);
                builder.write(key, last[place]);
            }
        }
        builder.end(Outcome::Committed);
    }
    builder.finish()
}
