//! Takes what looks like a password out of a text that is to be shown.
//!
//! A [`crate::Url`] knows its password and never shows it. This is for texts that have not been parsed: a command line
//! that is refused, the arguments of a program, a URL in the wrong place or with a typing error, a database's message.
//! Hidden are
//! - in a word, everything between a colon and the last `@`: after the colon of the user if the word holds `://`, else
//!   after the first colon;
//! - the same in the rest of a line that begins with the scheme of a server, for passwords with blanks and quotes;
//! - the value after `password=` and names like it, and the word after `--password`.
//!
//! That more than the password may be hidden is fine.

/// What is shown in the place of a password.
pub(crate) const HIDDEN: &str = "***";

/// Parts of names whose values are secrets.
const TELLING: [&str; 5] = ["pass", "pwd", "secret", "token", "credential"];

/// What begins the URL of a server, also where the colon or the slashes after it were forgotten.
const SERVERS: [&str; 4] = ["postgres", "postgresql", "mysql", "mariadb"];

/// The text without what looks like a password.
pub fn hide_secrets(text: &str) -> String {
    // A value has a name before it, and a name has one of these marks.
    if !text.contains(['@', '=', '-']) {
        return text.to_owned();
    }
    let lines = text.split_inclusive('\n').map(|line| hide_in_words(&hide_after_schemes(line)));
    lines.collect()
}

/// A line with the passwords of the URLs of servers hidden, whatever characters they have.
fn hide_after_schemes(line: &str) -> String {
    let starts: Vec<usize> = starts_of_urls(line);
    let ends = starts.iter().skip(1).copied().chain([line.len()]);
    let mut shown = line[..starts.first().copied().unwrap_or(line.len())].to_owned();
    for (start, end) in starts.iter().zip(ends) {
        shown.push_str(&hide_in_url(&line[*start..end]));
    }
    shown
}

/// Where a name of [`SERVERS`] is followed by a colon or a slash.
fn starts_of_urls(line: &str) -> Vec<usize> {
    let is_start = |place: usize| {
        let rest = &line[place..];
        let follows = |name: &&str| rest.strip_prefix(*name).is_some_and(|rest| rest.starts_with([':', '/']));
        !line[..place].ends_with(|char: char| char.is_ascii_alphanumeric()) && SERVERS.iter().any(follows)
    };
    line.char_indices().map(|(place, _)| place).filter(|&place| is_start(place)).collect()
}

/// `postgres://user:password@host and so on` without the password, up to the last `@`.
fn hide_in_url(text: &str) -> String {
    let scheme = text.len()
        - text
            .trim_start_matches(|char: char| char.is_ascii_alphabetic())
            .trim_start_matches([':', '/'])
            .len();
    let (Some(colon), Some(at)) = (text[scheme..].find(':'), text.rfind('@')) else { return text.to_owned() };
    let (before, password) = text.split_at(scheme + colon + 1);
    let has_user_only = before.contains('@');
    if has_user_only || at < before.len() || password.starts_with(HIDDEN) || is_port(password) {
        return text.to_owned();
    }
    format!("{before}{HIDDEN}{}", &text[at..])
}

/// Whether digits and the end of a host follow.
fn is_port(text: &str) -> bool {
    let rest = text.trim_start_matches(|char: char| char.is_ascii_digit());
    let ends_host = |char: char| char.is_whitespace() || "/?,;:'\"`)".contains(char);
    rest.len() < text.len() && (rest.is_empty() || rest.starts_with(ends_host))
}

fn hide_in_words(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut is_value = false;
    for word in text.split_inclusive(|char: char| char.is_whitespace() || "'\"`<>".contains(char)) {
        let body = word.trim_end_matches(|char: char| char.is_whitespace() || "'\"`<>".contains(char));
        match is_value && !body.is_empty() && !body.starts_with('-') {
            true => shown.push_str(HIDDEN),
            false => shown.push_str(&hide_value(&hide_user_info(body))),
        }
        shown.push_str(&word[body.len()..]);
        // Between a flag and its value there may be more than one blank.
        is_value = (is_value && body.is_empty()) || (body.starts_with('-') && is_telling(body));
    }
    shown
}

/// Whether what has this name is not to be shown.
pub(crate) fn is_telling(name: &str) -> bool {
    let name = name.to_lowercase();
    !name.contains('=') && TELLING.iter().any(|part| name.contains(part))
}

/// `scheme://user:password@host` without the password; in any other word all between the first colon and the last `@`.
fn hide_user_info(word: &str) -> String {
    let start = word.find("://").map_or(0, |place| place + "://".len());
    let Some((user_info, host)) = word[start..].rsplit_once('@') else { return word.to_owned() };
    match user_info.split_once(':') {
        Some((user, _)) => format!("{}{user}:{HIDDEN}@{host}", &word[..start]),
        None => word.to_owned(),
    }
}

/// `name=value` without the value, wherever a name tells that it is one to hide.
fn hide_value(word: &str) -> String {
    let mut parts = word.split_inclusive(['?', '&', ';', ',']).map(|part| match part.split_once('=') {
        Some((name, value)) if is_telling(name) => {
            let end = value.trim_end_matches(['?', '&', ';', ',']).len();
            format!("{name}={HIDDEN}{}", &value[end..])
        }
        _ => part.to_owned(),
    });
    let mut shown = parts.next().unwrap_or_default();
    shown.extend(parts);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_password_is_hidden() {
        for (text, shown) in [
            ("error: 'postgres://ann:s3cret@db/x' is odd", "error: 'postgres://ann:***@db/x' is odd"),
            ("mysql://ann:s3/cr@et@db?a=b", "mysql://ann:***@db?a=b"),
            ("db?user=ann&Password=s3cret&x=1", "db?user=ann&Password=***&x=1"),
            ("run.py --password s3cret --port 1", "run.py --password *** --port 1"),
            ("run.py --password  s3cret", "run.py --password  ***"),
            ("run.py --db-pwd=s3cret token=s3cret", "run.py --db-pwd=*** token=***"),
            ("'postgres:ann:s3cret@db'\nann:s3cret@db", "'postgres:***@db'\nann:***@db"),
            ("postgres//ann:s3cret@db/x", "postgres//ann:***@db/x"),
            ("mysql:/ann:s3cret@db/x", "mysql:***@db/x"),
            ("oracle:ann:s3cret@db/x", "oracle:***@db/x"),
            ("'mysql://ann:my s3'cr et@db/x' and on\nx@y", "'mysql://ann:***@db/x' and on\nx@y"),
            (
                "postgres://a:s 1@h1, postgres://b:s 2@h2: odd",
                "postgres://a:***@h1, postgres://b:***@h2: odd",
            ),
        ] {
            assert_eq!(hide_secrets(text), shown);
        }
    }

    #[test]
    fn everything_else_stays() {
        for text in [
            "",
            "a b  c\n",
            "postgres://db:5432/x?y=z",
            "no password was given",
            "--password",
            "x@y: z",
            "mysql://ann:***@db:1/x: access denied for user 'ann'@'localhost' (using password: YES)",
            "mysql://db:3306/x: access denied for user 'ann'@'localhost'",
            "mysql://ann@db/x: access denied for user 'ann'@'localhost'",
            "h.txt:2:5: expected `{`, found `w(x)=1 @[0,1]`",
        ] {
            assert_eq!(hide_secrets(text), text);
        }
    }
}
