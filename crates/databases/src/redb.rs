//! redb, in this process: `redb:FILE?lock-timeout-ms=10000`. One writer at a time, so every transaction is a writer.
//!
//! redb waits for the writer before without a limit, so it is asked by a thread of its own, and the client waits for
//! that thread with a limit; a thread that comes too late gives the transaction back. That costs two changes of
//! threads at each begin. Nothing is synchronised to disk at commit.

use std::ops::Bound;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use redb::{Database, DatabaseError, Durability, ReadableTable, TableDefinition, WriteTransaction};

use crate::claim::OPEN_ELSEWHERE;
use crate::key_value::{ByteTransaction, Engine, KeyValue, Pairs, path_of};
use crate::{Failure, FailureKind, Url};

const TABLE: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("isoscope");
const LOCK_TIMEOUT_MS: u64 = 10_000;

pub(crate) struct Redb {
    database: Arc<Database>,
    /// Threads that wait for nothing.
    idle: Mutex<Vec<Beginner>>,
    lock_timeout: Duration,
}

pub(crate) fn open(url: &Url) -> Result<KeyValue<Redb>, Failure> {
    url.allow_parameters(&["lock-timeout-ms"])?;
    let lock_timeout = Duration::from_millis(url.number("lock-timeout-ms")?.unwrap_or(LOCK_TIMEOUT_MS));
    let database = Database::create(path_of(url)?);
    let database = database.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => Failure::refused(format!("{url}: {OPEN_ELSEWHERE}")),
        error => Failure::refused(format!("{url}: {error}")),
    })?;
    Ok(KeyValue::new(Redb { database: Arc::new(database), idle: Mutex::default(), lock_timeout }, url))
}

impl Engine for Redb {
    type Transaction = RedbTransaction;

    const CRATE: &'static str = "redb";
    const SETTINGS: &'static [&'static str] = &["serializable"];

    fn begin(&self, _setting: &str) -> Result<RedbTransaction, Failure> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = idle().pop();
        let beginner = waiting.unwrap_or_else(|| Beginner::start(Arc::clone(&self.database)));
        let begun = beginner.begin(self.lock_timeout)?;
        idle().push(beginner);
        let mut transaction = begun.map_err(|error| failure(error, FailureKind::Aborted))?;
        transaction.set_durability(Durability::None).map_err(|error| failure(error, FailureKind::Refused))?;
        Ok(RedbTransaction { transaction })
    }
}

/// A thread that begins transactions.
struct Beginner {
    requests: Sender<()>,
    transactions: Receiver<Result<WriteTransaction, redb::TransactionError>>,
}

impl Beginner {
    /// The thread ends with this side of its channels; a transaction that is not received is dropped, which aborts it.
    fn start(database: Arc<Database>) -> Self {
        let (requests, asked) = channel();
        let (answer, transactions) = channel();
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                if answer.send(database.begin_write()).is_err() {
                    break;
                }
            }
        });
        Self { requests, transactions }
    }

    fn begin(
        &self,
        lock_timeout: Duration,
    ) -> Result<Result<WriteTransaction, redb::TransactionError>, Failure> {
        let late = || Failure::aborted("the transaction before took too long").with_code("lock-timeout");
        self.requests.send(()).map_err(|_| late())?;
        self.transactions.recv_timeout(lock_timeout).map_err(|_| late())
    }
}

pub(crate) struct RedbTransaction {
    transaction: WriteTransaction,
}

impl ByteTransaction for RedbTransaction {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let table = self.transaction.open_table(TABLE).map_err(in_transaction)?;
        let held = table.get(key).map_err(in_transaction)?;
        Ok(held.map(|value| value.value().to_vec()))
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), Failure> {
        let mut table = self.transaction.open_table(TABLE).map_err(in_transaction)?;
        table.insert(key.as_slice(), value.as_slice()).map_err(in_transaction)?;
        Ok(())
    }

    fn delete(&mut self, key: Vec<u8>) -> Result<(), Failure> {
        let mut table = self.transaction.open_table(TABLE).map_err(in_transaction)?;
        table.remove(key.as_slice()).map_err(in_transaction)?;
        Ok(())
    }

    fn scan(&mut self, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Result<Pairs, Failure> {
        let table = self.transaction.open_table(TABLE).map_err(in_transaction)?;
        let ends = (from.as_ref().map(Vec::as_slice), to.as_ref().map(Vec::as_slice));
        let mut pairs = Vec::new();
        for pair in table.range::<&[u8]>(ends).map_err(in_transaction)? {
            let (key, value) = pair.map_err(in_transaction)?;
            pairs.push((key.value().to_vec(), value.value().to_vec()));
        }
        Ok(pairs)
    }

    fn commit(self) -> Result<(), Failure> {
        self.transaction.commit().map_err(|error| failure(error, FailureKind::Unknown))
    }
}

fn in_transaction(error: impl std::fmt::Display) -> Failure {
    failure(error, FailureKind::Aborted)
}

fn failure(error: impl std::fmt::Display, kind: FailureKind) -> Failure {
    Failure::new(kind, error.to_string()).with_code("storage")
}
