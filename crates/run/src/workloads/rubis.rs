//! `rubis`: an auction house, after the benchmark of that name.
//!
//! Register a user, put an item on sale, look at an item with its bids, bid, buy now, comment on a user, look at a
//! user. Bids of an item are numbered by the item's own counter, so the bid history is a range of keys; new users and
//! items take numbers that no other session has.

use databases::StatementKind;
use drive::random::Random;
use drive::simulate::Config;
use drive::zipf::Zipf;
use history::Bound;

use crate::attempt::{Attempt, Stop};
use crate::ids::UniqueIds;
use crate::relation::{Relation, integers};
use crate::workload::{Workload, WorkloadClient, random_of};

const BIDS_OF_AN_ITEM: i64 = 1_000_000;
const SHOWN_BIDS: i64 = 5;
const ITEM_SKEW: f64 = 0.8;

/// The workload.
#[derive(Debug)]
pub struct Rubis {
    /// `rating, bids, bought, w`
    users: Relation,
    /// `seller, quantity, bids, highest, w`
    items: Relation,
    /// `user, amount, w`
    bids: Relation,
    /// `item, user, w`
    purchases: Relation,
    /// `author, about, w`
    comments: Relation,
    item_count: u32,
    user_count: u32,
    sessions: u32,
    seed: u64,
}

impl Rubis {
    /// The workload of a configuration: its keys are the items, a tenth of them the users.
    pub fn new(config: &Config) -> Self {
        let item_count = config.keys.max(1);
        let user_count = (item_count / 10).max(2);
        let sellers = i64::from(user_count);
        Self {
            users: Relation::new("users", &["rating", "bids", "bought", "w"])
                .filled(user_count, |_| vec![0, 0, 0, 0]),
            items: Relation::new("items", &["seller", "quantity", "bids", "highest", "w"])
                .filled(item_count, |item| vec![item % sellers, 10, 0, 0, 0]),
            bids: Relation::new("bids", &["bidder", "amount", "w"]),
            purchases: Relation::new("purchases", &["item", "buyer", "w"]),
            comments: Relation::new("comments", &["author", "about", "w"]),
            item_count,
            user_count,
            sessions: config.sessions,
            seed: config.seed,
        }
    }
}

impl Workload for Rubis {
    fn relations(&self) -> Vec<&Relation> {
        vec![&self.users, &self.items, &self.bids, &self.purchases, &self.comments]
    }

    fn needs(&self) -> Vec<StatementKind> {
        vec![StatementKind::Insert, StatementKind::Range]
    }

    fn client<'w>(&'w self, session: u32) -> Box<dyn WorkloadClient + 'w> {
        Box::new(RubisClient {
            rubis: self,
            item_ranks: Zipf::new(self.item_count.into(), ITEM_SKEW),
            random: random_of(self.seed, session),
            ids: UniqueIds::of(session, self.sessions),
        })
    }
}

struct RubisClient<'w> {
    rubis: &'w Rubis,
    item_ranks: Zipf,
    random: Random,
    ids: UniqueIds,
}

impl WorkloadClient for RubisClient<'_> {
    fn transaction(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        match self.random.below(100) {
            0..5 => self.register_user(attempt),
            5..15 => self.register_item(attempt),
            15..40 => self.view_item(attempt),
            40..70 => self.bid(attempt),
            70..80 => self.buy_now(attempt),
            80..90 => self.comment(attempt),
            _ => self.view_user(attempt),
        }
    }
}

impl RubisClient<'_> {
    fn user(&mut self) -> i64 {
        self.random.below(self.rubis.user_count.into()) as i64
    }

    fn item(&mut self) -> i64 {
        self.item_ranks.sample(&mut self.random) as i64
    }

    fn register_user(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let id = self.ids.take();
        attempt.insert(&self.rubis.users, i64::from(self.rubis.user_count) + id, integers(&[0, 0, 0, id]))
    }

    fn register_item(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let rubis = self.rubis;
        let seller = self.user();
        attempt.read(&rubis.users, seller)?;
        let id = self.ids.take();
        let quantity = 1 + self.random.below(10) as i64;
        let row = integers(&[seller, quantity, 0, 0, id]);
        attempt.insert(&rubis.items, i64::from(rubis.item_count) + id, row)
    }

    fn view_item(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let rubis = self.rubis;
        let item = self.item();
        let [seller, _, bids, _, _] = attempt.row(&rubis.items, item)?;
        attempt.read(&rubis.users, seller)?;
        let first = item * BIDS_OF_AN_ITEM + (bids - SHOWN_BIDS).max(0);
        let end = item * BIDS_OF_AN_ITEM + bids;
        let (from, to) = (Bound::Included(first.into()), Bound::Excluded(end.into()));
        attempt.rows(&rubis.bids, from, to).map(drop)
    }

    fn bid(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let rubis = self.rubis;
        let (item, bidder) = (self.item(), self.user());
        let [seller, quantity, bids, highest, _] = attempt.row(&rubis.items, item)?;
        let amount = highest + 1 + self.random.below(50) as i64;
        let row = integers(&[bidder, amount, self.ids.take()]);
        attempt.insert(&rubis.bids, item * BIDS_OF_AN_ITEM + bids, row)?;
        let row = integers(&[seller, quantity, bids + 1, amount, self.ids.take()]);
        attempt.write(&rubis.items, item, row)?;
        let [rating, bids, bought, _] = attempt.row(&rubis.users, bidder)?;
        let row = integers(&[rating, bids + 1, bought, self.ids.take()]);
        attempt.write(&rubis.users, bidder, row).map(drop)
    }

    fn buy_now(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let rubis = self.rubis;
        let (item, buyer) = (self.item(), self.user());
        let [seller, quantity, bids, highest, _] = attempt.row(&rubis.items, item)?;
        if quantity == 0 {
            return Ok(());
        }
        let row = integers(&[seller, quantity - 1, bids, highest, self.ids.take()]);
        attempt.write(&rubis.items, item, row)?;
        let id = self.ids.take();
        attempt.insert(&rubis.purchases, id, integers(&[item, buyer, id]))?;
        let [rating, bids, bought, _] = attempt.row(&rubis.users, buyer)?;
        let row = integers(&[rating, bids, bought + 1, self.ids.take()]);
        attempt.write(&rubis.users, buyer, row).map(drop)
    }

    fn comment(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let rubis = self.rubis;
        let (author, about) = (self.user(), self.user());
        let [rating, bids, bought, _] = attempt.row(&rubis.users, about)?;
        let change = self.random.below(11) as i64 - 5;
        let row = integers(&[rating + change, bids, bought, self.ids.take()]);
        attempt.write(&rubis.users, about, row)?;
        let id = self.ids.take();
        attempt.insert(&rubis.comments, id, integers(&[author, about, id]))
    }

    fn view_user(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let user = self.user();
        attempt.read(&self.rubis.users, user).map(drop)
    }
}
