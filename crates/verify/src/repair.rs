//! Mend a serial order by moving single transactions: a local search with the wrong reads as its cost.
//!
//! In an order every read sees the last write before it, so the order tells which reads are wrong. A step takes one of
//! them, and moves its transaction or one that touches the key nearby, or a neighbour of these in its session, which
//! makes room for them: the transaction is taken out, the price of every gap between its neighbours of the session is
//! computed, and it is put into one of them, cheap ones more likely than others (heat-bath sampling). A read that stays wrong becomes more expensive, so that the search leaves places where
//! nothing is better nearby (breakout weights, Morris 1993); the weights decay.
//!
//! Only what a transaction shares keys with counts, so a step looks at the events of its keys in its window, and at most
//! `GAPS` of them. Memory is one event for each access. It finds an order or gives up, and never finds a violation. The
//! order is checked like every certificate.
//!
//! Measured (development build, busy machine): of 1,000 sessions of 10 transactions of two operations on 5 keys with 3
//! values the schedule leaves 19 transactions, which are brought to their places in 31 ms; of 10,000 sessions on 1,000 keys
//! it leaves 380, which takes 2.9 s. 8 sessions of 200 on 5 keys keep some 10 wrong reads whatever the temperature, with
//! and without weights, cooling, and from the order of a beam: that is for `frontier`. 1,000 sessions on 1,000 keys begin
//! with 5,496 wrong reads; six million steps with a coldness of 2 leave one or two. Without moving neighbours of the
//! session four million leave 200; a coldness of 3 to 8 leaves 8 to 30, one of 1.5 leaves 103. Of few steps more are of
//! use if it is colder, so the first attempt has a coldness of 4. A coldness that rises from 1.5 to 3 (simulated annealing)
//! left 1 to 3 wrong reads after six million steps, but no further step mended these in 46 s.

use order::NONE;

use crate::options::{Limit, Patience};
use crate::problem::INITIAL;
use crate::steps::Steps;

/// How much more a read counts each time it was found wrong.
const HEAVIER: f32 = 0.1;

/// What is left of that after as many steps as there are transactions.
const DECAY: f32 = 0.7;

/// In how many of 100 steps a neighbour in the session is moved instead.
const MAKE_ROOM: usize = 40;

/// How many events of a key before and after a wrong read may be moved to mend it.
const NEARBY: usize = 8;

/// The most gaps that are compared for a transaction.
const GAPS: usize = 256;

/// The distance of labels after they were given anew.
const SPACING: u64 = 1 << 32;

/// How the order is to be mended.
#[derive(Clone, Copy)]
pub(crate) struct Effort {
    /// The most steps.
    pub steps: usize,
    /// The most steps since the fewest wrong reads were seen.
    pub patience: usize,
    /// How much a gap that costs one more wrong read is less likely, as an exponent.
    pub coldness: f32,
}

/// Mends an order of all transactions; gives the best order found, and how many reads it leaves wrong.
pub(crate) fn repair(
    steps: &Steps,
    order: &[u32],
    seed: u64,
    effort: Effort,
    limit: &dyn Fn() -> Option<Limit>,
) -> Result<(Vec<u32>, usize), Limit> {
    let mut repair = Repair::new(steps, order, seed, effort.coldness);
    let mut patience = Patience::new(limit);
    // Labels are copied, and not sorted: an order of 100,000 transactions gets better some thirty times.
    let mut best = (repair.label.clone(), repair.wrong.len());
    let mut since_best = 0;
    for step in 0..effort.steps {
        if repair.wrong.is_empty() || since_best > effort.patience {
            break;
        }
        patience.spend(128)?;
        since_best += 1;
        if step % steps.len() == steps.len() - 1 {
            repair.lighten();
        }
        repair.step();
        // Orders that are only a little better are not worth copying.
        if repair.wrong.len() < best.1 - best.1 / 16 {
            best.0.copy_from_slice(&repair.label);
            best.1 = repair.wrong.len();
            since_best = 0;
        }
    }
    if repair.wrong.len() < best.1 {
        best = (std::mem::take(&mut repair.label), repair.wrong.len());
    }
    Ok((in_order(&best.0), best.1))
}

/// The transactions by their labels.
fn in_order(labels: &[u64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    order.sort_unstable_by_key(|&step| labels[step as usize]);
    order
}

/// An access of a key, at a place in the order.
#[derive(Clone, Copy)]
struct Event {
    label: u64,
    access: u32,
}

/// A gap between two labels, and the price of a transaction there.
#[derive(Clone, Copy)]
struct Gap {
    after: u64,
    before: u64,
    price: f32,
}

/// Where an access of the transaction that is moved would come.
struct Cursor {
    access: u32,
    place: usize,
    /// What the key holds there.
    holder: u32,
    price: f32,
}

struct Repair<'s> {
    steps: &'s Steps,
    /// For each transaction its place in the order.
    label: Vec<u64>,
    /// For each transaction whether it is the first of its row, and true at the end.
    is_first: Vec<bool>,
    /// For each key its events by label.
    events: Vec<Vec<Event>>,
    /// The accesses whose read is wrong, and for each access its place among them.
    wrong: Vec<u32>,
    place_in_wrong: Vec<u32>,
    weight: Vec<f32>,
    coldness: f32,
    random: Random,
    gaps: Vec<Gap>,
    cursors: Vec<Cursor>,
}

