//! Viper lines by example.

use history::{History, InitialDefault, Op, OpId, Summary, TxnId, ValueId};

use super::*;

fn read_text(text: &str) -> Result<History, Error> {
    let options = ReadOptions::default();
    let mut source = Source::new("t", text.as_bytes(), &options);
    read(&mut source, &options).map(|loaded| loaded.history)
}

#[test]
fn arrays_and_objects_mean_the_same() {
    let arrays = r#"{"value": [["r", 1, -5, false], ["w", "k", 6, false], ["d", 1, 7, -5, false, true], ["range", "nil", 9, [{"id": 1, "sk": 1, "val": 0}], []]]}"#;
    let objects = r#"{"value": [{"opType": "r", "key": 1, "value": -5, "isDead": false}, {"opType": "w", "key": "k", "value": 6, "succ": false},
        {"opType": "d", "key": 1, "value": 7, "readValue": -5, "isDead": false, "succ": true},
        {"opType": "range", "key1": "nil", "key2": 9, "liveKVs": [{"id": 1, "sk": 1, "val": 0}], "deadKVs": []}]}"#;
    let print = |text| format!("{:?}", read_text(text).unwrap());
    assert_eq!(print(arrays), print(objects));
    let history = read_text(arrays).unwrap();
    assert_eq!(Summary::of(&history).operations, 4);
    assert!(history.is_failed(OpId(1)));
    assert!(matches!(history.op(OpId(3)), Op::Delete { tombstone: Some(ValueId(7)), .. }));
}

#[test]
fn a_line_may_be_the_initial_state() {
    let history =
        read_text("{\"value\": [[\"w\", 1, 5, true]], \"isInitial\": true}\n{\"value\": []}\n").unwrap();
    assert_eq!(history.initial().default, InitialDefault::Value(ValueId::NIL));
    assert_eq!(history.initial().recorded.len(), 1);
    assert_eq!((history.session_count(), history.txn_count()), (1, 1));
    let history = read_text("{\"value\": []}\n").unwrap();
    assert_eq!(history.initial().default, InitialDefault::UnknownButOne);
}

#[test]
fn times_are_milliseconds() {
    let text =
        "{\"preBeginTS\": 3, \"postBeginTS\": 4, \"preCommitTS\": 5, \"postCommitTS\": 6, \"value\": []}";
    let times = read_text(text).unwrap().times(TxnId(0));
    assert_eq!((times.start(), times.end()), (Some(3_000_000), Some(6_000_000)));
}

#[test]
fn what_is_no_line_is_refused_with_its_place() {
    let refusal = |text| read_text(text).unwrap_err().to_string();
    assert_eq!(
        refusal("{\"value\": []}\n{\"value\": [[\"x\", 1]]}"),
        "t:2:16: expected one of r, w, i, d, append, range before this, found `, 1]]}`"
    );
    assert!(refusal("{\"value\": [[\"r\", 1, 2, false]]").ends_with("found the end of the file"));
    assert!(refusal("{\"other\": 1}").contains("a field `value`"));
    assert!(refusal("{\"value\": [{\"opType\": \"r\", \"key\": 1}]}").contains("all its fields"));
}
