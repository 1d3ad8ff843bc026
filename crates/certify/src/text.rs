//! Certificates for levels that are given by their text, and their checker.
//!
//! *Holds*: an order of the transactions that are taken as committed, and the sources of reads that have several. The
//! checker evaluates the text along the order. *Violated*: a few transactions whose reads and writes contradict
//! themselves at this level, or one that read what no transaction that may have committed wrote. What is visible only grows with what there is, so a contradiction among some transactions
//! is one of the whole history; the checker derives it again from the text.

pub mod cases;
mod document;
pub mod facts;
pub mod judge;
pub mod matrix;
pub mod plan;
mod reach;
pub mod saturate;
pub mod small;

use history::{Clock, History, KeyId, OpId, TxnId};
use spec::Level;

use crate::{Flaw, Place};
pub use document::{TextDocument, read, write};
use facts::{Facts, INITIAL};
use judge::{Accepted, Judge, Witness};
use plan::Plan;

/// The source of a read of a key, or nothing for the initial state.
pub type ListedSource = (OpId, KeyId, Option<TxnId>);

/// The argument for a verdict about a level that is given by its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextCertificate {
    /// The level holds.
    Holds {
        /// The transactions that are taken as committed, in order.
        order: Vec<TxnId>,
        /// The sources of reads that may have come from several places; nothing stands for the initial state.
        sources: Vec<ListedSource>,
    },
    /// The level is violated by these transactions, ascending.
    Violated {
        /// The transactions.
        txns: Vec<TxnId>,
    },
}

/// Checks that a certificate proves its verdict for this history and level.
///
/// # Errors
/// With what is wrong: with the certificate, or with a history or level that has no such certificates.
pub fn check(history: &History, level: &Level, certificate: &TextCertificate) -> Result<(), Flaw> {
    check_with_skew(history, level, certificate, 0)
}

/// As [`check`], where the clocks of two clients may be this far apart.
///
/// # Errors
/// As [`check`].
pub fn check_with_skew(
    history: &History,
    level: &Level,
    certificate: &TextCertificate,
    clock_skew: i64,
) -> Result<(), Flaw> {
    refuse_senseless_skew(history, clock_skew)?;
    check_uncommitted_reads(history, level)?;
    if has_unmatched_apart(history, level) {
        let mut apart = Facts::with_unmatched_apart(history)?;
        apart.set_clock_skew(clock_skew);
        if check_facts(&apart, level, certificate).is_ok() {
            return Ok(());
        }
        // The argument may use reads of rows that were not matched, without naming the only source of each.
    }
    let mut facts = Facts::for_level(history, level)?;
    facts.set_clock_skew(clock_skew);
    check_facts(&facts, level, certificate)
}

/// A skew below 0 would put transactions in order that ran at the same time.
fn refuse_senseless_skew(history: &History, clock_skew: i64) -> Result<(), Flaw> {
    if !(0..=crate::Level::LARGEST_CLOCK_SKEW).contains(&clock_skew) {
        let largest = crate::Level::LARGEST_CLOCK_SKEW;
        let why = format!("the clock skew is {clock_skew}, and must be from 0 to {largest}");
        return Err(Flaw::new(Place::Level, why));
    }
    if clock_skew != 0 && history.clock() == Clock::Position {
        let why = "the times of the history are places in one recording, which have no skew";
        return Err(Flaw::new(Place::Level, why));
    }
    Ok(())
}

/// Whether a level is checked without a read for each row that a predicate did not match first.
pub fn has_unmatched_apart(history: &History, level: &Level) -> bool {
    let is_local = || Plan::of(level).is_ok_and(|plan| plan.is_local());
    history.has_predicates() && level.name != spec::recorded::NAME && is_local()
}

/// Transactions that may read what was never committed still read only what some transaction wrote.
///
/// # Errors
/// With the read that returned something else.
pub fn check_uncommitted_reads(history: &History, level: &Level) -> Result<(), Flaw> {
    if level.name != spec::recorded::NAME {
        return Ok(());
    }
    let is_free = |txn: TxnId| spec::recorded::reads_uncommitted(history, txn);
    match spec::unwritten_read_by(history, &is_free) {
        Some((op, ..)) => Err(Flaw::new(Place::Read(op), "no transaction wrote what it returned")),
        None => Ok(()),
    }
}

/// As [`check`], with the facts of the history.
///
/// # Errors
/// As [`check`].
pub fn check_facts(facts: &Facts, level: &Level, certificate: &TextCertificate) -> Result<(), Flaw> {
    check_judged(facts, level, certificate, None)
}

