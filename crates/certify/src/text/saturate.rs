//! What a level forces of every order, until it contradicts itself: the argument behind a violation.
//!
//! Only what is certain counts: transactions that committed, or that a committed one read from; reads with one possible
//! source. What is visible by what is known of the order only grows as more becomes known, so each forced pair is in
//! every order that the level allows, and a cycle means that there is none. On matrices of bits: for the few
//! transactions of a counterexample, not for whole histories.

use history::OpId;
use spec::{Base, Rel, Sort};

use super::facts::{Facts, INITIAL};
use super::judge::{Stopped, Witness};
use super::matrix::{self, Rows};
use super::plan::{Part, Plan, Steps};

/// Why a node comes before another in every order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It is earlier in the session.
    Session,
    /// The later one reads this from it.
    Read(OpId, u32),
    /// It had ended before the later one began.
    RealTime,
    /// A list that this node read shows it; if it is the earlier one itself, recorded versions do, or it is supposed.
    Told(u32),
    /// The reader read the key from the later one, although it saw the earlier one, which wrote the key too. The number
    /// is that of the part of the text that makes it visible.
    Visible {
        /// The node that read.
        reader: u32,
        /// The key.
        key: u32,
        /// The part of the plan.
        part: u32,
    },
}

/// A pair that is in every order, with the reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forced {
    /// The earlier one.
    pub from: u32,
    /// The later one.
    pub to: u32,
    /// Why.
    pub why: Why,
}

/// A shortest cycle of forced pairs, or nothing if what is certain does not contradict itself. A cycle through the
/// initial state is a pair that ends in it.
pub fn contradiction(facts: &Facts, plan: &Plan) -> Option<Vec<Forced>> {
    let facts = &certain(facts);
    if plan.one_source {
        return two_sources(facts);
    }
    let mut forced = known(facts, plan);
    // Every round adds a pair, so it ends.
    loop {
        if let Some(cycle) = shortest_cycle(facts.node_count(), &forced) {
            return Some(cycle);
        }
        let count = forced.len();
        add_visible(facts, plan, &mut forced).ok()?;
        if forced.len() == count {
            return None;
        }
    }
}

/// The nodes that surely committed, as they are numbered in `facts`.
pub fn certain_nodes(facts: &Facts) -> Vec<u32> {
    let certain = certainty(facts);
    (1..facts.node_count() as u32).filter(|&node| certain[node as usize].is_some()).collect()
}

/// For each node that surely committed the node that shows it: itself, or one that surely committed and read from it.
pub fn certainty(facts: &Facts) -> Vec<Option<u32>> {
    let count = facts.node_count() as u32;
    let mut certain: Vec<Option<u32>> =
        (0..count).map(|node| (!facts.is_unknown(node)).then_some(node)).collect();
    let mut open: Vec<u32> = (1..count).filter(|&node| certain[node as usize].is_some()).collect();
    while let Some(node) = open.pop() {
        let sources = facts.reads_of(node).filter_map(|read| facts.only_source(read));
        for other in sources.chain(facts.listed_by(node).iter().map(|&(_, appender)| appender)) {
            if certain[other as usize].is_none() {
                certain[other as usize] = Some(node);
                open.push(other);
            }
        }
    }
    certain
}

/// The facts about what is certain alone. Nodes keep their numbers only if all are certain, so reasons name transactions
/// by the numbers of the result; callers give facts in which all nodes are certain, or map them by transaction.
fn certain(facts: &Facts) -> Facts {
    facts.restricted(&certain_nodes(facts)).with_single_sources()
}

fn two_sources(facts: &Facts) -> Option<Vec<Forced>> {
    for node in 1..facts.node_count() as u32 {
        for read in facts.reads_of(node) {
            let Some(source) = facts.only_source(read) else { continue };
            let key = facts.reads()[read].key;
            let earlier = facts.reads_of(node).take_while(|&other| other < read);
            let mut same_key = earlier.filter(|&other| facts.reads()[other].key == key);
            if let Some(other) = same_key.find(|&other| facts.only_source(other) != Some(source)) {
                let pair = |read: usize| Forced {
                    from: facts.only_source(read).unwrap_or(INITIAL),
                    to: node,
                    why: Why::Read(facts.reads()[read].op, key),
                };
                return Some(vec![pair(other), pair(read)]);
            }
        }
    }
    None
}

