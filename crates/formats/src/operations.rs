//! The operations of a Jepsen history that are no transactions, such as `{:type :ok, :f :add, :value 1, :process 0}`.
//!
//! Values are kept as they are, since each workload gives them a meaning of its own. The file is read as a whole.

use std::fs::File;
use std::io;

use history::Datum;

use crate::edn::{Scanner, Stop, Syntax};
use crate::error::excerpt;
use crate::input::open;
use crate::{Error, Format, Input, Place, ReadOptions};

/// What is known of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It was asked for.
    Invoke,
    /// It happened.
    Ok,
    /// It did not happen.
    Fail,
    /// It may have happened.
    Info,
}

/// One map of the history.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    /// What is known of it.
    pub stage: Stage,
    /// The client; operations of others, such as the nemesis, are left out.
    pub process: Option<i64>,
    /// Which operation it is, such as `add`.
    pub f: String,
    /// Its value, nil if it has none.
    pub value: Datum,
    /// The line at which it begins.
    pub line: u64,
}

/// Reads the operations of clients, in their order.
///
/// # Errors
/// If the file cannot be read or is not a history in EDN or JSON, with the place.
pub fn read_operations(input: &Input, options: &ReadOptions) -> Result<Vec<Operation>, Error> {
    let name = match input {
        Input::Stdin => "standard input".to_owned(),
        Input::Path(path) => path.display().to_string(),
    };
    let mut source = match input {
        Input::Stdin => open(&name, io::stdin().lock(), options)?,
        Input::Path(path) => {
            open(&name, File::open(path).map_err(|error| Error::io(&name, &error))?, options)?
        }
    };
    let mut bytes = source.read_to_end()?.to_vec();
    // The end of the last form is found at a blank.
    bytes.push(b'\n');
    let syntax = match options.format {
        Some(Format::JepsenJson) => Syntax::Json,
        _ => Syntax::Edn,
    };
    parse(&bytes, syntax).map_err(|(at, expected)| {
        let line = line_of(&bytes, at);
        let found = match at + 1 >= bytes.len() {
            true => "the end of the file".to_owned(),
            false => excerpt(bytes[at..].split(|&byte| byte == b'\n').next().unwrap_or_default()),
        };
        Error::input(&name, Place::Line(line), expected, found)
    })
}

fn line_of(bytes: &[u8], at: usize) -> u64 {
    bytes[..at.min(bytes.len())].iter().filter(|&&byte| byte == b'\n').count() as u64 + 1
}

fn parse(bytes: &[u8], syntax: Syntax) -> Result<Vec<Operation>, (usize, &'static str)> {
    let mut scanner = Scanner::new(bytes, syntax);
    let mut operations = Vec::new();
    let mut closer = None;
    let (mut line, mut counted) = (1, 0);
    loop {
        let is_over = scanner.skip_blanks().is_err() || scanner.at >= bytes.len();
        match (is_over, closer) {
            (true, None) => return Ok(operations),
            (true, Some(_)) => return Err((bytes.len(), "the end of the vector of operations")),
            (false, Some(closer)) if bytes[scanner.at] == closer => return Ok(operations),
            _ => {}
        }
        if operations.is_empty() && closer.is_none() && matches!(bytes[scanner.at], b'[' | b'(') {
            closer = Some(if bytes[scanner.at] == b'[' { b']' } else { b')' });
            scanner.at += 1;
            continue;
        }
        let start = scanner.at;
        line += bytes[counted..start].iter().filter(|&&byte| byte == b'\n').count() as u64;
        counted = start;
        let form = scanner.datum().map_err(|stop| match stop {
            Stop::Bad(at, expected) => (at, expected),
            Stop::Incomplete => (bytes.len(), "the rest of an operation"),
        })?;
        operations.extend(operation(form, line).map_err(|expected| (start, expected))?);
    }
}

/// The operation of a map; none if it is not one of a client.
fn operation(form: Datum, line: u64) -> Result<Option<Operation>, &'static str> {
    let form = match form {
        Datum::Tagged(tagged) => tagged.1.clone(),
        other => other,
    };
    let Datum::Row(members) = form else { return Err("a map such as {:type :ok, :f :add, :value 1}") };
    let (mut stage, mut process, mut f, mut value) = (None, None, String::new(), Datum::Nil);
    let mut is_client = true;
    for (name, member) in members {
        match (word(&name), member) {
            (Some("type"), kind) => stage = stage_of(&kind),
            (Some("process"), Datum::Int(number)) => process = Some(number),
            (Some("process"), _) => is_client = false,
            (Some("f"), name) => f = word(&name).unwrap_or_default().to_owned(),
            (Some("value"), member) => value = member,
            _ => {}
        }
    }
    let stage = stage.ok_or("an operation whose :type is :invoke, :ok, :fail or :info")?;
    Ok(is_client.then_some(Operation { stage, process, f, value, line }))
}

fn stage_of(kind: &Datum) -> Option<Stage> {
    match word(kind)? {
        "invoke" => Some(Stage::Invoke),
        "ok" => Some(Stage::Ok),
        "fail" => Some(Stage::Fail),
        "info" => Some(Stage::Info),
        _ => None,
    }
}

fn word(datum: &Datum) -> Option<&str> {
    match datum {
        Datum::Keyword(text) | Datum::Str(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_alone_and_in_a_vector() {
        let maps = "{:type :invoke, :f :add, :value 1, :process 0}\n{:type :info :f :kill :process :nemesis}\n\
                    #jepsen.history.Op{:type :ok, :f :read, :value #{1 2}, :process 1}";
        for text in [maps.to_owned(), format!("[{maps}]"), format!("({maps}\n)")] {
            let operations = parse(format!("{text}\n").as_bytes(), Syntax::Edn).expect("operations");
            assert_eq!(operations.len(), 2, "{text}");
            assert_eq!((operations[0].f.as_str(), operations[0].stage), ("add", Stage::Invoke));
            assert_eq!((operations[1].process, operations[1].line), (Some(1), 3));
        }
        let json = r#"[{"type": "ok", "f": "read", "value": [1], "process": 0}]"#;
        let operations = parse(format!("{json}\n").as_bytes(), Syntax::Json).expect("operations");
        assert_eq!(operations[0].value, Datum::List([1.into()].into()));
    }

    #[test]
    fn what_is_no_operation_is_refused_with_its_place() {
        for text in ["{:type :done}", "[{:type :ok}", "{:type :ok", "7", "{:type"] {
            assert!(parse(format!("{text}\n").as_bytes(), Syntax::Edn).is_err(), "{text}");
        }
    }
}
