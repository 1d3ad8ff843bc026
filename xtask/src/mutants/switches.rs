//! The mutants of a line, as switches in it.
//!
//! Lines are changed without a parser: a line that does not look like one of the patterns below is left alone. Each
//! switch has a number; `crate::mutants::is_on(number)` is true in a run with that mutant. A switch is asked only where
//! its answer makes a difference, so that a run without a mutant shows which of them could do something at all.

/// What surrounds a line.
#[derive(Clone, Copy, Default)]
pub struct Around<'t> {
    /// The line before that is no comment, and the line after, without indentation.
    pub previous: &'t str,
    pub next: &'t str,
    /// Whether parts of conditions, bounds and checks are mutated too.
    pub is_thorough: bool,
}

/// A line with switches, and what each of them does.
pub struct Switched {
    pub line: String,
    pub what: Vec<&'static str>,
}

/// The line with switches, numbered from `first`; `None` if the line fits no pattern.
pub fn mutate_line(line: &str, first: usize, around: Around<'_>) -> Option<Switched> {
    let trimmed = line.trim();
    let indent = &line[..line.len() - line.trim_start().len()];
    if trimmed.starts_with("//") || trimmed.contains("assert") || trimmed.contains("mutants::") {
        return None;
    }
    let mut switches = Switches { first, what: Vec::new() };
    let is_statement = around.previous.is_empty() || around.previous.ends_with([';', '{', '}']);
    let changed = match place_of(trimmed, around) {
        Some(place) if around.is_thorough => switches.place(place),
        Some(place) => place.with(&switches.negated(place.value, place.what)),
        None if is_statement && is_call(trimmed) => switches.left_out(trimmed, "call left out"),
        None if is_statement && around.is_thorough && is_check(trimmed) => switches.unchecked(trimmed),
        None => return None,
    };
    Some(Switched { line: format!("{indent}{changed}"), what: switches.what })
}

/// A truth value in a line.
#[derive(Clone, Copy)]
struct Place<'t> {
    before: &'t str,
    value: &'t str,
    after: &'t str,
    what: &'static str,
}

impl Place<'_> {
    fn with(&self, value: &str) -> String {
        format!("{}{value}{}", self.before, self.after)
    }
}

/// Numbers the switches of a line.
struct Switches {
    first: usize,
    what: Vec<&'static str>,
}

impl Switches {
    fn add(&mut self, what: &'static str) -> usize {
        self.what.push(what);
        self.first + self.what.len() - 1
    }

    fn negated(&mut self, value: &str, what: &'static str) -> String {
        format!("crate::mutants::flip({}, {value})", self.add(what))
    }

    fn left_out(&mut self, statement: &str, what: &'static str) -> String {
        format!("if !crate::mutants::is_on({}) {{ {statement} }}", self.add(what))
    }

    /// `something(...)?;`, whose error a switch drops.
    fn unchecked(&mut self, statement: &str) -> String {
        let (check, number) = (statement.trim_end_matches("?;"), self.add("check left out"));
        format!(
            "{{ use crate::mutants::Outcome as _; let outcome = {check}; if !(outcome.is_wrong() && \
             crate::mutants::is_on({number})) {{ outcome?; }} }}"
        )
    }

    /// A value with a switch for each of its parts; a value of one part is negated.
    fn place(&mut self, place: Place<'_>) -> String {
        let joiner = [" && ", " || "].into_iter().find(|joiner| operands(place.value, joiner).len() > 1);
        let Some(joiner) = joiner else {
            let value = self.bound(place.value);
            return place.with(&self.negated(&value, place.what));
        };
        let parts = operands(place.value, joiner);
        let parts: Vec<String> = parts.into_iter().map(|part| self.part(part, joiner)).collect();
        place.with(&parts.join(joiner))
    }

    /// A part of a condition, which a switch leaves out; a pattern has no switch.
    fn part(&mut self, part: &str, joiner: &str) -> String {
        if part.contains("let ") || operands(part, " || ").len() > 1 {
            return part.to_owned();
        }
        let bound = self.bound(part);
        match joiner {
            " && " => format!("({bound} || crate::mutants::is_on({}))", self.add("part left out")),
            _ => format!("({bound} && !crate::mutants::is_on({}))", self.add("alternative left out")),
        }
    }

    /// A comparison whose bound a switch moves, so that it says the opposite of two equal values; other values stay as
    /// they are.
    fn bound(&mut self, value: &str) -> String {
        for sign in [" < ", " <= ", " > ", " >= "] {
            if let [left, right] = operands(value, sign)[..]
                && !left.contains("::<")
            {
                let number = self.add("bound moved");
                return format!(
                    "(match (&({left}), &({right})) {{ (left, right) => (left{sign}right) != \
                     (left == right && crate::mutants::is_on({number})) }})"
                );
            }
        }
        value.to_owned()
    }
}

