//! How text is laid out: colour and line length on a terminal, neither in a pipe.
//!
//! `NO_COLOR` and `TERM=dumb` are respected, and `--color` stands above them. In a pipe a sentence stays on one line, so that it can be searched for.
//! Text reaches the terminal through a [`crate::screen::Screen`].

use std::io::IsTerminal;
use std::sync::OnceLock;

pub use history::visible;

/// When to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Colour {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// Also in a pipe.
    Always,
    /// Nowhere.
    Never,
}

impl Colour {
    /// By its name on the command line.
    pub fn named(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => Err("expected auto, always or never".to_owned()),
        }
    }
}

static COLOUR: OnceLock<Colour> = OnceLock::new();

/// Decides for the whole process; the first call counts.
pub fn set_colour(colour: Colour) {
    let _ = COLOUR.set(colour);
}

/// How to print to standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// Whether escape codes are wanted.
    pub colour: bool,
    /// The columns of the terminal; `None` if lines are not to be broken.
    pub width: Option<usize>,
}

/// What a piece of text means, which decides its colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// A level that holds.
    Good,
    /// A level that is violated.
    Bad,
    /// Undecided, or a warning.
    Unsure,
    /// A heading or a name that matters.
    Strong,
    /// What can be read later.
    Faint,
}

impl Style {
    /// The style for this process's standard output.
    pub fn of_stdout() -> Self {
        let asked = COLOUR.get().copied().unwrap_or_default();
        if !std::io::stdout().is_terminal() {
            return Self { colour: asked == Colour::Always, width: None };
        }
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colour = match asked {
            Colour::Auto => !plain,
            Colour::Always => true,
            Colour::Never => false,
        };
        Self { colour, width: terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)) }
    }

    /// The text after `indent` blanks, broken between words so that it fits; later lines are indented by `hang`.
    pub fn wrap(self, text: &str, indent: usize, hang: usize) -> String {
        let width = self.width.unwrap_or(usize::MAX).max(24);
        let mut out = " ".repeat(indent);
        let mut column = indent;
        for (place, word) in text.split(' ').enumerate() {
            let length = word.chars().count();
            if place > 0 && column + 1 + length > width && column > hang {
                out.push('\n');
                out.push_str(&" ".repeat(hang));
                column = hang;
            } else if place > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words_only_on_a_terminal() {
        let text = "T812 must come before T815 since it read the older value";
        assert_eq!(Style::default().wrap(text, 2, 4), format!("  {text}"));
        let narrow = Style { colour: false, width: Some(30) };
        let wrapped = narrow.wrap(text, 2, 4);
        assert_eq!(wrapped, "  T812 must come before T815\n    since it read the older\n    value");
    }

    #[test]
    fn a_long_word_stays_whole() {
        let narrow = Style { colour: false, width: Some(24) };
        let word = "x".repeat(40);
        assert_eq!(narrow.wrap(&word, 0, 2), word);
    }
}
