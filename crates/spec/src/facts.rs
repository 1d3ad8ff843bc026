//! One way to read a history: who committed, and where each read came from.
//!
//! With these fixed, every relation of the language except the witness is a plain set of tuples. Transaction 0 is the
//! initial one; the others keep the order of the history.

use crate::core::{Base, Sort};
use crate::small::{Object, Outcome, SmallHistory, Value};

/// A set of transactions.
pub type TxnSet = u64;

/// The most transactions that one history may have, the initial one included.
pub const MAX_TXNS: usize = 64;

/// A relation between transactions, by columns: the set of those that precede each.
pub type Columns = Vec<TxnSet>;

/// The relations of a history whose outcomes and sources are fixed.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The place of each transaction in the history; nothing for the initial one.
    pub original: Vec<Option<usize>>,
    /// The level that each transaction ran at, if that is known.
    pub levels: Vec<Option<String>>,
    /// The reads of each transaction in program order: object, value number, source.
    pub reads: Vec<Vec<(Object, usize, usize)>>,
    /// For each read how many reads of its transaction were made by earlier statements.
    pub reads_before: Vec<Vec<usize>>,
    /// The final writes of each transaction: object, value number.
    pub writes: Vec<Vec<(Object, usize)>>,
    /// How many objects there are.
    pub objects: usize,
    /// The distinct values.
    pub values: Vec<Value>,
    /// Who writes each object.
    pub writers: Vec<TxnSet>,
    /// Who reads each object.
    pub readers: Vec<TxnSet>,
    /// Session order.
    pub session: Columns,
    /// Reads-from.
    pub reads_from: Columns,
    /// Write-write conflict.
    pub conflict: Columns,
    /// End before begin.
    pub real_time: Columns,
    /// Commit before commit.
    pub commit_real_time: Columns,
    /// Begin before commit.
    pub begin_real_time: Columns,
}

impl Facts {
    /// The facts if exactly these transactions committed and every read has this source (0 for the initial state, and
    /// one more than its place in the history otherwise), read by read in the order of the history.
    pub fn new(history: &SmallHistory, committed: &[usize], sources: &[Vec<usize>]) -> Self {
        let number_of = |place: usize| committed.iter().position(|&other| other == place).map(|at| at + 1);
        let count = committed.len() + 1;
        assert!(count <= MAX_TXNS, "at most {} transactions can be decided by enumeration", MAX_TXNS - 1);
        let objects = history.object_count();
        let values = distinct_values(history, objects);
        let value_number = |value: Value| values.binary_search(&value).expect("every value is listed");
        let mut writes =
            vec![(0..objects).map(|x| (x, value_number(history.initial_value(x)))).collect::<Vec<_>>()];
        let mut reads = vec![Vec::new()];
        let mut reads_before = vec![Vec::new()];
        for &place in committed {
            let txn = &history.txns[place];
            writes.push(txn.writes.iter().map(|&(object, value)| (object, value_number(value))).collect());
            let source_of = |source: usize| {
                if source == 0 { 0 } else { number_of(source - 1).expect("a source commits") }
            };
            reads_before.push((0..txn.reads.len()).map(|read| txn.reads_before(read)).collect());
            let sourced = txn.reads.iter().zip(&sources[place]);
            reads.push(
                sourced.map(|(&(x, value), &from)| (x, value_number(value), source_of(from))).collect(),
            );
        }
        let mut facts = Self {
            original: [None].into_iter().chain(committed.iter().map(|&place| Some(place))).collect(),
            levels: [None]
                .into_iter()
                .chain(committed.iter().map(|&place| history.txns[place].level.clone()))
                .collect(),
            reads,
            reads_before,
            writes,
            objects,
            values,
            writers: vec![0; objects],
            readers: vec![0; objects],
            session: vec![0; count],
            reads_from: vec![0; count],
            conflict: vec![0; count],
            real_time: vec![0; count],
            commit_real_time: vec![0; count],
            begin_real_time: vec![0; count],
        };
        facts.relate(history, committed);
        facts
    }

    fn relate(&mut self, history: &SmallHistory, committed: &[usize]) {
        for txn in 0..self.txn_count() {
            for &(object, _) in &self.writes[txn] {
                self.writers[object] |= 1 << txn;
            }
            for &(object, _, source) in &self.reads[txn] {
                self.readers[object] |= 1 << txn;
                self.reads_from[txn] |= 1 << source;
            }
        }
        for txn in 0..self.txn_count() {
            let rivals =
                self.writes[txn].iter().fold(0, |rivals, &(object, _)| rivals | self.writers[object]);
            self.conflict[txn] = rivals & !(1 << txn);
        }
        for (second, &later) in committed.iter().enumerate() {
            self.session[second + 1] |= 1;
            for (first, &earlier) in committed.iter().enumerate() {
                let bit = |holds: bool| u64::from(holds) << (first + 1);
                self.session[second + 1] |= bit(history.in_session_order(earlier, later));
                self.real_time[second + 1] |= bit(history.in_real_time(earlier, later));
                self.commit_real_time[second + 1] |= bit(history.in_commit_real_time(earlier, later));
                self.begin_real_time[second + 1] |= bit(history.in_begin_real_time(earlier, later));
            }
        }
    }

    /// How many transactions there are, the initial one included.
    pub fn txn_count(&self) -> usize {
        self.original.len()
    }

