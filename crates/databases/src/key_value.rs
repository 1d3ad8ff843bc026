//! Stores of bytes as databases of rows, written once for all of them: an [`Engine`] begins transactions, a
//! [`ByteTransaction`] reads and writes bytes, and everything else is here.

use std::ops::Bound as RangeBound;
use std::sync::Arc;

use history::{Bound, Datum};

use crate::catalog::{Catalog, Shape};
use crate::rows::{self, Columns, RowStore};
use crate::{
    Database, Description, Failure, Reply, Session, Setting, Statement, StatementKind, Table, Url, bytes,
};

/// Keys with what they hold.
pub(crate) type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// A store of bytes with transactions.
pub(crate) trait Engine: Send + Sync + 'static {
    /// Its transactions.
    type Transaction: ByteTransaction;

    /// The name of its crate, which is that of the product.
    const CRATE: &'static str;
    /// What the product calls itself, where that is not the crate's name.
    const PRODUCT: &'static str = Self::CRATE;
    /// The names of its settings; the first is the default.
    const SETTINGS: &'static [&'static str];
    /// Whether it can check at commit that what was read for update is unchanged.
    const LOCKS_READS: bool = false;

    /// Begins a transaction at one of the settings.
    fn begin(&self, setting: &str) -> Result<Self::Transaction, Failure>;
}

/// A transaction on bytes; dropping it aborts it.
pub(crate) trait ByteTransaction: Send {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, Failure>;
    /// The same as a read that counts as a write, where the engine has that.
    fn get_for_update(&mut self, _key: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        Err(Failure::refused("this store cannot lock what it reads"))
    }
    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) -> Result<(), Failure>;
    fn delete(&mut self, key: Vec<u8>) -> Result<(), Failure>;
    /// In the order of the keys.
    fn scan(&mut self, from: RangeBound<Vec<u8>>, to: RangeBound<Vec<u8>>) -> Result<Pairs, Failure>;
    fn commit(self) -> Result<(), Failure>;
}

/// A store of bytes as a database.
pub(crate) struct KeyValue<E: Engine> {
    engine: Arc<E>,
    url: Url,
    catalog: Catalog,
}

impl<E: Engine> KeyValue<E> {
    pub fn new(engine: E, url: &Url) -> Self {
        Self { engine: Arc::new(engine), url: url.clone(), catalog: Catalog::default() }
    }
}

/// The path of a URL, which must have one.
pub(crate) fn path_of(url: &Url) -> Result<&str, Failure> {
    match url.path() {
        "" => Err(Failure::refused(format!(
            "`{url}` has no path: expected one, as in {}:/tmp/test",
            url.scheme()
        ))),
        path => Ok(path),
    }
}

/// Threads for a store whose calls are asynchronous.
#[cfg(any(feature = "slatedb", feature = "surrealkv"))]
pub(crate) fn runtime_beside_store(url: &Url) -> Result<Arc<tokio::runtime::Runtime>, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map(Arc::new).map_err(|error| Failure::refused(format!("{url}: {error}")))
}

impl<E: Engine> Database for KeyValue<E> {
    fn describe(&self) -> Description {
        Description::new(E::PRODUCT, locked_version(E::CRATE), [&self.url])
    }

    fn settings(&self) -> Vec<Setting> {
        Setting::list(E::SETTINGS, E::SETTINGS[0])
    }

    fn prepare(&self, tables: &[Table]) -> Result<(), Failure> {
        self.catalog.prepare(tables)?;
        let mut transaction = self.engine.begin(E::SETTINGS[0])?;
        for table in tables {
            let shape = self.catalog.table(&table.name)?;
            let whole = bytes::range(&shape, &Bound::Unbounded, &Bound::Unbounded)?;
            if let Some((from, to)) = whole {
                for (key, _) in transaction.scan(from, to)? {
                    transaction.delete(key)?;
                }
            }
            for (key, row) in &table.rows {
                transaction.put(bytes::key(&shape, key)?, bytes::row(&shape, row)?)?;
            }
        }
        transaction.commit()
    }

