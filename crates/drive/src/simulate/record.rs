//! What the clients saw, as a history; and what really happened, for checks of the result.

use history::{
    Bound, Builder, Change, Clock, Datum, History, InitialState, KeyId, Outcome, PredicateRead,
    PredicateWrite, RangeRead, Row, SessionId, TxnId, TxnTimes, ValueId,
};

use super::client::{Done, SimulatedClient};
use super::config::{Config, Operations};
use super::lists::Lists;
use super::table::{COLUMNS, Filter, RowContents};
use super::{Commit, Fault, Part, Run};
use crate::random::Random;

/// Aborted attempts are left out beyond this many operations, so that ids stay below 2^32.
const MAX_RECORDED_OPERATIONS: usize = 1 << 31;
/// How far a wrong clock is off, in one-way message times.
const WRONG_CLOCK_LATENCIES: i64 = 200;

/// How many transactions are handed out together.
const PART: usize = 1_000;

/// What the numbers in the store stand for, if they stand for lists or rows.
pub(crate) type Stored<'e> = (&'e Lists, &'e RowContents);

/// Collects the history.
pub(crate) struct Recorder {
    builder: Builder,
    sessions: Vec<Recorded>,
    records_times: bool,
    records_aborted: bool,
    records_keys: bool,
    operations: usize,
    /// Whether what happened is handed out in parts, so that nothing of it is kept.
    is_streamed: bool,
    /// The session of each transaction of the part, in the order in which they ended.
    order: Vec<SessionId>,
    commits: Vec<(u32, u32, i64, i64)>,
    list: Vec<ValueId>,
    /// The values of contents of a table's rows, or `ABSENT` where none was asked for yet.
    contents: Vec<ValueId>,
}

/// What is known of a session.
struct Recorded {
    id: SessionId,
    /// How far its clock is off.
    clock_ns: i64,
    txn_count: u32,
}

impl Recorder {
    pub fn new(config: &Config, table: &RowContents, random: &mut Random, is_streamed: bool) -> Self {
        let mut builder = Builder::new();
        builder.clock = Clock::Nanoseconds;
        builder.initial = match config.operations {
            Operations::Registers | Operations::Application(_) => InitialState::all(ValueId(0)),
            Operations::Lists { .. } | Operations::Rows { .. } | Operations::Predicates { .. } => {
                InitialState::default()
            }
        };
        let mut contents = Vec::new();
        if matches!(config.operations, Operations::Predicates { .. }) {
            for key in 0..config.keys {
                let value = content(&mut builder, &mut contents, table, key);
                let key = builder.keys.intern_int(i64::from(key));
                builder.initial.recorded.push((key, value));
            }
        }
        let most = config.operations_per_transaction.1 as usize;
        let expected = if is_streamed { PART } else { config.transactions as usize };
        builder.reserve(expected, expected * most);
        let sessions = (0..config.sessions)
            .map(|_| Recorded { id: builder.session(), clock_ns: clock_error(config, random), txn_count: 0 })
            .collect();
        Self {
            builder,
            sessions,
            records_times: config.record_times,
            records_aborted: config.record_aborted,
            records_keys: config.record_changed_keys,
            operations: 0,
            is_streamed,
            order: Vec::new(),
            commits: Vec::new(),
            list: Vec::new(),
            contents,
        }
    }

    /// Takes down a transaction that ended now.
    pub fn end(
        &mut self,
        session: u32,
        client: &SimulatedClient,
        is_committed: bool,
        now: i64,
        held: Stored<'_>,
    ) {
        let outcome = client.heard(is_committed);
        let is_recorded = self.records_aborted && self.operations < MAX_RECORDED_OPERATIONS;
        if outcome == Outcome::Aborted && !is_recorded {
            return;
        }
        let recorded = &mut self.sessions[session as usize];
        if is_committed && client.fault != Some(Fault::LostCommit) && !self.is_streamed {
            self.commits.push((session, recorded.txn_count, client.begin, now));
        }
        recorded.txn_count += 1;
        let recorded_id = recorded.id;
        self.builder.begin(recorded_id);
        if self.records_times {
            let times = client_times(client, recorded.clock_ns, outcome);
            self.builder.set_times(times).expect("a simulated client does one thing after the other");
        }
        for &done in &client.done {
            self.operation(done, client, held);
        }
        self.builder.end(outcome);
        if self.is_streamed {
            self.order.push(recorded_id);
        } else {
            self.operations += client.done.len();
        }
    }

    /// The transactions since the last part, if they are enough for one or there will be no more.
    pub fn part(&mut self, is_last: bool) -> Option<Part> {
        if self.order.len() < PART && !is_last {
            return None;
        }
        let next = self.builder.next_part();
        let builder = std::mem::replace(&mut self.builder, next);
        self.contents.clear();
        Some(Part { history: builder.finish(), sessions: std::mem::take(&mut self.order) })
    }

