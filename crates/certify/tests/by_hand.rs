//! Certificates written by hand: those that prove something pass, and each way to spoil one is named.

use history::{History, KeyId, OpId};
use isoscope_certify::{
    Certificate, Document, Fingerprint, Level, Lit, ReadId, Rule, Source, Step, check, read,
};

fn history(text: &str) -> History {
    formats::notation::parse(text).unwrap()
}

/// Reads a certificate for a history, of which only the verdict and its argument are given.
fn document(history: &History, level: &Level, argument: &str) -> Document {
    let mut text = Vec::new();
    let (order, committed_unknown) = (Vec::new(), Vec::new());
    let empty = isoscope_certify::Certificate::Holds { order, committed_unknown };
    isoscope_certify::write(&empty, level, Fingerprint::of(history), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let (head, _) = text.split_once(" \"verdict\"").unwrap();
    read(format!("{head} {argument}}}").as_bytes()).unwrap()
}

#[track_caller]
fn passes(history: &History, level: Level, argument: &str) {
    document(history, &level, argument).check(history).unwrap();
}

#[track_caller]
fn fails(history: &History, level: Level, argument: &str, expected: &str) {
    let document = document(history, &level, argument);
    let flaw = check(history, &level, &document.certificate).unwrap_err().to_string();
    assert!(flaw.contains(expected), "{flaw}");
}

fn holds(order: &str, committed_unknown: &str) -> String {
    let order: Vec<String> = order.split_whitespace().map(|event| format!("{event:?}")).collect();
    let order = order.join(", ");
    format!("\"verdict\": \"holds\", \"order\": [{order}], \"committed_unknown\": [{committed_unknown}]")
}

/// Steps as lines: the rule, its read or steps in brackets if it has any, a colon, and the clause.
fn violated(lines: &str) -> String {
    let step = |line: &str| {
        let (rule, clause) = line.split_once(':').unwrap();
        let clause: Vec<String> = clause.split_whitespace().map(|lit| format!("{lit:?}")).collect();
        let (rule, detail) = match rule.trim().split_once('(') {
            None => (rule.trim(), String::new()),
            Some(("derived", steps)) => ("derived", format!("\"from\": [{}], ", steps.trim_end_matches(')'))),
            Some((rule, read)) => (rule, format!("\"read\": {}, ", read.trim_end_matches(')'))),
        };
        format!("{{\"rule\": \"{rule}\", {detail}\"clause\": [{}]}}", clause.join(", "))
    };
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    format!("\"verdict\": \"violated\", \"steps\": [{}]", lines.map(step).collect::<Vec<_>>().join(", "))
}

const WRITE_SKEW: &str = "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1";
const LOST_UPDATE: &str = "a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2";

#[test]
fn write_skew_has_snapshots() {
    let history = history(WRITE_SKEW);
    let level = Level::SNAPSHOT_ISOLATION;
    passes(&history, level, &holds("b0 b1 c0 c1", ""));
    passes(&history, level, &holds("b1 b0 c0 c1", ""));
    fails(
        &history,
        level,
        &holds("b0 c0 b1 c1", ""),
        "read by operation 3: it saw 0, but at its begin the key holds 1",
    );
    fails(&history, level, &holds("b0 b1 c0", ""), "transaction 1: it committed, but not all of its events");
    fails(
        &history,
        level,
        &holds("b0 b1 c0 c1 c1", ""),
        "order, entry 4: this event of transaction 1 is also entry 3",
    );
    fails(&history, level, &holds("c0 b1 b0 c1", ""), "transaction 0: it commits before it begins");
    fails(&history, level, &holds("b0 b1 c0 c1 b2", ""), "order, entry 4: there is no such event");
    fails(&history, level, &holds("b0 b1 c0 c1 init", ""), "order, entry 4: there is no such event");
    fails(
        &history,
        level,
        &holds("b0 b1 c0 c1", "0"),
        "committed_unknown, entry 0: the outcome of transaction 0 is not unknown",
    );
    fails(&history, level, &holds("b0 b1 c0 c1", "7"), "there is no transaction 7");
    fails(&history, Level::SERIALIZABLE, &holds("t0 t1", ""), "it saw 0, but");
}

#[test]
fn write_skew_is_not_serializable() {
    let history = history(WRITE_SKEW);
    let level = Level::SERIALIZABLE;
    let proof = "
        sources(1): r1=init
        overwritten: !r1=init t0<t1
        sources(3): r3=init
        overwritten: !r3=init t1<t0
        derived(0, 1, 2, 3):
    ";
    passes(&history, level, &violated(proof));
    let spoilt = |from: &str, to: &str, expected: &str| {
        assert!(proof.contains(from));
        fails(&history, level, &violated(&proof.replacen(from, to, 1)), expected);
    };
    spoilt("derived(0, 1, 2, 3):", "", "the last step is not the empty clause");
    spoilt("(0, 1, 2, 3)", "(0, 1, 2)", "step 4: step 2 is the last one named");
    spoilt("(0, 1, 2, 3)", "(1, 0, 2, 3)", "step 4: step 1 has two literals left");
    spoilt("(0, 1, 2, 3)", "(0, 1, 2, 4)", "step 4: step 4 is not an earlier step");
    spoilt("sources(1)", "sources(0)", "step 0: r1=init does not belong to the clause");
    spoilt("sources(1)", "sources(2)", "step 0: operation 2 is not an external read");
    spoilt("r1=init\n", "\n", "step 0: the clause lists 0 of the 1 sources of operation 1");
    spoilt("!r1=init t0<t1", "!r1=init t1<t0", "step 1: the clause does not put the read before a commit");
    spoilt("!r1=init t0<t1", "t0<t1", "step 1: the clause denies no source of a read");
    spoilt("!r1=init t0<t1", "!r0=init t0<t1", "step 1: transaction 1 is not another writer of the key");
    spoilt("!r1=init t0<t1", "!r1=t1 t0<t1", "step 1: r1=t1 is not possible by the values");
    spoilt("overwritten: !r1=init t0<t1", "session: t0<t1", "the level does not respect sessions");
    spoilt("t0<t1", "t0<t0", "step 1: t0<t0 puts an event before itself");
    spoilt("t0<t1", "t0<t2", "step 1: t0<t2: transaction 2 aborted or does not exist");
    spoilt("!r1=init t0<t1", "!r1=init t0<t1 in0", "step 1: in0 does not belong to the clause");
    fails(&history, level, &violated(""), "there are no steps");
}

#[test]
fn a_lost_update_has_no_snapshots_but_prefixes() {
    let history = history(LOST_UPDATE);
    let proof = violated(
        "
        sources(0): r0=init
        overwritten: !r0=init b0<c1
        sources(2): r2=init
        overwritten: !r2=init b1<c0
        two_writers: c0<b1 c1<b0
        derived(0, 1, 2, 3, 4):
        ",
    );
    passes(&history, Level::SNAPSHOT_ISOLATION, &proof);
    fails(&history, Level::PREFIX, &proof, "step 4: c0<b1 does not belong to the clause");
    let overlapping = holds("b0 b1 c0 c1", "");
    passes(&history, Level::PREFIX, &overlapping);
    let expected = "order, entry 3: entry 2 wrote x between the begin and the commit of this writer of x";
    fails(&history, Level::SNAPSHOT_ISOLATION, &overlapping, expected);
}

#[test]
fn sessions_count_where_the_level_says_so() {
    let history = history("a: w(x)=1\na: r(x)=0");
    passes(&history, Level::SERIALIZABLE, &holds("t1 t0", ""));
    let expected = "transaction 1: transaction 0 is before it in its session, but not in the order";
    fails(&history, Level::SESSION_SERIALIZABLE, &holds("t1 t0", ""), expected);
    let proof = violated(
        "
        session: t0<t1
        sources(1): r1=init
        overwritten: !r1=init t1<t0
        derived(0, 1, 2):
        ",
    );
    passes(&history, Level::SESSION_SERIALIZABLE, &proof);
    fails(&history, Level::SERIALIZABLE, &proof, "step 0: the level does not respect sessions");
}

#[test]
fn real_time_counts_beyond_the_skew() {
    let history = history("a: w(x)=1 @[0,10]\nb: r(x)=0 @[15,20]");
    let proof = violated(
        "
        real_time: t0<t1
        sources(1): r1=init
        overwritten: !r1=init t1<t0
        derived(0, 1, 2):
        ",
    );
    let (exact, skewed) = (Level::STRICT_SERIALIZABLE, Level::STRICT_SERIALIZABLE.with_clock_skew(5));
    passes(&history, exact, &proof);
    fails(&history, skewed, &proof, "step 0: the first event is not before the second in real time");
    passes(&history, skewed, &holds("t1 t0", ""));
    fails(&history, exact, &holds("t1 t0", ""), "order, entry 1: it is before entry 0 in real time");
    for skew in [-1, i64::MIN, Level::LARGEST_CLOCK_SKEW + 1, i64::MAX] {
        let expected = format!("level: the clock skew is {skew}, and must be from 0 to 2305843009213693951");
        fails(&history, exact.with_clock_skew(skew), &holds("t1 t0", ""), &expected);
    }
    let senseless = Level { core: isoscope_certify::Core::Snapshot, ..exact };
    fails(&history, senseless, &holds("b1 c1 b0 c0", ""), "level: real time Strict has no meaning");
}

#[test]
fn real_time_needs_a_clock_and_a_skew_needs_two() {
    let timeless = history("a: w(x)=1\nb: r(x)=0");
    passes(&timeless, Level::SESSION_SERIALIZABLE, &holds("t1 t0", ""));
    fails(
        &timeless,
        Level::STRICT_SERIALIZABLE,
        &holds("t1 t0", ""),
        "level: it respects real time, and the history has no times",
    );
    let recorded = history("clock position\na: w(x)=1 @[0,1]\nb: r(x)=0 @[3,4]");
    fails(&recorded, Level::STRICT_SERIALIZABLE, &holds("t1 t0", ""), "order, entry 1: it is before entry 0");
    fails(
        &recorded,
        Level::STRICT_SERIALIZABLE.with_clock_skew(2),
        &holds("t1 t0", ""),
        "level: the clock skew is 2, and the times of the history are places in one recording",
    );
}

#[test]
fn unknown_outcomes_go_either_way() {
    let history = history("a: r(x)=0 w(x)=1 unknown\nb: r(x)=0 w(x)=2\nc: r(x)=1");
    let level = Level::SERIALIZABLE;
    fails(&history, level, &holds("t1 t2", ""), "read by operation 4: it saw 1");
    fails(&history, level, &holds("t0 t1 t2", ""), "order, entry 0: transaction 0 is not taken as committed");
    fails(&history, level, &holds("t0 t1 t2", "0"), "read by operation 2");
    fails(&history, level, &holds("t0 t1 t2", "0, 0"), "transaction 0 is listed out of order or twice");
    let proof = "
        sources(4): r4=t0
        read_committed: !r4=t0 in0
        sources(0): r0=init !in0
        overwritten: !r0=init t0<t1
        sources(2): r2=init
        overwritten: !r2=init t1<t0 !in0
        derived(0, 1, 2, 3, 4, 5):
    ";
    passes(&history, level, &violated(proof));
    let without = proof.replace("t1<t0 !in0", "t1<t0");
    fails(&history, level, &violated(&without), "step 5: !in0 is missing from the clause");
}

/// A session that goes on after an unknown transaction says something about the clock only if that one committed.
#[test]
fn an_unknown_transaction_carries_no_order_of_its_own() {
    let history = history("a: w(y)=1 unknown @[18..19,20..?]\na: r(x)=0\nb: w(x)=1 @[1..2,3..4]");
    let level = Level::STRONG_SESSION_SI;
    passes(&history, level, &holds("b1 c1 b2 c2", ""));
    let proof = "
        real_time: c2<c0
        session: c0<b1
        cycle: c0<c2 b1<c0 c2<b1
        sources(1): r1=init
        overwritten: !r1=init b1<c2
        derived(0, 1, 2, 3, 4):
    ";
    fails(&history, level, &violated(proof), "step 1: !in0 is missing from the clause");
    let expected = "step 5: step 1 has two literals left";
    fails(&history, level, &violated(&proof.replace("session: c0<b1", "session: c0<b1 !in0")), expected);
}

#[test]
fn own_operations_and_aborted_writers() {
    let mine = history("a: w(x)=1 r(x)=0");
    passes(&mine, Level::PREFIX, &violated("internal(1):"));
    fails(
        &mine,
        Level::PREFIX,
        &violated("internal(0):"),
        "operation 0 does not contradict its own transaction",
    );
    fails(
        &mine,
        Level::PREFIX,
        &holds("b0 c0", ""),
        "its own transaction had seen or written something else before",
    );
    let aborted = history("a: w(x)=1 abort\nb: r(x)=1\nc: r(x)=7 abort");
    passes(&aborted, Level::PREFIX, &violated("sources(1):"));
    fails(&aborted, Level::PREFIX, &violated("sources(2):"), "operation 2 is not an external read");
    fails(&aborted, Level::PREFIX, &holds("b0 c0 b1 c1", ""), "transaction 0 is not taken as committed");
}

#[test]
fn an_initial_value_that_was_not_recorded_is_one_value_that_nobody_wrote() {
    let level = Level::SERIALIZABLE;
    let one = history("init *=?\na: r(x)=7\nb: r(x)=7 w(x)=8");
    passes(&one, level, &holds("t0 t1", ""));
    let two = history("init *=?\na: r(x)=7 unknown\nb: r(x)=9 unknown\nc: w(y)=1");
    fails(
        &two,
        level,
        &holds("t0 t1 t2", "0, 1"),
        "read by operation 1: it saw 9, but at its begin the key holds 7",
    );
    passes(&two, level, &holds("t1 t2", "1"));
    let clash = history("init *=?\na: r(x)=7\nb: r(x)=9");
    passes(&clash, level, &violated("sources(1):"));
    let aborted = history("init *=?\na: r(x)=7\nb: w(x)=7 abort");
    passes(&aborted, level, &violated("sources(0):"));
    fails(&aborted, level, &holds("t0", ""), "a transaction wrote what it saw");
}

#[test]
fn lists_under_prefix_are_refused() {
    let one = history("a: a(x)=1\nb: r(x)=[1]");
    fails(&one, Level::PREFIX, &holds("b0 c0 b1 c1", ""), "not supported yet");
    fails(&one, Level::PREFIX, &violated("sources(1):"), "not supported yet");
}

#[test]
fn that_no_order_explains_a_history_is_tried() {
    let level = Level::SERIALIZABLE;
    let mixed = history("init *=nil\na: a(x)=0 r[..]={}");
    passes(&mixed, level, &violated("no_order:"));
    let plain = history("a: r(x)=0 w(y)=1\nb: r(y)=0 w(x)=1");
    passes(&plain, level, &violated("no_order:"));
    passes(&history("a: w(x)=1\nb: r(x)=1 w(x)=2\nc: r(x)=2 w(x)=1"), level, &holds("t0 t1 t2", ""));
    fails(&history("a: w(x)=1\nb: r(x)=1"), level, &violated("no_order:"), "an order explains the history");
    let open = history("init *=?\na: pw(true)=1\nb: r(x)=2");
    fails(&open, level, &violated("no_order:"), "initial values were not recorded");
    let two = violated("no_order:\nno_order:");
    fails(&plain, level, &two, "an argument alone");
}

#[test]
fn a_range_is_a_read_of_each_known_key_in_it() {
    let level = Level::SERIALIZABLE;
    let inserted = history("init *=nil\na: i(1)=5\nb: r[0..9]={}\nc: r[0..9]={1=5}");
    passes(&inserted, level, &holds("t1 t0 t2", ""));
    fails(&inserted, level, &holds("t0 t1 t2", ""), "it saw no row of 1, but at its begin the key holds 5");
    let outside = history("init *=nil\na: i(1)=5\nb: r[2..9]={1=5}");
    passes(&outside, level, &violated("internal(1):"));
    let twice = history("init *=nil\na: i(1)=5\nb: r[0..9]={1=5 1=5}");
    passes(&twice, level, &violated("internal(1):"));
}

#[test]
fn a_list_tells_the_order_of_its_appends() {
    let level = Level::SERIALIZABLE;
    let lists = history("init *=nil\na: a(x)=1\nb: a(x)=2\nc: r(x)=[1 2]");
    passes(&lists, level, &holds("t0 t1 t2", ""));
    fails(&lists, level, &holds("t1 t0 t2", ""), "the list has other elements");
    let opposite = history("init *=nil\na: a(x)=1\nb: a(x)=2\nc: r(x)=[1 2]\nd: r(x)=[2]");
    let proof = "
        list_order(2): t0<t1
        list_order(3): t1<t0
        derived(0, 1):
    ";
    passes(&opposite, level, &violated(proof));
    fails(&opposite, level, &violated(&proof.replace("list_order(3)", "list_order(2)")), "does not show");
}

#[test]
fn a_predicate_that_did_not_return_a_row_saw_one_that_does_not_match() {
    let level = Level::SERIALIZABLE;
    let phantom = history("init *=nil\na: i(x)=1\nb: p(v = 1)={}\nc: p(v = 1)={x=1}");
    passes(&phantom, level, &holds("t1 t0 t2", ""));
    fails(
        &phantom,
        level,
        &holds("t0 t1 t2", ""),
        "replayed at this position, the read returns something else",
    );
}

#[test]
fn what_a_predicate_write_did_comes_in_cases() {
    let level = Level::SERIALIZABLE;
    // Whether b changed x is open: it came before a or after it.
    let open = history("init *=nil\na: i(x)=1\nb: pw(v = 1)=2\nc: r(x)=1");
    passes(&open, level, &holds("t1 t0 t2", ""));
    passes(&open, level, &holds("t0 t2 t1", ""));
    fails(&open, level, &holds("t0 t1 t2", ""), "replayed at this position, the read returns something else");
    fails(&open, level, &violated("one_way: took1.0.0 took1.0.1"), "the last step is not the empty clause");
    fails(&open, level, &violated("one_way: took1.0.0\nderived(0):"), "took1.0.1 is missing from the clause");
    fails(&open, level, &violated("one_way: took1.0.2\nderived(0):"), "there are 2 alternatives");
}

/// What a transaction of unknown outcome saw of a list says nothing unless it committed.
#[test]
fn a_list_that_an_unknown_transaction_saw_counts_only_if_it_committed() {
    let history = history("init *=nil\na: a(x)=1\nb: a(x)=2\nc: r(x)=[2 1] unknown\nd: r(x)=[1 2]");
    passes(&history, Level::SERIALIZABLE, &holds("t0 t1 t3", ""));
    let proof = "
        list_order(2): t1<t0
        list_order(3): t0<t1
        derived(0, 1):
    ";
    fails(&history, Level::SERIALIZABLE, &violated(proof), "step 0: !in2 is missing from the clause");
}

/// Inside a session there is no skew, also at a level that does not respect sessions otherwise.
#[test]
fn the_clock_of_one_session_has_no_skew() {
    let history = history("a: w(x)=1 @[0,1]\na: w(y)=1 @[2,3]\nb: w(z)=1 @[2,3]");
    let level = Level::GENERALIZED_SI.with_clock_skew(5);
    passes(&history, level, &holds("b2 c2 b0 c0 b1 c1", ""));
    fails(&history, level, &holds("b1 c1 b0 c0 b2 c2", ""), "it is before entry 1 in real time");
}

/// A number of changed rows refutes only the alternatives with another number.
#[test]
fn a_number_of_rows_refutes_another_number_only() {
    let history = history("init *=nil x=1\na: pw(v = 1)=2*1\nb: w(x)=3");
    let step = |clause: &str| violated(&format!("row_count(0): {clause}\nderived():"));
    let fails = |clause: &str, expected: &str| fails(&history, Level::SERIALIZABLE, &step(clause), expected);
    fails("!took0.0.0", "step 0: operation 0 may have changed as many rows as it said");
    fails("!took0.0.1", "step 1: it names no step to follow from");
}

/// Offers one clause by a rule, which must be refused: some explanation makes it false.
#[track_caller]
fn refuses_clause(text: &str, level: Level, step: &str, expected: &str) {
    fails(&history(text), level, &violated(&format!("{step}\nderived(0):")), expected);
}

#[test]
fn a_clause_has_the_literals_without_which_it_is_false() {
    let si = Level::SNAPSHOT_ISOLATION;
    let serializable = Level::SERIALIZABLE;
    let count = "init *=nil\nkeys x\na: pw(true)=7*5 unknown\nb: w(y)=1";
    refuses_clause(count, serializable, "row_count(0):", "!in0 is missing");
    let list = "init *=nil\na: a(x)=1 unknown\nb: r(x)=[1] unknown";
    refuses_clause(list, serializable, "listed(1): in0", "!in1 is missing");
    let writers = "a: w(x)=1 unknown\nb: w(x)=2";
    refuses_clause(writers, si, "two_writers: c0<b1 c1<b0", "!in0 is missing");
    let writers = "a: w(x)=1\nb: w(x)=2 unknown";
    refuses_clause(writers, si, "two_writers: c0<b1 c1<b0", "!in1 is missing");
    refuses_clause(writers, serializable, "cycle:", "a cycle has two or more order literals");
}

#[test]
fn a_write_that_may_have_matched_nothing_is_no_second_writer() {
    for text in ["init *=nil x=1\na: pw(v = 1)=2\nb: w(x)=3", "init *=nil x=1\na: w(x)=3\nb: pw(v = 1)=2"] {
        let expected = "are not two writers of a key";
        refuses_clause(text, Level::SNAPSHOT_ISOLATION, "two_writers: c0<b1 c1<b0", expected);
    }
}

#[test]
fn an_initial_value_that_was_not_recorded_stays_a_source() {
    let level = Level::SERIALIZABLE;
    let same = "init *=?\na: r(x)=5\nb: r(x)=5";
    refuses_clause(same, level, "one_initial: !r0=init !r1=init", "do not see two values");
    let recorded = "init *=0\na: r(x)=0\nb: r(x)=5";
    refuses_clause(recorded, level, "one_initial: !r0=init !r1=init", "do not see two values");
    let deleted = "init *=?\na: d(x)\nb: r(x)=nil";
    refuses_clause(deleted, level, "sources(1): r1=t0", "lists 1 of the 2 sources");
    refuses_clause("init *=?\na: r(x)=5 unknown", level, "sources(0): !in0", "lists 0 of the 1 sources");
    // The mark of a deleted row may be there from the beginning, and another range may leave it out.
    let marked = history("init *=?\nkeys 1\na: r[1..1]={~1=91}\nb: r[1..1]={}");
    let rule = Rule::Sources(ReadId { op: OpId(1), key: Some(KeyId(0)) });
    let steps = vec![Step { clause: Vec::new(), rule }];
    check(&marked, &level, &Certificate::Violated { steps, keys: None }).unwrap_err();
}

/// A range that leaves a deleted row out and one that shows its mark saw the same initial state.
#[test]
fn a_range_without_a_row_and_the_mark_of_a_deleted_one_were_no_two_initial_values() {
    let level = Level::SERIALIZABLE;
    let marked = history("init *=?\nkeys 1\na: r[1..1]={~1=91}\nb: r[1..1]={}");
    passes(&marked, level, &holds("t0 t1", ""));
    let reads = [0, 1].map(|op| ReadId { op: OpId(op), key: Some(KeyId(0)) });
    let initial = reads.map(|read| Lit::read_from(read, Source::Initial));
    let steps = vec![
        Step { clause: vec![initial[0]], rule: Rule::Sources(reads[0]) },
        Step { clause: vec![initial[1]], rule: Rule::Sources(reads[1]) },
        Step { clause: initial.map(|lit| !lit).to_vec(), rule: Rule::OneInitial },
        Step { clause: Vec::new(), rule: Rule::Derived(vec![0, 1, 2]) },
    ];
    let flaw = check(&marked, &level, &Certificate::Violated { steps, keys: None }).unwrap_err();
    assert!(flaw.to_string().contains("step 2: the reads do not see two values"), "{flaw}");
}

/// A deleted row without a mark is no row, which may be so from the beginning, also where a delete leaves a mark later.
#[test]
fn a_deleted_row_without_a_mark_may_be_initial() {
    let level = Level::SERIALIZABLE;
    let gone = history("init *=?\na: d(3)=0\nb: r[..]={~3=nil}");
    passes(&gone, level, &holds("t1 t0", ""));
    let read = ReadId { op: OpId(1), key: Some(KeyId(0)) };
    let steps = vec![Step { clause: Vec::new(), rule: Rule::Sources(read) }];
    let flaw = check(&gone, &level, &Certificate::Violated { steps, keys: None }).unwrap_err();
    assert!(flaw.to_string().contains("lists 0 of the 1 sources"), "{flaw}");
}

#[test]
fn reads_that_say_the_same_do_not_contradict_each_other() {
    for (text, op) in [
        ("init *=nil\nkeys 1\na: r(1)=nil r[1..1]={}", 1),
        ("init *=nil\nkeys 1\na: r[1..1]={} r(1)=nil", 1),
        ("init *=nil\nkeys 1\na: w(1)=5\nb: r[1..1]={1=5} r[1..1]={1=5}", 2),
        ("init *=nil\nkeys 1\na: w(1)=5\nb: r[1..1]={1=5} r(1)=5", 2),
        ("init *=nil x=1\na: p(v = 1)={x=1}", 0),
    ] {
        let expected = "does not contradict its own transaction";
        refuses_clause(text, Level::SERIALIZABLE, &format!("internal({op}):"), expected);
    }
}

/// Offers that a read has no source, which must be refused: along this order it has one.
#[track_caller]
fn has_a_source(text: &str, level: Level, order: &str, (op, key): (u32, u32)) {
    let history = history(text);
    passes(&history, level, &holds(order, ""));
    let read = ReadId::of(&history, OpId(op), KeyId(key));
    let steps = vec![Step { clause: Vec::new(), rule: Rule::Sources(read) }];
    for keys in [None, Some(vec![KeyId(key)])] {
        let certificate = Certificate::Violated { steps: steps.clone(), keys };
        check(&history, &level, &certificate).unwrap_err();
    }
}

#[test]
fn what_can_be_visible_in_real_time_stays_a_source() {
    let strict = Level::STRICT_SERIALIZABLE;
    // b began when a had ended, and not later: so it may come before a.
    let at_once = "init *=nil\na: w(x)=1 @[0,10]\nb: w(x)=2 @[10,20]\nc: p(v = 1)={x=1} @[30,40]";
    has_a_source(at_once, strict, "t1 t0 t2", (2, 0));
    let skewed = at_once.replace("[10,20]", "[15,20]");
    has_a_source(&skewed, strict.with_clock_skew(5), "t1 t0 t2", (2, 0));
}

#[test]
fn a_read_whose_answer_was_not_recorded_says_nothing() {
    let unknown = "init *=nil 1=5\na: r[1..1]=? p(v = 5)={1=5}";
    // What a transaction saw of a row is named by the first operation that concerns it.
    has_a_source(unknown, Level::SERIALIZABLE, "t0", (0, 0));
    has_a_source(unknown, Level::SERIALIZABLE, "t0", (1, 0));
}

#[test]
fn each_row_that_a_statement_changed_counts_once() {
    let twice = "init *=nil x=1\na: p(v = 1)={x=1} pw(v = 1)=2*1";
    passes(&history(twice), Level::SERIALIZABLE, &holds("t0", ""));
    let expected = "operation 1 may have changed as many rows as it said";
    refuses_clause(twice, Level::SERIALIZABLE, "row_count(1):", expected);
}

#[test]
fn a_list_whose_members_are_not_certain_stays_open() {
    let level = Level::SERIALIZABLE;
    // After 1 the list goes on with 2 of b or with 2 3 of c.
    let open = "init *=nil\na: a(x)=1\nb: a(x)=2\nc: a(x)=2 a(x)=3\nd: r(x)=[1 2 3]";
    has_a_source(open, level, "t0 t2 t3 t1", (4, 0));
    let twice = "init *=nil\na: a(x)=1 a(x)=3\nb: a(x)=2\nc: a(x)=2\nd: r(x)=[1 3 2]";
    passes(&history(twice), level, &holds("t0 t1 t3 t2", ""));
    for source in ["r4=t1", "r4=t2"] {
        refuses_clause(twice, level, &format!("sources(4): {source}"), "lists 1 of the 2 sources");
    }
}

#[test]
fn a_list_is_made_of_whole_appends_of_others_each_once() {
    let level = Level::SERIALIZABLE;
    for text in [
        "init *=nil\nc: r(x)=[1 2 1]\na: a(x)=1\nb: a(x)=2",
        "init *=nil\na: r(x)=[5 1] a(x)=5\nb: a(x)=1",
        "init *=nil\na: r(x)=[1]\nb: a(x)=1 a(x)=2",
        "init *=nil\na: r(x)=[7]\nb: a(x)=1",
    ] {
        passes(&history(text), level, &violated("sources(0):"));
    }
    let range = history("init *=nil\na: a(1)=5\nb: r[1..1]={}");
    fails(&range, level, &violated("internal(1):"), "ranges of keys that are lists are not supported");
}

#[test]
fn what_says_more_of_a_key_is_compared_with_what_follows() {
    let marks = history("init *=nil\nkeys 1\na: d(1)=91\nb: d(1)=92\nc: r[1..1]={} r(1)=91 r(1)=92");
    passes(&marks, Level::SERIALIZABLE, &violated("internal(4):"));
}

#[test]
fn the_keys_of_a_derivation_are_keys_of_the_history_ascending() {
    let text = history("init *=nil x=1 y=1\na: p(v = 2)={x=2} w(y)=1");
    let steps = vec![Step { clause: Vec::new(), rule: Rule::Internal(OpId(0)) }];
    for keys in [vec![1, 0], vec![0, 0], vec![0, 2]] {
        let keys = Some(keys.into_iter().map(KeyId).collect());
        let certificate = Certificate::Violated { steps: steps.clone(), keys };
        let flaw = check(&text, &Level::SERIALIZABLE, &certificate).unwrap_err();
        assert!(flaw.to_string().contains("its keys are no keys of the history, ascending"), "{flaw}");
    }
}

/// A range names no key by itself, and yet every writer of its keys is a possible source.
#[test]
fn a_row_of_a_range_has_the_sources_of_its_key() {
    let ranged = history("init *=0\nkeys 1\na: w(1)=5\nb: r[1..1]={1=5}");
    let read = ReadId { op: OpId(1), key: Some(KeyId(0)) };
    let steps = vec![Step { clause: Vec::new(), rule: Rule::Sources(read) }];
    check(&ranged, &Level::SERIALIZABLE, &Certificate::Violated { steps, keys: None }).unwrap_err();
    passes(&ranged, Level::SERIALIZABLE, &holds("t0 t1", ""));
}
