//! Lists tell the order of versions: verdicts without a search, with witnesses of the fewest transactions.

use certify::{Certificate, Level};
use history::{Builder, History, InitialState, Outcome, ValueId};
use index::Index;
use isoscope_verify::{Options, Stages, Verdict, verify};

/// Lists to which transactions append, in the making.
struct Lists {
    builder: Builder,
}

impl Lists {
    fn new() -> Self {
        let mut builder = Builder::new();
        builder.initial = InitialState::all(ValueId::NIL);
        Self { builder }
    }

    /// A transaction in a session of its own: the lists that it reads, then the elements that it appends.
    fn txn(&mut self, reads: &[(u32, &[u32])], appends: &[(u32, u32)]) {
        let session = self.builder.session();
        self.builder.begin(session);
        for &(key, list) in reads {
            let key = self.builder.keys.intern_int(i64::from(key));
            let list: Vec<ValueId> = list.iter().map(|&element| ValueId(element)).collect();
            self.builder.read_list(key, &list);
        }
        for &(key, element) in appends {
            let key = self.builder.keys.intern_int(i64::from(key));
            self.builder.append(key, ValueId(element));
        }
        self.builder.end(Outcome::Committed);
    }

    /// Two transactions that each read what the other appends to: serializable no more, a snapshot each.
    fn write_skew(&mut self, first: u32) {
        let second = first + 1;
        self.txn(&[(first, &[])], &[(second, 1)]);
        self.txn(&[(second, &[])], &[(first, 1)]);
        self.txn(&[(first, &[1]), (second, &[1])], &[]);
    }

    fn finish(self) -> History {
        self.builder.finish()
    }
}

fn decide(history: &History, level: &Level, stages: Stages) -> (bool, Certificate) {
    let options = Options { stages, ..Options::default() };
    let answer = verify(history, &Index::of(history), level, &options).expect("lists are supported");
    let (holds, certificate) = match answer.verdict {
        Verdict::Holds(certificate) => (true, certificate),
        Verdict::Violated(certificate) => (false, certificate),
        Verdict::Undecided(limit) => panic!("no limit was set, but {limit:?} was reached"),
    };
    certify::check(history, level, &certificate).expect("the checker accepts");
    (holds, certificate)
}

/// How many steps the derivation of a violation has.
fn steps(certificate: &Certificate) -> usize {
    let Certificate::Violated { steps, .. } = certificate else { return 0 };
    steps.len()
}

#[test]
fn one_g_single_among_many_write_skews_has_a_witness_of_two_transactions() {
    let mut lists = Lists::new();
    for pair in 0..2_000 {
        lists.write_skew(2 * pair);
    }
    // A reader that saw one of two appends of a transaction.
    lists.txn(&[], &[(10_000, 1), (10_001, 1)]);
    lists.txn(&[(10_000, &[1]), (10_001, &[])], &[]);
    let history = lists.finish();
    for level in [Level::SNAPSHOT_ISOLATION, Level::SERIALIZABLE] {
        let (holds, certificate) = decide(&history, &level, Stages::default());
        assert!(!holds, "{level:?}");
        assert!(steps(&certificate) <= 12, "{level:?}: {certificate:?}");
    }
}

/// Two readers saw the same list, and one of them appends an element of it only after the read.
#[test]
fn an_element_of_its_own_that_a_transaction_read_too_early_is_found_beside_another_reader() {
    let mut lists = Lists::new();
    lists.txn(&[], &[(0, 1)]);
    lists.txn(&[(0, &[2, 1])], &[]);
    lists.txn(&[(0, &[2, 1])], &[(0, 2)]);
    let history = lists.finish();
    for level in [Level::SERIALIZABLE, Level::SNAPSHOT_ISOLATION, Level::SESSION_SERIALIZABLE] {
        assert!(!decide(&history, &level, Stages::default()).0, "{level:?}");
    }
}

#[test]
fn write_skews_on_lists_are_snapshots() {
    let mut lists = Lists::new();
    for pair in 0..500 {
        lists.write_skew(2 * pair);
    }
    let history = lists.finish();
    assert!(decide(&history, &Level::SNAPSHOT_ISOLATION, Stages::default()).0);
    assert!(!decide(&history, &Level::SERIALIZABLE, Stages::default()).0);
}

#[test]
fn appends_that_no_list_contains_exclude_each_other_as_snapshots() {
    let mut lists = Lists::new();
    lists.txn(&[], &[(0, 1)]);
    lists.txn(&[(0, &[1])], &[(0, 2)]);
    lists.txn(&[(0, &[1])], &[(0, 3)]);
    let history = lists.finish();
    assert!(!decide(&history, &Level::SNAPSHOT_ISOLATION, Stages::default()).0);
    assert!(!decide(&history, &Level::SERIALIZABLE, Stages::default()).0);
}
