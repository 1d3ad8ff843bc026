//! Every clause that a rule of the checker accepts is true in an explanation of the history.
//!
//! A derivation of the empty clause from true clauses is impossible, so this is what makes the checker sound: for
//! histories that hold, the oracle gives an explanation, and clauses are offered to each rule one by one, thousands for
//! each history. Which rule refuses a clause does not matter; one that is accepted must be true. Predicates are left
//! out, since an explanation does not name the alternatives; the attacks on certificates cover them.

use std::collections::BTreeMap;

use certify::{Atom, Certificate, Core, Level, Lit, Node, Place, ReadId, RealTime, Rule, Source, Step};
use history::{History, KeyId, Op, OpId, Outcome, TxnId};
use isoscope_testkit::{Random, generate_mixed, has_certificates, oracle};

fn count(usual: u64) -> u64 {
    let soak = std::env::var("ISOSCOPE_SOAK").ok().and_then(|count| count.parse().ok());
    soak.unwrap_or(usual)
}

/// What is true in one explanation.
struct Explanation {
    /// Where each event stands. Unknown transactions that did not commit have a place too: see `certify::Rule`.
    place: BTreeMap<Node, usize>,
    committed: Vec<bool>,
    /// Where each read of a committed transaction came from.
    source: BTreeMap<ReadId, Source>,
}

impl Explanation {
    fn of(history: &History, level: &Level, order: &[Node], committed_unknown: &[TxnId]) -> Self {
        let is_committed = |txn: TxnId| match history.outcome(txn) {
            Outcome::Committed => true,
            Outcome::Aborted => false,
            Outcome::Unknown => committed_unknown.contains(&txn),
        };
        let committed: Vec<bool> = history.txns().map(is_committed).collect();
        let whole = with_missing(history, level, order, &committed);
        let place = whole.iter().enumerate().map(|(place, &node)| (node, place)).collect();
        Self { place, source: sources(history, level, order), committed }
    }

    fn is_true(&self, lit: Lit) -> bool {
        let place = |node: Node| if node == Node::INITIAL { None } else { Some(self.place[&node]) };
        let is_true = match lit.atom {
            Atom::Before(a, b) => place(a) < place(b),
            Atom::ReadFrom(read, source) => self.source.get(&read) == Some(&source),
            Atom::In(txn) => self.committed[txn.index()],
            Atom::Took(..) => panic!("no predicates here"),
        };
        is_true != lit.negated
    }
}

/// The order with the events of unknown transactions that did not commit: at its end, or, where only sessions count,
/// in their sessions.
fn with_missing(history: &History, level: &Level, order: &[Node], committed: &[bool]) -> Vec<Node> {
    let events = level.events_per_txn();
    let mut whole = order.to_vec();
    let missing = |txn: &TxnId| history.outcome(*txn) == Outcome::Unknown && !committed[txn.index()];
    for txn in history.txns().filter(missing) {
        let mut nodes = vec![Node::begin(txn, events), Node::commit(txn, events)];
        nodes.dedup();
        let in_session = level.sessions && level.real_time == RealTime::Ignored;
        let before = history.session_txns(history.session_of(txn)).take_while(|&earlier| earlier < txn);
        let commits: Vec<Node> = before.map(|earlier| Node::commit(earlier, events)).collect();
        let after = whole.iter().rposition(|node| commits.contains(node)).map_or(0, |place| place + 1);
        let place = if in_session { after } else { whole.len() };
        whole.splice(place..place, nodes);
    }
    whole
}

fn sources(history: &History, level: &Level, order: &[Node]) -> BTreeMap<ReadId, Source> {
    let events = level.events_per_txn();
    let mut store = vec![Source::Initial; history.keys().len()];
    let mut sources = BTreeMap::new();
    for &node in order {
        let txn = node.txn(events).expect("the initial state is not in the order");
        if node == Node::begin(txn, events) {
            for (id, _) in history.ops(txn) {
                for (key, &source) in store.iter().enumerate() {
                    sources.insert(ReadId::of(history, id, KeyId::from_index(key)), source);
                }
                if let Some(key) = history.op(id).key() {
                    sources.insert(ReadId::from(id), store[key.index()]);
                }
            }
        }
        if node == Node::commit(txn, events) {
            let written = history.ops(txn).filter(|(_, op)| !op.is_read()).filter_map(|(_, op)| op.key());
            written.for_each(|key| store[key.index()] = Source::Txn(txn));
        }
    }
    sources
}

/// What clauses are made of.
struct Words {
    nodes: Vec<Node>,
    txns: Vec<TxnId>,
    reads: Vec<(ReadId, OpId)>,
    sources: Vec<Source>,
    unknown: Vec<TxnId>,
}

impl Words {
    fn of(history: &History, level: &Level) -> Self {
        let events = level.events_per_txn();
        let txns: Vec<TxnId> =
            history.txns().filter(|&txn| history.outcome(txn) != Outcome::Aborted).collect();
        let mut nodes: Vec<Node> =
            txns.iter().flat_map(|&txn| [Node::begin(txn, events), Node::commit(txn, events)]).collect();
        nodes.dedup();
        nodes.push(Node::INITIAL);
        let ops = txns.iter().flat_map(|&txn| history.ops(txn));
        let mut reads = Vec::new();
        for (id, op) in ops.filter(|(_, op)| op.is_read()) {
            let keys = (0..history.keys().len()).map(KeyId::from_index);
            let keys = keys.filter(|&key| op.key().is_none_or(|own| own == key));
            reads.extend(keys.map(|key| (ReadId::of(history, id, key), id)));
        }
        let sources = txns.iter().map(|&txn| Source::Txn(txn)).chain([Source::Initial]).collect();
        let unknown = txns.iter().copied().filter(|&txn| history.outcome(txn) == Outcome::Unknown).collect();
        Self { nodes, txns, reads, sources, unknown }
    }

