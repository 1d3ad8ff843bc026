//! Times that run backwards are errors of the input, in every format that has times.

#[test]
fn times_that_run_backwards_are_refused_with_their_place() {
    const HINT: &str = "(the times of one session never run backwards: record them with one monotonic clock, give \
        transactions that overlap sessions of their own, or leave out times that are not known)";
    let refusal = |text: &str| {
        let error =
            isoscope_formats::read_bytes("file", text.as_bytes(), &isoscope_formats::ReadOptions::default())
                .unwrap_err();
        let error = error.to_string();
        assert!(error.ends_with(HINT), "{error}");
        error[..error.len() - HINT.len() - 1].to_owned()
    };
    for (text, expected) in [
        (
            "a: w(x)=1 @[5,4]",
            "file:1:16: expected the commit response of transaction 1 of the input no earlier than the begin request at 5, found 4",
        ),
        (
            "a: w(x)=1\nb: T7{w(x)=2} @[1..3,2..4]",
            "file:2:26: expected the commit request of T7 no earlier than the begin response at 3, found 2",
        ),
        (
            "a: w(x)=1 @[1,5]\nb: r(x)=1 @[2,3]\na: {r(x)=1} @[4,9]",
            "file:3:18: expected the begin request of transaction 3 of the input no earlier than the commit response of the transaction before it in its session at 5, found 4",
        ),
        (
            "a: w(x)=1@[5,4]",
            "file:1:15: expected the response to an operation of transaction 1 of the input no earlier than its request at 5, found 4",
        ),
        (
            "{\"isoscope\":1}\n{\"s\":0,\"o\":\"c\",\"t\":[2,null,null,1],\"ops\":[]}\n",
            "file:2:1: expected the commit response of transaction 1 of the input no earlier than the begin request at 2, found 1",
        ),
        (
            "{\"value\": [[\"w\", 1, 2, true]], \"preBeginTS\": 5, \"postCommitTS\": 4}\n",
            "file:1:67: expected the commit response of transaction 1 of the input no earlier than the begin request at 5000000, found 4000000",
        ),
    ] {
        assert_eq!(refusal(text), expected);
    }
    let mut log = Vec::new();
    for (opcode, time) in [(b'S', 7u64), (b'C', 6)] {
        log.push(opcode);
        log.extend_from_slice(&1u64.to_be_bytes());
        log.extend_from_slice(&time.to_be_bytes());
    }
    let options = isoscope_formats::ReadOptions::default().with_format(isoscope_formats::Format::Cobra);
    let error = isoscope_formats::read_bytes("T1.log", &log, &options).unwrap_err().to_string();
    assert!(
        error.starts_with("T1.log: byte 34: expected the commit response of T1 no earlier than"),
        "{error}"
    );
}
