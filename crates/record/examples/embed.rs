//! How the tests of a database in Rust record what its clients see.
//!
//! The database here is a map behind a lock, whose transactions read at once and write at commit without looking
//! whether what they read has changed. So updates get lost, and `isoscope check` says so:
//!
//! ```text
//! cargo run -p isoscope-record --example embed -- /tmp/embed.jsonl
//! isoscope check /tmp/embed.jsonl --level snapshot-isolation
//! ```

use std::collections::BTreeMap;
use std::sync::Mutex;

use isoscope_record::{Datum, Recorder, SessionRecorder};

const CLIENTS: i64 = 4;
const TRANSACTIONS: i64 = 250;
const KEYS: i64 = 5;

/// The database under test.
#[derive(Default)]
struct Store {
    rows: Mutex<BTreeMap<i64, i64>>,
}

/// One of its transactions.
struct Transaction<'s> {
    store: &'s Store,
    writes: BTreeMap<i64, i64>,
}

impl Store {
    fn begin(&self) -> Transaction<'_> {
        Transaction { store: self, writes: BTreeMap::new() }
    }
}

impl Transaction<'_> {
    fn read(&self, key: i64) -> i64 {
        let rows = self.store.rows.lock().expect("no thread panicked");
        rows.get(&key).copied().unwrap_or(0)
    }

    fn write(&mut self, key: i64, value: i64) {
        self.writes.insert(key, value);
    }

    fn commit(self) {
        self.store.rows.lock().expect("no thread panicked").extend(self.writes);
    }
}

/// Reads a key and writes a value that no other client writes; everything that is asked and answered is recorded.
fn update(store: &Store, session: &mut SessionRecorder, key: i64, value: i64) -> std::io::Result<()> {
    session.begin();
    let mut transaction = store.begin();
    session.begun();

    let seen = transaction.read(key);
    session.read(&Datum::Int(key), &Datum::Int(seen));

    std::thread::yield_now();
    transaction.write(key, value);
    session.write(&Datum::Int(key), &Datum::Int(value));

    session.ending();
    transaction.commit();
    session.commit()
}

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "embed.jsonl".into());
    let recorder = Recorder::create(&path)?;
    recorder.note(&Datum::from("the example of the recorder: updates get lost"))?;
    recorder.default_value(&Datum::Int(0))?;
    let store = Store::default();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let (store, recorder) = (&store, &recorder);
                scope.spawn(move || -> std::io::Result<()> {
                    let mut session = recorder.session(None)?;
                    for place in 1..=TRANSACTIONS {
                        let value = client * TRANSACTIONS + place;
                        update(store, &mut session, place % KEYS, value)?;
                    }
                    Ok(())
                })
            })
            .collect();
        clients.into_iter().try_for_each(|client| client.join().expect("no client panics"))
    })?;
    println!("{path}: {} transactions; now: isoscope check {path}", recorder.counts().total());
    Ok(())
}
