//! The help of every command, as it stands in `help/`.

mod common;

use expect_test::{ExpectFile, expect_file};

fn check(command: &str, expected: ExpectFile) {
    let folder = common::Folder::with(&[]);
    expected.assert_eq(&folder.run(&format!("{command} --help")));
}

#[test]
fn every_command_has_help() {
    check("", expect_file!["help/isoscope.txt"]);
    check("demo", expect_file!["help/demo.txt"]);
    check("check", expect_file!["help/check.txt"]);
    check("batch", expect_file!["help/batch.txt"]);
    check("watch", expect_file!["help/watch.txt"]);
    check("explain", expect_file!["help/explain.txt"]);
    check("diff", expect_file!["help/diff.txt"]);
    check("shrink", expect_file!["help/shrink.txt"]);
    check("elle", expect_file!["help/elle.txt"]);
    check("certify", expect_file!["help/certify.txt"]);
    check("convert", expect_file!["help/convert.txt"]);
    check("stats", expect_file!["help/stats.txt"]);
    check("run", expect_file!["help/run.txt"]);
    check("generate", expect_file!["help/generate.txt"]);
    check("levels", expect_file!["help/levels.txt"]);
    check("synth", expect_file!["help/synth.txt"]);
    check("compare", expect_file!["help/compare.txt"]);
    check("completions", expect_file!["help/completions.txt"]);
    check("man", expect_file!["help/man.txt"]);
    check("probe", expect_file!["help/probe.txt"]);
}

#[test]
fn no_command_is_missing_here() {
    let help = common::Folder::with(&[]).run("--help");
    let (_, list) = help.split_once("Commands:\n").unwrap();
    // A description that goes on in the next line is indented further.
    let commands = list.lines().take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names = commands.filter_map(|line| line.split_whitespace().next());
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help");
    for name in names.filter(|name| *name != "help") {
        assert!(folder.join(format!("{name}.txt")).exists(), "{name} has no snapshot of its help");
    }
}
