//! The one place where text meets a terminal, a pipe or a report: whatever wrote it, it cannot steer a terminal.
//!
//! Everything that isoscope prints for people or as JSON passes through a [`Screen`], which writes escape codes, other
//! control characters and marks of direction as escapes of the text's own form. Line breaks and tabs pass: text from outside
//! that must stay on its line goes through [`crate::terminal::visible`] before. Only [`Screen::paint`] writes escape
//! codes. A history that is converted is data, and does not pass here unless it goes to a terminal.
//!
//! Standard error has [`say`]: it also hides passwords, and a message that cannot be written is dropped, since the exit
//! code says what matters.

use std::io::{self, BufWriter, Write};

use databases::hide_secrets;
use history::is_steering;

use crate::terminal::{Style, Tone};

/// How a character is written that must not reach a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// In text, as `\u{1b}`.
    Text,
    /// In JSON and EDN, as `\u001b`, which readers take for the character itself.
    Json,
}

/// Takes text and writes what is harmless of it.
pub struct Screen<'w> {
    out: Box<dyn Write + 'w>,
    form: Form,
    has_colour: bool,
    /// The beginning of a character whose other bytes have not come yet.
    held: Vec<u8>,
}

impl Screen<'static> {
    /// Standard output, for people.
    pub fn stdout() -> Self {
        let out = Box::new(BufWriter::new(io::stdout().lock()));
        Self { out, form: Form::Text, has_colour: Style::of_stdout().colour, held: Vec::new() }
    }
}

impl<'w> Screen<'w> {
    /// Anything that is written to, without colours.
    pub fn over(out: impl Write + 'w, form: Form) -> Self {
        Self { out: Box::new(out), form, has_colour: false, held: Vec::new() }
    }

    /// Writes text in its colour.
    pub fn paint(&mut self, tone: Tone, text: &str) -> io::Result<()> {
        if !self.has_colour || text.is_empty() {
            return self.write_all(text.as_bytes());
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Bad => "31",
            Tone::Unsure => "33",
            Tone::Strong => "1",
            Tone::Faint => "2",
        };
        write!(self.out, "\x1b[{code}m")?;
        self.write_all(text.as_bytes())?;
        write!(self.out, "\x1b[0m")
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(place) = rest.find(|char: char| !matches!(char, '\n' | '\t') && is_steering(char)) {
            let (before, after) = rest.split_at(place);
            self.out.write_all(before.as_bytes())?;
            let mut chars = after.chars();
            let steering = chars.next().map_or(0, u32::from);
            match self.form {
                Form::Text => write!(self.out, "\\u{{{steering:x}}}")?,
                Form::Json => write!(self.out, "\\u{steering:04x}")?,
            }
            rest = chars.as_str();
        }
        self.out.write_all(rest.as_bytes())
    }
}

impl Write for Screen<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        for chunk in held.utf8_chunks() {
            self.put(chunk.valid())?;
            let is_cut = |bytes: &[u8]| matches!(std::str::from_utf8(bytes), Err(error) if error.error_len().is_none());
            match chunk.invalid() {
                [] => {}
                // Only at the end of what came: whatever follows completes it or makes it invalid.
                cut if is_cut(cut) && held.ends_with(cut) => self.held = cut.to_vec(),
                _ => self.put("\u{fffd}")?,
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Says something on standard error, a line or more, without passwords.
pub fn say(sentence: &str) {
    let mut shown = Vec::new();
    // Memory takes everything.
    let _ = Screen::over(&mut shown, Form::Text).put(&hide_secrets(sentence));
    shown.push(b'\n');
    // Standard error may be full or closed, and there is no other place to say so.
    let _ = io::stderr().write_all(&shown);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(parts: &[&[u8]], form: Form, has_colour: bool) -> String {
        let mut out = Vec::new();
        let mut screen = Screen { has_colour, ..Screen::over(&mut out, form) };
        parts.iter().for_each(|part| screen.write_all(part).unwrap());
        screen.paint(Tone::Bad, "red\x1b[1m").unwrap();
        drop(screen);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_paint_writes_escape_codes() {
        let hostile: &[&[u8]] = &[b"a\x1b[2J\x07\nb\x7f", "\u{9b}31m\u{202e}é".as_bytes()];
        assert_eq!(
            shown(hostile, Form::Text, true),
            "a\\u{1b}[2J\\u{7}\nb\\u{7f}\\u{9b}31m\\u{202e}é\x1b[31mred\\u{1b}[1m\x1b[0m"
        );
        assert_eq!(
            shown(hostile, Form::Json, false),
            "a\\u001b[2J\\u0007\nb\\u007f\\u009b31m\\u202eéred\\u001b[1m"
        );
    }

    #[test]
    fn a_character_may_come_in_parts_and_bytes_that_are_none_are_marked() {
        let [csi, e] = ["\u{9b}", "é"].map(str::as_bytes);
        assert_eq!(
            shown(&[&csi[..1], &csi[1..], &e[..1], &e[1..]], Form::Text, false),
            "\\u{9b}éred\\u{1b}[1m"
        );
        assert_eq!(shown(&[b"\xff", &e[..1], b"x"], Form::Text, false), "\u{fffd}\u{fffd}xred\\u{1b}[1m");
    }
}
