//! The classes of anomalies that occur in a history whose version orders are known, each with its smallest witness.
//!
//! The classes are Adya's (2000) and Elle's (Kingsbury and Alvaro 2020). What one read shows is found in one pass
//! (`direct`); the order of versions comes from lists, from recorded versions, and for registers from the initial state
//! and from named assumptions (`versions`); sessions and real time become chains of linear size (`graph`); and each class
//! of cycles is a small automaton that is searched together with the graph (`cycles`). Nothing here is exponential, and
//! nothing has a time-out.
//!
//! A class is reported only if it is in every explanation: an append that no list contains comes after those that one
//! does, and where two orders are possible there is no edge. What Elle's names of models mean is in `lattice`.

mod class;
mod commits;
mod cycles;
mod direct;
mod facts;
mod graph;
pub mod lattice;
mod versions;
mod words;
mod writes;

use std::collections::BTreeMap;

use history::{History, OpId, TxnId};

pub use class::{Class, Shape, Tier};
pub use facts::Assumptions;
pub use graph::{Edge, Kind};

/// What is looked for, and under which assumptions.
#[derive(Clone, Copy, Debug)]
pub struct ClassSearch {
    /// What is assumed about registers.
    pub assumptions: Assumptions,
    /// The strongest order beside dependencies that counts.
    pub tier: Tier,
    /// Whether what follows from a more severe anomaly of the same component is left out, as Elle leaves it out: also
    /// cycles with sessions where there is one without; where real time counts, sessions are a part of it.
    pub only_most_severe: bool,
    /// How far apart the clocks of two clients may be, in the unit of the history's clock.
    pub clock_skew: i64,
}

impl Default for ClassSearch {
    fn default() -> Self {
        Self {
            assumptions: Assumptions::default(),
            tier: Tier::Realtime,
            only_most_severe: false,
            clock_skew: 0,
        }
    }
}

/// An anomaly with what shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anomaly {
    /// Its class.
    pub class: Class,
    /// The transactions that take part; for a cycle in its order.
    pub txns: Vec<TxnId>,
    /// The reads and writes that show it, for those that are no cycles.
    pub ops: Vec<OpId>,
    /// The edges of a cycle, between transactions.
    pub cycle: Vec<Edge>,
    /// What happened, in sentences.
    pub sentences: Vec<String>,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// One anomaly of each class that occurs, with the fewest transactions.
    pub anomalies: Vec<Anomaly>,
    /// Whether no transaction is known to come before another one.
    pub is_unordered: bool,
    /// Keys whose version order is not known, which can hide cycles.
    pub unordered_keys: usize,
    /// Whether there are ranges or predicates, which are not looked at.
    pub has_more: bool,
}

impl Found {
    /// The anomaly of a class.
    pub fn of(&self, class: Class) -> Option<&Anomaly> {
        self.anomalies.iter().find(|anomaly| anomaly.class == class)
    }

    /// The names of the classes.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.anomalies.iter().map(|anomaly| anomaly.class.name())
    }
}

/// Finds the classes that occur, of those that are wanted.
pub fn find(history: &History, search: &ClassSearch, is_wanted: &dyn Fn(Class) -> bool) -> Found {
    let facts = facts::Facts::of(history);
    let versions = versions::Versions::of(history, &facts, &search.assumptions);
    let graph = versions.graph(history, &facts, search);
    let mut best: BTreeMap<Class, Anomaly> = BTreeMap::new();
    for anomaly in direct::find(history, &facts, &versions) {
        if is_wanted(anomaly.class) {
            keep_smaller(&mut best, anomaly);
        }
    }
    for anomaly in find_cycles(history, &graph, search, is_wanted) {
        keep_smaller(&mut best, anomaly);
    }
    let mut anomalies: Vec<Anomaly> = best.into_values().collect();
    anomalies.iter_mut().for_each(|anomaly| words::explain(history, &facts, anomaly));
    Found {
        anomalies,
        is_unordered: !graph.edges().any(|edge| edge.to < graph.txn_count),
        unordered_keys: versions.unordered_keys(history),
        has_more: history.has_ranges() || history.has_predicates(),
    }
}

