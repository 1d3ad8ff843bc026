//! A witness as a graph in the language of Graphviz, for documents that are made with it.

use std::fmt::Write;

use history::visible;
use isoscope::Witness;
use isoscope::witness::op_text;

/// The graph.
pub fn dot(witness: &Witness) -> String {
    let history = &witness.history;
    let mut out = String::from(
        "digraph witness {\n  rankdir=LR;\n  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"monospace\"];\n",
    );
    let _ = writeln!(out, "  label=\"{}\";", quoted(&witness.headline));
    for session in history.sessions() {
        let name = quoted(&format!("session {}", history.session_label(session)));
        let _ = writeln!(out, "  subgraph cluster_{} {{\n    label=\"{name}\";", session.0);
        for txn in history.session_txns(session) {
            let ops: String =
                history.ops(txn).map(|(_, op)| format!("{}\\l", quoted(&op_text(history, op)))).collect();
            let _ = writeln!(out, "    t{} [label=\"{}\\n{ops}\"];", txn.0, quoted(&history.txn_label(txn)));
        }
        out.push_str("  }\n");
    }
    for (number, edge) in witness.edges.iter().enumerate() {
        let _ = writeln!(
            out,
            "  t{} -> t{} [label=\"{} {}\", tooltip=\"{}\"];",
            edge.from.0,
            edge.to.0,
            number + 1,
            quoted(&edge.label()),
            quoted(&edge.reason)
        );
    }
    out + "}\n"
}

fn quoted(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "\\\"")
}
