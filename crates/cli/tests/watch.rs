//! `isoscope watch` as a user meets it: files, pipes, restarts.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn isoscope() -> Command {
    Command::new(env!("CARGO_BIN_EXE_isoscope"))
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("isoscope-watch-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn generate(file: &Path, flags: &[&str]) {
    let made =
        isoscope().args(["generate", "--stream", "--to", "native"]).args(flags).arg(file).output().unwrap();
    assert!(made.status.success(), "{}", text(&made));
}

const STALE: &str = r#"{"isoscope":1,"clock":"nanoseconds"}
{"default":0}
{"session":0}
{"session":1}
{"s":0,"ops":[["w","x",1]],"o":"c","t":[1,2,3,4]}
{"s":1,"ops":[["r","x",1]],"o":"c","t":[5,6,7,8]}
{"s":1,"ops":[["r","x",0]],"o":"c","t":[9,10,11,12]}
{"before":20}
{"recording":"closed"}
"#;

#[test]
fn a_violation_is_told_saved_and_certified() {
    let folder = folder("violation");
    let (file, saved) = (folder.join("r.jsonl"), folder.join("v.jsonl"));
    std::fs::write(&file, STALE).unwrap();
    let watched = isoscope().arg("watch").arg(&file).arg("--save").arg(&saved).output().unwrap();
    assert_eq!(watched.status.code(), Some(1), "{}", text(&watched));
    assert!(
        text(&watched).contains("violated   strict-serializable after 3 transactions"),
        "{}",
        text(&watched)
    );
    let certificate = folder.join("v.jsonl.certificate");
    let certified = isoscope().arg("certify").arg(&saved).arg(&certificate).output().unwrap();
    assert!(text(&certified).contains("proved by a contradiction"), "{}", text(&certified));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_pipe_and_a_file_have_the_same_answer_in_json() {
    let folder = folder("pipe");
    let file = folder.join("r.jsonl");
    generate(&file, &["--transactions", "3000", "--level", "serializable", "--unknown-share", "0.01"]);
    let watch = |what: &Path, input: Stdio| {
        let output = isoscope()
            .arg("watch")
            .arg(what)
            .args(["--json", "--batch", "100"])
            .stdin(input)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output));
        text(&output).lines().filter(|line| line.contains("\"end\"")).map(str::to_owned).collect::<Vec<_>>()
    };
    let of_file = watch(&file, Stdio::null());
    let of_pipe = watch(Path::new("-"), Stdio::from(File::open(&file).unwrap()));
    assert_eq!(of_file.len(), 1);
    assert!(
        of_file[0].contains("\"verdict\":\"holds\"") && of_file[0].contains("\"closed\":true"),
        "{of_file:?}"
    );
    assert_eq!(of_file, of_pipe);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_file_without_marks_and_sessions_is_decided_at_its_end() {
    let folder = folder("plain");
    let file = folder.join("r.jsonl");
    let plain: Vec<&str> = STALE
        .lines()
        .filter(|line| line.contains("\"s\"") || line.contains("isoscope") || line.contains("default"))
        .collect();
    std::fs::write(&file, plain.join("\n") + "\n").unwrap();
    let watched = isoscope().arg("watch").arg(&file).arg("--no-follow").output().unwrap();
    assert_eq!(watched.status.code(), Some(1), "{}", text(&watched));
    let weaker =
        isoscope().arg("watch").arg(&file).args(["--no-follow", "--level", "causal"]).output().unwrap();
    assert_eq!(weaker.status.code(), Some(1), "{}", text(&weaker));
    std::fs::remove_dir_all(folder).unwrap();
}

/// A process that is killed goes on from its checkpoint, with the answer of one that was not.
#[test]
fn a_watcher_that_was_killed_goes_on_from_its_checkpoint() {
    let folder = folder("killed");
    let (whole, file, checkpoint) =
        (folder.join("whole.jsonl"), folder.join("r.jsonl"), folder.join("c.jsonl"));
    generate(&whole, &["--transactions", "4000", "--level", "serializable"]);
    let bytes = std::fs::read(&whole).unwrap();
    let half = bytes.len() / 2;
    std::fs::write(&file, &bytes[..half]).unwrap();
    let watch = || {
        let mut command = isoscope();
        command
            .arg("watch")
            .arg(&file)
            .arg("--checkpoint")
            .arg(&checkpoint)
            .args(["--json", "--batch", "50"]);
        command
    };
    let mut first = watch().stdout(Stdio::null()).spawn().unwrap();
    while !checkpoint.exists() {
        assert_eq!(first.try_wait().unwrap(), None, "it waits for more");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    File::options().append(true).open(&file).unwrap().write_all(&bytes[half..]).unwrap();
    let second = watch().output().unwrap();
    let end = |output: &Output| {
        let mut end: serde_json::Value =
            serde_json::from_str(text(output).lines().last().unwrap_or_default()).unwrap();
        // How far it was behind depends on the machine.
        end.as_object_mut().unwrap().remove("most_behind_seconds");
        end
    };
    let uninterrupted =
        isoscope().arg("watch").arg(&whole).args(["--json", "--batch", "50"]).output().unwrap();
    assert_eq!(second.status.code(), Some(0), "{}", text(&second));
    assert_eq!(end(&second), end(&uninterrupted));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_watched_is_said() {
    let folder = folder("refused");
    let missing = isoscope().arg("watch").arg(folder.join("none")).output().unwrap();
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing));
    let file = folder.join("r.jsonl");
    std::fs::write(&file, "no recording\n").unwrap();
    let broken = isoscope().arg("watch").arg(&file).output().unwrap();
    assert_eq!(broken.status.code(), Some(2), "{}", text(&broken));
    assert!(text(&broken).contains("r.jsonl:1:1"), "{}", text(&broken));
    let empty = isoscope().args(["watch", "-"]).stdin(Stdio::null()).output().unwrap();
    assert!(matches!(empty.status.code(), Some(2 | 3)), "{}", text(&empty));
    std::fs::remove_dir_all(folder).unwrap();
}

