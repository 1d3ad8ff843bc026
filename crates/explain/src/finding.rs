//! A violation that one read shows by itself.

use history::OpId;
use index::{Finding, Index};

use crate::terms::Terms;
use crate::{Anomaly, Explanation, Line};

/// The finding about a read.
pub(crate) fn about(index: &Index, read: OpId) -> Option<&Finding> {
    let findings = index.findings();
    findings.iter().find(|finding| finding.read == read)
}

/// The explanation that a finding is.
pub(crate) fn explain(terms: &Terms<'_>, finding: &Finding) -> Explanation {
    let anomaly = Anomaly::Finding(finding.kind);
    let other = finding.other.map(|op| terms.history.txn_of(op));
    let mut transactions = vec![finding.txn];
    transactions.extend(other.filter(|&other| other != finding.txn));
    let class = anomaly.class().map_or_else(String::new, |class| format!(" ({class})"));
    Explanation {
        anomaly,
        keys: vec![finding.key],
        headline: format!("{} on key {}{class}", anomaly.name(), terms.key(finding.key)),
        participants: Vec::new(),
        transactions,
        cycle: Vec::new(),
        lines: vec![Line { depth: 0, text: finding.sentence(terms.history) }],
    }
}
