//! The truth about a run: what is refused before it starts, and what is said of a database that goes away.

mod common;

use common::Folder;

/// A database with one row that never changes; at the commit of this number it goes away for good.
const GOING: &str = "\
import json, os, sys
if os.path.exists('gone'):
    sys.exit(3)
for line in sys.stdin:
    op = json.loads(line)['op']
    said = {'done': True, 'row': [0], 'count': 1, 'rows': []}
    if op == 'hello':
        said = {'product': 'Going', 'version': '1', 'settings': ['only'], 'statements': ['read', 'write']}
    if op == 'commit' and os.path.exists('gone'):
        sys.exit(3)
    if op == 'commit' and os.path.getsize('commits') > 5:
        open('gone', 'w').close()
    if op == 'commit':
        open('commits', 'a').write('.')
    print(json.dumps(said), flush=True)
";

fn run(folder: &Folder, program: &str, line: &str) -> String {
    let mut command = folder.isoscope(line);
    common::show(&command.args(["--db", &format!("exec:{program}")]).output().unwrap())
}

#[test]
fn what_cannot_be_done_is_refused_before_the_run() {
    let folder = Folder::with(&[("going.py", GOING), ("commits", "")]);
    for (line, reason) in [
        ("run --level serialisable", "no level is called \"serialisable\""),
        ("run --html none/r.html", "none/r.html: No such file or directory"),
        ("run --junit none/j.xml", "none/j.xml: No such file or directory"),
        ("run --workload blindw-pred", "the workload needs reads by condition, which Going cannot do"),
        ("run --workload append", "the workload needs appends to a list, which Going cannot do"),
    ] {
        let shown = run(&folder, "python3 going.py", line);
        assert!(shown.contains(reason) && shown.ends_with("--- exit 2\n"), "{line}: {shown}");
    }
    assert_eq!(std::fs::read(folder.file("commits")).unwrap(), b"");
    let recordings = std::fs::read_dir(folder.file("")).unwrap().flatten();
    assert!(recordings.into_iter().all(|file| !file.file_name().to_string_lossy().ends_with(".jsonl")));
}

#[test]
fn a_program_that_ends_is_said_to_have_ended() {
    let folder = Folder::with(&[]);
    let shown = run(&folder, "sh -c 'exit 2'", "run");
    let reason = "the program exited with status 2 before answering hello\n";
    assert!(shown.contains(reason) && !shown.contains("host, port"), "{shown}");
}

#[test]
fn a_run_whose_server_is_gone_ends_and_names_its_recording() {
    let folder = Folder::with(&[("going.py", GOING), ("commits", "")]);
    let shown = run(&folder, "python3 going.py", "run --duration 3s --sessions 1 --keys 2 --operations 2");
    assert!(shown.contains("1 client lost the connection and could not connect again: "), "{shown}");
    assert!(
        shown.contains("no final read: exec: the program exited with status 3 before answering hello"),
        "{shown}"
    );
    assert!(shown.contains("recorded in run-going-only-general-0.jsonl ("), "{shown}");
    assert!(shown.contains("exited with status 3 before answering commit"), "{shown}");
}
