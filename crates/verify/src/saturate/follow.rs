//! The rules applied to what improved.
//!
//! What improved at single nodes is followed from here: by the windows of the last pass, or, for a key whose writers are
//! hardly ordered, by the chains that improved. Of its writers on each chain only the nearest matters, since the others
//! follow along the chain, and it is found by a short search.

use history::TxnId;
use order::{Improved, NONE};

use super::{Contradiction, Saturation, Stop};
use crate::known::Reason;
use crate::problem::{INITIAL, OPEN, UNUSED};
use crate::windows::Windows;

impl Saturation<'_, '_> {
    /// Applies the rules to what improved at one node.
    pub(super) fn follow(&mut self, windows: &Windows, node: u32) -> Result<(), Stop> {
        self.patience.spend(16)?;
        let shape = self.problem.shape;
        let (mut ahead, mut behind) = std::mem::take(&mut self.scratch);
        self.reach.take_improved(Improved::Forward, node, &mut ahead);
        self.reach.take_improved(Improved::Backward, node, &mut behind);
        if (node as usize) < self.problem.history.txn_count() * shape.events as usize {
            let txn = shape.txn(node);
            if node == shape.install(txn) && !ahead.is_empty() {
                ahead = self.only_improved(ahead, |state| state.follow_versions(windows, txn))?;
            }
            if node == shape.begin(txn) {
                let sees_more = !behind.is_empty();
                behind = self.only_improved(behind, |state| state.follow_reads(windows, txn, sees_more))?;
            }
        }
        self.scratch = (ahead, behind);
        Ok(())
    }

    /// Limits the rules to some chains; outside of this all are looked at.
    fn only_improved(
        &mut self,
        chains: Vec<u32>,
        apply: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<Vec<u32>, Stop> {
        self.improved.select(chains);
        let result = apply(self);
        let chains = self.improved.select_all();
        result.map(|()| chains)
    }

    /// `install(txn)` reaches more of some chains: its versions are earlier than more others.
    fn follow_versions(&mut self, windows: &Windows, txn: TxnId) -> Result<(), Stop> {
        for write in self.problem.index.writes_of(txn) {
            let write = write as u32;
            if !self.problem.open.is_empty() {
                self.wake_readers_of(write);
            }
            if windows.is_done(write) {
                continue;
            } else if windows.has_window(write) {
                self.follow_window(windows, write)?;
            } else if self.readers.first(write).is_some() || self.problem.shape.writers_exclude() {
                self.precede_next_versions(write)?;
            }
        }
        Ok(())
    }

    /// The window of a write became smaller.
    fn follow_window(&mut self, windows: &Windows, write: u32) -> Result<(), Stop> {
        if self.problem.shape.writers_exclude() {
            self.exclude(windows, write)?;
        }
        let mut reader = self.readers.first(write);
        while let Some(read) = reader {
            self.follow_version(windows, read, write)?;
            reader = self.readers.after(read);
        }
        Ok(())
    }

    /// The next later version on each chain comes after all reads of this one.
    pub(super) fn precede_next_versions(&mut self, write: u32) -> Result<(), Stop> {
        let (shape, final_write) = (self.problem.shape, self.problem.index.writes()[write as usize]);
        let (txn, key) = (final_write.txn, final_write.key);
        if !self.problem.is_in(txn) {
            return Ok(());
        }
        let install = shape.install(txn);
        let mut next = std::mem::take(&mut self.found);
        next.clear();
        self.writers.for_each_group(key, &self.improved, |group| {
            let reached = self.reach.first(install, group.chain as usize);
            if reached != NONE
                && let Some((later, position)) = group.first_from(reached, txn)
            {
                next.push((later, group.chain, position));
            }
        });
        if shape.writers_exclude() {
            for &(later, ..) in &next {
                self.add(shape.commit(txn), shape.install(later), Reason::Exclusive(write))?;
            }
        }
        let mut reader = self.readers.first(write).filter(|_| !next.is_empty());
        while let Some(read) = reader {
            let begin = shape.begin(self.problem.reader(read));
            for &(later, chain, position) in &next {
                // Most are known: the row of the reader says so without a look at the writer.
                if self.reach.first(begin, chain as usize) > position {
                    self.precede(read, later)?;
                }
            }
            reader = self.readers.after(read);
        }
        self.found = next;
        Ok(())
    }

    /// A read comes before the writer of a later version.
    pub(super) fn precede(&mut self, read: u32, later: TxnId) -> Result<(), Stop> {
        let reader = self.problem.reader(read);
        if reader == later {
            return Ok(());
        }
        let shape = self.problem.shape;
        self.add(shape.begin(reader), shape.commit(later), Reason::Overwritten(read))
    }

    /// More of some chains reach `begin(txn)`, so that it sees more versions, or it reaches more.
    fn follow_reads(&mut self, windows: &Windows, txn: TxnId, sees_more: bool) -> Result<(), Stop> {
        for read in self.problem.index.reads_of(txn) {
            let read = read as u32;
            match self.problem.source[read as usize] {
                UNUSED | INITIAL => {}
                OPEN => self.wake(self.open_of_read[read as usize]),
                source if !sees_more || windows.is_done(source) => {}
                source => self.follow_read(windows, read, source)?,
            }
        }
        Ok(())
    }

    /// The last writer on each chain that is visible to a read wrote an earlier version than the one it read.
    pub(super) fn follow_visible(&mut self, read: u32, source: u32) -> Result<(), Stop> {
        let shape = self.problem.shape;
        let external = self.problem.index.reads()[read as usize];
        let begin = shape.begin(external.txn);
        let install = (source != INITIAL).then(|| shape.install(self.problem.writer(source)));
        let mut visible = std::mem::take(&mut self.found);
        visible.clear();
        self.writers.for_each_group(external.key, &self.improved, |group| {
            let chain = group.chain as usize;
            // What reaches the writer of the version is known to be earlier, and the writer's row says up to where.
            let (known, end) =
                (install.map_or(0, |node| self.reach.end(node, chain)), self.reach.end(begin, chain));
            if known < end
                && let Some((earlier, position)) = group.last_before(end, external.txn)
                && known <= position
            {
                visible.push((earlier, group.chain, position));
            }
        });
        for &(earlier, ..) in &visible {
            let Some(install) = install else {
                return Err(Contradiction::Overwritten { read, writer: earlier }.into());
            };
            if shape.install(earlier) != install {
                self.add(shape.commit(earlier), install, Reason::Visible(read))?;
            }
        }
        self.found = visible;
        Ok(())
    }
}
