//! For each named anomaly a small history, with the exact text and picture that explain it (`tests/anomalies/`).

use std::fmt::Write;

use expect_test::expect_file;
use isoscope::{Check, Decision, LevelId, Witness};
use isoscope_picture::{Use, dot, svg};

/// The name of the anomaly, the level that shows it, and the history.
const CASES: [(&str, &str, &str); 24] = [
    ("thin-air read", "serializable", "a: r(x)=7\nb: w(y)=1\n"),
    ("aborted read", "serializable", "a: w(x)=1 abort\nb: r(x)=1 w(y)=2\n"),
    ("intermediate read", "serializable", "a: w(x)=1 w(x)=2\nb: r(x)=1\n"),
    ("future read", "serializable", "a: r(x)=1 w(x)=1\n"),
    ("not my own write", "serializable", "a: w(x)=1 r(x)=2\nb: w(x)=2\n"),
    ("fractured read", "serializable", "a: w(x)=1 w(y)=1\nb: r(x)=1 r(y)=0\n"),
    ("non-monotonic read", "session-serializable", "a: w(x)=1\nb: {r(x)=1} {r(x)=0}\n"),
    ("write cycle", "serializable", "a: w(x)=1^1 w(y)=1^2\nb: w(x)=2^2 w(y)=2^1\n"),
    ("circular information flow", "serializable", "a: w(x)=1 r(y)=1\nb: w(y)=1 r(x)=1\n"),
    ("lost update", "snapshot-isolation", "a: r(x)=0 w(x)=1\nb: r(x)=0 w(x)=2\nc: w(z)=1\n"),
    ("read skew", "serializable", "a: w(x)=1^1 w(y)=1^1\nb: w(y)=2^2\nc: r(x)=0 r(y)=2\n"),
    ("long fork", "serializable", "a: w(x)=1\nb: w(y)=1\nc: r(x)=1 r(y)=0\nd: r(x)=0 r(y)=1\n"),
    (
        "cycle of non-adjacent anti-dependencies",
        "serializable",
        "a: w(x)=1\nb: w(y)=1\nc: r(y)=1 w(z)=1\nd: r(x)=1 r(y)=0\ne: r(z)=1 r(x)=0\n",
    ),
    ("write skew", "serializable", "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\n"),
    ("cycle of anti-dependencies", "serializable", "a: r(x)=0 w(y)=1\nb: r(y)=0 w(z)=1\nc: r(z)=0 w(x)=1\n"),
    ("predicate write skew", "serializable", "init *=nil\na: p(v = 1)={} i(x)=1\nb: p(v = 1)={} i(y)=1\n"),
    ("phantom", "serializable", "init *=nil\na: i(x)=1 w(y)=1\nb: r(y)=1 p(v = 1)={y=1}\n"),
    ("read-only anomaly", "serializable", "a: r(x)=0 r(y)=0 w(x)=1\nb: r(y)=0 w(y)=20\nc: r(x)=0 r(y)=20\n"),
    ("causality violation", "serializable", "a: w(x)=1\nb: r(x)=1 w(y)=1\nc: r(y)=1 r(x)=0\n"),
    ("stale read", "strict-serializable", "a: w(x)=1 @[1,2]\nb: r(x)=0 @[3,4]\n"),
    // Some serial order explains it in real time, since the writers overlapped; so it is no fractured and no stale read.
    (
        "late snapshot",
        "generalized-si",
        "a: w(x)=1 @[0..1,9..10]\nb: w(y)=1 @[5..6,18..20]\nc: r(x)=0 r(y)=1 @[8..9,29..30]\n",
    ),
    ("stale read in a session", "session-serializable", "a: {w(x)=1} {r(x)=0}\n"),
    ("cycle with session order", "session-serializable", "a: {r(x)=1} {w(x)=1}\n"),
    ("unexplained read", "serializable", "a: w(x)=1 r(y)=1\nb: w(x)=1 r(y)=1\nc: r(x)=1 w(y)=1\n"),
];

fn witness(level: &str, text: &str) -> Witness {
    let history = isoscope::parse(text).unwrap();
    let level: LevelId = LevelId::with_engine().find(|known| known.name() == level).unwrap();
    let check = Check::new(&history).level(level);
    let report = check.run().unwrap();
    check.witness(&report.answers[0]).unwrap().unwrap_or_else(|| panic!("{text}: no violation"))
}

fn told(witness: &Witness) -> String {
    let mut out = format!("{}\n{}\n", witness.headline, witness.meaning());
    for participant in &witness.participants {
        let _ = writeln!(out, "  {participant}");
    }
    for line in &witness.lines {
        let _ = writeln!(out, "    {}{}", "  ".repeat(line.depth), line.text);
    }
    for edge in &witness.edges {
        let _ = writeln!(out, "  {} -> {}: {}", edge.from.0, edge.to.0, edge.label());
    }
    out
}