/// The truth value in a line.
fn place_of<'t>(trimmed: &'t str, around: Around<'_>) -> Option<Place<'t>> {
    let found = condition_of(trimmed, around.is_thorough)
        .map(|value| (value, "condition negated"))
        .or_else(|| guard_of(trimmed).map(|value| (value, "guard negated")))
        .or_else(|| closure_of(trimmed).map(|value| (value, "test negated")))
        .or_else(|| result_of(trimmed, around.previous).map(|value| (value, "result negated")));
    let more = || {
        let found = flag_of(trimmed).map(|value| (value, "flag negated"));
        found
            .or_else(|| match_of(trimmed, around.next).map(|value| (value, "match negated")))
            .or_else(|| joined_of(trimmed).map(|value| (value, "part negated")))
            .or_else(|| test_of(trimmed).map(|value| (value, "test negated")))
    };
    let (value, what) = found.or_else(|| if around.is_thorough { more() } else { None })?;
    let start = value.as_ptr() as usize - trimmed.as_ptr() as usize;
    Some(Place { before: &trimmed[..start], value, after: &trimmed[start + value.len()..], what })
}

/// `if CONDITION {`; patterns only where parts are looked at.
fn condition_of(trimmed: &str, is_thorough: bool) -> Option<&str> {
    let inner = trimmed.strip_suffix(" {")?;
    let condition = inner.strip_prefix("} else if ").or_else(|| inner.strip_prefix("if "))?;
    let has_pattern = condition.contains("let ");
    let is_chain = is_thorough && operands(condition, " && ").len() > 1;
    let fits = !condition.contains('{') && is_balanced(condition) && (!has_pattern || is_chain);
    fits.then_some(condition)
}

/// `PATTERN if GUARD => REST`.
fn guard_of(trimmed: &str) -> Option<&str> {
    let (pattern, rest) = trimmed.split_once(" if ")?;
    let (guard, _) = rest.split_once(" => ")?;
    let is_arm = !pattern.contains('=') && !pattern.contains("else") && is_balanced(pattern);
    (is_arm && is_balanced(guard) && !guard.contains("let ")).then_some(guard)
}

/// `let is_SOMETHING = |...| VALUE;`
fn closure_of(trimmed: &str) -> Option<&str> {
    named_as_test(trimmed)?;
    let start = trimmed.find(" = |")? + 4;
    let end = start + trimmed[start..].find("| ")? + 2;
    let value = trimmed[end..].strip_suffix(';')?;
    (!value.starts_with('{') && !value.contains("match ") && is_balanced(value)).then_some(value)
}

/// The value of a function that says yes or no, in one line.
fn result_of<'t>(trimmed: &'t str, previous: &str) -> Option<&'t str> {
    let is_value = !trimmed.ends_with(['{', '(', ',', ';', '|', '&', '=']) && is_balanced(trimmed);
    let mut blocks = ["match ", "if ", "let ", "for ", "while ", "loop", "return"].iter();
    let fits = previous.ends_with("-> bool {") && is_value && !trimmed.is_empty();
    // A chain that goes on in the next line would be cut in the middle.
    let is_whole = trimmed.ends_with(')') || trimmed.ends_with(|end: char| end.is_alphanumeric());
    (fits && is_whole && !blocks.any(|word| trimmed.starts_with(word))).then_some(trimmed)
}

/// `let is_SOMETHING = VALUE;`
fn flag_of(trimmed: &str) -> Option<&str> {
    named_as_test(trimmed)?;
    let (_, value) = trimmed.strip_suffix(';')?.split_once(" = ")?;
    (!value.starts_with('|') && !value.contains(['{', '?']) && is_balanced(value)).then_some(value)
}

fn named_as_test(trimmed: &str) -> Option<()> {
    let name = trimmed.strip_prefix("let ")?;
    let mut prefixes = ["is_", "has_", "can_", "may_", "must_"].iter();
    prefixes.any(|prefix| name.starts_with(prefix)).then_some(())
}

/// `match VALUE {` with `true` or `false` below.
fn match_of<'t>(trimmed: &'t str, next: &str) -> Option<&'t str> {
    let inner = trimmed.strip_suffix(" {")?;
    let value = &inner[inner.find("match ")? + 6..];
    let is_truth = next.starts_with("true =>") || next.starts_with("false =>");
    (is_truth && is_balanced(value) && !value.contains('{')).then_some(value)
}

