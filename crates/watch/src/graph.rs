//! What is known of the order of events in a window, and every edge that there may be besides.
//!
//! Known edges come from sessions, real time and reads; two rules of saturation add more: a reader of a version comes
//! before the writers of later ones, and a writer that is before a reader is before the version that was read.
//! What is not known stays possible in either direction. Events into which no possible edge leads from outside can be
//! moved to the front of every explanation ([`Graph::inside`]): they are settled.
//!
//! A pass of the closure costs the edges times a row of bits; passes end when they add nothing, or after a few, which
//! only leaves more open.

use history::{History, KeyId, TxnId};
use index::{Index, SourceClass};

use crate::bits::Reach;
use crate::events::{Events, Moments};

/// What a transaction of the window is in the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// It committed; whether its events may be settled.
    Node {
        /// The begin (with one event for a transaction, the whole).
        begin: bool,
        /// The commit.
        commit: bool,
    },
    /// It may have committed.
    Doubt,
    /// It plays no part.
    Absent,
}

/// Where a read came from, as far as that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    Initial,
    Txn(u32),
    Open,
}

/// Passes of saturation.
const MOST_PASSES: usize = 8;

pub(crate) struct Graph<'a> {
    pub history: &'a History,
    pub index: &'a Index,
    pub events: Events,
    pub parts: &'a [Part],
    pub moments: Vec<Moments>,
    pub sources: Vec<Source>,
    reads_of_key: Lists,
    edges: Vec<(u32, u32)>,
    /// How many nodes there are; those after the events are moments.
    nodes: u32,
    pub reach: Reach,
}

impl<'a> Graph<'a> {
    /// The graph; `None` if it has a cycle, so that nothing in it is settled.
    pub fn new(history: &'a History, index: &'a Index, events: Events, parts: &'a [Part]) -> Option<Self> {
        let moments: Vec<Moments> =
            history.txns().map(|txn| Moments::of(&history.times(txn), history.outcome(txn))).collect();
        let reads = index.reads().iter().enumerate().map(|(number, read)| (read.key.0, number as u32));
        let reads_of_key = Lists::of(history.keys().len(), reads.collect());
        let mut graph = Self {
            history,
            index,
            events,
            parts,
            moments,
            sources: vec![Source::Open; index.reads().len()],
            reads_of_key,
            edges: Vec::new(),
            nodes: history.txn_count() as u32 * events.per_txn,
            reach: Reach::default(),
        };
        graph.observe();
        let event_count = history.txn_count() as u32 * events.per_txn;
        let plays_a_part = (0..event_count).map(|event| graph.is_node(event / events.per_txn));
        graph.reach = Reach::new(plays_a_part, graph.nodes - event_count);
        for _ in 0..MOST_PASSES {
            if !graph.close() {
                return None;
            }
            let before = graph.edges.len();
            graph.saturate();
            if graph.edges.len() == before {
                break;
            }
        }
        graph.close().then_some(graph)
    }

    pub fn is_node(&self, txn: u32) -> bool {
        matches!(self.parts[txn as usize], Part::Node { .. })
    }

