//! A password never reaches standard output, standard error or a file, whatever goes wrong.
//!
//! With a server in `ISOSCOPE_TEST_POSTGRES` or `ISOSCOPE_TEST_MARIADB`, also when nothing goes wrong.

mod common;

use common::{Folder, show};

const SECRET: &str = "h0rse-batt3ry";

/// What a command printed; none of these words is in it, nor in any file that it left behind.
fn run_without(
    secrets: &[&str],
    folder: &Folder,
    words: &[&str],
    variables: &[(&str, &str)],
) -> (String, Option<i32>) {
    let output = folder.isoscope("").args(words).envs(variables.iter().copied()).output().unwrap();
    let shown = show(&output);
    let holds_secret = |text: &str| secrets.iter().any(|secret| text.contains(secret));
    assert!(!holds_secret(&shown), "{words:?}: {shown}");
    for entry in std::fs::read_dir(folder.file("")).unwrap() {
        let path = entry.unwrap().path();
        let is_given = path.extension().is_some_and(|extension| extension == "toml");
        let text = std::fs::read(&path).unwrap_or_default();
        assert!(is_given || !holds_secret(&String::from_utf8_lossy(&text)), "{words:?}: {}", path.display());
    }
    (shown, output.status.code())
}

/// What is said of a command line that fails, with `|` between its words and `SECRET` for the password.
fn fails(line: &str) -> String {
    let folder = Folder::with(&[]);
    let line = line.replace("SECRET", SECRET);
    let words: Vec<&str> = line.split('|').collect();
    let (shown, code) = run_without(&["batt3ry"], &folder, &words, &[]);
    assert_eq!(code, Some(2), "{line}: {shown}");
    shown
}

#[test]
fn a_server_that_does_not_answer() {
    for scheme in ["postgres", "mysql", "mariadb"] {
        for command in ["run|--db", "probe"] {
            fails(&format!("{command}|{scheme}://ann:SECRET@127.0.0.1:1/x"));
            fails(&format!("{command}|{scheme}://ann@127.0.0.1:1/x?password=SECRET"));
        }
        let shown = fails(&format!("run|--db|{scheme}://ann:SECRET@127.0.0.1:1/x"));
        assert!(shown.contains(&format!("connecting to {scheme}://ann:***@127.0.0.1:1/x: ")), "{shown}");
    }
    fails("run|--db|postgres://ann:SECRET@no-such-host.invalid/x");
}

#[test]
fn a_url_that_is_wrong() {
    for url in [
        "postgres://ann:SECRET@127.0.0.1:port/x",
        "postgres://ann:1/SECRET@127.0.0.1/x",
        "postgres://ann:1?SECRET@127.0.0.1/x",
        "postgres://ann:SECRET%zz@127.0.0.1/x",
        "postgres://ann@127.0.0.1/x?pass=SECRET",
        "postgres://ann@127.0.0.1/x?pasword=SECRET",
        "postgres://ann:SECRET@127.0.0.1/x?colour=red",
        "oracle://ann:SECRET@127.0.0.1/x",
        "sqlite://ann:SECRET@127.0.0.1/x",
        "exec:no-such-program-anywhere --password SECRET",
        "exec:false --password=SECRET",
        "exec:false mysql://ann:SECRET@127.0.0.1/x",
        "exec:false ann:SECRET@127.0.0.1",
        // Slashes, colons or all of it forgotten.
        "postgres:ann:SECRET@127.0.0.1/x",
        "postgres:/ann:SECRET@127.0.0.1/x",
        "postgres//ann:SECRET@127.0.0.1/x",
        "postgresql:ann:SECRET@127.0.0.1:5432/x",
        "mysql:ann:SECRET@127.0.0.1/x",
        "mysql:SECRET@127.0.0.1/x",
        "mariadb:/ann:SECRET@127.0.0.1/x",
        "Postgres://ann:SECRET@127.0.0.1/x",
        "sqlite:no/such/folder/ann:SECRET@127.0.0.1/x",
        "oracle:ann:SECRET@127.0.0.1/x",
        "ann:SECRET@127.0.0.1/x",
        "fjall:/proc/ann:SECRET@127.0.0.1/x",
        "redb:/proc/ann:SECRET@127.0.0.1/x",
        "duckdb:/proc/ann:SECRET@127.0.0.1/x",
        "sim:ann:SECRET@127.0.0.1",
        // Characters that a URL does not have.
        "postgres://ann:a SECRET@127.0.0.1:1/x",
        "postgres:ann:a' \"SECRET@127.0.0.1:1/x",
        "postgres://ann:a\tSECRET b@127.0.0.1:1/x",
    ] {
        fails(&format!("run|--db|{url}"));
        fails(&format!("probe|{url}"));
    }
}

