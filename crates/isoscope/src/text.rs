//! Levels that are decided from their text: those without an engine of their own, and the user's.
//!
//! In this order: one read or one transaction may show by itself that the level is violated, in the best words and with a
//! certificate. A text that is that of a level with an engine is decided by this engine, whatever its name. A text in
//! normal form is decided at any size (`weak`). The definition itself is tried on small histories (`definition.rs`). At
//! last, a stronger level that holds may answer for it.

use std::time::{Duration, Instant};

use certify::text::facts::{Facts, INITIAL};
use certify::text::judge::Witness;
use certify::text::plan::Plan;
use certify::text::{TextCertificate, cases, check_facts, check_judged, small};
use certify::{Certificate, Flaw};
use history::{Datum, History, KeyId, Op, OpId, TxnId, ValueId};
use index::{FindingKind, Index};
use levels::LevelId;
use spec::Level;

use crate::answer::{Answer, AskedLevel, Decision, Obstacle};
use crate::definition;
use crate::error::Error;
use crate::explanation::Explanation;
use crate::monitor::Monitor;
use crate::question::Question;
use crate::reasons;
use crate::unmatched;

/// How many models of the solver are tried for a level that the user did not name, where no time limit ends the search:
/// such a level must not delay the answers for the others. With a time limit, levels take turns.
const FEW_MODELS: u32 = 6;

/// With predicates, a serial order is looked for only if there are at most so many transactions.
const FEW_NODES: usize = 64;

/// Decides a level from its text; `known` are answers for other levels.
pub(crate) fn decide(
    question: &Question<'_>,
    level: &Level,
    name: AskedLevel,
    known: &[&Answer],
) -> Result<Answer, Error> {
    if level.allows_uncommitted {
        return decide_by_values(question, name, known);
    }
    let started = Instant::now();
    if let Some((op, key, value)) = uncommitted_read(question, level) {
        let explanation = Some(Explanation::of_unwritten_read(question.history, op, key, value));
        let answer = Answer::plain(name, Decision::Violated, started.elapsed());
        return Ok(Answer { explanation, ..answer });
    }
    let shipped = engine_of(level);
    let at_any_size = match shipped {
        Some(_) => None,
        None => decide_at_any_size(question, level, &name, known)?,
    };
    // A level that holds needs no index. Of a violation, a single read tells more than a cycle does.
    match at_any_size {
        Some(answer) if answer.decision == Decision::Holds => return Ok(answer),
        _ => {}
    }
    if let Some(certificate) = question.find_forbidden(|finding| forbids(question, &name, finding))? {
        let answer = Answer::plain(name, Decision::Violated, started.elapsed());
        return Ok(question.explained(Answer { certificate: Some(certificate), ..answer }));
    }
    if let Some(shipped) = shipped {
        let answer = question.decide(shipped, &[])?;
        return Ok(Answer { level: name, ..answer });
    }
    if let Some(answer) = at_any_size {
        return Ok(answer);
    }
    let answer = definition::decide(question, level, name.clone())?;
    match (answer.decision, name.shipped()) {
        (Decision::Undecided(Obstacle::Definition(_)), Some(level)) => {
            decide_indirectly(question, level, known, answer)
        }
        _ => Ok(answer),
    }
}

/// The answer that follows for a level of the user's own from an answer that is there, by the forms of the two texts.
pub(crate) fn consequence(level: &Level, name: &AskedLevel, known: &[&Answer]) -> Option<Answer> {
    if is_recorded(name) {
        return None;
    }
    let plan = Plan::of(level).ok()?;
    let own = known.iter().filter(|answer| answer.follows_from.is_none());
    let source = own.filter_map(|answer| Some((answer.level.shipped()?, answer.decision)));
    let follows = |&(source, decision): &(LevelId, Decision)| {
        let Ok(other) = Plan::of(source.spec()) else { return false };
        match decision {
            Decision::Holds => other.implies(&plan),
            Decision::Violated => plan.implies(&other),
            Decision::Undecided(_) => false,
        }
    };
    let (source, decision) = source.into_iter().find(follows)?;
    Some(Answer { follows_from: Some(source), ..Answer::plain(name.clone(), decision, Duration::ZERO) })
}

