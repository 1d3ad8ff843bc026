//! surrealkv, in this process: `surrealkv:FOLDER`. Snapshot isolation; nothing is synchronised to disk at commit.
//!
//! Its commits are asynchronous, so one runtime stands beside the store. Behind the feature `surrealkv`, for the time it
//! takes to build.

use std::ops::Bound;
use std::sync::Arc;

use surrealkv::{Error, LSMIterator, ReadOptions, Transaction, Tree, TreeBuilder};
use tokio::runtime::Runtime;

use crate::claim::LockFile;
use crate::key_value::{ByteTransaction, Engine, KeyValue, Pairs, path_of, runtime_beside_store};
use crate::{Failure, FailureKind, Url};

pub(crate) struct Surrealkv {
    tree: Tree,
    runtime: Arc<Runtime>,
    _lock: LockFile,
}

pub(crate) fn open(url: &Url) -> Result<KeyValue<Surrealkv>, Failure> {
    url.allow_parameters(&[])?;
    let path = path_of(url)?;
    let refused = |error: &dyn std::fmt::Display| Failure::refused(format!("{url}: {error}"));
    let lock = LockFile::beside(path)?;
    let runtime = runtime_beside_store(url)?;
    let guard = runtime.enter();
    let tree = TreeBuilder::new().with_path(path.into()).build().map_err(|error| refused(&error))?;
    drop(guard);
    Ok(KeyValue::new(Surrealkv { tree, runtime, _lock: lock }, url))
}

impl Engine for Surrealkv {
    type Transaction = SurrealkvTransaction;

    const CRATE: &'static str = "surrealkv";
    const SETTINGS: &'static [&'static str] = &["snapshot"];
    const LOCKS_READS: bool = true;

    fn begin(&self, _setting: &str) -> Result<SurrealkvTransaction, Failure> {
        let transaction = self.tree.begin().map_err(|error| failure(&error, FailureKind::Aborted))?;
        Ok(SurrealkvTransaction { transaction, runtime: Arc::clone(&self.runtime) })
    }
}

/// Drops in this order: what the store does at the end needs its runtime.
impl Drop for Surrealkv {
    fn drop(&mut self) {
        // A store that cannot be closed is recovered when it is opened next.
        let _ = self.runtime.block_on(self.tree.close());
    }
}

pub(crate) struct SurrealkvTransaction {
    transaction: Transaction,
    runtime: Arc<Runtime>,
}

impl ByteTransaction for SurrealkvTransaction {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let held = self.transaction.get(key.to_vec());
        Ok(held.map_err(in_transaction)?.map(|value| value.to_vec()))
    }

    fn get_for_update(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let held = self.transaction.get_for_update(key.to_vec());
        Ok(held.map_err(in_transaction)?.map(|value| value.to_vec()))
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), Failure> {
        self.transaction.set(key, value).map_err(in_transaction)
    }

    fn delete(&mut self, key: Vec<u8>) -> Result<(), Failure> {
        self.transaction.delete(key).map_err(in_transaction)
    }

    fn scan(&mut self, from: Bound<Vec<u8>>, to: Bound<Vec<u8>>) -> Result<Pairs, Failure> {
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(at_or_after(from, false));
        options.set_iterate_upper_bound(at_or_after(to, true));
        let read = || -> Result<Pairs, Error> {
            let mut cursor = self.transaction.range_with_options(&options)?;
            let mut pairs = Vec::new();
            cursor.seek_first()?;
            while cursor.valid() {
                pairs.push((cursor.key().user_key().to_vec(), cursor.value()?.to_vec()));
                cursor.next()?;
            }
            Ok(pairs)
        };
        read().map_err(in_transaction)
    }

    fn commit(mut self) -> Result<(), Failure> {
        let runtime = Arc::clone(&self.runtime);
        runtime.block_on(self.transaction.commit()).map_err(|error| failure(&error, FailureKind::Unknown))
    }
}

/// The first key of a range, or the first after it: surrealkv wants the lower end included and the upper excluded.
fn at_or_after(bound: Bound<Vec<u8>>, is_upper: bool) -> Option<Vec<u8>> {
    let (mut key, goes_past) = match bound {
        Bound::Unbounded => return None,
        Bound::Included(key) => (key, is_upper),
        Bound::Excluded(key) => (key, !is_upper),
    };
    if goes_past {
        // The next key after this one.
        key.push(0);
    }
    Some(key)
}

fn in_transaction(error: Error) -> Failure {
    failure(&error, FailureKind::Aborted)
}

/// `otherwise` is what an error means that is no conflict.
fn failure(error: &Error, otherwise: FailureKind) -> Failure {
    let (kind, code) = match error {
        Error::TransactionWriteConflict | Error::TransactionRetry => (FailureKind::Aborted, "conflict"),
        // The commit did not start.
        Error::DatabasePoisoned(_) | Error::BatchTooLarge | Error::WriteStall { .. } => {
            (FailureKind::Aborted, "storage")
        }
        _ => (otherwise, "storage"),
    };
    Failure::new(kind, error.to_string()).with_code(code)
}
