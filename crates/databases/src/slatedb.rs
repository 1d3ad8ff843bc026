//! slatedb, in this process, on a folder as its object store: `slatedb:FOLDER`.
//!
//! Optimistic transactions: at `snapshot` the second transaction that commits a key is aborted, at `serializable` also one that read
//! what another has written since. A commit does not wait until it is durable: isolation does not depend on it, and speed
//! does. Everything in slatedb is asynchronous, so one runtime stands beside the store. Behind the feature `slatedb`, for
//! the time it takes to build.

use std::ops::Bound;
use std::sync::Arc;

use slatedb::object_store::local::LocalFileSystem;
use slatedb::{Db, DbTransaction, Error, ErrorKind, IsolationLevel};
use tokio::runtime::Runtime;

use crate::claim::LockFile;
use crate::key_value::{ByteTransaction, Engine, KeyValue, Pairs, path_of, runtime_beside_store};
use crate::{Failure, FailureKind, Url};

/// The name of the database in its object store.
const NAME: &str = "isoscope";

pub(crate) struct Slatedb {
    database: Db,
    runtime: Arc<Runtime>,
    /// slatedb lets a second process in, and shuts the first one out.
    _lock: LockFile,
}

pub(crate) fn open(url: &Url) -> Result<KeyValue<Slatedb>, Failure> {
    url.allow_parameters(&[])?;
    let path = path_of(url)?;
    let refused = |error: &dyn std::fmt::Display| Failure::refused(format!("{url}: {error}"));
    std::fs::create_dir_all(path).map_err(|error| refused(&error))?;
    let folder = LocalFileSystem::new_with_prefix(path).map_err(|error| refused(&error))?;
    let lock = LockFile::beside(path)?;
    let runtime = runtime_beside_store(url)?;
    let database = runtime.block_on(Db::open(NAME, Arc::new(folder))).map_err(|error| refused(&error))?;
    Ok(KeyValue::new(Slatedb { database, runtime, _lock: lock }, url))
}

impl Engine for Slatedb {
    type Transaction = SlatedbTransaction;

    const CRATE: &'static str = "slatedb";
    const SETTINGS: &'static [&'static str] = &["snapshot", "serializable"];

    fn begin(&self, setting: &str) -> Result<SlatedbTransaction, Failure> {
        let level = match setting {
            "serializable" => IsolationLevel::SerializableSnapshot,
            _ => IsolationLevel::Snapshot,
        };
        let transaction = self.database.begin(level).map_err(in_transaction)?;
        Ok(SlatedbTransaction { transaction, runtime: Arc::clone(&self.runtime) })
    }
}

impl Drop for Slatedb {
    fn drop(&mut self) {
        // A store that cannot be closed is recovered when it is opened next.
        let _ = self.runtime.block_on(self.database.close());
    }
}

pub(crate) struct SlatedbTransaction {
    transaction: DbTransaction,
    runtime: Arc<Runtime>,
}

impl ByteTransaction for SlatedbTransaction {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let held = self.runtime.block_on(self.transaction.get(key)).map_err(in_transaction)?;
        Ok(held.map(|value| value.to_vec()))
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), Failure> {
        self.transaction.put(key, value).map_err(in_transaction)
    }

    fn delete(&mut self, key: Vec<u8>) -> Result<(), Failure> {
        self.transaction.delete(key).map_err(in_transaction)
    }

    fn scan(&mut self, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Result<Pairs, Failure> {
        let read = async {
            let mut cursor = self.transaction.scan((from, to)).await?;
            let mut pairs = Vec::new();
            while let Some(pair) = cursor.next().await? {
                pairs.push((pair.key.to_vec(), pair.value.to_vec()));
            }
            Ok(pairs)
        };
        self.runtime.block_on(read).map_err(in_transaction)
    }

    fn commit(self) -> Result<(), Failure> {
        let Self { transaction, runtime } = self;
        runtime
            .block_on(transaction.commit())
            .map(|_| ())
            .map_err(|error| failure(&error, FailureKind::Unknown))
    }
}

fn in_transaction(error: Error) -> Failure {
    failure(&error, FailureKind::Aborted)
}

/// `otherwise` is what an error means that is no conflict.
fn failure(error: &Error, otherwise: FailureKind) -> Failure {
    let (kind, code) = match error.kind() {
        ErrorKind::Transaction => (FailureKind::Aborted, "conflict"),
        ErrorKind::Invalid => (FailureKind::Refused, "invalid"),
        _ => (otherwise, "storage"),
    };
    Failure::new(kind, error.to_string()).with_code(code)
}
