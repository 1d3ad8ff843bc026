//! Text on its way into a picture: escaped, made harmless, and cut where it is too long.
//!
//! Everything that a history says passes through [`text`], which is the only way into markup.

use history::visible;

/// Text for markup, as content or inside a quoted attribute: characters with a meaning in markup are escaped, and
/// characters that would steer the text around them are shown.
pub fn text(raw: &str) -> String {
    let mut escaped = String::with_capacity(raw.len());
    for char in visible(raw).chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Characters that XML does not have at all.
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            char => escaped.push(char),
        }
    }
    escaped
}

/// The text, or its beginning and how long it is.
pub fn short(raw: &str, most: usize) -> String {
    let count = raw.chars().count();
    if count <= most {
        return raw.to_owned();
    }
    let shown: String = raw.chars().take(most.saturating_sub(1)).collect();
    format!("{shown}\u{2026}")
}

/// A sentence for a list: cut after three hundred characters, with a note.
pub fn sentence(raw: &str) -> String {
    const MOST: usize = 300;
    let count = raw.chars().count();
    match count <= MOST {
        true => text(raw),
        false => format!("{} ({count} characters)", text(&short(raw, MOST))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_marks_of_direction_are_shown() {
        assert_eq!(text("<script>alert('x')</script>"), "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
        assert_eq!(text("a\u{202e}b\u{0}\"&"), "a\\u{202e}b\\u{0}&quot;&amp;");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(short("abcdef", 4), "abc\u{2026}");
        assert_eq!(short("abcd", 4), "abcd");
        assert!(sentence(&"x".repeat(10_000)).ends_with("(10000 characters)"));
    }
}
