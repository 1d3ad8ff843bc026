//! An order tried on all rows: which of them do not fit?

use certify::{Core, Level, Node};
use history::{History, KeyId, TxnId};
use rustc_hash::FxHashMap;

use super::contents::ContentNumber;
use super::open::{Open, concerned, effects};
use super::scripts::Scripts;
use super::table::RowTable;

/// So many transactions that do not fit are enough, and so many rows of each.
const MAX_TXNS: usize = 8;
const MAX_ROWS: usize = 8;

/// What does not fit.
#[derive(Default)]
pub(crate) struct Misfits {
    /// How many transactions.
    pub txns: usize,
    /// The rows of these.
    pub keys: Vec<KeyId>,
}

pub(super) struct Trial<'h> {
    scripts: Scripts<'h>,
    table: RowTable,
    events_per_txn: u32,
    /// What transactions that have begun will write.
    begun: FxHashMap<TxnId, (u32, Vec<(KeyId, ContentNumber)>)>,
    core: Core,
}

impl<'h> Trial<'h> {
    pub fn new(history: &'h History, level: &Level) -> Option<Self> {
        let mut scripts = Scripts::of(history)?;
        let table = RowTable::new(history, &mut scripts);
        let (events_per_txn, core) = (level.events_per_txn(), level.core);
        Some(Self { scripts, table, events_per_txn, begun: FxHashMap::default(), core })
    }

    /// Runs the transactions.
    pub fn run(mut self, order: &[Node]) -> Option<Misfits> {
        let mut misfits = Misfits::default();
        for (moment, &node) in order.iter().enumerate() {
            let txn = node.txn(self.events_per_txn)?;
            if node == Node::begin(txn, self.events_per_txn) {
                self.begin(txn, moment as u32, &mut misfits);
            }
            if node.is_commit(self.events_per_txn) {
                self.commit(txn, moment as u32, &mut misfits);
            }
            if misfits.txns >= MAX_TXNS {
                break;
            }
        }
        Some(misfits)
    }

    /// What a transaction wrote takes effect; two writers of a row must not overlap where the level says so.
    fn commit(&mut self, txn: TxnId, moment: u32, misfits: &mut Misfits) {
        let Some((began, writes)) = self.begun.remove(&txn) else { return };
        let overlaps =
            |&(key, _): &(KeyId, ContentNumber)| self.table.since(key).is_some_and(|since| since > began);
        if self.core == Core::Snapshot
            && let Some(&(key, _)) = writes.iter().find(|write| overlaps(write))
        {
            misfits.txns += 1;
            misfits.keys.push(key);
        }
        for (key, content) in writes {
            self.table.write(&self.scripts.contents, key, content, moment);
        }
    }

    /// Runs a transaction. If only the number of rows does not fit, all that it meets are in doubt.
    fn begin(&mut self, txn: TxnId, moment: u32, misfits: &mut Misfits) {
        let writes = effects(&mut self.scripts, &self.table, txn);
        self.begun.insert(txn, (moment, writes));
        if Open::new(&mut self.scripts, &self.table, txn, Vec::new()).fits() {
            return;
        }
        misfits.txns += 1;
        let keys = concerned(&self.scripts, &self.table, txn);
        let is_wrong = |&key: &KeyId| !self.scripts.meet(txn, key, self.table.now(key)).is_right;
        let wrong: Vec<KeyId> = keys.iter().copied().filter(is_wrong).take(MAX_ROWS).collect();
        misfits.keys.extend(if wrong.is_empty() { keys } else { wrong });
    }
}
