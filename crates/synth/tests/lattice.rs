//! The lattice of the shipped levels, derived by comparison and not typed in.

mod common;

use common::level;
use expect_test::expect;
use isoscope_synth::{Bounds, Hasse, Matrix, Options, matrix};
use levels::LevelId;

fn lines(names: &[&str], bounds: Bounds) -> String {
    let levels: Vec<_> = names.iter().map(|name| level(name)).collect();
    let compared = matrix(&levels, Options::default(), bounds);
    agrees_with_the_data(&compared);
    let hasse = Hasse::new(&compared);
    let name = |number: usize| hasse.boxes[number].join(" = ");
    let mut lines: Vec<String> =
        hasse.edges.iter().map(|&(from, to)| format!("{} > {}", name(from), name(to))).collect();
    lines.sort_unstable();
    lines.join("\n")
}

/// The implications that `check` uses to answer for one level by another are those that synthesis finds.
#[track_caller]
fn agrees_with_the_data(compared: &Matrix) {
    let shipped: Vec<Option<LevelId>> = compared.names.iter().map(|name| name.parse().ok()).collect();
    for (a, strong) in shipped.iter().enumerate() {
        for (b, weak) in shipped.iter().enumerate() {
            if let (Some(strong), Some(weak)) = (strong, weak) {
                let expected = strong == weak || strong.implies(*weak);
                assert_eq!(compared.implies(a, b) || a == b, expected, "{strong} and {weak}");
            }
        }
    }
}

#[test]
fn levels_without_clocks() {
    let names = [
        "read-uncommitted",
        "read-committed",
        "read-atomic",
        "update-atomic",
        "no-lost-update",
        "causal",
        "parallel-si",
        "prefix",
        "snapshot-isolation",
        "session-snapshot-isolation",
        "serializable",
        "session-serializable",
        "update-serializable",
    ];
    let bounds = Bounds { most_txns: Some(4), objects: Some(2), ..Bounds::default() };
    expect![[r#"
        causal > read-atomic
        no-lost-update > read-atomic
        parallel-si > causal
        parallel-si > update-atomic
        prefix > causal
        read-atomic > read-committed
        read-committed > read-uncommitted
        serializable > snapshot-isolation
        session-serializable > serializable
        session-serializable > session-snapshot-isolation
        session-serializable > update-serializable
        session-snapshot-isolation > parallel-si
        session-snapshot-isolation > prefix
        session-snapshot-isolation > snapshot-isolation
        snapshot-isolation > read-uncommitted
        update-atomic > no-lost-update
        update-serializable > read-uncommitted"#]]
    .assert_eq(&lines(&names, bounds));
}

#[test]
fn levels_with_clocks() {
    let names = [
        "snapshot-isolation",
        "session-snapshot-isolation",
        "generalized-si",
        "strong-session-si",
        "strong-si",
        "serializable",
        "session-serializable",
        "strict-serializable",
    ];
    let bounds = Bounds { most_txns: Some(3), objects: Some(2), ..Bounds::default() };
    expect![[r#"
        generalized-si > snapshot-isolation
        serializable > snapshot-isolation
        session-serializable > serializable
        session-serializable > session-snapshot-isolation
        session-snapshot-isolation > snapshot-isolation
        strict-serializable > session-serializable
        strong-session-si > generalized-si
        strong-session-si > session-snapshot-isolation
        strong-si > strong-session-si"#]]
    .assert_eq(&lines(&names, bounds));
}

#[test]
fn definitions_of_one_level_share_a_box() {
    let names =
        ["causal", "cc-b", "cc-c", "tap-cc", "cc-history", "read-atomic", "ra-c", "tap-ra", "tap-ra-fixed"];
    let bounds = Bounds { most_txns: Some(3), objects: Some(2), ..Bounds::default() };
    expect![[r#"
        causal = cc-b = cc-c = tap-cc = cc-history > read-atomic = ra-c = tap-ra-fixed
        read-atomic = ra-c = tap-ra-fixed > tap-ra"#]]
    .assert_eq(&lines(&names, bounds));
}

#[test]
fn a_diagram_is_drawn() {
    let levels: Vec<_> = ["read-atomic", "causal", "ra-c"].map(level).to_vec();
    let hasse =
        Hasse::new(&matrix(&levels, Options::default(), Bounds { most_txns: Some(3), ..Bounds::default() }));
    expect![[r#"
        digraph levels {
          node [shape=box, fontname="sans-serif"];
          l0 [label="read-atomic\nra-c"];
          l1 [label="causal"];
          l1 -> l0;
        }
    "#]]
    .assert_eq(&hasse.to_dot());
    expect![[r##"
        <svg xmlns="http://www.w3.org/2000/svg" width="124" height="139" font-family="sans-serif" font-size="13">
        <line x1="42" y1="37" x2="62" y2="85" stroke="#667"/>
        <rect x="10" y="85" width="104" height="44" rx="5" fill="#eef" stroke="#446"/>
        <text x="62" y="102" text-anchor="middle">read-atomic</text>
        <text x="62" y="119" text-anchor="middle">ra-c</text>
        <rect x="10" y="10" width="64" height="27" rx="5" fill="#eef" stroke="#446"/>
        <text x="42" y="27" text-anchor="middle">causal</text>
        </svg>
    "##]].assert_eq(&hasse.to_svg());
}
