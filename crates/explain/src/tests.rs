//! Small histories and the words for what is wrong with them.

use certify::{Certificate, Level, Lit, Node, Rule};
use drive::plant::{Planted, plant};
use drive::simulate::{Config, generate};
use expect_test::{Expect, expect};
use history::{Builder, History, InitialState, OpId, Outcome, TxnTimes, ValueId};
use index::Index;

use crate::{EdgeKind, Explanation, Line, explain};

/// A line is a session, `|` separates transactions, `?` and `!` end one that is unknown or aborted. All keys hold 0.
fn history(text: &str) -> History {
    let mut builder = Builder::new();
    builder.initial = InitialState::all(ValueId(0));
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let session = builder.session();
        for txn in line.split('|') {
            builder.begin(session);
            let mut outcome = Outcome::Committed;
            for word in txn.split_whitespace() {
                match word {
                    "?" => outcome = Outcome::Unknown,
                    "!" => outcome = Outcome::Aborted,
                    _ => operation(&mut builder, word),
                }
            }
            builder.end(outcome);
        }
    }
    builder.finish()
}

/// `r(x)=1`, `w(x)=1`, or `@3-5` for the times.
fn operation(builder: &mut Builder, word: &str) {
    if let Some(times) = word.strip_prefix('@') {
        let (start, end) = times.split_once('-').unwrap();
        let times = TxnTimes::span(start.parse().unwrap(), Some(end.parse().unwrap()));
        return builder.set_times(times).unwrap();
    }
    let (key, value) = word[2..].split_once(")=").unwrap();
    let key = builder.keys.intern(key.into());
    let value = builder.values.intern_int(value.parse().unwrap());
    if word.starts_with('r') {
        builder.read(key, value)
    } else {
        builder.write(key, value)
    };
}

/// The certificate of the engine, if it finds a violation; it must satisfy the checker.
fn certificate(history: &History, index: &Index, level: &Level) -> Option<Certificate> {
    let answer = verify::verify(history, index, level, &verify::Options::default()).unwrap();
    match answer.verdict {
        verify::Verdict::Violated(certificate) => {
            certify::check(history, level, &certificate).unwrap();
            Some(certificate)
        }
        _ => None,
    }
}

fn explained(text: &str, level: &Level) -> Option<Explanation> {
    let history = history(text);
    let index = Index::of(&history);
    let certificate = certificate(&history, &index, level)?;
    explain(&history, &index, level, &certificate)
}

fn check(text: &str, level: Level, expected: Expect) {
    let Some(explanation) = explained(text, &level) else {
        return expected.assert_eq("holds\n");
    };
    let mut told = explanation.headline + "\n";
    for participant in explanation.participants {
        told += &format!("  {participant}\n");
    }
    for line in explanation.lines {
        told += &format!("    {line}\n");
    }
    expected.assert_eq(&told);
}

