//! The moves over EDN that build nothing: blanks, tokens, strings and whole forms.

use super::MAX_DEPTH;

/// Which of the two is scanned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Syntax {
    Edn,
    Json,
}

/// Why a scan ended early.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// The window ends inside a form: a larger one is needed, or the input is cut off.
    Incomplete,
    /// Something else was expected at an index of the window.
    Bad(usize, &'static str),
}

/// A place in a window.
#[derive(Clone, Copy)]
pub(crate) struct Scanner<'w> {
    pub bytes: &'w [u8],
    pub at: usize,
    pub syntax: Syntax,
    classes: &'static [u8; 256],
}

const BLANK: u8 = 1;
/// Ends a token.
const DELIMITER: u8 = 2;
/// Means something inside brackets.
const STRUCTURE: u8 = 4;
/// Is passed between forms, or begins something that is.
const BETWEEN: u8 = 8;

static EDN_CLASSES: [u8; 256] = classes(Syntax::Edn);
static JSON_CLASSES: [u8; 256] = classes(Syntax::Json);

const fn classes(syntax: Syntax) -> [u8; 256] {
    let mut classes = [0; 256];
    let mut rest: &[u8] = b" \t\n\r,";
    while let [byte, more @ ..] = rest {
        classes[*byte as usize] = BLANK | DELIMITER | BETWEEN;
        rest = more;
    }
    rest = b"()[]{}\";";
    while let [byte, more @ ..] = rest {
        classes[*byte as usize] = DELIMITER | STRUCTURE;
        rest = more;
    }
    classes[b'\\' as usize] = STRUCTURE;
    match syntax {
        Syntax::Json => classes[b':' as usize] = BLANK | DELIMITER | BETWEEN,
        Syntax::Edn => {
            classes[0x0c] = BLANK | DELIMITER | BETWEEN;
            classes[b';' as usize] |= BETWEEN;
            classes[b'#' as usize] |= BETWEEN;
        }
    }
    classes
}

impl<'w> Scanner<'w> {
    pub fn new(bytes: &'w [u8], syntax: Syntax) -> Self {
        let classes = match syntax {
            Syntax::Edn => &EDN_CLASSES,
            Syntax::Json => &JSON_CLASSES,
        };
        Self { bytes, at: 0, syntax, classes }
    }

    #[inline]
    fn class(&self, byte: u8) -> u8 {
        self.classes[byte as usize]
    }

    #[inline]
    pub fn peek(&self) -> Result<u8, Stop> {
        self.bytes.get(self.at).copied().ok_or(Stop::Incomplete)
    }

    /// Something else was expected here.
    #[cold]
    pub fn bad(&self, expected: &'static str) -> Stop {
        Stop::Bad(self.at, expected)
    }

    /// Takes a byte if it comes next.
    #[inline]
    pub fn eat(&mut self, byte: u8) -> Result<bool, Stop> {
        let is_next = self.peek()? == byte;
        self.at += usize::from(is_next);
        Ok(is_next)
    }

    /// Passes blanks, comments and discarded forms. At the end of the window it stops without complaint.
    #[inline]
    pub fn skip_blanks(&mut self) -> Result<(), Stop> {
        while let Some(&byte) = self.bytes.get(self.at)
            && self.class(byte) & BETWEEN != 0
        {
            match byte {
                b';' => self.skip_comment()?,
                b'#' if self.bytes.get(self.at + 1) == Some(&b'_') => {
                    self.at += 2;
                    self.skip_form()?;
                }
                b'#' => break,
                _ => self.at += 1,
            }
        }
        Ok(())
    }

    fn skip_comment(&mut self) -> Result<(), Stop> {
        let end = self.bytes[self.at..].iter().position(|&byte| byte == b'\n');
        // The last line of the input may lack its line break; a window that ends here is asked to grow first.
        self.at = match end {
            Some(length) => self.at + length,
            None => return Err(Stop::Incomplete),
        };
        Ok(())
    }

    /// The bytes up to the next delimiter.
    #[inline]
    pub fn token(&mut self) -> Result<&'w [u8], Stop> {
        let start = self.at;
        while let Some(&byte) = self.bytes.get(self.at)
            && self.class(byte) & DELIMITER == 0
        {
            self.at += 1;
        }
        match self.at == self.bytes.len() {
            true => Err(Stop::Incomplete),
            false => Ok(&self.bytes[start..self.at]),
        }
    }

    /// The content of a string between its quotes, escapes and all.
    #[inline]
    pub fn raw_string(&mut self) -> Result<&'w [u8], Stop> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Ok(&self.bytes[start..self.at - 1])
    }

    /// Passes a form of any kind, with what is discarded before it.
    pub fn skip_form(&mut self) -> Result<(), Stop> {
        let mut closers = [0; MAX_DEPTH + 8];
        let mut depth = 0;
        // Each `#_` discards one form more; no recursion, since a file may consist of them.
        let mut forms_to_pass = 1usize;
        loop {
            if depth > 0 {
                self.skip_plain();
            }
            let byte = self.peek()?;
            match byte {
                b'"' => {
                    self.raw_string()?;
                }
                b'(' | b'[' | b'{' => {
                    if depth == closers.len() {
                        return Err(self.bad("fewer brackets inside each other"));
                    }
                    closers[depth] = closer(byte);
                    depth += 1;
                    self.at += 1;
                }
                b')' | b']' | b'}' => {
                    if depth == 0 || closers[depth - 1] != byte {
                        return Err(self.bad("the bracket that closes the last one"));
                    }
                    depth -= 1;
                    self.at += 1;
                }
                b'\\' if self.syntax == Syntax::Edn => self.skip_char()?,
                b'#' | b';' | b'\\' => {
                    if self.is_prefix(&mut forms_to_pass)? {
                        continue;
                    }
                }
                _ if self.class(byte) & BLANK != 0 => {
                    self.at += 1;
                    continue;
                }
                _ => {
                    self.token()?;
                }
            }
            forms_to_pass -= usize::from(depth == 0);
            if forms_to_pass == 0 {
                return Ok(());
            }
        }
    }

    /// Passes a comment, a tag, the mark of a set or of a discarded form; false if it was a form: `##Inf`.
    fn is_prefix(&mut self, forms_to_pass: &mut usize) -> Result<bool, Stop> {
        if self.syntax == Syntax::Json {
            return Err(self.bad("JSON"));
        }
        if self.peek()? == b';' {
            return self.skip_comment().map(|()| true);
        }
        self.at += 1;
        match self.peek()? {
            b'{' => {}
            b'_' => {
                self.at += 1;
                *forms_to_pass += 1;
            }
            b'#' => return self.token().map(|_| false),
            _ => {
                self.token()?;
            }
        }
        Ok(true)
    }

    /// Passes what means nothing to the brackets.
    #[inline]
    fn skip_plain(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at)
            && self.class(byte) & STRUCTURE == 0
        {
            self.at += 1;
        }
    }

    /// Passes a character such as `\a`, `\newline` or `\)`.
    pub fn skip_char(&mut self) -> Result<(), Stop> {
        self.at += 2;
        if self.at > self.bytes.len() {
            return Err(Stop::Incomplete);
        }
        // The byte behind the backslash is part of it even if it is a delimiter; letters may follow.
        self.token().map(|_| ())
    }
}

fn closer(opener: u8) -> u8 {
    match opener {
        b'(' => b')',
        b'[' => b']',
        _ => b'}',
    }
}
