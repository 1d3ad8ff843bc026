//! Certificates with something changed, to see that the checker is not content with less than a proof.

use certify::{Atom, Certificate, Lit, Node, ReadId, Rule, Source, Step, StepId};
use history::{KeyId, OpId, TxnId};

use crate::Random;

/// A certificate with one thing changed; now and then the change changes nothing.
pub fn mutate(certificate: &Certificate, random: &mut Random) -> Certificate {
    let mut mutant = certificate.clone();
    match &mut mutant {
        Certificate::Holds { order, committed_unknown } => match random.below(8) {
            0 => committed_unknown.push(TxnId(random.below(9) as u32)),
            1 => drop_one(committed_unknown, random),
            _ => mutate_order(order, random),
        },
        Certificate::Violated { keys, .. } if random.percent(5) => mutate_keys(keys, random),
        Certificate::Violated { steps, .. } => mutate_steps(steps, random),
    }
    mutant
}

/// A derivation with steps of another one put in at a random place; other certificates stay as they are.
pub fn cross(certificate: &Certificate, other: &Certificate, random: &mut Random) -> Certificate {
    let mut mutant = certificate.clone();
    if let (Certificate::Violated { steps, .. }, Certificate::Violated { steps: others, .. }) =
        (&mut mutant, other)
        && !others.is_empty()
    {
        let place = random.below(steps.len() + 1);
        let start = random.below(others.len());
        let end = random.between(start, others.len() - 1);
        match random.percent(50) {
            true => drop(steps.splice(place.., others[start..].iter().cloned())),
            false => drop(steps.splice(place..place, others[start..=end].iter().cloned())),
        }
    }
    mutant
}

fn mutate_keys(keys: &mut Option<Vec<KeyId>>, random: &mut Random) {
    match keys {
        None => *keys = Some((0..random.below(4) as u32).map(KeyId).collect()),
        Some(keys) if random.percent(50) => drop_one(keys, random),
        Some(_) => *keys = None,
    }
}

fn drop_one<T>(items: &mut Vec<T>, random: &mut Random) {
    if !items.is_empty() {
        items.remove(random.below(items.len()));
    }
}

fn exchange<T>(items: &mut [T], random: &mut Random) {
    if !items.is_empty() {
        items.swap(random.below(items.len()), random.below(items.len()));
    }
}

fn mutate_order(order: &mut Vec<Node>, random: &mut Random) {
    if order.is_empty() {
        return order.push(any_node(random));
    }
    let place = random.below(order.len());
    match random.below(5) {
        0 => order[place] = any_node(random),
        1 => order.insert(place, any_node(random)),
        2 => drop_one(order, random),
        _ => exchange(order, random),
    }
}

fn mutate_steps(steps: &mut Vec<Step>, random: &mut Random) {
    if steps.is_empty() {
        return;
    }
    let place = random.below(steps.len());
    match random.below(12) {
        0 => drop_one(steps, random),
        1 => exchange(steps, random),
        2 => steps[place].rule = any_rule(random),
        3 | 4 => mutate_rule(&mut steps[place].rule, random),
        5 => steps.truncate(place + 1),
        6 => steps.insert(random.below(steps.len() + 1), steps[place].clone()),
        7 => shift_ids(&mut steps[place], random),
        8 => shorten(steps, place, random),
        _ => mutate_clause(&mut steps[place].clause, random),
    }
}

/// Leaves out a literal of a step, and all later steps but the last, which then follows from what was shortened.
fn shorten(steps: &mut [Step], place: usize, random: &mut Random) {
    drop_one(&mut steps[place].clause, random);
    if let Some(Step { rule: Rule::Derived(hints), .. }) = steps.last_mut()
        && random.percent(50)
    {
        let at = random.below(hints.len() + 1);
        hints.insert(at, place as StepId);
    }
}

