//! What `elle --directory` writes: for each class that was found its sentences and its picture, and a report in HTML.

use std::path::Path;

use isoscope::anomalies::lattice::Model;
use isoscope::{Check, Decision, ElleAnswer, ElleQuestion, Witness, asked_of};
use picture::{Page, Use, VerdictRow};

use crate::exit::Failure;
use crate::files::write_whole;
use crate::load::Subject;
use crate::report::html;
use crate::screen::Form;
use crate::terminal::visible;

/// Something that was found: its name, what it is, its sentences and its picture.
struct Finding {
    name: String,
    meaning: String,
    sentences: Vec<String>,
    witness: Option<Witness>,
}

/// Writes all files; a folder that is not there is made.
pub fn write(
    folder: &Path,
    subject: &Subject,
    question: &ElleQuestion,
    answer: &ElleAnswer,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::about(folder, &error))?;
    let findings = findings(subject, answer);
    for finding in &findings {
        write_finding(folder, finding)?;
    }
    html::write(&folder.join("report.html"), &page(subject, question, answer, findings))
}

fn findings(subject: &Subject, answer: &ElleAnswer) -> Vec<Finding> {
    let classes = answer.anomalies.iter().map(|anomaly| Finding {
        name: anomaly.class.name().to_owned(),
        meaning: anomaly.class.meaning(),
        sentences: anomaly.sentences.clone(),
        witness: Witness::of_class(&subject.history, anomaly),
    });
    let violated = answer.violated.iter().map(|(model, sentences)| Finding {
        name: format!("{}-cycle-exists", model.name()),
        meaning: format!("violates {}", model.friendly_name()),
        sentences: sentences.clone(),
        witness: witness_of(subject, *model),
    });
    classes.chain(violated).collect()
}

/// The witness for a model that the engine found violated.
fn witness_of(subject: &Subject, model: Model) -> Option<Witness> {
    let check = Check::new(&subject.history).levels(asked_of(model, &subject.history)?).skews(false);
    let report = check.run().ok()?;
    let answer = report.answers.iter().find(|answer| answer.decision == Decision::Violated)?;
    check.witness(answer).ok().flatten()
}

fn write_finding(folder: &Path, finding: &Finding) -> Result<(), Failure> {
    let Finding { name, meaning, sentences, witness } = finding;
    write_whole(&folder.join(format!("{name}.txt")), Form::Text, |out| {
        writeln!(out, "{name}: {meaning}")?;
        sentences.iter().try_for_each(|sentence| writeln!(out, "  {}", visible(sentence)))?;
        Ok(())
    })?;
    let Some(witness) = witness else { return Ok(()) };
    let drawn = picture::svg(witness, Use::File);
    write_whole(&folder.join(format!("{name}.svg")), Form::Text, |out| Ok(out.write_all(drawn.as_bytes())?))
}

fn page<'s>(
    subject: &'s Subject,
    question: &ElleQuestion,
    answer: &ElleAnswer,
    findings: Vec<Finding>,
) -> Page<'s> {
    let headline = subject.headline();
    let about = headline.split_once(": ").map_or(headline.as_str(), |(_, counts)| counts);
    let mut verdicts: Vec<VerdictRow> =
        question.models.iter().map(|&model| model_row(model, answer)).collect();
    let mut witnesses = Vec::new();
    for finding in findings {
        let witness = finding.witness.is_some().then_some(witnesses.len());
        witnesses.extend(finding.witness);
        verdicts.push(VerdictRow {
            level: finding.name,
            verdict: "violated",
            note: finding.meaning,
            witness,
        });
    }
    Page {
        title: subject.name.clone(),
        about: match answer.assumptions.is_empty() {
            true => about.to_owned(),
            false => format!("{about}; assumed: {}", answer.assumptions.join(", ")),
        },
        history: Some(&subject.history),
        verdicts,
        witnesses,
        ..Page::default()
    }
}

/// The verdict for a model that was asked for.
fn model_row(model: Model, answer: &ElleAnswer) -> VerdictRow {
    let forbids = model.forbids();
    let classes = answer.anomalies.iter().map(|anomaly| anomaly.class.name());
    let classes: Vec<&str> = classes.filter(|name| forbids.contains(name)).collect();
    let is_violated = answer.violated.iter().any(|&(violated, _)| violated == model);
    let (verdict, note) = match (classes.is_empty() && !is_violated, answer.valid) {
        (false, _) => ("violated", classes.join(", ")),
        (true, None) => ("undecided", answer.unknown.join("; ")),
        (true, Some(_)) => ("holds", String::new()),
    };
    VerdictRow { level: model.friendly_name().to_owned(), verdict, note, witness: None }
}
