//! Up to which clock skew a verdict about real time would stay the same.
//!
//! A larger skew obliges to less, so there is one threshold: below it the level is violated, from it on it holds. A
//! level that holds without any skew holds with every skew. Otherwise a violation's certificate is tried with larger
//! skews first, which costs the checker little; the engine is asked just beyond, and then in between until both sides
//! agree in three digits or the search has taken some seconds. Where one answer takes that long, there is no search: of
//! a million transactions it took five times as long as the answer. What is reported is true in any case.

use std::time::{Duration, Instant};

use certify::{Certificate, Level, RealTime};
use history::History;
use levels::LevelId;
use serde::Serialize;

use crate::answer::{Answer, Decision};
use crate::error::Error;
use crate::question::Question;

/// How the verdict depends on the skew, in the unit of the history's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkewReport {
    /// The verdict is the same for every skew.
    AnySkew,
    /// Violated up to the first, and holds from the second on; in between it was not tried.
    Threshold {
        /// The largest skew with which the level is known to be violated.
        violated_up_to: i64,
        /// The smallest with which it is known to hold.
        holds_from: i64,
    },
}

impl SkewReport {
    /// Finds out how an answer depends on the skew; nothing for levels without real time, nothing once a limit is
    /// reached, and nothing for a violation that took long, or where predicates concern many rows.
    pub(crate) fn of(question: &Question<'_>, answer: &Answer) -> Result<Option<Self>, Error> {
        let Some(((level, certificate), id)) = answer.certificate.as_ref().zip(answer.level.shipped()) else {
            return Ok(None);
        };
        if level.real_time == RealTime::Ignored || question.history.clock() == history::Clock::Position {
            return Ok(None);
        }
        let deadline = Instant::now() + PATIENCE;
        let search = SkewSearch { question, id, level: *level, deadline };
        match answer.decision {
            Decision::Holds => search.below(level.clock_skew),
            // With predicates on many rows the engine uses real time to prune row contents, so another skew needs a new
            // decision.
            Decision::Violated if answer.time > PATIENCE => Ok(None),
            Decision::Violated if !index::RowEffects::are_few(question.history) => Ok(None),
            Decision::Violated => search.above(level.clock_skew, certificate),
            Decision::Undecided(_) => Ok(None),
        }
    }

    /// The dependence in words, to read on after the name of the level.
    pub fn phrase(self, is_violated: bool) -> String {
        match self {
            Self::AnySkew if is_violated => "is violated whatever the clock skew".to_owned(),
            Self::AnySkew => "holds whatever the clock skew".to_owned(),
            Self::Threshold { violated_up_to, holds_from } => {
                let (below, above) = (nanoseconds(violated_up_to), nanoseconds(holds_from));
                match is_violated {
                    true => format!("is violated for any clock skew up to {below}, and holds with {above}"),
                    false => {
                        format!("holds for any clock skew of at least {above}, and is violated with {below}")
                    }
                }
            }
        }
    }
}

/// How long a search goes on.
const PATIENCE: Duration = Duration::from_secs(2);

struct SkewSearch<'q> {
    question: &'q Question<'q>,
    id: LevelId,
    level: Level,
    deadline: Instant,
}

impl SkewSearch<'_> {
    /// The level holds with this skew: does it with a smaller one?
    fn below(&self, skew: i64) -> Result<Option<SkewReport>, Error> {
        if skew == 0 {
            return Ok(Some(SkewReport::AnySkew));
        }
        let without = self.decide_with(0)?;
        match (without.decision, without.certificate) {
            (Decision::Holds, _) => Ok(Some(SkewReport::AnySkew)),
            (Decision::Violated, Some((_, certificate))) => self.between(0, &certificate, skew),
            _ => Ok(None),
        }
    }

    /// The level is violated with this skew: is it with a larger one?
    fn above(&self, skew: i64, certificate: &Certificate) -> Result<Option<SkewReport>, Error> {
        let all = time_span(self.question.history).saturating_add(1).max(skew).min(Level::LARGEST_CLOCK_SKEW);
        match self.decide_with(all)?.decision {
            Decision::Violated => Ok(Some(SkewReport::AnySkew)),
            Decision::Holds => self.between(skew, certificate, all),
            Decision::Undecided(_) => Ok(None),
        }
    }

    /// Violated with the first, by this certificate; holds with the second.
    fn between(
        &self,
        violated: i64,
        certificate: &Certificate,
        mut holds: i64,
    ) -> Result<Option<SkewReport>, Error> {
        let mut violated = self.stretch(certificate, violated, holds);
        let mut probe = violated + 1;
        while probe < holds {
            match self.decide_with(probe)?.decision {
                Decision::Holds => holds = probe,
                Decision::Violated => violated = probe,
                Decision::Undecided(_) => break,
            }
            if agree(violated, holds) || Instant::now() > self.deadline {
                break;
            }
            probe = middle(violated, holds);
        }
        Ok(Some(SkewReport::Threshold { violated_up_to: violated, holds_from: holds }))
    }

    /// The largest skew below `holds` with which the certificate still proves the violation.
    fn stretch(&self, certificate: &Certificate, mut violated: i64, mut holds: i64) -> i64 {
        while holds - violated > 1 && Instant::now() < self.deadline {
            let middle = middle(violated, holds);
            let level = self.level.with_clock_skew(middle);
            match certify::check(self.question.history, &level, certificate) {
                Ok(()) => violated = middle,
                Err(_) => holds = middle,
            }
        }
        violated
    }

    fn decide_with(&self, skew: i64) -> Result<Answer, Error> {
        self.question.decide_level(self.id, &self.level.with_clock_skew(skew), &[])
    }
}

/// Whether two skews are the same in three digits.
fn agree(violated: i64, holds: i64) -> bool {
    holds - violated <= (violated / 1000).max(1)
}

/// A skew between two, in the middle of their orders of magnitude while these differ.
fn middle(violated: i64, holds: i64) -> i64 {
    match holds / 4 > violated.max(1) {
        true => ((violated.max(1) as f64) * (holds as f64)).sqrt() as i64,
        false => violated + (holds - violated) / 2,
    }
}

/// From the first recorded moment to the last: with a larger skew nothing is before anything.
fn time_span(history: &History) -> i64 {
    let moments = history.txns().flat_map(|txn| {
        let times = history.times(txn);
        [times.begin_request, times.begin_response, times.commit_request, times.commit_response]
    });
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    for moment in moments.flatten() {
        first = first.min(moment);
        last = last.max(moment);
    }
    // A certificate's skew is an i64, and half of its range is far more than any clock is wrong.
    last.saturating_sub(first).clamp(0, i64::MAX / 4)
}

/// All digits, since two thresholds may differ in the last one.
fn nanoseconds(time: i64) -> String {
    match time {
        time if time < 10_000 => format!("{time} ns"),
        time if time < 1_000_000 => format!("{} us", time as f64 / 1e3),
        time => format!("{} ms", time as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_lies_between() {
        for (violated, holds) in [(0, 2), (0, 1 << 60), (1, 9), (5, 1 << 40), (999, 1001), (1 << 40, 1 << 41)]
        {
            let middle = middle(violated, holds);
            assert!(violated < middle && middle < holds, "{violated} {middle} {holds}");
        }
    }

    #[test]
    fn skews_agree_in_three_digits() {
        assert!(agree(9, 10) && agree(717_947, 718_100));
        assert!(!agree(9, 11) && !agree(717_947, 720_000));
    }
}
