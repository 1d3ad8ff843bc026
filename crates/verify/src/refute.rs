//! The derivation of a contradiction that needed search: the solver's clauses, in terms of the history.
//!
//! A literal of the solver is a literal of the certificate; a cycle that the solver found becomes the clause that its
//! conditions contradict each other, derived from the rule behind each of its edges; learned clauses keep their hints.

use certify::{Certificate, Lit, Node, Rule, StepId};
use history::TxnId;
use order::EdgeId;
use solve::{Origin, Proof};

use crate::choices::{Because, Choices, Given, Meaning};
use crate::options::Limit;
use crate::problem::{INITIAL, OPEN};
use crate::proof::{Fact, Hop, ProofBuilder};

impl ProofBuilder<'_, '_> {
    /// The certificate of a contradiction that the solver found.
    pub(crate) fn refutation(mut self, choices: &Choices, proof: &Proof) -> Result<Certificate, Limit> {
        let mut step_of: Vec<StepId> = Vec::with_capacity(proof.clauses.len());
        for clause in &proof.clauses {
            let lits = clause.lits.iter().map(|&lit| self.meaning(choices, lit)).collect();
            let step = match &clause.origin {
                Origin::Given(tag) => self.given(choices.given[*tag as usize], lits)?,
                Origin::Cycle(cycle) => self.found_cycle(choices, cycle, lits)?,
                Origin::Learned(hints) => {
                    let hints = hints.iter().map(|&hint| step_of[hint as usize]).collect();
                    self.push(lits, Rule::Derived(hints))
                }
            };
            step_of.push(step);
        }
        Ok(self.finish())
    }

    fn earlier(&self, first: TxnId, second: TxnId) -> Lit {
        let shape = self.evidence.problem.shape;
        Lit::before(Node(shape.commit(first)), Node(shape.install(second)))
    }

    fn meaning(&self, choices: &Choices, lit: solve::Lit) -> Lit {
        let positive = match choices.meanings[lit.var()] {
            Meaning::Earlier(first, second) | Meaning::MaybeEarlier(first, second) => {
                self.earlier(first, second)
            }
            Meaning::Source(read, source) => self.read_from(read, source),
            Meaning::Committed(txn) => Lit::committed(txn),
        };
        if lit.is_negative() { !positive } else { positive }
    }

    fn given(&mut self, given: Given, lits: Vec<Lit>) -> Result<StepId, Limit> {
        Ok(match given {
            Given::SourceCommitted { read, source } => self.source_committed(read, source),
            Given::Listed { op, txn } => self.listed(op, txn),
            Given::OneEarlier(first, second) => {
                let mut hints = Vec::new();
                for txn in [first, second] {
                    self.collect(self.committed_facts(txn))?;
                    hints.extend(self.committed(txn));
                }
                hints.push(self.two_writers(first, second));
                self.push(lits, Rule::Derived(hints))
            }
            Given::OneSource { read } => {
                let reader = self.evidence.problem.reader(read);
                let is_option = |&candidate: &u32| lits.contains(&self.read_from(read, candidate));
                let gone = self.candidates(read).into_iter().filter(|candidate| !is_option(candidate));
                let facts: Vec<Fact> = gone.map(|candidate| Fact::NotFrom { read, candidate }).collect();
                self.collect(facts.clone())?;
                self.collect(self.committed_facts(reader))?;
                let mut hints = self.steps_of(&facts);
                hints.extend(self.committed(reader));
                hints.push(self.sources(read));
                self.push(lits, Rule::Derived(hints))
            }
        })
    }

    /// The clause of a cycle: known stretches become facts, conditional edges their rules.
    fn found_cycle(
        &mut self,
        choices: &Choices,
        cycle: &[(u32, Option<EdgeId>)],
        lits: Vec<Lit>,
    ) -> Result<StepId, Limit> {
        let start = cycle.iter().position(|&(_, edge)| edge.is_some()).unwrap_or(0);
        let turned = [&cycle[start..], &cycle[..start]].concat();
        let mut nodes: Vec<u32> = Vec::new();
        let mut known: Vec<StepId> = Vec::new();
        let mut rules: Vec<StepId> = Vec::new();
        let mut stretch: Vec<EdgeId> = Vec::new();
        let mut into_time = None;
        for (place, &(node, edge)) in turned.iter().enumerate() {
            let next = turned[(place + 1) % turned.len()].0;
            match edge {
                None if into_time.is_some() => {
                    // The line of time is left again: one step from where it was entered.
                    if next < self.txn_nodes() {
                        let from = into_time.take().unwrap_or(node);
                        rules.push(self.hop_step(Hop::Time(from, next)));
                    }
                }
                None => stretch.push(self.cheapest_known(node, next)),
                Some(edge) => {
                    self.stretch(&mut stretch, &mut nodes, &mut known)?;
                    nodes.push(node);
                    match choices.because[edge as usize] {
                        Because::Time => into_time = Some(node),
                        _ => rules.extend(self.edge_rules(choices, edge)?),
                    }
                }
            }
        }
        self.stretch(&mut stretch, &mut nodes, &mut known)?;
        known.extend(rules);
        known.extend(self.cycle(&nodes));
        known.dedup();
        Ok(self.push(lits, Rule::Derived(known)))
    }

