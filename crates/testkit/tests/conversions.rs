//! A history that is written in another format and read back has the same verdict at every level, or is not written.
//!
//! Real-time levels are compared where both histories have times; a format that has none must lose all of them.

use certify::Level;
use formats::{Error, ErrorKind, Format, Input, ReadOptions, WriteOptions, read, read_bytes, write_to};
use history::{Clock, History};
use isoscope_testkit::{Random, generate_mixed, oracle};

const WRITTEN: [Format; 6] = [
    Format::Native,
    Format::Notation,
    Format::DbcopBincode,
    Format::Cobra,
    Format::Polysi,
    Format::JepsenEdn,
];

fn count(usual: u64) -> u64 {
    let soak = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok());
    soak.unwrap_or(usual)
}

/// The history after it went through a format; `None` if the format refuses it.
fn through(history: &History, format: Format) -> Option<History> {
    match written(history, format) {
        Ok(Ok(back)) => Some(back),
        Ok(Err(error)) => panic!("{format} writes what it cannot read: {error}\n{}", text(history)),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::CannotExpress, "{error}");
            None
        }
    }
}

fn written(history: &History, format: Format) -> Result<Result<History, Error>, Error> {
    let options = WriteOptions { lossy: false };
    if format == Format::Cobra {
        let folder = tempfolder();
        let _ = std::fs::remove_dir_all(&folder);
        formats::write_to_path(history, format, &folder, &options)?;
        let back = read(&Input::Path(folder.clone()), &ReadOptions::default().with_format(format));
        let _ = std::fs::remove_dir_all(&folder);
        return Ok(back.map(|loaded| loaded.history));
    }
    let mut bytes = Vec::new();
    write_to(history, format, &mut bytes, &options)?;
    let back = read_bytes("back", &bytes, &ReadOptions::default().with_format(format));
    Ok(back.map(|loaded| loaded.history))
}

fn tempfolder() -> std::path::PathBuf {
    let thread =
        format!("{:?}", std::thread::current().id()).replace(|char: char| !char.is_ascii_digit(), "");
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cobra-{}-{thread}", std::process::id()))
}

fn text(history: &History) -> String {
    formats::notation::print(history).unwrap()
}

/// Compares the verdicts of all levels before and after; whether the format held the history.
fn compare(history: &History, format: Format) -> bool {
    let Some(back) = through(history, format) else { return false };
    let problem = |level: &str, before: bool, after: bool| {
        panic!("{format}, {level}: {before} became {after}\n{}\n{}", text(history), text(&back))
    };
    for (name, level) in Level::NAMED {
        if level.needs_times() && !(history.has_times() && back.has_times()) {
            assert!(history.has_times() || !back.has_times(), "{format} made up times\n{}", text(history));
            continue;
        }
        let skews: &[i64] = match back.clock() {
            Clock::Nanoseconds if level.needs_times() => &[0, 3],
            _ => &[0],
        };
        for &skew in skews {
            let level = level.with_clock_skew(skew);
            let (before, after) = (oracle::holds(history, &level), oracle::holds(&back, &level));
            if before != after {
                problem(name, before, after);
            }
        }
    }
    true
}

#[test]
fn a_conversion_is_refused_or_keeps_every_verdict() {
    let first_seed = 77_000;
    println!("seeds from {first_seed}");
    let mut kept = [0u64; WRITTEN.len()];
    for seed in first_seed..first_seed + count(3_000) {
        let history = generate_mixed::sketch(&mut Random::new(seed)).build();
        if oracle::refusal(&history).is_some() {
            continue;
        }
        for (place, format) in WRITTEN.into_iter().enumerate() {
            kept[place] += u64::from(compare(&history, format));
        }
    }
    println!("{WRITTEN:?} held {kept:?} histories");
    assert!(kept.iter().all(|&kept| kept > 20), "a format that holds nothing shows nothing: {kept:?}");
}

fn check(history: &str, format: Format, is_held: bool) {
    let parsed = formats::notation::parse(history).unwrap();
    assert_eq!(compare(&parsed, format), is_held, "{format}\n{history}");
}

#[test]
fn deletes_keep_their_meaning_in_cobra() {
    check("init *=nil\na: {d(y)} {r(y)=nil}", Format::Cobra, false);
    check("init *=nil\na: {d(y)} {r(y)=nil} {w(x)=1}", Format::Cobra, true);
    check("init *=nil\na: {d(y) w(y)=1}", Format::Cobra, true);
    check("init *=nil\na: {d(y) w(y)=\"one\"} {r(y)=\"one\"}\nb: d(y)\nc: r(y)=nil", Format::Cobra, true);
}

#[test]
fn an_initial_value_that_no_read_saw_is_not_lost_in_cobra() {
    check("init *=0\na: w(x)=1\nb: r(x)=nil", Format::Cobra, false);
    check("init *=0\na: w(x)=1\nb: r(x)=0\nb: r(x)=nil", Format::Cobra, true);
}

#[test]
fn times_that_a_verdict_depends_on_are_not_dropped() {
    // Strong snapshot isolation is violated: b began after a had committed. By the outer times alone it holds.
    let history = "init *=nil\na: w(x)=1 @[0..1,2..9]\nb: r(x)=nil @[4..11,12..13]";
    for format in [Format::JepsenEdn, Format::Cobra] {
        check(history, format, false);
    }
    check("init *=nil\na: w(x)=1 @[0,3]\nb: r(x)=nil @[4,13]", Format::JepsenEdn, true);
    check("init *=nil\na: w(x)=1 @[0,3]\nb: r(x)=nil @[4,13]", Format::Cobra, true);
}

#[test]
fn versions_are_not_dropped() {
    for format in [Format::JepsenEdn, Format::Cobra, Format::DbcopBincode, Format::Polysi] {
        check("a: w(x)=1^2\nb: w(x)=2^1", format, false);
    }
}
