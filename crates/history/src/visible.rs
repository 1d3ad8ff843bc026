//! Text from outside, made harmless: characters that steer a terminal are shown, not obeyed.

/// The text with control characters and marks of direction written as escapes, such as `\u{1b}`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match is_steering(char) {
            true => shown.extend(char.escape_default()),
            false => shown.push(char),
        }
    }
    shown
}

/// Whether a character steers a terminal instead of showing something: control characters, line separators, and the
/// marks that change the direction of the text around them.
pub fn is_steering(char: char) -> bool {
    char.is_control()
        || matches!(
            char,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_codes_and_marks_of_direction_are_shown() {
        assert_eq!(visible("a\x1b[31mb\nc"), "a\\u{1b}[31mb\\nc");
        assert_eq!(visible("\u{9b}2J \u{202e}txt \u{200f}"), "\\u{9b}2J \\u{202e}txt \\u{200f}");
        assert_eq!(visible("plain é"), "plain é");
    }
}
