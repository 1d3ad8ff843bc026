//! The answer as a Markdown summary, for the page of a CI job.

use std::io::Write;

use isoscope::{Answer, Decision};

use super::Report;
use crate::exit::Failure;

/// Writes the report.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "### {}\n\n{}\n", escape(&report.sentence()), escape(&report.subject.headline()))?;
    writeln!(out, "| level | verdict | |\n|---|---|---|")?;
    for answer in &report.answers {
        row(answer, out)?;
    }
    for left in &report.not_asked {
        writeln!(out, "| {} | not asked | {} |", left.level, left.reason)?;
    }
    for violation in report.weakest_violated().0 {
        if let Some(explanation) = &violation.answer.explanation {
            writeln!(out, "\n**{}**\n", escape(&violation.levels.join(", ")))?;
            for participant in &explanation.participants {
                writeln!(out, "- {}", escape(participant))?;
            }
            for line in &explanation.lines {
                writeln!(out, "{}- {}", "  ".repeat(line.depth), escape(&line.text))?;
            }
        }
    }
    Ok(())
}

fn row(answer: &Answer, out: &mut dyn Write) -> Result<(), Failure> {
    let mark = match answer.decision {
        Decision::Holds => "✅",
        Decision::Violated => "❌",
        Decision::Undecided(_) => "❔",
    };
    let headline = answer.explanation.as_ref().map(|explanation| explanation.headline.clone());
    let note = headline.or_else(|| answer.reason()).unwrap_or_default();
    let level = escape(answer.level.name());
    let word = answer.decision.word();
    Ok(writeln!(out, "| {level} | {mark} {word} | {} |", escape(&note))?)
}

/// Text that Markdown and HTML leave alone.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '~' => {
                out.push('\\');
                out.push(char);
            }
            '\n' => out.push(' '),
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
        assert_eq!(escape("a|b <i> `x`"), "a\\|b &lt;i&gt; \\`x\\`");
    }
}
