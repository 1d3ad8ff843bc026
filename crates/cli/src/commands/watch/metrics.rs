//! Numbers for scrapers, in the text format of Prometheus, on a loopback port.
//!
//! A thread answers every request with the same text, whatever it asks for; requests are not kept.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::exit::Failure;
use crate::screen::say;

/// What scrapers are told.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// Transactions that were read.
    pub transactions: u64,
    /// Transactions that are held.
    pub held: u64,
    /// How far the verdict is behind the recording, in nanoseconds.
    pub behind_ns: i64,
    /// The frontier, in nanoseconds.
    pub frontier_ns: Option<i64>,
    /// What the process holds.
    pub memory_bytes: u64,
    /// For each level its name, its verdict, and how many violations there were.
    pub levels: Vec<(&'static str, &'static str, u64)>,
}

/// The numbers that a thread serves.
#[derive(Clone)]
pub struct Metrics(Arc<Mutex<Numbers>>);

impl Metrics {
    /// Begins to answer on a port of this machine.
    pub fn serve(port: u16) -> Result<Self, Failure> {
        let refused = |error| Failure::new(format!("--metrics {port}: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(refused)?;
        if port == 0 {
            say(&format!("metrics on http://{}/metrics", listener.local_addr().map_err(refused)?));
        }
        let metrics = Self(Arc::default());
        let served = metrics.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A scraper that goes away asks again.
                let _ = served.answer(stream);
            }
        });
        Ok(metrics)
    }

    /// What is told from now on.
    pub fn set(&self, numbers: Numbers) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = numbers;
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        const PATIENCE: Duration = Duration::from_secs(1);
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut request = [0; 4096];
        let _ = stream.read(&mut request)?;
        let text = self.0.lock().unwrap_or_else(PoisonError::into_inner).text();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )
    }
}

impl Numbers {
    fn text(&self) -> String {
        let mut text = String::new();
        let mut put = |name: &str, kind: &str, help: &str, samples: &[(String, String)]| {
            // Memory takes everything.
            let _ = write!(text, "# HELP isoscope_{name} {help}\n# TYPE isoscope_{name} {kind}\n");
            for (labels, value) in samples {
                let _ = writeln!(text, "isoscope_{name}{labels} {value}");
            }
        };
        let one = |value: String| vec![(String::new(), value)];
        let seconds = |ns: i64| format!("{}", ns as f64 / 1e9);
        put(
            "transactions_total",
            "counter",
            "Transactions that were read.",
            &one(self.transactions.to_string()),
        );
        put("held_transactions", "gauge", "Transactions that still matter.", &one(self.held.to_string()));
        put(
            "behind_seconds",
            "gauge",
            "How far the verdict is behind the recording.",
            &one(seconds(self.behind_ns)),
        );
        if let Some(frontier) = self.frontier_ns {
            put(
                "frontier_seconds",
                "gauge",
                "The recording is complete up to here.",
                &one(seconds(frontier)),
            );
        }
        put("memory_bytes", "gauge", "Memory of the process.", &one(self.memory_bytes.to_string()));
        let labels = |level: &str, verdict: &str| format!("{{level=\"{level}\",verdict=\"{verdict}\"}}");
        let verdicts: Vec<_> =
            self.levels.iter().map(|(level, verdict, _)| (labels(level, verdict), "1".to_owned())).collect();
        put("verdict", "gauge", "The verdict on each level.", &verdicts);
        let violations: Vec<_> = self
            .levels
            .iter()
            .map(|(level, _, count)| (format!("{{level=\"{level}\"}}"), count.to_string()))
            .collect();
        put("violations_total", "counter", "Violations that were found.", &violations);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_what_scrapers_read() {
        let numbers = Numbers {
            transactions: 12,
            held: 3,
            behind_ns: 1_500_000_000,
            frontier_ns: Some(2_000_000_000),
            memory_bytes: 4096,
            levels: vec![("strong-si", "holds", 0)],
        };
        let text = numbers.text();
        for line in [
            "# TYPE isoscope_transactions_total counter",
            "isoscope_transactions_total 12",
            "isoscope_behind_seconds 1.5",
            "isoscope_frontier_seconds 2",
            "isoscope_verdict{level=\"strong-si\",verdict=\"holds\"} 1",
            "isoscope_violations_total{level=\"strong-si\"} 0",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in\n{text}");
        }
    }
}