/// Decides a level from its text although it has an engine, for operations that the engine does not decide.
pub(crate) fn decide_instead(question: &Question<'_>, level: LevelId) -> Result<Option<Answer>, Error> {
    let started = Instant::now();
    let name = AskedLevel::Shipped(level);
    if let Some(certificate) = question.find_forbidden(|finding| forbids(question, &name, finding))? {
        let answer = Answer::plain(name, Decision::Violated, started.elapsed());
        return Ok(Some(question.explained(Answer { certificate: Some(certificate), ..answer })));
    }
    decide_at_any_size(question, level.spec(), &name, &[])
}

/// Whether a level forbids what was found in a committed transaction. A level of the user's own forbids what all levels
/// do that demand committed sources.
fn forbids(question: &Question<'_>, name: &AskedLevel, finding: FindingKind) -> bool {
    // A finding does not say whose it is, and some transactions may read anything that was written.
    let is_open = is_recorded(name) && some_read_uncommitted(question);
    let level = name.shipped().unwrap_or(LevelId::ReadCommitted);
    // Where there are predicates, a finding rests on what each transaction left in the rows, which is derived for
    // transactions that see a row alike each time.
    let is_derived = question.history.has_predicates() && !level.forbids(FindingKind::NonRepeatableRead);
    !is_open && !is_derived && level.forbids(finding)
}

/// Whether each transaction is bound by the level that it records.
fn is_recorded(name: &AskedLevel) -> bool {
    name.shipped().is_none() && name.name() == spec::recorded::NAME
}

fn some_read_uncommitted(question: &Question<'_>) -> bool {
    let history = question.history;
    history.txns().any(|txn| spec::recorded::reads_uncommitted(history, txn))
}

/// A read of something that no transaction wrote, by a transaction whose level demands nothing more.
fn uncommitted_read(question: &Question<'_>, level: &Level) -> Option<(OpId, KeyId, ValueId)> {
    let history = question.history;
    let is_free = |txn: TxnId| spec::recorded::reads_uncommitted(history, txn);
    (level.name == spec::recorded::NAME).then(|| spec::unwritten_read_by(history, &is_free)).flatten()
}

/// The shipped level with an engine whose text this is.
fn engine_of(level: &Level) -> Option<LevelId> {
    let normal = level.normal_form(false);
    LevelId::with_engine().find(|shipped| {
        let known = shipped.spec().normal_form(false);
        known.framework == normal.framework
            && known.order == normal.order
            && known.visible == normal.visible
            && known.require == normal.require
    })
}

/// The answer of the engine for texts in normal form; nothing if the text or the history is not of its kind.
fn decide_at_any_size(
    question: &Question<'_>,
    level: &Level,
    name: &AskedLevel,
    known: &[&Answer],
) -> Result<Option<Answer>, Error> {
    let started = Instant::now();
    if let Some(answer) = unmatched::decide(question, level, name) {
        return Ok(Some(answer));
    }
    let (Ok(plan), Ok(facts)) = (Plan::of(level), question.facts()) else { return Ok(None) };
    let own_facts;
    let facts = match is_recorded(name) && some_read_uncommitted(question) {
        false => facts,
        true => match Facts::for_level(question.history, level) {
            Ok(mut facts) => {
                facts.set_clock_skew(question.clock_skew);
                own_facts = facts;
                &own_facts
            }
            Err(_) => return Ok(None),
        },
    };
    if let Some(&(node, op)) = facts.unexplained().first() {
        return match facts.has_sure_sources() && !plan.one_source {
            false => Ok(None),
            true => unexplained(question, facts, level, name, (node, op)).map(Some),
        };
    }
    if facts.is_doubtful()
        && let Some(certificate) = guessed_order(question, facts, level, &plan)
    {
        let answer = Answer::plain(name.clone(), Decision::Holds, started.elapsed());
        let method = Some(plan.description());
        return Ok(Some(Answer { text_certificate: Some(certificate), method, ..answer }));
    }
    let priority = match serial_order(question, facts, known)? {
        Some(order) => order,
        None => times_of_commits(question, facts),
    };
    let options = weak::Options {
        priority: &priority,
        stop: &|| question.monitor.reached().is_some(),
        most_models: match question.is_named || question.monitor.time_left().is_some() {
            true => u32::MAX,
            false => FEW_MODELS,
        },
    };
    let mut judged = None;
    let (decision, certificate, explanation) = match weak::decide(facts, &plan, &options) {
        weak::TextDecision::Holds(witness) => (Decision::Holds, order_of(facts, &witness), None),
        weak::TextDecision::Accepted(accepted) => {
            let order = order_of(facts, accepted.witness());
            judged = Some(accepted);
            (Decision::Holds, order, None)
        }
        weak::TextDecision::Contradiction(nodes) => {
            let explanation = reasons::of_contradiction(question.history, facts, &plan, &nodes);
            let txns = nodes.iter().map(|&node| facts.txn(node)).collect();
            (Decision::Violated, TextCertificate::Violated { txns }, explanation)
        }
        weak::TextDecision::Choices(nodes) => return by_definition(question, facts, level, name, &nodes),
        weak::TextDecision::GivenUp => {
            let decision = Decision::Undecided(Obstacle::Effort);
            return Ok(Some(question.explained(Answer::plain(name.clone(), decision, started.elapsed()))));
        }
        weak::TextDecision::Stopped => {
            let Some(limit) = question.monitor.reached() else { return Ok(None) };
            let answer =
                Answer::plain(name.clone(), Decision::Undecided(Obstacle::Limit(limit)), started.elapsed());
            return Ok(Some(question.explained(answer)));
        }
    };
    let checked = match question.certify || facts.is_doubtful() {
        true => check_judged(facts, level, &certificate, judged.as_ref()),
        false => Ok(()),
    };
    if checked.is_err()
        && facts.is_doubtful()
        && let Some(op) = question.index().doubtful()
    {
        let decision = Decision::Undecided(Obstacle::Operation(op));
        return Ok(Some(question.explained(Answer::plain(name.clone(), decision, started.elapsed()))));
    }
    checked.map_err(|flaw| refused(level, &flaw))?;
    let answer = Answer::plain(name.clone(), decision, started.elapsed());
    let method = Some(plan.description());
    Ok(Some(Answer { explanation, text_certificate: Some(certificate), method, ..answer }))
}

