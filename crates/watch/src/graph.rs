//! What is known of the order of events in a window, and every edge that there may be besides.
//!
//! Known edges come from sessions, real time and reads; two rules of saturation add more: a reader of a version comes
//! before the writers of later ones, and a writer that is before a reader is before the version that was read.
//! What is not known stays possible in either direction. Events into which no possible edge leads from outside can be
//! moved to the front of every explanation ([`Graph::inside`]): they are settled.
//!
//! A pass of the closure costs the edges times a band of bits; passes end when they add nothing, or after a few, which
//! only leaves more open. Known edges are true in every explanation, so the order by which the window was explained follows
//! them all: it is the order in which the closure visits the nodes, and no pass has to sort them. Keys with one writer
//! and no open read leave nothing open; all others are *busy*, and only these are looked at in each pass.

use certify::Node;
use history::{History, KeyId, TxnId};
use index::{Index, SourceClass};

use crate::bits::Reach;
use crate::events::{Events, Moments};
use crate::lists::{Edges, Lists, components, topological};

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
    pub parts: Vec<Part>,
    pub moments: Vec<Moments>,
    pub sources: Vec<Source>,
    reads_of_key: Lists,
    /// For each key the transactions that certainly wrote it.
    writers_of_key: Lists,
    /// Keys with several writers, or with a read whose source is open.
    busy: Vec<u32>,
    edges: Vec<(u32, u32)>,
    /// The first edges, those that were observed, by where they begin.
    observed: Lists,
    observed_count: usize,
    /// How many nodes there are; those after the events are moments.
    nodes: u32,
    /// All nodes in an order that follows the edges, and the place of each in it.
    order: Vec<u32>,
    places: Vec<u32>,
    pub reach: Reach,
}

impl<'a> Graph<'a> {
    /// What is observed, before anything is derived from it.
    pub fn observe(history: &'a History, index: &'a Index, events: Events, parts: Vec<Part>) -> Self {
        let moments: Vec<Moments> =
            history.txns().map(|txn| Moments::of(&history.times(txn), history.outcome(txn))).collect();
        let keys = history.keys().len();
        let reads = index.reads().iter().zip(0u32..).map(|(read, number)| (read.key.0, number));
        let writers = (0..keys as u32).flat_map(|key| {
            let writes = index.writes_to(KeyId(key)).iter();
            writes.map(move |&write| (key, index.writer(write).0))
        });
        let is_node = |txn: u32| matches!(parts[txn as usize], Part::Node { .. });
        let mut graph = Self {
            history,
            index,
            events,
            moments,
            sources: vec![Source::Open; index.reads().len()],
            reads_of_key: Lists::of(keys, reads),
            writers_of_key: Lists::of(keys, writers.filter(|&(_, writer)| is_node(writer))),
            busy: Vec::new(),
            edges: Vec::new(),
            observed: Lists::default(),
            observed_count: 0,
            nodes: history.txn_count() as u32 * events.per_txn,
            order: Vec::new(),
            places: Vec::new(),
            reach: Reach::default(),
            parts,
        };
        graph.observe_edges();
        graph.find_busy();
        graph
    }

    /// Derives what follows; false if the graph has a cycle, so that nothing in it is settled. The explanation is an order
    /// of events that explains the history; if there is none at hand, it is empty.
    pub fn saturate(&mut self, explanation: &[Node]) -> bool {
        self.follow_explanation(explanation);
        let mut checked = 0;
        for _ in 0..MOST_PASSES {
            if !self.close(&mut checked) {
                return false;
            }
            self.derive();
            if self.edges.len() == checked {
                return true;
            }
        }
        self.close(&mut checked)
    }

    /// How many events there are; the nodes after them are moments.
    pub fn event_count(&self) -> u32 {
        self.parts.len() as u32 * self.events.per_txn
    }

    /// The edges that were observed, by where they begin.
    pub fn observed(&self) -> &Lists {
        &self.observed
    }

