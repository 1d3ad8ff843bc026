//! Every class against a brute force that enumerates the simple cycles of small graphs.

use history::KeyId;

use super::*;
use crate::{Class, lattice};

/// A small generator of numbers (xorshift), so that the crate needs no other one.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % count
    }
}

const KINDS: [Kind; 5] = [Kind::Ww, Kind::Wr, Kind::Rw, Kind::Process, Kind::Realtime];

fn random_graph(random: &mut Random) -> Graph {
    random_graph_of(random, &KINDS)
}

fn random_graph_of(random: &mut Random, kinds: &[Kind]) -> Graph {
    let nodes = 2 + random.below(5);
    let mut graph = Graph::new(nodes as usize, 0);
    // Few kinds in a graph, so that every class is the most severe one of some graph.
    let kinds: Vec<Kind> = kinds.iter().copied().filter(|_| random.below(3) > 0).collect();
    for _ in 0..random.below(3 * nodes) {
        let (from, to) = (random.below(nodes) as u32, random.below(nodes) as u32);
        if let Some(&kind) = kinds.get(random.below(5) as usize) {
            graph.depend(from, to, kind, KeyId(0), history::ValueId::NIL);
        }
    }
    graph
}

/// The class of a cycle.
fn class_of(kinds: &[Kind]) -> Class {
    let count = |kind| kinds.iter().filter(|&&known| known == kind).count();
    let tier = match (count(Kind::Realtime), count(Kind::Process)) {
        (0, 0) => Tier::Data,
        (0, _) => Tier::Process,
        _ => Tier::Realtime,
    };
    let in_a_row = (0..kinds.len())
        .any(|place| kinds[place] == Kind::Rw && kinds[(place + 1) % kinds.len()] == Kind::Rw);
    let shape = match (count(Kind::Rw), in_a_row) {
        (0, _) if count(Kind::Wr) == 0 => Shape::G0,
        (0, _) => Shape::G1c,
        (1, _) => Shape::GSingle,
        (_, false) => Shape::GNonadjacent,
        (_, true) => Shape::G2Item,
    };
    Class::Cycle(shape, tier)
}

/// The length of the shortest simple cycle of each class.
fn enumerate(graph: &Graph) -> std::collections::BTreeMap<Class, usize> {
    let mut shortest = std::collections::BTreeMap::new();
    for start in 0..graph.node_count {
        extend(graph, &mut vec![start], &mut Vec::new(), &mut shortest);
    }
    shortest
}

fn extend(
    graph: &Graph,
    path: &mut Vec<u32>,
    kinds: &mut Vec<Kind>,
    shortest: &mut std::collections::BTreeMap<Class, usize>,
) {
    let last = path[path.len() - 1];
    for edge in graph.edges().filter(|edge| edge.from == last) {
        kinds.push(edge.kind);
        if edge.to == path[0] {
            let length = shortest.entry(class_of(kinds)).or_insert(usize::MAX);
            *length = (*length).min(kinds.len());
        } else if edge.to > path[0] && !path.contains(&edge.to) {
            path.push(edge.to);
            extend(graph, path, kinds, shortest);
            path.pop();
        }
        kinds.pop();
    }
}

fn search(graph: &Graph) -> std::collections::BTreeMap<Class, Vec<Edge>> {
    let mut found = std::collections::BTreeMap::new();
    for tier in Tier::ALL {
        for part in parts(graph, tier) {
            for shape in Shape::ALL {
                let one = std::slice::from_ref(&part);
                let Some(cycle) = shortest(one, shape, tier, None) else { continue };
                let known = found.entry(Class::Cycle(shape, tier)).or_insert_with(|| cycle.clone());
                if cycle.len() < known.len() {
                    *known = cycle;
                }
            }
        }
    }
    found
}

#[test]
fn every_class_is_found_where_enumeration_finds_it() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 1..20_000 {
        let graph = random_graph(&mut Random(seed * 0x9E37_79B9));
        let (expected, found) = (enumerate(&graph), search(&graph));
        for (class, cycle) in &found {
            let kinds: Vec<Kind> = cycle.iter().map(|edge| edge.kind).collect();
            assert_eq!(class_of(&kinds), *class, "seed {seed}");
            let joins = |place: usize| cycle[place].to == cycle[(place + 1) % cycle.len()].from;
            assert!((0..cycle.len()).all(joins), "seed {seed}: {cycle:?}");
            assert!(expected.get(class).is_some_and(|&length| length <= cycle.len()), "seed {seed}: {class}");
        }
        for (class, &length) in &expected {
            let is_shortest = found.get(class).is_some_and(|cycle| cycle.len() == length);
            let is_more_severe =
                |other: &Class| other != class && lattice::less_severe(other.name()).contains(class.name());
            assert!(is_shortest || found.keys().any(is_more_severe), "seed {seed}: {class} of {length}");
            if is_shortest {
                seen.insert(*class);
            }
        }
    }
    assert_eq!(seen.len(), 15, "all classes of cycles occur: {seen:?}");
}

