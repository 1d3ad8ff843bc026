//! A witness as SVG: text that is drawn without a browser script, a font or a network.

use std::fmt::Write;

use isoscope::{EdgeKind, Witness};

use crate::layout::{CHAR, Curve, LINE, Layout, TxnBox, label_width};
use crate::text::text;

/// The colours and lines of a picture, for light and dark.
pub const STYLE: &str = include_str!("picture.css");

/// How a picture is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// A file of its own: one image, described in words.
    File,
    /// In a page: transactions and edges can be pointed at, and are named after this number.
    Page(usize),
}

/// The picture of a witness.
pub fn svg(witness: &Witness, used: Use) -> String {
    let layout = Layout::of(witness);
    let mut out = String::new();
    open(&mut out, witness, &layout, used);
    for lane in &layout.lanes {
        let (y, height) = (lane.y, lane.height);
        let width = layout.width - 4.0;
        let _ = writeln!(
            out,
            "<rect class=\"lane\" x=\"2\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"6\"/>"
        );
        put_text(&mut out, "lane-name", (lane.x, y + 16.0), &lane.label);
    }
    for (x, y, note) in &layout.notes {
        put_text(&mut out, "note", (*x, *y), note);
    }
    for placed in &layout.boxes {
        put_box(&mut out, witness, placed, used);
    }
    for (edge, curve) in witness.support.iter().zip(&layout.support) {
        let reason = text(&crate::text::short(&edge.reason, 600));
        let _ =
            writeln!(out, "<path class=\"support\" d=\"{}\"><title>{reason}</title></path>", path_of(curve));
    }
    for (number, curve) in layout.curves.iter().enumerate() {
        put_edge(&mut out, witness, number, curve, used);
    }
    out.push_str("</svg>\n");
    out
}

fn open(out: &mut String, witness: &Witness, layout: &Layout, used: Use) {
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let size = format!("width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"");
    let title = text(&witness.headline);
    match used {
        Use::File => {
            let _ = writeln!(
                out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" role=\"img\" {size} \
                 aria-labelledby=\"title about\">\n<title id=\"title\">{title}</title>\n<desc id=\"about\">{}</desc>\n\
                 <style>{STYLE}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>",
                text(&description(witness))
            );
        }
        Use::Page(id) => {
            let _ = writeln!(
                out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\" role=\"group\" {size} \
                 aria-label=\"{title}\" id=\"w{id}-picture\">"
            );
        }
    }
    put_arrows(out, used);
}

/// Everything that the picture shows, in words.
fn description(witness: &Witness) -> String {
    let reasons = witness.edges.iter().map(|edge| edge.reason.clone());
    let all: Vec<String> = witness.participants.iter().cloned().chain(reasons).collect();
    all.join(". ")
}

/// The heads of arrows, one for each kind of edge, since a head does not take the colour of its line everywhere.
fn put_arrows(out: &mut String, used: Use) {
    out.push_str("<defs>\n");
    for kind in ["so", "rt", "wr", "ww", "rw", "derived"] {
        let id = arrow_id(kind, used);
        let _ = writeln!(
            out,
            "<marker id=\"{id}\" class=\"head {kind}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"13\" \
             markerHeight=\"13\" markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\"><path d=\"M0 0L10 5L0 10z\"/></marker>"
        );
    }
    out.push_str("</defs>\n");
}

fn arrow_id(kind: &str, used: Use) -> String {
    match used {
        Use::File => format!("head-{kind}"),
        Use::Page(id) => format!("w{id}-head-{kind}"),
    }
}

fn put_box(out: &mut String, witness: &Witness, placed: &TxnBox, used: Use) {
    let place = placed.txn.index();
    let about = text(witness.participants.get(place).map_or("", String::as_str));
    match used {
        Use::File => {
            let _ = writeln!(
                out,
                "<g class=\"txn\"><title>{}</title>",
                crate::text::sentence(&about_raw(witness, place))
            );
        }
        Use::Page(id) => {
            let about = if about.len() > 2_000 {
                text(&crate::text::short(&about_raw(witness, place), 600))
            } else {
                about
            };
            let _ = writeln!(
                out,
                "<g class=\"txn\" id=\"w{id}-t{place}\" tabindex=\"0\" role=\"img\" aria-label=\"{about}\">"
            );
        }
    }
    let _ = writeln!(
        out,
        "<rect class=\"box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\"/>",
        placed.x, placed.y, placed.width, placed.height
    );
    let x = placed.x + 10.0;
    let y = placed.y + 10.0;
    put_text(out, "name", (x, y + 14.0), &placed.label);
    if !placed.outcome.is_empty() {
        let after = x + (placed.label.chars().count() + 2) as f64 * CHAR;
        put_text(out, "outcome", (after, y + 14.0), placed.outcome);
    }
    for (line, (_, shown)) in placed.lines.iter().enumerate() {
        put_text(out, "op", (x, y + 14.0 + LINE * (line + 1) as f64), shown);
    }
    out.push_str("</g>\n");
}

fn about_raw(witness: &Witness, place: usize) -> String {
    witness.participants.get(place).cloned().unwrap_or_default()
}

fn put_edge(out: &mut String, witness: &Witness, number: usize, curve: &Curve, used: Use) {
    let edge = &witness.edges[number];
    let kind = edge.kind.name();
    let reason = crate::text::short(&edge.reason, 600);
    match used {
        Use::File => {
            let _ = writeln!(out, "<g class=\"edge {kind}\"><title>{}</title>", text(&reason));
        }
        Use::Page(id) => {
            let _ = writeln!(
                out,
                "<g class=\"edge {kind}\" id=\"w{id}-e{number}\" tabindex=\"0\" role=\"button\" \
                 aria-label=\"{}: {} ({})\" data-from=\"w{id}-t{}\" data-to=\"w{id}-t{}\">",
                text(&curve.label),
                text(&reason),
                kind_in_words(edge.kind),
                edge.from.index(),
                edge.to.index(),
            );
        }
    }
    let [a, b, c, d] = curve.points;
    let path =
        format!("M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}", a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1);
    let head = arrow_id(kind, used);
    let _ = writeln!(
        out,
        "<path class=\"touch\" d=\"{path}\"/><path class=\"line\" d=\"{path}\" marker-end=\"url(#{head})\"/>"
    );
    let width = label_width(&curve.label);
    let (x, y) = curve.label_at;
    let _ = writeln!(
        out,
        "<rect class=\"tag\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{LINE}\" rx=\"10\"/>",
        x - width / 2.0,
        y - LINE / 2.0
    );
    put_text(out, "label", (x - width / 2.0 + 5.0, y + 4.5), &curve.label);
    out.push_str("</g>\n");
}

fn path_of(curve: &Curve) -> String {
    let [a, b, c, d] = curve.points;
    format!("M{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}", a.0, a.1, b.0, b.1, c.0, c.1, d.0, d.1)
}

/// What an edge of this kind says.
pub fn kind_in_words(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::So => "session order",
        EdgeKind::Rt => "real time",
        EdgeKind::Wr => "the second read what the first wrote",
        EdgeKind::Ww => "the second overwrote what the first wrote",
        EdgeKind::Rw => "the second overwrote what the first read",
        EdgeKind::Derived => "the other order leads to a contradiction",
    }
}

fn put_text(out: &mut String, class: &str, (x, y): (f64, f64), shown: &str) {
    let length = shown.chars().count() as f64 * CHAR;
    let shown = text(shown);
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\">\
         {shown}</text>"
    );
}