    fn connect(&self, _node: usize) -> Result<Box<dyn Session>, Failure> {
        let (engine, catalog) = (Arc::clone(&self.engine), self.catalog.clone());
        Ok(Box::new(KeyValueSession { engine, catalog, transaction: None }))
    }

    fn supports(&self, kind: StatementKind) -> bool {
        match kind {
            StatementKind::Sql => false,
            StatementKind::ReadForUpdate => E::LOCKS_READS,
            _ => true,
        }
    }
}

struct KeyValueSession<E: Engine> {
    engine: Arc<E>,
    catalog: Catalog,
    transaction: Option<E::Transaction>,
}

impl<E: Engine> Session for KeyValueSession<E> {
    fn begin(&mut self, setting: &Setting) -> Result<(), Failure> {
        if !E::SETTINGS.contains(&setting.name.as_str()) {
            return Err(Failure::refused(format!("{} has no setting {}", E::PRODUCT, setting.name)));
        }
        // The old one must be gone before a store with one writer can begin another.
        self.transaction = None;
        self.transaction = Some(self.engine.begin(&setting.name)?);
        Ok(())
    }

    fn execute(&mut self, statement: &Statement) -> Result<Reply, Failure> {
        let Some(transaction) = &mut self.transaction else {
            return Err(Failure::refused("no transaction is open"));
        };
        let answer = rows::execute(&mut Encoded(transaction), &self.catalog, statement);
        if answer.is_err() {
            self.transaction = None;
        }
        answer
    }

    fn commit(&mut self) -> Result<(), Failure> {
        match self.transaction.take() {
            Some(transaction) => transaction.commit(),
            None => Err(Failure::refused("no transaction is open")),
        }
    }

    fn abort(&mut self) -> Result<(), Failure> {
        self.transaction = None;
        Ok(())
    }

    fn id(&self) -> Option<u64> {
        None
    }
}

/// Rows as their bytes.
struct Encoded<'t, T>(&'t mut T);

impl<T: ByteTransaction> RowStore for Encoded<'_, T> {
    fn get(&mut self, table: &Shape, key: &Datum) -> Result<Option<Columns>, Failure> {
        let held = self.0.get(&bytes::key(table, key)?)?;
        held.map(|held| bytes::row_from(table, &held)).transpose()
    }

    fn get_for_update(&mut self, table: &Shape, key: &Datum) -> Result<Option<Columns>, Failure> {
        let held = self.0.get_for_update(&bytes::key(table, key)?)?;
        held.map(|held| bytes::row_from(table, &held)).transpose()
    }

    fn put(&mut self, table: &Shape, key: &Datum, row: Columns) -> Result<(), Failure> {
        self.0.put(bytes::key(table, key)?, bytes::row(table, &row)?)
    }

    fn delete(&mut self, table: &Shape, key: &Datum) -> Result<(), Failure> {
        self.0.delete(bytes::key(table, key)?)
    }

    fn scan(&mut self, table: &Shape, from: &Bound, to: &Bound) -> Result<Vec<(Datum, Columns)>, Failure> {
        let Some((from, to)) = bytes::range(table, from, to)? else {
            return Ok(Vec::new());
        };
        let decode = |(key, row): (Vec<u8>, Vec<u8>)| {
            Ok((bytes::key_from(table, &key)?, bytes::row_from(table, &row)?))
        };
        self.0.scan(from, to)?.into_iter().map(decode).collect()
    }
}

/// The version of a crate that this program was built with.
pub(crate) fn locked_version(name: &str) -> &'static str {
    const LOCK: &str = include_str!("../../../Cargo.lock");
    let start = format!("name = \"{name}\"\nversion = \"");
    let found = LOCK.split_once(start.as_str()).and_then(|(_, rest)| rest.split_once('"'));
    found.map_or("unknown", |(version, _)| version)
}