    /// Writes a stretch of known edges, and adds its nodes without the last one.
    fn stretch(
        &mut self,
        stretch: &mut Vec<EdgeId>,
        nodes: &mut Vec<u32>,
        hints: &mut Vec<StepId>,
    ) -> Result<(), Limit> {
        if stretch.is_empty() {
            return Ok(());
        }
        let path = self.compress(&std::mem::take(stretch));
        self.collect(self.facts_of(&path))?;
        hints.extend(self.hints(&path));
        nodes.extend(&path.nodes[..path.nodes.len() - 1]);
        Ok(())
    }

    fn cheapest_known(&self, from: u32, to: u32) -> EdgeId {
        let known = self.evidence.known;
        let edges = known.graph.out_edges(from).filter(|&(_, end)| end == to).map(|(edge, _)| edge);
        edges
            .min_by_key(|&edge| (known.reason(edge).cost(), edge))
            .expect("the solver's known edges are known")
    }

    /// The steps by which a conditional edge follows from its conditions.
    fn edge_rules(&mut self, choices: &Choices, edge: EdgeId) -> Result<Vec<StepId>, Limit> {
        Ok(match choices.because[edge as usize] {
            Because::Versions { earlier, later } if choices.is_about_versions(edge) => {
                self.versions_rules(choices, edge, earlier, later)?
            }
            Because::Versions { earlier, later } => self.known_versions(earlier, later)?,
            Because::Session { from, to } => vec![self.hop_step(Hop::Session(from, to))],
            Because::Told(order) => {
                let order = self.evidence.problem.index.version_order()[order as usize];
                for txn in self.evidence.problem.told_by(&order) {
                    self.collect(self.committed_facts(txn))?;
                }
                vec![self.told(order)]
            }
            Because::Time => Vec::new(),
            Because::ReadFrom { read, source } => vec![self.read_after_write(read, source)],
            Because::Overwritten { read, source, later } => {
                let mut hints = self.source_rules(read)?;
                self.collect(self.committed_facts(later))?;
                hints.extend(self.committed(later));
                if source != INITIAL {
                    let earlier = self.evidence.problem.writer(source);
                    if choices.is_about_versions(edge) {
                        hints.extend(self.versions_rules(choices, edge, earlier, later)?);
                    } else {
                        if self.is_unknown(earlier) {
                            hints.push(self.source_committed(read, source));
                        }
                        hints.extend(self.known_versions(earlier, later)?);
                    }
                }
                hints.push(self.overwritten(read, source, later));
                hints
            }
        })
    }

    fn source_rules(&mut self, read: u32) -> Result<Vec<StepId>, Limit> {
        if self.evidence.problem.source[read as usize] == OPEN {
            return Ok(Vec::new());
        }
        self.collect(vec![Fact::From(read)])?;
        Ok(vec![self.source_step(read)])
    }

    /// Where the negation of a literal says less than the opposite order, two writers' exclusion closes the gap.
    fn versions_rules(
        &mut self,
        choices: &Choices,
        edge: EdgeId,
        earlier: TxnId,
        later: TxnId,
    ) -> Result<Vec<StepId>, Limit> {
        if !self.evidence.problem.shape.writers_exclude() || !choices.is_by_negation(edge) {
            return Ok(Vec::new());
        }
        let mut hints = Vec::new();
        for txn in [earlier, later] {
            self.collect(self.committed_facts(txn))?;
            hints.extend(self.committed(txn));
        }
        hints.push(self.two_writers(earlier, later));
        Ok(hints)
    }

    /// A version is earlier by what is known.
    fn known_versions(&mut self, earlier: TxnId, later: TxnId) -> Result<Vec<StepId>, Limit> {
        let shape = self.evidence.problem.shape;
        let edge_count = self.evidence.known.graph.edge_count() as u32;
        let path = self.path(shape.install(earlier), shape.commit(later), edge_count);
        self.collect(self.facts_of(&path))?;
        for txn in [earlier, later] {
            self.collect(self.committed_facts(txn))?;
        }
        let mut hints = self.committed(earlier);
        hints.extend(self.earlier_hints(Some(earlier), later, edge_count));
        Ok(hints)
    }
}
