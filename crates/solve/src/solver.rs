//! The solver's state, and how a problem is put into it.
//!
//! A problem is set up once in a [`Setup`] (variables, conditional edges, clauses, choices) and frozen into flat
//! tables: for each literal its edges, for each node and variable the choices that have to be looked at again when it
//! moves or changes.

use order::{EdgeId, IncrementalOrder};

use crate::Lit;
use crate::clauses::{Clauses, NO_CLAUSE};
use crate::proof::Origin;
use crate::search::Counts;

/// An edge that is there when all its conditions hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConditionalEdge {
    pub from: u32,
    pub to: u32,
    /// One to three literals, padded with [`Lit::NONE`].
    pub conditions: [Lit; 3],
}

impl ConditionalEdge {
    pub(crate) fn conditions(&self) -> impl Iterator<Item = Lit> + use<> {
        self.conditions.into_iter().filter(|lit| lit.is_some())
    }
}

/// A few options of which one must hold if the guards do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub guards: [Lit; 2],
    pub first_option: u32,
    pub option_count: u32,
}

/// A problem while it is being put together.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// For each literal, the edge by which the current order tells its value, if it has one.
    pub(crate) telling_edge: Vec<Option<(u32, u32)>>,
    /// For each literal, another one that has to be decided true before it counts as agreeing.
    pub(crate) needs: Vec<Lit>,
    pub(crate) edges: Vec<ConditionalEdge>,
    pub(crate) clauses: Vec<(Vec<Lit>, u32)>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) options: Vec<Lit>,
}

impl Setup {
    /// A variable that is false unless decided otherwise.
    pub fn new_var(&mut self) -> Lit {
        let lit = Lit::positive(self.telling_edge.len() as u32 / 2);
        self.telling_edge.extend([None, None]);
        self.needs.extend([Lit::NONE; 2]);
        lit
    }

    /// A variable whose value, while open, can be read off the order: true if the first pair of nodes is ordered so,
    /// false if the second is (and neither if neither is).
    pub fn new_order_var(&mut self, if_true: (u32, u32), if_false: Option<(u32, u32)>) -> Lit {
        let lit = self.new_var();
        self.telling_edge[lit.index()] = Some(if_true);
        self.telling_edge[(!lit).index()] = if_false;
        lit
    }

    /// An open literal counts as agreeing with the order only when this other one was decided true.
    pub fn set_needs(&mut self, lit: Lit, needed: Lit) {
        self.needs[lit.index()] = needed;
    }

    /// An edge that is there when all of one to three literals hold. Edges are numbered from 0.
    pub fn add_edge(&mut self, from: u32, to: u32, conditions: &[Lit]) -> EdgeId {
        debug_assert!((1..=3).contains(&conditions.len()));
        let mut padded = [Lit::NONE; 3];
        padded[..conditions.len()].copy_from_slice(conditions);
        self.edges.push(ConditionalEdge { from, to, conditions: padded });
        self.edges.len() as EdgeId - 1
    }

    /// At least one of these literals holds; the tag comes back in a proof.
    pub fn add_clause(&mut self, lits: Vec<Lit>, tag: u32) {
        self.clauses.push((lits, tag));
    }

    /// One of the options holds if all guards (two at most) do. Where that does not follow from a variable being true
    /// or false, a clause has to say it too.
    pub fn add_choice(&mut self, guards: &[Lit], options: &[Lit]) {
        let mut padded = [Lit::NONE; 2];
        padded[..guards.len()].copy_from_slice(guards);
        let first_option = self.options.len() as u32;
        self.options.extend_from_slice(options);
        self.choices.push(Choice { guards: padded, first_option, option_count: options.len() as u32 });
    }

    pub(crate) fn options_of(&self, choice: &Choice) -> &[Lit] {
        &self.options[choice.first_option as usize..][..choice.option_count as usize]
    }

    /// How many choices there are.
    pub fn choice_count(&self) -> usize {
        self.choices.len()
    }

    /// How many conditional edges there are.
    pub fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The conditions of an edge.
    pub fn conditions(&self, edge: EdgeId) -> impl Iterator<Item = Lit> + use<> {
        self.edges[edge as usize].conditions()
    }

