//! The report in headless Chromium: nothing is loaded, nothing is logged, reasons are reached by mouse and by keyboard,
//! axe-core finds nothing serious, and a hostile history is shown harmlessly.
//!
//! The browser is driven over its pipe (`--remote-debugging-pipe`). `cargo xtask browser` installs it and fetches axe-core
//! (to `target/axe-core`); without a browser these tests say so and pass, without axe-core only its part is left out.
//! Screenshots are kept in `target/screenshots`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use isoscope::{Check, LevelId};
use isoscope_picture::{Page, VerdictRow, html};
use serde_json::{Value, json};

const BROWSERS: [&str; 3] = ["chromium-headless-shell", "chromium", "google-chrome"];

fn target() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

fn page_of(text: &str, level: LevelId) -> String {
    let history = isoscope::parse(text).unwrap();
    let check = Check::new(&history).level(level);
    let report = check.run().unwrap();
    let witnesses = check.witnesses(&report.answers).unwrap();
    let row = |level: &str| VerdictRow {
        level: level.to_owned(),
        verdict: "violated",
        note: witnesses[0].headline.clone(),
        witness: Some(0),
    };
    html(&Page {
        title: text.lines().next().unwrap_or_default().to_owned(),
        about: "a history of the tests".to_owned(),
        history: Some(&history),
        verdicts: vec![row(level.name())],
        witnesses: witnesses.clone(),
        power: vec![("chances for write skew".to_owned(), "1".to_owned())],
        power_note: "Counted are pairs.".to_owned(),
        commands: vec!["isoscope check history.txt".to_owned()],
        ..Page::default()
    })
}

const SKEW: &str = "a: r(x)=0 r(y)=0 w(x)=1 @[0,10]\nb: r(x)=0 r(y)=0 w(y)=1 @[5,12]\nc: r(x)=1 @[20,30]\n";

/// A browser with one open page.
struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    next: u64,
    /// What happened in between: messages of the browser that were no answer.
    events: Vec<Value>,
}

