//! The answer as JUnit XML: a suite for each history, a case for each level.
//!
//! A violation is a failure, an undecided level an error, and a level that was not asked is skipped.

use std::io::Write;

use super::suite::{Case, CaseOutcome, Suite};
use crate::exit::Failure;

/// Writes the report.
pub fn write(suites: &[Suite], out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(out, r#"<testsuites name="isoscope"{}>"#, counts(suites))?;
    for suite in suites {
        let name = escape(&suite.name);
        let counts = counts(std::slice::from_ref(suite));
        writeln!(out, r#"  <testsuite name="{name}"{counts}>"#)?;
        suite.cases.iter().try_for_each(|one| case(&name, one, out))?;
        writeln!(out, "  </testsuite>")?;
    }
    Ok(writeln!(out, "</testsuites>")?)
}

/// The numbers of cases, as attributes.
fn counts(suites: &[Suite]) -> String {
    let all = |outcome| suites.iter().map(|suite| suite.count(outcome)).sum::<usize>();
    let tests: usize = suites.iter().map(|suite| suite.cases.len()).sum();
    format!(
        r#" tests="{tests}" failures="{}" errors="{}" skipped="{}""#,
        all(CaseOutcome::Failed),
        all(CaseOutcome::Undecided),
        all(CaseOutcome::Skipped)
    )
}

fn case(suite: &str, case: &Case, out: &mut dyn Write) -> Result<(), Failure> {
    let (name, seconds) = (escape(&case.name), case.time.as_secs_f64());
    let message = escape(&case.message);
    write!(out, r#"    <testcase classname="{suite}" name="{name}" time="{seconds:.6}""#)?;
    let (element, kind) = match case.outcome {
        CaseOutcome::Passed => return Ok(writeln!(out, "/>")?),
        CaseOutcome::Skipped => {
            return Ok(writeln!(out, ">\n      <skipped message=\"{message}\"/>\n    </testcase>")?);
        }
        CaseOutcome::Failed => ("failure", "violated"),
        CaseOutcome::Undecided => ("error", "undecided"),
    };
    let body = escape(&case.details);
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
