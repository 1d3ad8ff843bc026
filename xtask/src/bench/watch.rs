//! What following a recording costs: `isoscope generate --stream` piped into `isoscope watch`.
//!
//! The rate is transactions by processor time of `watch` alone, with reading; how long both take together depends on
//! what else the machine does. Memory is sampled four times a second and drawn over the share of the run, in
//! `target/bench/watch-memory.svg`.

use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Bench, table};
use crate::run::{Done, target};

/// A workload, the level of the store that runs it, and the level that is followed.
const RUNS: [(&str, &str, &str); 4] = [
    ("general", "serializable", "strict-serializable"),
    ("general", "snapshot", "strong-si"),
    ("blindw-rw", "serializable", "strict-serializable"),
    ("blindw-rw", "snapshot", "strong-si"),
];

/// Ticks of the kernel in a second, by which it counts processor time on every architecture that Linux has today.
const TICKS_PER_SECOND: f64 = 100.0;

/// What one run took.
#[derive(Default)]
struct Followed {
    transactions: u64,
    answer: String,
    processor_s: f64,
    elapsed_s: f64,
    /// Memory in MiB with the time in seconds.
    memory: Vec<(f64, f64)>,
}

/// `cargo xtask bench watch`.
pub fn run(bench: &Bench) -> Done {
    let transactions = if bench.quick { "100000" } else { "20000000" };
    table::head(&[
        "workload",
        "level",
        "transactions",
        "processor time",
        "per second",
        "elapsed",
        "memory",
        "answer",
    ]);
    let mut curves = Vec::new();
    for (workload, store, level) in RUNS {
        let followed = bench.follow(workload, store, level, transactions)?;
        let peak = followed.memory.iter().map(|(_, memory)| *memory).fold(0.0, f64::max);
        table::row(&[
            workload.to_owned(),
            level.to_owned(),
            followed.transactions.to_string(),
            format!("{:.1} s", followed.processor_s),
            format!("{:.0}", followed.transactions as f64 / followed.processor_s.max(0.01)),
            format!("{:.0} s", followed.elapsed_s),
            format!("{peak:.1} MiB"),
            followed.answer.clone(),
        ]);
        curves.push((format!("{workload}, {level}: at most {peak:.1} MiB"), followed));
    }
    let folder = target().join("bench");
    let write = || {
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join("watch-memory.svg"), drawn(&curves)))
    };
    write().map_err(|error| format!("{}: {error}", folder.display()))
}

impl Bench {
    fn follow(&self, workload: &str, store: &str, level: &str, transactions: &str) -> Done<Followed> {
        let mut generate = Command::new(&self.isoscope);
        generate.args(["generate", "--stream", "--to", "native", "--seed", "7", "--workload", workload]);
        generate.args(["--level", store, "--transactions", transactions, "-"]).stdout(Stdio::piped());
        let mut generate = generate.stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        let recording = generate.stdout.take().ok_or("generate has no output")?;
        let mut watch = Command::new(&self.isoscope);
        watch.args(["watch", "-", "--json", "--level", level]).stdin(recording).stdout(Stdio::piped());
        let watch = watch.spawn().map_err(|error| error.to_string())?;
        let followed = sample(watch);
        generate.wait().map_err(|error| error.to_string())?;
        followed
    }
}

/// Samples a process until it has ended. One that has ended and was not waited for still has its times.
fn sample(mut watch: Child) -> Done<Followed> {
    let (started, pid, mut followed) = (Instant::now(), watch.id(), Followed::default());
    while let Some(memory) = memory_of(pid) {
        followed.memory.push((started.elapsed().as_secs_f64(), memory));
        std::thread::sleep(Duration::from_millis(250));
    }
    followed.elapsed_s = started.elapsed().as_secs_f64();
    followed.processor_s = processor_time_of(pid).ok_or("the kernel does not say how long watch ran")?;
    let out = watch.stdout.take().ok_or("watch has no output")?;
    let text = std::io::read_to_string(out).map_err(|error| error.to_string())?;
    watch.wait().map_err(|error| error.to_string())?;
    let mut end = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let end = end.rfind(|line| line["event"] == "end").ok_or("watch gave no answer")?;
    followed.transactions = end["transactions"].as_u64().unwrap_or(0);
    let word = |name: &str| end[name].as_str().unwrap_or("?");
    followed.answer = format!("{}, {}", word("verdict"), word("meaning"));
    Ok(followed)
}

/// The memory that a process holds, in MiB; `None` once it has ended.
fn memory_of(pid: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

/// The processor time of a process and its threads, in user and kernel mode, in seconds.
fn processor_time_of(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses; user and kernel time are the 14th and the 15th.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS_PER_SECOND)
}

const COLOURS: [&str; 4] = ["#1f6feb", "#b35900", "#1a7f37", "#8250df"];

/// Memory over the share of each run.
fn drawn(curves: &[(String, Followed)]) -> String {
    let (left, top, width, height) = (52.0, 34.0, 572.0, 186.0);
    let most = curves.iter().flat_map(|(_, run)| &run.memory).map(|(_, memory)| *memory).fold(10.0, f64::max);
    let most = (most / 10.0).ceil() * 10.0 + 10.0;
    let y = |memory: f64| top + height * (1.0 - memory / most);
    let mut svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 330\" font-family=\"sans-serif\" \
                   font-size=\"12\" role=\"img\" aria-label=\"Memory of isoscope watch over each run\">\n\
                   <rect width=\"640\" height=\"330\" fill=\"#fff\"/>\n<text x=\"52\" y=\"18\" font-size=\"13\" \
                   fill=\"#222\">Memory of isoscope watch (MiB) over the share of each run</text>\n"
        .to_owned();
    for memory in (0..=most as u32).step_by(10) {
        let at = y(f64::from(memory));
        let _ = writeln!(
            svg,
            "<line x1=\"52\" x2=\"624\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\
             <text x=\"44\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#444\">{memory}</text>",
            at + 4.0
        );
    }
    for ((place, (label, run)), colour) in curves.iter().enumerate().zip(COLOURS) {
        let points = run.memory.iter().map(|(time, memory)| {
            format!("{:.1},{:.1}", left + width * time / run.elapsed_s.max(0.01), y(*memory))
        });
        // A point for each pixel is enough.
        let each = (run.memory.len() / width as usize).max(1);
        let points: Vec<String> = points.step_by(each).collect();
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{}\"/>\
             <text x=\"52\" y=\"{}\" fill=\"{colour}\">{label}</text>",
            points.join(" "),
            246 + 20 * place
        );
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::{Followed, drawn, memory_of, processor_time_of};

    #[test]
    fn the_kernel_says_what_a_process_takes() {
        let pid = std::process::id();
        if std::path::Path::new("/proc/self/stat").exists() {
            assert!(memory_of(pid).unwrap() > 0.1);
            assert!(processor_time_of(pid).is_some());
        }
        assert_eq!(memory_of(u32::MAX), None);
    }

    #[test]
    fn a_curve_is_drawn_over_its_run() {
        let run = Followed { elapsed_s: 2.0, memory: vec![(0.0, 10.0), (2.0, 10.0)], ..Followed::default() };
        assert!(drawn(&[("general".to_owned(), run)]).contains("points=\"52.0,127.0 624.0,127.0\""));
    }
}
