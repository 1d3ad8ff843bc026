//! A small history as a graph for Graphviz: a box for each transaction, session order, and an arrow from each writer to its readers.
//!
//! Session order may be any partial order (`synth --isolde-compatible`): pairs that no session shows are edges too.

use std::fmt::Write;

use history::{History, TxnId};
use index::Index;
use spec::SmallHistory;

/// The graph.
pub fn of(small: &SmallHistory) -> String {
    let history = &small.to_history();
    let mut dot =
        String::from("digraph history {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for txn in history.txns() {
        let label = format!("{}\\n{}", escape(&history.txn_label(txn)), operations(history, txn));
        writeln!(dot, "  t{} [label=\"{label}\"];", txn.0).expect("text grows");
    }
    for session in history.sessions() {
        let txns: Vec<_> = history.session_txns(session).collect();
        for pair in txns.windows(2) {
            writeln!(dot, "  t{} -> t{} [label=\"so\", style=dashed];", pair[0].0, pair[1].0)
                .expect("text grows");
        }
    }
    // Sessions are one after the other in the history, whatever their order in the small one.
    let mut places: Vec<usize> = (0..small.txns.len()).collect();
    places.sort_by_key(|&place| small.txns[place].session);
    let number = |place: usize| places.iter().position(|&other| other == place).unwrap_or(place);
    for &(first, second) in &small.extra_session_order {
        writeln!(dot, "  t{} -> t{} [label=\"so\", style=dashed];", number(first), number(second))
            .expect("text grows");
    }
    let index = Index::of(history);
    for (number, read) in index.reads().iter().enumerate() {
        for &write in index.sources(number).writes {
            let (from, key) = (index.writes()[write as usize].txn.0, history.keys().original(read.key));
            let label = escape(&format!("wr {key}"));
            writeln!(dot, "  t{from} -> t{} [label=\"{label}\"];", read.txn.0).expect("text grows");
        }
    }
    dot + "}\n"
}

fn operations(history: &History, txn: TxnId) -> String {
    let shown = history.ops(txn).map(|(_, op)| {
        let key = op.key().map_or(String::new(), |key| history.keys().original(key).to_string());
        let value = op.value().map_or("?".to_owned(), |value| history.values().original(value).to_string());
        escape(&format!("{}({key})={value}", if op.is_read() { "r" } else { "w" }))
    });
    shown.collect::<Vec<_>>().join("\\n")
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_and_reads_are_edges() {
        let mut history = SmallHistory::parse("a: w(x)=1\na: w(y)=1\nb: r(x)=1\n").unwrap();
        let dot = of(&history);
        assert!(dot.contains("t0 -> t1 [label=\"so\", style=dashed];"), "{dot}");
        assert!(dot.contains("t0 -> t2 [label=\"wr x\"];"), "{dot}");
        let between = "t1 -> t2 [label=\"so\", style=dashed];";
        assert!(!dot.contains(between), "{dot}");
        history.extra_session_order.push((1, 2));
        assert!(of(&history).contains(between));
    }

    #[test]
    fn session_order_between_sessions_is_that_of_the_printed_lines() {
        let mut history = SmallHistory::parse("b: w(x)=1\na: w(y)=1\nb: r(x)=1\n").unwrap();
        history.txns[1].session = 0;
        history.txns[0].session = 1;
        history.txns[2].session = 1;
        history.extra_session_order.push((0, 1));
        assert!(of(&history).contains("t1 -> t0 [label=\"so\", style=dashed];"), "{}", of(&history));
    }
}
