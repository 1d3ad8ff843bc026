//! A file that is read in parts is the history that it is when read as a whole, wherever it is cut.

use std::fmt::Write as _;

use super::*;
use crate::{ReadOptions, Temporary, read_bytes};

/// Reads a text in parts, cut near the given places.
fn in_parts(text: &str, format: Format, wanted: &[u64]) -> Option<Loaded> {
    let folder = Temporary::folder_in(&std::env::temp_dir()).expect("a temporary folder");
    let path = folder.path().join("history");
    std::fs::write(&path, text).expect("a file");
    let mut file = File::open(&path).expect("the file");
    let cut: Cut = match format {
        Format::Native => |_| Some(0),
        Format::Polysi => polysi::cut,
        _ => awdit::cut,
    };
    let mut cuts: Vec<u64> = wanted.iter().filter_map(|&wanted| cut_after(&mut file, wanted, cut)).collect();
    cuts.extend([0, text.len() as u64]);
    cuts.sort_unstable();
    cuts.dedup();
    let parts = Parts { path: &path, name: "t", options: ReadOptions::default(), threads: 3, cuts };
    match format {
        Format::Native => native_jsonl::read_parts(&parts),
        Format::Polysi => polysi::read_parts(&parts),
        _ => awdit::read_parts(&parts),
    }
}

/// Everything that a history says, ids included.
fn shown(loaded: &Loaded) -> String {
    let history = &loaded.history;
    let mut text = format!("{:?} {:?}\n", loaded.warnings, history.initial());
    for (key, original) in history.keys().iter() {
        _ = write!(text, "{key:?} {original} ");
    }
    for txn in history.txns() {
        let session = history.session_of(txn);
        _ = write!(text, "\n{session:?} {:?} {:?}", history.session_name(session), history.txn_name(txn));
        _ = write!(text, " {:?} {:?}", history.outcome(txn), history.times(txn));
        for op in history.op_range(txn).map(history::OpId) {
            _ = write!(text, " {:?} {:?}", history.op(op), history.is_failed(op));
        }
    }
    text
}

#[track_caller]
fn check(text: &str, format: Format) {
    let (answers, is_history) = compare(text, format);
    assert!(answers > 0 || !is_history, "never read in parts");
}

/// Reads a text whole and cut at many places; how often the parts gave an answer, and whether the whole did.
#[track_caller]
fn compare(text: &str, format: Format) -> (usize, bool) {
    let options = ReadOptions::default().with_format(format);
    let whole = read_bytes("t", text.as_bytes(), &options).map(|loaded| shown(&loaded));
    let length = text.len() as u64;
    let mut answers = 0;
    for cuts in (0..length).step_by(5).map(|cut| vec![cut, (cut + 7) % length, (cut * 5) % length]) {
        match (in_parts(text, format, &cuts), &whole) {
            (Some(parts), Ok(whole)) => {
                assert_eq!(shown(&parts), *whole, "cut near {cuts:?}");
                answers += 1;
            }
            (Some(_), Err(error)) => panic!("read although {error}, cut near {cuts:?}"),
            (None, _) => {}
        }
    }
    (answers, whole.is_ok())
}

const NATIVE: &str = r#"{"isoscope":1,"clock":"nanoseconds"}
{"default":0}
{"recording":"open"}
{"session":3,"name":"first"}
{"s":3,"ops":[["w","x",1],["r","y","text"]],"o":"c","t":[1,null,null,5]}
{"s":1,"n":"named","ops":[["l","list",[1,"a",-5]],["a","list",{"row":[["v",1]]}]],"o":"a"}
{"before":4}
{"session":9,"name":"text"}
{"s":9,"ops":[["p","v > 1",[["x",{"row":[["v",2]]}],["z",{"row":[["w",2]]}]]]],"o":"u"}
{"keys":["k1","x"]}
{"s":1,"ops":[["w","k2",99999999999],["w","x",3,{"v":7,"f":true}]],"o":"c","t":[6,7,8,9]}
{"s":3,"ops":[["r",7,12],["r","y","other"]],"o":"c","t":[5,6,7,19]}
{"recording":"closed"}
"#;

#[test]
fn native_lines_in_parts_are_the_lines_of_the_whole() {
    check(NATIVE, Format::Native);
    check(NATIVE.trim_end(), Format::Native);
    check(&NATIVE[..NATIVE.len() - 40], Format::Native);
}

#[test]
fn what_is_wrong_between_two_parts_is_left_to_the_reader_of_the_whole() {
    check(&NATIVE.replace("[5,6,7,19]", "[4,6,7,19]"), Format::Native);
    check(&NATIVE.replace("\"session\":9", "\"session\":1"), Format::Native);
    check(&NATIVE.replace("{\"before\":4}", "{\"initial\":[[\"x\",4]]}"), Format::Native);
    check(&NATIVE.replace("[\"r\",7,12]", "[\"r\",7,]"), Format::Native);
    let level = NATIVE.replace("\"name\":\"first\"", "\"level\":\"serializable\"");
    assert_eq!(compare(&level, Format::Native), (0, true));
}

#[test]
fn lines_of_polysi_in_parts_are_the_lines_of_the_whole() {
    let text =
        "w(1,1,7,1)\nr(1,1,7,1)\nw(2,0,8,2)\nw(5,5,8,-1)\nr(3,0,9,3)\nw(9,1,9,3)\nw(1,0,9,4)\nw(5,6,9,-1)\n";
    check(text, Format::Polysi);
    check(&format!("{text}r(4,0,7,1)\nr(4,0,10,5)\n"), Format::Polysi);
    check(&format!("{text}r(4,0,8,1)\n"), Format::Polysi);
    check(&format!("{text}r(4,0,8,18446744073709551615)\nr(4,0,9,18446744073709551615)\n"), Format::Polysi);
}

#[test]
fn sessions_of_awdit_go_on_from_one_part_to_the_next() {
    let text = "w 1 0\nw 2 0\n===\nr 1 0\n---\nw 1 1\n--\n--\nr 5 5\n===\n---\nr 1 1\n-\nw 1 2\n=\n";
    check(text, Format::Awdit);
    check(&text.replace("r 5 5", "r 5"), Format::Awdit);
}

#[test]
fn a_large_file_is_read_in_parts_and_a_small_one_is_not() {
    let mut text = String::from("{\"isoscope\":1}\n");
    for number in 0..300_000 {
        _ = writeln!(text, "{{\"s\":{},\"ops\":[[\"w\",{number},1]],\"o\":\"c\"}}", number % 3);
    }
    let folder = Temporary::folder_in(&std::env::temp_dir()).expect("a temporary folder");
    let path = folder.path().join("history.jsonl");
    std::fs::write(&path, &text).expect("a file");
    let options = ReadOptions { threads: 2, ..ReadOptions::default() };
    let loaded = read(&path, "t", &options).expect("large enough");
    let whole = read_bytes("t", text.as_bytes(), &options).expect("a history");
    assert_eq!(shown(&loaded), shown(&whole));
    assert!(read(&path, "t", &ReadOptions::default()).is_none());
    std::fs::write(&path, &text[..1000]).expect("a file");
    assert!(read(&path, "t", &options).is_none());
}
