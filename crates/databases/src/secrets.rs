//! Takes what looks like a password out of a text that is to be shown.
//!
//! A [`crate::Url`] knows its password and never shows it. This is for texts that nobody has understood yet: a command
//! line that is refused, the arguments of a program, a URL in the wrong place. What comes between a user's colon and
//! the last `@` of a word that holds `://`, what follows `password=` (and names like it), and the word after
//! `--password` are hidden; that more than the password may be is fine.

/// What is shown in the place of a password.
pub(crate) const HIDDEN: &str = "***";

/// Parts of names whose values are nobody's business.
const TELLING: [&str; 5] = ["pass", "pwd", "secret", "token", "credential"];

/// The text without what looks like a password.
pub fn hide_secrets(text: &str) -> String {
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

/// `scheme://user:password@host` without the password.
fn hide_user_info(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.to_owned() };
    match rest.rsplit_once('@').and_then(|(user, host)| Some((user.split_once(':')?.0, host))) {
        Some((user, host)) => format!("{scheme}://{user}:{HIDDEN}@{host}"),
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
        ] {
            assert_eq!(hide_secrets(text), shown);
        }
    }

    #[test]
    fn everything_else_stays() {
        for text in
            ["", "a b  c\n", "postgres://db:5432/x?y=z", "no password was given", "--password", "x@y: z"]
        {
            assert_eq!(hide_secrets(text), text);
        }
    }
}