/// As [`check_facts`], where the order may have been evaluated already.
///
/// # Errors
/// As [`check`].
pub fn check_judged(
    facts: &Facts,
    level: &Level,
    certificate: &TextCertificate,
    accepted: Option<&Accepted<'_>>,
) -> Result<(), Flaw> {
    let plan = Plan::of(level).map_err(|why| Flaw::new(Place::Level, format!("the level {why}")))?;
    match certificate {
        TextCertificate::Holds { order, sources } => check_order(facts, &plan, (order, sources), accepted),
        TextCertificate::Violated { txns } => {
            let mut nodes = txns.iter().map(|&txn| facts.node_of(txn)).collect::<Option<Vec<u32>>>();
            let nodes = nodes.as_mut().ok_or_else(|| {
                Flaw::new(
                    Place::Whole,
                    "a transaction of the contradiction did not commit, or does not exist",
                )
            })?;
            nodes.sort_unstable();
            nodes.dedup();
            let is_unexplained = |&(node, _): &(u32, OpId)| nodes.binary_search(&node).is_ok();
            let is_proof = facts.has_sure_sources() && !plan.one_source;
            if is_proof && facts.unexplained().iter().any(is_unexplained) {
                return Ok(());
            }
            check_contradiction(&facts.restricted(nodes), level, &plan)
        }
    }
}

/// What is certain about a few transactions contradicts itself; or whatever is chosen for them does, by the definition or
/// in all cases.
fn check_contradiction(facts: &Facts, level: &Level, plan: &Plan) -> Result<(), Flaw> {
    if saturate::contradiction(facts, plan).is_some() {
        return Ok(());
    }
    let small = small::small_history(facts).filter(|(small, _)| small.txns.len() < spec::facts::MAX_TXNS);
    // The definition would take the writers that were left out for absent.
    let small = small.filter(|_| !plan.depends_on_all_writers());
    let is_forbidden = small.is_some_and(|(small, _)| {
        matches!(spec::ground::decide(&small, level), spec::ground::GroundAnswer::Forbidden(_))
    });
    match is_forbidden || cases::refute(facts, plan).is_some() {
        true => Ok(()),
        false => Err(Flaw::new(Place::Whole, "these transactions do not contradict themselves")),
    }
}

fn check_order(
    facts: &Facts,
    plan: &Plan,
    (order, sources): (&[TxnId], &[ListedSource]),
    accepted: Option<&Accepted<'_>>,
) -> Result<(), Flaw> {
    if let Some(&(_, op)) = facts.unexplained().first() {
        return Err(Flaw::new(Place::Read(op), "no transaction that committed wrote what it returned"));
    }
    let most = order.iter().map(|txn| txn.index() + 1).max().unwrap_or(0);
    let most =
        (1..facts.node_count() as u32).map(|node| facts.txn(node).index() + 1).max().unwrap_or(0).max(most);
    let nodes = facts.nodes(most);
    let mut placed = vec![false; facts.node_count()];
    let mut in_order = Vec::with_capacity(order.len());
    for (place, txn) in order.iter().enumerate() {
        let flaw = |why: &str| Flaw::new(Place::Order(place), why);
        let node = nodes[txn.index()].ok_or_else(|| flaw("the transaction did not commit"))?;
        if std::mem::replace(&mut placed[node as usize], true) {
            return Err(flaw("the transaction stands twice in the order"));
        }
        in_order.push(node);
    }
    let with_unmatched;
    let facts = match facts.unmatched() {
        None => facts,
        Some(_) => {
            let node = |txn: Option<TxnId>| txn.map_or(Some(INITIAL), |txn| *nodes.get(txn.index())?);
            let listed = sources.iter().filter_map(|&(op, key, txn)| Some((op, key.0, node(txn)?)));
            with_unmatched = facts.with_unmatched(listed);
            &with_unmatched
        }
    };
    let witness = Witness::new(facts, in_order, sources_of(facts, &nodes, sources)?);
    check_unless_judged(facts, plan, &witness, accepted)
}

/// The source of each read: its only one, or the one that is listed.
fn sources_of(facts: &Facts, nodes: &[Option<u32>], listed: &[ListedSource]) -> Result<Vec<u32>, Flaw> {
    let mut listed = listed.to_vec();
    listed.sort_unstable_by_key(|&(op, key, _)| (op, key));
    let source = |number: usize| {
        let read = facts.reads()[number];
        if let Some(only) = facts.only_source(number) {
            return Ok(only);
        }
        let place = listed.binary_search_by_key(&(read.op, KeyId(read.key)), |&(op, key, _)| (op, key));
        // Reads of transactions that are not in the order need no source.
        let Ok(place) = place else { return Ok(judge::ABSENT) };
        let node = match listed[place].2 {
            None => Some(INITIAL),
            Some(txn) => nodes.get(txn.index()).copied().flatten(),
        };
        match node.filter(|node| facts.candidates(number).contains(node)) {
            Some(node) => Ok(node),
            None => Err(Flaw::new(Place::Read(read.op), "the source did not write what the read returned")),
        }
    };
    (0..facts.reads().len()).map(source).collect()
}

/// Checks an order with its sources against the text.
///
/// # Errors
/// With the first place at which the order does not do.
pub fn check_witness(facts: &Facts, plan: &Plan, witness: &Witness) -> Result<(), Flaw> {
    check_unless_judged(facts, plan, witness, None)
}

