//! Which events each node reaches, as bands of bits.
//!
//! Real time orders most transactions: of two that do not overlap the earlier one reaches the later one, and never the
//! other way round. So events have columns in the order in which their transactions began, and a row has bits only for
//! the columns between the first transaction that may be reached and the first that is reached for certain. With 20
//! sessions that is a word or two for each node, where a square of a thousand transactions had 17, and 33 at `strong-si`;
//! closing the graph took a tenth of all instructions.
//!
//! Chains as in `order` would need no matrix, and pay only where a history has hundreds of thousands of transactions.

use crate::events::{Events, Moments};

/// A band of bits for each event that plays a part, and for each moment.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// For each event its column, or `NOWHERE`.
    columns: Vec<u32>,
    /// For each node its band; empty for an event that plays no part.
    bands: Vec<Band>,
    bits: Vec<u64>,
}

/// The words of a row that are not known beforehand: those before `low` are zero, those from `high` on are ones.
#[derive(Clone, Copy, Debug, Default)]
struct Band {
    low: u32,
    high: u32,
    /// Where its words begin.
    start: u32,
}

const NOWHERE: u32 = u32::MAX;

/// What no band has: the row of an event that plays no part.
const NO_BAND: Band = Band { low: u32::MAX, high: u32::MAX, start: u32::MAX };

impl Reach {
    /// No node reaches another, but by real time. `nodes` are the transactions that play a part, with their moments. Of
    /// all nodes those after the events are moments, and `edges` lead from events to these and from these to events.
    pub fn new(
        events: Events,
        (event_count, node_count): (u32, u32),
        nodes: &[(u32, Moments)],
        edges: &[(u32, u32)],
    ) -> Self {
        let spans = Spans::of(events, nodes);
        let mut reach = Self { columns: vec![NOWHERE; event_count as usize], ..Self::default() };
        let mut bounds = vec![(u32::MAX, 0); event_count as usize];
        for (place, &(txn, _)) in nodes.iter().enumerate() {
            let (rank, low, high) = spans.of_node(place);
            for event in events.begin(txn)..=events.commit(txn) {
                reach.columns[event as usize] = rank * events.per_txn + event - events.begin(txn);
                bounds[event as usize] = (low * events.per_txn, high * events.per_txn);
            }
        }
        bounds.resize(node_count as usize, (0, nodes.len() as u32 * events.per_txn));
        for &(from, to) in edges {
            // What precedes an event that leads to a moment precedes the moment, and what follows an event follows it.
            if to >= event_count && from < event_count {
                bounds[to as usize].0 = bounds[to as usize].0.max(bounds[from as usize].0);
            }
            if from >= event_count && to < event_count {
                bounds[from as usize].1 = bounds[from as usize].1.min(bounds[to as usize].1);
            }
        }
        let mut start = 0;
        for (low, high) in bounds {
            if low == u32::MAX {
                reach.bands.push(NO_BAND);
                continue;
            }
            let (low, high) = (low / 64, high.div_ceil(64).max(low / 64));
            reach.bands.push(Band { low, high, start });
            start += high - low;
        }
        reach.bits = vec![0; start as usize];
        reach
    }

    /// Whether a path of known edges leads from one node to an event.
    #[inline]
    pub fn get(&self, from: u32, to: u32) -> bool {
        let (band, column) = (self.bands[from as usize], self.columns[to as usize]);
        if column == NOWHERE || column / 64 < band.low {
            return false;
        }
        column / 64 >= band.high
            || self.bits[(band.start + column / 64 - band.low) as usize] & 1 << (column % 64) != 0
    }

    /// Notes one edge to an event alone. An edge to an event that ended before is part of a cycle, and is not noted.
    #[inline]
    pub fn set(&mut self, from: u32, to: u32) {
        let (band, column) = (self.bands[from as usize], self.columns[to as usize]);
        if column != NOWHERE && (band.low..band.high).contains(&(column / 64)) {
            self.bits[(band.start + column / 64 - band.low) as usize] |= 1 << (column % 64);
        }
    }