/// Where several transactions appended the same element to a list, an order that a guess of these leads to, if it explains
/// the history.
fn guessed_order(
    question: &Question<'_>,
    facts: &Facts,
    level: &Level,
    plan: &Plan,
) -> Option<TextCertificate> {
    let index = Index::guessing(question.history);
    let guess = |op: OpId| index.members_of(op).map(<[TxnId]>::to_vec);
    let mut guessed = Facts::guessing(question.history, &guess).ok()?;
    guessed.set_clock_skew(question.clock_skew);
    let is_alike = guessed.reads().len() == facts.reads().len() && guessed.unexplained().is_empty();
    if !is_alike {
        return None;
    }
    let priority = times_of_commits(question, &guessed);
    let options = weak::Options {
        priority: &priority,
        stop: &|| question.monitor.reached().is_some(),
        most_models: FEW_MODELS,
    };
    let witness = match weak::decide(&guessed, plan, &options) {
        weak::TextDecision::Holds(witness) => witness,
        weak::TextDecision::Accepted(accepted) => accepted.into_witness(),
        _ => return None,
    };
    let certificate = order_of(facts, &witness);
    check_facts(facts, level, &certificate).is_ok().then_some(certificate)
}

/// A committed transaction read what no transaction that may have committed wrote.
fn unexplained(
    question: &Question<'_>,
    facts: &Facts,
    level: &Level,
    name: &AskedLevel,
    (node, op): (u32, OpId),
) -> Result<Answer, Error> {
    let txn = facts.txn(node);
    let certificate = TextCertificate::Violated { txns: vec![txn] };
    if question.certify {
        check_facts(facts, level, &certificate).map_err(|flaw| refused(level, &flaw))?;
    }
    let explanation = Some(reasons::of_unexplained(question.history, txn, op));
    let answer = Answer::plain(name.clone(), Decision::Violated, std::time::Duration::ZERO);
    Ok(Answer { explanation, text_certificate: Some(certificate), ..answer })
}

fn refused(level: &Level, flaw: &Flaw) -> Error {
    Error::Failed(format!("checking the argument for {}: {flaw}", level.name))
}

