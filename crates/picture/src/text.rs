//! Text on its way into a picture: escaped, made harmless, and cut where it is too long.
//!
//! Everything that a history says passes through [`text`], which is the only way into markup.
//!
//! Letters that are written from right to left move the signs and numbers beside them to their other side: in the sentence
//! `read KEY = 0` the 0 would stand before such a key. Runs of these letters are isolated (Unicode's report 9).

use history::visible;

/// The isolate that takes its direction from its content, and its end.
const ISOLATE: (char, char) = ('\u{2068}', '\u{2069}');

/// Text for markup, as content or inside a quoted attribute: characters with a meaning in markup are escaped,
/// characters that would steer the text around them are shown, and text from right to left is isolated.
pub fn text(raw: &str) -> String {
    let mut escaped = String::with_capacity(raw.len());
    for char in isolated(&visible(raw)).chars() {
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

/// The text with each run of letters from right to left isolated; blanks inside of a run belong to it.
fn isolated(shown: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(shown.len()), shown);
    while let Some(start) = rest.find(is_right_to_left) {
        let (before, run) = rest.split_at(start);
        let end = run.find(|char| !is_right_to_left(char) && char != ' ').unwrap_or(run.len());
        let run_text = run[..end].trim_end_matches(' ');
        out.push_str(before);
        out.push(ISOLATE.0);
        out.push_str(run_text);
        out.push(ISOLATE.1);
        rest = &run[run_text.len()..];
    }
    out.push_str(rest);
    out
}

/// Whether a character is in a block of scripts that are written from right to left.
fn is_right_to_left(char: char) -> bool {
    matches!(
        char,
        '\u{590}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefe}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    )
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
    fn text_from_right_to_left_does_not_move_what_stands_beside_it() {
        assert_eq!(
            text("read \u{5d0}\u{5d1} \u{5d2} = 0"),
            "read \u{2068}\u{5d0}\u{5d1} \u{5d2}\u{2069} = 0"
        );
        assert_eq!(text("\u{5d0}=\u{627}"), "\u{2068}\u{5d0}\u{2069}=\u{2068}\u{627}\u{2069}");
        assert_eq!(text("\u{2068}a"), "\\u{2068}a");
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(short("abcdef", 4), "abc\u{2026}");
        assert_eq!(short("abcd", 4), "abcd");
        assert!(sentence(&"x".repeat(10_000)).ends_with("(10000 characters)"));
    }
}
