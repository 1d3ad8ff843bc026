//! The report: one HTML file that loads nothing.
//!
//! First the levels, then for each violated one its witness: what it means, the picture, the argument as numbered steps,
//! and the transactions around it on demand. Pointing at a step marks its edge and the other way round; without the
//! script the same is there as text.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use history::History;
use isoscope::{Line, Witness, WitnessEdge};
use sha2::{Digest, Sha256};

use crate::around::around;
use crate::svg::{self, Use, svg};
use crate::text::{sentence, text};

const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a report is made of. All texts are escaped here.
#[derive(Clone, Debug, Default)]
pub struct Page<'p> {
    /// What it is about: the name of the file, or of the database.
    pub title: String,
    /// What is in the history, in one line.
    pub about: String,
    /// The history, from which the transactions around a witness are taken.
    pub history: Option<&'p History>,
    /// The verdict for each level.
    pub verdicts: Vec<VerdictRow>,
    /// What shows the violations.
    pub witnesses: Vec<Witness>,
    /// How much the run could have shown: what was counted, and the number.
    pub power: Vec<(String, String)>,
    /// A sentence that judges these numbers.
    pub power_note: String,
    /// Faults that struck while the history was recorded.
    pub faults: Vec<String>,
    /// Tables of litmus tests.
    pub tables: Vec<LitmusTable>,
    /// Commands that give the same answer again.
    pub commands: Vec<String>,
}

/// The verdict for one level.
#[derive(Clone, Debug)]
pub struct VerdictRow {
    /// The name of the level.
    pub level: String,
    /// `holds`, `violated` or `undecided`.
    pub verdict: &'static str,
    /// Why.
    pub note: String,
    /// The place of the witness in [`Page::witnesses`], if there is one.
    pub witness: Option<usize>,
}

/// A table of litmus tests: what each setting of a database allows.
#[derive(Clone, Debug)]
pub struct LitmusTable {
    /// The database.
    pub title: String,
    /// The tests.
    pub columns: Vec<String>,
    /// The settings, each with its cells.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What is shown.
    pub word: String,
    /// Whether the anomaly is possible.
    pub is_bad: bool,
    /// What was asked and answered, line by line; opened on demand.
    pub transcript: String,
}

/// The page.
pub fn html(page: &Page<'_>) -> String {
    let style = format!("{PAGE_STYLE}{}", svg::STYLE);
    let mut out = String::new();
    let title = text(&format!("{}: isolation report", page.title));
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{}'; script-src '{}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>{style}</style>\n</head>\n\
         <body>\n",
        hash(&style),
        hash(SCRIPT),
    );
    put_header(&mut out, page);
    out.push_str("<main>\n");
    put_tables(&mut out, page);
    put_verdicts(&mut out, page);
    for (number, witness) in page.witnesses.iter().enumerate() {
        put_witness(&mut out, page, number, witness);
    }
    put_power(&mut out, page);
    put_list(&mut out, "Faults that struck", &page.faults, "");
    put_list(&mut out, "To see it again", &page.commands, "commands");
    let _ = write!(out, "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

/// The hash of an element's content, as a content security policy names it.
fn hash(content: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(content.as_bytes())))
}

fn put_header(out: &mut String, page: &Page<'_>) {
    let _ = writeln!(
        out,
        "<header>\n<h1>{}</h1>\n<p>{}</p>\n</header>",
        sentence(&page.title),
        sentence(&page.about)
    );
}