#[test]
fn a_url_in_the_wrong_place() {
    fails("run|postgres://ann:SECRET@127.0.0.1/x");
    fails("run|--bd=postgres://ann:SECRET@127.0.0.1/x");
    fails("run|--db|sim:|--sessions|postgres://ann:SECRET@127.0.0.1/x");
    fails("check|postgres://ann:SECRET@127.0.0.1/x");
    fails("postgres://ann:SECRET@127.0.0.1/x");
    for form in [
        "postgres:ann:SECRET@127.0.0.1/x",
        "postgres//ann:SECRET@127.0.0.1/x",
        "mysql:/ann:SECRET@127.0.0.1/x",
        "ann:SECRET@127.0.0.1",
        "postgres://ann:a ' SECRET@127.0.0.1/x",
    ] {
        for line in [
            "FORM",
            "run|FORM",
            "run|--bd=FORM",
            "run|--db|sim:|--sessions|FORM",
            "run|--db|sim:|--workload|FORM",
            "run|--db|sim:|--isolation|FORM",
            "run|--db|sim:|--nemesis|FORM",
            "run|--db|sim:|--level|FORM",
            "run|--db|sim:|--out|FORM/x",
            "run|--config|FORM",
            "check|FORM",
            "check|FORM|--json",
            "stats|FORM",
            "certify|FORM|FORM",
            "convert|FORM|out.jsonl",
            "generate|FORM",
            "generate|--workload|FORM",
            "generate|FORM/x.jsonl",
            "levels|FORM",
            "synth|--allow|FORM|--forbid|ser",
            "compare|FORM|ser",
            "probe|sim:|--schedules|FORM",
            "probe|sim:|--setting|FORM",
            "probe|sim:|--expect|FORM",
            "probe|sim:|--history|FORM",
        ] {
            fails(&line.replace("FORM", form));
        }
    }
}

#[test]
fn a_database_that_repeats_a_password() {
    let answer = r#"{"failed":"aborted","message":"no access for ann:SECRET@host","code":"ann:SECRET@host"}"#;
    let script = "while read -r line; do case \"$line\" in *hello*) echo '{\"product\":\"ann:SECRET@host\",\
                  \"version\":\"postgres:ann:SECRET@host\",\"settings\":[\"one\"],\"statements\":[\"read\",\"write\"]}';; \
                  *prepare*|*tables*|*begin*) echo '{\"done\":1}';; *) echo 'ANSWER';; esac; done\n";
    let script = script.replace("ANSWER", answer).replace("SECRET", SECRET);
    let folder = Folder::with(&[("db.sh.toml", &script)]);
    for format in [&[][..], &["--json"]] {
        let words =
            [&["run", "--db", "exec:sh db.sh.toml", "--duration", "50ms", "--no-check"], format].concat();
        let (shown, code) = run_without(&["batt3ry"], &folder, &words, &[]);
        assert_eq!(code, Some(0), "{shown}");
        assert!(shown.contains("ann:***@host"), "{shown}");
        let words = [&["probe", "exec:sh db.sh.toml"], format].concat();
        run_without(&["batt3ry"], &folder, &words, &[]);
    }
}

#[test]
fn a_configuration_file_that_is_wrong() {
    let url = format!("postgres://ann:{SECRET}@127.0.0.1:1/x");
    for text in [
        format!("db = \"{url}"),
        format!("db = {url}"),
        format!("db = \"{url}\"\nsesions = 3"),
        format!("[[run]]\ndb = [\"{url}\", [\"{url}\"]]"),
        format!("db = \"{url}\""),
        format!("\"{url}\" = 1"),
        format!("db = \"postgres:ann:{SECRET}@127.0.0.1/x\""),
        format!("db = postgres:ann:{SECRET}@127.0.0.1/x"),
        format!("db = \"postgres://ann:a b {SECRET}@127.0.0.1:1/x"),
        format!("workload = \"ann:{SECRET}@127.0.0.1\""),
    ] {
        let folder = Folder::with(&[("run.toml", &text)]);
        let (shown, code) = run_without(&[SECRET], &folder, &["run", "--config", "run.toml"], &[]);
        assert_eq!(code, Some(2), "{text}: {shown}");
    }
}

#[test]
fn a_password_of_the_environment() {
    let folder = Folder::with(&[]);
    for (scheme, variable) in
        [("postgres", "PGPASSWORD"), ("mysql", "MYSQL_PWD"), ("mysql", "ISOSCOPE_PASSWORD")]
    {
        let url = format!("{scheme}://ann@127.0.0.1:1/x");
        let (shown, code) = run_without(&[SECRET], &folder, &["run", "--db", &url], &[(variable, SECRET)]);
        assert_eq!(code, Some(2), "{shown}");
    }
}

/// The URL of a server, its password, and the URL without it.
fn server(variable: &str) -> Option<(String, String, String)> {
    let url = std::env::var(variable).ok().filter(|url| !url.is_empty())?;
    let (user, host) = url.rsplit_once('@')?;
    let (user, password) = user.rsplit_once(':')?;
    Some((url.clone(), password.to_owned(), format!("{user}@{host}")))
}

#[test]
fn a_server_that_answers() {
    for variable in ["ISOSCOPE_TEST_POSTGRES", "ISOSCOPE_TEST_MARIADB"] {
        let Some((url, password, bare)) = server(variable) else { continue };
        let folder = Folder::with(&[]);
        let few = ["--transactions", "20", "--workload", "twitter", "--keys", "5"];
        let json = [&["run", "--db", &url, "--json"], &few[..]].concat();
        let text = [&["run", "--db", &bare, "--nemesis", "drop-connection=10ms"], &few[..]].concat();
        for (words, variables) in [(json, vec![]), (text, vec![("ISOSCOPE_PASSWORD", password.as_str())])] {
            let (shown, code) = run_without(&[&password], &folder, &words, &variables);
            assert_ne!(code, Some(2), "{shown}");
        }
        let wrong = url.replace(&password, SECRET);
        let (shown, code) = run_without(&[SECRET, &password], &folder, &["run", "--db", &wrong], &[]);
        assert_eq!(code, Some(2), "{shown}");
    }
}