/// As [`check_witness`], without evaluating an order again that was accepted.
fn check_unless_judged(
    facts: &Facts,
    plan: &Plan,
    witness: &Witness,
    accepted: Option<&Accepted<'_>>,
) -> Result<(), Flaw> {
    let position = |node: u32| witness.position[node as usize];
    let (session, reads_from) = (facts.mask(&plan.session), facts.mask(&plan.reads_from));
    for node in 1..facts.node_count() as u32 {
        if !witness.has(node) {
            if facts.is_unknown(node) {
                continue;
            }
            return Err(Flaw::new(Place::Txn(facts.txn(node)), "it committed, and is not in the order"));
        }
        let flaw = |why: &str| Flaw::new(Place::Txn(facts.txn(node)), why);
        let is_later = |before: u32| position(before) > position(node);
        if facts.earlier_in_session(node, &session, |before| witness.has(before)).any(is_later) {
            return Err(flaw("it stands before an earlier transaction of its session"));
        }
        for read in facts.reads_of(node) {
            let source = witness.source[read];
            let flaw = |why: &str| Flaw::new(Place::Read(facts.reads()[read].op), why);
            if source == judge::ABSENT || !witness.has(source) {
                return Err(flaw("its source is not in the order"));
            }
            if facts.is_in(node, &reads_from) && position(source) > position(node) {
                return Err(flaw("its source stands after it"));
            }
        }
    }
    check_real_time(facts, plan, witness)?;
    check_listed(facts, witness)?;
    facts.check_unmatched(plan, witness)?;
    if plan.one_source {
        return check_one_source(facts, witness);
    }
    check_told(facts, witness)?;
    facts.check_doubtful(witness)?;
    if accepted.is_some_and(|accepted| accepted.is_about(facts, plan, witness)) {
        return Ok(());
    }
    let hits = Judge::new(facts, plan, &|| false).hits(witness);
    let hits =
        hits.map_err(|_| Flaw::new(Place::Whole, "the order has too many transactions for this level"))?;
    match hits.first() {
        None => Ok(()),
        Some(hit) => Err(Flaw::new(
            Place::Read(facts.reads()[hit.read as usize].op),
            "a writer of the key that is visible to the reader stands after the source",
        )),
    }
}

/// Transactions stand after those that had ended before they began, where the level asks for it.
fn check_real_time(facts: &Facts, plan: &Plan, witness: &Witness) -> Result<(), Flaw> {
    if plan.real_time == plan::Readers::None {
        return Ok(());
    }
    let (mask, timeline) = (facts.mask(&plan.real_time), facts.timeline());
    let position = |node: u32| if witness.has(node) { witness.position[node as usize] } else { 0 };
    let mut latest = vec![0];
    for place in 0..timeline.len() {
        latest.push(latest[place].max(position(timeline.node(place))));
    }
    for node in (1..facts.node_count() as u32).filter(|&node| witness.has(node) && facts.is_in(node, &mask)) {
        let of_others = latest[timeline.ended_before(facts, node)];
        let mut of_session = (facts.session_start(node)..node).rev();
        let is_late =
            |before: u32| facts.is_real_time_before(before, node) && position(before) > position(node);
        if of_others > position(node) || of_session.any(is_late) {
            let why = "it stands before a transaction that had ended before it began";
            return Err(Flaw::new(Place::Txn(facts.txn(node)), why));
        }
    }
    Ok(())
}

fn check_listed(facts: &Facts, witness: &Witness) -> Result<(), Flaw> {
    for &(reader, appender) in facts.listed() {
        if witness.has(reader) && !witness.has(appender) {
            let why = "a list that was read has its elements, and it is not in the order";
            return Err(Flaw::new(Place::Txn(facts.txn(appender)), why));
        }
    }
    Ok(())
}

fn check_told(facts: &Facts, witness: &Witness) -> Result<(), Flaw> {
    for &(earlier, later, teller) in facts.told() {
        let counts = [earlier, later, teller].into_iter().all(|node| witness.has(node));
        if counts && witness.position[earlier as usize] > witness.position[later as usize] {
            let why = "a list or recorded versions show it before a transaction that it stands after";
            return Err(Flaw::new(Place::Txn(facts.txn(earlier)), why));
        }
    }
    Ok(())
}

fn check_one_source(facts: &Facts, witness: &Witness) -> Result<(), Flaw> {
    let mut source_of: Vec<(u32, u32)> = vec![(INITIAL, INITIAL); facts.key_count()];
    for node in (1..facts.node_count() as u32).filter(|&node| witness.has(node)) {
        for read in facts.reads_of(node) {
            let entry = &mut source_of[facts.reads()[read].key as usize];
            if entry.0 == node && entry.1 != witness.source[read] {
                let why = "the transaction read the key from another transaction before";
                return Err(Flaw::new(Place::Read(facts.reads()[read].op), why));
            }
            *entry = (node, witness.source[read]);
        }
    }
    Ok(())
}