    /// Everything that the second node reaches is reached by the first.
    #[inline]
    pub fn join(&mut self, into: u32, from: u32) {
        let (into, from) = (self.bands[into as usize], self.bands[from as usize]);
        if into.start == u32::MAX || from.start == u32::MAX {
            return;
        }
        for word in into.low.max(from.low)..into.high.min(from.high) {
            let bits = self.bits[(from.start + word - from.low) as usize];
            self.bits[(into.start + word - into.low) as usize] |= bits;
        }
        for word in into.low.max(from.high)..into.high {
            self.bits[(into.start + word - into.low) as usize] = u64::MAX;
        }
    }

    /// Forgets everything but what real time says.
    pub fn clear(&mut self) {
        self.bits.fill(0);
    }
}

/// How the transactions lie in time, by the order of their begins.
struct Spans {
    skew: i64,
    /// When each transaction began, in that order.
    begins: Vec<i64>,
    /// The latest end of the transactions up to each one.
    ends: Vec<i64>,
    /// For each transaction its rank, begin and end.
    all: Vec<(u32, i64, i64)>,
}

impl Spans {
    /// A transaction without a begin began before all, and one without an end has not ended.
    fn of(events: Events, nodes: &[(u32, Moments)]) -> Self {
        let span = |moments: &Moments| {
            (moments.begin_request.unwrap_or(i64::MIN), moments.commit_response.unwrap_or(i64::MAX))
        };
        let mut all: Vec<(u32, i64, i64)> =
            nodes.iter().map(|(_, moments)| (0, span(moments).0, span(moments).1)).collect();
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        order.sort_unstable_by_key(|&place| all[place as usize].1);
        let (mut begins, mut ends) = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
        let mut latest = i64::MIN;
        for (rank, &place) in order.iter().enumerate() {
            let (own, begin, end) = &mut all[place as usize];
            *own = rank as u32;
            latest = latest.max(*end);
            begins.push(*begin);
            ends.push(latest);
        }
        Self { skew: events.skew, begins, ends, all }
    }

    /// The rank of a transaction; before the second one all ended before it began, and from the third one on all began
    /// after it ended.
    fn of_node(&self, place: usize) -> (u32, u32, u32) {
        let (rank, begin, end) = self.all[place];
        let low = self.ends.partition_point(|&end| end.saturating_add(self.skew) < begin);
        let high = self.begins.partition_point(|&begin| begin <= end.saturating_add(self.skew));
        (rank, (low as u32).min(rank), (high as u32).max(rank + 1))
    }
}

#[cfg(test)]
mod tests {
    use history::{Outcome, TxnTimes};

    use super::*;

    fn nodes(spans: &[(i64, i64)]) -> Vec<(u32, Moments)> {
        let of =
            |&(begin, end): &(i64, i64)| Moments::of(&TxnTimes::span(begin, Some(end)), Outcome::Committed);
        (0..).zip(spans).map(|(txn, span)| (txn, of(span))).collect()
    }

    #[test]
    fn time_orders_what_does_not_overlap() {
        // A hundred transactions, each of which overlaps the one before it and the one after it.
        let spans: Vec<(i64, i64)> = (0..100).map(|txn| (10 * txn, 10 * txn + 15)).collect();
        let events = Events { per_txn: 1, skew: 0 };
        let mut reach = Reach::new(events, (100, 100), &nodes(&spans), &[]);
        assert!(reach.get(0, 99) && !reach.get(99, 0) && !reach.get(0, 1));
        assert!(reach.bits.len() <= 110);
        reach.set(63, 64);
        reach.join(62, 63);
        assert!(reach.get(63, 64) && reach.get(62, 64) && !reach.get(64, 63) && !reach.get(61, 62));
        reach.clear();
        assert!(!reach.get(63, 64));
    }

    #[test]
    fn events_without_a_part_take_no_room() {
        // Transactions 0 and 2 of three overlap, and there is one moment, node 3.
        let all = nodes(&[(1, 9), (1, 9), (1, 9)]);
        let events = Events { per_txn: 1, skew: 0 };
        let mut reach = Reach::new(events, (3, 4), &[all[0], all[2]], &[(0, 3), (3, 2)]);
        assert_eq!(reach.bits.len(), 3);
        reach.set(3, 2);
        reach.join(0, 3);
        assert!(reach.get(0, 2) && !reach.get(2, 0) && !reach.get(1, 2) && !reach.get(0, 1));
    }
}
