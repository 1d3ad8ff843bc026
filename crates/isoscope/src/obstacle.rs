//! Why a level is undecided, as a sentence.

use history::{InitialDefault, Op, OpId, PredicateRead, PredicateWrite};
use spec::ConvertError;

use crate::answer::Obstacle;
use crate::monitor::Monitor;
use crate::question::Question;
use history::visible;

/// The sentence, without its full stop.
pub(crate) fn sentence(question: &Question<'_>, obstacle: Obstacle) -> String {
    match obstacle {
        Obstacle::Limit(limit) => question.monitor.sentence(limit),
        Obstacle::Operation(op) => format!("{} {}", txn_of(question, op), unsupported(question, op)),
        Obstacle::Effort => {
            "a short search found neither an order nor a contradiction; name the level with --level to go on"
                .to_owned()
        }
        Obstacle::Definition(ConvertError::UnsupportedOp(op))
            if question.history.op_version(op).is_some() =>
        {
            format!("there is no engine for it, and {} {}", txn_of(question, op), unsupported(question, op))
        }
        Obstacle::Definition(ConvertError::UnsupportedOp(op)) => format!(
            "there is no engine for it, and its text does not speak of lists, ranges, predicates and versions, as in \
             {}",
            txn_of(question, op)
        ),
        Obstacle::Definition(error) => format!("there is no engine for it, and {error}"),
    }
}

/// The name of an operation's transaction, safe to print.
fn txn_of(question: &Question<'_>, op: OpId) -> String {
    visible(&question.history.txn_label(question.history.txn_of(op)))
}

/// What keeps an operation from being decided, to read on after the name of its transaction.
fn unsupported(question: &Question<'_>, op: OpId) -> String {
    match question.history.op(op) {
        Op::Append { .. } if question.index().doubtful() == Some(op) => {
            "appended an element to a list that another transaction appended too: the appender that the elements before \
             it and the times make likely explains nothing, and what is certain does not contradict itself"
                .to_owned()
        }
        Op::Append { .. } | Op::ReadList { .. } if question.index().unindexed() == Some(op) => {
            "has a list of a kind that is decided in small histories only: one that does not start empty or is also \
             written as a whole, or one with an element that is appended twice beside predicates"
                .to_owned()
        }
        Op::Append { .. } | Op::ReadList { .. } => {
            "has a list, which is decided under prefix consistency in small histories only".to_owned()
        }
        Op::PredicateRead(PredicateRead { predicate, .. })
        | Op::PredicateWrite(PredicateWrite { predicate, .. }) => match predicate.meaning() {
            Err(error) => format!("has a predicate without a meaning: {error}"),
            Ok(_) => format!("has a predicate, and {}", beside_predicate(question)),
        },
        Op::RangeRead(_) => "reads a range with a list in it, which is decided in small histories only".to_owned(),
        _ if question.history.op_version(op).is_some() => {
            "records a version of its key, and not all writes of the key do, or two record the same one, which is \
             decided in small histories only"
                .to_owned()
        }
        _ => "read a value that may be the initial one of its key, and another transaction, of unknown outcome, read \
              another such value"
            .to_owned(),
    }
}

/// What predicates are not decided with.
fn beside_predicate(question: &Question<'_>) -> &'static str {
    let history = question.history;
    if history.initial().default == InitialDefault::UnknownButOne {
        "initial values were not recorded: any row may have matched"
    } else if question.index().first_of_list().is_some() {
        "the history also has lists, which is decided in small histories only"
    } else if history.has_versions() {
        "the history also records versions, which is decided in small histories only"
    } else {
        "too many rows could have matched it; try fewer rows, or --level strong-si"
    }
}