    /// The transactions that certainly wrote a key.
    pub fn writers(&self, key: KeyId) -> impl Iterator<Item = u32> + Clone + '_ {
        let writes = self.index.writes_to(key).iter();
        writes.map(|&write| self.index.writer(write).0).filter(|&txn| self.is_node(txn))
    }

    /// Whether the version of one writer is known to be before that of the other.
    #[inline]
    pub fn is_earlier(&self, one: u32, other: u32) -> bool {
        self.reach.get(self.events.commit(one), self.events.begin(other))
    }

    fn edge(&mut self, from: u32, to: u32) {
        if !self.reach.get(from, to) {
            self.reach.set(from, to);
            self.edges.push((from, to));
        }
    }

    /// Edges of sessions, of transactions, of real time and of reads with one source.
    fn observe(&mut self) {
        let events = self.events;
        for session in self.history.sessions() {
            let mut last = None;
            for txn in self.history.session_txns(session).map(|txn| txn.0) {
                if !self.is_node(txn) {
                    continue;
                }
                if let Some(last) = last.replace(txn) {
                    self.edges.push((events.commit(last), events.begin(txn)));
                }
                if events.per_txn == 2 {
                    self.edges.push((events.begin(txn), events.commit(txn)));
                }
            }
        }
        let timed = (0..self.parts.len() as u32).filter(|&txn| self.is_node(txn));
        let timed: Vec<_> = timed.map(|txn| (txn, self.moments[txn as usize])).collect();
        for line in events.lines(&timed) {
            self.nodes = line.add_to(&mut self.edges, self.nodes, events.skew);
        }
        for number in 0..self.sources.len() {
            let read = self.index.reads()[number];
            if !self.is_node(read.txn.0) {
                continue;
            }
            let is_initial = self.index.sources(number).initial;
            match self.index.source_class(number) {
                SourceClass::Initial if is_initial => {
                    self.sources[number] = Source::Initial;
                    for writer in
                        self.writers(read.key).filter(|&writer| writer != read.txn.0).collect::<Vec<_>>()
                    {
                        self.edges.push((events.begin(read.txn.0), events.commit(writer)));
                    }
                }
                SourceClass::Write(write) if !is_initial && self.is_node(self.index.writer(write).0) => {
                    let writer = self.index.writer(write).0;
                    self.sources[number] = Source::Txn(writer);
                    self.edges.push((events.commit(writer), events.begin(read.txn.0)));
                }
                _ => {}
            }
        }
    }

    /// Which events each node reaches; false if the edges have a cycle.
    fn close(&mut self) -> bool {
        let out = Lists::of(self.nodes as usize, self.edges.clone());
        let Some(order) = topological(&out, &self.edges) else { return false };
        let events = (self.history.txn_count() as u32) * self.events.per_txn;
        self.reach.clear();
        for &node in order.iter().rev() {
            for &next in out.get(node) {
                self.reach.join(node, next);
                if next < events {
                    self.reach.set(node, next);
                }
            }
        }
        true
    }

    fn saturate(&mut self) {
        for key in 0..self.history.keys().len() {
            let writers: Vec<u32> = self.writers(KeyId(key as u32)).collect();
            if writers.is_empty() {
                continue;
            }
            if self.events.per_txn == 2 {
                self.separate(&writers);
            }
            for place in 0..self.reads_of_key.get(key as u32).len() {
                let read = self.reads_of_key.get(key as u32)[place] as usize;
                let reader = self.index.reads()[read].txn.0;
                if self.is_node(reader) {
                    self.follow(read, reader, &writers);
                }
            }
        }
    }

    /// Writers of a key do not overlap: one that began before the other committed, committed before the other began.
    fn separate(&mut self, writers: &[u32]) {
        for (&one, &other) in pairs(writers) {
            for (first, second) in [(one, other), (other, one)] {
                if self.reach.get(self.events.begin(first), self.events.commit(second)) {
                    self.edge(self.events.commit(first), self.events.begin(second));
                }
            }
        }
    }

    fn follow(&mut self, read: usize, reader: u32, writers: &[u32]) {
        let events = self.events;
        let (begin, others) =
            (events.begin(reader), writers.iter().copied().filter(|&other| other != reader));
        if self.sources[read] == Source::Open {
            self.choose(read, reader, writers);
        }
        match self.sources[read] {
            Source::Open => {}
            Source::Initial => others.for_each(|other| self.edge(begin, events.commit(other))),
            Source::Txn(source) => {
                for other in others.filter(|&other| other != source) {
                    if self.is_earlier(source, other) {
                        self.edge(begin, events.commit(other));
                    } else if self.reach.get(events.commit(other), begin) {
                        self.edge(events.commit(other), events.begin(source));
                    }
                }
            }
        }
    }

    /// Takes the only source that is left of a read with several.
    fn choose(&mut self, read: usize, reader: u32, writers: &[u32]) {
        let (begin, events) = (self.events.begin(reader), self.events);
        let mut left = self.candidates(read, reader, writers);
        let (first, second) = (left.next(), left.next());
        drop(left);
        match (first, second) {
            (Some(Source::Initial), None) => self.sources[read] = Source::Initial,
            (Some(Source::Txn(source)), None) if self.is_node(source) => {
                self.sources[read] = Source::Txn(source);
                self.edge(events.commit(source), begin);
            }
            _ => {}
        }
    }

    /// The sources that a read may still have.
    pub fn candidates<'g>(
        &'g self,
        read: usize,
        reader: u32,
        writers: &'g [u32],
    ) -> impl Iterator<Item = Source> + 'g {
        let sources = self.index.sources(read);
        let (begin, events) = (self.events.begin(reader), self.events);
        let is_seen = move |writer: u32| self.reach.get(events.commit(writer), begin);
        let is_overwritten = move |source: u32| {
            self.is_node(source)
                && (self.reach.get(begin, events.commit(source))
                    || writers
                        .iter()
                        .any(|&other| other != source && self.is_earlier(source, other) && is_seen(other)))
        };
        let initial = sources.initial && !writers.iter().any(|&writer| writer != reader && is_seen(writer));
        let written = sources.writes.iter().map(|&write| self.index.writer(write).0);
        let written = written.filter(move |&source| source != reader && !is_overwritten(source));
        initial.then_some(Source::Initial).into_iter().chain(written.map(Source::Txn))
    }

    /// Every edge that there may be besides the known ones.
    fn possible(&self) -> Vec<(u32, u32)> {
        let mut edges = Vec::new();
        let events = self.events;
        for key in 0..self.history.keys().len() {
            let writers: Vec<u32> = self.writers(KeyId(key as u32)).collect();
            for (&one, &other) in pairs(&writers) {
                if !self.is_earlier(one, other) && !self.is_earlier(other, one) {
                    edges.push((events.commit(one), events.begin(other)));
                    edges.push((events.commit(other), events.begin(one)));
                }
            }
            for &read in self.reads_of_key.get(key as u32) {
                self.possible_of_read(read as usize, &writers, &mut edges);
            }
        }
        let doubts = (0..self.parts.len() as u32).filter(|&txn| self.parts[txn as usize] == Part::Doubt);
        doubts.for_each(|txn| self.possible_of_doubt(txn, &mut edges));
        edges
    }

    fn possible_of_read(&self, read: usize, writers: &[u32], edges: &mut Vec<(u32, u32)>) {
        let reader = self.index.reads()[read].txn.0;
        if !self.is_node(reader) {
            return;
        }
        let (events, begin) = (self.events, self.events.begin(reader));
        let others = writers.iter().copied().filter(|&other| other != reader);
        match self.sources[read] {
            Source::Initial => {}
            Source::Txn(source) => {
                let open = others.filter(|&other| {
                    other != source && !self.is_earlier(source, other) && !self.is_earlier(other, source)
                });
                edges.extend(open.map(|other| (begin, events.commit(other))));
            }
            Source::Open => {
                let open = others.filter(|&other| !self.reach.get(events.commit(other), begin));
                edges.extend(open.map(|other| (begin, events.commit(other))));
                let candidates = self.candidates(read, reader, writers);
                edges.extend(candidates.filter_map(|source| match source {
                    Source::Txn(source) if self.parts[source as usize] != Part::Absent => {
                        Some((events.commit(source), begin))
                    }
                    _ => None,
                }));
            }
        }
    }

    /// What a transaction of unknown outcome may come before, if it committed.
    fn possible_of_doubt(&self, doubt: u32, edges: &mut Vec<(u32, u32)>) {
        let events = self.events;
        let (begin, commit) = (events.begin(doubt), events.commit(doubt));
        let begun = self.moments[doubt as usize];
        let may_follow = |txn: u32| {
            self.is_node(txn)
                && !events.is_before(self.moments[txn as usize].commit_response, begun.begin_request)
        };
        let id = TxnId(doubt);
        for write in self.index.writes_of(id) {
            let key = self.index.writes()[write].key;
            edges.extend(
                self.writers(key).filter(|&txn| may_follow(txn)).map(|txn| (commit, events.begin(txn))),
            );
            let reads =
                self.reads_of_key.get(key.0).iter().map(|&read| self.index.reads()[read as usize].txn.0);
            edges.extend(reads.filter(|&txn| may_follow(txn)).map(|txn| (commit, events.begin(txn))));
        }
        for read in self.index.reads_of(id) {
            let writers = self.writers(self.index.reads()[read].key);
            edges.extend(writers.filter(|&txn| may_follow(txn)).map(|txn| (begin, events.commit(txn))));
        }
        let later = self.history.session_txns(self.history.session_of(id)).filter(|&txn| txn > id);
        edges.extend(later.filter(|txn| self.is_node(txn.0)).map(|txn| (commit, events.begin(txn.0))));
        if events.per_txn == 2 {
            let all = (0..self.parts.len() as u32).filter(|&txn| self.is_node(txn));
            let after = all.filter(|&txn| {
                events.is_before(begun.begin_response, self.moments[txn as usize].commit_request)
            });
            edges.extend(after.map(|txn| (begin, events.commit(txn))));
        }
    }

    /// The events that are settled, and for each of them the number of its component among possible edges.
    pub fn inside(&self) -> Inside {
        let mut edges = self.possible();
        edges.extend_from_slice(&self.edges);
        let out = Lists::of(self.nodes as usize, edges);
        let mut is_outside = vec![false; self.nodes as usize];
        let mut found: Vec<u32> = Vec::new();
        for (txn, part) in self.parts.iter().enumerate() {
            let (begin, commit) = (self.events.begin(txn as u32), self.events.commit(txn as u32));
            let (begin_may, commit_may) = match *part {
                Part::Node { begin, commit } => (begin, commit),
                Part::Doubt | Part::Absent => (false, false),
            };
            for (event, may) in [(begin, begin_may), (commit, commit_may)] {
                if !may && !std::mem::replace(&mut is_outside[event as usize], true) {
                    found.push(event);
                }
            }
        }
        while let Some(node) = found.pop() {
            for &next in out.get(node) {
                if !std::mem::replace(&mut is_outside[next as usize], true) {
                    found.push(next);
                }
            }
        }
        let component = components(&out, &is_outside);
        Inside { is_outside, component }
    }
}