fn put_verdicts(out: &mut String, page: &Page<'_>) {
    if page.verdicts.is_empty() {
        return;
    }
    out.push_str(
        "<section aria-labelledby=\"levels\">\n<h2 id=\"levels\">Levels</h2>\n<div class=\"scroll\"><table class=\"levels\">\n\
         <thead><tr><th scope=\"col\">level</th><th scope=\"col\">verdict</th><th scope=\"col\">why</th></tr></thead>\n<tbody>\n",
    );
    for row in &page.verdicts {
        let sign = match row.verdict {
            "holds" => "\u{2713}",
            "violated" => "\u{2717}",
            _ => "?",
        };
        let note = match row.witness {
            Some(number) => format!("<a href=\"#w{number}\">{}</a>", sentence(&row.note)),
            None => sentence(&row.note),
        };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"{}\"><span aria-hidden=\"true\">{sign}</span> {}</td><td>{note}</td></tr>",
            text(&row.level),
            text(row.verdict),
            text(row.verdict),
        );
    }
    out.push_str("</tbody></table></div>\n</section>\n");
}

fn put_witness(out: &mut String, page: &Page<'_>, number: usize, witness: &Witness) {
    let class = witness.class().map_or_else(String::new, |class| format!(" <small>({class})</small>"));
    let _ = writeln!(
        out,
        "<section class=\"witness\" id=\"w{number}\" aria-labelledby=\"w{number}-name\">\n\
         <h2 id=\"w{number}-name\"><span class=\"level\">{}</span> {}{class}</h2>\n<p class=\"meaning\">{}</p>",
        text(&witness.levels()),
        text(witness.name()),
        text(witness.meaning()),
    );
    let _ = writeln!(
        out,
        "<div class=\"columns\">\n<figure>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"picture of the witness\">{}</div>\n\
         <figcaption class=\"reason\" id=\"w{number}-reason\" aria-live=\"polite\">{}</figcaption>\n</figure>",
        svg(witness, Use::Page(number)),
        text(&hint(witness)),
    );
    out.push_str("<div class=\"argument\">\n");
    put_argument(out, number, witness);
    out.push_str("</div>\n</div>\n");
    let participants = witness.participants.iter();
    let _ = writeln!(out, "<details open><summary>What each transaction did</summary>\n<ul class=\"plain\">");
    for line in participants {
        let _ = writeln!(out, "<li>{}</li>", sentence(line));
    }
    out.push_str("</ul></details>\n");
    if !witness.is_minimal {
        out.push_str("<p>A limit was reached before the witness was as small as possible.</p>\n");
    }
    if let Some(history) = page.history {
        out.push_str(&around(history, witness));
    }
    out.push_str("</section>\n");
}

fn hint(witness: &Witness) -> String {
    match witness.edges.is_empty() {
        true => witness.headline.clone(),
        false => format!(
            "{}. Point at an arrow, or move with Tab and the arrow keys, to read its reason.",
            witness.headline
        ),
    }
}

/// The argument: steps that are edges are buttons, with what explains them below.
fn put_argument(out: &mut String, number: usize, witness: &Witness) {
    let closes = if witness.edges.len() > 1 { "Why that cannot be" } else { "What is wrong" };
    let _ = writeln!(out, "<h3>{closes}</h3>");
    let steps = steps(&witness.lines);
    out.push_str("<ol class=\"steps\">\n");
    for (line, below) in steps {
        let edge = witness.edges.iter().position(|edge| edge.reason == line.text);
        match edge {
            Some(edge) => {
                let _ = write!(
                    out,
                    "<li value=\"{}\" class=\"{}\"><button type=\"button\" class=\"step\" data-edge=\"w{number}-e{edge}\" \
                     aria-describedby=\"w{number}-reason\">{}</button>",
                    edge + 1,
                    witness.edges[edge].kind.name(),
                    sentence(&line.text)
                );
            }
            None => {
                let _ = write!(out, "<li>{}", sentence(&line.text));
            }
        }
        put_below(out, below);
        out.push_str("</li>\n");
    }
    out.push_str("</ol>\n");
    if is_circle(&witness.edges) {
        let name = |txn| text(&crate::text::short(&witness.history.txn_label(txn), 40));
        let mut circle: Vec<String> = witness.edges.iter().map(|edge| name(edge.from)).collect();
        circle.extend(circle.first().cloned());
        let _ = writeln!(
            out,
            "<p class=\"circle\">So each would have to come before the next: {}.</p>",
            circle.join(" \u{2192} ")
        );
    }
}