/// Renames one transaction or operation of a step wherever the step names it.
fn shift_ids(step: &mut Step, random: &mut Random) {
    let (from, to) = (any_txn(random), any_txn(random));
    let events = random.between(1, 2) as u32;
    let node = |node: Node| match node.txn(events) {
        Some(txn) if txn == from => Node(to.0 * events + node.0 % events),
        _ => node,
    };
    for lit in &mut step.clause {
        lit.atom = match lit.atom {
            Atom::Before(a, b) => Atom::Before(node(a), node(b)),
            Atom::ReadFrom(read, Source::Txn(txn)) if txn == from => Atom::ReadFrom(read, Source::Txn(to)),
            Atom::In(txn) if txn == from => Atom::In(to),
            Atom::Took(txn, key, way) if txn == from => Atom::Took(to, key, way),
            atom => atom,
        };
    }
}

fn mutate_rule(rule: &mut Rule, random: &mut Random) {
    match rule {
        Rule::Internal(op)
        | Rule::Sources(ReadId { op, .. })
        | Rule::ListOrder(op)
        | Rule::Listed(op)
        | Rule::RowCount(op) => *op = any_op(random),
        Rule::Case(steps) => mutate_steps(steps, random),
        Rule::Derived(hints) => match random.below(3) {
            0 => drop_one(hints, random),
            1 => exchange(hints, random),
            _ => hints.push(random.below(20) as StepId),
        },
        rule => *rule = any_rule(random),
    }
}

fn mutate_clause(clause: &mut Vec<Lit>, random: &mut Random) {
    if clause.is_empty() {
        return clause.push(any_lit(random));
    }
    let place = random.below(clause.len());
    match random.below(4) {
        0 => drop_one(clause, random),
        1 => clause[place] = !clause[place],
        2 => clause.push(any_lit(random)),
        _ => clause[place] = any_lit(random),
    }
}

fn any_node(random: &mut Random) -> Node {
    if random.percent(10) { Node::INITIAL } else { Node(random.below(16) as u32) }
}

fn any_op(random: &mut Random) -> OpId {
    OpId(random.below(16) as u32)
}

fn any_key(random: &mut Random) -> KeyId {
    KeyId(random.below(6) as u32)
}

fn any_read(random: &mut Random) -> ReadId {
    ReadId { op: any_op(random), key: random.percent(40).then(|| any_key(random)) }
}

fn any_txn(random: &mut Random) -> TxnId {
    TxnId(random.below(8) as u32)
}

fn any_lit(random: &mut Random) -> Lit {
    let source = if random.percent(30) { Source::Initial } else { Source::Txn(any_txn(random)) };
    let atom = match random.below(6) {
        0 => Atom::ReadFrom(any_read(random), source),
        1 => Atom::In(any_txn(random)),
        2 => Atom::Took(any_txn(random), any_key(random), random.below(4) as u32),
        _ => Atom::Before(any_node(random), any_node(random)),
    };
    let negated = random.percent(if matches!(atom, Atom::Before(..)) { 5 } else { 50 });
    Lit { atom, negated }
}

fn any_rule(random: &mut Random) -> Rule {
    let hints = (0..random.below(4)).map(|_| random.below(10) as StepId).collect();
    match random.below(19) {
        0 => Rule::Session,
        1 => Rule::RealTime,
        2 => Rule::BeginCommit,
        3 => Rule::Initial,
        4 => Rule::Internal(any_op(random)),
        5 => Rule::Sources(any_read(random)),
        12 => Rule::ListOrder(any_op(random)),
        13 => Rule::Listed(any_op(random)),
        14 => Rule::RecordedOrder,
        15 => Rule::OneWay,
        16 => Rule::RowCount(any_op(random)),
        17 => Rule::NoOrder,
        6 => Rule::ReadAfterWrite,
        7 => Rule::ReadCommitted,
        8 => Rule::OneInitial,
        9 => Rule::TwoWriters,
        10 => Rule::Overwritten,
        11 => Rule::Cycle,
        _ => Rule::Derived(hints),
    }
}