/// The writer of the old version was forgotten, so the report must not say that no transaction wrote the value.
#[test]
fn a_version_from_before_the_window_is_not_called_invented() {
    let folder = folder("forgotten");
    let file = folder.join("r.jsonl");
    let mut lines =
        String::from("{\"isoscope\":1,\"clock\":\"nanoseconds\"}\n{\"default\":0}\n{\"session\":0}\n");
    let mut time = 0;
    let mut add = |op: &str| {
        let line = format!(
            "{{\"s\":0,\"ops\":[{op}],\"o\":\"c\",\"t\":[{},{},{},{}]}}\n",
            time + 1,
            time + 2,
            time + 3,
            time + 4
        );
        time += 10;
        lines.push_str(&line);
    };
    (1..=50).for_each(|value| add(&format!("[\"w\",\"x\",{value}]")));
    add("[\"r\",\"x\",7]");
    lines.push_str("{\"before\":10000}\n{\"recording\":\"closed\"}\n");
    std::fs::write(&file, lines).unwrap();
    let watched = isoscope().arg("watch").arg(&file).args(["--batch", "10"]).output().unwrap();
    let said = text(&watched);
    assert_eq!(watched.status.code(), Some(1), "{said}");
    assert!(said.contains("stale or thin-air read on key x"), "{said}");
    assert!(said.contains("neither the last settled version nor written since"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// The header, the sessions and the transactions of a recording of which the first part was moved away.
#[test]
fn a_recording_is_followed_through_its_rotation() {
    let folder = folder("rotated");
    let file = folder.join("r.jsonl");
    let lines: Vec<&str> = STALE.lines().collect();
    std::fs::write(&file, lines[..5].join("\n") + "\n").unwrap();
    let follower = isoscope().arg("watch").arg(&file).arg("--json").stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    std::fs::rename(&file, folder.join("r.jsonl.1")).unwrap();
    let again = [&lines[..1], &lines[2..4], &lines[5..]].concat();
    std::fs::write(folder.join("new"), again.join("\n") + "\n").unwrap();
    std::fs::rename(folder.join("new"), &file).unwrap();
    let watched = follower.wait_with_output().unwrap();
    assert_eq!(watched.status.code(), Some(1), "{}", text(&watched));
    assert!(text(&watched).contains("\"transactions\":3"), "{}", text(&watched));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Two stale reads of different keys are two violations.
#[test]
fn it_keeps_going_and_reports_distinct_violations() {
    let folder = folder("going");
    let file = folder.join("r.jsonl");
    let second: Vec<String> = STALE
        .lines()
        .filter(|line| line.contains("\"s\""))
        .zip([[21, 22, 23, 24], [25, 26, 27, 28], [29, 30, 31, 32]])
        .map(|(line, times)| (line.replace("\"x\"", "\"y\""), times))
        .map(|(line, times)| format!("{}\"t\":{times:?}}}", line.split("\"t\"").next().unwrap()))
        .collect();
    let first: Vec<&str> = STALE.lines().take(7).collect();
    let all = format!(
        "{}\n{{\"before\":20}}\n{}\n{{\"before\":40}}\n{{\"recording\":\"closed\"}}\n",
        first.join("\n"),
        second.join("\n")
    );
    std::fs::write(&file, all).unwrap();
    let watched =
        isoscope().arg("watch").arg(&file).args(["--keep-going", "--json", "--batch", "3"]).output().unwrap();
    let said = text(&watched);
    assert_eq!(watched.status.code(), Some(1), "{said}");
    let violations = said.lines().filter(|line| line.contains("\"event\":\"violation\"")).count();
    assert_eq!(violations, 2, "{said}");
    let end = said.lines().find(|line| line.contains("\"event\":\"end\"")).unwrap_or_default();
    assert!(end.contains("\"violations\":2"), "{said}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn metrics_are_served_while_it_waits() {
    use std::io::{BufRead, BufReader, Read};
    let folder = folder("metrics");
    let file = folder.join("r.jsonl");
    let lines: Vec<&str> = STALE.lines().take(6).collect();
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    let mut watch = isoscope()
        .arg("watch")
        .arg(&file)
        .args(["--metrics", "0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(watch.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = said.into_iter().find_map(|line| {
        let after = line.split_once("http://")?.1.to_owned();
        Some(after.split_once("/metrics")?.0.to_owned())
    });
    let address = address.expect("it says where");
    let scraped = (0..100).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let mut stream = std::net::TcpStream::connect(&address).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.contains("isoscope_transactions_total 2").then_some(answer)
    });
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert!(scraped.unwrap_or_default().contains("isoscope_held_transactions"));
    std::fs::remove_dir_all(folder).unwrap();
}
