//! Where outputs go: devices, pipes and links stay what they are, no output lands on an input or on another output,
//! and a temporary file is neither guessed nor left behind.

mod common;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::{Folder, show};

const HISTORY: &str = "a: r(x)=0 w(x)=1\nb: r(x)=1\n";
const LEVEL: &str = "include \"std/relations.iso\"\n\nlevel mine : commit-order\n";

fn folder() -> Folder {
    Folder::with(&[("h.txt", HISTORY)])
}

/// Exit code 2, and every file as it was.
fn refused(folder: &Folder, line: &str) -> String {
    let before = contents(folder);
    let shown = folder.run(line);
    assert!(shown.ends_with("--- exit 2\n"), "{line}: {shown}");
    assert!(shown.contains("are the same file; nothing was read or written"), "{line}: {shown}");
    assert_eq!(contents(folder), before, "{line}");
    shown
}

fn contents(folder: &Folder) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder.file("")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = paths.map(|path| (path.clone(), fs::read(path).unwrap_or_default())).collect();
    all.sort();
    all
}

fn names(folder: &Folder) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.file(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_device_is_written_to_and_stays_a_device() {
    let folder = folder();
    for line in [
        "check h.txt --level ser --certificate /dev/null",
        "check h.txt --junit /dev/null --sarif /dev/null --markdown /dev/null",
        "convert h.txt /dev/null --to native",
        "generate /dev/null --to native --transactions 10",
        "synth --allow si --forbid ser --txns 2 --objects 2 --output /dev/null --to notation --dot /dev/null",
        "run --db sim: --transactions 10 --out /dev/null --no-check",
    ] {
        let shown = folder.run(line);
        assert!(shown.ends_with("--- exit 0\n"), "{line}: {shown}");
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device(), "{line}");
    }
    assert_eq!(names(&folder), ["h.txt"]);
    let shown = folder.run("check h.txt --junit /dev/full");
    assert!(shown.contains("error: /dev/full: No space left on device"), "{shown}");
    assert!(shown.ends_with("--- exit 2\n"), "{shown}");
}

#[test]
fn standard_output_has_more_than_one_name() {
    let folder = folder();
    for (flag, begin) in [("--junit", "<?xml"), ("--sarif", "{"), ("--markdown", "###")] {
        for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            let shown = folder.run(&format!("check h.txt {flag} {name}"));
            assert!(
                shown.starts_with(begin)
                    && !shown.contains("2 sessions, 2 transactions, 3 operations, 1 key\n\n  holds"),
                "{shown}"
            );
            assert!(shown.ends_with("--- exit 0\n"), "{shown}");
        }
    }
    // A file that the shell opened is written to, not replaced: what the shell writes afterwards follows.
    let shell = format!(
        "({} convert h.txt /dev/stdout --to notation; echo end) > out.txt",
        env!("CARGO_BIN_EXE_isoscope")
    );
    let done = Command::new("sh").args(["-c", &shell]).current_dir(folder.file("")).output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{}", show(&done));
    assert_eq!(fs::read_to_string(folder.file("out.txt")).unwrap(), format!("{HISTORY}end\n"));
    let shell = format!(
        "exec 3>> three.txt; echo begin >&3; {} check h.txt --junit /dev/fd/3 > /dev/null; echo end >&3",
        env!("CARGO_BIN_EXE_isoscope")
    );
    let done = Command::new("sh").args(["-c", &shell]).current_dir(folder.file("")).output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{}", show(&done));
    let three = fs::read_to_string(folder.file("three.txt")).unwrap();
    assert!(three.starts_with("begin\n<?xml") && three.ends_with("\nend\n"), "{three}");
}

#[test]
fn a_pipe_is_written_to_and_stays_a_pipe() {
    let folder = folder();
    let pipe = folder.file("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for line in [
        "check h.txt --junit pipe",
        "convert h.txt pipe --to native",
        "check h.txt --level ser --certificate pipe",
    ] {
        let mut child = folder.isoscope(line).stdout(Stdio::null()).spawn().unwrap();
        let mut text = String::new();
        fs::File::open(&pipe).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0), "{line}");
        assert!(text.len() > 50, "{line}: {text}");
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo(), "{line}");
    }
    assert_eq!(names(&folder), ["h.txt", "pipe"]);
}