/// The settled events.
pub(crate) struct Inside {
    pub is_outside: Vec<bool>,
    /// For each node that is not outside, its strongly connected component.
    pub component: Vec<u32>,
}

/// All pairs of two different places.
pub(crate) fn pairs(all: &[u32]) -> impl Iterator<Item = (&u32, &u32)> {
    all.iter().enumerate().flat_map(|(place, one)| all[place + 1..].iter().map(move |other| (one, other)))
}

/// A list for each number, one after the other.
pub(crate) struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// From pairs of a number below `count` and an item; the items of a number stay in their order.
    pub fn of(count: usize, pairs: Vec<(u32, u32)>) -> Self {
        let mut start = vec![0u32; count + 1];
        for &(number, _) in &pairs {
            start[number as usize + 1] += 1;
        }
        for number in 0..count {
            start[number + 1] += start[number];
        }
        let mut next = start.clone();
        let mut items = vec![0; pairs.len()];
        for (number, item) in pairs {
            items[next[number as usize] as usize] = item;
            next[number as usize] += 1;
        }
        Self { start, items }
    }

    #[inline]
    pub fn get(&self, number: u32) -> &[u32] {
        &self.items[self.start[number as usize] as usize..self.start[number as usize + 1] as usize]
    }

    fn len(&self) -> usize {
        self.start.len() - 1
    }
}