    fn before(&self, random: &mut Random) -> Lit {
        Lit::before(*random.pick(&self.nodes), *random.pick(&self.nodes))
    }

    fn not_from(&self, random: &mut Random) -> Option<Lit> {
        let (read, _) = *self.reads.get(random.below(self.reads.len().max(1)))?;
        Some(!Lit::read_from(read, *random.pick(&self.sources)))
    }

    /// A clause of the form of a rule, with anything in its places.
    fn step(&self, random: &mut Random) -> Option<Step> {
        let read = self.reads.get(random.below(self.reads.len().max(1))).copied();
        let before = self.before(random);
        let (mut clause, rule) = match random.below(13) {
            0 => (vec![before], Rule::Session),
            1 => (vec![before], Rule::RealTime),
            2 => (vec![before], Rule::BeginCommit),
            3 => (vec![before], Rule::Initial),
            4 => (vec![before], Rule::RecordedOrder),
            5 => (vec![before], Rule::ListOrder(read?.1)),
            6 => (vec![Lit::committed(*random.pick(&self.txns))], Rule::Listed(read?.1)),
            7 => (vec![], Rule::Internal(read?.1)),
            8 => {
                let (read, _) = read?;
                let listed = self.sources.iter().filter(|_| random.percent(40));
                (listed.map(|&source| Lit::read_from(read, source)).collect(), Rule::Sources(read))
            }
            9 => (vec![self.not_from(random)?, before], Rule::ReadAfterWrite),
            10 => {
                (vec![self.not_from(random)?, Lit::committed(*random.pick(&self.txns))], Rule::ReadCommitted)
            }
            11 => (vec![self.not_from(random)?, self.not_from(random)?], Rule::OneInitial),
            _ if random.percent(40) => (vec![before, turned(before, random, self)], Rule::TwoWriters),
            _ => (vec![self.not_from(random)?, before, self.before(random)], Rule::Overwritten),
        };
        if rule == Rule::Overwritten && random.percent(30) {
            clause.pop();
        }
        clause.extend(self.unknown.iter().filter(|_| random.percent(40)).map(|&txn| !Lit::committed(txn)));
        Some(Step { clause, rule })
    }
}

/// The other way round, with either event of the transactions.
fn turned(lit: Lit, random: &mut Random, words: &Words) -> Lit {
    match lit.atom {
        Atom::Before(a, b) if random.percent(70) => {
            let near = |node: Node, random: &mut Random| match random.below(3) {
                0 if node != Node::INITIAL => Node(node.0 ^ 1),
                _ => node,
            };
            Lit::before(near(b, random), near(a, random))
        }
        _ => words.before(random),
    }
}

/// Whether the checker accepts a step: then only the one after it is wrong.
fn is_accepted(history: &History, level: &Level, step: &Step) -> bool {
    let end = Step { clause: Vec::new(), rule: Rule::Derived(Vec::new()) };
    let certificate = Certificate::Violated { steps: vec![step.clone(), end], keys: None };
    let flaw = certify::check(history, level, &certificate).expect_err("nothing follows from no step");
    flaw.place == Place::Step(1)
}

fn is_of_predicates(history: &History) -> bool {
    let is_by = |op: &Op<'_>| matches!(op, Op::PredicateRead(_) | Op::PredicateWrite(_));
    history.txns().flat_map(|txn| history.ops(txn)).any(|(_, op)| is_by(&op))
}

#[test]
fn soak_every_accepted_clause_is_true_in_an_explanation() {
    let first_seed = 31_000_000;
    println!("seeds from {first_seed}");
    let mut accepted: BTreeMap<String, u64> = BTreeMap::new();
    for seed in first_seed..first_seed + count(1_200) {
        let mut random = Random::new(seed);
        let history = generate_mixed::sketch(&mut random).build();
        if oracle::refusal(&history).is_some() || is_of_predicates(&history) || history.keys().is_empty() {
            continue;
        }
        for (_, level) in Level::NAMED {
            let level = level.with_clock_skew(*random.pick(&[0, 3]));
            if has_certificates(&history, &level) {
                offer(seed, &history, &level, &mut random, &mut accepted);
            }
        }
    }
    println!("{accepted:?}");
    assert!(accepted.len() >= 12, "a rule that accepts nothing shows nothing: {accepted:?}");
}

fn offer(
    seed: u64,
    history: &History,
    level: &Level,
    random: &mut Random,
    accepted: &mut BTreeMap<String, u64>,
) {
    let is_list = |op: &Op<'_>| matches!(op, Op::ReadList { .. } | Op::Append { .. });
    let has_lists = history.txns().flat_map(|txn| history.ops(txn)).any(|(_, op)| is_list(&op));
    if has_lists && level.core == Core::Prefix {
        return;
    }
    let Some(Certificate::Holds { order, committed_unknown }) = oracle::explain(history, level) else {
        return;
    };
    let explanation = Explanation::of(history, level, &order, &committed_unknown);
    let words = Words::of(history, level);
    if words.txns.is_empty() {
        return;
    }
    for _ in 0..300 {
        let Some(step) = words.step(random) else { continue };
        if !is_accepted(history, level, &step) {
            continue;
        }
        let name = format!("{:?}", step.rule);
        *accepted.entry(name.split('(').next().unwrap_or_default().to_owned()).or_default() += 1;
        assert!(
            step.clause.iter().any(|&lit| explanation.is_true(lit)),
            "seed {seed}, {level:?}: {step:?} is false in {order:?} with {committed_unknown:?}\n{}",
            formats::notation::print(history).unwrap()
        );
    }
}
