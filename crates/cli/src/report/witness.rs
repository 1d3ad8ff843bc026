//! A witness as text and as JSON.

use std::io::{self, Write};

use isoscope::Witness;
use serde_json::{Value, json};

use crate::screen::Screen;
use crate::terminal::{Style, Tone};

/// How many notes of the recording are shown with a witness.
const MOST_NOTES: usize = 5;

/// Writes what violates a level: the name, what it means, the transactions that take part, and the steps with their reasons.
pub fn write(witness: &Witness, style: Style, out: &mut Screen<'_>) -> io::Result<()> {
    write!(out, "  ")?;
    out.paint(Tone::Bad, "violated")?;
    let text = format!("{}: {}", witness.levels(), witness.headline);
    writeln!(out, "   {}", &style.wrap(&text, 13, 13)[13..])?;
    writeln!(out, "{}", style.wrap(witness.meaning(), 13, 13))?;
    writeln!(out)?;
    for participant in &witness.participants {
        writeln!(out, "{}", style.wrap(participant, 2, 4))?;
    }
    writeln!(out)?;
    let mut number = 0;
    for line in &witness.lines {
        let indent = 4 + 3 * line.depth;
        let text = match line.depth {
            0 => {
                number += 1;
                format!("{number}. {}", line.text)
            }
            _ => line.text.clone(),
        };
        writeln!(out, "{}", style.wrap(&text, indent, indent + 3))?;
    }
    let notes = witness.history.notes();
    for note in notes.iter().take(MOST_NOTES) {
        let text = format!("meanwhile, at {}: {}", note.time, note.text);
        writeln!(out, "{}", style.wrap(&crate::terminal::visible(&text), 4, 6))?;
    }
    if notes.len() > MOST_NOTES {
        writeln!(out, "    and {} more notes", notes.len() - MOST_NOTES)?;
    }
    if !witness.is_minimal {
        writeln!(out, "\n  a limit was reached before the witness was as small as possible")?;
    }
    Ok(())
}

/// The witness as a part of an answer; `docs/json.md` describes it.
pub fn json(witness: &Witness) -> Value {
    let label = |txn| witness.history.txn_label(txn);
    let labels: Vec<String> = witness.history.txns().map(label).collect();
    let edges: Vec<Value> = witness
        .edges
        .iter()
        .map(|edge| {
            json!({
                "from": label(edge.from),
                "to": label(edge.to),
                "kind": edge.kind.name(),
                "key": edge.key,
                "reason": edge.reason,
            })
        })
        .collect();
    json!({
        "level": witness.level.name(),
        "also_violates": witness.also.iter().map(isoscope::AskedLevel::name).collect::<Vec<_>>(),
        "anomaly": witness.name(),
        "class": witness.class(),
        "meaning": witness.meaning(),
        "headline": witness.headline,
        "transactions": labels,
        "participants": witness.participants,
        "sentences": witness.lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(),
        "edges": edges,
        "is_minimal": witness.is_minimal,
        "notes": witness.history.notes().iter().map(|note| json!({ "time": note.time, "text": note.text }))
            .collect::<Vec<_>>(),
        "notation": formats::notation::print(&witness.history).ok(),
    })
}
