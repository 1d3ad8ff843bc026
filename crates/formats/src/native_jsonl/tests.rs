//! Native JSON Lines: round trips, torn lines, and errors with their places.

use history::*;

use super::*;
use crate::sample_histories::{describe, random_history, seeds};
use crate::{Error, Format, Loaded, ReadOptions, WriteOptions, read_bytes};

fn load(text: impl AsRef<[u8]>) -> Result<Loaded, Error> {
    read_bytes("file", text.as_ref(), &ReadOptions::default().with_format(Format::Native))
}

fn print(history: &History) -> String {
    let mut out = Vec::new();
    write(history, &mut out, &WriteOptions::default()).unwrap();
    String::from_utf8(out).unwrap()
}

const SMALL: &str = r#"{"isoscope":1,"clock":"nanoseconds"}
{"default":0}
{"initial":[["y",{":":"k"}]]}
{"session":0,"name":"a"}
{"s":0,"ops":[["r","x",0],["w","y",1,{"v":7,"t":[1,null]}]],"o":"c","t":[10,null,null,20]}
{"s":0,"n":"second","ops":[],"o":"a"}
{"s":1,"ops":[["l",5,[1,2]],["a",5,3],["d","x",{"f":true}],["range",null,["ex",9],[[5,1],[6,null,true]]],["p?",{"'":"v"}],["pd",true,{"rows":3}]],"o":"u"}
"#;

#[test]
fn a_small_history_is_written_as_it_was_read() {
    let loaded = load(SMALL).unwrap();
    assert!(loaded.warnings.is_empty());
    assert_eq!(print(&loaded.history), SMALL);
}

