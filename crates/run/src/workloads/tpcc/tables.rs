//! The tables of one warehouse, and how their keys are made of numbers.

use crate::relation::Relation;

/// Districts of the warehouse.
pub const DISTRICTS: i64 = 10;
/// Orders of a district are numbered below this.
const ORDERS: i64 = 10_000_000;
/// Lines of an order are numbered below this.
const LINES: i64 = 16;
/// Customers of one name and district at most.
const NAMESAKES: i64 = 64;

/// All tables.
#[derive(Debug)]
pub struct Tables {
    /// `ytd, w`
    pub warehouse: Relation,
    /// `next, ytd, w`: the number of the next order.
    pub districts: Relation,
    /// `balance, payments, last, w`: the number of the last order, 0 for none.
    pub customers: Relation,
    /// `customer`: by district, name and place among the namesakes.
    pub names: Relation,
    /// `price`
    pub items: Relation,
    /// `quantity, ytd, orders, w`
    pub stock: Relation,
    /// `customer, lines, carrier, w`
    pub orders: Relation,
    /// `w`: orders that are not delivered.
    pub new_orders: Relation,
    /// `next, w`: the oldest order of a district that is not delivered.
    pub deliveries: Relation,
    /// `item, quantity, amount, delivered, w`
    pub lines: Relation,
    /// `customer, amount, w`
    pub payments: Relation,
    /// Items on sale.
    pub item_count: i64,
    /// Customers of a district.
    pub customer_count: i64,
}

impl Tables {
    /// A warehouse with so many items and a tenth as many customers in each district.
    pub fn new(items: u32) -> Self {
        let customers = (items / 10).max(3);
        let everyone = DISTRICTS as u32 * customers;
        Self {
            warehouse: Relation::new("warehouse", &["ytd", "w"]).filled(1, |_| vec![0, 0]),
            districts: Relation::new("districts", &["next", "ytd", "w"])
                .filled(DISTRICTS as u32, |_| vec![1, 0, 0]),
            customers: Relation::new("customers", &["balance", "payments", "last", "w"])
                .filled(everyone, |_| vec![-10, 1, 0, 0]),
            names: names(i64::from(customers)),
            items: Relation::new("items", &["price"]).filled(items, |item| vec![100 + item * 7919 % 9900]),
            stock: Relation::new("stock", &["quantity", "ytd", "orders", "w"])
                .filled(items, |item| vec![10 + item * 31 % 91, 0, 0, 0]),
            orders: Relation::new("orders", &["customer", "lines", "carrier", "w"]),
            new_orders: Relation::new("new_orders", &["w"]),
            deliveries: Relation::new("deliveries", &["next", "w"]).filled(DISTRICTS as u32, |_| vec![1, 0]),
            lines: Relation::new("lines", &["item", "quantity", "amount", "delivered", "w"]),
            payments: Relation::new("payments", &["customer", "amount", "w"]),
            item_count: i64::from(items),
            customer_count: i64::from(customers),
        }
    }

    /// All of them.
    pub fn all(&self) -> [&Relation; 11] {
        [
            &self.warehouse,
            &self.districts,
            &self.customers,
            &self.names,
            &self.items,
            &self.stock,
            &self.orders,
            &self.new_orders,
            &self.deliveries,
            &self.lines,
            &self.payments,
        ]
    }

    /// The key of a customer.
    pub fn customer(&self, district: i64, number: i64) -> i64 {
        district * self.customer_count + number
    }

    /// How many names there are in a district: about three customers share one.
    pub fn name_count(&self) -> i64 {
        name_count(self.customer_count)
    }
}

/// The key of an order.
pub fn order(district: i64, number: i64) -> i64 {
    district * ORDERS + number
}

/// The key of a line of an order.
pub fn line(order: i64, number: i64) -> i64 {
    order * LINES + number
}

/// The first and the last key of a name.
pub fn name_keys(district: i64, name: i64) -> (i64, i64) {
    let first = (district * ORDERS + name) * NAMESAKES;
    (first, first + NAMESAKES - 1)
}

fn name_count(customers: i64) -> i64 {
    (customers / 3).max(1)
}

/// Customer number `c` has name `c` modulo the number of names, as the specification spreads them.
fn names(customers: i64) -> Relation {
    let mut relation = Relation::new("names", &["customer"]);
    let count = name_count(customers);
    for district in 0..DISTRICTS {
        for number in 0..customers {
            let (first, _) = name_keys(district, number % count);
            let customer = district * customers + number;
            relation.table.rows.push(((first + number / count).into(), vec![customer.into()]));
        }
    }
    relation.table.rows.sort();
    relation
}
