//! A found history in words: the history, each allowed level's witness, and why each forbidden level rejects it.

use std::fmt::Write;

use spec::ground::txn_name;

use crate::problem::{Found, NoneWithin, Problem};

impl Found {
    /// The history and its evidence as text.
    pub fn report(&self, problem: &Problem<'_>) -> String {
        let mut text = self.history.to_string();
        for (level, explanation) in problem.allow.iter().zip(&self.allowed) {
            let order: Vec<String> =
                explanation.order.iter().map(|&place| txn_name(&self.history, place)).collect();
            let witness = if order.is_empty() {
                "by itself".to_string()
            } else {
                format!("in the order {}", order.join(" "))
            };
            writeln!(text, "\n{} allows it, {witness}", level.name).expect("text grows");
        }
        for (level, reasons) in problem.forbid.iter().zip(&self.forbidden) {
            writeln!(text, "\n{} forbids it: these contradict one another", level.name).expect("text grows");
            for reason in reasons {
                writeln!(text, "  {}", reason.sentence(&self.history)).expect("text grows");
            }
        }
        text
    }
}

impl NoneWithin {
    /// The scope in words.
    pub fn report(&self) -> String {
        let scope = self.scope;
        format!(
            "no such history of {} transactions, up to {} objects and up to {} values of each\n",
            scope.txns, scope.objects, scope.values
        )
    }
}