/// Chains, intervals and the nodes of `depend_all` mean the same as all their edges.
#[test]
fn nodes_that_pass_on_mean_the_same_as_all_edges() {
    for seed in 1..3_000 {
        let random = &mut Random(seed * 0x9E37_79B9);
        let mut short = random_graph_of(random, &KINDS[..3]);
        let mut long = short.clone();
        let txns = short.txn_count;
        short.chain(0..txns, Kind::Process);
        let spans: Vec<(u32, Option<i64>, Option<i64>)> = (0..txns)
            .map(|txn| {
                let start = random.below(20) as i64;
                (txn, Some(start), (random.below(4) > 0).then_some(start + random.below(8) as i64))
            })
            .collect();
        short.intervals(&spans);
        let from: Vec<u32> = (0..txns).cycle().take(20).collect();
        let to: Vec<_> =
            (0..txns).filter(|_| random.below(2) == 0).map(|txn| (txn, history::ValueId(1))).collect();
        short.depend_all(&from, &to, Kind::Rw, KeyId(0));
        for first in 0..txns {
            (first + 1..txns).for_each(|second| long.push(Edge::plain(first, second, Kind::Process)));
            for second in 0..txns {
                let (end, start) = (spans[first as usize].2, spans[second as usize].1);
                if end.zip(start).is_some_and(|(end, start)| end < start) {
                    long.push(Edge::plain(first, second, Kind::Realtime));
                }
            }
            to.iter().for_each(|&(to, value)| long.depend(first, to, Kind::Rw, KeyId(0), value));
        }
        // Of a class that is less severe than another one that occurs, the shortest walk may not be a cycle.
        let lengths = |graph: &Graph| -> Vec<(Class, usize)> {
            let found = search(graph);
            let is_severe = |class: &Class| {
                let implies = |other: &Class| lattice::less_severe(other.name()).contains(class.name());
                !found.keys().any(|other| other != class && implies(other))
            };
            found
                .iter()
                .filter(|(class, _)| is_severe(class))
                .map(|(class, cycle)| (*class, cycle.len()))
                .collect()
        };
        assert_eq!(lengths(&short), lengths(&long), "seed {seed}");
    }
}

/// Many components have a long cycle of writes, and one has a short one, which is shown.
#[test]
fn the_shortest_cycle_of_all_parts_is_found() {
    let mut graph = Graph::new(2_003, 0);
    let ring = |graph: &mut Graph, first: u32, count: u32| {
        for place in 0..count {
            let to = first + (place + 1) % count;
            graph.depend(first + place, to, Kind::Ww, KeyId(0), history::ValueId::NIL);
        }
    };
    (0..200).for_each(|part| ring(&mut graph, 10 * part, 10));
    ring(&mut graph, 2_000, 3);
    let parts = parts(&graph, Tier::Data);
    let found = shortest(&parts, Shape::G0, Tier::Data, None).expect("a cycle");
    assert_eq!((parts.len(), found.len()), (201, 3));
    // Of two parts without a shorter cycle than a known one, the first cycle will do.
    let known = shortest(&parts[..2], Shape::G0, Tier::Data, Some(3)).expect("a cycle");
    assert_eq!(known.len(), 10);
}

/// A graph without cycles has no parts; edges of real time count only where they are asked for.
#[test]
fn parts_are_those_of_the_tier() {
    let mut graph = Graph::new(3, 0);
    graph.depend(0, 1, Kind::Ww, KeyId(0), history::ValueId::NIL);
    graph.depend(1, 2, Kind::Wr, KeyId(0), history::ValueId::NIL);
    assert!(parts(&graph, Tier::Realtime).is_empty());
    graph.intervals(&[(0, Some(5), Some(6)), (1, Some(2), Some(3))]);
    assert!(parts(&graph, Tier::Process).is_empty());
    assert_eq!(parts(&graph, Tier::Realtime).len(), 1);
}
