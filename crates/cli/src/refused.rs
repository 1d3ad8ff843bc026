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
        Error::NeedsTimes { .. } => Failure::new(format!("{}: {error}", subject.name)),
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
