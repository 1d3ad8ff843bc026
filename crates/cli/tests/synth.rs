//! `isoscope synth` and `isoscope compare`, seen from outside.

mod common;

use common::Folder;
use expect_test::{Expect, expect};

fn check(line: &str, expected: Expect) {
    let own = ("own.iso", "level own : visible = session | reads_from\n");
    expected.assert_eq(&Folder::with(&[own]).run(line));
}

#[test]
fn the_smallest_history() {
    check(
        "synth --allow si --forbid ser",
        expect![[r#"
        a: r(x)=0 w(y)=1
        b: r(y)=0 w(x)=1

        snapshot-isolation allows it, in the order b a

        serializable forbids it: these contradict one another
          if a sees b, b comes before the initial state: a read x from the initial state, and b wrote x too
          if b sees a, a comes before the initial state: b read y from the initial state, and a wrote y too
        --- exit 0
    "#]],
    );
    check(
        "synth --allow strict-serializable --forbid strong-si",
        expect![[r#"
            a: w(x)=1 @[0..0,3..3]
            b: r(x)=1 @[1..1,2..2]

            strict-serializable allows it, in the order a b

            strong-si forbids it: these contradict one another
              a comes before b: reads from
              b comes before a: real time
            --- exit 0
        "#]],
    );
    check(
        "synth --allow own.iso --forbid causal",
        expect![[r#"
        a: w(x)=1
        b: r(x)=1
        b: r(x)=0

        own allows it, in the order a b1 b2

        causal forbids it: these contradict one another
          if b2 sees a, a comes before the initial state: b2 read x from the initial state, and a wrote x too
        --- exit 0
    "#]],
    );
}

#[test]
fn none_says_the_scope() {
    check(
        "synth --allow ser --forbid si --max-txns 3",
        expect![[r#"
        none within up to 3 transactions, up to 3 objects
        --- exit 1
    "#]],
    );
    check(
        "synth --allow ser --forbid si --txns 2 --objects 1 --values 2 --json",
        expect![[r#"
        {
          "effort": {
            "candidates": 0,
            "clauses": 9,
            "conflicts": 0
          },
          "found": false,
          "scope": {
            "objects": 1,
            "txns": 2,
            "values": 2
          }
        }
        --- exit 1
    "#]],
    );
}

#[test]
fn all_of_a_scope() {
    check(
        "synth --allow session-si --forbid session-ser --txns 2 --objects 2 --all",
        expect![[r#"
        a: r(x)=0 w(y)=1
        b: r(y)=0 w(x)=1

        a: r(x)=0 r(y)=0 w(x)=1
        b: r(x)=0 w(y)=1

        a: r(x)=0 r(y)=0 w(x)=1
        b: r(x)=0 r(y)=0 w(y)=1

        3 histories within 2 transactions, up to 2 objects; that is all
        --- exit 0
    "#]],
    );
}

#[test]
fn what_is_found_can_be_checked() {
    let folder = Folder::with(&[]);
    folder.run("synth --allow prefix --forbid si --output found.jsonl");
    let shown = folder.run("check found.jsonl --level prefix,si");
    assert!(
        shown.contains("holds      prefix") && shown.contains("violated   snapshot-isolation"),
        "{shown}"
    );
}

#[test]
fn a_proof_that_there_is_none() {
    let folder = Folder::with(&[]);
    folder.run("synth --allow ser --forbid si --max-txns 2 --proof p");
    let cnf = std::fs::read_to_string(folder.file("p.cnf")).unwrap();
    assert!(cnf.lines().any(|line| line.starts_with("p cnf ")) && folder.file("p.drat").exists());
}

#[test]
fn comparison() {
    check(
        "compare si prefix",
        expect![[r#"
        snapshot-isolation is incomparable with prefix (within up to 5 transactions, up to 3 objects)

          snapshot-isolation allows, prefix forbids
            a: w(x)=1
            a: r(x)=0

          prefix allows, snapshot-isolation forbids
            a: r(x)=0 w(x)=1
            b: r(x)=0 w(x)=2
        --- exit 0
    "#]],
    );
    check(
        "compare ra-b ra-c --max-txns 3",
        expect![[r#"
        ra-b is equivalent to ra-c (within up to 3 transactions, up to 3 objects)
        --- exit 0
    "#]],
    );
    check(
        "compare si",
        expect![[r#"
        --- standard error
        error: two levels are compared, and 1 were given; --matrix compares any number
        --- exit 2
    "#]],
    );
    check(
        "compare --matrix ra causal prefix psi session-si session-ser --max-txns 4 --objects 2",
        expect![[r#"
            within up to 4 transactions, up to 2 objects

                                               1  2  3  4  5  6
              read-atomic                  1   .  >  >  >  >  >
              causal                       2   <  .  >  >  >  >
              prefix                       3   <  <  .  |  >  >
              parallel-si                  4   <  <  |  .  >  >
              session-snapshot-isolation   5   <  <  <  <  .  >
              session-serializable         6   <  <  <  <  <  .

            < allows less, > allows more, = the same, | each allows something the other forbids

              causal is next above read-atomic
              prefix is next above causal
              parallel-si is next above causal
              session-snapshot-isolation is next above prefix
              session-snapshot-isolation is next above parallel-si
              session-serializable is next above session-snapshot-isolation
            --- exit 0
        "#]],
    );
}

#[test]
fn the_lattice_is_what_comparison_derives() {
    let folder = Folder::with(&[]);
    let json = |line: &str| -> serde_json::Value {
        serde_json::from_slice(&folder.isoscope(line).output().unwrap().stdout).unwrap()
    };
    let listed = json("levels --json");
    // Read committed speaks of operations, which synthesis does not make; the others are compared each with each.
    let timeless: Vec<&serde_json::Value> = listed
        .as_array()
        .unwrap()
        .iter()
        .filter(|level| level["needs_times"] == false && level["name"] != "read-committed")
        .collect();
    let names: Vec<&str> = timeless.iter().map(|level| level["name"].as_str().unwrap()).collect();
    let matrix = json(&format!("compare --matrix {} --max-txns 4 --objects 2 --json", names.join(" ")));
    for (first, level) in timeless.iter().enumerate() {
        for weaker in level["implies"].as_array().unwrap() {
            let Some(second) = names.iter().position(|name| weaker == *name) else {
                continue;
            };
            let relation = &matrix["relations"][first][second];
            assert!(
                relation == "stronger" || relation == "equivalent",
                "{} and {weaker}: {relation}",
                names[first]
            );
        }
    }
}

/// What is written says what was found: session order between sessions is drawn, and no file is written without it.
#[test]
fn partial_session_order_is_drawn_and_never_lost() {
    let folder = Folder::with(&[]);
    let levels = "--allow read-committed --forbid read-atomic --txns 5 --isolde-compatible";
    let told = folder.run(&format!("synth {levels} --dot found.dot --output found.jsonl"));
    assert!(told.contains("session order: line 1 before line 5\n"), "{told}");
    assert!(told.contains("found.jsonl: not written, because session order leads"), "{told}");
    assert!(told.ends_with("--- exit 2\n"), "{told}");
    assert!(!folder.file("found.jsonl").exists());
    let drawn = std::fs::read_to_string(folder.file("found.dot")).unwrap();
    assert!(drawn.contains("t0 -> t4 [label=\"so\", style=dashed];"), "{drawn}");
}