/// Whether each step begins where the one before it ends.
fn is_circle(edges: &[WitnessEdge]) -> bool {
    let next = edges.iter().cycle().skip(1);
    edges.len() > 1 && edges.iter().zip(next).all(|(edge, next)| edge.to == next.from)
}

/// The lines that are not nested, each with the lines below it.
fn steps(lines: &[Line]) -> Vec<(&Line, &[Line])> {
    let starts: Vec<usize> =
        (0..lines.len()).filter(|&place| place == 0 || lines[place].depth == 0).collect();
    let end = |number: usize| starts.get(number + 1).copied().unwrap_or(lines.len());
    starts
        .iter()
        .enumerate()
        .map(|(number, &start)| (&lines[start], &lines[start + 1..end(number)]))
        .collect()
}

fn put_below(out: &mut String, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    out.push_str("<ul class=\"below\">");
    for line in lines {
        let depth = line.depth.clamp(1, 6);
        let _ = write!(out, "<li class=\"d{depth}\">{}</li>", sentence(&line.text));
    }
    out.push_str("</ul>");
}

fn put_power(out: &mut String, page: &Page<'_>) {
    if page.power.is_empty() {
        return;
    }
    out.push_str(
        "<section aria-labelledby=\"power\">\n<h2 id=\"power\">What this run could have shown</h2>\n<dl class=\"power\">\n",
    );
    for (name, number) in &page.power {
        let _ = writeln!(out, "<div><dt>{}</dt><dd>{}</dd></div>", text(name), text(number));
    }
    let _ = writeln!(out, "</dl>\n<p>{}</p>\n</section>", sentence(&page.power_note));
}

fn put_list(out: &mut String, title: &str, lines: &[String], class: &str) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(out, "<section>\n<h2>{}</h2>\n<ul class=\"plain {class}\">", text(title));
    for line in lines {
        let _ = match class {
            "" => writeln!(out, "<li>{}</li>", sentence(line)),
            _ => writeln!(out, "<li><code>{}</code></li>", sentence(line)),
        };
    }
    out.push_str("</ul>\n</section>\n");
}

fn put_tables(out: &mut String, page: &Page<'_>) {
    for (number, table) in page.tables.iter().enumerate() {
        let _ = writeln!(
            out,
            "<section aria-labelledby=\"table{number}\">\n<h2 id=\"table{number}\">{}</h2>\n<div class=\"scroll\" \
             tabindex=\"0\" role=\"region\" aria-labelledby=\"table{number}\"><table class=\"litmus\">\n\
             <thead><tr><th scope=\"col\">test</th>",
            text(&table.title)
        );
        for (name, _) in &table.rows {
            let _ = write!(out, "<th scope=\"col\">{}</th>", text(name));
        }
        out.push_str("</tr></thead>\n<tbody>\n");
        for (place, name) in table.columns.iter().enumerate() {
            let _ = write!(out, "<tr><th scope=\"row\">{}</th>", text(name));
            let cells = table.rows.iter().filter_map(|(_, cells)| cells.get(place));
            cells.for_each(|cell| put_cell(out, cell));
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n</section>\n");
    }
}

fn put_cell(out: &mut String, cell: &Cell) {
    let class = if cell.is_bad { "violated" } else { "holds" };
    let word = text(&cell.word);
    let _ = match cell.transcript.is_empty() {
        true => write!(out, "<td class=\"{class}\">{word}</td>"),
        false => write!(
            out,
            "<td class=\"{class}\"><details><summary>{word}</summary><pre>{}</pre></details></td>",
            cell.transcript.lines().map(text).collect::<Vec<_>>().join("\n")
        ),
    };
}
