//! The answer as SARIF 2.1.0: a rule for each level, a result for each one that is violated or undecided.
//!
//! With what GitHub's code scanning asks for beyond the schema: descriptions and help of every rule, a region of every
//! location, and fingerprints that stay the same from one run to the next.

use std::io::Write;

use serde_json::{Value, json};

use super::suite::{Case, CaseOutcome, Suite};
use crate::exit::Failure;

/// Where people read about the tool.
const INFORMATION: &str = "https://docs.rs/isoscope";

/// Writes the report.
pub fn write(suites: &[Suite], out: &mut dyn Write) -> Result<(), Failure> {
    let mut rules: Vec<&Case> = Vec::new();
    for case in suites.iter().flat_map(|suite| &suite.cases) {
        if rules.iter().all(|rule| rule.name != case.name) {
            rules.push(case);
        }
    }
    let all = suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)));
    let results: Vec<Value> = all.filter_map(|(suite, case)| result(&rules, suite, case)).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "isoscope",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": INFORMATION,
                "rules": rules.iter().map(|case| rule(case)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    serde_json::to_writer_pretty(&mut *out, &log)?;
    Ok(writeln!(out)?)
}

fn rule(case: &Case) -> Value {
    let about = if case.about.is_empty() { &case.name } else { &case.about };
    let help = format!("`isoscope levels {}` shows the definition and examples.", case.name);
    json!({
        "id": case.name,
        "name": case.name,
        "shortDescription": { "text": case.name },
        "fullDescription": { "text": about },
        "help": { "text": format!("{about} {help}"), "markdown": format!("{about}\n\n{help}") },
        "helpUri": INFORMATION,
        "defaultConfiguration": { "level": "error" },
        "properties": { "tags": ["isolation", "database"], "precision": "very-high" },
    })
}

fn result(rules: &[&Case], suite: &Suite, case: &Case) -> Option<Value> {
    let (severity, word) = match case.outcome {
        CaseOutcome::Passed | CaseOutcome::Skipped => return None,
        CaseOutcome::Failed => ("error", "violated"),
        CaseOutcome::Undecided => ("warning", "undecided"),
    };
    let mut text = format!("{}: {} is {word}", suite.name, case.name);
    for detail in [&case.message, &case.details].into_iter().filter(|detail| !detail.is_empty()) {
        text.push_str(": ");
        text.push_str(detail);
    }
    let location = json!({
        "artifactLocation": { "uri": uri(&suite.file) },
        "region": { "startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2 },
    });
    Some(json!({
        "ruleId": case.name,
        "ruleIndex": rules.iter().position(|rule| rule.name == case.name),
        "level": severity,
        "message": { "text": text },
        "locations": [{ "physicalLocation": location }],
        "partialFingerprints": { "isoscope/v1": fingerprint(suite, case) },
    }))
}

/// The same for the same violation in another run: FNV-1a of the suite, the level and the kind of anomaly.
fn fingerprint(suite: &Suite, case: &Case) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let text = [suite.name.as_str(), &case.name, &case.kind].join("\n");
    let hash = text.bytes().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME));
    format!("{hash:016x}")
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
