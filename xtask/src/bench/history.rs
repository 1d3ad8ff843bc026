//! The histories that are measured: recorded ones of `../shared`, generated ones, and those with a planted anomaly.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Bench;
use crate::run::{Done, output_of, root, target};

/// Where a history comes from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A file of `../shared/histories`; those that are small also run in quick mode.
    Shared { path: &'static str, is_small: bool },
    /// `isoscope generate` with these flags; in quick mode with few transactions.
    Generated(&'static [&'static str]),
}

/// A file of `../shared/histories`.
pub const fn shared(path: &'static str) -> Source {
    Source::Shared { path, is_small: false }
}

/// A small file of `../shared/histories`.
pub const fn small(path: &'static str) -> Source {
    Source::Shared { path, is_small: true }
}

/// Transactions of a generated history in quick mode.
const QUICK_TRANSACTIONS: &str = "1000";

impl Bench {
    /// What to call a history in a table: what it was really made with.
    pub fn name_of(&self, source: Source) -> String {
        match source {
            Source::Shared { path, .. } => path.to_owned(),
            Source::Generated(flags) => {
                format!("generated {}", self.flags_of(flags).join(" ").replace("--workload ", ""))
            }
        }
    }

    /// The flags of a generated history, in quick mode with few transactions.
    fn flags_of(&self, flags: &[&'static str]) -> Vec<&'static str> {
        match self.quick {
            true => with_few_transactions(flags),
            false => flags.to_vec(),
        }
    }

    /// The history's file, or nothing if it is not there (or too large for quick mode).
    pub fn file_of(&self, source: Source) -> Done<Option<PathBuf>> {
        match source {
            Source::Shared { path, is_small } => {
                let file = root().join("../shared/histories").join(path);
                Ok(((is_small || !self.quick) && file.exists()).then_some(file))
            }
            Source::Generated(flags) => self.generated(&self.flags_of(flags), "jsonl").map(Some),
        }
    }

    /// A generated history in a cached file; its name says all that it depends on.
    fn generated(&self, flags: &[&str], extension: &str) -> Done<PathBuf> {
        let name = flags.join("").replace(['/', ':', '='], "-").replace("--", "_");
        let file = cache()?.join(format!("{name}.{extension}"));
        if !file.exists() {
            let mut generate = Command::new(&self.isoscope);
            output_of(generate.arg("generate").args(flags).arg(&file), &[0])?;
        }
        Ok(file)
    }

    /// A copy of a history with an anomaly at a place that the seed determines.
    pub fn planted(&self, file: &Path, anomaly: &str, seed: u64) -> Done<PathBuf> {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let planted = cache()?.join(format!("{stem}_{anomaly}_{seed}.jsonl"));
        if !planted.exists() {
            let mut convert = Command::new(&self.isoscope);
            convert.arg("convert").arg(file).arg(&planted);
            convert.args(["--plant", anomaly, "--seed", &seed.to_string()]);
            output_of(&mut convert, &[0])?;
        }
        Ok(planted)
    }

    /// A copy of a history in another format.
    pub fn converted(&self, file: &Path, format: &str) -> Done<PathBuf> {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let converted = cache()?.join(format!("{stem}.{format}"));
        if !converted.exists() {
            let mut convert = Command::new(&self.isoscope);
            convert.arg("convert").arg(file).arg(&converted).args(["--to", format, "--lossy"]);
            output_of(&mut convert, &[0])?;
        }
        Ok(converted)
    }
}

fn with_few_transactions<'f>(flags: &[&'f str]) -> Vec<&'f str> {
    let mut kept = Vec::new();
    let mut count = QUICK_TRANSACTIONS;
    let mut flags = flags.iter();
    while let Some(&flag) = flags.next() {
        match flag {
            // Numbers without signs: the shorter one is the smaller one.
            "--transactions" => {
                count = flags.next().filter(|asked| asked.len() < count.len()).unwrap_or(&count)
            }
            flag => kept.push(flag),
        }
    }
    kept.extend(["--transactions", count]);
    kept
}

fn cache() -> Done<PathBuf> {
    let folder = target().join("bench");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