fn keep_smaller(best: &mut BTreeMap<Class, Anomaly>, anomaly: Anomaly) {
    let is_smaller = |known: &Anomaly| anomaly.txns.len() < known.txns.len();
    if best.get(&anomaly.class).is_none_or(is_smaller) {
        best.insert(anomaly.class, anomaly);
    }
}

fn find_cycles(
    history: &History,
    graph: &graph::Graph,
    search: &ClassSearch,
    is_wanted: &dyn Fn(Class) -> bool,
) -> Vec<Anomaly> {
    match search.only_most_severe {
        true => find_most_severe(history, graph, search, is_wanted),
        false => find_all(history, graph, search, is_wanted),
    }
}

/// Every shape with the fewest orders beside dependencies, and of that the shortest cycle.
fn find_all(
    history: &History,
    graph: &graph::Graph,
    search: &ClassSearch,
    is_wanted: &dyn Fn(Class) -> bool,
) -> Vec<Anomaly> {
    let mut found: Vec<Anomaly> = Vec::new();
    let mut left = Shape::ALL.to_vec();
    let strongest = cycles::parts(graph, search.tier);
    for tier in Tier::ALL.into_iter().filter(|&tier| tier <= search.tier) {
        let parts: Vec<_> = strongest.iter().flat_map(|part| part.parts(tier)).collect();
        left.retain(|&shape| {
            let class = Class::Cycle(shape, tier);
            let shortest = is_wanted(class).then(|| cycles::shortest(&parts, shape, tier, None)).flatten();
            let is_left = shortest.is_none();
            found.extend(shortest.map(|cycle| of_cycle(history, class, cycle)));
            is_left
        });
    }
    found
}

/// For each part of the graph what Elle would report of it.
fn find_most_severe(
    history: &History,
    graph: &graph::Graph,
    search: &ClassSearch,
    is_wanted: &dyn Fn(Class) -> bool,
) -> Vec<Anomaly> {
    let mut found = Vec::new();
    let mut shortest: BTreeMap<Class, usize> = BTreeMap::new();
    let order = lattice::SEARCH_ORDER.iter().filter_map(|name| Class::named(name));
    let mut order: Vec<(Class, Shape, Tier)> = order
        .filter_map(|class| match class {
            Class::Cycle(shape, tier) if tier <= search.tier && is_wanted(class) => {
                Some((class, shape, tier))
            }
            _ => None,
        })
        .collect();
    order.sort_by_key(|&(.., tier)| tier);
    for part in cycles::parts(graph, search.tier) {
        let mut known = lattice::Names::new();
        let mut parts = (Tier::Data, part.parts(Tier::Data));
        for &(class, shape, tier) in &order {
            if parts.0 < tier && known.is_empty() {
                parts = (tier, part.parts(tier));
            }
            // A cycle without sessions was found, or one that this would follow from.
            if parts.0 != tier || known.contains(class.name()) {
                continue;
            }
            let length = shortest.get(&class).copied();
            let Some(cycle) = cycles::shortest(&parts.1, shape, tier, length) else { continue };
            known.extend(lattice::less_severe(class.name()));
            shortest.insert(class, length.unwrap_or(usize::MAX).min(cycle.len()));
            found.push(of_cycle(history, class, cycle));
        }
    }
    found
}

fn of_cycle(history: &History, class: Class, mut cycle: Vec<Edge>) -> Anomaly {
    // Begin with the smallest number, so that equal histories give equal words.
    let first = (0..cycle.len()).min_by_key(|&place| cycle[place].from).unwrap_or(0);
    cycle.rotate_left(first);
    debug_assert!(cycle.iter().all(|edge| (edge.from as usize) < history.txn_count()));
    let txns = cycle.iter().map(|edge| TxnId(edge.from)).collect();
    Anomaly { class, txns, ops: Vec::new(), cycle, sentences: Vec::new() }
}
