//! `blindw-pred`: reads and writes by condition, half and half.
//!
//! After the published benchmark of that name: rows of two columns, and every statement picks those whose column lies
//! in a random range. Columns hold 0 to 9,999 at first and get such values later; the second digit group of a written
//! value makes it unique, so that a value names its statement.

use databases::{StatementKind, Where};
use drive::random::Random;
use drive::simulate::Config;
use history::Datum;

use crate::attempt::{Attempt, Stop};
use crate::ids::UniqueIds;
use crate::relation::Relation;
use crate::workload::{Workload, WorkloadClient, random_of};

/// How many values a column is spread over.
const SPREAD: u64 = 10_000;
/// Unique numbers stand below this in a value.
const UNIQUE: i64 = 1_000_000_000;
/// The largest share of the rows that a condition picks, in expectation.
const WIDEST: u64 = SPREAD / 20;

/// The workload.
#[derive(Debug)]
pub struct Predicates {
    relation: Relation,
    operations: (u32, u32),
    read_share: f64,
    sessions: u32,
    seed: u64,
}

impl Predicates {
    /// The workload of a configuration: its keys, operations, read share and seed.
    pub fn new(config: &Config) -> Self {
        let mut random = Random::new(config.seed);
        let first: Vec<[i64; 2]> = (0..config.keys)
            .map(|_| [random.below(SPREAD) as i64 * UNIQUE, random.below(SPREAD) as i64 * UNIQUE])
            .collect();
        let mut relation = Relation::new("blind", &["v1", "v2"])
            .filled(config.keys, |key| first[key as usize].to_vec())
            .with_key_limit(config.keys)
            .alone();
        relation.is_by_condition = true;
        relation.table.keeps_old = true;
        Self {
            relation,
            operations: config.operations_per_transaction,
            read_share: config.read_share,
            sessions: config.sessions,
            seed: config.seed,
        }
    }
}

impl Workload for Predicates {
    fn relations(&self) -> Vec<&Relation> {
        vec![&self.relation]
    }

    fn needs(&self) -> Vec<StatementKind> {
        vec![StatementKind::Select, StatementKind::Update]
    }

    fn client<'w>(&'w self, session: u32) -> Box<dyn WorkloadClient + 'w> {
        Box::new(PredicateClient {
            workload: self,
            random: random_of(self.seed, session),
            ids: UniqueIds::of(session, self.sessions),
        })
    }
}

struct PredicateClient<'w> {
    workload: &'w Predicates,
    random: Random,
    ids: UniqueIds,
}

impl WorkloadClient for PredicateClient<'_> {
    fn transaction(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let (least, most) = self.workload.operations;
        let count = u64::from(least) + self.random.below(u64::from(most - least) + 1);
        for _ in 0..count {
            let predicate = self.predicate();
            if self.random.chance(self.workload.read_share) {
                attempt.select(&self.workload.relation, &predicate)?;
            } else {
                let set = self.change();
                attempt.update(&self.workload.relation, &predicate, &set)?;
            }
        }
        Ok(())
    }
}

impl PredicateClient<'_> {
    fn column(&mut self) -> String {
        if self.random.chance(0.5) { "v1".to_owned() } else { "v2".to_owned() }
    }

    fn predicate(&mut self) -> Where {
        let column = self.column();
        let width = 1 + self.random.below(WIDEST);
        let from = self.random.below(SPREAD - width) as i64 * UNIQUE;
        Where::Between(column, Datum::Int(from), Datum::Int(from + width as i64 * UNIQUE - 1))
    }

    fn change(&mut self) -> Vec<(String, Datum)> {
        let value = self.random.below(SPREAD) as i64 * UNIQUE + self.ids.take();
        vec![(self.column(), Datum::Int(value))]
    }
}