    /// The ends of all conditional edges.
    pub fn edge_ends(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.edges.iter().map(|edge| (edge.from, edge.to))
    }

    /// For each choice a node that an edge of its first option touches.
    pub fn choice_nodes(&self) -> Vec<u32> {
        let mut node_of_lit = vec![order::NONE; self.telling_edge.len()];
        for edge in &self.edges {
            edge.conditions().for_each(|lit| node_of_lit[lit.index()] = edge.from);
        }
        let node =
            |choice| self.options_of(choice).first().map_or(order::NONE, |lit| node_of_lit[lit.index()]);
        self.choices.iter().map(node).collect()
    }
}

/// Lists of small numbers, end to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lists {
    start: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// One list for each of `count` numbers, from pairs of number and item that are told twice in the same order.
    /// An item that is told several times in a row for one number is listed once.
    fn new(count: usize, tell: impl Fn(&mut dyn FnMut(u32, u32))) -> Self {
        let mut start = vec![0u32; count + 1];
        let mut last = vec![u32::MAX; count];
        tell(&mut |at, item| {
            if std::mem::replace(&mut last[at as usize], item) != item {
                start[at as usize + 1] += 1;
            }
        });
        for place in 0..count {
            start[place + 1] += start[place];
        }
        let mut next = start.clone();
        let mut items = vec![0; start[count] as usize];
        last.fill(u32::MAX);
        tell(&mut |at, item| {
            if std::mem::replace(&mut last[at as usize], item) != item {
                items[next[at as usize] as usize] = item;
                next[at as usize] += 1;
            }
        });
        Self { start, items }
    }

    #[inline]
    pub(crate) fn of(&self, at: usize) -> &[u32] {
        &self.items[self.start[at] as usize..self.start[at + 1] as usize]
    }
}

/// How a search goes along the current order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Habits {
    /// Leave open what the order satisfies.
    pub lazy: bool,
    /// Decide along the order.
    pub polarity: bool,
    /// Turns the order in which choices are first looked at.
    pub seed: u64,
}

/// A rank for each choice: those of one rank are looked at together.
pub type Ranks = Vec<u32>;

/// The solver.
#[derive(Debug)]
pub struct Solver<'s> {
    pub(crate) setup: &'s Setup,
    pub(crate) habits: Habits,
    pub(crate) graph: IncrementalOrder,
    pub(crate) edges_of_lit: Lists,
    pub(crate) choices_of_node: Lists,
    pub(crate) choices_of_var: Lists,
    pub(crate) clauses: Clauses,
    pub(crate) watches: Vec<Vec<crate::propagate::Watch>>,
    /// For each variable: true, false or open.
    pub(crate) value: Vec<Option<bool>>,
    pub(crate) level: Vec<u32>,
    pub(crate) reason: Vec<u32>,
    pub(crate) trail: Vec<Lit>,
    pub(crate) trail_place: Vec<u32>,
    pub(crate) level_start: Vec<LevelStart>,
    pub(crate) next_clause_lit: usize,
    pub(crate) next_edge_lit: usize,
    /// For each conditional edge whether it is in the graph; for each edge of the graph beyond the known ones, which
    /// conditional edge it is.
    pub(crate) is_asserted: Vec<bool>,
    pub(crate) asserted: Vec<EdgeId>,
    pub(crate) pending: Vec<u32>,
    pub(crate) is_pending: Vec<bool>,
    /// For each choice whether it was found to be fine, and nothing around it changed since.
    pub(crate) is_fine: Vec<bool>,
    /// For each choice the option that agreed with the order when one was last looked for.
    pub(crate) agreed: Vec<u32>,
    pub(crate) moved: Vec<u32>,
    pub(crate) seen: Vec<bool>,
    pub(crate) counts: Counts,
    /// Steps, and options that were looked at.
    pub(crate) work: u64,
}

/// What there was when a decision was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LevelStart {
    pub trail: usize,
    pub asserted: usize,
}

