//! Why transactions contradict themselves at a level that is given by its text, in sentences.

use std::collections::VecDeque;

use certify::text::cases::{Assumed, Refutation};
use certify::text::facts::{Facts, INITIAL};
use certify::text::plan::{Part, Plan};
use certify::text::saturate::{Forced, Why, contradiction};
use explain::{Edge, EdgeKind};
use history::{History, KeyId, OpId, TxnId, visible};

use crate::explanation::{Explanation, Line};
use crate::units::counted;
use crate::witness::op_text;

/// The explanation of a contradiction among some nodes, if they contradict themselves.
pub(crate) fn of_contradiction(
    history: &History,
    facts: &Facts,
    plan: &Plan,
    nodes: &[u32],
) -> Option<Explanation> {
    let few = facts.restricted(nodes);
    let teller = Teller { history, facts: &few, plan };
    let cycle = teller.with_path(contradiction(&few, plan)?);
    let mut transactions: Vec<TxnId> = nodes.iter().map(|&node| facts.txn(node)).collect();
    transactions.sort_unstable();
    let lines = cycle.iter().map(|pair| Line { depth: 0, text: visible(&teller.sentence(pair)) });
    let mut lines: Vec<Line> = lines.collect();
    lines.push(Line { depth: 0, text: visible(&teller.conclusion(&cycle)) });
    Some(Explanation {
        steps: cycle.iter().filter_map(|pair| teller.step(pair)).collect(),
        anomaly: anomaly(plan, &cycle),
        clause: plan.one_source.then_some("a row changed between two reads of one transaction"),
        headline: format!("contradiction, {}", counted(transactions.len(), "transaction")),
        transactions,
        participants: Vec::new(),
        lines,
    })
}

/// The explanation of a read that no transaction explains.
pub(crate) fn of_unexplained(history: &History, txn: TxnId, op: OpId) -> Explanation {
    let read = op_text(history, history.op(op));
    let sentence = format!(
        "{} {read}, and the key never held that: no transactions that may have committed wrote it so",
        history.txn_label(txn)
    );
    Explanation {
        headline: "read without a source, 1 transaction".to_owned(),
        transactions: vec![txn],
        lines: vec![Line { depth: 0, text: visible(&sentence) }],
        ..Explanation::default()
    }
}

/// The explanation of cases that are all refuted.
pub(crate) fn of_cases(
    history: &History,
    plan: &Plan,
    txns: &[TxnId],
    refutation: &Refutation,
) -> Explanation {
    let mut lines = Vec::new();
    add_cases(history, plan, refutation, 0, &mut lines);
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES);
        lines.push(Line { depth: 0, text: "and so on: no choice for these transactions is left".to_owned() });
    }
    Explanation {
        headline: format!("contradiction between choices, {}", counted(txns.len(), "transaction")),
        transactions: txns.to_vec(),
        lines,
        ..Explanation::default()
    }
}

/// A longer way from a writer to a reader that missed it is not told step by step.
const MOST_STEPS: usize = 20;

/// More sentences than this about cases are not read.
const MOST_LINES: usize = 60;

fn add_cases(history: &History, plan: &Plan, refutation: &Refutation, depth: usize, lines: &mut Vec<Line>) {
    let mut add = |depth, text: String| lines.push(Line { depth, text: visible(&text) });
    match refutation {
        Refutation::Cycle(facts, cycle) => {
            let teller = Teller { history, facts, plan };
            cycle.iter().for_each(|pair| add(depth, teller.sentence(pair)));
            add(depth, teller.conclusion(cycle));
        }
        Refutation::Cases(cases) => {
            for (assumed, refuted) in cases {
                let sentence = assumption(history, *assumed);
                match refuted {
                    None => {
                        let reason = "a committed transaction read from it";
                        lines.push(Line { depth, text: visible(&format!("{sentence}: no, {reason}")) });
                    }
                    Some(refuted) => {
                        lines.push(Line { depth, text: visible(&format!("suppose that {sentence}")) });
                        add_cases(history, plan, refuted, depth + 1, lines);
                    }
                }
            }
        }
    }
}

fn assumption(history: &History, assumed: Assumed) -> String {
    let txn = |txn: TxnId| history.txn_label(txn);
    match assumed {
        Assumed::Committed(of) => format!("{} committed", txn(of)),
        Assumed::Aborted(of) => format!("{} did not commit", txn(of)),
        Assumed::Before(first, second) => format!("{} comes before {}", txn(first), txn(second)),
        Assumed::Source(op, key, source) => {
            let source = source.map_or("the initial state".to_owned(), txn);
            let key = history.keys().original(KeyId(key));
            format!("{} read {key} from {source}", txn(history.txn_of(op)))
        }
    }
}

