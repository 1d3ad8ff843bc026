//! Whether one literal of a circuit implies another, as far as the shape of their gates shows.
//!
//! A disjunction implies what all its parts imply, a conjunction what any part implies, and dually for what is
//! implied. The answer "yes" is always right and "no" means "not seen"; remembered pairs keep it polynomial.

use rustc_hash::FxHashMap;

use crate::circuit::{Circuit, Gate, Lit};

/// Remembers what was seen. Gates never change, so it can serve one circuit for its whole life.
#[derive(Clone, Debug, Default)]
pub struct Implications {
    seen: FxHashMap<(Lit, Lit), bool>,
}

impl Implications {
    /// Whether the first visibly implies the second.
    pub fn implies(&mut self, circuit: &Circuit, first: Lit, second: Lit) -> bool {
        if first == second || first == Lit::FALSE || second == Lit::TRUE {
            return true;
        }
        if first == Lit::TRUE || second == Lit::FALSE {
            return false;
        }
        if let Some(&known) = self.seen.get(&(first, second)) {
            return known;
        }
        let answer = self.by_parts(circuit, first, second);
        self.seen.insert((first, second), answer);
        answer
    }

    fn by_parts(&mut self, circuit: &Circuit, first: Lit, second: Lit) -> bool {
        // The rules without a choice come first: a disjunction on the left, a conjunction on the right.
        if let Some((left, right)) = disjunction(circuit, first) {
            return self.implies(circuit, left, second) && self.implies(circuit, right, second);
        }
        if let Some((left, right)) = conjunction(circuit, second) {
            return self.implies(circuit, first, left) && self.implies(circuit, first, right);
        }
        let from_parts = conjunction(circuit, first).is_some_and(|(left, right)| {
            self.implies(circuit, left, second) || self.implies(circuit, right, second)
        });
        from_parts
            || disjunction(circuit, second).is_some_and(|(left, right)| {
                self.implies(circuit, first, left) || self.implies(circuit, first, right)
            })
    }
}

fn conjunction(circuit: &Circuit, lit: Lit) -> Option<(Lit, Lit)> {
    match circuit.gates[lit.node()] {
        Gate::And(left, right) if !lit.is_negated() => Some((left, right)),
        _ => None,
    }
}

fn disjunction(circuit: &Circuit, lit: Lit) -> Option<(Lit, Lit)> {
    conjunction(circuit, !lit).map(|(left, right)| (!left, !right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_show_implications() {
        let mut circuit = Circuit::default();
        let (a, b, c) = (circuit.input(), circuit.input(), circuit.input());
        let both = circuit.and(a, b);
        let either = circuit.or(a, c);
        let mut implications = Implications::default();
        assert!(implications.implies(&circuit, both, either));
        assert!(implications.implies(&circuit, !either, !both));
        assert!(!implications.implies(&circuit, either, both));
        assert!(!implications.implies(&circuit, a, b));
    }
}