/// `&& VALUE` or `|| VALUE`, in a condition of several lines.
fn joined_of(trimmed: &str) -> Option<&str> {
    let value = trimmed.strip_prefix("&& ").or_else(|| trimmed.strip_prefix("|| "))?;
    let value = value.trim_end_matches(" {").trim_end_matches(';');
    (!value.contains("let ") && !value.contains('{') && is_balanced(value)).then_some(value)
}

/// The test in the first call like `.filter(|...| VALUE)` of a line.
fn test_of(trimmed: &str) -> Option<&str> {
    const CALLS: [&str; 11] = [
        ".filter(|",
        ".any(|",
        ".all(|",
        ".find(|",
        ".take_while(|",
        ".skip_while(|",
        ".position(|",
        ".retain(|",
        ".is_some_and(|",
        ".is_none_or(|",
        ".partition(|",
    ];
    let start = CALLS.iter().filter_map(|call| Some(trimmed.find(call)? + call.len())).min()?;
    let start = start + trimmed[start..].find("| ")? + 2;
    let rest = &trimmed[start..];
    let end = (0..rest.len()).find(|&end| rest.as_bytes()[end] == b')' && is_balanced(&rest[..end]))?;
    let value = &rest[..end];
    (!value.contains(['{', '?']) && !value.is_empty()).then_some(value)
}

/// `self.something(...);`, whose result is dropped.
fn is_call(trimmed: &str) -> bool {
    let Some(inner) = trimmed.strip_suffix(");") else { return false };
    let Some((name, _)) = inner.split_once('(') else { return false };
    let is_name = name.contains('.')
        && name.chars().all(|letter| letter.is_alphanumeric() || "._[]".contains(letter))
        && name.starts_with(|first: char| first.is_ascii_lowercase());
    is_name && !trimmed.contains('?') && is_balanced(trimmed)
}

/// `something(...)?;`, of which only the error counts.
fn is_check(trimmed: &str) -> bool {
    let is_other = ["let ", "return ", "*", "}"].iter().any(|word| trimmed.starts_with(word));
    trimmed.ends_with(")?;") && !is_other && !trimmed.contains(" = ") && is_balanced(trimmed)
}

/// The parts of an expression between some sign, outside of brackets.
fn operands<'t>(text: &'t str, sign: &str) -> Vec<&'t str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (place, _) in text.match_indices(sign) {
        if place >= start && is_balanced(&text[start..place]) {
            parts.push(&text[start..place]);
            start = place + sign.len();
        }
    }
    parts.push(&text[start..]);
    parts
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    for letter in text.chars() {
        depth += match letter {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutated(line: &str, is_thorough: bool) -> Option<String> {
        let around = Around { is_thorough, ..Around::default() };
        mutate_line(line, 7, around).map(|switched| switched.line.replace("crate::mutants::", ""))
    }

    #[test]
    fn lines_that_fit_get_a_switch() {
        for (line, changed) in [
            ("  if a < b {", "  if flip(7, a < b) {"),
            ("Some(x) if x.is_open() => x,", "Some(x) if flip(7, x.is_open()) => x,"),
            ("let is_new = |node: u32| node > 3;", "let is_new = |node: u32| flip(7, node > 3);"),
            ("self.queue.push(node);", "if !is_on(7) { self.queue.push(node); }"),
        ] {
            assert_eq!(mutated(line, false).unwrap(), changed);
        }
    }

    #[test]
    fn parts_of_conditions_bounds_and_checks_get_switches() {
        for (line, changed) in [
            (
                "if a < b {",
                "if flip(8, (match (&(a), &(b)) { (left, right) => (left < right) != (left == right && is_on(7)) })) {",
            ),
            ("if a.is_x(b && c) && d {", "if (a.is_x(b && c) || is_on(7)) && (d || is_on(8)) {"),
            ("let is_x = a || b;", "let is_x = (a && !is_on(7)) || (b && !is_on(8));"),
            ("if let Some(x) = y && x {", "if let Some(x) = y && (x || is_on(7)) {"),
            (
                "self.check(lit)?;",
                "{ use Outcome as _; let outcome = self.check(lit); \
                 if !(outcome.is_wrong() && is_on(7)) { outcome?; } }",
            ),
            ("let all = all.filter(|txn| has(txn));", "let all = all.filter(|txn| flip(7, has(txn)));"),
        ] {
            assert_eq!(mutated(line, true).unwrap(), changed);
        }
    }

    #[test]
    fn other_lines_stay() {
        for line in
            ["if let Some(x) = y {", "// if a {", "let next = self.pop();", "assert!(a);", "while a {"]
        {
            assert_eq!(mutated(line, false), None, "{line}");
            assert_eq!(mutated(line, true), None, "{line}");
        }
    }
}