    /// For each node how many observed edges lead to it.
    pub fn degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0; self.nodes as usize];
        self.edges[..self.observed_count].iter().for_each(|&(_, to)| degrees[to as usize] += 1);
        degrees
    }

    /// The order of all nodes: each event at its place in the explanation, and a moment behind the last event that leads
    /// to it.
    fn follow_explanation(&mut self, explanation: &[Node]) {
        let event_count = self.event_count();
        let mut after = vec![0u32; self.nodes as usize];
        for (place, node) in explanation.iter().enumerate() {
            after[node.0 as usize] = place as u32;
        }
        // Edges along a line of time come in its order.
        for &(from, to) in self.edges.iter().filter(|&&(_, to)| to >= event_count) {
            after[to as usize] = after[to as usize].max(after[from as usize]);
        }
        let moments = (event_count..self.nodes).map(|moment| (after[moment as usize], moment));
        let moments = Lists::of(explanation.len().max(1), moments);
        for (place, node) in explanation.iter().enumerate() {
            if self.is_node(node.0 / self.events.per_txn) {
                self.order.push(node.0);
            }
            self.order.extend_from_slice(moments.get(place as u32));
        }
        self.note_places();
    }

    fn note_places(&mut self) {
        self.places.clear();
        self.places.resize(self.nodes as usize, u32::MAX);
        for (place, &node) in self.order.iter().enumerate() {
            self.places[node as usize] = place as u32;
        }
    }

    pub fn is_node(&self, txn: u32) -> bool {
        matches!(self.parts[txn as usize], Part::Node { .. })
    }

    /// The transactions that certainly wrote a key.
    #[inline]
    pub fn writers(&self, key: KeyId) -> &[u32] {
        self.writers_of_key.get(key.0)
    }

    /// Keys with several writers, or with a read whose source is open: all others leave nothing open.
    pub fn busy(&self) -> impl Iterator<Item = KeyId> + '_ {
        self.busy.iter().copied().map(KeyId)
    }

    fn find_busy(&mut self) {
        let is_open = |&read: &u32| {
            let reader = self.index.reads()[read as usize].txn.0;
            self.sources[read as usize] == Source::Open && self.is_node(reader)
        };
        let is_busy = |&key: &u32| {
            self.writers_of_key.get(key).len() > 1 || self.reads_of_key.get(key).iter().any(is_open)
        };
        self.busy = (0..self.history.keys().len() as u32).filter(is_busy).collect();
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
    fn observe_edges(&mut self) {
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
        let (first, event_count) = (self.edges.len(), self.nodes);
        for line in events.lines(&timed) {
            self.nodes = line.add_to(&mut self.edges, self.nodes, events.skew);
        }
        self.reach = Reach::new(events, (event_count, self.nodes), &timed, &self.edges[first..]);
        for number in 0..self.sources.len() {
            let read = self.index.reads()[number];
            if !self.is_node(read.txn.0) {
                continue;
            }
            let is_initial = self.index.sources(number).initial;
            match self.index.source_class(number) {
                SourceClass::Initial if is_initial => {
                    self.sources[number] = Source::Initial;
                    let others =
                        self.writers_of_key.get(read.key.0).iter().filter(|&&other| other != read.txn.0);
                    let overwritten = |&other: &u32| (events.begin(read.txn.0), events.commit(other));
                    self.edges.extend(others.map(overwritten));
                }
                SourceClass::Write(write) if !is_initial && self.is_node(self.index.writer(write).0) => {
                    let writer = self.index.writer(write).0;
                    self.sources[number] = Source::Txn(writer);
                    self.edges.push((events.commit(writer), events.begin(read.txn.0)));
                }
                _ => {}
            }
        }
        self.observed_count = self.edges.len();
        self.observed = Lists::of(self.nodes as usize, self.edges.iter().copied());
    }

    /// Which events each node reaches; false if the edges have a cycle. `checked` counts the edges that the order is known
    /// to follow.
    fn close(&mut self, checked: &mut usize) -> bool {
        let is_against = |&(from, to): &(u32, u32)| self.places[from as usize] >= self.places[to as usize];
        if self.edges[*checked..].iter().any(is_against) {
            let Some(order) = topological(self.nodes as usize, &self.edges) else { return false };
            self.order = order;
            self.note_places();
        }
        *checked = self.edges.len();
        let added = Lists::of(self.nodes as usize, self.edges[self.observed_count..].iter().copied());
        let event_count = self.event_count();
        self.reach.clear();
        for &node in self.order.iter().rev() {
            for &next in self.observed.get(node).iter().chain(added.get(node)) {
                self.reach.join(node, next);
                if next < event_count {
                    self.reach.set(node, next);
                }
            }
        }
        true
    }

    /// One pass over the busy keys.
    fn derive(&mut self) {
        let (busy, all_writers) = (std::mem::take(&mut self.busy), std::mem::take(&mut self.writers_of_key));
        for &key in &busy {
            let writers = all_writers.get(key);
            if writers.is_empty() {
                continue;
            }
            if self.events.per_txn == 2 {
                self.separate(writers);
            }
            for place in 0..self.reads_of_key.get(key).len() {
                let read = self.reads_of_key.get(key)[place] as usize;
                let reader = self.index.reads()[read].txn.0;
                if self.is_node(reader) {
                    self.follow(read, reader, writers);
                }
            }
        }
        (self.busy, self.writers_of_key) = (busy, all_writers);
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
        for key in self.busy() {
            let writers = self.writers(key);
            for (&one, &other) in pairs(writers) {
                if !self.is_earlier(one, other) && !self.is_earlier(other, one) {
                    edges.push((events.commit(one), events.begin(other)));
                    edges.push((events.commit(other), events.begin(one)));
                }
            }
            for &read in self.reads_of_key.get(key.0) {
                self.possible_of_read(read as usize, writers, &mut edges);
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
                self.writers(key)
                    .iter()
                    .filter(|&&txn| may_follow(txn))
                    .map(|&txn| (commit, events.begin(txn))),
            );
            let reads =
                self.reads_of_key.get(key.0).iter().map(|&read| self.index.reads()[read as usize].txn.0);
            edges.extend(reads.filter(|&txn| may_follow(txn)).map(|txn| (commit, events.begin(txn))));
        }
        for read in self.index.reads_of(id) {
            let writers = self.writers(self.index.reads()[read].key);
            let writers = writers.iter().filter(|&&txn| may_follow(txn));
            edges.extend(writers.map(|&txn| (begin, events.commit(txn))));
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

    /// The events that are settled.
    pub fn inside(&self) -> Inside {
        let mut added = self.possible();
        added.extend_from_slice(&self.edges[self.observed_count..]);
        let added = Lists::of(self.nodes as usize, added.iter().copied());
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
        Edges(&self.observed, &added).spread(&mut is_outside, found);
        Inside { is_outside, added }
    }

    /// For each settled event the number of its component among possible edges.
    pub fn components(&self, inside: &Inside) -> Vec<u32> {
        components(&Edges(&self.observed, &inside.added), &inside.is_outside)
    }
}

/// The settled events.
pub(crate) struct Inside {
    pub is_outside: Vec<bool>,
    /// Every edge that was not observed: those that follow, and those that there may be.
    added: Lists,
}

/// All pairs of two different places.
pub(crate) fn pairs(all: &[u32]) -> impl Iterator<Item = (&u32, &u32)> {
    all.iter().enumerate().flat_map(|(place, one)| all[place + 1..].iter().map(move |other| (one, other)))
}