/// Pairs that the level's order contains, and those that lists show.
pub(super) fn known(facts: &Facts, plan: &Plan) -> Vec<Forced> {
    let mut forced = Vec::new();
    let (session, reads_from) = (facts.mask(&plan.session), facts.mask(&plan.reads_from));
    for node in 1..facts.node_count() as u32 {
        if facts.is_in(node, &session) {
            // Session order is transitive. Shortcuts keep cycles short.
            for from in facts.session_start(node)..node {
                forced.push(Forced { from, to: node, why: Why::Session });
            }
        }
        if facts.is_in(node, &reads_from) {
            for read in facts.reads_of(node) {
                if let Some(from) = facts.only_source(read).filter(|&from| from != INITIAL) {
                    let read = facts.reads()[read];
                    forced.push(Forced { from, to: node, why: Why::Read(read.op, read.key) });
                }
            }
        }
    }
    let real_time = facts.mask(&plan.real_time);
    for to in (1..facts.node_count() as u32).filter(|&node| facts.is_in(node, &real_time)) {
        let from = (1..facts.node_count() as u32).filter(|&from| facts.is_real_time_before(from, to));
        forced.extend(from.map(|from| Forced { from, to, why: Why::RealTime }));
    }
    forced.extend(facts.told().iter().map(|&(from, to, by)| Forced { from, to, why: Why::Told(by) }));
    forced
}

fn add_visible(facts: &Facts, plan: &Plan, forced: &mut Vec<Forced>) -> Result<(), Stopped> {
    let count = facts.node_count();
    let source = (0..facts.reads().len()).map(|read| facts.only_source(read).unwrap_or(INITIAL)).collect();
    // Numbers serve as positions: nothing here depends on the order.
    let witness = Witness::new(facts, 1..count as u32, source);
    let mut before = Rows::empty(count);
    (1..count).for_each(|node| before.add(INITIAL as usize, node));
    forced.iter().for_each(|pair| before.add(pair.from as usize, pair.to as usize));
    let before = matrix::closure(before, &|| false)?;
    for (number, part) in plan.parts.iter().enumerate() {
        let rows = match part {
            Part::Earlier | Part::Cursor | Part::Overwritten => None,
            part => Some(matrix::evaluate(facts, &witness, &relation_of(part), Some(&before), &|| false)?),
        };
        let readers = facts.mask(&plan.readers[number]);
        for reader in (1..count as u32).filter(|&reader| facts.is_in(reader, &readers)) {
            for read in facts.reads_of(reader) {
                let key = facts.reads()[read].key;
                let source = witness.source[read];
                for &rival in facts.writers(key).iter().filter(|&&rival| rival != source) {
                    let is_visible = match &rows {
                        Some(rows) => rows.has(rival as usize, reader as usize),
                        None if *part == Part::Overwritten => {
                            let mut written = facts.written(reader).iter();
                            written.any(|&key| is_overwritten(facts, &before, key, rival, reader))
                        }
                        None if *part == Part::Cursor => {
                            rival != reader
                                && facts.writes(reader, key)
                                && before.has(rival as usize, reader as usize)
                        }
                        None => {
                            // Reads by one operation, as of a range, are not before one another.
                            let op = facts.reads()[read].op;
                            let mut earlier =
                                facts.reads_of(reader).take_while(|&read| facts.reads()[read].op < op);
                            earlier.any(|read| witness.source[read] == rival)
                        }
                    };
                    if is_visible && !before.has(rival as usize, source as usize) {
                        let why = Why::Visible { reader, key, part: number as u32 };
                        forced.push(Forced { from: rival, to: source, why });
                    }
                }
            }
        }
    }
    Ok(())
}

