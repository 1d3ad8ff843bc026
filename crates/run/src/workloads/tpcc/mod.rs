//! `tpcc`: the five transactions of TPC-C (revision 5.11) on one warehouse, 45/43/4/4/4.
//!
//! New-order, payment, order-status, delivery and stock-level with the tables of the specification, scaled by the
//! number of items. Columns that no transaction looks at (addresses, names, dates) are left out, and each row that is
//! ever changed has a column `w` that no other write repeats. Two tables stand for what SQL would look up by other
//! columns than the key: `names` (customers by name, clause 2.5.2.2) and `deliveries` (the oldest order of a district
//! that is not delivered), so that every read is one of rows by key and can be decided completely.
//!
//! `isoscope generate` has the five transactions too, in the same shares ([`drive::simulate`]), but shares no code with
//! these: there a transaction is a plan of keys to read and write, made before it runs, and here each statement depends
//! on what the ones before it found (the number of the next order, the oldest order that is not delivered).

mod tables;
mod transactions;

use databases::StatementKind;
use drive::random::Random;
use drive::simulate::Config;

use crate::attempt::{Attempt, Stop};
use crate::ids::UniqueIds;
use crate::relation::Relation;
use crate::workload::{Workload, WorkloadClient, random_of};
use tables::Tables;

/// The workload.
#[derive(Debug)]
pub struct Tpcc {
    tables: Tables,
    sessions: u32,
    seed: u64,
}

impl Tpcc {
    /// The workload of a configuration: its keys are the items, a tenth of them the customers of a district.
    pub fn new(config: &Config) -> Self {
        Self { tables: Tables::new(config.keys), sessions: config.sessions, seed: config.seed }
    }
}

impl Workload for Tpcc {
    fn relations(&self) -> Vec<&Relation> {
        self.tables.all().to_vec()
    }

    fn needs(&self) -> Vec<StatementKind> {
        vec![StatementKind::Insert, StatementKind::Delete]
    }

    fn client<'w>(&'w self, session: u32) -> Box<dyn WorkloadClient + 'w> {
        Box::new(Terminal {
            tables: &self.tables,
            random: random_of(self.seed, session),
            ids: UniqueIds::of(session, self.sessions),
        })
    }
}

/// A terminal of the warehouse.
struct Terminal<'w> {
    tables: &'w Tables,
    random: Random,
    ids: UniqueIds,
}

impl WorkloadClient for Terminal<'_> {
    fn transaction(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        match self.random.below(100) {
            0..45 => self.new_order(attempt),
            45..88 => self.payment(attempt),
            88..92 => self.order_status(attempt),
            92..96 => self.delivery(attempt),
            _ => self.stock_level(attempt),
        }
    }
}
