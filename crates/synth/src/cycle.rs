//! "The forced order has a cycle", as clauses: exact refutations that need no candidates.
//!
//! A cycle exists iff some non-empty set of transactions has, for each member, a predecessor in the set: n unknowns and
//! n^2 gates. Where `visible` does not speak of the order, the order is forced by the history, and a cycle in it is
//! exactly a violation. For serializability, snapshot isolation and prefix the versions of each object must be ordered
//! first: an order of all transactions does that, and then stands for every order with the same versions; without blind
//! writes the history itself orders them.

use spec::circuit::Lit;
use spec::{Base, Formula, Framework, Level, Rel};

use crate::encode::{Encoder, pairs_of};
use crate::symbols::Pairs;

/// Whether a level's violations are the cycles of what the history alone forces.
pub(crate) fn is_forced(level: &Level) -> bool {
    let Some(visible) = &level.visible else { return false };
    let ignores_order = !visible.mentions(Base::Before) && level.require == Formula::Const(true);
    let known_at_reads = !visible.mentions(Base::Earlier) || *visible == Rel::Base(Base::Earlier);
    level.framework == Framework::CommitOrder && ignores_order && known_at_reads
}

/// Levels whose violations, once the versions of every object are ordered, are the cycles of a graph of dependencies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pattern {
    /// Everything before is visible: no cycle of order, overwriting (ww) and being overwritten (rw).
    Serial,
    /// A snapshot that holds all conflicting writers: no cycle of (order or ww) ; rw?.
    Snapshot,
    /// A snapshot: no cycle of order ; rw? and ww.
    Prefix,
}

/// The pattern of a level, if it has one (Adya; Cerone and Gotsman).
pub(crate) fn pattern(level: &Level) -> Option<Pattern> {
    if level.framework != Framework::CommitOrder || level.require != Formula::Const(true) {
        return None;
    }
    let before = Rel::Base(Base::Before);
    if level.visible.as_ref()? == &before {
        return Some(Pattern::Serial);
    }
    let Rel::Join(prefix, seen) = level.visible.as_ref()? else { return None };
    let mut seen = union_parts(seen);
    let in_conflict = Rel::Base(Base::Conflict).inter(before.clone());
    let count = seen.len();
    seen.retain(|part| **part != in_conflict);
    let pattern = if seen.len() < count { Pattern::Snapshot } else { Pattern::Prefix };
    let is_history = |part: &&Rel| matches!(part, Rel::Base(Base::Session | Base::ReadsFrom));
    let mut order = union_parts(&level.order);
    order.sort();
    seen.sort();
    (**prefix == before.optional() && seen.iter().all(is_history) && order == seen).then_some(pattern)
}

fn union_parts(rel: &Rel) -> Vec<&Rel> {
    match rel {
        Rel::Union(left, right) => [union_parts(left), union_parts(right)].concat(),
        other => vec![other],
    }
}

impl Encoder {
    /// Demands that a relation has a cycle, given that everything comes after the initial transaction.
    pub fn require_cycle(&mut self, edges: &Pairs) {
        let txns = self.unknown.txns;
        let members: Vec<Lit> = (1..txns).map(|_| self.circuit.input()).collect();
        let into_initial = (1..txns).map(|from| edges[from][0]);
        let start: Vec<Lit> = members.iter().copied().chain(into_initial).collect();
        self.require_any(&start);
        for to in 1..txns {
            let mut clause = vec![!members[to - 1]];
            for from in 1..txns {
                clause.push(self.circuit.and(members[from - 1], edges[from][to]));
            }
            self.require_any(&clause);
        }
    }

    /// What a level's order must contain whatever the witness; only for levels that [`is_forced`] is true of.
    pub fn forced_edges(&mut self, level: &Level) -> Pairs {
        let nothing = vec![vec![Lit::FALSE; self.unknown.txns]; self.unknown.txns];
        let mut edges = self.pairs(&level.order, &nothing);
        let visible = level.visible.as_ref().expect("a forced level says what is visible");
        if visible.mentions(Base::Earlier) {
            self.add_earlier_edges(&mut edges);
            return edges;
        }
        let visible = self.pairs(visible, &nothing);
        for (source, other, reader) in self.readings(&visible) {
            let stale = self.stale(source, other, reader);
            let forced = self.circuit.and(stale, visible[other][reader]);
            edges[other][source] = self.circuit.or(edges[other][source], forced);
        }
        edges
    }

