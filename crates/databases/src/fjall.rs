//! fjall, in this process: `fjall:FOLDER`. Optimistic transactions, which fjall calls serializable.
//!
//! Nothing is synchronised to disk at commit: isolation does not depend on it, and speed does.
//!
//! fjall keeps every version of a row until its table in memory is written to disk, and a scan walks over all of them:
//! with its own limit of 64 MiB a scan of a hundred hot accounts walks over every transfer of the whole run, so that the
//! time of a run grows with its square. The table in memory is therefore written to disk much sooner here.

use std::ops::Bound;

use fjall::{KeyspaceCreateOptions, OptimisticTxDatabase, OptimisticTxKeyspace, OptimisticWriteTx, Readable};

use crate::claim::OPEN_ELSEWHERE;
use crate::key_value::{ByteTransaction, Engine, KeyValue, Pairs, path_of};
use crate::{Failure, FailureKind, Url};

/// The size of the table in memory that is written to disk: the versions of some thousand writes.
const MEMTABLE_BYTES: u64 = 256 << 10;

pub(crate) struct Fjall {
    database: OptimisticTxDatabase,
    keyspace: OptimisticTxKeyspace,
}

pub(crate) fn open(url: &Url) -> Result<KeyValue<Fjall>, Failure> {
    url.allow_parameters(&[])?;
    let open = || -> fjall::Result<Fjall> {
        let database = OptimisticTxDatabase::builder(path_of(url).unwrap_or_default()).open()?;
        let options = || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES);
        let keyspace = database.keyspace("isoscope", options)?;
        Ok(Fjall { database, keyspace })
    };
    path_of(url)?;
    let engine = open().map_err(|error| Failure::refused(format!("{url}: {}", said(&error))))?;
    Ok(KeyValue::new(engine, url))
}

impl Engine for Fjall {
    type Transaction = FjallTransaction;

    const CRATE: &'static str = "fjall";
    const SETTINGS: &'static [&'static str] = &["serializable"];

    fn begin(&self, _setting: &str) -> Result<FjallTransaction, Failure> {
        let transaction = self.database.write_tx().map_err(|error| failure(&error, FailureKind::Aborted))?;
        Ok(FjallTransaction { transaction, keyspace: self.keyspace.clone() })
    }
}

pub(crate) struct FjallTransaction {
    transaction: OptimisticWriteTx,
    keyspace: OptimisticTxKeyspace,
}

impl ByteTransaction for FjallTransaction {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let held = self.transaction.get(&self.keyspace, key);
        let held = held.map_err(|error| failure(&error, FailureKind::Aborted))?;
        Ok(held.map(|value| value.to_vec()))
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), Failure> {
        self.transaction.insert(&self.keyspace, key, value);
        Ok(())
    }

    fn delete(&mut self, key: Vec<u8>) -> Result<(), Failure> {
        self.transaction.remove(&self.keyspace, key);
        Ok(())
    }

    fn scan(&mut self, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Result<Pairs, Failure> {
        let pairs = self.transaction.range::<Vec<u8>, _>(&self.keyspace, (from, to));
        let pair =
            |guard: fjall::Guard| guard.into_inner().map(|(key, value)| (key.to_vec(), value.to_vec()));
        pairs.map(pair).collect::<fjall::Result<_>>().map_err(|error| failure(&error, FailureKind::Aborted))
    }

    fn commit(self) -> Result<(), Failure> {
        match self.transaction.commit() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(conflict)) => Err(Failure::aborted(conflict.to_string()).with_code("conflict")),
            Err(error) => Err(failure(&error, FailureKind::Unknown)),
        }
    }
}

fn failure(error: &fjall::Error, kind: FailureKind) -> Failure {
    Failure::new(kind, said(error)).with_code("storage")
}

fn said(error: &fjall::Error) -> String {
    match error {
        // What the operating system says needs no names of types around it.
        fjall::Error::Io(error) => error.to_string(),
        fjall::Error::Locked => OPEN_ELSEWHERE.to_owned(),
        other => format!("fjall: {other}"),
    }
}
