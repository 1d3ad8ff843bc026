//! The documents say what the command really prints.
//!
//! In a document, a block that begins with ```` ```text file=NAME ```` is a file, and a block that begins with
//! ```` ```console ```` holds commands after `$ isoscope` and what they print. `UPDATE_EXPECT=1` writes it anew.

mod common;

use std::path::Path;

use common::Folder;

#[test]
fn readme() {
    check("README.md");
}

#[test]
fn guide() {
    check("docs/guide.md");
}

#[test]
fn explain() {
    check("docs/explain.md");
}

#[test]
fn engine() {
    check("docs/engine.md");
}

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let current = rerun(&text);
    if current == text {
        return;
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &current).unwrap();
        return;
    }
    let different = text.lines().zip(current.lines()).find(|(old, new)| old != new);
    panic!(
        "{name} is not what isoscope prints: {different:?}; UPDATE_EXPECT=1 cargo test --test documents writes it anew"
    );
}

/// The document with the output of every command as it is now.
fn rerun(text: &str) -> String {
    let folder = Folder::with(&[]);
    let mut current = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\n```") {
        let (info, block) = after.split_once('\n').unwrap_or((after, ""));
        let (body, tail) = block.split_once("\n```").unwrap_or((block, ""));
        current += &format!("{before}\n```{info}\n");
        if let Some(name) = info.strip_prefix("text file=") {
            std::fs::write(folder.file(name), format!("{body}\n")).unwrap();
        }
        current += &match info {
            "console" => run_all(&folder, body),
            _ => body.to_owned(),
        };
        current += "\n```";
        rest = tail;
    }
    current + rest
}

fn run_all(folder: &Folder, body: &str) -> String {
    let commands = body.lines().filter_map(|line| line.strip_prefix("$ isoscope "));
    let shown = commands.map(|command| {
        let output = folder.isoscope(command).output().unwrap();
        let (out, errors) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        format!("$ isoscope {command}\n{out}{errors}").trim_end().to_owned()
    });
    shown.collect::<Vec<_>>().join("\n\n")
}