    /// Read committed: a transaction that another had read from comes before the source of what it reads next.
    fn add_earlier_edges(&mut self, edges: &mut Pairs) {
        let (txns, objects) = (self.unknown.txns, self.unknown.objects);
        for (other, source) in pairs_of(txns) {
            for reader in 1..txns {
                for object in 0..objects {
                    let tuple = [object, other, source, reader];
                    let then = self.unknown.base(&mut self.circuit, Base::ReadsThen, &tuple);
                    let forced = self.circuit.and(then, self.unknown.writes[other][object]);
                    edges[other][source] = self.circuit.or(edges[other][source], forced);
                }
            }
        }
    }

    /// The dependencies of a level with a pattern, if versions are ordered as the transactions in `before`.
    pub fn dependencies(&mut self, level: &Level, pattern: Pattern, before: &Pairs) -> Pairs {
        let txns = self.unknown.txns;
        let mut edges = self.pairs(&level.order, before);
        let overwritten = self.overwritten(before);
        let mut overwrites = vec![vec![Lit::FALSE; txns]; txns];
        for (a, b) in pairs_of(txns) {
            overwrites[a][b] = self.circuit.and(self.unknown.conflict[a][b], before[a][b]);
        }
        if pattern != Pattern::Prefix {
            self.unite(&mut edges, &overwrites);
        }
        if pattern == Pattern::Serial {
            self.unite(&mut edges, &overwritten);
            return edges;
        }
        let mut through = edges.clone();
        for (a, c) in pairs_of(txns) {
            for b in (0..txns).filter(|&b| b != a && b != c) {
                let step = self.circuit.and(edges[a][b], overwritten[b][c]);
                through[a][c] = self.circuit.or(through[a][c], step);
            }
        }
        for a in 1..txns {
            // A dependency and an anti-dependency that lead straight back.
            for b in (1..txns).filter(|&b| b != a) {
                let back = self.circuit.and(edges[a][b], overwritten[b][a]);
                through[a][a] = self.circuit.or(through[a][a], back);
            }
        }
        if pattern == Pattern::Prefix {
            self.unite(&mut through, &overwrites);
        }
        through
    }

    fn unite(&mut self, edges: &mut Pairs, more: &Pairs) {
        for (a, b) in pairs_of(edges.len()) {
            edges[a][b] = self.circuit.or(edges[a][b], more[a][b]);
        }
    }

    /// Anti-dependencies: the first read a version that the second overwrote.
    fn overwritten(&mut self, before: &Pairs) -> Pairs {
        let txns = self.unknown.txns;
        let mut overwritten = vec![vec![Lit::FALSE; txns]; txns];
        for (reader, writer) in pairs_of(txns) {
            for source in (0..txns).filter(|&source| source != writer && source != reader) {
                if self.unknown.reads_from[source][reader] == Lit::FALSE
                    || before[source][writer] == Lit::FALSE
                {
                    continue;
                }
                let stale = self.stale(source, writer, reader);
                let later = self.circuit.and(stale, before[source][writer]);
                overwritten[reader][writer] = self.circuit.or(overwritten[reader][writer], later);
            }
        }
        overwritten
    }

    /// The same without blind writes: a transaction that reads what another reads and overwrites comes before the other.
    pub fn dependencies_without_blind_writes(&mut self, level: &Level) -> Pairs {
        let txns = self.unknown.txns;
        let nothing = vec![vec![Lit::FALSE; txns]; txns];
        let mut edges = self.pairs(&level.order, &nothing);
        for (a, b) in pairs_of(txns) {
            for object in 0..self.unknown.objects {
                for source in 0..txns {
                    let sources = &self.unknown.source[object][source];
                    let both_read = self.circuit.and(sources[a], sources[b]);
                    let overwritten = self.circuit.and(both_read, self.unknown.writes[b][object]);
                    edges[a][b] = self.circuit.or(edges[a][b], overwritten);
                }
            }
        }
        edges
    }
}
