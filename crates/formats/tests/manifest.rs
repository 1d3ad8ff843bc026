//! Every shared history is read, and has the counts that the manifest says.
//!
//! Without the shared histories there is nothing to compare, and the test says so.

use std::fs;
use std::path::{Path, PathBuf};

use history::Summary;
use isoscope_formats::{Format, Input, ReadOptions, read};

fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories");
    folder.is_dir().then_some(folder)
}

#[test]
fn every_shared_history_has_its_counts() {
    let Some(shared) = shared() else {
        eprintln!("no shared histories here: nothing compared");
        return;
    };
    let manifest = fs::read_to_string(shared.join("MANIFEST.tsv")).unwrap();
    let mut lines = manifest.lines();
    assert!(
        lines.next().unwrap().starts_with("path\tformat\tsessions\tcommitted\taborted\toperations\tkeys")
    );
    let mut differing = Vec::new();
    let mut count = 0;
    for line in lines {
        count += 1;
        differing.extend(compare(&shared, line));
    }
    assert!(count > 0 && differing.is_empty(), "{}", differing.join("\n"));
}

/// What differs, if anything does.
fn compare(shared: &Path, line: &str) -> Option<String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let loaded = match read(&Input::Path(shared.join(fields[0])), &ReadOptions::default()) {
        Ok(loaded) => loaded,
        Err(error) => return Some(error.to_string()),
    };
    let summary = Summary::of(&loaded.history);
    let expected: Vec<usize> = fields[2..7].iter().map(|field| field.parse().unwrap()).collect();
    let found = [summary.sessions, summary.committed, summary.aborted, summary.operations, summary.keys];
    let is_same = expected == found && Ok(loaded.format) == fields[1].parse::<Format>();
    (!is_same).then(|| format!("{}: expected {expected:?}, found {found:?} as {}", fields[0], loaded.format))
}

#[test]
fn every_shared_counterexample_is_read_in_both_forms_alike() {
    let Some(shared) = shared() else {
        eprintln!("no shared histories here: nothing compared");
        return;
    };
    let mut count = 0;
    for entry in fs::read_dir(shared.join("counterexamples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "hist") {
            count += 1;
            let hist = read(&Input::Path(path.clone()), &ReadOptions::default()).unwrap();
            let text = read(&Input::Path(path.with_extension("txt")), &ReadOptions::default()).unwrap();
            assert_eq!((hist.format, text.format), (Format::DbcopHist, Format::Polysi));
            let counts = |summary: Summary| (summary.committed, summary.operations);
            let (hist, text) = (Summary::of(&hist.history), Summary::of(&text.history));
            assert_eq!(counts(hist), counts(text), "{}", path.display());
        }
    }
    assert_eq!(count, 15);
}