impl Browser {
    fn start() -> Option<Self> {
        let path = std::env::var_os("PATH")?;
        let find = |name: &&str| std::env::split_paths(&path).map(|at| at.join(name)).find(|at| at.is_file());
        let program = BROWSERS.iter().find_map(find)?;
        // The pipe of the protocol is file descriptors 3 and 4.
        let command = format!(
            "exec {} --headless --no-sandbox --disable-gpu --hide-scrollbars --remote-debugging-pipe about:blank 3<&0 4>&1",
            program.display()
        );
        let mut child = Command::new("sh")
            .args(["-c", &command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let to = child.stdin.take()?;
        let from = BufReader::new(child.stdout.take()?);
        let mut browser = Self { child, to, from, session: None, next: 0, events: Vec::new() };
        let target = browser.ask("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.ask("Target.attachToTarget", attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.read();
            if answer["id"] == json!(self.next) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn read(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    fn open(&mut self, name: &str, page: &str, width: u32, scheme: &str) {
        let folder = target().join("screenshots");
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{name}.html"));
        std::fs::write(&file, page).unwrap();
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.ask("Emulation.setDeviceMetricsOverride", metrics);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask("Emulation.setEmulatedMedia", media);
        self.events.clear();
        let url = format!("file://{}", file.canonicalize().unwrap().display());
        self.ask("Page.navigate", json!({ "url": url }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.read();
            self.events.push(event);
        }
    }

    fn evaluate(&mut self, script: &str) -> Value {
        let params = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let answer = self.ask("Runtime.evaluate", params);
        assert!(answer["exceptionDetails"].is_null(), "{script}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let params = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.ask("Input.dispatchKeyEvent", params);
        }
    }

    fn point_at(&mut self, selector: &str) {
        let place = self.evaluate(&format!(
            "(() => {{ const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        let params = json!({ "type": "mouseMoved", "x": place[0], "y": place[1] });
        self.ask("Input.dispatchMouseEvent", params);
    }

    fn screenshot(&mut self, name: &str) {
        let shot = self.ask("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
        let bytes = STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        std::fs::write(target().join(format!("screenshots/{name}.png")), bytes).unwrap();
    }

    /// How long the page took to open, in the browser's own words: from the begin of the navigation.
    fn opening(&mut self) -> String {
        let told = self.evaluate(
            "new Promise(done => requestAnimationFrame(() => setTimeout(() => {\
               const [page] = performance.getEntriesByType('navigation');\
               const [paint] = performance.getEntriesByName('first-contentful-paint');\
               done([page.domInteractive, page.loadEventEnd, paint && paint.startTime]\
                 .map(time => time && Math.round(time))); }, 100)))",
        );
        format!(
            "parsed after {} ms, loaded after {} ms, first painted after {} ms",
            told[0], told[1], told[2]
        )
    }

    /// Errors that the page logged, and what it asked for beside itself.
    fn complaints(&self) -> Vec<String> {
        let is_bad = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => true,
            "Runtime.consoleAPICalled" => event["params"]["type"] == "error",
            "Log.entryAdded" => event["params"]["entry"]["level"] == "error",
            "Network.requestWillBeSent" => event["params"]["type"] != "Document",
            _ => false,
        };
        self.events.iter().filter(is_bad).map(ToString::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Closing its pipe ends it; what is left is ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The browser, or nothing where there is none; CI has one.
fn browser() -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        println!("no Chromium is installed (cargo xtask browser): the report was not tried");
    }
    browser
}

#[test]
fn reasons_are_reached_by_mouse_and_by_keyboard() {
    let Some(mut browser) = browser() else { return };
    let page = page_of(SKEW, LevelId::Serializable);
    browser.open("skew-light-1280", &page, 1280, "light");
    let reason = "document.querySelector('.reason').textContent";
    browser.point_at("#w0-e0 .label");
    let shown = browser.evaluate(reason).to_string();
    assert!(shown.contains("1 rw y: T1 before T2: T1 read y = 0"), "{shown}");
    let lit = browser.evaluate("document.querySelector('[data-edge=w0-e0]').classList.contains('lit')");
    assert_eq!(lit, json!(true), "the step is not marked with its edge");
    browser.screenshot("skew-light-1280");
    browser.point_at("h1");
    let mut focused = Vec::new();
    for _ in 0..20 {
        browser.press("Tab", 9);
        focused.push(browser.evaluate("document.activeElement.id").as_str().unwrap_or_default().to_owned());
    }
    for id in ["w0-t0", "w0-t1", "w0-e0", "w0-e1"] {
        assert!(focused.iter().any(|focused| focused == id), "{id} is not reached by Tab: {focused:?}");
    }
    browser.evaluate("document.getElementById('w0-e0').focus()");
    browser.press("ArrowRight", 39);
    let shown = browser.evaluate(reason).to_string();
    assert!(shown.contains("2 rw x: T2 before T1"), "{shown}");
    browser.press("Escape", 27);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Opens a page at each width in each colour and prints it: pictures are kept, nothing is cut off at the side, nothing
/// is loaded or logged, and axe-core finds nothing serious.
fn look(browser: &mut Browser, name: &str, page: &str) {
    let axe = std::fs::read_to_string(target().join("axe-core/package/axe.min.js")).ok();
    if axe.is_none() {
        println!("axe-core is not there (cargo xtask browser): accessibility was not tried");
    }
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")] {
        let name = format!("{name}-{scheme}-{width}");
        browser.open(&name, page, width, scheme);
        browser.screenshot(&name);
        let overflows = "document.documentElement.scrollWidth > document.documentElement.clientWidth";
        assert_eq!(browser.evaluate(overflows), json!(false), "{name} is wider than the window");
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{name}");
        let Some(axe) = &axe else { continue };
        browser.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })");
        browser.evaluate(&format!("{axe}; true"));
        let serious = browser.evaluate(
            "axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact))\
             .map(v => v.id + ': ' + v.nodes.map(n => n.html).join(' ')))",
        );
        assert_eq!(serious, json!([]), "{name}");
    }
    let printed = browser.ask("Page.printToPDF", json!({ "printBackground": true }));
    let bytes = STANDARD.decode(printed["data"].as_str().unwrap()).unwrap();
    assert!(bytes.starts_with(b"%PDF"));
    std::fs::write(target().join(format!("screenshots/{name}.pdf")), bytes).unwrap();
}

#[test]
fn a_write_skew_is_readable_in_any_size_and_colour() {
    let Some(mut browser) = browser() else { return };
    look(&mut browser, "skew", &page_of(SKEW, LevelId::Serializable));
}

/// A cycle that no transaction can be left out of.
#[test]
fn a_witness_of_200_transactions_is_readable_in_any_size_and_colour() {
    let Some(mut browser) = browser() else { return };
    let txn = |number: usize| format!("s{}: r({number})=0 w({})=1\n", number % 8, (number + 1) % 200);
    let page = page_of(&(0..200).map(txn).collect::<String>(), LevelId::Serializable);
    assert!(page.contains("200 transactions"), "the witness has fewer transactions");
    look(&mut browser, "cycle-of-200", &page);
}

/// 100,000 transactions of 8 operations, one of which misses what its session had written.
fn large() -> history::History {
    let mut builder = history::Builder::new();
    builder.initial = history::InitialState::all(history::ValueId(0));
    let sessions: Vec<_> =
        (0..20).map(|session| builder.named_session(history::Datum::Int(session))).collect();
    let mut latest = vec![history::ValueId(0); 10_000];
    for number in 0..100_000_usize {
        builder.begin(sessions[number % 20]);
        for step in 0..4 {
            let place = (number * 31 + step * 7919) % latest.len();
            let key = builder.keys.intern(history::Datum::Int(place as i64));
            let value = builder.values.intern(history::Datum::Int((number * 4 + step) as i64 + 1));
            let is_lost = number == 50_000 && step == 0;
            builder.read(key, if is_lost { history::ValueId(0) } else { latest[place] });
            builder.write(key, value);
            latest[place] = value;
        }
        builder.end(history::Outcome::Committed);
    }
    builder.finish()
}

#[test]
fn a_report_of_100_000_transactions_is_small_and_opens_at_once() {
    let history = large();
    let check = Check::new(&history).level(LevelId::SessionSnapshotIsolation);
    let report = check.run().unwrap();
    let witnesses = check.witnesses(&report.answers).unwrap();
    assert_eq!(witnesses.len(), 1, "a stale read was planted");
    let page =
        html(&Page { title: "large".to_owned(), history: Some(&history), witnesses, ..Page::default() });
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let Some(mut browser) = browser() else { return };
    println!("{} bytes", page.len());
    for _ in 0..5 {
        browser.open("large", &page, 1280, "light");
        println!("  {}", browser.opening());
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
    browser.screenshot("large");
}

/// How long the report in the file that `ISOSCOPE_REPORT` names takes to open, such as one that `check --html` wrote.
#[test]
fn a_report_of_the_command_opens() {
    let Some(file) = std::env::var_os("ISOSCOPE_REPORT") else { return };
    let page = std::fs::read_to_string(file).unwrap();
    let Some(mut browser) = browser() else { return };
    for _ in 0..5 {
        browser.open("of-the-command", &page, 1280, "light");
        println!("{} bytes: {}", page.len(), browser.opening());
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
    browser.screenshot("of-the-command");
}

/// Markup, control characters, right-to-left text, and quotes that would end an attribute.
const HOSTILE: [&str; 5] = [
    "<script>window.hit=1</script>",
    "</style><img src=x onerror='window.hit=1'>",
    "\u{202e}txt\u{1b}[2J\u{0}\r\n",
    "\u{5d0}\u{5d1}\u{5d2} \u{627}\u{644}",
    "\" onload=window.hit=1 x=\"",
];

/// Five transactions, each of which read what the next one overwrote; the values have 10,000 characters.
fn hostile() -> history::History {
    let mut builder = history::Builder::new();
    builder.initial = history::InitialState::all(history::ValueId(0));
    let keys = HOSTILE.map(|key| builder.keys.intern(history::Datum::str(key)));
    for (number, name) in HOSTILE.iter().enumerate() {
        let session = builder.named_session(history::Datum::str(*name));
        let value = builder.values.intern(history::Datum::str(name.repeat(10_000 / name.len() + 1)));
        builder.begin(session);
        builder.name_txn(history::Datum::str(format!("<i>{name}</i>")));
        builder.read(keys[number], history::ValueId(0));
        builder.write(keys[(number + 1) % HOSTILE.len()], value);
        builder.end(history::Outcome::Committed);
    }
    builder.finish()
}

#[test]
fn a_hostile_history_is_shown_and_not_run() {
    let Some(mut browser) = browser() else { return };
    let history = hostile();
    let check = Check::new(&history).level(LevelId::Serializable);
    let report = check.run().unwrap();
    let witnesses = check.witnesses(&report.answers).unwrap();
    assert_eq!(witnesses[0].history.txn_count(), HOSTILE.len());
    let hostile = || HOSTILE.map(str::to_owned).to_vec();
    let page = html(&Page {
        title: HOSTILE.concat(),
        about: HOSTILE.concat(),
        history: Some(&history),
        verdicts: vec![VerdictRow {
            level: HOSTILE[0].to_owned(),
            verdict: "violated",
            note: HOSTILE.concat(),
            witness: Some(0),
        }],
        witnesses,
        power: hostile().into_iter().zip(hostile()).collect(),
        power_note: HOSTILE.concat(),
        faults: hostile(),
        commands: hostile(),
        ..Page::default()
    });
    assert!(page.len() < 200_000, "{} bytes", page.len());
    look(&mut browser, "hostile", &page);
    assert_eq!(browser.evaluate("typeof window.hit"), json!("undefined"), "something was run");
    assert_eq!(browser.evaluate("document.querySelectorAll('b, i, img').length"), json!(0));
    // The page's own, and axe-core where it is there: it is no element.
    assert_eq!(browser.evaluate("document.scripts.length"), json!(1));
}
