//! `general`, `blindw`, `range`, `append`, `rmw`: what the simulated database is asked, asked of a real one.
//!
//! The plan of a transaction is made by [`drive::simulate::Workload`], so a name means the same load for `generate` and
//! for `run`; those of whole applications are in files of their own, since a real database answers. Registers start at 0, rows and lists do not exist at first.

use databases::{ColumnType, StatementKind};
use drive::random::Random;
use drive::simulate::{Config, Operations, Planned as PlannedStep, Workload as Planner};
use history::{Bound, Datum};

use crate::attempt::{Attempt, Stop};
use crate::relation::Relation;
use crate::workload::{Workload, WorkloadClient, random_of};

/// A workload that is planned ahead, transaction by transaction.
#[derive(Debug)]
pub struct Planned {
    config: Config,
    relation: Relation,
}

impl Planned {
    /// The workload of a configuration.
    pub fn new(config: Config) -> Self {
        let relation = match config.operations {
            Operations::Lists { .. } => lists(),
            Operations::Rows { .. } => Relation::new("rows", &["v"]).with_key_limit(config.keys),
            _ => Relation::new("registers", &["v"])
                .filled(config.keys, |_| vec![0])
                .with_key_limit(config.keys),
        };
        Self { config, relation: relation.alone() }
    }
}

fn lists() -> Relation {
    let mut relation = Relation::new("lists", &["v"]);
    relation.table.columns[0].1 = ColumnType::Text;
    relation.holds_lists = true;
    relation
}

impl Workload for Planned {
    fn relations(&self) -> Vec<&Relation> {
        vec![&self.relation]
    }

    fn needs(&self) -> Vec<StatementKind> {
        match self.config.operations {
            Operations::Lists { .. } => vec![StatementKind::Append],
            Operations::Rows { .. } => {
                vec![StatementKind::Insert, StatementKind::Delete, StatementKind::Range]
            }
            _ => Vec::new(),
        }
    }

    fn client<'w>(&'w self, session: u32) -> Box<dyn WorkloadClient + 'w> {
        Box::new(PlannedClient {
            workload: self,
            planner: Planner::new(&self.config),
            random: random_of(self.config.seed, session),
            plan: Vec::new(),
            session,
        })
    }
}

struct PlannedClient<'w> {
    workload: &'w Planned,
    planner: Planner<'w>,
    random: Random,
    plan: Vec<PlannedStep>,
    session: u32,
}

impl WorkloadClient for PlannedClient<'_> {
    fn transaction(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let mut plan = std::mem::take(&mut self.plan);
        self.planner.plan(&mut self.random, &mut plan);
        let done = plan.iter().try_for_each(|&step| self.step(step, attempt));
        self.plan = plan;
        done?;
        match self.random.chance(self.workload.config.abort_share) {
            true => Err(Stop::GiveUp),
            false => Ok(()),
        }
    }
}

impl PlannedClient<'_> {
    fn step(&mut self, step: PlannedStep, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let relation = &self.workload.relation;
        match step {
            PlannedStep::Read(key) | PlannedStep::ReadRow(key) => {
                attempt.read(relation, i64::from(key)).map(drop)
            }
            PlannedStep::Write(key) => {
                let value = self.value(key);
                attempt.write(relation, i64::from(key), vec![value]).map(drop)
            }
            PlannedStep::ReadList(key) => attempt.read_list(relation, i64::from(key)),
            PlannedStep::Append(key) => {
                let value = self.value(key);
                attempt.append(relation, i64::from(key), value)
            }
            PlannedStep::InsertOrDelete(key) => self.insert_or_delete(key, attempt),
            PlannedStep::WriteRow(key) => self.write_row(key, attempt),
            PlannedStep::Range(key, count) => {
                let from = Bound::Included(Datum::Int(key.into()));
                let to = Bound::Excluded(Datum::Int(i64::from(key) + i64::from(count)));
                attempt.range(relation, from, to).map(drop)
            }
            // No preset that is planned here filters by columns: `predicates.rs` does.
            PlannedStep::Query { .. } | PlannedStep::Update { .. } => Ok(()),
        }
    }

    fn insert_or_delete(&mut self, key: u32, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let relation = &self.workload.relation;
        if attempt.read(relation, i64::from(key))?.is_some() {
            return attempt.delete(relation, i64::from(key)).map(drop);
        }
        let value = self.value(key);
        attempt.insert(relation, i64::from(key), vec![value])
    }

    fn write_row(&mut self, key: u32, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let relation = &self.workload.relation;
        let value = self.value(key);
        if attempt.write(relation, i64::from(key), vec![value.clone()])? {
            return Ok(());
        }
        attempt.insert(relation, i64::from(key), vec![value])
    }

    /// The planner of each session counts its own values; spread over the sessions they are unique.
    fn value(&mut self, key: u32) -> Datum {
        let value = i64::from(self.planner.value(&mut self.random, key));
        if self.planner.repeats_values(key) {
            return Datum::Int(value);
        }
        let sessions = i64::from(self.workload.config.sessions);
        Datum::Int((value - 1) * sessions + i64::from(self.session) + 1)
    }
}
