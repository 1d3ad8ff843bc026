//! `bank`: transfers between accounts and audits of all of them; the total never changes.
//!
//! A row holds the balance and `w`, a number that no other write has, so that every version can be told apart.

use databases::StatementKind;
use drive::random::Random;
use drive::simulate::Config;
use history::Bound;

use crate::attempt::{Attempt, KeyedRow, Stop};
use crate::ids::UniqueIds;
use crate::relation::{Relation, integer, integers};
use crate::workload::{Workload, WorkloadClient, random_of};

const FIRST_BALANCE: i64 = 100;
const LARGEST_TRANSFER: u64 = 20;

/// The workload.
#[derive(Debug)]
pub struct Bank {
    accounts: Relation,
    count: u32,
    audit_share: f64,
    sessions: u32,
    seed: u64,
}

impl Bank {
    /// The workload of a configuration: its keys are the accounts, its read share the share of audits.
    pub fn new(config: &Config) -> Self {
        let count = config.keys.max(2);
        let accounts = Relation::new("accounts", &["balance", "w"])
            .filled(count, |_| vec![FIRST_BALANCE, 0])
            .with_key_limit(count);
        Self { accounts, count, audit_share: config.read_share, sessions: config.sessions, seed: config.seed }
    }

    fn total(&self) -> i64 {
        i64::from(self.count) * FIRST_BALANCE
    }
}

impl Workload for Bank {
    fn relations(&self) -> Vec<&Relation> {
        vec![&self.accounts]
    }

    fn needs(&self) -> Vec<StatementKind> {
        Vec::new()
    }

    fn client<'w>(&'w self, session: u32) -> Box<dyn WorkloadClient + 'w> {
        Box::new(BankClient {
            bank: self,
            random: random_of(self.seed, session),
            ids: UniqueIds::of(session, self.sessions),
        })
    }

    fn remark(&self, last: &[Vec<KeyedRow>]) -> Option<String> {
        let total: i64 = last.first()?.iter().map(|(_, row)| row.first().map_or(0, integer)).sum();
        let first = self.total();
        Some(match total == first {
            true => format!("the accounts hold {total} together, as at first"),
            false => format!("the accounts held {first} together at first and hold {total} now"),
        })
    }
}

struct BankClient<'w> {
    bank: &'w Bank,
    random: Random,
    ids: UniqueIds,
}

impl WorkloadClient for BankClient<'_> {
    fn transaction(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        match self.random.chance(self.bank.audit_share) {
            true => self.audit(attempt),
            false => self.transfer(attempt),
        }
    }
}

impl BankClient<'_> {
    fn audit(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let accounts = &self.bank.accounts;
        if attempt.abilities().ranges {
            return attempt.rows(accounts, Bound::Unbounded, Bound::Unbounded).map(drop);
        }
        let mut keys = 0..i64::from(self.bank.count);
        keys.try_for_each(|account| attempt.read(accounts, account).map(drop))
    }

    fn transfer(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let accounts = &self.bank.accounts;
        let count = u64::from(self.bank.count);
        let from = self.random.below(count) as i64;
        let to = (from + 1 + self.random.below(count - 1) as i64) % count as i64;
        let amount = 1 + self.random.below(LARGEST_TRANSFER) as i64;
        let [debit, _] = attempt.row(accounts, from)?;
        let [credit, _] = attempt.row(accounts, to)?;
        if debit < amount {
            return Ok(());
        }
        attempt.write(accounts, from, integers(&[debit - amount, self.ids.take()]))?;
        attempt.write(accounts, to, integers(&[credit + amount, self.ids.take()])).map(drop)
    }
}
