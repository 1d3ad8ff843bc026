//! Arbitrary text as a predicate: an error, or a predicate that says the same once it was printed and read again.

use history::{Datum, Predicate};

/// Parses a text, and tries what it gives on a few rows.
pub fn parse(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let predicate = match Predicate::parse(&Datum::str(text)) {
        Err(error) => return assert!(!error.to_string().is_empty()),
        Ok(predicate) => predicate,
    };
    let printed = predicate.print();
    let again = Predicate::parse(&Datum::str(printed.as_str())).expect("what is printed is read");
    assert_eq!(again.print(), printed);
    for (key, row) in rows() {
        assert_eq!(predicate.matches(&key, &row), again.matches(&key, &row), "{printed} of {key} {row}");
    }
}

fn rows() -> Vec<(Datum, Datum)> {
    let columns = |a: Datum, b: Datum| Datum::row(vec![("a".into(), a), ("b".into(), b)]);
    let values = [
        Datum::Nil,
        Datum::Int(0),
        Datum::Int(-7),
        Datum::Int(i64::MIN),
        Datum::Int(i64::MAX),
        Datum::Bool(true),
        Datum::str("text"),
        Datum::float(0.5),
        columns(Datum::Int(1), Datum::str("x")),
        columns(Datum::Nil, Datum::Int(i64::MAX)),
    ];
    let keys = [Datum::Int(1), Datum::str("k")];
    keys.iter().flat_map(|key| values.iter().map(move |row| (key.clone(), row.clone()))).collect()
}
