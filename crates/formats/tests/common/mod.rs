//! A small file of each format, for the tests that go over all of them.

use isoscope_formats::{Format, WriteOptions, notation, write_to};

/// Everything that most formats can hold: two sessions, an aborted transaction, an initial read.
pub const SMALL: &str = "
    init *=0
    1: r(1)=0 w(1)=1
    1: w(2)=2 abort
    2: r(1)=1 w(2)=3
    2: r(2)=3 r(1)=1
";

/// Each format with a small file of it.
pub fn samples() -> Vec<(Format, Vec<u8>)> {
    let mut samples: Vec<(Format, Vec<u8>)> =
        TEXTS.iter().map(|&(format, text)| (format, text.as_bytes().to_vec())).collect();
    for format in Format::ALL.into_iter().filter(|format| format.can_write()) {
        samples.push((format, written(format)));
    }
    samples
}

/// A small history as the writer of the format writes it.
fn written(format: Format) -> Vec<u8> {
    let text = match format {
        // One log is one session, and aborted transactions are not in it.
        Format::Cobra => "init *=0\n1: r(1)=0 w(1)=1\n1: r(1)=1 w(2)=2\n",
        _ => SMALL,
    };
    let history = notation::parse(text).unwrap();
    let mut bytes = Vec::new();
    write_to(&history, format, &mut bytes, &WriteOptions { lossy: true }).unwrap();
    bytes
}

const TEXTS: [(Format, &str); 14] = [
    (
        Format::DbcopJson,
        r#"{"params":{"id":1,"n_node":2},"info":"a\n","start":"x","end":"y","data":[[{"events":[["w",1,2],["r",3,null]],"committed":true}],[{"committed":false,"events":[{"Read":{"variable":1,"version":2}},{"Write":{"version":0,"variable":1}}]}]]}"#,
    ),
    (Format::DbcopJson, r#"[[{"events":[["w",1,2]],"committed":true}],[]]"#),
    (Format::DbcopHist, "// two\n[x:=1 y:=0][x==1]!\n\n---\n[y==? x==1]\n"),
    (
        Format::Viper,
        "{\"value\": [[\"w\", 1, 5, true], [\"w\", \"b\", -6, true]], \"isInitial\": true}\n{\"preBeginTS\": 3, \"postCommitTS\": 9, \"value\": [[\"r\", 1, 5, false], [\"d\", 1, 8, 5, false, true], [\"i\", 2, 8, 0, true, false], [\"append\", 3, 1, true], [\"range\", \"nil\", 4, [{\"id\": 1, \"sk\": 1, \"val\": 5}], [{\"id\": 2, \"sk\": 2, \"val\": 7}]]]}\n",
    ),
    (
        Format::Viper,
        "{\"value\": [{\"opType\": \"r\", \"key\": \"a\\u0041\", \"value\": 5, \"isDead\": false, \"reqTS\": 1, \"resTS\": 2}, {\"opType\": \"range\", \"key1\": \"nil\", \"key2\": \"nil\", \"liveKVs\": [], \"deadKVs\": []}]}\n",
    ),
    (Format::Polysi, "w(1,0,1,1)\nr(1,0,2,2)\nw(1,5,1,-1)\nr(2,0,1,1)\n"),
    (Format::Awdit, "w 1 0\nw 2 0\n===\nr 1 0\n---\nw 1 1\n\n===\nr 1 1\n"),
    (Format::Notation, "init *=0 y=5\na: r(x)=0 w(y)=1\nb: r(y)=5 w(x)=1 abort\nb: r(x)=0 unknown\n"),
    (
        Format::JepsenEdn,
        "{:type :invoke, :process 0, :value [[:append 1 2] [:r 1 nil]], :index 0, :time 3}\n{:type :ok, :process 0, :value [[:append 1 2] [:r 1 [2]]], :index 1, :time 5}\n",
    ),
    (
        Format::JepsenEdn,
        "[{:type :ok :process 1 :value [[:w :x 1] [:r \"y\" nil]]} ; comment\n {:type :info :process 2 :f :txn :value [[:r :x nil]] #_ ignored} {:type :fail :process 3 :value [[:w :x 2]]}]",
    ),
    (
        Format::JepsenEdn,
        "{:type :invoke :process 0 :value [[:insert 1 2] [:rp :true nil] [:delete 1]]}\n{:type :ok :process 0 :value [[:insert 1 2] [:rp :true {1 2}] [:delete 1]]}\n",
    ),
    (
        Format::JepsenJson,
        "[{\"type\": \"invoke\", \"process\": 0, \"value\": [[\"append\", 1, 2], [\"r\", 1, null]], \"index\": 0}, {\"type\": \"ok\", \"process\": 0, \"value\": [[\"append\", 1, 2], [\"r\", 1, [2]]], \"index\": 1}]",
    ),
    (
        Format::JepsenJson,
        "{\"type\": \"ok\", \"process\": 0, \"value\": [[\"w\", \"x\", 1], [\"r\", \"y\", null]]}\n{\"type\": \"fail\", \"process\": 1, \"value\": [[\"w\", \"x\", 2]]}\n",
    ),
    (
        Format::Native,
        "{\"isoscope\":1}\n{\"default\":0}\n{\"s\":0,\"ops\":[[\"r\",\"x\",0],[\"w\",\"y\",1]],\"o\":\"c\"}\n",
    ),
];