    /// How many elements a sort has.
    pub fn size(&self, sort: Sort) -> usize {
        match sort {
            Sort::Txn => self.txn_count(),
            Sort::Object => self.objects,
            Sort::Value => self.values.len(),
        }
    }

    /// Whether a transaction ran at a level.
    pub fn ran_at(&self, level: &str, txn: usize) -> bool {
        self.levels[txn].as_deref() == Some(level)
    }

    /// Whether a tuple is in a relation of the history; the witness's relations are not of the history.
    pub fn holds(&self, base: Base, tuple: &[usize]) -> bool {
        let in_columns = |columns: &Columns| columns[tuple[1]] >> tuple[0] & 1 == 1;
        match base {
            Base::Session => in_columns(&self.session),
            Base::ReadsFrom => in_columns(&self.reads_from),
            Base::Conflict => in_columns(&self.conflict),
            Base::RealTime => in_columns(&self.real_time),
            Base::CommitRealTime => in_columns(&self.commit_real_time),
            Base::BeginRealTime => in_columns(&self.begin_real_time),
            Base::Initial => tuple[0] == 0,
            Base::Writers => self.writers[tuple[0]] >> tuple[1] & 1 == 1,
            Base::Readers => self.readers[tuple[0]] >> tuple[1] & 1 == 1,
            Base::ReadsFromOn => self.reads[tuple[2]]
                .iter()
                .any(|&(object, _, source)| (object, source) == (tuple[0], tuple[1])),
            Base::Writes => self.writes[tuple[0]].contains(&(tuple[1], tuple[2])),
            Base::Reads => {
                self.reads[tuple[0]].iter().any(|&(object, value, _)| (object, value) == (tuple[1], tuple[2]))
            }
            Base::ReadsThen => self.reads_then(tuple[0], tuple[1], tuple[2], tuple[3]),
            Base::Before | Base::Visible | Base::Earlier => unreachable!("{base:?} is not of the history"),
        }
    }

    fn reads_then(&self, object: Object, first: usize, second: usize, reader: usize) -> bool {
        let reads = &self.reads[reader];
        let last = reads.iter().rposition(|&(read, _, source)| (read, source) == (object, second));
        let before = |read: usize| self.reads_before[reader][read];
        last.is_some_and(|last| reads[..before(last)].iter().any(|&(_, _, source)| source == first))
    }
}

fn distinct_values(history: &SmallHistory, objects: usize) -> Vec<Value> {
    let seen =
        history.txns.iter().flat_map(|txn| txn.reads.iter().chain(&txn.writes)).map(|&(_, value)| value);
    let mut values: Vec<Value> =
        seen.chain((0..objects).map(|object| history.initial_value(object))).collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Calls `visit` with every way to read a history until it returns true: every set of unknown outcomes taken as
/// committed, and for every read every committed final writer of its value, or the initial state.
pub fn any_explanation(history: &SmallHistory, visit: &mut dyn FnMut(&Facts) -> bool) -> bool {
    let unknown: Vec<usize> = places(history, Outcome::Unknown);
    assert!(unknown.len() < 32, "too many unknown outcomes to try them all");
    (0..1u32 << unknown.len()).any(|chosen| {
        let mut committed = places(history, Outcome::Committed);
        committed.extend(
            unknown.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1).map(|(_, &place)| place),
        );
        committed.sort_unstable();
        any_sources(history, &committed, visit)
    })
}

fn places(history: &SmallHistory, outcome: Outcome) -> Vec<usize> {
    (0..history.txns.len()).filter(|&place| history.txns[place].outcome == outcome).collect()
}

fn any_sources(history: &SmallHistory, committed: &[usize], visit: &mut dyn FnMut(&Facts) -> bool) -> bool {
    let mut open: Vec<(usize, usize, Vec<usize>)> = Vec::new();
    for &reader in committed {
        for at in 0..history.txns[reader].reads.len() {
            let candidates = candidates(history, committed, reader, at);
            if candidates.is_empty() {
                return false;
            }
            open.push((reader, at, candidates));
        }
    }
    let mut sources: Vec<Vec<usize>> = history.txns.iter().map(|txn| vec![0; txn.reads.len()]).collect();
    choose(history, committed, &open, &mut sources, visit)
}

fn choose(
    history: &SmallHistory,
    committed: &[usize],
    open: &[(usize, usize, Vec<usize>)],
    sources: &mut Vec<Vec<usize>>,
    visit: &mut dyn FnMut(&Facts) -> bool,
) -> bool {
    let Some(((reader, at, candidates), rest)) = open.split_first() else {
        return visit(&Facts::new(history, committed, sources));
    };
    candidates.iter().any(|&candidate| {
        sources[*reader][*at] = candidate;
        choose(history, committed, rest, sources, visit)
    })
}

/// Where a read may come from: 0 for the initial state, one more than the place of a writer otherwise.
fn candidates(history: &SmallHistory, committed: &[usize], reader: usize, at: usize) -> Vec<usize> {
    let (object, value) = history.txns[reader].reads[at];
    let from_initial = (history.initial_value(object) == value).then_some(0);
    let writers = committed
        .iter()
        .copied()
        .filter(|&writer| writer != reader && history.txns[writer].written(object) == Some(value));
    from_initial.into_iter().chain(writers.map(|writer| writer + 1)).collect()
}