#[test]
fn lost_update() {
    check(
        "r(x)=0 w(x)=1\n r(x)=0 w(x)=2",
        Level::SERIALIZABLE,
        expect![[r#"
            lost update on key x (G-single), 2 transactions
              T1 (session 1) read x = 0, then wrote x = 1
              T2 (session 2) read x = 0, then wrote x = 2
                T1 before T2: T1 read x = 0 (the initial value), and T2 wrote x = 2 over it
                T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
        "#]],
    );
    check(
        "r(x)=0 w(x)=1\n r(x)=0 w(x)=2",
        Level::SNAPSHOT_ISOLATION,
        expect![[r#"
            lost update on key x (G-single), 2 transactions
              T1 (session 1) read x = 0, then wrote x = 1
              T2 (session 2) read x = 0, then wrote x = 2
                T1 began before T2 committed: T1 read x = 0 (the initial value), and T2 wrote x = 2 over it
                T2 committed before T1 began: both wrote x, and T2 began before T1 committed
                  T2 began before T1 committed: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
        "#]],
    );
    check(
        "w(x)=5\n r(x)=5 w(x)=1\n r(x)=5 w(x)=2",
        Level::SNAPSHOT_ISOLATION,
        expect![[r#"
            lost update on key x (G-single), 2 transactions
              T2 (session 2) read x = 5, then wrote x = 1
              T3 (session 3) read x = 5, then wrote x = 2
                T2 began before T3 committed: T2 read x = 5 (from T1), and T3 wrote x = 2 over it
                  T1 committed before T3 began: T3 read x = 5, which T1 wrote
                T3 committed before T2 began: both wrote x, and T3 began before T2 committed
                  T3 began before T2 committed: T3 read x = 5 (from T1), and T2 wrote x = 1 over it
                    T1 committed before T2 began: T2 read x = 5, which T1 wrote
        "#]],
    );
}

#[test]
fn write_skew() {
    let skew = "r(x)=0 r(y)=0 w(x)=1\n r(x)=0 r(y)=0 w(y)=2";
    check(
        skew,
        Level::SERIALIZABLE,
        expect![[r#"
        write skew on keys x, y (G2-item), 2 transactions
          T1 (session 1) read x = 0, then read y = 0, then wrote x = 1
          T2 (session 2) read x = 0, then read y = 0, then wrote y = 2
            T1 before T2: T1 read y = 0 (the initial value), and T2 wrote y = 2 over it
            T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
    "#]],
    );
    check(
        skew,
        Level::SNAPSHOT_ISOLATION,
        expect![[r#"
        holds
    "#]],
    );
}

#[test]
fn circular_information_flow() {
    let g1c = "w(x)=1 r(y)=2\n w(y)=2 r(x)=1";
    check(
        g1c,
        Level::SERIALIZABLE,
        expect![[r#"
        circular information flow on keys x, y (G1c), 2 transactions
          T1 (session 1) wrote x = 1, then read y = 2
          T2 (session 2) wrote y = 2, then read x = 1
            T1 before T2: T2 read x = 1, which T1 wrote
            T2 before T1: T1 read y = 2, which T2 wrote
    "#]],
    );
    check(
        g1c,
        Level::SNAPSHOT_ISOLATION,
        expect![[r#"
        circular information flow on keys x, y (G1c), 2 transactions
          T1 (session 1) wrote x = 1, then read y = 2
          T2 (session 2) wrote y = 2, then read x = 1
            T1 committed before T2 began: T2 read x = 1, which T1 wrote
            T2 committed before T1 began: T1 read y = 2, which T2 wrote
    "#]],
    );
}

#[test]
fn fractured_read() {
    let text = "w(x)=1 w(y)=1\n r(x)=1 r(y)=0";
    check(
        text,
        Level::SERIALIZABLE,
        expect![[r#"
        fractured read on keys x, y (G-single), 2 transactions
          T1 (session 1) wrote x = 1, then wrote y = 1
          T2 (session 2) read x = 1, then read y = 0
            T1 before T2: T2 read x = 1, which T1 wrote
            T2 before T1: T2 read y = 0 (the initial value), and T1 wrote y = 1 over it
    "#]],
    );
    check(
        text,
        Level::SNAPSHOT_ISOLATION,
        expect![[r#"
        fractured read on keys x, y (G-single), 2 transactions
          T1 (session 1) wrote x = 1, then wrote y = 1
          T2 (session 2) read x = 1, then read y = 0
            T1 committed before T2 began: T2 read x = 1, which T1 wrote
            T2 began before T1 committed: T2 read y = 0 (the initial value), and T1 wrote y = 1 over it
    "#]],
    );
}

#[test]
fn long_fork() {
    let text = "w(x)=1\n w(y)=2\n r(x)=1 r(y)=0\n r(x)=0 r(y)=2";
    check(
        text,
        Level::SERIALIZABLE,
        expect![[r#"
        long fork on keys x, y (G2-item), 4 transactions
          T1 (session 1) wrote x = 1
          T3 (session 3) read x = 1, then read y = 0
          T2 (session 2) wrote y = 2
          T4 (session 4) read x = 0, then read y = 2
            T1 before T3: T3 read x = 1, which T1 wrote
            T3 before T2: T3 read y = 0 (the initial value), and T2 wrote y = 2 over it
            T2 before T4: T4 read y = 2, which T2 wrote
            T4 before T1: T4 read x = 0 (the initial value), and T1 wrote x = 1 over it
    "#]],
    );
    check(
        text,
        Level::SNAPSHOT_ISOLATION,
        expect![[r#"
        long fork on keys x, y (G2-item), 4 transactions
          T1 (session 1) wrote x = 1
          T3 (session 3) read x = 1, then read y = 0
          T2 (session 2) wrote y = 2
          T4 (session 4) read x = 0, then read y = 2
            T1 committed before T3 began: T3 read x = 1, which T1 wrote
            T3 began before T2 committed: T3 read y = 0 (the initial value), and T2 wrote y = 2 over it
            T2 committed before T4 began: T4 read y = 2, which T2 wrote
            T4 began before T1 committed: T4 read x = 0 (the initial value), and T1 wrote x = 1 over it
    "#]],
    );
}

#[test]
fn missed_effect() {
    let text = "w(x)=1\n r(x)=1 w(y)=2\n r(y)=2 r(x)=0";
    check(
        text,
        Level::SERIALIZABLE,
        expect![[r#"
            causality violation on keys x, y, 3 transactions
              T1 (session 1) wrote x = 1
              T2 (session 2) read x = 1, then wrote y = 2
              T3 (session 3) read y = 2, then read x = 0
                T1 before T2: T2 read x = 1, which T1 wrote
                T2 before T3: T3 read y = 2, which T2 wrote
                T3 before T1: T3 read x = 0 (the initial value), and T1 wrote x = 1 over it
        "#]],
    );
}

#[test]
fn stale_reads() {
    check(
        "w(x)=1 | r(x)=0",
        Level::SESSION_SERIALIZABLE,
        expect![[r#"
        stale read in a session on key x, 2 transactions
          T1 (session 1) wrote x = 1
          T2 (session 1) read x = 0
            T1 before T2: both are in session 1
            T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
    "#]],
    );
    check(
        "w(x)=1 | r(x)=0",
        Level::SERIALIZABLE,
        expect![[r#"
        holds
    "#]],
    );
    check(
        "@1-2 w(x)=1\n @5-6 r(x)=0",
        Level::STRICT_SERIALIZABLE,
        expect![[r#"
            stale read on key x, 2 transactions
              T1 (session 1) wrote x = 1
              T2 (session 2) read x = 0
                T1 before T2: T1 had ended when T2 began
                T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
        "#]],
    );
}

#[test]
fn a_version_between() {
    let text = "w(x)=1\n r(x)=1 w(x)=2\n r(x)=2 w(y)=1\n r(y)=1 r(x)=1";
    check(
        text,
        Level::SERIALIZABLE,
        expect![[r#"
            causality violation on keys x, y, 3 transactions
              T2 (session 2) read x = 1, then wrote x = 2
              T3 (session 3) read x = 2, then wrote y = 1
              T4 (session 4) read y = 1, then read x = 1
                T2 before T3: T3 read x = 2, which T2 wrote
                T3 before T4: T4 read y = 1, which T3 wrote
                T4 before T2: T4 read x = 1 (from T1), and T2 wrote x = 2 over it
                  T1 before T2: T2 read x = 1, which T1 wrote
        "#]],
    );
    check(
        text,
        Level::SNAPSHOT_ISOLATION,
        expect![[r#"
            causality violation on keys x, y, 3 transactions
              T2 (session 2) read x = 1, then wrote x = 2
              T3 (session 3) read x = 2, then wrote y = 1
              T4 (session 4) read y = 1, then read x = 1
                T2 committed before T3 began: T3 read x = 2, which T2 wrote
                T3 committed before T4 began: T4 read y = 1, which T3 wrote
                T4 began before T2 committed: T4 read x = 1 (from T1), and T2 wrote x = 2 over it
                  T1 committed before T2 began: T2 read x = 1, which T1 wrote
        "#]],
    );
}

#[test]
fn an_order_of_writes_that_a_reader_decides() {
    let text = "w(x)=1 w(y)=1\n w(x)=2 w(y)=2\n r(x)=1 r(y)=2\n";
    check(
        text,
        Level::SERIALIZABLE,
        expect![[r#"
            fractured read on keys x, y (G-single), 2 transactions
              T2 (session 2) wrote x = 2, then wrote y = 2
              T3 (session 3) read x = 1, then read y = 2
                T2 before T3: T3 read y = 2, which T2 wrote
                T3 before T2: T3 read x = 1 (from T1), and T2 wrote x = 2 over it
                  T1 before T2: T1's write of y comes before T3, which read y = 2 from T2, so T2 overwrote T1's
                    T1 before T3: T3 read x = 1, which T1 wrote
        "#]],
    );
}

#[test]
fn duplicates() {
    check(
        "w(x)=1 | w(x)=2 | w(x)=1 | w(y)=1\n r(y)=1 | r(x)=2 \n r(y)=0 r(x)=2",
        Level::SESSION_SERIALIZABLE,
        expect![[r#"
            causality violation on keys x, y, 4 transactions
              T3 (session 1) wrote x = 1
              T4 (session 1) wrote y = 1
              T5 (session 2) read y = 1
              T6 (session 2) read x = 2
                T3 before T4: both are in session 1
                T4 before T5: T5 read y = 1, which T4 wrote
                T5 before T6: both are in session 2
                T6 before T3: T6 read x = 2 (from T2), and T3 wrote x = 1 over it
                  T2 before T3: both are in session 1
        "#]],
    );
    check(
        "w(x)=1 | w(x)=2 | w(y)=1\n w(x)=1 | r(x)=2 | w(y)=2\n r(y)=1 r(x)=1",
        Level::SESSION_SERIALIZABLE,
        expect![[r#"
            unexplained read on keys x, y, 6 transactions
              T7 (session 3) read y = 1, then read x = 1
              T1 (session 1) wrote x = 1
              T2 (session 1) wrote x = 2
              T3 (session 1) wrote y = 1
              T4 (session 2) wrote x = 1
              T5 (session 2) read x = 2
                T7 read x = 1, and cannot have read it from anyone
                  T7 cannot have read x = 1 from T1: T2 overwrote it before T7
                    T1 before T2: both are in session 1
                    T2 before T3: both are in session 1
                    T3 before T7: T7 read y = 1, which T3 wrote
                  T7 cannot have read x = 1 from T4: T2 overwrote it before T7
                    T4 before T2: T4's write of x comes before T5, which read x = 2 from T2, so T2 overwrote T4's
                      T4 before T5: both are in session 2
        "#]],
    );
}

#[test]
fn choices_that_fail_both_ways() {
    // Two writers of x and two of y; whichever comes first of each pair, a reader of it misses the other pair's reader.
    let text = "w(x)=1 w(a)=1
                w(x)=2 w(b)=1
                w(y)=1 w(c)=1
                w(y)=2 w(d)=1
                r(x)=1 r(c)=1 r(d)=1
                r(x)=2 r(c)=1 r(d)=1
                r(y)=1 r(a)=1 r(b)=1
                r(y)=2 r(a)=1 r(b)=1";
    check(
        text,
        Level::SERIALIZABLE,
        expect![[r#"
            long fork on keys a, d, x, ... (G2-item), 4 transactions
              T1 (session 1) wrote x = 1, then wrote a = 1
              T7 (session 7) read y = 1, then read a = 1
              T4 (session 4) wrote y = 2, then wrote d = 1
              T6 (session 6) read x = 2, then read d = 1
                T1 before T7: T7 read a = 1, which T1 wrote
                T7 before T4: T7 read y = 1 (from T3), and T4 wrote y = 2 over it
                  T3 before T4: T3's write of y comes before T8, which read y = 2 from T4, so T4 overwrote T3's
                    T3 before T6: T6 read c = 1, which T3 wrote
                    T1 before T8: T8 read a = 1, which T1 wrote
                T4 before T6: T6 read d = 1, which T4 wrote
                T6 before T1: T6 read x = 2 (from T2), and T1 wrote x = 1 over it
                  T2 before T1: if T1 before T2, then
                    T5 before T2: T5 read x = 1 (from T1), and T2 wrote x = 2 over it
                    T2 before T8: T8 read b = 1, which T2 wrote
                    T8 before T3: T8 read y = 2 (from T4), and T3 wrote y = 1 over it
                      T4 before T3: T4's write of y comes before T7, which read y = 1 from T3, so T3 overwrote T4's
                        T4 before T5: T5 read d = 1, which T4 wrote
                        T2 before T7: T7 read b = 1, which T2 wrote
                    T3 before T5: T5 read c = 1, which T3 wrote
                    which closes a circle: T5, T2, T8, T3, T5
        "#]],
    );
}

#[test]
fn false_accept_of_a_peer() {
    let text = "w(x)=2 r(y)=2
                r(z)=2 | r(x)=1
                w(x)=1 | w(x)=1 w(y)=2
                r(x)=2 | w(z)=2 | w(z)=2";
    check(
        text,
        Level::SESSION_SNAPSHOT_ISOLATION,
        expect![[r#"
            causality violation on keys x, y, z, 6 transactions
              T1 (session 1) wrote x = 2, then read y = 2
              T6 (session 4) read x = 2
              T8 (session 4) wrote z = 2
              T2 (session 2) read z = 2
              T3 (session 2) read x = 1
              T5 (session 3) wrote x = 1, then wrote y = 2
                T1 committed before T6 began: T6 read x = 2, which T1 wrote
                T6 committed before T8 began: both are in session 4
                T8 committed before T2 began: T2 read z = 2, which T8 wrote
                  T2 can only have read z = 2 from T8
                    T2 cannot have read z = 2 from T7: if T2 read z = 2 from T7, then
                      T7 committed before T2 began: T2 read z = 2, which T7 wrote
                      T6 committed before T7 began: both are in session 4
                      which closes a circle: T7, T2, T3, T5, T1, T6, T7
                T2 committed before T3 began: both are in session 2
                T3 began before T5 committed: T3 read x = 1 (from T4), and T5 wrote x = 1 over it
                  T3 can only have read x = 1 from T4
                    T3 cannot have read x = 1 from T5: T1 overwrote it before T3
                  T4 committed before T5 began: both are in session 3
                T5 committed before T1 began: T1 read y = 2, which T5 wrote
        "#]],
    );
}

#[test]
fn findings() {
    check(
        "r(x)=7",
        Level::SERIALIZABLE,
        expect![[r#"
        thin-air read on key x
            T1 read x = 7, which no transaction wrote
    "#]],
    );
    check(
        "w(x)=1 !\n r(x)=1",
        Level::SERIALIZABLE,
        expect![[r#"
        aborted read on key x (G1a)
            T2 read x = 1, which only T1 wrote, and T1 did not commit
    "#]],
    );
    check(
        "w(x)=1 w(x)=2\n r(x)=1",
        Level::SERIALIZABLE,
        expect![[r#"
        intermediate read on key x (G1b)
            T2 read x = 1, which T1 overwrote before it committed
    "#]],
    );
    check(
        "r(x)=0 r(x)=1\n w(x)=1",
        Level::SERIALIZABLE,
        expect![[r#"
        non-repeatable read on key x
            T1 read x = 1, but had read 0 before
    "#]],
    );
}

#[test]
fn unknown_outcomes() {
    check(
        "r(x)=0 w(x)=1 ?\n r(x)=0 w(x)=2\n r(x)=1",
        Level::SERIALIZABLE,
        expect![[r#"
            lost update on key x (G-single), 2 transactions
              T1 (session 1) read x = 0, then wrote x = 1
              T2 (session 2) read x = 0, then wrote x = 2
                T1 before T2: T1 read x = 0 (the initial value), and T2 wrote x = 2 over it
                  T1 committed: T3 read x = 1 from it
                T2 before T1: T2 read x = 0 (the initial value), and T1 wrote x = 1 over it
        "#]],
    );
    check(
        "r(x)=0 w(x)=1 ?\n r(x)=0 w(x)=2",
        Level::SERIALIZABLE,
        expect![[r#"
            holds
        "#]],
    );
}

/// Numbers from a seed, enough for tests.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn random_history(seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let sessions = 2 + numbers.below(3);
    let lines = (0..sessions).map(|_| {
        let txns = (0..=numbers.below(2)).map(|_| {
            let mut ops: Vec<String> = (0..=numbers.below(3))
                .map(|_| {
                    let kind = ["r", "w"][numbers.below(2) as usize];
                    let key = ["x", "y"][numbers.below(2) as usize];
                    format!("{kind}({key})={}", numbers.below(3) + u64::from(kind == "w"))
                })
                .collect();
            ops.extend((numbers.below(8) == 0).then(|| "?".into()));
            ops.join(" ")
        });
        txns.collect::<Vec<_>>().join(" | ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What every explanation promises.
fn assert_sound(explanation: &Explanation, history: &History) {
    assert!(!explanation.transactions.is_empty(), "{explanation:?}");
    assert!(!explanation.lines.is_empty(), "{explanation:?}");
    assert_eq!(explanation.lines[0].depth, 0);
    for pair in explanation.lines.windows(2) {
        assert!(pair[1].depth <= pair[0].depth + 1, "{explanation:?}");
    }
    for txn in &explanation.transactions {
        assert!(history.outcome(*txn) != Outcome::Aborted || explanation.cycle.is_empty());
    }
    let next = explanation.cycle.iter().cycle().skip(1);
    for (edge, next) in explanation.cycle.iter().zip(next) {
        assert_eq!(edge.to, next.from, "{explanation:?}");
        assert!(!edge.reason.is_empty());
    }
    let text: String = explanation.lines.iter().map(|line| line.text.as_str()).collect();
    assert!(!text.contains("by the rules of the level"), "{text}");
    if !text.contains("the rest is in the certificate") {
        assert_sources_are_ordered(explanation);
    }
}

/// Where a read was overwritten, some line says why the overwriting one comes after the source of the read.
fn assert_sources_are_ordered(explanation: &Explanation) {
    for edge in explanation.cycle.iter().filter(|edge| edge.kind == EdgeKind::Rw) {
        let Some((source, _)) = edge.reason.split_once("(from ").and_then(|(_, rest)| rest.split_once(')'))
        else {
            continue;
        };
        let is_told = |line: &Line| line.text.starts_with(&format!("{source} "));
        assert!(explanation.lines.iter().any(is_told), "{explanation:?}");
    }
}

#[test]
fn random_violations_are_explained() {
    let count = std::env::var("ISOSCOPE_SOAK").map_or(1500, |count| count.parse().unwrap());
    let mut violated = 0;
    for seed in 0..count {
        let text = random_history(seed);
        for level in [
            Level::SERIALIZABLE,
            Level::SESSION_SERIALIZABLE,
            Level::SESSION_SNAPSHOT_ISOLATION,
            Level::PREFIX,
        ] {
            if let Some(explanation) = explained(&text, &level) {
                assert_sound(&explanation, &history(&text));
                violated += 1;
            }
        }
    }
    assert!(violated > count, "{violated} of {count}");
}

/// A history of a serializable store with an anomaly planted in it, and the certificate that finds it.
fn planted(anomaly: Planted, seed: u64, level: &Level) -> (History, Index, Certificate) {
    let config = Config { seed, transactions: 300, keys: 60, abort_share: 0.05, ..Config::default() };
    let base = generate(&config).unwrap();
    let history = plant(&base, anomaly, seed).unwrap().history;
    let index = Index::of(&history);
    let certificate = certificate(&history, &index, level).unwrap();
    (history, index, certificate)
}

#[test]
fn planted_anomalies_are_named() {
    for (anomaly, level, name) in [
        (Planted::CircularInformationFlow, Level::SERIALIZABLE, "circular information flow"),
        (Planted::CircularInformationFlow, Level::SNAPSHOT_ISOLATION, "circular information flow"),
        (Planted::LostUpdate, Level::SERIALIZABLE, "lost update"),
        (Planted::LostUpdate, Level::SNAPSHOT_ISOLATION, "lost update"),
        (Planted::WriteSkew, Level::SERIALIZABLE, "write skew"),
        (Planted::FracturedRead, Level::SERIALIZABLE, "fractured read"),
        (Planted::MissedEffect, Level::SNAPSHOT_ISOLATION, "causality violation"),
        (Planted::LongFork, Level::SNAPSHOT_ISOLATION, "long fork"),
        (Planted::AbortedRead, Level::SERIALIZABLE, "aborted read"),
    ] {
        let mut named = 0;
        for seed in 0..20 {
            let (history, index, certificate) = planted(anomaly, seed, &level);
            let explanation = explain(&history, &index, &level, &certificate).unwrap();
            assert_sound(&explanation, &history);
            named += u32::from(explanation.anomaly.name() == name);
        }
        // With what the transactions did besides, a cycle of another kind may be shorter to tell.
        assert!(named >= 12, "{name}: {named} of 20");
    }
}

/// Breaks a certificate at a random place.
fn broken(certificate: &Certificate, numbers: &mut Numbers) -> Certificate {
    let Certificate::Violated { steps, keys } = certificate else {
        return certificate.clone();
    };
    let mut steps = steps.clone();
    for _ in 0..=numbers.below(3) {
        let place = numbers.below(steps.len() as u64) as usize;
        match numbers.below(5) {
            0 if steps.len() > 1 => drop(steps.remove(place)),
            1 => drop(steps[place].clause.pop()),
            2 => steps[place].clause.push(Lit::before(Node(9), Node(u32::MAX - 1))),
            3 => steps[place].rule = Rule::Sources(OpId(u32::MAX).into()),
            _ => steps[place].rule = Rule::Derived(vec![numbers.below(30) as u32, u32::MAX]),
        }
    }
    Certificate::Violated { steps, keys: keys.clone() }
}

#[test]
fn a_broken_certificate_does_no_harm() {
    let mut numbers = Numbers(1);
    for level in [Level::SERIALIZABLE, Level::SNAPSHOT_ISOLATION] {
        let (history, index, certificate) = planted(Planted::LongFork, 1, &level);
        for _ in 0..2000 {
            let broken = broken(&certificate, &mut numbers);
            assert!(explain(&history, &index, &level, &broken).is_some());
        }
        let empty = Certificate::Violated { steps: Vec::new(), keys: None };
        assert!(explain(&history, &index, &level, &empty).is_some());
    }
}
