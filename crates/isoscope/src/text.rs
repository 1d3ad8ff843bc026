//! Text that is safe to print.

/// Control characters made visible: text from a history must not steer a terminal.
pub fn visible(text: &str) -> String {
    if !text.chars().any(is_unsafe) {
        return text.to_owned();
    }
    text.chars()
        .map(|char| match is_unsafe(char) {
            true => char.escape_default().to_string(),
            false => char.to_string(),
        })
        .collect()
}

/// Control characters, and those that change the direction of the text around them.
fn is_unsafe(char: char) -> bool {
    char.is_control() || matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_codes_of_a_history_are_shown_not_obeyed() {
        assert_eq!(visible("a\x1b[31mb"), "a\\u{1b}[31mb");
        assert_eq!(visible("plain é"), "plain é");
    }
}