/// An order of all nodes that follows the edges; `None` if there is a cycle.
fn topological(out: &Lists, edges: &[(u32, u32)]) -> Option<Vec<u32>> {
    let mut missing = vec![0u32; out.len()];
    edges.iter().for_each(|&(_, to)| missing[to as usize] += 1);
    let mut order: Vec<u32> = (0..out.len() as u32).filter(|&node| missing[node as usize] == 0).collect();
    let mut place = 0;
    while let Some(&node) = order.get(place) {
        place += 1;
        for &next in out.get(node) {
            missing[next as usize] -= 1;
            if missing[next as usize] == 0 {
                order.push(next);
            }
        }
    }
    (order.len() == out.len()).then_some(order)
}

/// Strongly connected components of the nodes that are not left out, by Tarjan's algorithm without recursion.
fn components(out: &Lists, is_left_out: &[bool]) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let count = out.len();
    let (mut number, mut low, mut component) = (vec![NONE; count], vec![0u32; count], vec![NONE; count]);
    let (mut stack, mut calls): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
    let (mut next_number, mut next_component) = (0, 0);
    for root in (0..count as u32).filter(|&node| !is_left_out[node as usize]) {
        if number[root as usize] != NONE {
            continue;
        }
        calls.push((root, 0));
        while let Some(&(node, place)) = calls.last() {
            let at = node as usize;
            if place == 0 {
                (number[at], low[at]) = (next_number, next_number);
                next_number += 1;
                stack.push(node);
            }
            let next = out.get(node)[place as usize..].iter().position(|&to| !is_left_out[to as usize]);
            if let Some(offset) = next {
                let to = out.get(node)[place as usize + offset];
                let top = calls.len() - 1;
                calls[top].1 = place + offset as u32 + 1;
                if number[to as usize] == NONE {
                    calls.push((to, 0));
                } else if component[to as usize] == NONE {
                    low[at] = low[at].min(number[to as usize]);
                }
                continue;
            }
            calls.pop();
            if let Some(&(parent, _)) = calls.last() {
                low[parent as usize] = low[parent as usize].min(low[at]);
            }
            if low[at] == number[at] {
                while let Some(member) = stack.pop() {
                    component[member as usize] = next_component;
                    if member == node {
                        break;
                    }
                }
                next_component += 1;
            }
        }
    }
    component
}