#[test]
fn random_histories_come_back_as_they_were() {
    for seed in seeds() {
        let history = random_history(seed);
        let text = print(&history);
        let read = load(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(describe(&read.history), describe(&history), "seed {seed}\n{text}");
        assert_eq!(print(&read.history), text, "seed {seed}");
    }
}

#[test]
fn members_may_come_in_any_order_and_with_blanks() {
    let text = r#" { "isoscope" : 1 }

{ "o" : "c" , "ops" : [ [ "r" , "\u0078\ud834\udd1e" , 1.5e0 ] , [ "w" , -0 , 12345678901234567890 ] ] , "s" : 7 }
{"ops":[],"t":[1,2,3,4],"s":7,"o":"u"}
{"note":{"anything":[1,{"at":"all"}]}}
{"default?":true}"#;
    let history = load(text).unwrap().history;
    assert_eq!((history.session_count(), history.txn_count(), history.op_count()), (1, 2, 2));
    assert_eq!(history.initial().default, InitialDefault::UnknownButOne);
    assert_eq!(history.keys().original(KeyId(0)), &Datum::from("x𝄞"));
    let values: Vec<_> =
        history.ops(TxnId(0)).map(|(_, op)| history.values().original(op.value().unwrap())).collect();
    assert_eq!(values, [Datum::float(1.5), Datum::uint(12345678901234567890)]);
}

#[test]
fn a_recording_cut_anywhere_is_the_history_so_far() {
    let whole = load(SMALL).unwrap().history;
    let header = SMALL.find('\n').unwrap();
    for cut in 0..SMALL.len() {
        let loaded = load(&SMALL[..cut]);
        if cut < header {
            assert!(loaded.is_err(), "cut at {cut}");
            continue;
        }
        let loaded = loaded.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        let is_line_end = SMALL[cut..].starts_with('\n') || SMALL[..cut].ends_with('\n');
        assert_eq!(loaded.warnings.len(), usize::from(!is_line_end), "cut at {cut}");
        assert!(loaded.history.txn_count() <= whole.txn_count());
    }
    let warning = &load(&SMALL[..SMALL.len() - 9]).unwrap().warnings[0];
    assert_eq!(warning.name, "torn-line");
    assert!(warning.sentence.starts_with("line 7, the last one, is cut off"), "{warning}");
}

#[test]
fn the_end_of_a_recording_that_broke_off_is_doubted() {
    let lines = "{\"isoscope\":1}\n{\"recording\":\"open\"}\n\
        {\"s\":0,\"ops\":[[\"w\",1,1]],\"o\":\"c\",\"t\":[1,2,3,4]}\n\
        {\"s\":1,\"ops\":[[\"r\",1,1]],\"o\":\"c\",\"t\":[5,6,7,8]}\n\
        {\"s\":1,\"ops\":[[\"r\",1,9]],\"o\":\"a\",\"t\":[9,9,9,9]}\n\
        {\"s\":0,\"ops\":[[\"r\",1,9]],\"o\":\"c\",\"t\":[5,6,7,10]}\n";
    let outcomes = |text: &str| {
        let loaded = load(text).unwrap();
        let outcome = |txn| format!("{:?}", loaded.history.outcome(txn)).remove(0);
        let outcomes: String = loaded.history.txns().map(outcome).collect();
        (outcomes, loaded.warnings.len())
    };
    assert_eq!(outcomes(lines), ("CUCA".to_owned(), 1));
    assert_eq!(outcomes(&format!("{lines}{{\"recording\":\"closed\"}}\n")), ("CCCA".to_owned(), 0));
}

#[test]
fn any_byte_may_be_anything() {
    let mut bytes = SMALL.as_bytes().to_vec();
    for place in 0..bytes.len() {
        for flip in [1, 2, 4, 8, 16, 32, 64, 128] {
            bytes[place] ^= flip;
            let _ = load(&bytes);
            bytes[place] ^= flip;
        }
    }
}

#[test]
fn errors_say_where_and_what() {
    let error = |line: &str| load(format!("{{\"isoscope\":1}}\n{line}\n")).unwrap_err().to_string();
    for (line, expected) in [
        ("{\"s\":0,\"ops\":[[\"z\",1]],\"o\":\"c\"}", "file:2:16: expected one of the operations r r? w"),
        ("{\"s\":0,\"ops\":[]}", "file:2:1: expected the outcome: the member o"),
        ("{\"s\":0,\"o\":\"c\"}", "file:2:1: expected the members s, o and ops"),
        ("{\"s\":0,\"s\":0,\"ops\":[],\"o\":\"c\"}", "file:2:7: expected each member once"),
        ("{\"s\":0,\"ops\":[],\"ops\":[],\"o\":\"c\"}", "file:2:16: expected each member once"),
        ("{\"ops\":[],\"ops\":[],\"s\":0,\"o\":\"c\"}", "file:2:10: expected each member once"),
        ("{\"s\":0,\"ops\":[[\"r\",1]],\"o\":\"c\"}", "file:2:21: expected `,` and a value, found `]],"),
        ("{\"s\":0,\"ops\":[[\"r\",1,2,3]],\"o\":\"c\"}", "file:2:24: expected `{` and what else"),
        ("{\"s\":0,\"ops\":[[\"r\",1,01]],\"o\":\"c\"}", "file:2:22: expected a value of JSON"),
        ("{\"s\":0,\"ops\":[[\"r\",1,1e999]],\"o\":\"c\"}", "file:2:22: expected a number that a float"),
        ("{\"s\":0,\"ops\":[],\"o\":\"x\"}", "file:2:21: expected an outcome"),
        ("{\"s\":0,\"ops\":[],\"o\":\"c\"} x", "file:2:26: expected the end of the line, found `x`"),
        ("{\"initial\":[[1,1],[1,2]]}", "file:2:19: expected one initial value for each key"),
        (
            "{\"session\":0}\n{\"session\":0}",
            "file:3:12: expected the number of a session that did not occur yet",
        ),
        ("{\"zzz\":0}", "file:2:1: expected one of the members"),
        ("{}", "file:2:1: expected one of the members"),
        ("{\"note\":\"\u{1}\"}", "file:2:10: expected `\"` at the end of a string"),
    ] {
        assert!(error(line).starts_with(expected), "{line}: {}", error(line));
    }
    let header = load("{\"isoscope\":2}\n").unwrap_err().to_string();
    assert!(
        header.starts_with("file:1:13: expected version 1 of the native format, found `2}` (a newer"),
        "{header}"
    );
    assert!(load("{\"s\":0,\"ops\":[],\"o\":\"c\"}\n").is_err());
    assert!(load("{\"isoscope\":1}\n\"\u{ff}\"\n").is_err());
    assert!(load(b"{\"isoscope\":1}\n{\"note\":\"\xff\"}\n").is_err());
}

#[test]
fn deep_nesting_is_an_error() {
    let nested = |depth| {
        let brackets = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        load(format!("{{\"isoscope\":1}}\n{{\"s\":0,\"ops\":[[\"w\",1,{brackets}]],\"o\":\"c\"}}\n"))
    };
    assert!(nested(129).is_ok());
    assert!(nested(130).is_err());
    assert!(nested(1_000_000).is_err());
}

#[test]
fn a_recorder_writes_what_the_reader_reads() {
    let mut writer = NativeWriter::new(Vec::new(), Clock::Nanoseconds).unwrap();
    writer.note(&"a run".into()).unwrap();
    let mut line = TxnLine::new(2, Some(&"t".into()));
    line.read_unknown(&"x".into());
    line.mark_failed();
    line.delete(&"x".into(), Some(&"gone".into()));
    line.set_op_times(OpTimes { request: Some(1), response: None });
    line.set_op_version(3);
    writer.transaction(&line.end(Outcome::Unknown, TxnTimes::default())).unwrap();
    writer.initial(&[("x".into(), 5.into())]).unwrap();
    writer.default_unknown().unwrap();
    let history = load(writer.finish().unwrap()).unwrap().history;
    assert_eq!(history.initial().recorded, [(KeyId(0), ValueId(5))]);
    assert_eq!((history.is_failed(OpId(0)), history.op_version(OpId(1))), (true, Some(3)));
    assert_eq!(history.txn_label(TxnId(0)), "t");
}

#[test]
fn the_document_shows_what_is_read() {
    let document = include_str!("../../../../docs/formats/native.md");
    let example = document.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let history = load(example).unwrap().history;
    assert_eq!((history.session_count(), history.txn_count(), history.op_count()), (2, 2, 4));
}

#[test]
fn rows_that_are_spelled_alike_are_one_value() {
    let row = r#"{"row":[["v1",1],["v2",2]]}"#;
    let odd = r#"{"row":[["a}b",1]]}"#;
    let rows = format!(
        r#"[[1,{row}],[2,{row}],[3, {row} ,true],[4,{{":":"a"}}],[5,{odd}],[6,{odd}],[7,7],[8,"x"]]"#
    );
    let text = format!("{{\"isoscope\":1}}\n{{\"s\":0,\"ops\":[[\"p\",\"v1 = 1\",{rows}]],\"o\":\"c\"}}\n");
    let history = crate::read_bytes("file", text.as_bytes(), &ReadOptions::default()).unwrap().history;
    let Op::PredicateRead(read) = history.op(OpId(0)) else { panic!("a predicate read") };
    let values: Vec<String> =
        read.rows.iter().flatten().map(|row| history.values().original(row.value).to_string()).collect();
    let plain = "{v1: 1, v2: 2}";
    assert_eq!(values, [plain, plain, plain, ":a", "{\"a}b\": 1}", "{\"a}b\": 1}", "7", "x"]);
}

#[test]
fn marks_say_nothing_about_the_history() {
    let (before, after) = SMALL.split_at(SMALL.find("{\"s\":1").unwrap());
    let marked = format!("{before}{{\"before\":17}}\n{after}{{\"before\":-3}}\n");
    assert_eq!(print(&load(marked).unwrap().history), SMALL);
    let error = load(format!("{SMALL}{{\"before\":\"now\"}}\n")).unwrap_err().to_string();
    assert!(error.contains("a time"), "{error}");
}

#[test]
fn a_recording_that_is_followed_says_the_same_block_by_block() {
    for seed in seeds() {
        let history = random_history(seed);
        let text = print(&history);
        let mut reader = LineReader::new("file");
        let mut count = 0;
        for line in text.split_inclusive('\n') {
            let batch = reader.read(line.as_bytes()).unwrap();
            assert_eq!(batch.order.len(), batch.history.txn_count());
            for &txn in &batch.order {
                let ops: Vec<_> = batch.history.ops(txn).collect();
                let whole: Vec<_> = history.ops(TxnId(count)).collect();
                assert_eq!(ops.len(), whole.len(), "seed {seed}");
                assert_eq!(batch.history.times(txn), history.times(TxnId(count)));
                count += 1;
            }
        }
        assert_eq!(count as usize, history.txn_count());
        assert_eq!(reader.lines() as usize, text.lines().count());
    }
}
