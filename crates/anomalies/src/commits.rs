//! Positions of commits that a recording notes with its transactions.
//!
//! Tests of databases with timestamps keep them beside the operation: TiDB's as `:txn-info {:start-ts 7 :commit-ts 9}`,
//! others as `:transaction-order 9`. Readers keep fields that they do not know as the note of the transaction, in the
//! spelling of the recording; here the number is found in it. What a database says of itself is no observation, so the
//! order counts only where the user assumes it.

use history::{History, TxnId};

/// The fields, in the order in which they are looked for.
const FIELDS: [&str; 3] = ["commit-ts", "commit_ts", "transaction-order"];

/// The position of a transaction's commit, if its note has one.
pub(crate) fn position(history: &History, txn: TxnId) -> Option<i64> {
    let note = history.txn_note(txn)?;
    FIELDS.iter().find_map(|field| number_after(&note, field))
}

/// The number behind a field, as EDN and JSON write it: `:commit-ts 9`, `"commit-ts": 9`.
fn number_after(note: &str, field: &str) -> Option<i64> {
    let (_, rest) = note.split_once(field)?;
    let rest = rest.trim_start_matches(['"', ':', ' ']);
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '-').unwrap_or(rest.len());
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::number_after;

    #[test]
    fn a_number_is_found_behind_its_field() {
        assert_eq!(number_after("txn-info {:start-ts 7 :commit-ts 9}", "commit-ts"), Some(9));
        assert_eq!(number_after(r#"txn-info {"commit_ts": 12, "a": 1}"#, "commit_ts"), Some(12));
        assert_eq!(number_after("transaction-order 3", "transaction-order"), Some(3));
        assert_eq!(number_after("commit-ts nil", "commit-ts"), None);
        assert_eq!(number_after("commit-ts 99999999999999999999", "commit-ts"), None);
        assert_eq!(number_after("node n1", "commit-ts"), None);
    }
}
