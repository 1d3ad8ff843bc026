//! Keys, values and numbers to the bytes of a native line; see the module `datum` for how they look.

use std::io::Write;

use history::Datum;

/// Writes a key or a value.
pub(super) fn datum(out: &mut Vec<u8>, datum_to_write: &Datum) {
    match datum_to_write {
        Datum::Nil => out.extend(b"null"),
        Datum::Bool(truth) => put(out, format_args!("{truth}")),
        Datum::Int(number) => int(out, *number),
        Datum::BigInt(digits) => out.extend(digits.as_bytes()),
        Datum::Float(bits) => float(out, *bits),
        Datum::Str(text) => string(out, text),
        Datum::Keyword(text) => marked_text(out, ":", text),
        Datum::Symbol(text) => marked_text(out, "'", text),
        Datum::List(items) => array(out, items, datum),
        Datum::Row(columns) => {
            out.extend(b"{\"row\":");
            array(out, columns, |out, (name, value)| pair(out, name, value));
            out.push(b'}');
        }
        Datum::Tagged(tagged) => {
            out.extend(b"{\"tag\":[");
            string(out, &tagged.0);
            out.push(b',');
            datum(out, &tagged.1);
            out.extend(b"]}");
        }
    }
}

/// Writes the items with commas between them and brackets around them.
pub(super) fn array<T>(out: &mut Vec<u8>, items: &[T], item_writer: impl Fn(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        item_writer(out, item);
    }
    out.push(b']');
}

/// Writes `[first,second]`.
pub(super) fn pair(out: &mut Vec<u8>, first: &Datum, second: &Datum) {
    out.push(b'[');
    datum(out, first);
    out.push(b',');
    datum(out, second);
    out.push(b']');
}

/// Writes times, null where there is none.
pub(super) fn times(out: &mut Vec<u8>, times: &[Option<i64>]) {
    array(out, times, |out, time| match time {
        Some(time) => int(out, *time),
        None => out.extend(b"null"),
    });
}

/// Writes an integer.
pub(super) fn int(out: &mut Vec<u8>, number: i64) {
    const LONGEST: usize = 20;
    let mut digits = [0; LONGEST];
    let mut start = LONGEST;
    let mut rest = number.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        out.push(b'-');
    }
    out.extend(&digits[start..]);
}

/// Writes a string in quotes.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for &byte in text.as_bytes() {
        match byte {
            b'"' => out.extend(b"\\\""),
            b'\\' => out.extend(b"\\\\"),
            b'\n' => out.extend(b"\\n"),
            0..0x20 => put(out, format_args!("\\u{byte:04x}")),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// Writes anything that can be formatted.
pub(super) fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("a vector takes everything");
}

fn float(out: &mut Vec<u8>, bits: u64) {
    let number = f64::from_bits(bits);
    match number.is_finite() {
        true => put(out, format_args!("{number:?}")),
        false => put(out, format_args!("{{\"float\":\"{bits:016x}\"}}")),
    }
}

fn marked_text(out: &mut Vec<u8>, mark: &str, text: &str) {
    put(out, format_args!("{{\"{mark}\":"));
    string(out, text);
    out.push(b'}');
}
