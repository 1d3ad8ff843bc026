//! Transactions of known applications, as reads and writes of single keys.
//!
//! `Orders` are the five transactions of TPC-C with one warehouse, in the shares of its mix: new order, payment, order
//! status, delivery and stock level; every row is a key, and a row that is inserted is a key that is written for the
//! first time. `Messages` are those of a social network: a message, a follower more or less, a timeline, a profile.
//! What rows a transaction asks for is decided when it is planned, so an order may be asked for that does not exist yet.
//! (`isoscope run` has real tables for `tpcc` and `twitter`, whose transactions go by what they have read.)

use super::config::Application;
use super::workload::Planned;
use crate::random::Random;
use crate::zipf::Zipf;

const DISTRICTS: u32 = 10;
const CUSTOMERS: u32 = 3_000;
/// Orders that the stock level looks at.
const RECENT_ORDERS: usize = 20;
const FOLLOWED: u64 = 10;

/// Plans the transactions of an application.
#[derive(Debug)]
pub(crate) struct Planner {
    application: Application,
    /// Items in stock, or members of the network.
    size: u32,
    next_key: u32,
    /// For each district its orders, oldest first, and how many of them were delivered.
    orders: Vec<(Vec<Order>, usize)>,
    /// For each member the keys of its messages, oldest first.
    messages: Vec<Vec<u32>>,
    ranks: Zipf,
}

/// An order: the keys of its rows follow each other, the order, the mark that it is new, and the lines.
#[derive(Clone, Debug)]
struct Order {
    key: u32,
    customer: u32,
    items: Vec<u32>,
}

impl Order {
    fn lines(&self) -> impl Iterator<Item = u32> {
        self.key + 2..self.key + 2 + self.items.len() as u32
    }
}

impl Planner {
    pub fn new(application: Application, size: u32) -> Self {
        let fixed = match application {
            Application::Orders => 1 + DISTRICTS + DISTRICTS * CUSTOMERS + 2 * size,
            Application::Messages => 2 * size,
        };
        Self {
            application,
            size,
            next_key: fixed,
            orders: vec![(Vec::new(), 0); DISTRICTS as usize],
            messages: vec![Vec::new(); if application == Application::Messages { size as usize } else { 0 }],
            ranks: Zipf::new(u64::from(size), 0.8),
        }
    }

    /// How many keys were used so far.
    pub fn key_count(&self) -> u32 {
        self.next_key
    }

    /// Plans the next transaction.
    pub fn plan(&mut self, random: &mut Random, plan: &mut Vec<Planned>) {
        let share = random.below(100);
        match (self.application, share) {
            (Application::Orders, 0..45) => self.new_order(random, plan),
            (Application::Orders, 45..88) => self.payment(random, plan),
            (Application::Orders, 88..92) => self.order_status(random, plan),
            (Application::Orders, 92..96) => self.delivery(plan),
            (Application::Orders, _) => self.stock_level(random, plan),
            (Application::Messages, 0..30) => self.message(random, plan),
            (Application::Messages, 30..50) => self.follow(random, plan),
            (Application::Messages, 50..90) => self.timeline(random, plan),
            (Application::Messages, _) => self.profile(random, plan),
        }
    }

    fn fresh_keys(&mut self, count: u32) -> u32 {
        let first = self.next_key;
        self.next_key += count;
        first
    }

    fn new_order(&mut self, random: &mut Random, plan: &mut Vec<Planned>) {
        let (district, customer) = (any_district(random), any_customer(random));
        let count = 5 + random.below(11);
        let items: Vec<u32> = (0..count).map(|_| uneven(random, 8191, self.size)).collect();
        let key = self.fresh_keys(2 + count as u32);
        let order = Order { key, customer, items };
        plan.extend([
            Planned::Read(WAREHOUSE),
            Planned::Read(district_key(district)),
            Planned::Write(district_key(district)),
            Planned::Read(customer_key(district, customer)),
            Planned::Write(key),
            Planned::Write(key + 1),
        ]);
        for (&item, line) in order.items.iter().zip(order.lines()) {
            let stock = self.stock_key(item);
            plan.extend([Planned::Read(self.item_key(item)), Planned::Read(stock)]);
            plan.extend([Planned::Write(stock), Planned::Write(line)]);
        }
        self.orders[district as usize].0.push(order);
    }