#[test]
fn each_anomaly_has_its_words_and_its_picture() {
    let names = CASES.map(|(name, level, text)| (name, witness(level, text).name()));
    let wrong: Vec<_> = names.iter().filter(|(expected, found)| expected != found).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    for (name, level, text) in CASES {
        let witness = witness(level, text);
        let file = format!("{}/tests/anomalies/{}", env!("CARGO_MANIFEST_DIR"), name.replace(' ', "-"));
        expect_file![format!("{file}.txt")].assert_eq(&told(&witness));
        expect_file![format!("{file}.svg")].assert_eq(&svg(&witness, Use::File));
    }
}

/// `docs/anomalies.md`: written by this test, so that it says what isoscope says.
#[test]
fn the_glossary_is_what_the_histories_show() {
    let mut page = String::from(GLOSSARY_HEAD);
    for (name, level, text) in CASES {
        let witness = witness(level, text);
        let file = format!("../crates/picture/tests/anomalies/{}.svg", name.replace(' ', "-"));
        let title = match witness.class() {
            Some(class) if class != name => format!("{name} ({class})"),
            _ => name.to_owned(),
        };
        let _ = write!(page, "\n## {title}\n\n{}\n\n", witness.meaning());
        let _ = write!(page, "```text\n{text}```\n\n![{name}]({file})\n\n");
        for line in witness.participants.iter().chain(witness.lines.iter().map(|line| &line.text)) {
            let _ = writeln!(page, "- {line}");
        }
        let _ = write!(page, "\n{}", verdicts(text));
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/anomalies.md");
    expect_file![file].assert_eq(&page);
}

const GLOSSARY_HEAD: &str = "\
# Anomalies

Every anomaly that isoscope names: what it means, the smallest history that shows it, why no order explains that history, and the levels that forbid and allow it.
A test writes this page from the answers of isoscope (`crates/picture/tests/anomalies.rs`), so the page cannot differ from them.
[docs/formats/notation.md](formats/notation.md) describes the notation; keys start with 0 unless `init` says otherwise.
";

/// The weakest levels that forbid a history, and the strongest that allow it.
fn verdicts(text: &str) -> String {
    let history = isoscope::parse(text).unwrap();
    let report = Check::new(&history).run().unwrap();
    let levels = |decision: Decision| {
        let answers = report.answers.iter().filter(move |answer| answer.decision == decision);
        answers.filter_map(|answer| answer.level.shipped()).collect::<Vec<LevelId>>()
    };
    let (forbid, allow) = (levels(Decision::Violated), levels(Decision::Holds));
    let is_stronger = |left: LevelId, right: LevelId| left != right && left.implies(right);
    let weakest = forbid.iter().filter(|&&level| !forbid.iter().any(|&other| is_stronger(level, other)));
    let strongest = allow.iter().filter(|&&level| !allow.iter().any(|&other| is_stronger(other, level)));
    let list = |levels: Vec<&LevelId>| {
        let names: Vec<String> = levels.iter().map(|level| format!("`{}`", level.name())).collect();
        names.join(", ")
    };
    let allowed = match list(strongest.collect()) {
        names if names.is_empty() => "No level allows it.".to_owned(),
        names => format!("Allowed by {names} and every weaker level."),
    };
    format!("Forbidden by {} and every stronger level.\n{allowed}\n", list(weakest.collect()))
}

#[test]
fn a_graph_has_its_transactions_and_edges() {
    let graph = dot(&witness("serializable", "a: r(x)=0 w(y)=1\nb: r(y)=0 w(x)=1\n"));
    assert!(graph.contains("t0 -> t1 [label=\"1 rw x\""), "{graph}");
    assert!(graph.contains("t1 -> t0 [label=\"2 rw y\""), "{graph}");
    assert!(graph.contains("label=\"session a\""), "{graph}");
}

#[test]
fn an_arrow_over_other_transactions_of_its_session_passes_below_them() {
    let text = "init *=nil\na: {a(x)=1 a(t)=1} {r(x)=[1] r(y)=[]} {a(y)=1 a(z)=2} {r(z)=[2] r(t)=[]}\n";
    let picture = svg(&witness("snapshot-isolation", text), Use::File);
    let number = |line: &str, name: &str| -> f64 {
        line.split(name).nth(1).and_then(|rest| rest.split('"').next()?.parse().ok()).expect("a number")
    };
    let lines = |class: &'static str| picture.lines().filter(move |line| line.contains(class));
    let bottoms = lines("class=\"box\"").map(|line| number(line, " y=\"") + number(line, " height=\""));
    let bottom = bottoms.fold(0.0, f64::max);
    let labels_below = lines("class=\"tag\"").filter(|line| number(line, " y=\"") > bottom - 10.0);
    assert_eq!((lines("class=\"tag\"").count(), labels_below.count()), (4, 1), "{picture}");
}