impl<'s> Repair<'s> {
    fn new(steps: &'s Steps, order: &[u32], seed: u64, coldness: f32) -> Self {
        let mut is_first = vec![false; steps.len() + 1];
        steps.rows.iter().for_each(|row| is_first[row.start as usize] = true);
        is_first[steps.len()] = true;
        let mut repair = Self {
            steps,
            label: vec![0; steps.len()],
            is_first,
            events: vec![Vec::new(); steps.key_count],
            wrong: Vec::new(),
            place_in_wrong: vec![NONE; steps.accesses.len()],
            weight: vec![1.0; steps.accesses.len()],
            coldness,
            random: Random(seed ^ 0x9e37_79b9_7f4a_7c15),
            gaps: Vec::new(),
            cursors: Vec::new(),
        };
        for (place, &step) in order.iter().enumerate() {
            repair.label[step as usize] = (place as u64 + 1) * SPACING;
            repair.put(step);
        }
        repair
    }

    /// Takes a wrong read, and moves a transaction that may mend it.
    fn step(&mut self) {
        let wrong = self.wrong[self.random.below(self.wrong.len())];
        self.weight[wrong as usize] += HEAVIER;
        let access = self.steps.accesses[wrong as usize];
        let step = match self.random.below(3) {
            0 => access.step,
            _ => self.nearby(access.key as usize, self.label[access.step as usize]),
        };
        let step = if self.random.below(100) < MAKE_ROOM { self.neighbour(step) } else { step };
        self.move_one(step);
    }

    /// The transaction before or after another in its row; the other itself at an end of the row.
    fn neighbour(&mut self, step: u32) -> u32 {
        match self.random.below(2) {
            0 if !self.is_first[step as usize] => step - 1,
            1 if !self.is_first[step as usize + 1] => step + 1,
            _ => step,
        }
    }

    /// A transaction that has an event of a key near a label.
    fn nearby(&mut self, key: usize, label: u64) -> u32 {
        let events = &self.events[key];
        let place = events.partition_point(|event| event.label < label);
        let (from, to) = (place.saturating_sub(NEARBY), (place + NEARBY).min(events.len()));
        let event = events[from + self.random.below(to - from)];
        self.steps.accesses[event.access as usize].step
    }

    /// Reads that were wrong often count less again.
    fn lighten(&mut self) {
        self.weight.iter_mut().for_each(|weight| *weight = 1.0 + (*weight - 1.0) * DECAY);
    }

    /// Takes a transaction out and puts it into a gap between its neighbours.
    fn move_one(&mut self, step: u32) {
        let old = self.label[step as usize];
        self.take(step);
        self.price_gaps(step, old);
        let label = match self.draw() {
            Some(gap) => gap.after + 1 + self.random.next() % (gap.before - gap.after - 1),
            None => old,
        };
        self.label[step as usize] = label;
        self.put(step);
        if self.gaps.is_empty() {
            self.give_labels();
        }
    }

    /// One of the gaps, cheap ones more likely than others.
    fn draw(&mut self) -> Option<Gap> {
        let cheapest = self.gaps.iter().map(|gap| gap.price).fold(f32::INFINITY, f32::min);
        let chance = |gap: &Gap| (-self.coldness * (gap.price - cheapest)).exp();
        let sum: f32 = self.gaps.iter().map(chance).sum();
        let mut left = self.random.unit() * sum;
        let drawn = self.gaps.iter().find(|gap| {
            left -= chance(gap);
            left <= 0.0
        });
        drawn.or(self.gaps.last()).copied()
    }

    /// Finds the gaps that a transaction may come into, with their prices, from some events before its old place on.
    fn price_gaps(&mut self, step: u32, old: u64) {
        let (low, high) = self.window(step);
        let mut at = self.start_of_gaps(step, low, old);
        let mut cursors = std::mem::take(&mut self.cursors);
        cursors.clear();
        cursors.extend(self.steps.access_numbers(step).map(|access| self.cursor(access, at)));
        self.gaps.clear();
        loop {
            let labels = cursors.iter().filter_map(|cursor| Some(self.event(cursor)?.label));
            let next = labels.min().unwrap_or(u64::MAX).min(high);
            if next > at + 1 {
                let price = cursors.iter().map(|cursor| cursor.price).sum();
                self.gaps.push(Gap { after: at, before: next, price });
            }
            if next == high || self.gaps.len() >= GAPS {
                break;
            }
            at = next;
            cursors.iter_mut().for_each(|cursor| self.advance(cursor, at));
        }
        self.cursors = cursors;
    }

