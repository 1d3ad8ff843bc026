//! `isoscope probe` and `isoscope demo`, seen from outside: what is said when a database cannot be asked, and what is left
//! behind when they are interrupted.

mod common;

use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use common::{Folder, show};
use databases::{Reply, Statement, Url};

#[test]
fn a_database_that_cannot_be_opened_is_an_error() {
    let folder = Folder::with(&[("file", "")]);
    for (url, reason) in [
        ("sqlite:none/test.db", "none/test.db"),
        ("sqlite:", "`sqlite:` has no path"),
        ("sqlite://test.db", "write sqlite:PATH"),
        ("fjall:file/store", "fjall:file/store: Not a directory"),
        ("redb:none/test.db", "redb:none/test.db"),
        ("mysql://ann@127.0.0.1:1", "expected the name of a database, as in mysql://USER@HOST/NAME"),
    ] {
        for command in ["probe", "run --db"] {
            let shown = folder.run(&format!("{command} {url}"));
            assert!(shown.contains(reason) && shown.ends_with("--- exit 2\n"), "{command} {url}: {shown}");
        }
    }
}

#[test]
fn a_schedule_that_was_not_asked_is_not_as_expected() {
    let folder = Folder::with(&[("expected.txt", "serial p4 possible\nserial G2 waits\n")]);
    let shown = folder.run("probe sim:serial --expect expected.txt");
    assert!(shown.contains("p4 at serial: expected possible, found waits (line 1)"), "{shown}");
    assert!(
        shown.contains("G2 at serial: expected waits, found nothing: no such schedule was asked"),
        "{shown}"
    );
    assert!(shown.ends_with("--- exit 1\n"), "{shown}");
}

fn interrupt(child: Child) -> Output {
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

/// Starts a command, and waits until there is such a file.
fn start(mut command: Command, is_there: impl Fn() -> bool) -> Child {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !is_there() {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

#[test]
fn an_interrupted_probe_drops_its_table() {
    let folder = Folder::with(&[]);
    let file = folder.file("test.db");
    let probe = folder.isoscope("probe sqlite:test.db --schedules coo");
    let filled = || std::fs::metadata(&file).is_ok_and(|file| file.len() > 0);
    let shown = show(&interrupt(start(probe, filled)));
    assert_eq!(shown, "--- standard error\ninterrupted\n--- exit 130\n");
    let database = databases::open(&[Url::parse(&format!("sqlite:{}", file.display())).unwrap()]).unwrap();
    let mut session = database.connect(0).unwrap();
    session.begin(&database.settings()[0]).unwrap();
    let tables = session.execute(&Statement::Sql("SELECT name FROM sqlite_master".to_owned())).unwrap();
    assert_eq!(tables, Reply::Rows(Vec::new()));
}

#[test]
fn an_interrupted_demonstration_leaves_nothing() {
    let folder = Folder::with(&[]);
    let mut demo = folder.isoscope("demo");
    demo.env("TMPDIR", folder.file(""));
    let entries = || std::fs::read_dir(folder.file("")).unwrap().count();
    let shown = show(&interrupt(start(demo, || entries() > 0)));
    assert_eq!((shown.as_str(), entries()), ("--- standard error\ninterrupted\n--- exit 130\n", 0));
}
