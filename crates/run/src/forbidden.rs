//! Which findings of validation break which promise.
//!
//! Validation looks at single reads and at transactions alone, and its findings are facts about the database; whether
//! a fact breaks a promise depends on the level. The levels that an engine decides forbid all of them. Of the weaker
//! ones, which an engine may not decide, this says what each forbids for certain and nothing more: read committed is
//! Adya's PL-2, which allows a second read of a key to find another committed value, and read uncommitted allows reads
//! of what never committed.

use history::{Finding, FindingKind, History, Index, Outcome};

/// What validation found in transactions that certainly committed; those of unknown outcome may not have.
///
/// Where predicates leave open what a transaction did, the index holds one of several stories, and a finding may be one
/// of that story alone: only what an operation shows by itself is a fact then.
pub fn facts<'a>(history: &'a History, index: &'a Index) -> impl Iterator<Item = &'a Finding> {
    let is_open = index.stories().all().iter().any(|story| story.alternatives.len() > 1);
    let is_fact = move |finding: &&Finding| {
        let shows_itself = matches!(
            finding.kind,
            FindingKind::DuplicatedElement
                | FindingKind::DuplicatedRow
                | FindingKind::RowOutOfBounds
                | FindingKind::RowNotMatching
        );
        history.outcome(finding.txn) == Outcome::Committed && (!is_open || shows_itself)
    };
    index.findings().iter().filter(is_fact)
}

/// Whether a level, by its name in the lattice, forbids what was found.
pub fn forbids(level: &str, finding: FindingKind) -> bool {
    match finding {
        // Nobody wrote it, or it is no answer to what was asked: no order of anything explains it.
        FindingKind::ThinAirRead
        | FindingKind::FutureRead
        | FindingKind::NotMyOwnWrite
        | FindingKind::NotMyLastWrite
        | FindingKind::DuplicatedElement
        | FindingKind::RowOutOfBounds
        | FindingKind::TombstoneServed
        | FindingKind::RowNotMatching => true,
        FindingKind::AbortedRead | FindingKind::IntermediateRead => {
            !matches!(level, "read-uncommitted" | "cut-isolation")
        }
        // Two looks at a key, or at the rows of a table, that do not fit together.
        FindingKind::NonRepeatableRead
        | FindingKind::DuplicatedRow
        | FindingKind::UnexplainedRow
        | FindingKind::WrongRowCount => {
            !matches!(level, "read-uncommitted" | "read-committed" | "update-serializable")
        }
    }
}

/// Whether a level forbids nothing besides findings: then a history without forbidden ones satisfies it.
pub fn is_of_single_reads(level: &str) -> bool {
    level == "read-uncommitted"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_does_not_repeat_breaks_no_promise_of_read_committed() {
        let forbidden = |level: &str| forbids(level, FindingKind::NonRepeatableRead);
        assert!(!forbidden("read-uncommitted") && !forbidden("read-committed"));
        assert!(forbidden("cut-isolation") && forbidden("read-atomic") && forbidden("serializable"));
    }

    #[test]
    fn what_is_wrong_in_one_story_of_several_is_no_fact() {
        let history = |text: &str| formats::notation::parse(text).unwrap();
        let found = |history: &History| facts(history, &Index::of(history)).count();
        assert_eq!(found(&history("a: w(x)=1 w(x)=2\nb: r(x)=1\nc: r(y)=5\n")), 2);
        // Whether the second transaction found x = {v: 5} is open, and in one of its stories nobody wrote {v: 7}.
        let open = history("init x={v: 1}\na: w(x)={v: 5}\nb: pw(v = 5)={v: 7}\nc: r(x)={v: 7}\n");
        let index = Index::of(&open);
        assert!(index.stories().all().iter().any(|story| story.alternatives.len() > 1));
        assert!(!index.findings().is_empty());
        assert_eq!(facts(&open, &index).count(), 0);
    }

    #[test]
    fn what_never_committed_may_be_read_at_read_uncommitted_only() {
        for finding in [FindingKind::AbortedRead, FindingKind::IntermediateRead] {
            assert!(!forbids("read-uncommitted", finding));
            assert!(forbids("read-committed", finding) && forbids("snapshot-isolation", finding));
        }
        assert!(forbids("read-uncommitted", FindingKind::ThinAirRead));
    }
}
