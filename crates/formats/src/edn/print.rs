//! Keys and values to EDN.

use history::Datum;

use super::values::number;

/// Writes a form, or says why EDN has no such one.
pub(crate) fn print_datum(out: &mut String, datum: &Datum) -> Result<(), String> {
    match datum {
        Datum::Nil => out.push_str("nil"),
        Datum::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Datum::Int(int) => out.push_str(&int.to_string()),
        Datum::BigInt(digits) => {
            out.push_str(digits);
            out.push('N');
        }
        Datum::Float(bits) => print_float(out, *bits)?,
        Datum::Str(text) => print_string(out, text),
        Datum::Keyword(text) => {
            out.push(':');
            print_symbol(out, text, is_name)?;
        }
        Datum::Symbol(text) => print_symbol(out, text, is_symbol)?,
        Datum::List(items) => print_items(out, '[', items, ']')?,
        Datum::Row(columns) => {
            out.push('{');
            for (place, (name, value)) in columns.iter().enumerate() {
                out.push_str(if place == 0 { "" } else { ", " });
                print_datum(out, name)?;
                out.push(' ');
                print_datum(out, value)?;
            }
            out.push('}');
        }
        Datum::Tagged(tagged) => print_tagged(out, &tagged.0, &tagged.1)?,
    }
    Ok(())
}

fn print_items(out: &mut String, open: char, items: &[Datum], close: char) -> Result<(), String> {
    out.push(open);
    for (place, item) in items.iter().enumerate() {
        out.push_str(if place == 0 { "" } else { " " });
        print_datum(out, item)?;
    }
    out.push(close);
    Ok(())
}

fn print_float(out: &mut String, bits: u64) -> Result<(), String> {
    let float = f64::from_bits(bits);
    match float {
        _ if float.is_finite() => out.push_str(&format!("{float:?}")),
        _ if bits == f64::NAN.to_bits() => out.push_str("##NaN"),
        _ if float.is_nan() => return Err(format!("EDN has one NaN, and not the one of bits {bits:x}")),
        _ if float > 0.0 => out.push_str("##Inf"),
        _ => out.push_str("##-Inf"),
    }
    Ok(())
}

fn print_string(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            control if (control as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", control as u32)),
            plain => out.push(plain),
        }
    }
    out.push('"');
}

fn print_symbol(out: &mut String, text: &str, is_fit: fn(&str) -> bool) -> Result<(), String> {
    if !is_fit(text) {
        return Err(format!("EDN has no keyword, symbol or tag {text:?}"));
    }
    out.push_str(text);
    Ok(())
}

/// Whether a text ends where a token ends.
fn is_name(text: &str) -> bool {
    let breaks = |char: char| char.is_whitespace() || char.is_control() || "()[]{}\",;\\".contains(char);
    !text.is_empty() && !text.contains(breaks)
}

/// Whether a text would be read as a symbol and as nothing else.
fn is_symbol(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = unsigned.starts_with(|first: char| first.is_ascii_digit());
    is_name(text) && !is_number && !text.starts_with([':', '#']) && !matches!(text, "nil" | "true" | "false")
}

fn print_tagged(out: &mut String, tag: &str, value: &Datum) -> Result<(), String> {
    match (tag, value) {
        ("set", Datum::List(items)) => {
            out.push('#');
            print_items(out, '{', items, '}')
        }
        ("char", Datum::Str(text)) if text.chars().count() == 1 => {
            print_char(out, text);
            Ok(())
        }
        ("ratio", Datum::Str(text)) if is_number_of("ratio", text) => {
            out.push_str(text);
            Ok(())
        }
        ("decimal", Datum::Str(text)) if is_number_of("decimal", &format!("{text}M")) => {
            out.push_str(text);
            out.push('M');
            Ok(())
        }
        _ => {
            out.push('#');
            // `#_` discards, and `##` begins a float.
            print_symbol(out, tag, |tag| is_name(tag) && !tag.starts_with(['_', '#']))?;
            out.push(' ');
            print_datum(out, value)
        }
    }
}

/// Whether a token is read as a number that is kept under this tag.
fn is_number_of(tag: &str, token: &str) -> bool {
    matches!(number(token, false), Some(Datum::Tagged(tagged)) if *tagged.0 == *tag)
}

fn print_char(out: &mut String, char: &str) {
    out.push('\\');
    match char {
        "\n" => out.push_str("newline"),
        "\r" => out.push_str("return"),
        " " => out.push_str("space"),
        "\t" => out.push_str("tab"),
        "\u{c}" => out.push_str("formfeed"),
        "\u{8}" => out.push_str("backspace"),
        other => out.push_str(other),
    }
}