/// The name of the pattern, where it has one that is the same at every level.
fn anomaly(plan: &Plan, cycle: &[Forced]) -> Option<&'static str> {
    let is_of_reads = |pair: &Forced| matches!(pair.why, Why::Session | Why::Read(..));
    match cycle {
        _ if plan.one_source => Some("non-repeatable read"),
        _ if cycle.iter().all(is_of_reads) => Some("cycle of sessions and reads"),
        _ => None,
    }
}

struct Teller<'a> {
    history: &'a History,
    facts: &'a Facts,
    plan: &'a Plan,
}

impl Teller<'_> {
    fn txn(&self, node: u32) -> String {
        match node {
            INITIAL => "the initial state".to_owned(),
            node => self.history.txn_label(self.facts.txn(node)),
        }
    }

    fn key(&self, key: u32) -> String {
        self.history.keys().original(KeyId(key)).to_string()
    }

    fn sentence(&self, pair: &Forced) -> String {
        let (from, to) = (self.txn(pair.from), self.txn(pair.to));
        match pair.why {
            Why::Session => format!("{from} comes before {to}: it is earlier in the same session"),
            Why::Read(_, key) if self.plan.one_source => format!("{to} read {} from {from}", self.key(key)),
            Why::Read(_, key) => format!("{from} comes before {to}: {to} read {} from {from}", self.key(key)),
            Why::RealTime => format!("{from} comes before {to}: it had ended before {to} began"),
            Why::Told(by) if by == pair.from && self.history.has_versions() => {
                format!("{from} comes before {to}: the recorded versions of a key show this order")
            }
            Why::Told(by) if by == pair.from => format!("{from} comes before {to}, as was supposed"),
            Why::Told(by) => {
                format!("{from} comes before {to}: {} read a list that shows this order", self.txn(by))
            }
            Why::Visible { reader, key, part } => {
                let (reader_name, key) = (self.txn(reader), self.key(key));
                let seen = self.visible(part, pair.from, reader);
                let level = self.plan.readers[part as usize].is_all().then_some("").map_or_else(
                    || format!(", which ran at {},", self.facts.level_of(reader).unwrap_or_default()),
                    str::to_owned,
                );
                if pair.to == INITIAL {
                    return format!(
                        "{reader_name}{level} read {key} as it was at the beginning and missed what {from} wrote, although {from} \
                         was visible to {reader_name} ({seen})"
                    );
                }
                format!(
                    "{from} comes before {to}: {reader_name}{level} read {key} from {to}, although {from} wrote {key} too \
                     and was visible to {reader_name} ({seen})"
                )
            }
        }
    }

    /// The step between two transactions that a pair shows. What comes before the initial state was missed by the reader.
    fn step(&self, pair: &Forced) -> Option<Edge> {
        let txn = |node: u32| (node != INITIAL).then(|| self.facts.txn(node));
        let (from, to, kind, key, read) = match pair.why {
            Why::Session => (pair.from, pair.to, EdgeKind::So, None, None),
            Why::Read(read, key) => (pair.from, pair.to, EdgeKind::Wr, Some(key), Some(read)),
            Why::RealTime => (pair.from, pair.to, EdgeKind::Rt, None, None),
            Why::Told(_) => (pair.from, pair.to, EdgeKind::Ww, None, None),
            Why::Visible { reader, key, .. } if pair.to == INITIAL => {
                (reader, pair.from, EdgeKind::Rw, Some(key), self.read_of(reader, key))
            }
            Why::Visible { key, .. } => (pair.from, pair.to, EdgeKind::Derived, Some(key), None),
        };
        Some(Edge {
            from: Some(txn(from)?),
            to: Some(txn(to)?),
            kind,
            key: key.map(KeyId),
            read,
            reason: self.sentence(pair),
        })
    }

    /// A reader that missed a write and found the initial state is a cycle of one pair: puts the sessions and reads before
    /// it by which the writer comes before the reader, as far as these alone do.
    fn with_path(&self, cycle: Vec<Forced>) -> Vec<Forced> {
        let [pair] = cycle[..] else { return cycle };
        let Why::Visible { reader, part, .. } = pair.why else { return cycle };
        match (pair.to, &self.plan.parts[part as usize]) {
            (INITIAL, Part::Before { .. } | Part::Steps(_)) => {
                let path = self.path(pair.from, reader).filter(|path| path.len() <= MOST_STEPS);
                path.unwrap_or_default().into_iter().chain([pair]).collect()
            }
            _ => cycle,
        }
    }

    /// The shortest way from one node to another by sessions and reads.
    fn path(&self, from: u32, to: u32) -> Option<Vec<Forced>> {
        let count = self.facts.node_count();
        let mut reached_by: Vec<Option<Forced>> = vec![None; count];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for next in (0..count as u32).filter(|&next| next != from) {
                if reached_by[next as usize].is_none()
                    && let Some(step) = self.direct(node, next)
                {
                    reached_by[next as usize] = Some(step);
                    queue.push_back(next);
                }
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let step = reached_by[node as usize]?;
            path.push(step);
            node = step.from;
        }
        path.reverse();
        Some(path)
    }

    /// Why a node comes before another, if it is earlier in the session or was read from, and the level orders by that.
    fn direct(&self, from: u32, to: u32) -> Option<Forced> {
        let counts = |readers| self.facts.is_in(to, &self.facts.mask(readers));
        let has_reads = counts(&self.plan.reads_from);
        let mut reads = self.facts.reads_of(to);
        let read = reads.find(|&read| has_reads && self.facts.only_source(read) == Some(from));
        let why = match read.map(|read| &self.facts.reads()[read]) {
            Some(read) => Why::Read(read.op, read.key),
            None if counts(&self.plan.session) && self.facts.is_session_before(from, to) => Why::Session,
            None => return None,
        };
        Some(Forced { from, to, why })
    }

    /// The read of a key that found the initial state.
    fn read_of(&self, reader: u32, key: u32) -> Option<OpId> {
        let mut reads = self.facts.reads_of(reader);
        let is_it = |&read: &usize| {
            self.facts.reads()[read].key == key && self.facts.only_source(read) == Some(INITIAL)
        };
        reads.find(is_it).map(|read| self.facts.reads()[read].op)
    }

    /// Why a transaction is visible to a reader.
    fn visible(&self, part: u32, writer: u32, reader: u32) -> String {
        let (writer_name, reader_name) = (self.txn(writer), self.txn(reader));
        match &self.plan.parts[part as usize] {
            Part::Session => format!("{writer_name} is earlier in the session of {reader_name}"),
            Part::ReadsFrom => format!("{reader_name} read {} from it", self.read_keys(writer, reader)),
            Part::Earlier => {
                format!("{reader_name} had read {} from it before", self.read_keys(writer, reader))
            }
            Part::Before { .. } => format!("{writer_name} comes before {reader_name}"),
            Part::Cursor => {
                format!("{reader_name} overwrites what it read, and {writer_name} comes before {reader_name}")
            }
            Part::Overwritten => {
                format!("{writer_name} is the last writer of a key before {reader_name}, which writes it too")
            }
            Part::Prefix { .. } => format!(
                "{reader_name} sees a prefix of the order, and what it must have seen comes after {writer_name}"
            ),
            Part::Conflicts => format!("both wrote a common key, and {writer_name} did so first"),
            Part::Steps(steps) if steps.real_time && self.facts.is_real_time_before(writer, reader) => {
                format!("{writer_name} had ended before {reader_name} began")
            }
            Part::Steps(steps) if steps.session && self.facts.is_session_before(writer, reader) => {
                format!("{writer_name} is earlier in the session of {reader_name}")
            }
            Part::Steps(_) if !self.read_keys(writer, reader).is_empty() => {
                format!("{reader_name} read {} from it", self.read_keys(writer, reader))
            }
            Part::Steps(_) => {
                format!("sessions, reads and overwrites lead from {writer_name} to {reader_name}")
            }
            Part::SeenInSession => {
                format!("an earlier transaction of the session of {reader_name} had read from it")
            }
            Part::SessionOfSource => {
                format!("{reader_name} read from a later transaction of the session of {writer_name}")
            }
            Part::SeenBySource => {
                format!("the session of a transaction that {reader_name} read from had read from it before")
            }
            Part::Matrix(_) => "by the text of the level".to_owned(),
        }
    }

    /// The keys that a node read from another.
    fn read_keys(&self, writer: u32, reader: u32) -> String {
        let reads = self.facts.reads_of(reader).filter(|&read| self.facts.only_source(read) == Some(writer));
        let mut keys: Vec<String> = reads.map(|read| self.key(self.facts.reads()[read].key)).collect();
        keys.dedup();
        keys.join(", ")
    }

    fn conclusion(&self, cycle: &[Forced]) -> String {
        match cycle {
            _ if self.plan.one_source => {
                "a transaction reads a key from one transaction only, at this level".to_owned()
            }
            [.., Forced { from, to: INITIAL, why: Why::Visible { reader, .. } }] => {
                format!("so {} should have seen what {} wrote", self.txn(*reader), self.txn(*from))
            }
            _ => "so there is no order in which all of them fit".to_owned(),
        }
    }
}