/// The nodes contradict themselves whatever is chosen: the definition is asked about them alone, and its refutation is
/// checked.
fn by_definition(
    question: &Question<'_>,
    facts: &Facts,
    level: &Level,
    name: &AskedLevel,
    nodes: &[u32],
) -> Result<Option<Answer>, Error> {
    let few = facts.restricted(nodes);
    let speaks_for_all = Plan::of(level).is_ok_and(|plan| !plan.depends_on_all_writers());
    let Some((small, keys)) = small::small_history(&few).filter(|_| speaks_for_all) else {
        return Ok(by_cases(question, &few, level, name));
    };
    if small.txns.len() >= spec::facts::MAX_TXNS {
        return Ok(None);
    }
    let names = definition::Names {
        txns: nodes.iter().map(|&node| facts.txn(node)).collect(),
        keys: keys.iter().map(|&key| KeyId(key)).collect(),
    };
    let answer = definition::decide_small(question, level, name.clone(), vec![small], &names)?;
    match answer.decision {
        // A part of the history that the level allows says nothing about the whole.
        Decision::Holds => Err(Error::Failed(format!("finding transactions that violate {}", level.name))),
        _ => {
            let txns = nodes.iter().map(|&node| facts.txn(node)).collect();
            let text_certificate = Some(TextCertificate::Violated { txns });
            Ok(Some(Answer { text_certificate, ..answer }))
        }
    }
}

/// Whatever is chosen for the transactions of these facts contradicts itself, by cases that the checker tries again.
fn by_cases(question: &Question<'_>, few: &Facts, level: &Level, name: &AskedLevel) -> Option<Answer> {
    let started = Instant::now();
    let plan = Plan::of(level).ok()?;
    let refutation = cases::refute(few, &plan)?;
    let txns: Vec<_> = (1..few.node_count() as u32).map(|node| few.txn(node)).collect();
    let explanation = Some(reasons::of_cases(question.history, &plan, &txns, &refutation));
    let text_certificate = Some(TextCertificate::Violated { txns });
    let answer = Answer::plain(name.clone(), Decision::Violated, started.elapsed());
    Some(Answer { explanation, text_certificate, method: Some(plan.description()), ..answer })
}

/// Where reads may have come from several places, an order in which the history is serializable settles all of them at
/// once, if there is one: the place of each transaction in it.
fn serial_order(
    question: &Question<'_>,
    facts: &Facts,
    known: &[&Answer],
) -> Result<Option<Vec<u64>>, Error> {
    if (0..facts.reads().len()).all(|read| facts.only_source(read).is_some()) {
        return Ok(None);
    }
    let serial = LevelId::SessionSerializable;
    let asked;
    let answer = match known.iter().find(|answer| answer.level.shipped() == Some(serial)) {
        Some(answer) => answer,
        // With predicates the engine may take long, and reads of rows that did not match have many sources anyway.
        None if question.history.has_predicates() && facts.node_count() > FEW_NODES => return Ok(None),
        None => {
            asked = question.decide_by_engine(serial, &[])?;
            &asked
        }
    };
    let Some((level, Certificate::Holds { order, .. })) = &answer.certificate else { return Ok(None) };
    let nodes = facts.nodes(question.history.txn_count());
    let mut places = vec![u64::MAX; facts.node_count()];
    for (place, event) in order.iter().enumerate() {
        let txn = event.txn(level.events_per_txn());
        if let Some(node) = txn.and_then(|txn| nodes[txn.index()]) {
            places[node as usize] = place as u64 + 1;
        }
    }
    Ok(Some(places))
}

/// When each transaction committed, as far as that is known: a good guess of their order. Without times, the places or the
/// numbers of the transactions in the input.
pub(crate) fn times_of_commits(question: &Question<'_>, facts: &Facts) -> Vec<u64> {
    let history = question.history;
    if !history.has_times() {
        return numbers_of_txns(history, facts);
    }
    let time = |node: u32| {
        let times = history.times(facts.txn(node));
        let time = times.commit_response.or(times.commit_request).or(times.begin_response);
        time.or(times.begin_request).map_or(u64::MAX, |time| (time as u64) ^ (1 << 63))
    };
    std::iter::once(0).chain((1..facts.node_count() as u32).map(time)).collect()
}

