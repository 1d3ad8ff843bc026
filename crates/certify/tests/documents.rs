//! Certificates as text: what the documentation shows passes, and any bytes give a document or an error.

use history::{History, KeyId, OpId, TxnId};
use isoscope_certify::text::{self, TextCertificate, TextDocument};
use isoscope_certify::{Certificate, Error, Fingerprint, Level, Lit, ReadId, Rule, Source, Step, read};

const DOCUMENTATION: &str = include_str!("../../../docs/certificates.md");

/// The blocks of the documentation in this language, with the fingerprint of its history filled in.
fn blocks(language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = DOCUMENTATION.split(&fence).skip(1);
    blocks.map(|block| block.split("```").next().unwrap().to_string()).collect()
}

fn documented() -> (History, Vec<String>) {
    let history = formats::notation::parse(&blocks("text")[0]).unwrap();
    let fingerprint = Fingerprint::of(&history).to_string();
    let fill = |block: String| block.replace("FINGERPRINT", &fingerprint);
    let certificates = blocks("json").into_iter().map(fill).collect();
    (history, certificates)
}

#[test]
fn the_certificates_of_the_documentation_pass_and_come_out_as_they_are_written() {
    let (history, certificates) = documented();
    assert_eq!(certificates.len(), 2);
    for text in certificates {
        let document = read(text.as_bytes()).unwrap();
        document.check(&history).unwrap();
        let mut written = Vec::new();
        isoscope_certify::write(&document.certificate, &document.level, document.history, &mut written)
            .unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text);
    }
}

#[test]
fn a_certificate_for_another_history_is_refused() {
    let (_, certificates) = documented();
    let document = read(certificates[0].as_bytes()).unwrap();
    let base = "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1";
    let others = [
        base.replace("w(y)=1", "w(y)=2"),
        base.replace("r(y)=0 w(y)", "w(y)"),
        base.replace("b:", "a:"),
        base.replace('x', "z"),
        format!("{base} abort"),
        format!("{base} unknown"),
        format!("{base} @[1,2]"),
        format!("init *=?\n{base}"),
    ];
    let mut seen = vec![document.history];
    for other in others {
        let history = formats::notation::parse(&other).unwrap();
        let error = document.check(&history).unwrap_err();
        assert!(matches!(error, Error::OtherHistory { .. }), "{other}: {error}");
        assert!(error.to_string().contains("check it against the file that it was made from"));
        let fingerprint = Fingerprint::of(&history);
        assert!(!seen.contains(&fingerprint), "{other}: the same fingerprint");
        seen.push(fingerprint);
    }
    let renamed = base.replace("a:", "one:").replace("b:", "two:");
    assert!(document.check(&formats::notation::parse(&renamed).unwrap()).is_ok(), "names do not count");
}

/// Stored certificates would be worthless if this number changed: then the form needs a new version.
#[test]
fn the_fingerprint_is_for_ever() {
    let history = formats::notation::parse("a: r(x)=0 w(\"long key\")=-5 @[1,2]\nb: d(x) abort").unwrap();
    assert_eq!(Fingerprint::of(&history).to_string(), "eefe8f33c20384a2855888dfaa642c01");
    assert!("00".parse::<Fingerprint>().is_err());
}

