//! Arbitrary bytes as certificates: an error, or a document of which the checker accepts only what is true.

use std::sync::LazyLock;

use certify::{Certificate, Error};
use history::History;

/// Small histories of every kind; their keys, operations and transactions have small numbers.
static HISTORIES: LazyLock<Vec<History>> = LazyLock::new(|| {
    let texts = [
        "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1",
        "a: r(x)=0 w(x)=1 @[0,5]\nb: r(x)=0 w(x)=2 unknown @[3..4,8..9]\nb: r(x)=1 @[10,20]",
        "init *=nil\na: a(x)=1 a(x)=2\nb: a(x)=3 unknown\nc: r(x)=[1 2 3]\nd: r(x)=[1 2]",
        "init *=nil x=1\na: pw(v = 1)=2\nb: p(v >= 1)={x=1}\nc: i(y)=2 unknown",
        "a: w(x)=1^2\nb: w(x)=1^1\nc: r(x)=1^2 r[..]={x=1}",
        "init *=?\na: r(x)=7\nb: r(x)=7 d(x)\nc: r[..]={}",
    ];
    texts.iter().map(|text| formats::notation::parse(text).expect("the notation is right")).collect()
});

/// Reads bytes, and has what they prove compared with the oracle.
pub fn check(bytes: &[u8]) {
    let document = match certify::read(bytes) {
        Err(error) => return assert!(!error.to_string().is_empty()),
        Ok(document) => document,
    };
    for history in HISTORIES.iter() {
        if let Err(Error::Flaw(flaw)) = document.check(history) {
            assert!(!flaw.to_string().is_empty());
        }
        if certify::check(history, &document.level, &document.certificate).is_ok() {
            let claim = matches!(document.certificate, Certificate::Holds { .. });
            assert_eq!(claim, testkit::oracle::holds(history, &document.level), "{document:?}");
        }
    }
}
