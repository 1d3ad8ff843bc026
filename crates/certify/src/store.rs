//! The store that an order of events is replayed against: what each key holds, and since when.

use history::{History, KeyId, OpId, TxnId, ValueId};

use crate::lists::Appenders;
use crate::observe::{EverWritten, Held, Look, outside_of, writes};
use crate::{Flaw, Place};

/// What a key holds.
#[derive(Clone, Copy)]
struct Cell {
    /// `None` as long as it is an initial value that no transaction has read.
    held: Option<Held>,
    /// The place of the commit that wrote it, if one did.
    since: Option<u32>,
    /// The version that was recorded with the write.
    version: Option<i64>,
}

impl Cell {
    const EMPTY: Self = Self { held: None, since: None, version: None };
}

pub(crate) struct Store<'h> {
    history: &'h History,
    cells: Vec<Cell>,
    /// The last version of each key that was recorded, if any were.
    last_version: Vec<Option<i64>>,
    /// The lists, if there are any.
    lists: Vec<Vec<ValueId>>,
    /// Only where initial values are unknown.
    ever_written: Option<EverWritten>,
}

impl<'h> Store<'h> {
    /// The initial state.
    pub fn new(history: &'h History, has_lists: bool) -> Result<Self, Flaw> {
        if has_lists {
            Appenders::of(history)?;
        }
        let keys = (0..history.keys().len()).map(KeyId::from_index);
        let cells: Vec<Cell> = keys
            .map(|key| Cell { held: history.initial().value_of(key).map(Held::initially), ..Cell::EMPTY })
            .collect();
        let any_unknown = cells.iter().any(|cell| cell.held.is_none());
        Ok(Self {
            history,
            last_version: vec![None; if history.has_versions() { cells.len() } else { 0 }],
            lists: vec![Vec::new(); if has_lists { cells.len() } else { 0 }],
            cells,
            ever_written: any_unknown.then(|| EverWritten::of(history)),
        })
    }

    /// Whether a read of a key sees what the key holds.
    pub fn look(&mut self, txn: TxnId, op: OpId, key: KeyId, look: Look) -> Result<(), Flaw> {
        let flaw = |why: String| Err(Flaw::new(Place::Read(op), why));
        if let Some(list) = self.lists.get(key.index())
            && let Some(outside) = outside_of(self.history, txn, op)
        {
            return match outside == &list[..] {
                true => Ok(()),
                false => flaw("at its begin the list has other elements".into()),
            };
        }
        self.see_version(op, key)?;
        match self.cells[key.index()].held {
            Some(held) if look.fits(held) => Ok(()),
            Some(held) => flaw(self.wrong(key, look, held)),
            None => {
                let is_written = |all: &EverWritten| all.contains(key, look.value());
                let is_written = self.ever_written.as_ref().is_some_and(is_written);
                if !look.fits(Held::initially(look.value())) {
                    return flaw(
                        "it must see the initial state, and that is no deleted row and no row of nil".into(),
                    );
                }
                if look.value() != ValueId::NIL && is_written {
                    return flaw("it must see the initial value, but a transaction wrote what it saw".into());
                }
                self.cells[key.index()].held = Some(Held::initially(look.value()));
                Ok(())
            }
        }
    }

    fn wrong(&self, key: KeyId, look: Look, held: Held) -> String {
        let text = |value: ValueId| self.history.values().original(value).to_string();
        let saw = match look {
            Look::Plain(value) | Look::Row(value) => text(value),
            Look::Mark(value) => format!("the mark {}", text(value)),
            Look::Nothing | Look::Alternative(..) => "no row".into(),
        };
        let holds = match held {
            Held { value: ValueId::NIL, is_dead: true } => "nothing".into(),
            Held { value, is_dead: true } => format!("the mark {}", text(value)),
            Held { value, .. } => text(value),
        };
        if matches!(look, Look::Plain(_)) {
            return format!("it saw {saw}, but at its begin the key holds {holds}");
        }
        let key = self.history.keys().original(key);
        format!("it saw {saw} of {key}, but at its begin the key holds {holds}")
    }

    /// Since when a key holds what it does.
    pub fn since(&self, key: KeyId) -> Option<u32> {
        self.cells[key.index()].since
    }

    /// The writes of a transaction take effect.
    pub fn commit(&mut self, txn: TxnId, place: u32) -> Result<(), Flaw> {
        for (key, held, op) in writes(self.history, txn) {
            self.cells[key.index()] = Cell { held: Some(held), since: Some(place), version: None };
            if let Some(element) = self.history.op(op).value_appended() {
                self.lists[key.index()].push(element);
            }
        }
        if self.last_version.is_empty() {
            return Ok(());
        }
        let mut last: Vec<(KeyId, OpId)> = writes(self.history, txn).map(|(key, _, op)| (key, op)).collect();
        last.sort_unstable();
        for of_key in last.chunk_by(|a, b| a.0 == b.0) {
            let (key, op) = of_key[of_key.len() - 1];
            self.cells[key.index()].version = self.note_version(op, key, place)?;
        }
        Ok(())
    }

    /// A read tells the version of what the key holds.
    fn see_version(&mut self, op: OpId, key: KeyId) -> Result<(), Flaw> {
        let Some(last) = self.last_version.get_mut(key.index()) else { return Ok(()) };
        let Some(saw) = self.history.op_version(op) else { return Ok(()) };
        let cell = &mut self.cells[key.index()];
        let flaw = |why: String| Err(Flaw::new(Place::Read(op), why));
        match (cell.version, *last) {
            (Some(version), _) if version != saw => {
                return flaw(format!("it saw version {saw}, but at its begin the key has version {version}"));
            }
            (None, Some(last)) if last >= saw => {
                return flaw(format!(
                    "it saw version {saw}, but at its begin the key had version {last} before"
                ));
            }
            _ => {}
        }
        cell.version = Some(saw);
        *last = Some(saw);
        Ok(())
    }

    /// Recorded versions go up.
    fn note_version(&mut self, op: OpId, key: KeyId, place: u32) -> Result<Option<i64>, Flaw> {
        let Some(last) = self.last_version.get_mut(key.index()) else { return Ok(None) };
        let Some(version) = self.history.op_version(op) else { return Ok(None) };
        if let Some(last) = last.filter(|&last| last >= version) {
            let key = self.history.keys().original(key);
            let why = format!("it writes version {version} of {key} after version {last}");
            return Err(Flaw::new(Place::Order(place as usize), why));
        }
        *last = Some(version);
        Ok(Some(version))
    }
}
