//! Where a database is, and the password, which is never shown.
//!
//! `postgres://user:password@host:port/database?name=value`, or a scheme with a path: `sqlite:PATH?mode=wal`. A path
//! that begins with a slash may have an empty host before it, `sqlite:///tmp/test.db`, and is taken as it stands.
//! The password comes from the URL or from the environment; neither `Display` nor `Debug` shows it, and
//! [`Url::scrub`] takes it out of what a database says.

use std::fmt;

use crate::secrets::{HIDDEN, hide_secrets, is_telling};
use crate::{Failure, open};

/// What is on a server: after three slashes comes a name there, not a path here.
const SERVER_SCHEMES: [&str; 4] = ["postgres", "postgresql", "mysql", "mariadb"];

/// Where a database is.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    path: String,
    parameters: Vec<(String, String)>,
}

impl Url {
    /// Reads a URL. What it complains about never holds the password.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let Some((scheme, rest)) = text.split_once(':') else {
            return Err(Failure::refused(
                "no database URL: expected a scheme such as `sqlite:` or `postgres://`",
            ));
        };
        let is_scheme = !scheme.is_empty() && scheme.chars().all(|char| char.is_ascii_lowercase());
        if !is_scheme {
            return Err(Failure::refused(
                "no database URL: a scheme is lower-case letters before the first colon",
            ));
        }
        let mut url = Self {
            scheme: scheme.into(),
            user: None,
            password: None,
            host: None,
            port: None,
            path: String::new(),
            parameters: Vec::new(),
        };
        match rest.strip_prefix("//") {
            Some(path) if path.starts_with('/') && !SERVER_SCHEMES.contains(&scheme) => {
                url.read_local(path)?
            }
            Some(rest) => url.read_server(rest)?,
            None if SERVER_SCHEMES.contains(&scheme) => {
                return Err(Failure::refused(format!(
                    "no database URL: after `{scheme}:` come two slashes, as in {scheme}://USER@HOST/NAME"
                )));
            }
            None => url.read_local(rest)?,
        }
        Ok(url)
    }

    /// What comes before the colon.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user, if the URL names one.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The host, if the URL is one of a server.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// The port, if the URL names one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// The path of a file, the name of a database on a server, or a program with its arguments.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The file or folder of a database that is kept on this machine.
    pub fn file(&self) -> Option<&str> {
        let is_here = self.host.is_none() && !["exec", "sim"].contains(&self.scheme.as_str());
        let is_file = is_here && !SERVER_SCHEMES.contains(&self.scheme.as_str());
        (is_file && !self.path.is_empty()).then_some(&self.path)
    }

    /// A parameter after the question mark.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Failure> {
        let Some(text) = self.parameter(name) else { return Ok(None) };
        let number = text.parse().map_err(|_| {
            Failure::refused(format!("{self}: the parameter `{name}` is a number, found `{text}`"))
        })?;
        Ok(Some(number))
    }

    /// Refuses parameters other than these: a misspelt one would silently do nothing.
    pub fn allow_parameters(&self, known: &[&str]) -> Result<(), Failure> {
        match self.parameters.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            None => Ok(()),
            // A misspelt parameter may hold what a right one would not show.
            Some((name, _)) => Err(Failure::refused(format!(
                "{}: no parameter `{name}`; known here: {}",
                Self { parameters: Vec::new(), ..self.clone() },
                if known.is_empty() { "none".into() } else { known.join(", ") }
            ))),
        }
    }

    /// The password, from the URL or else from these variables of the environment or `ISOSCOPE_PASSWORD`.
    pub fn password(&self, variables: &[&str]) -> Option<String> {
        let from_environment = || {
            let variables = variables.iter().chain(&["ISOSCOPE_PASSWORD"]);
            variables.filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty())
        };
        self.password.clone().or_else(from_environment)
    }

    /// What a parameter's word stands for; the first choice is the default.
    pub(crate) fn choice(
        &self,
        name: &str,
        choices: &[(&str, &'static str)],
    ) -> Result<&'static str, Failure> {
        let given = self.parameter(name).unwrap_or(choices[0].0);
        if let Some((_, meaning)) = choices.iter().find(|(word, _)| *word == given) {
            return Ok(meaning);
        }
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        Err(Failure::refused(format!("{self}: {name} is {}, found {given}", words.join(" or "))))
    }

    /// Takes the password out of a text of another program.
    pub fn scrub(&self, text: &str, variables: &[&str]) -> String {
        match self.password(variables) {
            Some(password) if !password.is_empty() => text.replace(&password, HIDDEN),
            _ => text.into(),
        }
    }

    fn read_server(&mut self, rest: &str) -> Result<(), Failure> {
        let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
        if rest[authority_end..].contains('@') {
            return Err(Failure::refused(
                "no database URL: an @ after the first slash or question mark; in a password these are written \
                 %2F and %3F, and an @ elsewhere %40",
            ));
        }
        let (rest, query) = split_at_first(rest, '?');
        self.read_query(query)?;
        let (authority, path) = split_at_first(rest, '/');
        // A password may hold an @ of its own: the last one ends it.
        let (user_info, host) = match authority.rsplit_once('@') {
            Some((user_info, host)) => (Some(user_info), host),
            None => (None, authority),
        };
        if let Some(user_info) = user_info {
            let (user, password) = split_at_first(user_info, ':');
            self.user = Some(decode(user)?).filter(|user| !user.is_empty());
            if let Some(password) = password {
                self.password = Some(decode(password)?);
            }
        }
        self.path = decode(path.unwrap_or(""))?;
        self.read_host(host)
    }

    fn read_host(&mut self, text: &str) -> Result<(), Failure> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, rest)) => (address, rest.strip_prefix(':')),
            None => split_at_first(text, ':'),
        };
        self.host = Some(decode(host)?).filter(|host| !host.is_empty());
        if let Some(port) = port {
            let number = port.parse();
            self.port = Some(number.map_err(|_| {
                Failure::refused("no database URL: what follows the host's colon is a port, 1 to 65535")
            })?);
        }
        Ok(())
    }

    fn read_local(&mut self, rest: &str) -> Result<(), Failure> {
        // A program's arguments may hold anything, so only other schemes have parameters.
        let (path, query) = if self.scheme == "exec" { (rest, None) } else { split_at_first(rest, '?') };
        self.path = path.into();
        self.read_query(query)
    }

    fn read_query(&mut self, query: Option<&str>) -> Result<(), Failure> {
        for pair in query.unwrap_or("").split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = split_at_first(pair, '=');
            let (name, value) = (decode(name)?, decode(value.unwrap_or(""))?);
            match name.as_str() {
                "password" => self.password = Some(value),
                _ => self.parameters.push((name, value)),
            }
        }
        Ok(())
    }
}

