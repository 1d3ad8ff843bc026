//! What it takes to check, write and read certificates: `cargo run --release --example measure -p isoscope-certify`.
//!
//! "Holds" is for a serial run of a million transactions of eight operations in 100 sessions on 100,000 keys, with
//! times; "violated" for a million transactions of which each read what the one before it wrote, in one circle.

use std::time::Instant;

use history::{Builder, History, InitialState, KeyId, OpId, Outcome, SessionId, TxnId, TxnTimes, ValueId};
use isoscope_certify::{Certificate, Fingerprint, Level, Lit, Node, Rule, Source, Step, check, read, write};

const TXNS: u32 = 1_000_000;
const SESSIONS: u32 = 100;
const KEYS: u32 = 100_000;
const OPS: u32 = 8;

fn main() {
    let (history, order) = serial_run();
    let levels = [
        ("serializable", Level::SERIALIZABLE),
        ("strict-serializable", Level::STRICT_SERIALIZABLE),
        ("session-snapshot-isolation", Level::SESSION_SNAPSHOT_ISOLATION),
        ("strong-si", Level::STRONG_SI),
    ];
    for (name, level) in levels {
        println!("{name} holds");
        measure(&history, &level, &holds(&order, &level));
    }
    let (history, certificate) = circle();
    println!("serializable violated");
    measure(&history, &Level::SERIALIZABLE, &certificate);
}

fn measure(history: &History, level: &Level, certificate: &Certificate) {
    timed("check", || check(history, level, certificate).expect("a proof"));
    let fingerprint = timed("fingerprint", || Fingerprint::of(history));
    let mut text = Vec::new();
    timed("write", || write(certificate, level, fingerprint, &mut text).expect("memory"));
    let document = timed("read", || read(&text).expect("a certificate"));
    assert_eq!(document.certificate, *certificate);
    println!("  {:<12} {:.1} MB", "text", text.len() as f64 / 1e6);
}

fn timed<T>(what: &str, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    println!("  {what:<12} {:.2} s", start.elapsed().as_secs_f64());
    result
}

/// A history of transactions one after the other, and their order.
fn serial_run() -> (History, Vec<TxnId>) {
    let mut builder = Builder::new();
    builder.initial = InitialState::all(ValueId(0));
    let keys: Vec<KeyId> = (0..KEYS).map(|key| builder.keys.intern_int(i64::from(key))).collect();
    let sessions: Vec<SessionId> = (0..SESSIONS).map(|_| builder.session()).collect();
    let mut store = vec![ValueId(0); KEYS as usize];
    let mut random = 1u64;
    for number in 0..TXNS {
        builder.begin(sessions[(number % SESSIONS) as usize]);
        let start = i64::from(number) * 10;
        let times = builder.set_times(TxnTimes {
            begin_request: Some(start),
            begin_response: Some(start + 1),
            commit_request: Some(start + 2),
            commit_response: Some(start + 3),
        });
        times.expect("they run forwards");
        for op in 0..OPS {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (random >> 40) as usize % KEYS as usize;
            if op % 2 == 0 {
                builder.read(keys[key], store[key]);
            } else {
                store[key] = ValueId(number * OPS + op);
                builder.write(keys[key], store[key]);
            }
        }
        builder.end(Outcome::Committed);
    }
    let history = builder.finish();
    let per_session = TXNS / SESSIONS;
    let place = |number: u32| TxnId((number % SESSIONS) * per_session + number / SESSIONS);
    (history, (0..TXNS).map(place).collect())
}

fn holds(order: &[TxnId], level: &Level) -> Certificate {
    let events_per_txn = level.events_per_txn();
    let events = |&txn: &TxnId| {
        let begin = Node::begin(txn, events_per_txn);
        (0..events_per_txn).map(move |event| Node(begin.0 + event))
    };
    Certificate::Holds { order: order.iter().flat_map(events).collect(), committed_unknown: Vec::new() }
}

/// Each transaction read what the one before it wrote, and the first what the last wrote.
fn circle() -> (History, Certificate) {
    let mut builder = Builder::new();
    let session = builder.session();
    let x = builder.keys.intern("x".into());
    let mut steps = Vec::new();
    for txn in 0..TXNS {
        let source = (txn + TXNS - 1) % TXNS;
        builder.begin(session);
        let op = builder.read(x, ValueId(source));
        builder.write(x, ValueId(txn));
        builder.end(Outcome::Committed);
        steps.extend(read_steps(op, source, txn));
    }
    let cycle = (0..TXNS).map(|txn| Lit::before(Node((txn + 1) % TXNS), Node(txn)));
    steps.push(Step { clause: cycle.collect(), rule: Rule::Cycle });
    steps.push(Step { clause: Vec::new(), rule: Rule::Derived((0..=2 * TXNS).collect()) });
    (builder.finish(), Certificate::Violated { steps, keys: None })
}

fn read_steps(op: OpId, source: u32, txn: u32) -> [Step; 2] {
    let from = Lit::read_from(op, Source::Txn(TxnId(source)));
    [
        Step { clause: vec![from], rule: Rule::Sources(op.into()) },
        Step { clause: vec![!from, Lit::before(Node(source), Node(txn))], rule: Rule::ReadAfterWrite },
    ]
}