    fn payment(&mut self, random: &mut Random, plan: &mut Vec<Planned>) {
        let district = any_district(random);
        let customer = customer_key(district, any_customer(random));
        for key in [WAREHOUSE, district_key(district), customer] {
            plan.extend([Planned::Read(key), Planned::Write(key)]);
        }
        plan.push(Planned::Write(self.fresh_keys(1)));
    }

    fn order_status(&self, random: &mut Random, plan: &mut Vec<Planned>) {
        let district = any_district(random);
        let orders = &self.orders[district as usize].0;
        let Some(order) = orders.get(random.below(orders.len() as u64) as usize) else {
            return plan.push(Planned::Read(customer_key(district, any_customer(random))));
        };
        plan.extend([Planned::Read(customer_key(district, order.customer)), Planned::Read(order.key)]);
        plan.extend(order.lines().map(Planned::Read));
    }

    fn delivery(&mut self, plan: &mut Vec<Planned>) {
        for (district, (orders, delivered)) in (0..).zip(&mut self.orders) {
            let Some(order) = orders.get(*delivered) else { continue };
            *delivered += 1;
            let customer = customer_key(district, order.customer);
            for key in [order.key + 1, order.key].into_iter().chain(order.lines()).chain([customer]) {
                plan.extend([Planned::Read(key), Planned::Write(key)]);
            }
        }
        if plan.is_empty() {
            plan.push(Planned::Read(WAREHOUSE));
        }
    }

    fn stock_level(&self, random: &mut Random, plan: &mut Vec<Planned>) {
        let district = any_district(random);
        plan.push(Planned::Read(district_key(district)));
        let orders = &self.orders[district as usize].0;
        let recent = &orders[orders.len().saturating_sub(RECENT_ORDERS)..];
        for order in recent {
            plan.extend(order.lines().map(Planned::Read));
            plan.extend(order.items.iter().map(|&item| Planned::Read(self.stock_key(item))));
        }
    }

    fn item_key(&self, item: u32) -> u32 {
        1 + DISTRICTS + DISTRICTS * CUSTOMERS + item
    }

    fn stock_key(&self, item: u32) -> u32 {
        self.item_key(item) + self.size
    }

    fn any_member(&self, random: &mut Random) -> u32 {
        self.ranks.sample(random) as u32
    }

    /// The list of members that a member follows has another key than the member's own row.
    fn follows_key(&self, member: u32) -> u32 {
        self.size + member
    }

    fn message(&mut self, random: &mut Random, plan: &mut Vec<Planned>) {
        let member = self.any_member(random);
        let message = self.fresh_keys(1);
        self.messages[member as usize].push(message);
        plan.extend([Planned::Read(member), Planned::Write(message), Planned::Write(member)]);
    }

    fn follow(&self, random: &mut Random, plan: &mut Vec<Planned>) {
        let (member, other) = (self.any_member(random), self.any_member(random));
        let follows = self.follows_key(member);
        plan.extend([Planned::Read(member), Planned::Read(other)]);
        plan.extend([Planned::Read(follows), Planned::Write(follows)]);
    }

    fn timeline(&self, random: &mut Random, plan: &mut Vec<Planned>) {
        plan.push(Planned::Read(self.follows_key(self.any_member(random))));
        for _ in 0..1 + random.below(FOLLOWED) {
            let followed = self.any_member(random);
            plan.push(Planned::Read(followed));
            plan.extend(self.messages[followed as usize].last().map(|&message| Planned::Read(message)));
        }
    }

    fn profile(&self, random: &mut Random, plan: &mut Vec<Planned>) {
        let member = self.any_member(random);
        let messages = &self.messages[member as usize];
        plan.push(Planned::Read(member));
        plan.extend(messages.iter().rev().take(5).map(|&message| Planned::Read(message)));
    }
}

const WAREHOUSE: u32 = 0;

fn district_key(district: u32) -> u32 {
    1 + district
}

fn customer_key(district: u32, customer: u32) -> u32 {
    1 + DISTRICTS + district * CUSTOMERS + customer
}

fn any_district(random: &mut Random) -> u32 {
    random.below(u64::from(DISTRICTS)) as u32
}

fn any_customer(random: &mut Random) -> u32 {
    uneven(random, 1023, CUSTOMERS)
}

/// A number below a limit; those with many bits of a mask come more often.
fn uneven(random: &mut Random, mask: u64, limit: u32) -> u32 {
    let number = random.below(mask + 1) | random.below(u64::from(limit));
    (number % u64::from(limit)) as u32
}