/// Whether in every order the first is the last writer of a key before the second.
fn is_overwritten(facts: &Facts, before: &Rows, key: u32, first: u32, second: u32) -> bool {
    let is_before = |a: u32, b: u32| before.has(a as usize, b as usize);
    let is_outside = |&other: &u32| {
        other == first || other == second || is_before(other, first) || is_before(second, other)
    };
    facts.has_all_writers(key)
        && facts.writes(first, key)
        && is_before(first, second)
        && facts.writers(key).iter().all(is_outside)
}

/// A part as the relation that it stands for.
fn relation_of(part: &Part) -> Rel {
    match part {
        Part::Session => Rel::Base(Base::Session),
        Part::ReadsFrom | Part::Earlier => Rel::Base(Base::ReadsFrom),
        Part::SeenInSession => Rel::Base(Base::ReadsFrom).join(Rel::Base(Base::Session)),
        Part::SessionOfSource => Rel::Base(Base::Session).join(Rel::Base(Base::ReadsFrom)),
        Part::SeenBySource => {
            let read = || Rel::Base(Base::ReadsFrom);
            read().join(Rel::Base(Base::Session).optional()).join(read())
        }
        Part::Prefix { session, reads_from, conflicts } => {
            let leads = steps_of(*session, *reads_from, *conflicts);
            Rel::Base(Base::Before).optional().join(leads)
        }
        Part::Before { to_updates: false } | Part::Cursor | Part::Overwritten => Rel::Base(Base::Before),
        Part::Before { to_updates: true } => {
            let shipped = spec::library::level("update-serializable").expect("a test finds every text");
            shipped.visible.clone().expect("its text says what is visible")
        }
        Part::Conflicts => Rel::Base(Base::Conflict).inter(Rel::Base(Base::Before)),
        Part::Matrix(rel) => rel.clone(),
        Part::Steps(Steps { session, reads_from, conflicts, real_time }) => {
            let mut steps = steps_of(*session, *reads_from, *conflicts);
            if *real_time {
                steps = steps.union(Rel::Base(Base::RealTime));
            }
            Rel::Closure(Box::new(steps))
        }
    }
}

fn steps_of(session: bool, reads_from: bool, conflicts: bool) -> Rel {
    let steps = [
        (session, Rel::Base(Base::Session)),
        (reads_from, Rel::Base(Base::ReadsFrom)),
        (conflicts, Rel::Base(Base::Conflict).inter(Rel::Base(Base::Before))),
    ];
    let steps = steps.into_iter().filter(|(is_in, _)| *is_in).map(|(_, rel)| rel);
    steps.reduce(Rel::union).unwrap_or(Rel::None(vec![Sort::Txn, Sort::Txn]))
}

/// A cycle of the fewest pairs; one pair that ends in the initial state is a cycle.
fn shortest_cycle(node_count: usize, forced: &[Forced]) -> Option<Vec<Forced>> {
    if let Some(&pair) = forced.iter().find(|pair| pair.to == INITIAL || pair.from == pair.to) {
        return Some(vec![pair]);
    }
    let mut out: Vec<Vec<u32>> = vec![Vec::new(); node_count];
    forced.iter().enumerate().for_each(|(place, pair)| out[pair.from as usize].push(place as u32));
    let mut best: Option<Vec<Forced>> = None;
    for start in 1..node_count as u32 {
        let mut by = vec![u32::MAX; node_count];
        let mut queue = std::collections::VecDeque::from([start]);
        'search: while let Some(node) = queue.pop_front() {
            for &place in &out[node as usize] {
                let to = forced[place as usize].to;
                if to == start {
                    let mut cycle = vec![forced[place as usize]];
                    let mut at = node;
                    while at != start {
                        let pair = forced[by[at as usize] as usize];
                        cycle.push(pair);
                        at = pair.from;
                    }
                    cycle.reverse();
                    if best.as_ref().is_none_or(|best| cycle.len() < best.len()) {
                        best = Some(cycle);
                    }
                    break 'search;
                }
                if by[to as usize] == u32::MAX {
                    by[to as usize] = place;
                    queue.push_back(to);
                }
            }
        }
        if best.as_ref().is_some_and(|best| best.len() == 2) {
            break;
        }
    }
    best
}