    /// The labels of the neighbours of a transaction in its row.
    fn window(&self, step: u32) -> (u64, u64) {
        let step = step as usize;
        let low = if self.is_first[step] { 0 } else { self.label[step - 1] };
        let high = if self.is_first[step + 1] { u64::MAX } else { self.label[step + 1] };
        (low, high)
    }

    fn start_of_gaps(&self, step: u32, low: u64, old: u64) -> u64 {
        let first = &self.steps.accesses_of(step)[0];
        let events = &self.events[first.key as usize];
        let place = events.partition_point(|event| event.label < old);
        place.checked_sub(GAPS / 2).map_or(low, |place| low.max(events[place].label))
    }

    fn cursor(&self, access: u32, label: u64) -> Cursor {
        let key = self.steps.accesses[access as usize].key as usize;
        let place = self.events[key].partition_point(|event| event.label <= label);
        let holder = self.holder_before(key, place);
        Cursor { access, place, holder, price: self.price(access, place, holder) }
    }

    fn event(&self, cursor: &Cursor) -> Option<Event> {
        let key = self.steps.accesses[cursor.access as usize].key as usize;
        self.events[key].get(cursor.place).copied()
    }

    /// Goes on behind an event, if it is the next one of the key.
    fn advance(&self, cursor: &mut Cursor, label: u64) {
        let Some(event) = self.event(cursor).filter(|event| event.label == label) else { return };
        cursor.place += 1;
        let written = self.steps.accesses[event.access as usize].write;
        if written != NONE {
            cursor.holder = written;
        }
        cursor.price = self.price(cursor.access, cursor.place, cursor.holder);
    }

    /// What wrong reads an access costs at a place: its own, and those of readers that would see its write instead of
    /// what the key holds.
    fn price(&self, access: u32, place: usize, holder: u32) -> f32 {
        let own = &self.steps.accesses[access as usize];
        let mut price = if own.fits(holder) { 0.0 } else { self.weight[access as usize] };
        if own.write == NONE || own.write == holder {
            return price;
        }
        for event in &self.events[own.key as usize][place..] {
            let other = &self.steps.accesses[event.access as usize];
            let change = i32::from(other.fits(holder)) - i32::from(other.fits(own.write));
            price += change as f32 * self.weight[event.access as usize];
            if other.write != NONE {
                break;
            }
        }
        price
    }

    /// What a key holds before a place among its events.
    fn holder_before(&self, key: usize, place: usize) -> u32 {
        let writes = self.events[key][..place]
            .iter()
            .rev()
            .map(|event| self.steps.accesses[event.access as usize].write);
        writes.into_iter().find(|&write| write != NONE).unwrap_or(INITIAL)
    }

    fn take(&mut self, step: u32) {
        let label = self.label[step as usize];
        for access in self.steps.access_numbers(step) {
            let own = self.steps.accesses[access as usize];
            let key = own.key as usize;
            let place = self.events[key].partition_point(|event| event.label < label);
            self.events[key].remove(place);
            self.set_wrong(access, false);
            if own.write != NONE {
                let holder = self.holder_before(key, place);
                self.look_again(key, place, holder);
            }
        }
    }

    fn put(&mut self, step: u32) {
        let label = self.label[step as usize];
        for access in self.steps.access_numbers(step) {
            let own = self.steps.accesses[access as usize];
            let key = own.key as usize;
            let place = self.events[key].partition_point(|event| event.label < label);
            self.events[key].insert(place, Event { label, access });
            let holder = self.holder_before(key, place);
            self.set_wrong(access, !own.fits(holder));
            if own.write != NONE {
                self.look_again(key, place + 1, own.write);
            }
        }
    }

    /// Looks again at the reads from a place on that see what the key holds there.
    fn look_again(&mut self, key: usize, place: usize, holder: u32) {
        for place in place..self.events[key].len() {
            let access = self.events[key][place].access;
            let other = self.steps.accesses[access as usize];
            self.set_wrong(access, !other.fits(holder));
            if other.write != NONE {
                break;
            }
        }
    }

    fn set_wrong(&mut self, access: u32, is_wrong: bool) {
        let place = self.place_in_wrong[access as usize];
        if is_wrong && place == NONE {
            self.place_in_wrong[access as usize] = self.wrong.len() as u32;
            self.wrong.push(access);
        } else if !is_wrong && place != NONE {
            self.wrong.swap_remove(place as usize);
            if let Some(&moved) = self.wrong.get(place as usize) {
                self.place_in_wrong[moved as usize] = place;
            }
            self.place_in_wrong[access as usize] = NONE;
        }
    }

    /// Gives labels anew, with room between them.
    fn give_labels(&mut self) {
        for (place, step) in in_order(&self.label).into_iter().enumerate() {
            self.label[step as usize] = (place as u64 + 1) * SPACING;
        }
        let (steps, label) = (self.steps, &self.label);
        for event in self.events.iter_mut().flatten() {
            event.label = label[steps.accesses[event.access as usize].step as usize];
        }
    }
}

/// A sequence of numbers that a seed decides (Marsaglia 2003).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 32).wrapping_mul(bound as u64) >> 32) as usize
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }
}