    /// The history and the commits by their ids in it.
    pub fn finish(self) -> Run {
        let first_txn: Vec<u32> = self
            .sessions
            .iter()
            .scan(0, |next, session| {
                let first = *next;
                *next += session.txn_count;
                Some(first)
            })
            .collect();
        let commits = self.commits.iter().map(|&(session, place, begin, commit)| Commit {
            txn: TxnId(first_txn[session as usize] + place),
            begin,
            commit,
        });
        let commits = commits.collect();
        let history: History = self.builder.finish();
        Run { history, commits }
    }

    fn operation(&mut self, done: Done, client: &SimulatedClient, (lists, table): Stored<'_>) {
        match done {
            Done::Read(key, value) => {
                let key = self.key(key);
                self.builder.read(key, ValueId(value));
            }
            Done::Write(key, value) => {
                let key = self.key(key);
                self.builder.write(key, ValueId(value));
            }
            Done::Append(key, element) => {
                let key = self.key(key);
                self.builder.append(key, ValueId(element));
            }
            Done::Insert(key, value) => {
                let key = self.key(key);
                self.builder.insert(key, ValueId(value));
            }
            Done::Delete(key) => {
                let key = self.key(key);
                self.builder.delete(key, None);
            }
            Done::ReadList(key, list) => {
                let key = self.key(key);
                lists.elements(list, &mut self.list);
                self.builder.read_list(key, &self.list);
            }
            Done::Range(from, count, (first, last)) => {
                let rows = &client.rows[first as usize..last as usize];
                self.range(from, count, rows);
            }
            Done::Query(filter, (first, last)) => {
                let rows = &client.rows[first as usize..last as usize];
                self.query(filter, rows, table);
            }
            Done::Update(filter, set, value, (first, last)) => {
                let rows = &client.rows[first as usize..last as usize];
                let key = |&(key, _): &(u32, u32)| self.builder.keys.intern_int(i64::from(key));
                let keys = self.records_keys.then(|| rows.iter().map(key).collect());
                let column = (Datum::str(COLUMNS[set]), Datum::Int(i64::from(value)));
                self.builder.predicate_write(PredicateWrite {
                    predicate: predicate(filter).into(),
                    change: Change::Set(Datum::row(vec![column])),
                    row_count: Some(rows.len() as u64),
                    keys,
                    is_returning: false,
                });
            }
        }
    }

    fn range(&mut self, from: u32, count: u32, rows: &[(u32, u32)]) {
        let rows = rows
            .iter()
            .map(|&(key, value)| Row {
                key: self.builder.keys.intern_int(i64::from(key)),
                value: ValueId(value),
                is_dead: false,
            })
            .collect();
        self.builder.range_read(RangeRead {
            from: Bound::Included(Datum::Int(i64::from(from))),
            to: Bound::Excluded(Datum::Int(i64::from(from + count))),
            rows: Some(rows),
        });
    }

    fn query(&mut self, filter: Filter, rows: &[(u32, u32)], table: &RowContents) {
        let row = |&(key, number): &(u32, u32)| Row {
            key: self.builder.keys.intern_int(i64::from(key)),
            value: content(&mut self.builder, &mut self.contents, table, number),
            is_dead: false,
        };
        let rows = rows.iter().map(row).collect();
        self.builder.predicate_read(PredicateRead { predicate: predicate(filter).into(), rows: Some(rows) });
    }

    #[inline]
    fn key(&mut self, key: u32) -> KeyId {
        self.builder.keys.intern_int(i64::from(key))
    }
}

fn predicate(filter: Filter) -> Datum {
    let Filter { column, least, most } = filter;
    Datum::str(format!("{} between {least} and {most}", COLUMNS[column]))
}

/// The value of a content of a table's rows; `known` are those that were asked for before.
fn content(builder: &mut Builder, known: &mut Vec<ValueId>, table: &RowContents, number: u32) -> ValueId {
    let place = number as usize;
    if known.len() <= place {
        known.resize((place + 1).next_power_of_two(), ValueId::NIL);
    }
    if known[place] == ValueId::NIL {
        let columns = COLUMNS.iter().zip(table.content(number));
        let columns = columns.map(|(&name, value)| (Datum::str(name), Datum::Int(i64::from(value))));
        known[place] = builder.values.intern(Datum::row(columns.collect()));
    }
    known[place]
}

fn clock_error(config: &Config, random: &mut Random) -> i64 {
    let honest = random.below(config.clock_skew_ns + 1) as i64;
    let wrong = config.latency_ns as i64 * WRONG_CLOCK_LATENCIES;
    let faults = config.faults.iter();
    let rate: f64 = faults.filter(|(fault, _)| *fault == Fault::ClockSkew).map(|&(_, rate)| rate).sum();
    honest + if random.chance(rate) { wrong } else { 0 }
}

fn client_times(client: &SimulatedClient, clock_ns: i64, outcome: Outcome) -> TxnTimes {
    let moments = &client.moments;
    TxnTimes {
        begin_request: Some(moments.begin_request + clock_ns),
        begin_response: Some(moments.begin_response + clock_ns),
        commit_request: Some(moments.end_request + clock_ns),
        commit_response: (outcome != Outcome::Unknown).then_some(moments.end_response + clock_ns),
    }
}
