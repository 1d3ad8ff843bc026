//! The licence check: every dependency has a licence from the list in `deny.toml`.
//!
//! `cargo deny check licenses` reads the same list; this needs nothing that is not in the toolchain.

use serde_json::Value;

use crate::run::{Done, cargo, output_of, root};

/// Checks all packages that the project is built from; `with_engines` also those that only features bring, which have
/// to be downloaded for it.
pub fn check(with_engines: bool) -> Done {
    let allowed = allowed()?;
    let mut words = vec!["metadata", "--format-version", "1"];
    if with_engines {
        words.push("--all-features");
    }
    let locked: Vec<&str> = words.iter().copied().chain(["--locked"]).collect();
    let metadata = output_of(&mut cargo(&locked), &[0]).or_else(|_| output_of(&mut cargo(&words), &[0]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let mut refused = Vec::new();
    for package in packages {
        let licence = package["license"].as_str().unwrap_or_else(|| from_file(package));
        if !Expression::parse(licence).is_some_and(|expression| expression.is_allowed(&allowed)) {
            refused.push(format!("{} {}: {licence:?}", package["name"], package["version"]));
        }
    }
    match refused.is_empty() {
        true => {
            println!("{} packages, all under {}", packages.len(), allowed.join(", "));
            Ok(())
        }
        false => Err(format!("licences that deny.toml does not allow:\n  {}", refused.join("\n  "))),
    }
}

/// The licence of a package that only has a file: of those that were read by a person; `cargo deny` reads them itself.
fn from_file(package: &Value) -> &'static str {
    match package["name"].as_str() {
        Some("cfg_block") => "Apache-2.0",
        _ => "",
    }
}

/// The `allow` list of `deny.toml`.
fn allowed() -> Done<Vec<String>> {
    let path = root().join("deny.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let list = text
        .split_once("\nallow = [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .ok_or("deny.toml has no list `allow = [...]`")?
        .0;
    let names = list.split(',').map(|name| name.trim().trim_matches('"').to_owned());
    Ok(names.filter(|name| !name.is_empty()).collect())
}

/// A licence expression: names joined by `AND` and `OR`, with parentheses.
enum Expression {
    Name(String),
    All(Vec<Expression>),
    Any(Vec<Expression>),
}

impl Expression {
    fn parse(text: &str) -> Option<Self> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut rest = &words[..];
        let expression = Self::any(&mut rest)?;
        rest.is_empty().then_some(expression)
    }

    fn any(words: &mut &[&str]) -> Option<Self> {
        let mut parts = vec![Self::all(words)?];
        while take(words, "OR") {
            parts.push(Self::all(words)?);
        }
        Some(Self::Any(parts))
    }

    fn all(words: &mut &[&str]) -> Option<Self> {
        let mut parts = vec![Self::one(words)?];
        while take(words, "AND") {
            parts.push(Self::one(words)?);
        }
        Some(Self::All(parts))
    }

    fn one(words: &mut &[&str]) -> Option<Self> {
        if take(words, "(") {
            let inner = Self::any(words)?;
            return take(words, ")").then_some(inner);
        }
        let (&name, rest) = words.split_first()?;
        *words = rest;
        let mut name = name.to_owned();
        if take(words, "WITH") {
            let (&exception, rest) = words.split_first()?;
            *words = rest;
            name = format!("{name} WITH {exception}");
        }
        (!["OR", "AND", ")"].contains(&name.as_str())).then_some(Self::Name(name))
    }

    fn is_allowed(&self, allowed: &[String]) -> bool {
        match self {
            Self::Name(name) => allowed.contains(name),
            Self::All(parts) => parts.iter().all(|part| part.is_allowed(allowed)),
            Self::Any(parts) => parts.iter().any(|part| part.is_allowed(allowed)),
        }
    }
}

fn take(words: &mut &[&str], wanted: &str) -> bool {
    match words.split_first() {
        Some((&word, rest)) if word == wanted => {
            *words = rest;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::Expression;

    fn is_allowed(text: &str) -> bool {
        let allowed = ["MIT".to_owned(), "Apache-2.0".to_owned(), "Unicode-3.0".to_owned()];
        Expression::parse(text).is_some_and(|expression| expression.is_allowed(&allowed))
    }

    #[test]
    fn expressions_are_understood() {
        assert!(is_allowed("MIT"));
        assert!(is_allowed("MIT/Apache-2.0"));
        assert!(is_allowed("GPL-3.0 OR MIT"));
        assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(is_allowed("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT"));
        assert!(!is_allowed("MIT AND GPL-3.0"));
        assert!(!is_allowed("Apache-2.0 WITH LLVM-exception"));
        assert!(!is_allowed(""));
        assert!(!is_allowed("MIT OR"));
    }
}
