//! Answers that depend on a limit, made without a command and so without a race against its clock.

use std::time::Duration;

use expect_test::{Expect, expect};
use formats::Format;
use history::Summary;
use isoscope::{Check, LazyIndex, LevelId, Limits, NotAsked};

use super::shown::{Bar, Shown};
use super::{Report, json, text};
use crate::exit::Exit;
use crate::load::Subject;
use crate::screen::{Form, Screen};
use crate::terminal::Style;

const WRITE_SKEW: &str = "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n";

fn subject() -> Subject {
    let history = formats::notation::parse(WRITE_SKEW).unwrap();
    Subject {
        name: "h.txt".to_owned(),
        summary: Summary::of(&history),
        history,
        format: Format::Notation,
        warnings: Vec::new(),
        read_time: Duration::ZERO,
    }
}

/// What is shown of these levels when a limit was reached before the first was asked.
fn check(limits: &Limits, asked: &[LevelId], show: fn(&Report<'_>) -> String, expected: Expect) {
    let subject = subject();
    let asked = asked.iter().copied().collect();
    let answers = Check::new(&subject.history).levels(asked).monitor(limits).run().unwrap().answers;
    let report = Report {
        subject: &subject,
        answers,
        not_asked: vec![NotAsked { level: "strong-si", reason: "it needs timestamps" }],
        stats: None,
        witnesses: Vec::new(),
        shown: Shown::of(&subject.history, &LazyIndex::default(), Bar::ReadsOthers),
        run: None,
    };
    assert_eq!(report.exit(), Exit::Undecided);
    expected.assert_eq(&show(&report));
}

#[test]
fn a_limit_in_words() {
    let show = |report: &Report<'_>| {
        let mut shown = Vec::new();
        text::write(report, Style::default(), &mut Screen::over(&mut shown, Form::Text)).unwrap();
        String::from_utf8(shown).unwrap()
    };
    let asked = [LevelId::Serializable, LevelId::Prefix];
    check(
        &Limits::start(Some(Duration::ZERO), None).unwrap(),
        &asked,
        show,
        expect![[r#"
            h.txt is undecided: the time limit of 0 ns was reached.
            h.txt: 2 sessions, 2 transactions, 6 operations, 2 keys

              undecided  serializable, prefix: the time limit of 0 ns was reached
              not asked  strong-si: it needs timestamps
        "#]],
    );
}

#[test]
fn a_limit_in_json() {
    let show = |report: &Report<'_>| {
        let mut verdicts = json::value(report).unwrap()["verdicts"].take();
        verdicts[0].as_object_mut().unwrap().remove("time_ms");
        serde_json::to_string_pretty(&verdicts).unwrap()
    };
    let asked = [LevelId::SnapshotIsolation];
    check(
        &Limits::start(None, Some(1)).unwrap(),
        &asked,
        show,
        expect![[r#"
        [
          {
            "anomaly": null,
            "headline": null,
            "level": "snapshot-isolation",
            "participants": [],
            "reason": "the memory limit of 1 B was reached",
            "sentences": [],
            "transactions": [],
            "verdict": "undecided"
          }
        ]"#]],
    );
}
