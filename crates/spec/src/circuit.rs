//! Formulas over unknowns as a circuit of and-gates with shared parts.
//!
//! Constants fold, equal gates are one gate, and negation is a bit of the literal, so a relation that is mostly fixed
//! by the history costs next to nothing. One gate is two words and one entry of a hash table.

use rustc_hash::FxHashMap;

/// A gate's output or its negation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Lit(u32);

impl Lit {
    /// Always true.
    pub const TRUE: Self = Self(0);
    /// Always false.
    pub const FALSE: Self = Self(1);

    pub(crate) fn node(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub(crate) fn is_negated(self) -> bool {
        self.0 & 1 == 1
    }

    fn of_node(node: usize) -> Self {
        Self((node as u32) << 1)
    }

    /// The constant, as a literal.
    pub fn constant(truth: bool) -> Self {
        if truth { Self::TRUE } else { Self::FALSE }
    }
}

impl std::ops::Not for Lit {
    type Output = Self;

    fn not(self) -> Self {
        Self(self.0 ^ 1)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Gate {
    /// An unknown, and what to try first for it, if anything.
    Input(Option<bool>),
    And(Lit, Lit),
}

/// A growing circuit. Gate 0 is the constant.
#[derive(Clone, Debug)]
pub struct Circuit {
    pub(crate) gates: Vec<Gate>,
    /// How many gates use each gate, up to two: a gate used once need not have a name of its own.
    pub(crate) uses: Vec<u8>,
    shared: FxHashMap<(Lit, Lit), u32>,
}

impl Default for Circuit {
    fn default() -> Self {
        Self { gates: vec![Gate::Input(None)], uses: vec![2], shared: FxHashMap::default() }
    }
}

impl Circuit {
    /// A new unknown.
    pub fn input(&mut self) -> Lit {
        self.push(Gate::Input(None))
    }

    /// A new unknown for which the solver tries a value first.
    pub fn input_trying(&mut self, value: bool) -> Lit {
        self.push(Gate::Input(Some(value)))
    }

    /// How many gates and unknowns there are.
    pub fn len(&self) -> usize {
        self.gates.len()
    }

    /// Whether there is nothing but the constant.
    pub fn is_empty(&self) -> bool {
        self.gates.len() == 1
    }

    /// Both.
    pub fn and(&mut self, left: Lit, right: Lit) -> Lit {
        if left == right || right == Lit::TRUE {
            return left;
        }
        if left == Lit::TRUE {
            return right;
        }
        if left == !right || left == Lit::FALSE || right == Lit::FALSE {
            return Lit::FALSE;
        }
        let pair = (left.min(right), left.max(right));
        if let Some(&node) = self.shared.get(&pair) {
            return Lit::of_node(node as usize);
        }
        for side in [left, right] {
            let uses = &mut self.uses[side.node()];
            *uses = (*uses + 1).min(2);
        }
        let gate = self.push(Gate::And(pair.0, pair.1));
        self.shared.insert(pair, gate.node() as u32);
        gate
    }

    /// Either.
    pub fn or(&mut self, left: Lit, right: Lit) -> Lit {
        !self.and(!left, !right)
    }

    /// The first only if the second.
    pub fn implies(&mut self, left: Lit, right: Lit) -> Lit {
        !self.and(left, !right)
    }

    /// All of them.
    pub fn all(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        lits.into_iter().fold(Lit::TRUE, |all, one| self.and(all, one))
    }

    /// At least one of them.
    pub fn any(&mut self, lits: impl IntoIterator<Item = Lit>) -> Lit {
        lits.into_iter().fold(Lit::FALSE, |any, one| self.or(any, one))
    }

    /// At most `bound` of them, by a sequential counter: bound gates for each literal.
    pub fn at_most(&mut self, lits: &[Lit], bound: usize) -> Lit {
        // reached[k]: more than k of the literals so far are true.
        let mut reached = vec![Lit::FALSE; bound + 1];
        for &lit in lits {
            for count in (0..=bound).rev() {
                let below = if count == 0 { Lit::TRUE } else { reached[count - 1] };
                let step = self.and(below, lit);
                reached[count] = self.or(reached[count], step);
            }
        }
        !reached[bound]
    }

    fn push(&mut self, gate: Gate) -> Lit {
        self.gates.push(gate);
        self.uses.push(0);
        Lit::of_node(self.gates.len() - 1)
    }
}