#[test]
fn a_link_stays_a_link_and_its_end_is_replaced_whole() {
    let folder = folder();
    fs::create_dir(folder.file("far")).unwrap();
    symlink("far/file", folder.file("link")).unwrap();
    symlink("link", folder.file("link of a link")).unwrap();
    for (number, exists) in [false, true].into_iter().enumerate() {
        assert_eq!(folder.file("far/file").exists(), exists);
        let mut check = folder.isoscope("check h.txt --junit");
        let done = check.arg("link of a link").output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{number}: {}", show(&done));
        for link in ["link", "link of a link"] {
            assert!(fs::symlink_metadata(folder.file(link)).unwrap().is_symlink(), "{number}");
        }
        assert!(fs::read_to_string(folder.file("far/file")).unwrap().starts_with("<?xml"));
        assert_eq!(fs::read_dir(folder.file("far")).unwrap().count(), 1);
    }
    // The file is replaced, not written over: a process that has the old file open keeps its content.
    let before = fs::metadata(folder.file("far/file")).unwrap().ino();
    folder.run("convert h.txt link --to native");
    assert_ne!(fs::metadata(folder.file("far/file")).unwrap().ino(), before);
    symlink("round", folder.file("round")).unwrap();
    let shown = folder.run("check h.txt --junit round");
    assert!(
        shown.contains("round: too many levels of symbolic links") && shown.ends_with("exit 2\n"),
        "{shown}"
    );
}

#[test]
fn a_replaced_file_keeps_its_permissions_and_a_new_one_gets_the_usual_ones() {
    let folder = folder();
    fs::write(folder.file("old.xml"), "old").unwrap();
    fs::write(folder.file("usual"), "").unwrap();
    fs::set_permissions(folder.file("old.xml"), fs::Permissions::from_mode(0o640)).unwrap();
    folder.run("check h.txt --junit old.xml --sarif new.json");
    let mode = |name: &str| fs::metadata(folder.file(name)).unwrap().mode() & 0o777;
    assert_eq!((mode("old.xml"), mode("new.json")), (0o640, mode("usual")));
}

#[test]
fn a_link_that_was_planted_under_a_temporary_name_is_not_followed() {
    let folder = folder();
    fs::write(folder.file("victim"), "precious").unwrap();
    // The name that earlier versions used, and the process that will use it.
    let script = format!(
        "ln -s victim .out.xml.$$.part; ln -s victim .h.jsonl.$$.part; exec {} check h.txt --junit out.xml",
        env!("CARGO_BIN_EXE_isoscope")
    );
    let done = Command::new("sh").args(["-c", &script]).current_dir(folder.file("")).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", show(&done));
    assert_eq!(fs::read_to_string(folder.file("victim")).unwrap(), "precious");
    assert!(!fs::symlink_metadata(folder.file("out.xml")).unwrap().is_symlink());
}

#[test]
fn an_output_that_is_the_input_is_refused() {
    let folder = Folder::with(&[("h.txt", HISTORY), ("mine.iso", LEVEL), ("run.toml", "db = \"sim:\"\n")]);
    symlink("h.txt", folder.file("link")).unwrap();
    fs::hard_link(folder.file("h.txt"), folder.file("twin")).unwrap();
    let name = folder.file("").file_name().unwrap().to_str().unwrap().to_owned();
    for output in ["h.txt", "./h.txt", "link", "twin", &format!("../{name}/h.txt")] {
        for flag in ["--junit", "--sarif", "--markdown", "--level ser --certificate"] {
            let shown = refused(&folder, &format!("check h.txt {flag} {output}"));
            assert!(shown.contains(output) && shown.contains("the history h.txt"), "{shown}");
        }
        refused(&folder, &format!("convert h.txt {output} --to native"));
    }
    refused(&folder, "check h.txt --level mine.iso --junit mine.iso");
    refused(&folder, "synth --allow mine.iso --forbid ser --dot mine.iso");
    refused(&folder, "compare mine.iso ser --matrix --svg mine.iso");
    refused(&folder, "run --config run.toml --out run.toml");
    refused(&folder, "run --db sim: --level mine.iso --out mine.iso");
    refused(&folder, "run --db sqlite:h.txt --out h.txt");
    refused(&folder, "probe sim: --expect h.txt --write-expect link");
    refused(&folder, "probe sqlite:h.txt --write-expect h.txt");
}

