//! The notation: what it means, and what it says about what it does not understand.

use databases::{ColumnType, Where};
use expect_test::{Expect, expect};

use super::*;
use crate::{Txn, built_in};

fn check_error(text: &str, expected: Expect) {
    expected.assert_eq(&parse(text).expect_err("a text that is wrong").to_string());
}

#[test]
fn the_schedules_that_come_with_isoscope_are_read() {
    let count = |name: &str| built_in(name).map(|suite| suite.schedules.len());
    assert_eq!((count("hermitage"), count("coo"), count("predicates")), (Some(16), Some(54), Some(48)));
    assert_eq!(built_in("oracle"), None);
}

#[test]
fn a_schedule_is_a_table_and_steps() {
    let text =
        "# first\nschedule a\nabout One sentence.\nclass X\ninit x=1 y=-2\nsteps r1(x) w2(x)=3\n  c1 a2\n";
    let schedules = parse(text).unwrap();
    let [schedule] = &schedules[..] else { panic!("one schedule") };
    assert_eq!((schedule.about.as_str(), schedule.class.as_str()), ("One sentence.", "X"));
    assert_eq!(schedule.table.key, ColumnType::Text);
    assert_eq!(schedule.table.rows[1], (Datum::str("y"), vec![Datum::Int(-2)]));
    let steps: Vec<(usize, &str)> =
        schedule.steps.iter().map(|step| (step.txn.0, step.text.as_str())).collect();
    assert_eq!(steps, [(0, "r(x)"), (1, "w(x)=3"), (0, "commit"), (1, "abort")]);
    assert_eq!(schedule.shown, [[Condition::NotSerializable]]);
}

#[test]
fn columns_have_names() {
    let text = "schedule a\ncolumns saving checking\ninit kevin=(1,2)\nsteps w1(kevin.checking)+=5 i1(bob)=(3,4) c1\n";
    let schedules = parse(text).unwrap();
    let Action::Ask(Statement::Add { column, by, .. }) = &schedules[0].steps[0].action else {
        panic!("an add")
    };
    assert_eq!((column.as_str(), *by), ("checking", 5));
}

#[test]
fn predicates_are_read() {
    let text = "schedule a\nsteps p1[k>0 and k<2 or v%3=0] d1[k in 1 2] u1[all]=5 c1";
    let schedules = parse(text).unwrap();
    let Action::Ask(Statement::Select { predicate: Where::Or(parts), .. }) = &schedules[0].steps[0].action
    else {
        panic!("a select")
    };
    assert_eq!(parts[1], Where::Modulo("v".into(), 3, 0));
    assert!(matches!(&parts[0], Where::And(terms) if terms.len() == 2));
}

#[test]
fn conditions_are_read() {
    let text = "schedule a\nsteps r1(1) c1\nshown 1 saw 5 before 6 and final 1=7\nshown committed 1 and not serializable";
    let shown = &parse(text).unwrap()[0].shown;
    let before = Condition::SawBefore(Txn(0), Datum::Int(5), Datum::Int(6));
    assert_eq!(shown[0], [before, Condition::Final(Datum::Int(1), vec![Datum::Int(7)])]);
    assert_eq!(shown[1], [Condition::Committed(vec![Txn(0)]), Condition::NotSerializable]);
}

#[test]
fn errors_say_the_line_and_what_was_expected() {
    check_error("steps r1(x)", expect![[r#"line 1: expected `schedule NAME`, found `steps`"#]]);
    check_error(
        "schedule a b",
        expect![[r#"line 1: expected a name of letters, digits, `-`, `_`, `.`, found `a b`"#]],
    );
    check_error(
        "schedule a\n\nsteps x1(1)",
        expect![[
            r#"line 3: expected a step that begins with one of r, l, w, i, d, p, u, c, a, found `x1(1)`"#
        ]],
    );
    check_error(
        "schedule a\nsteps r(1)",
        expect![[r#"line 2: expected the number of a transaction, 1 to 9, found `(1)`"#]],
    );
    check_error(
        "schedule a\nsteps w1(1)=",
        expect![[r#"line 2: expected an integer, found the end of the line"#]],
    );
    check_error(
        "schedule a\nsteps p1[w=3] c1",
        expect![[r#"line 2: expected `all` or a column, one of k, v, found `w=3] c1`"#]],
    );
    check_error("schedule a\nsteps r1(1)", expect![[r#"line 1: transaction 1 needs `c1` or `a1`"#]]);
    check_error(
        "schedule a\nsteps r1(1) c1 r1(1)",
        expect![[r#"line 1: transaction 1 goes on after its end"#]],
    );
    check_error("schedule a\nsteps r2(1) c2", expect![[r#"line 1: there is no transaction 1 among 2"#]]);
    check_error("schedule a\nsteps c1", expect![[r#"line 1: transaction 1 does nothing before it ends"#]]);
    check_error(
        "schedule a\nsteps r1(1) r1(x) c1",
        expect![[r#"line 1: keys are either all integers or all words"#]],
    );
    check_error(
        "schedule a\nsteps r1(1) c1\nshown 2 saw 1",
        expect![[r#"line 1: `shown` names transaction 2, and there is none"#]],
    );
    check_error(
        "schedule a\nsteps r1(1) c1\nschedule a\nsteps r1(1) c1",
        expect![[r#"line 3: a second schedule `a`"#]],
    );
    check_error(
        "schedule a\nsteps p1[v%0=1] c1",
        expect![[r#"line 2: expected a positive number after `%`, found 0"#]],
    );
    check_error(
        "schedule a\ninit 1=(1,2)",
        expect![[r#"line 2: expected 1 values, one for each column, found 2"#]],
    );
    check_error(
        "schedule a\nsteps w1(1)=99999999999999999999",
        expect![[r#"line 2: expected an integer, found `99999999999999999999`"#]],
    );
}

#[test]
fn any_bytes_give_an_answer() {
    let words = [
        "schedule", "a", "steps", "r1(", "[", "]", "é", "=", "(", "1", ")", "\n", "c1", "shown", "init", "-",
        "%",
    ];
    let mut state = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::from("schedule a\n");
        for _ in 0..12 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            text.push_str(words[(state >> 33) as usize % words.len()]);
            if state >> 60 < 8 {
                text.push(' ');
            }
        }
        let _ = parse(&text);
    }
}
