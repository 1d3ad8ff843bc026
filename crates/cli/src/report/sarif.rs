//! The answer as SARIF 2.1.0: a rule for each level, a result for each one that is violated or undecided.

use std::io::Write;

use serde_json::{Value, json};

use isoscope::{Answer, Decision};

use super::Report;
use crate::exit::Failure;

/// Writes the report.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let rules: Vec<_> = report.answers.iter().map(rule).collect();
    let results: Vec<_> = report.answers.iter().filter_map(|answer| result(report, answer)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "isoscope",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    Ok(writeln!(out)?)
}

fn rule(answer: &Answer) -> Value {
    let description = match answer.level.shipped() {
        Some(level) => level.spec().description.replace('\n', " "),
        None => "a level of the user's own".to_owned(),
    };
    json!({ "id": answer.level.name(), "shortDescription": { "text": description } })
}

fn result(report: &Report<'_>, answer: &Answer) -> Option<Value> {
    let severity = match answer.decision {
        Decision::Holds => return None,
        Decision::Violated => "error",
        Decision::Undecided(_) => "warning",
    };
    let mut text = format!("{} is {}", answer.level, answer.decision.word());
    let headline = answer.explanation.as_ref().map(|explanation| explanation.headline.clone());
    for detail in [headline, answer.reason()].into_iter().flatten() {
        text.push_str(": ");
        text.push_str(&detail);
    }
    Some(json!({
        "ruleId": answer.level.name(),
        "level": severity,
        "message": { "text": text },
        "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(&report.subject.name) } } }],
    }))
}

/// A relative reference to the file, with everything escaped that a URI does not allow.
fn uri(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    path.bytes()
        .map(|byte| match is_plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn a_file_name_becomes_a_uri() {
        assert_eq!(uri("runs/night 1.edn"), "runs/night%201.edn");
    }
}