#[track_caller]
fn refused(from: &str, to: &str, expected: &str) {
    let (_, certificates) = documented();
    let text = certificates.concat();
    assert!(text.contains(from), "nothing to replace");
    let certificate = certificates.iter().find(|text| text.contains(from)).unwrap();
    let error = read(certificate.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    refused(
        "_certificate\": 1",
        "_certificate\": 2",
        "the form has version 2, and this program reads version 1",
    );
    refused("\"holds\"", "\"perhaps\"", "verdict: expected \"holds\" or \"violated\"");
    refused(
        "\"holds\"",
        "\"violated\"",
        "verdict: \"violated\" needs steps, may have keys, and nothing else",
    );
    refused("\"verdict\"", "\"verdikt\"", "unknown field `verdikt`");
    refused(
        "\"b0\"",
        "\"t0\"",
        "order[0]: transactions of this level begin and commit: write b or c and a number",
    );
    refused("\"b0\"", "\"b\"", "expected an event such as");
    refused("\"b0\"", "\"b-1\"", "at line 6 column");
    refused("\"b0\"", "\"b4294967295\"", "order[0]: transaction 4294967295 is out of range");
    refused("\"t0<t1\"", "\"b0<c1\"", "steps[1].clause[1]: transactions of this level have one event each");
    refused("\"t0<t1\"", "\"t0<t1<t2\"", "expected a literal such as");
    refused("\"snapshot\"", "\"snap\"", "level.core: expected serializable, snapshot or prefix");
    refused(
        "\"snapshot\"",
        "\"prefix\"",
        "level.name: the other parts of the level are those of no named level",
    );
    refused("\"ignored\"", "\"never\"", "level.real_time: expected");
    refused("\"overwritten\"", "\"written\"", "steps[1].rule: there is no rule \"written\"");
    refused("\"derived\", \"from\": [0, 1, 2, 3]", "\"derived\"", "the rule derived needs a from");
    refused("\"sources\", \"read\": 1", "\"sources\"", "the rule sources needs a read");
    refused("\"overwritten\"", "\"overwritten\", \"read\": 1", "has no read and no from");
}

#[test]
fn any_bytes_give_a_document_or_an_error() {
    let (history, certificates) = documented();
    let mut outcomes = [0; 2];
    for text in certificates {
        let bytes = text.as_bytes();
        for place in 0..bytes.len() {
            assert!(read(&bytes[..place]).is_err() || bytes[place..].trim_ascii().is_empty());
            for replacement in *b"09\"}]<!tbr,\\\xff" {
                let mut changed = bytes.to_vec();
                changed[place] = replacement;
                let result = read(&changed).and_then(|document| document.check(&history));
                outcomes[usize::from(result.is_ok())] += 1;
            }
        }
    }
    assert!(outcomes[0] > outcomes[1] * 20, "{outcomes:?}");
    assert!(read(&b"[".repeat(100_000)).is_err(), "nesting is limited");
}

/// What the form of the file does not allow is an error, whatever it would mean.
#[test]
fn the_form_of_a_file_is_attacked() {
    refused(
        "\"verdict\": \"holds\"",
        "\"verdict\": \"holds\", \"verdict\": \"holds\"",
        "duplicate field `verdict`",
    );
    refused(
        "\"isoscope_certificate\": 1",
        "\"isoscope_certificate\": 1, \"isoscope_certificate\": 1",
        "duplicate field",
    );
    refused("\"sessions\": false, ", "", "missing field `sessions`");
    refused("\"clock_skew\": 0", "\"clock_skew\": 0, \"clock_skew\": 0", "duplicate field `clock_skew`");
    refused("\"clock_skew\": 0", "\"clock_skew\": 0.5", "expected i64");
    refused("\"clock_skew\": 0", "\"clock_skew\": 9223372036854775808", "expected i64");
    refused("\"clock_skew\": 0", "\"clock_skew\": \"0\"", "expected i64");
    refused("\"committed_unknown\": []", "\"committed_unknown\": [4294967296]", "expected u32");
    refused("\"committed_unknown\": []", "\"committed_unknown\": [-1]", "expected u32");
    refused("\"committed_unknown\": [],", "", "needs order and committed_unknown");
    refused(
        "\"committed_unknown\": []",
        "\"committed_unknown\": [], \"keys\": [0]",
        "neither steps nor keys",
    );
    refused(
        "\"committed_unknown\": []",
        "\"committed_unknown\": [], \"steps\": []",
        "neither steps nor keys",
    );
    refused("\"read\": 1", "\"read\": 1, \"read\": 1", "duplicate field `read`");
    refused("\"read\": 1", "\"read\": 4294967296", "expected u32");
    refused("\"read\": 1", "\"read\": 1, \"why\": 1", "unknown field `why`");
    refused("\"clause\": [\"r1=init\"]", "\"clause\": \"r1=init\"", "expected a sequence");
    refused(
        "\"from\": [0, 1, 2, 3]",
        "\"from\": [0, 1, 2, 3], \"steps\": []",
        "only the rule case has steps",
    );
    refused("\"clause\": []}]}", "\"clause\": []}]} {}", "trailing characters");
    refused("r1=init", "r4294967296=init", "expected a literal");
    refused("r1=init", "r1.4294967296=init", "expected a literal");
    refused("r1=init", "!!r1=init", "expected a literal");
    refused("r1=init", "took1.2.3.4", "expected a literal");
}

/// A case within cases, as deep as one likes, is an error and no overflow of the stack.
#[test]
fn cases_in_cases_are_refused() {
    let (_, certificates) = documented();
    let from = "{\"rule\": \"sources\", \"read\": 1, \"clause\": [\"r1=init\"]}";
    let violated = certificates.iter().find(|text| text.contains(from)).unwrap();
    for depth in [2, 10, 100, 1_000, 100_000] {
        let opened = "{\"rule\": \"case\", \"clause\": [], \"steps\": [".repeat(depth);
        let nested = format!("{opened}{}", "]}".repeat(depth));
        let error = read(violated.replacen(from, &nested, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains("is no part of a case") || error.contains("recursion limit"), "{error}");
    }
}

/// Numbers that name nothing, and lists that are longer than the history has room for, are refused by the checker.
#[test]
fn what_a_certificate_names_must_be_there() {
    let (history, certificates) = documented();
    let refused = |from: &str, to: &str| {
        let text = certificates.iter().find(|text| text.contains(from)).unwrap().replacen(from, to, 1);
        let checked = read(text.as_bytes()).unwrap().check(&history);
        assert!(matches!(checked, Err(Error::Flaw(_))), "{from} to {to}: {checked:?}");
    };
    for number in ["2", "6", "4294967295", "2147483647"] {
        refused("\"read\": 1", &format!("\"read\": {number}"));
        refused("\"r1=init\"", &format!("\"r{number}=init\""));
        refused("\"r1=init\"", &format!("\"r1.{number}=init\""));
        refused("\"r1=init\"", &format!("\"r1=t{number}\""));
        refused("\"r1=init\"", &format!("\"in{number}\""));
        refused("\"r1=init\"", &format!("\"took{number}.{number}.{number}\""));
        if number != "2" {
            refused("\"from\": [0,", &format!("\"from\": [{number}, 0,"));
        }
        refused("\"committed_unknown\": []", &format!("\"committed_unknown\": [{number}]"));
        refused("\"verdict\": \"violated\"", &format!("\"keys\": [{number}], \"verdict\": \"violated\""));
        for rule in ["internal", "listed", "list_order", "row_count"] {
            refused("\"sources\", \"read\": 1", &format!("\"{rule}\", \"read\": {number}"));
        }
    }
    refused("\"b0\"", "\"b2147483646\"");
    let many = format!("{}\"b0\"", "\"b0\", ".repeat(100_000));
    refused("\"b0\"", &many);
    let many = format!("{}\"r1=init\"", "\"r1=init\", ".repeat(100_000));
    let text = certificates[1].replacen("\"r1=init\"", &many, 1);
    assert!(read(text.as_bytes()).unwrap().check(&history).is_ok(), "a clause is a set of literals");
}

/// Each history differs from the others in one thing that a verdict may rest on.
#[test]
fn whatever_a_history_records_changes_its_fingerprint() {
    let texts = [
        "init *=nil\na: a(x)=1 a(x)=2\nb: r(x)=[1 2]",
        "init *=nil\na: a(x)=1 a(x)=2\nb: r(x)=[2 1]",
        "init *=nil\na: a(x)=1 a(x)=2\nb: r(x)=[1]",
        "init *=nil\na: a(x)=1 a(x)=2\nb: r(y)=[1]",
        "init *=nil\nkeys 1 2 3\na: w(1)=5\nb: r[1..2]={1=5}",
        "init *=nil\nkeys 1 2 3\na: w(1)=5\nb: r[1..3]={1=5}",
        "init *=nil\nkeys 1 2 3\na: w(1)=5\nb: r(1..3]={1=5}",
        "init *=nil\nkeys 1 2 3\na: w(1)=5\nb: r[2..3]={1=5}",
        "init *=nil\nkeys 1 2 3\na: w(1)=5\nb: r[1..2]={1=6}",
        "init *=nil\nkeys 1 2 3\na: w(1)=5\nb: r[1..2]={2=5}",
        "init *=nil\nkeys 1 2 3\na: w(1)=5\nb: r[1..2]={~1=5}",
        "init *=nil\nkeys 1 2 3\na: w(1)=5\nb: r[1..2]={}",
        "init *=nil\nkeys 1 2 3\na: w(1)=5\nb: r[1..2]=?",
        "init *=nil\na: w(x)=[1 2]",
        "init *=nil\na: w(x)=[1 3]",
        "init *=nil\na: w(x)=[1 [2]]",
        "init *=nil\na: w(x)=[1 [3]]",
        "init *=nil x=1\na: w(x)=1 w(y)=1",
        "init *=nil y=1\na: w(x)=1 w(y)=1",
        "a: w(x)=1",
        "a: w(x)=1^5",
        "a: w(x)=1^6",
        "a: w(x)=1 at serializable",
        "a: w(x)=1 at read-committed",
        "init x=1\na: w(x)=1",
        "init x=2\na: w(x)=1",
        "init x=1 y=2\na: w(x)=1",
        "init x=2 y=1\na: w(x)=1",
        "a: w(x)={a: 1}",
        "a: w(x)={a: 2}",
        "a: w(x)={b: 1}",
        "a: w(x)={a: \"1\"}",
    ];
    let fingerprint = |text: &str| Fingerprint::of(&formats::notation::parse(text).unwrap());
    for (place, text) in texts.iter().enumerate() {
        let same = texts[..place].iter().find(|other| fingerprint(other) == fingerprint(text));
        assert_eq!(same, None, "{text}");
    }
    let written = fingerprint("a: w(x)=1").to_string();
    assert!(written.parse::<Fingerprint>().is_ok());
    for wrong in [format!("+{}", &written[1..]), "A".repeat(32), "0".repeat(31)] {
        assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
    }
    let (one, other) = ("init x=1 y=2\na: w(x)=1", "init y=2 x=1\na: w(x)=1");
    assert_eq!(fingerprint(one), fingerprint(other), "initial values have no order");
}

#[test]
fn a_certificate_for_a_text_comes_out_as_it_was_written() {
    let history = formats::notation::parse("a: w(x)=1\nb: w(x)=1\nc: r(x)=1 @[1,2]").unwrap();
    let txns = [0, 2, 1].map(TxnId);
    let sources = vec![(OpId(2), KeyId(0), Some(TxnId(0))), (OpId(3), KeyId(1), None)];
    let certificates = [
        TextCertificate::Holds { order: txns.to_vec(), sources },
        TextCertificate::Violated { txns: txns.to_vec() },
    ];
    for certificate in certificates {
        for clock_skew in [0, 7] {
            let (level, history) = ("causal".to_owned(), Fingerprint::of(&history));
            let document = TextDocument { certificate: certificate.clone(), level, history, clock_skew };
            let mut written = Vec::new();
            text::write(&document, &mut written).unwrap();
            assert_eq!(text::read(&written).unwrap(), Some(document));
            let other_version = String::from_utf8(written).unwrap().replacen(": 1,", ": 99,", 1);
            assert!(text::read(other_version.as_bytes()).is_err());
        }
    }
}

#[test]
fn a_certificate_for_a_text_is_for_one_history() {
    let history = formats::notation::parse("a: w(x)=1\nb: r(x)=1").unwrap();
    let other = formats::notation::parse("a: w(x)=1\nb: r(x)=1\nc: w(x)=2 abort").unwrap();
    let order = vec![TxnId(0), TxnId(1)];
    let certificate = TextCertificate::Holds { order, sources: Vec::new() };
    let (fingerprint, level) = (Fingerprint::of(&history), spec::library::level("causal").unwrap());
    let document =
        TextDocument { certificate, level: "causal".to_owned(), history: fingerprint, clock_skew: 0 };
    document.check(&history, level).unwrap();
    assert!(matches!(document.check(&other, level).unwrap_err(), Error::OtherHistory { .. }));
}

#[test]
fn every_named_level_is_found_by_its_name() {
    for (name, level) in Level::NAMED {
        assert_eq!(Level::named(name), Some(level));
        assert_eq!(level.name(), Some(name));
    }
    assert_eq!(Level::named("causal"), None);
}

#[test]
fn cases_and_reads_of_ranges_come_out_as_they_were_written() {
    let history = formats::notation::parse("init *=nil\na: w(x)=1\nb: p(v = 1)={x=1}").unwrap();
    let (level, fingerprint) = (Level::SERIALIZABLE, Fingerprint::of(&history));
    let read_of_row = ReadId { op: OpId(1), key: Some(KeyId(0)) };
    let source = Step {
        clause: vec![Lit::read_from(read_of_row, Source::Txn(TxnId(0)))],
        rule: Rule::Sources(read_of_row),
    };
    let case =
        |steps: Vec<Step>| Step { clause: vec![!Lit::took(TxnId(1), KeyId(0), 1)], rule: Rule::Case(steps) };
    let written = |steps: Vec<Step>| {
        let certificate = Certificate::Violated { steps, keys: Some(vec![KeyId(0)]) };
        let mut text = Vec::new();
        isoscope_certify::write(&certificate, &level, fingerprint, &mut text).unwrap();
        (certificate, text)
    };
    let (certificate, text) = written(vec![source.clone(), case(vec![source.clone()])]);
    assert_eq!(read(&text).unwrap().certificate, certificate);
    let (_, nested) = written(vec![case(vec![case(vec![source])])]);
    let error = read(&nested).unwrap_err().to_string();
    assert!(error.contains("the rule case needs steps, and is no part of a case"), "{error}");
}

/// Takes everything but what is written the first, second, ... time.
struct FailsOnce(usize);

impl std::io::Write for FailsOnce {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let is_now = self.0 == 0;
        self.0 = self.0.wrapping_sub(1);
        if is_now { Err(std::io::Error::other("full")) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_certificate_that_was_not_written_to_the_end_is_an_error() {
    let history = formats::notation::parse("a: w(x)=1\nb: r(x)=1").unwrap();
    let sources = vec![(OpId(1), KeyId(0), Some(TxnId(0))), (OpId(1), KeyId(0), None)];
    let order = vec![TxnId(0), TxnId(1)];
    let certificates =
        [TextCertificate::Violated { txns: order.clone() }, TextCertificate::Holds { order, sources }];
    for certificate in certificates {
        let (level, history) = ("causal".to_owned(), Fingerprint::of(&history));
        let document = TextDocument { certificate, level, history, clock_skew: 3 };
        let is_written = |after: usize| text::write(&document, &mut FailsOnce(after)).is_ok();
        let count = (0..1_000).find(|&after| is_written(after)).unwrap();
        assert!(count > 10 && (count..1_000).all(is_written), "it ended after {count} of its parts");
    }
}
