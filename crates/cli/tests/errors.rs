//! Questions that cannot be asked: exit code 2, one sentence on standard error, nothing on standard output.

mod common;

use common::Folder;
use expect_test::{Expect, expect};

fn check(line: &str, expected: Expect) {
    let files = [
        ("h.txt", "a: r(x)=0\n"),
        ("empty", ""),
        ("broken.txt", "a: r(x)=0\nb: q(x)=1\n"),
        ("junk", "\u{1}\u{2}\u{3}"),
    ];
    expected.assert_eq(&Folder::with(&files).run(line));
}

#[test]
fn files() {
    check(
        "check missing.edn",
        expect![[r#"
        --- standard error
        error: missing.edn: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        "check empty",
        expect![[r#"
        --- standard error
        error: empty: expected a history in one of the known formats, found no content: it is empty
        --- exit 2
    "#]],
    );
    check(
        "check broken.txt",
        expect![[r#"
        --- standard error
        error: broken.txt:2:5: expected `{`, found `(x)=1` (docs/formats/notation.md has the grammar)
        --- exit 2
    "#]],
    );
    check(
        "check junk",
        expect![[r#"
        --- standard error
        error: junk: expected a history in one of the known formats, found `\u{1}\u{2}\u{3}` (if it is one of them, name it with --format)
        --- exit 2
    "#]],
    );
    check(
        "check .",
        expect![[r#"
        --- standard error
        error: .: expected a history in one of the known formats, found a folder with neither T*.log (Cobra) nor J*.log (Viper) files
        --- exit 2
    "#]],
    );
    check(
        "stats missing.edn",
        expect![[r#"
        --- standard error
        error: missing.edn: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        "check h.txt --format cobra",
        expect![[r#"
        --- standard error
        error: h.txt: byte 0: expected a begin `S`, found opcode 61
        --- exit 2
    "#]],
    );
}

#[test]
fn levels() {
    check(
        "check h.txt --level serialisable",
        expect![[r#"
            --- standard error
            error: no level is called "serialisable"; did you mean serializable? (`isoscope levels` lists them; a level of your own is a file that ends in .iso)
            --- exit 2
        "#]],
    );
    check(
        "check h.txt --level no-such-level",
        expect![[r#"
        --- standard error
        error: no level is called "no-such-level" (`isoscope levels` lists them; a level of your own is a file that ends in .iso)
        --- exit 2
    "#]],
    );
    check(
        "levels nothing",
        expect![[r#"
        --- standard error
        error: no level is called "nothing" (`isoscope levels` lists them; a level of your own is a file that ends in .iso)
        --- exit 2
    "#]],
    );
}

#[test]
fn flags() {
    check(
        "check h.txt --clock-skew 5",
        expect![[r#"
            --- standard error
            error: invalid value '5' for '--clock-skew <DURATION>': expected a duration such as 5ms, 1.5s, 2m or 1h30m, found `5`

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
    check(
        "check h.txt --time-limit soon",
        expect![[r#"
            --- standard error
            error: invalid value 'soon' for '--time-limit <DURATION>': expected a duration such as 5ms, 1.5s, 2m or 1h30m, found `soon`

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
    check(
        "check h.txt --memory-limit 4",
        expect![[r#"
        --- standard error
        error: invalid value '4' for '--memory-limit <SIZE>': expected a size such as 512MB or 4GiB, found `4`

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
    check(
        "check h.txt --threads 0",
        expect![[r#"
        --- standard error
        error: invalid value '0' for '--threads <N>': 0 is not in 1..=256

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
    check(
        "check h.txt --format word",
        expect![[r#"
        --- standard error
        error: invalid value 'word' for '--format <FORMAT>': no format is called "word"; there are native, notation, dbcop, dbcop-json, dbcop-hist, cobra, viper, polysi, awdit, jepsen, jepsen-json

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
    check(
        "check h.txt --certificate c.json",
        expect![[r#"
            --- standard error
            error: --certificate is the proof of one answer: name one level with --level
            --- exit 2
        "#]],
    );
    check(
        "check",
        expect![[r#"
            --- standard error
            error: the following required arguments were not provided:
              <HISTORY>...

            Usage: isoscope check <HISTORY>...

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
    check(
        "chek h.txt",
        expect![[r#"
            --- standard error
            error: unrecognized subcommand 'chek'

              tip: a similar subcommand exists: 'check'

            Usage: isoscope [OPTIONS] <COMMAND>

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
}

#[test]
fn outputs() {
    check(
        "convert h.txt out.unknown",
        expect![[r#"
        --- standard error
        error: the name of the output does not say in which format to write; add --to with one of native, notation, dbcop, cobra, polysi, jepsen
        --- exit 2
    "#]],
    );
    check(
        "convert h.txt --to viper",
        expect![[r#"
            --- standard error
            error: viper is read but not written (written are native, notation, dbcop, cobra, polysi, jepsen)
            --- exit 2
        "#]],
    );
    check(
        "convert h.txt no/such/folder/out.jsonl",
        expect![[r#"
        --- standard error
        error: no/such/folder/out.jsonl: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        "convert h.txt --to native --json",
        expect![[r#"
        --- standard error
        error: --json and a history on standard output would mix; name a file to write to
        --- exit 2
    "#]],
    );
    check(
        "check h.txt --junit no/such/folder/out.xml",
        expect![[r#"
        --- standard error
        error: no/such/folder/out.xml: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        "generate --workload nothing out.jsonl",
        expect![[r#"
        --- standard error
        error: no workload is called "nothing"; there are general, duplicates, million, blindw-rm, blindw-rw, blindw-rh, blindw-wr, blindw-wh, blindw-pred, blindw-keys, tpcc, twitter, rmw, zipf, append, range-b, range-rqh, range-idh, small
        --- exit 2
    "#]],
    );
    check(
        "generate --sessions 0 out.jsonl",
        expect![[r#"
        --- standard error
        error: sessions must be between 1 and 100,000
        --- exit 2
    "#]],
    );
    check(
        "certify h.txt broken.txt",
        expect![[r#"
        --- standard error
        error: broken.txt: not a certificate: expected value at line 1 column 1
        --- exit 2
    "#]],
    );
    check(
        "certify - -",
        expect![[r#"
        --- standard error
        error: history and certificate cannot both be standard input
        --- exit 2
    "#]],
    );
}
