//! The five transactions, clauses 2.4 to 2.8 of the specification.

use drive::random::Random;
use history::{Bound, Datum};

use super::Terminal;
use super::tables::{DISTRICTS, line, name_keys, order};
use crate::attempt::{Attempt, Stop};
use crate::relation::{integers, numbers};

/// One new order in a hundred asks for an item that does not exist and is rolled back (clause 2.4.1.4).
const ROLLBACK_SHARE: f64 = 0.01;
/// Six in ten customers are found by name (clause 2.5.1.2).
const BY_NAME_SHARE: f64 = 0.6;
/// Stock-level looks at the last so many orders.
const RECENT_ORDERS: i64 = 20;
const LOW_STOCK: i64 = 10;

impl Terminal<'_> {
    pub fn new_order(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let tables = self.tables;
        let district = self.district();
        let customer = tables.customer(district, skewed(&mut self.random, tables.customer_count));
        attempt.read(&tables.warehouse, 0i64)?;
        let [number, ytd, _] = attempt.row(&tables.districts, district)?;
        let w = self.ids.take();
        attempt.write(&tables.districts, district, integers(&[number + 1, ytd, w]))?;
        let [balance, payments, _, _] = attempt.row(&tables.customers, customer)?;
        let items = self.items();
        let key = order(district, number);
        let row = integers(&[customer, items.len() as i64, 0, self.ids.take()]);
        attempt.insert(&tables.orders, key, row)?;
        attempt.insert(&tables.new_orders, key, vec![self.ids.datum()])?;
        let last = integers(&[balance, payments, number, self.ids.take()]);
        attempt.write(&tables.customers, customer, last)?;
        for (place, &item) in items.iter().enumerate() {
            self.order_line(attempt, line(key, place as i64 + 1), item)?;
        }
        match self.random.chance(ROLLBACK_SHARE) {
            true => Err(Stop::GiveUp),
            false => Ok(()),
        }
    }

    fn order_line(&mut self, attempt: &mut Attempt<'_>, key: i64, item: i64) -> Result<(), Stop> {
        let tables = self.tables;
        let [price] = attempt.row(&tables.items, item)?;
        let [quantity, ytd, orders, _] = attempt.row(&tables.stock, item)?;
        let wanted = 1 + self.random.below(10) as i64;
        let left = if quantity >= wanted + LOW_STOCK { quantity - wanted } else { quantity - wanted + 91 };
        let stock = integers(&[left, ytd + wanted, orders + 1, self.ids.take()]);
        attempt.write(&tables.stock, item, stock)?;
        let row = integers(&[item, wanted, wanted * price, 0, self.ids.take()]);
        attempt.insert(&tables.lines, key, row)
    }

    pub fn payment(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let tables = self.tables;
        let district = self.district();
        let amount = 1 + self.random.below(5000) as i64;
        let [ytd, _] = attempt.row(&tables.warehouse, 0)?;
        let w = self.ids.take();
        attempt.write(&tables.warehouse, 0i64, integers(&[ytd + amount, w]))?;
        let [next, ytd, _] = attempt.row(&tables.districts, district)?;
        let w = self.ids.take();
        attempt.write(&tables.districts, district, integers(&[next, ytd + amount, w]))?;
        let customer = self.customer(attempt, district)?;
        let [balance, payments, last, _] = attempt.row(&tables.customers, customer)?;
        let paid = integers(&[balance - amount, payments + 1, last, self.ids.take()]);
        attempt.write(&tables.customers, customer, paid)?;
        let w = self.ids.take();
        attempt.insert(&tables.payments, w, integers(&[customer, amount, w]))
    }

    pub fn order_status(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let tables = self.tables;
        let district = self.district();
        let customer = self.customer(attempt, district)?;
        let [_, _, last, _] = attempt.row(&tables.customers, customer)?;
        if last == 0 {
            return Ok(());
        }
        let key = order(district, last);
        let [_, count, _, _] = attempt.row(&tables.orders, key)?;
        self.lines_of(attempt, key, key, count).map(drop)
    }

    pub fn delivery(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let carrier = 1 + self.random.below(10) as i64;
        (0..DISTRICTS).try_for_each(|district| self.deliver(attempt, district, carrier))
    }

    fn deliver(&mut self, attempt: &mut Attempt<'_>, district: i64, carrier: i64) -> Result<(), Stop> {
        let tables = self.tables;
        let [next, _] = attempt.row(&tables.deliveries, district)?;
        let key = order(district, next);
        if attempt.read(&tables.new_orders, key)?.is_none() {
            return Ok(());
        }
        attempt.write(&tables.deliveries, district, integers(&[next + 1, self.ids.take()]))?;
        attempt.delete(&tables.new_orders, key)?;
        let [customer, count, _, _] = attempt.row(&tables.orders, key)?;
        let w = self.ids.take();
        attempt.write(&tables.orders, key, integers(&[customer, count, carrier, w]))?;
        let mut total = 0;
        for (key, row) in self.lines_of(attempt, key, key, count)? {
            let [item, quantity, amount, _, _] = numbers(&row);
            total += amount;
            let row = integers(&[item, quantity, amount, 1, self.ids.take()]);
            attempt.write(&tables.lines, key, row)?;
        }
        let [balance, payments, last, _] = attempt.row(&tables.customers, customer)?;
        let row = integers(&[balance + total, payments, last, self.ids.take()]);
        attempt.write(&tables.customers, customer, row).map(drop)
    }

    pub fn stock_level(&mut self, attempt: &mut Attempt<'_>) -> Result<(), Stop> {
        let tables = self.tables;
        let district = self.district();
        let [next, _, _] = attempt.row(&tables.districts, district)?;
        if next == 1 {
            return Ok(());
        }
        let first = order(district, (next - RECENT_ORDERS).max(1));
        let lines = self.lines_of(attempt, first, order(district, next - 1), 15)?;
        let mut items: Vec<i64> = lines.iter().map(|(_, row)| numbers::<5>(row)[0]).collect();
        items.sort_unstable();
        items.dedup();
        items.into_iter().try_for_each(|item| attempt.read(&tables.stock, item).map(drop))
    }

    /// The lines of the orders from one to another; `most` is how many an order has at most.
    fn lines_of(
        &self,
        attempt: &mut Attempt<'_>,
        first: i64,
        last: i64,
        most: i64,
    ) -> Result<Vec<(Datum, Vec<Datum>)>, Stop> {
        let tables = self.tables;
        if attempt.abilities().ranges {
            let from = Bound::Included(line(first, 1).into());
            let to = Bound::Included(line(last, 15).into());
            return attempt.rows(&tables.lines, from, to);
        }
        let mut lines = Vec::new();
        for key in (first..=last).flat_map(|order| (1..=most).map(move |place| line(order, place))) {
            let row = attempt.read(&tables.lines, key)?;
            lines.extend(row.map(|row| (Datum::Int(key), row)));
        }
        Ok(lines)
    }

    /// A customer of a district, by name or by number.
    fn customer(&mut self, attempt: &mut Attempt<'_>, district: i64) -> Result<i64, Stop> {
        let tables = self.tables;
        if !attempt.abilities().ranges || !self.random.chance(BY_NAME_SHARE) {
            return Ok(tables.customer(district, skewed(&mut self.random, tables.customer_count)));
        }
        let name = skewed(&mut self.random, tables.name_count());
        let (first, last) = name_keys(district, name);
        let (from, to) = (Bound::Included(first.into()), Bound::Included(last.into()));
        let found = attempt.rows(&tables.names, from, to)?;
        // The one in the middle, rounded up (clause 2.5.2.2).
        let middle = found.get(found.len().div_ceil(2).saturating_sub(1));
        middle.map(|(_, row)| numbers::<1>(row)[0]).ok_or(Stop::GiveUp)
    }

    fn district(&mut self) -> i64 {
        self.random.below(DISTRICTS as u64) as i64
    }

    /// Different items, in one order for everybody, so that locks are asked for in one order.
    fn items(&mut self) -> Vec<i64> {
        let count = 5 + self.random.below(11);
        let mut items: Vec<i64> =
            (0..count).map(|_| skewed(&mut self.random, self.tables.item_count)).collect();
        items.sort_unstable();
        items.dedup();
        items
    }
}

/// A number below `count`, some more often than others (`NURand`, clause 2.1.6, its range scaled).
fn skewed(random: &mut Random, count: i64) -> i64 {
    let mask = (count as u64 / 12).next_power_of_two() - 1;
    let often = random.below(mask + 1);
    let any = random.below(count as u64);
    ((often | any) % count as u64) as i64
}
