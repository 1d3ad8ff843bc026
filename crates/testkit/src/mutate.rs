//! Certificates with something changed, to see that the checker is not content with less than a proof.

use certify::{Atom, Certificate, Lit, Node, ReadId, Rule, Source, Step, StepId};
use history::{OpId, TxnId};

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
        Certificate::Violated { steps, .. } => mutate_steps(steps, random),
    }
    mutant
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
    match random.below(8) {
        0 => drop_one(steps, random),
        1 => exchange(steps, random),
        2 => steps[place].rule = any_rule(random),
        3 => mutate_rule(&mut steps[place].rule, random),
        4 => steps.truncate(place + 1),
        _ => mutate_clause(&mut steps[place].clause, random),
    }
}

fn mutate_rule(rule: &mut Rule, random: &mut Random) {
    match rule {
        Rule::Internal(op) | Rule::Sources(ReadId { op, .. }) => *op = any_op(random),
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

fn any_txn(random: &mut Random) -> TxnId {
    TxnId(random.below(8) as u32)
}

fn any_lit(random: &mut Random) -> Lit {
    let source = if random.percent(30) { Source::Initial } else { Source::Txn(any_txn(random)) };
    let atom = match random.below(4) {
        0 => Atom::ReadFrom(any_op(random).into(), source),
        1 => Atom::In(any_txn(random)),
        _ => Atom::Before(any_node(random), any_node(random)),
    };
    let negated = random.percent(if matches!(atom, Atom::Before(..)) { 5 } else { 50 });
    Lit { atom, negated }
}

fn any_rule(random: &mut Random) -> Rule {
    let hints = (0..random.below(4)).map(|_| random.below(10) as StepId).collect();
    match random.below(13) {
        0 => Rule::Session,
        1 => Rule::RealTime,
        2 => Rule::BeginCommit,
        3 => Rule::Initial,
        4 => Rule::Internal(any_op(random)),
        5 => Rule::Sources(any_op(random).into()),
        6 => Rule::ReadAfterWrite,
        7 => Rule::ReadCommitted,
        8 => Rule::OneInitial,
        9 => Rule::TwoWriters,
        10 => Rule::Overwritten,
        11 => Rule::Cycle,
        _ => Rule::Derived(hints),
    }
}