/// The places of transactions in an input that mixes sessions, or else their names, if these are numbers that go on from
/// session to session as those of a common counter do. Nothing otherwise: sessions taken in turn are a better guess than
/// numbers that were given to one session after the other.
fn numbers_of_txns(history: &History, facts: &Facts) -> Vec<u64> {
    let number = |node: u32| match (history.recorded_place(facts.txn(node)), node) {
        (Some(place), _) => Some(u64::from(place)),
        (None, node) => match history.txn_name(facts.txn(node)) {
            Some(Datum::Int(number)) => u64::try_from(number).ok(),
            _ => None,
        },
    };
    let Some(numbers) = (1..facts.node_count() as u32).map(number).collect::<Option<Vec<u64>>>() else {
        return Vec::new();
    };
    let mut sorted: Vec<(u64, u32)> =
        (1..).zip(&numbers).map(|(node, &number)| (number, facts.session_start(node))).collect();
    sorted.sort_unstable();
    let changes = sorted.windows(2).filter(|pair| pair[0].1 != pair[1].1).count();
    let are_mixed = changes > numbers.len() / 2;
    if are_mixed { std::iter::once(0).chain(numbers).collect() } else { Vec::new() }
}

pub(crate) fn order_of(facts: &Facts, witness: &Witness) -> TextCertificate {
    let open = (0..facts.reads().len()).filter(|&read| facts.only_source(read).is_none());
    let open = open.filter(|&read| witness.has(facts.reader(read)));
    let source = |read: usize| match witness.source[read] {
        INITIAL => None,
        node => Some(facts.txn(node)),
    };
    TextCertificate::Holds {
        order: witness.order[1..].iter().map(|&node| facts.txn(node)).collect(),
        sources: open
            .map(|read| (facts.reads()[read].op, KeyId(facts.reads()[read].key), source(read)))
            .collect(),
    }
}

/// A level that also allows what was never committed demands only that some transaction wrote each value.
///
/// What a write by predicate left is not always known: a value that such a write can have made decides nothing.
fn decide_by_values(question: &Question<'_>, name: AskedLevel, known: &[&Answer]) -> Result<Answer, Error> {
    let started = Instant::now();
    let history = question.history;
    let answer = |decision| Answer::plain(name.clone(), decision, started.elapsed());
    let Some((read, key, value)) = spec::unwritten_read(history) else { return Ok(answer(Decision::Holds)) };
    let row = history.values().original(value);
    let makes_values = |&op: &OpId| match history.op(op) {
        Op::PredicateWrite(write) => {
            let may_concern = write.keys.as_ref().is_none_or(|keys| keys.contains(&key));
            !write.is_returning && may_concern && write.change.can_make(&row)
        }
        _ => false,
    };
    match (0..history.op_count() as u32).map(OpId).find(makes_values) {
        Some(op) => {
            let undecided = question.explained(answer(Decision::Undecided(Obstacle::Operation(op))));
            match name.shipped() {
                Some(level) => decide_indirectly(question, level, known, undecided),
                None => Ok(undecided),
            }
        }
        None => {
            let explanation = Some(Explanation::of_unwritten_read(history, read, key, value));
            Ok(Answer { explanation, ..answer(Decision::Violated) })
        }
    }
}

/// Whether a stronger level holds; if none does, the answer stays as it is.
fn decide_indirectly(
    question: &Question<'_>,
    level: LevelId,
    known: &[&Answer],
    undecided: Answer,
) -> Result<Answer, Error> {
    let started = Instant::now();
    Ok(match stronger_that_holds(question, level, known)? {
        Some(stronger) => Answer {
            follows_from: Some(stronger),
            ..Answer::plain(level.into(), Decision::Holds, started.elapsed())
        },
        None => undecided,
    })
}

/// A level with an engine that implies this one and holds.
fn stronger_that_holds(
    question: &Question<'_>,
    level: LevelId,
    known: &[&Answer],
) -> Result<Option<LevelId>, Error> {
    let has_times = question.history.has_times();
    let mut candidates: Vec<LevelId> = LevelId::with_engine()
        .filter(|stronger| stronger.implies(level) && (has_times || !stronger.needs_times()))
        .collect();
    candidates.reverse();
    let mut violated: Vec<LevelId> = Vec::new();
    for stronger in candidates {
        if violated.iter().any(|&violated| stronger.implies(violated)) {
            continue;
        }
        let asked = known.iter().find(|answer| answer.level.shipped() == Some(stronger));
        let decision = match asked {
            Some(answer) => answer.decision,
            None => question.decide(stronger, &[])?.decision,
        };
        match decision {
            Decision::Holds => return Ok(Some(stronger)),
            Decision::Violated => violated.push(stronger),
            Decision::Undecided(_) => {}
        }
    }
    Ok(None)
}
