//! Two runs at once: the second is refused before it touches a table or a file, and a run that was killed blocks none.
//!
//! With a server in `ISOSCOPE_TEST_POSTGRES` or `ISOSCOPE_TEST_MARIADB`, there too.

mod common;

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Folder, show};

/// A run that would take minutes, after it has recorded some transactions.
fn start_endless(folder: &Folder, db: &str, out: &str) -> Child {
    let line =
        format!("run --workload rmw --keys 20 --sessions 2 --duration 10m --no-check --out {out} --db");
    let mut command = folder.isoscope(&line);
    let mut child = command.arg(db).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    const ENOUGH: u64 = 5_000;
    let deadline = Instant::now() + Duration::from_secs(60);
    while std::fs::metadata(folder.file(out)).map_or(0, |file| file.len()) < ENOUGH {
        assert!(child.try_wait().unwrap().is_none(), "{db}: it ended by itself");
        assert!(Instant::now() < deadline, "{db}: it records nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn short_run(folder: &Folder, db: &str, out: &str) -> (String, Option<i32>) {
    let line = format!("run --workload rmw --keys 20 --sessions 4 --transactions 200 --out {out} --db");
    let output = folder.isoscope(&line).arg(db).output().unwrap();
    (show(&output), output.status.code())
}

/// The second of two runs is refused while the first one lives, and works when the first one was killed.
fn second_is_refused(folder: &Folder, db: &str, reason: &str) {
    let mut first = start_endless(folder, db, "first.jsonl");
    for out in ["second.jsonl", "third.jsonl"] {
        let (shown, code) = short_run(folder, db, out);
        assert!(code == Some(2) && shown.contains(reason), "{db}: {shown}");
    }
    let probe = folder.isoscope("probe --setting serializable").arg(db).output().unwrap();
    assert_ne!(probe.status.code(), Some(101), "{}", show(&probe));
    assert!(first.try_wait().unwrap().is_none(), "{db}: the first run ended with the second");
    // Kills with signal 9.
    first.kill().unwrap();
    first.wait().unwrap();
    let (shown, code) = short_run(folder, db, "fourth.jsonl");
    // In a short run two clients may never meet, which shows nothing and is exit code 3.
    assert!(matches!(code, Some(0 | 3)), "{db}: {shown}");
    // What the first one recorded is not disturbed.
    let checked = folder.run("check first.jsonl --level serializable");
    assert!(checked.contains("  holds      serializable"), "{db}: {checked}");
}

#[test]
fn one_file_of_an_embedded_database() {
    const OPEN: &str = "another process, perhaps another run of isoscope, has it open";
    for (engine, reason) in
        [("sqlite", "is in use by another run of isoscope"), ("redb", OPEN), ("fjall", OPEN)]
    {
        let folder = Folder::with(&[]);
        second_is_refused(&folder, &format!("{engine}:test.db"), reason);
        let left: Vec<_> =
            std::fs::read_dir(folder.file("")).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.iter().all(|path| !path.to_string_lossy().contains("isoscope-lock")), "{left:?}");
    }
}

#[test]
fn one_file_by_two_names() {
    let folder = Folder::with(&[]);
    let mut first = start_endless(&folder, "sqlite:test.db", "first.jsonl");
    std::os::unix::fs::symlink("test.db", folder.file("link.db")).unwrap();
    for db in ["sqlite:link.db", "sqlite:./test.db"] {
        let (shown, code) = short_run(&folder, db, "second.jsonl");
        assert!(code == Some(2) && shown.contains("in use by another run"), "{shown}");
        assert!(
            !folder.file("second.jsonl").exists()
                || folder.file("second.jsonl").metadata().unwrap().len() < 1000
        );
    }
    let probe = folder.run("probe sqlite:test.db --setting deferred");
    assert!(probe.contains("in use by another run") && probe.ends_with("exit 2\n"), "{probe}");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[test]
fn one_table_of_a_server() {
    for variable in ["ISOSCOPE_TEST_POSTGRES", "ISOSCOPE_TEST_MARIADB"] {
        let Some(url) = std::env::var(variable).ok().filter(|url| !url.is_empty()) else { continue };
        let folder = Folder::with(&[]);
        let mut first = start_endless(&folder, &url, "first.jsonl");
        let (shown, code) = short_run(&folder, &url, "second.jsonl");
        assert!(code == Some(2) && shown.contains("in use by another run of isoscope"), "{shown}");
        // Another table is free.
        let other = folder.isoscope("probe --setting serializable").arg(&url).output().unwrap();
        assert_eq!(other.status.code(), Some(0), "{}", show(&other));
        first.kill().unwrap();
        first.wait().unwrap();
        for _ in 0..3 {
            let (shown, code) = short_run(&folder, &url, "third.jsonl");
            assert_ne!(code, Some(2), "{shown}");
        }
    }
}

#[test]
fn one_recording() {
    let folder = Folder::with(&[]);
    let mut first = start_endless(&folder, "sim:serializable?latency-us=100", "h.jsonl");
    std::os::unix::fs::symlink("h.jsonl", folder.file("link.jsonl")).unwrap();
    for out in ["h.jsonl", "link.jsonl"] {
        let (shown, code) = short_run(&folder, "sim:", out);
        assert!(
            shown.contains(&format!("{out}: another recording is being written to this file")),
            "{shown}"
        );
        assert_eq!(code, Some(2), "{shown}");
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let checked = folder.run("check h.jsonl --level serializable");
    assert!(checked.contains("  holds      serializable"), "{checked}");
    // The next run replaces what the killed one left.
    let (shown, code) = short_run(&folder, "sim:", "h.jsonl");
    assert!(matches!(code, Some(0 | 3)), "{shown}");
    assert!(std::fs::read_to_string(folder.file("h.jsonl")).unwrap().contains("\"recording\":\"closed\""));
}

#[test]
fn runs_that_name_no_file_get_one_each() {
    let folder = Folder::with(&[]);
    let start = || {
        let line = "run --db sim:serializable --workload rmw --transactions 100 --no-check";
        folder.isoscope(line).stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..6).map(|_| start()).collect();
    children.into_iter().for_each(|mut child| assert_eq!(child.wait().unwrap().code(), Some(0)));
    assert_eq!(std::fs::read_dir(folder.file("")).unwrap().count(), 6);
}
