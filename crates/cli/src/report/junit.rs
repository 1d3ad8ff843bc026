//! The answer as JUnit XML: one test case for each level, a failure where it is violated, an error where undecided.

use std::io::Write;

use isoscope::{Answer, Decision};

use super::Report;
use crate::exit::Failure;

/// Writes the report.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let number_of = |wanted: fn(Decision) -> bool| report.names(wanted).len();
    let failures = number_of(|decision| decision == Decision::Violated);
    let errors = number_of(|decision| matches!(decision, Decision::Undecided(_)));
    let suite = escape(&report.subject.name);
    let tests = report.answers.len();
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="isoscope" tests="{tests}" failures="{failures}" errors="{errors}">"#)?;
    writeln!(out, r#"  <testsuite name="{suite}" tests="{tests}" failures="{failures}" errors="{errors}">"#)?;
    for answer in &report.answers {
        case(&suite, answer, out)?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")?;
    Ok(())
}

fn case(suite: &str, answer: &Answer, out: &mut dyn Write) -> Result<(), Failure> {
    let level = escape(answer.level.name());
    let seconds = answer.time.as_secs_f64();
    write!(out, r#"    <testcase classname="{suite}" name="{level}" time="{seconds:.6}""#)?;
    let element = match answer.decision {
        Decision::Holds => return Ok(writeln!(out, "/>")?),
        Decision::Violated => "failure",
        Decision::Undecided(_) => "error",
    };
    let reason = answer.reason().unwrap_or_default();
    let message = escape(answer.explanation.as_ref().map_or(&reason, |explanation| &explanation.headline));
    let body = escape(&match &answer.explanation {
        Some(explanation) => explanation.paragraphs().join("\n"),
        None => reason.clone(),
    });
    let kind = answer.decision.word();
    writeln!(out, ">")?;
    writeln!(out, r#"      <{element} type="{kind}" message="{message}">{body}</{element}>"#)?;
    Ok(writeln!(out, "    </testcase>")?)
}

/// Text for XML; control characters have no place there, not even escaped.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn nothing_of_a_history_becomes_markup() {
        assert_eq!(escape("<a b=\"1\">&\x07"), "&lt;a b=&quot;1&quot;&gt;&amp;\u{fffd}");
    }
}
