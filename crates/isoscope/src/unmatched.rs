//! Levels at which a transaction sees only the sources of its earlier reads, on histories with predicates: rows that a
//! predicate did not match get no reads of their own (`weak::decide_apart`), which is ten times faster on a thousand
//! transactions. Where that does not decide, `text.rs` goes on with a read for each of these rows.

use std::time::Instant;

use certify::text::facts::Facts;
use certify::text::plan::Plan;
use certify::text::{TextCertificate, check_facts, has_unmatched_apart};
use history::KeyId;
use spec::Level;
use weak::ApartDecision;

use crate::answer::{Answer, AskedLevel, Decision, Obstacle};
use crate::monitor::Monitor;
use crate::question::Question;
use crate::{reasons, text};

/// The answer for a level, if rows that were not matched need no reads.
pub(crate) fn decide(question: &Question<'_>, level: &Level, name: &AskedLevel) -> Option<Answer> {
    let (started, history) = (Instant::now(), question.history);
    if !has_unmatched_apart(history, level) {
        return None;
    }
    let plan = Plan::of(level).ok()?;
    let mut facts = Facts::with_unmatched_apart(history).ok()?;
    facts.set_clock_skew(question.clock_skew);
    if !facts.unexplained().is_empty() {
        return None;
    }
    let options = weak::Options {
        priority: &text::times_of_commits(question, &facts),
        stop: &|| question.monitor.reached().is_some(),
        most_models: 0,
    };
    let answer = |decision| Answer::plain(name.clone(), decision, started.elapsed());
    let (decision, certificate, explanation) = match weak::decide_apart(&facts, &plan, &options)? {
        ApartDecision::Holds(witness, rows) => {
            let txn = |node: u32| (node != certify::text::facts::INITIAL).then(|| facts.txn(node));
            let mut certificate = text::order_of(&facts, &witness);
            if let TextCertificate::Holds { sources, .. } = &mut certificate {
                sources.extend(rows.into_iter().map(|(op, key, node)| (op, KeyId(key), txn(node))));
            }
            (Decision::Holds, certificate, None)
        }
        ApartDecision::Contradiction(nodes) => {
            let explanation = reasons::of_contradiction(history, &facts, &plan, &nodes);
            let txns = nodes.iter().map(|&node| facts.txn(node)).collect();
            (Decision::Violated, TextCertificate::Violated { txns }, explanation)
        }
        ApartDecision::Stopped => {
            let limit = question.monitor.reached()?;
            return Some(question.explained(answer(Decision::Undecided(Obstacle::Limit(limit)))));
        }
    };
    // An order that the checker refuses is no answer: the other engines decide.
    let is_accepted = !question.certify || check_facts(&facts, level, &certificate).is_ok();
    debug_assert!(is_accepted, "the checker refuses an order for {}", level.name);
    let method = Some(plan.description());
    is_accepted.then(|| Answer {
        explanation,
        text_certificate: Some(certificate),
        method,
        ..answer(decision)
    })
}