/// Without the password: only that there is one.
impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:", self.scheme)?;
        if self.user.is_some() || self.host.is_some() {
            out.write_str("//")?;
            if let Some(user) = &self.user {
                out.write_str(user)?;
            }
            if self.password.is_some() {
                write!(out, ":{HIDDEN}")?;
            }
            if self.user.is_some() || self.password.is_some() {
                out.write_str("@")?;
            }
            match &self.host {
                Some(host) if host.contains(':') => write!(out, "[{host}]")?,
                Some(host) => out.write_str(host)?,
                None => {}
            }
            if let Some(port) = self.port {
                write!(out, ":{port}")?;
            }
            if !self.path.is_empty() {
                out.write_str("/")?;
            }
        }
        // What no driver knows may be a user and a password.
        let is_known = SERVER_SCHEMES.contains(&self.scheme.as_str()) || open::is_local(&self.scheme);
        match is_known || !self.path.contains('@') {
            true => out.write_str(&hide_secrets(&self.path))?,
            false => out.write_str(HIDDEN)?,
        }
        for (place, (name, value)) in self.parameters.iter().enumerate() {
            let value = if is_telling(name) { HIDDEN } else { value };
            write!(out, "{}{name}={value}", if place == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Url({self})")
    }
}

fn split_at_first(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Takes percent signs for the bytes that they stand for.
fn decode(text: &str) -> Result<String, Failure> {
    let wrong =
        || Failure::refused("no database URL: `%` is followed by two hexadecimal digits of UTF-8 text");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()).ok_or_else(wrong)?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_server_url() {
        let url = Url::parse("postgres://ann:p%40ss:w@rd@[::1]:5433/test?lock-timeout-ms=50").unwrap();
        assert_eq!((url.user(), url.host(), url.port()), (Some("ann"), Some("::1"), Some(5433)));
        assert_eq!(url.path(), "test");
        assert_eq!(url.password(&[]).as_deref(), Some("p@ss:w@rd"));
        assert_eq!(url.number("lock-timeout-ms").unwrap(), Some(50));
        assert_eq!(url.to_string(), "postgres://ann:***@[::1]:5433/test?lock-timeout-ms=50");
        let url = Url::parse("mariadb:///test").unwrap();
        assert_eq!((url.host(), url.path()), (None, "test"));
    }

    #[test]
    fn a_password_is_never_shown() {
        for text in [
            "postgres://ann:secret@db/x",
            "mysql://:secret@db/x?password=secret",
            "mariadb://ann@db/?password=secret",
            "postgres://ann:secret@db:99999/x",
            "postgres://ann:secret%zz@db/x",
            "postgres://ann:secret@db/x?port=secret%",
        ] {
            let shown = match Url::parse(text) {
                Ok(url) => format!("{url} {url:?} {}", url.scrub("login with secret failed", &[])),
                Err(failure) => format!("{failure} {failure:?}"),
            };
            assert!(!shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn what_may_be_a_password_in_the_wrong_place_is_not_shown_either() {
        for text in [
            "postgres://ann:1/secret@db/x",
            "postgres://ann:1?secret@db/x",
            "postgres://ann@db/x?pass=secret",
            "exec:prog --password secret --token=secret mysql://ann:secret@db/",
            "exec:prog ann:secret@db",
            "postgres:ann:secret@db/x",
            "postgres//ann:secret@db/x",
            "mysql:/ann:secret@db/x",
            "sqlite:ann:secret@db/x",
            "ann:secret@db",
        ] {
            let shown = match Url::parse(text) {
                Ok(url) => format!("{url} {:?}", url.allow_parameters(&[])),
                Err(failure) => format!("{failure} {failure:?}"),
            };
            assert!(!shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn a_path_and_its_parameters() {
        let url = Url::parse("sqlite:/tmp/a b.db?mode=wal").unwrap();
        assert_eq!((url.scheme(), url.path(), url.parameter("mode")), ("sqlite", "/tmp/a b.db", Some("wal")));
        assert!(url.allow_parameters(&["mode"]).is_ok());
        let refused = url.allow_parameters(&["cache"]).unwrap_err().message;
        assert!(refused.contains("`mode`") && !refused.contains("wal"), "{refused}");
        for text in ["sqlite:/tmp/100%@.db?mode=wal", "sqlite:///tmp/100%@.db?mode=wal"] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.host(), url.path(), url.parameter("mode")), (None, "/tmp/100%@.db", Some("wal")));
            assert_eq!(url.to_string(), "sqlite:/tmp/100%@.db?mode=wal");
        }
        let program = Url::parse("exec:python3 a.py --what?x=1").unwrap();
        assert_eq!(program.path(), "python3 a.py --what?x=1");
    }

    #[test]
    fn what_is_no_url_is_refused() {
        for text in
            ["", "sqlite", ":x", "C:\\x", "postgres://h:port/x", "mysql://u%2@h/", "postgres:x", "mariadb:/x"]
        {
            assert_eq!(Url::parse(text).unwrap_err().kind, crate::FailureKind::Refused, "{text}");
        }
    }
}