#[test]
fn an_output_in_the_folder_that_is_read_is_refused_if_it_is_read() {
    let folder = folder();
    assert!(folder.run("convert h.txt logs --to cobra").ends_with("exit 0\n"));
    let log = fs::read_dir(folder.file("logs")).unwrap().next().unwrap().unwrap().file_name();
    refused(&folder, &format!("check logs --junit logs/{}", log.to_str().unwrap()));
    refused(&folder, "convert logs logs --to cobra");
    assert!(folder.run("check logs --junit logs/report.xml").ends_with("exit 0\n"));
}

#[test]
fn the_files_of_the_shell_count_too() {
    let folder = folder();
    let isoscope = env!("CARGO_BIN_EXE_isoscope");
    for line in [
        "check - --junit h.txt < h.txt",
        "check h.txt >> h.txt",
        "convert h.txt - --to native >> h.txt",
        "check h.txt --junit out.xml >> out.xml",
    ] {
        let script = format!("{isoscope} {line}");
        let done = Command::new("sh").args(["-c", &script]).current_dir(folder.file("")).output().unwrap();
        let shown = show(&done);
        assert!(shown.contains("are the same file") && shown.ends_with("exit 2\n"), "{line}: {shown}");
        assert_eq!(fs::read_to_string(folder.file("h.txt")).unwrap(), HISTORY, "{line}");
    }
}

#[test]
fn two_outputs_that_are_the_same_file_are_refused() {
    let folder = folder();
    fs::write(folder.file("there"), "").unwrap();
    symlink("new", folder.file("link")).unwrap();
    for (first, second) in [
        ("new", "new"),
        ("new", "./new"),
        ("new", "link"),
        ("there", "there"),
        ("-", "-"),
        ("-", "/dev/stdout"),
    ] {
        refused(&folder, &format!("check h.txt --junit {first} --sarif {second}"));
        refused(&folder, &format!("check h.txt --level ser --certificate {first} --markdown {second}"));
        refused(
            &folder,
            &format!("synth --allow si --forbid ser --output {first} --to native --dot {second}"),
        );
        refused(&folder, &format!("compare si ser --matrix --svg {first} --dot {second}"));
    }
    refused(&folder, "synth --allow ser --forbid si --proof p --dot p.cnf");
    let sweep = Folder::with(&[("run.toml", "db = \"sim:\"\nseed = [1, 2]\nout = \"h.jsonl\"\n")]);
    refused(&sweep, "run --config run.toml");
}

#[test]
fn a_recording_goes_where_it_can_be_read_again() {
    let folder = folder();
    for (out, reason) in [("-", "is standard output"), ("/dev/null", "is no regular file")] {
        let shown = folder.run(&format!("run --db sim: --transactions 10 --out {out}"));
        assert!(shown.contains(reason) && shown.ends_with("exit 2\n"), "{shown}");
    }
    symlink("far.jsonl", folder.file("link.jsonl")).unwrap();
    let shown = folder.run("run --db sim:?latency-us=100 --transactions 100 --keys 5 --out link.jsonl");
    assert!(shown.ends_with("exit 0\n"), "{shown}");
    assert_eq!(names(&folder), ["far.jsonl", "h.txt", "link.jsonl"]);
}

#[test]
fn an_interrupt_leaves_no_temporary_file() {
    let folder = folder();
    for signal in ["INT", "TERM"] {
        let mut child = folder
            .isoscope("generate big.jsonl.zst --transactions 300000 --sessions 50")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let is_writing = || names(&folder).iter().any(|name| name.ends_with(".part"));
        while !is_writing() {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let kill = format!("kill -{signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(names(&folder), ["h.txt"]);
    }
}

#[test]
fn a_writer_that_fails_leaves_the_old_file_and_nothing_else() {
    let folder = Folder::with(&[("h.txt", "a: w(1)=1 unknown\n"), ("out.bincode", "old")]);
    let shown = folder.run("convert h.txt out.bincode");
    assert!(shown.ends_with("exit 2\n"), "{shown}");
    assert_eq!(fs::read_to_string(folder.file("out.bincode")).unwrap(), "old");
    assert_eq!(names(&folder), ["h.txt", "out.bincode"]);
    fs::create_dir(folder.file("dir")).unwrap();
    let shown = folder.run("check h.txt --junit dir");
    assert!(shown.contains("error: dir: is a directory") && shown.ends_with("exit 2\n"), "{shown}");
}