impl<'s> Solver<'s> {
    /// Freezes a problem over a graph with a topological order.
    pub fn new(setup: &'s Setup, graph: IncrementalOrder, habits: Habits) -> Self {
        let node_count = graph.node_count();
        let vars = setup.telling_edge.len() / 2;
        let edges_of_lit = edges_by_literal(setup);
        let (choices_of_node, choices_of_var) = choices_to_revisit(setup, &edges_of_lit, node_count);
        let choices = setup.choices.len();
        let mut pending: Vec<u32> = (0..choices as u32).rev().collect();
        if choices > 0 {
            pending.rotate_left((habits.seed % choices as u64) as usize);
        }
        Self {
            habits,
            graph,
            edges_of_lit,
            choices_of_node,
            choices_of_var,
            clauses: Clauses::default(),
            watches: vec![Vec::new(); vars * 2],
            value: vec![None; vars],
            level: vec![0; vars],
            reason: vec![NO_CLAUSE; vars],
            trail: Vec::new(),
            trail_place: vec![0; vars],
            level_start: Vec::new(),
            next_clause_lit: 0,
            next_edge_lit: 0,
            is_asserted: vec![false; setup.edges.len()],
            asserted: Vec::new(),
            pending,
            is_pending: vec![true; choices],
            is_fine: vec![false; choices],
            agreed: vec![0; choices],
            moved: Vec::new(),
            seen: vec![false; vars],
            counts: Counts::default(),
            work: 0,
            setup,
        }
    }

    /// Looks at choices in the order of these ranks, the lowest first.
    pub(crate) fn rank(&mut self, ranks: &Ranks) {
        self.pending.sort_by_key(|&choice| std::cmp::Reverse(ranks[choice as usize]));
    }

    /// The value of a literal, if it has one.
    #[inline]
    pub fn value(&self, lit: Lit) -> Option<bool> {
        self.value[lit.var()].map(|value| value != lit.is_negative())
    }

    /// The current order; after a search that found a solution, the solution.
    pub fn order(&self) -> Vec<u32> {
        self.graph.order()
    }

    /// What the search took.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn add_given_clauses(&mut self) -> bool {
        let setup = self.setup;
        setup.clauses.iter().all(|(lits, tag)| {
            let id = self.clauses.add(lits, Origin::Given(*tag));
            self.attach(id)
        })
    }
}

fn edges_by_literal(setup: &Setup) -> Lists {
    Lists::new(setup.telling_edge.len(), |tell| {
        for (id, edge) in setup.edges.iter().enumerate() {
            edge.conditions().for_each(|lit| tell(lit.0, id as u32));
        }
    })
}

/// A choice has to be looked at again when an end of one of its options' edges moves, when a pair of nodes that tells
/// the value of a condition moves, and when an option, a guard or a condition changes.
fn choices_to_revisit(setup: &Setup, edges_of_lit: &Lists, node_count: usize) -> (Lists, Lists) {
    let by_node = Lists::new(node_count, |tell| {
        each_option_with_edge(setup, edges_of_lit, |choice, option, edge| {
            tell(edge.from, choice);
            tell(edge.to, choice);
            for condition in edge.conditions().filter(|&condition| condition != option) {
                if let Some((from, to)) = setup.telling_edge[condition.index()] {
                    tell(from, choice);
                    tell(to, choice);
                }
            }
        });
    });
    let by_var = Lists::new(setup.telling_edge.len() / 2, |tell| {
        for (id, choice) in setup.choices.iter().enumerate() {
            let guards = choice.guards.iter().filter(|lit| lit.is_some());
            guards.chain(setup.options_of(choice)).for_each(|lit| tell(lit.var() as u32, id as u32));
        }
        each_option_with_edge(setup, edges_of_lit, |choice, option, edge| {
            let others = edge.conditions().filter(|&condition| condition != option);
            others.for_each(|condition| tell(condition.var() as u32, choice));
        });
    });
    (by_node, by_var)
}

/// Tells each choice, each option of it and each edge of that. Loops take half as long as one iterator over all.
fn each_option_with_edge(
    setup: &Setup,
    edges_of_lit: &Lists,
    mut tell: impl FnMut(u32, Lit, &ConditionalEdge),
) {
    for (id, choice) in setup.choices.iter().enumerate() {
        for &option in setup.options_of(choice) {
            for &edge in edges_of_lit.of(option.index()) {
                tell(id as u32, option, &setup.edges[edge as usize]);
            }
        }
    }
}
