//! `explain`, `shrink`, and reports in HTML.

mod common;

use common::Folder;
use expect_test::expect;

const SKEW: &str =
    "init alice=1 bob=1\none: r(alice)=1 r(bob)=1 w(alice)=0\ntwo: r(alice)=1 r(bob)=1 w(bob)=0\n";
const LOST: &str = "a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2\nc: r(x)=2\n";

#[test]
fn what_holds_needs_no_explanation() {
    let folder = Folder::with(&[("serial.txt", "a: w(x)=1\nb: r(x)=1\n")]);
    let told = folder.run("explain serial.txt --level serializable --svg out.svg");
    expect![[r#"
        serial.txt satisfies serializability.
        serial.txt: 2 sessions, 2 transactions, 2 operations, 1 key

          holds      serializable
                     chances: 0 lost updates, 0 read skews, 0 write skews; too little for lost update, write skew
        --- standard error
        warning: out.svg was not written, since no violation was found
        --- exit 0
    "#]]
    .assert_eq(&told);
    assert!(!folder.file("out.svg").exists());
    let refused = folder.run("shrink serial.txt --level serializable");
    expect![[r#"
        --- standard error
        error: serial.txt does not violate serializable: there is nothing to shrink
        --- exit 2
    "#]]
    .assert_eq(&refused);
}

#[test]
fn a_lost_update_becomes_sql_and_a_schedule() {
    let folder = Folder::with(&[("lost.txt", LOST)]);
    let sql = folder.run("shrink lost.txt --level snapshot-isolation --sql mysql");
    expect![[r#"
        -- lost update on key x (G-single), 2 transactions.
        -- Set-up, in any session:
        DROP TABLE IF EXISTS isoscope_litmus;
        CREATE TABLE isoscope_litmus (k VARCHAR(64) PRIMARY KEY, v BIGINT);
        INSERT INTO isoscope_litmus VALUES ('x', 0);
        -- The steps, from top to bottom; each column is a session of its own:
        -- session 1                                        -- session 2
        START TRANSACTION;
        SELECT v FROM isoscope_litmus WHERE k = 'x'; -- 0
        UPDATE isoscope_litmus SET v = 1 WHERE k = 'x';
                                                            START TRANSACTION;
                                                            SELECT v FROM isoscope_litmus WHERE k = 'x'; -- 0
        COMMIT;
                                                            UPDATE isoscope_litmus SET v = 2 WHERE k = 'x';
                                                            COMMIT;
        -- Then, in any session:
        SELECT k, v FROM isoscope_litmus ORDER BY k;
        DROP TABLE isoscope_litmus;
        --- exit 0
    "#]]
    .assert_eq(&sql);
    let written = folder.run("shrink lost.txt --level snapshot-isolation --schedule -o lost.schedules");
    assert!(
        written.contains("lost update on key x (G-single), 2 transactions violates snapshot-isolation"),
        "{written}"
    );
    let table = folder.run("probe sim: --schedules lost.schedules --setting snapshot,read-committed --json");
    let table: serde_json::Value = serde_json::from_str(table.split("--- exit").next().unwrap()).unwrap();
    let text = table.to_string();
    assert!(text.contains("possible"), "read committed loses the update: {text}");
}

#[test]
fn a_report_is_one_page_that_loads_nothing() {
    let folder = Folder::with(&[("skew.txt", SKEW)]);
    for line in ["explain skew.txt --html report.html", "check skew.txt --html report.html"] {
        let told = folder.run(line);
        assert!(told.ends_with("--- exit 1\n"), "{told}");
        let page = std::fs::read_to_string(folder.file("report.html")).unwrap();
        assert!(page.contains("write skew") && page.contains("default-src 'none'"), "{page}");
        for outside in ["http:", "https:", "src=", "@import", "url(//"] {
            let without_names = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!without_names.contains(outside), "{outside}");
        }
    }
    let same = folder.run("explain skew.txt --html skew.txt");
    assert!(same.contains("are the same file") && same.ends_with("--- exit 2\n"), "{same}");
}

#[test]
fn a_report_of_many_transactions_is_small() {
    let folder = Folder::with(&[]);
    let line = "generate --level serializable --transactions 20000 --keys 2000 --plant lost-update big.jsonl";
    folder.run(line);
    let told = folder.run("explain big.jsonl --level snapshot-isolation --html big.html");
    assert!(told.contains("lost update on key") && told.contains("2 transactions"), "{told}");
    let bytes = std::fs::metadata(folder.file("big.html")).unwrap().len();
    assert!(bytes < 200_000, "{bytes} bytes");
}

/// A violation that a server shows under load is shown again by the schedule that is made of it. Which violation a run
/// shows is chance, and one that rests on a statement's moment inside a transaction has no schedule: so some runs are
/// made, and one of them must be shown again.
fn reproduces(variable: &str, isolation: &str, level: &str, options: &str) {
    let Ok(url) = std::env::var(variable) else {
        println!("{variable} is not set: nothing was reproduced");
        return;
    };
    let mut tried = String::new();
    for seed in 0..8 {
        let folder = Folder::with(&[]);
        let run = format!(
            "run --db {url} --isolation {isolation} --transactions 3000 --sessions 8 --keys 4 --operations 2-4 \
             {options} --seed {seed} --level {level} --out recorded.jsonl"
        );
        let told = folder.run(&run);
        if !told.contains("violated") {
            tried += &told;
            continue;
        }
        let shrunk =
            folder.run(&format!("shrink recorded.jsonl --level {level} --schedule -o small.schedules"));
        assert!(shrunk.ends_with("--- exit 0\n"), "{shrunk}");
        let table =
            folder.run(&format!("probe {url} --setting {isolation} --schedules small.schedules --json"));
        if table.contains("possible") {
            println!("seed {seed}: {shrunk}");
            return;
        }
        tried += &format!("{shrunk}\n{table}");
    }
    panic!("no run was shown again: {tried}");
}

#[test]
fn what_servers_show_is_shown_again() {
    reproduces("ISOSCOPE_TEST_POSTGRES", "repeatable-read", "serializable", "");
    reproduces(
        "ISOSCOPE_TEST_POSTGRES",
        "read-committed",
        "snapshot-isolation",
        "--read-modify-write-share 1",
    );
    reproduces(
        "ISOSCOPE_TEST_MARIADB",
        "repeatable-read",
        "snapshot-isolation",
        "--read-modify-write-share 1",
    );
}

#[test]
fn known_anomalies_are_accepted_and_new_ones_fail() {
    let folder = Folder::with(&[("skew.txt", SKEW), ("lost.txt", LOST)]);
    let other = "init *=5\nu: r(p)=5 w(q)=7\nv: r(q)=5 w(p)=8\n";
    std::fs::write(folder.file("other.txt"), other).unwrap();
    let written = folder.run("check skew.txt --level serializable --write-baseline known.json");
    assert!(written.ends_with("--- exit 1\n"), "{written}");
    let same = folder.run("check other.txt --level serializable --baseline known.json");
    assert!(
        same.ends_with("accepted by the baseline: serializable: write skew (rw rw)\n--- exit 0\n"),
        "{same}"
    );
    let new = folder.run("check lost.txt --level serializable --baseline known.json");
    assert!(new.ends_with("new: serializable: lost update (rw rw)\n--- exit 1\n"), "{new}");
    let broken = folder.run("check lost.txt --baseline lost.txt");
    assert!(broken.contains("expected a file that check --write-baseline wrote"), "{broken}");
}

#[test]
fn two_answers_are_compared() {
    let folder = Folder::with(&[("skew.txt", SKEW), ("lost.txt", LOST)]);
    for (name, file) in [("before.json", "skew.txt"), ("after.json", "lost.txt")] {
        let answer = folder.isoscope(&format!("check {file} --json")).output().unwrap().stdout;
        std::fs::write(folder.file(name), answer).unwrap();
    }
    expect![[r#"
          same    causal                      holds
          same    cut-isolation               holds
          came    no-lost-update              holds -> violated
          came    parallel-si                 holds -> violated
          same    prefix                      holds
          same    read-atomic                 holds
          same    read-committed              holds
          same    read-uncommitted            holds
          other   serializable                violated (write skew) -> violated (lost update)
          other   session-serializable        violated (write skew) -> violated (lost update)
          came    session-snapshot-isolation  holds -> violated (lost update)
          came    snapshot-isolation          holds -> violated (lost update)
          came    update-atomic               holds -> violated
          stayed  update-serializable         violated
        --- exit 1
    "#]]
    .assert_eq(&folder.run("diff before.json after.json"));
    let same = folder.run("diff before.json before.json");
    assert!(same.ends_with("--- exit 0\n"), "{same}");
    let broken = folder.run("diff before.json skew.txt");
    assert!(broken.contains("expected what isoscope check --json prints"), "{broken}");
}

#[test]
fn the_power_of_a_run_is_judged() {
    let folder = Folder::with(&[("apart.txt", "a: w(x)=1\nb: w(y)=1\n"), ("skew.txt", SKEW)]);
    let told = folder.run("stats apart.txt --power");
    assert!(told.contains("could not have shown lost update, read skew, write skew"), "{told}");
    assert!(told.contains("run --keys"), "{told}");
    let told = folder.run("stats skew.txt --power");
    let row = told.lines().find(|line| line.contains("chances for write skew"));
    assert_eq!(row.and_then(|row| row.split_whitespace().last()), Some("1"), "{told}");
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    let folder = Folder::with(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.run(&format!("completions {shell}"));
        assert!(script.contains("shrink") && script.contains("baseline"), "{shell}");
    }
    assert!(folder.run("man pages").ends_with("--- exit 0\n"));
    let page = std::fs::read_to_string(folder.file("pages/isoscope-check.1")).unwrap();
    assert!(page.contains("baseline"), "{page}");
}

#[test]
fn colours_are_used_when_asked_for() {
    let folder = Folder::with(&[("skew.txt", SKEW)]);
    assert!(!folder.run("check skew.txt").contains('\u{1b}'));
    assert!(folder.run("check skew.txt --color always").contains("\u{1b}[31mviolated"));
    assert!(!folder.run("check skew.txt --color never").contains('\u{1b}'));
}
