//! Errors of the library as failures of the command. A verdict whose certificate the checker refused is saved, so that it
//! can be reported.

use certify::Fingerprint;
use history::History;
use isoscope::{Error, Refused};

use crate::exit::Failure;
use crate::files::write_whole;
use crate::load::Subject;
use crate::screen::Form;

/// The failure, with the case saved in the folder for temporary files if the checker refused a certificate.
pub fn failure(subject: &Subject, error: Error) -> Failure {
    match error {
        Error::NeedsTimes { .. } | Error::NoRecordedLevel(_) => {
            Failure::new(format!("{}: {error}", subject.name))
        }
        Error::Refused(refused) => Failure::new(format!(
            "{}; {}",
            Error::Refused(refused.clone()),
            match save(&subject.history, &refused) {
                Ok(files) => format!("please report it with {files}"),
                Err(failure) =>
                    format!("please report it with the history (saving the case failed: {failure})"),
            }
        )),
        other => Failure::new(other.to_string()),
    }
}

/// Writes the history and the certificate, and names both files.
fn save(history: &History, refused: &Refused) -> Result<String, Failure> {
    let fingerprint = Fingerprint::of(history);
    let folder = std::env::temp_dir();
    let stem = format!("isoscope-refused-{fingerprint}");
    let (text, certificate) =
        (folder.join(format!("{stem}.txt")), folder.join(format!("{stem}.certificate.json")));
    let notation = formats::notation::print(history).map_err(|error| Failure::new(error.to_string()))?;
    write_whole(&text, Form::Text, |out| Ok(out.write_all(notation.as_bytes())?))?;
    write_whole(&certificate, Form::Json, |mut out| {
        Ok(certify::write(&refused.certificate, &refused.level, fingerprint, &mut out)?)
    })?;
    Ok(format!("{} and {}", text.display(), certificate.display()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use certify::{Certificate, Level, Node};
    use formats::{Format, ReadOptions};
    use history::Summary;

    use super::*;
    use crate::exit::Exit;

    /// Each of two transactions reads what the other overwrites: no order explains that. The names of the keys are not
    /// used elsewhere, so neither are the names of the saved files.
    const WRITE_SKEW: &str = "a: r(refused_p)=0 w(refused_q)=1\nb: r(refused_q)=0 w(refused_p)=1\n";

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

    #[test]
    fn a_refused_certificate_is_an_internal_error_and_is_saved_with_its_history() {
        let (subject, level) = (subject(), Level::SERIALIZABLE);
        let certificate = Certificate::Holds { order: vec![Node(0), Node(1)], committed_unknown: Vec::new() };
        let flaw = certify::check(&subject.history, &level, &certificate).unwrap_err();
        let refused = Refused { level, certificate: certificate.clone(), flaw };
        let failure = failure(&subject, Error::Refused(Box::new(refused)));
        assert_eq!(failure.exit(), Exit::Failed);
        let sentence = failure.to_string();
        assert!(sentence.contains("internal error: the checker refused"), "{sentence}");
        assert!(sentence.contains("please report it with"), "{sentence}");

        let fingerprint = Fingerprint::of(&subject.history);
        let stem = std::env::temp_dir().join(format!("isoscope-refused-{fingerprint}"));
        let [text, document] =
            ["txt", "certificate.json"].map(|ending| format!("{}.{ending}", stem.display()));
        assert!(sentence.contains(&text) && sentence.contains(&document), "{sentence}");
        let saved = std::fs::read(&text).unwrap();
        let history = formats::read_bytes(&text, &saved, &ReadOptions::default()).unwrap().history;
        assert_eq!(Fingerprint::of(&history), fingerprint);
        let saved = certify::read(&std::fs::read(&document).unwrap()).unwrap();
        assert_eq!((saved.level, saved.certificate.clone()), (level, certificate));
        assert!(saved.check(&history).is_err(), "the saved certificate shows the error");
        std::fs::remove_file(text).unwrap();
        std::fs::remove_file(document).unwrap();
    }
}
