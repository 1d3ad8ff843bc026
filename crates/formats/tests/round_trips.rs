//! Native to another format and back: what the format can hold comes back as it was, and the rest is said.

use std::fs;
use std::path::{Path, PathBuf};

use history::History;
use index::Index;
use isoscope_formats::{
    ErrorKind, Format, Input, ReadOptions, Warning, WriteOptions, notation, read, read_bytes, write_to,
    write_to_path,
};

const STRICT: WriteOptions = WriteOptions { lossy: false };
const LOSSY: WriteOptions = WriteOptions { lossy: true };

/// A history after it went through a format, in the notation, and what was said on the way.
fn through(text: &str, format: Format, options: &WriteOptions) -> (String, Vec<&'static str>) {
    let history = notation::parse(text).unwrap();
    let (back, warnings) = through_folder_or_bytes(&history, format, options);
    let mut names: Vec<_> = warnings.iter().map(|warning| warning.name).collect();
    names.sort_unstable();
    (notation::print(&back).unwrap(), names)
}

fn through_folder_or_bytes(
    history: &History,
    format: Format,
    options: &WriteOptions,
) -> (History, Vec<Warning>) {
    if format.is_folder() {
        let folder = Scratch::new("folder");
        let warnings = write_to_path(history, format, &folder.0, options).unwrap();
        let back = read(&Input::Path(folder.0.clone()), &ReadOptions::default()).unwrap();
        assert_eq!(back.format, format);
        return (back.history, warnings);
    }
    let mut bytes = Vec::new();
    let warnings = write_to(history, format, &mut bytes, options).unwrap();
    let back = read_bytes("back", &bytes, &ReadOptions::default()).unwrap();
    assert_eq!(back.format, format);
    (back.history, warnings)
}

fn normal(text: &str) -> String {
    notation::print(&notation::parse(text).unwrap()).unwrap()
}

/// A name in the folder for temporary files that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("formats-{}-{number}-{name}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn dbcop_keeps_numbers_outcomes_and_an_initial_zero() {
    let text = "
        init *=0
        r(1)=0 w(1)=1
        w(2)=18446744073709551615 w(2)=7 abort
        w(2)=0 r(1)=9223372036854775808
    ";
    let (back, warnings) = through(text, Format::DbcopBincode, &STRICT);
    assert_eq!((back, warnings), (normal(text), vec![]));
}

#[test]
fn dbcop_moves_what_is_no_number_and_says_so() {
    let text = "init *=nil\na: r(x)=nil w(x)=0\nb: r(x)=0 w(y)=\"one\"";
    let (back, warnings) = through(text, Format::DbcopBincode, &STRICT);
    assert_eq!(warnings, ["initial-renumbered", "keys-renumbered", "names-dropped", "values-renumbered"]);
    let history = notation::parse(&back).unwrap();
    let index = Index::of(&history);
    assert!(index.findings().is_empty(), "{back}");
    assert_eq!(index.sources(0).writes.len(), 0, "the initial value is not what b wrote: {back}");
}

#[test]
fn what_a_verdict_depends_on_is_an_error_unless_loss_is_asked_for() {
    let cases = [
        ("a: w(1)=1 unknown", Format::DbcopBincode, "unknown-outcomes"),
        ("a: w(1)=1 unknown", Format::Polysi, "unknown-outcomes"),
        ("a: w(1)=1 abort", Format::Cobra, "aborted-dropped"),
    ];
    for (text, format, name) in cases {
        let history = notation::parse(text).unwrap();
        let error = write_to(&history, format, &mut Vec::new(), &STRICT).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CannotExpress, "{error}");
        assert!(error.hint().contains("--lossy"), "{error}");
        let (_, warnings) = through_folder_or_bytes(&history, format, &LOSSY);
        assert!(warnings.iter().any(|warning| warning.name == name), "{warnings:?}");
    }
}

#[test]
fn polysi_keeps_numbers_and_the_names_that_are_numbers() {
    let text = "init *=0\n1: r(1)=0 w(1)=1\n2: r(1)=1 w(2)=2\n1: r(2)=2";
    let history = notation::parse(text).unwrap();
    let mut bytes = Vec::new();
    assert!(
        write_to(&history, Format::Polysi, &mut bytes, &STRICT)
            .unwrap()
            .iter()
            .all(|warning| warning.name == "names-renumbered")
    );
    let first = read_bytes("back", &bytes, &ReadOptions::default()).unwrap().history;
    let (second, warnings) = through_folder_or_bytes(&first, Format::Polysi, &STRICT);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(notation::print(&second).unwrap(), notation::print(&first).unwrap());
    assert!(Index::of(&second).findings().is_empty());
}

#[test]
fn polysi_cannot_imply_an_initial_value_that_is_written_too() {
    let history = notation::parse("init *=0\na: r(1)=0\nb: w(1)=0").unwrap();
    let error = write_to(&history, Format::Polysi, &mut Vec::new(), &STRICT).unwrap_err();
    assert!(error.to_string().contains("cannot be implied"), "{error}");
}

#[test]
fn cobra_keeps_integers_times_and_initial_values() {
    let text = "init *=nil 3=77\n1: r(1)=nil w(1)=-5 @[10,20]\n2: r(1)=-5 r(3)=77 @[15,30]";
    let history = notation::parse(text).unwrap();
    let (first, warnings) = through_folder_or_bytes(&history, Format::Cobra, &STRICT);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert!(Index::of(&first).findings().is_empty());
    let (second, warnings) = through_folder_or_bytes(&first, Format::Cobra, &STRICT);
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(notation::print(&second).unwrap(), notation::print(&first).unwrap());
    assert!(first.has_times());
}

#[test]
fn a_cobra_log_of_versions_comes_back_byte_for_byte() {
    let mut log = Vec::new();
    let mut record = |opcode: u8, words: &[u64]| {
        log.push(opcode);
        log.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    };
    record(b'S', &[0x1_0000_0001]);
    record(b'R', &[0xbebe_ebee, 0xbebe_ebee, u64::MAX, 12]);
    record(b'R', &[0xdead_beef, 0xdead_beef, 8, 0]);
    record(b'W', &[901, u64::MAX, u64::MAX - 3]);
    record(b'C', &[0x1_0000_0001]);
    record(b'S', &[0x1_0000_0002]);
    record(b'R', &[0x1_0000_0001, 901, u64::MAX, u64::MAX - 3]);
    record(b'W', &[0xabcd_efab, 8, 5]);
    record(b'C', &[0x1_0000_0002]);
    let history = read_bytes("T1.log", &log, &ReadOptions::default()).unwrap().history;
    assert!(Index::of(&history).findings().is_empty());
    let mut back = Vec::new();
    write_to(&history, Format::Cobra, &mut back, &STRICT).unwrap();
    assert_eq!(back, log);
    let mut native = Vec::new();
    write_to(&history, Format::Native, &mut native, &STRICT).unwrap();
    let again = read_bytes("native", &native, &ReadOptions::default()).unwrap().history;
    back.clear();
    write_to(&again, Format::Cobra, &mut back, &STRICT).unwrap();
    assert_eq!(back, log);
}

#[test]
fn the_shared_logs_come_back_byte_for_byte() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories");
    let names = ["fig5/rubis-1k", "fig11/si-1000", "table2/cock-G2", "table2/cock-blog"];
    for folder in names.map(|name| shared.join(name)).iter().filter(|folder| folder.is_dir()) {
        let loaded = read(&Input::Path(folder.clone()), &ReadOptions::default()).unwrap();
        let copy = Scratch::new("copy");
        let warnings = write_to_path(&loaded.history, Format::Cobra, &copy.0, &STRICT).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        for entry in fs::read_dir(&copy.0).unwrap() {
            let name = entry.unwrap().file_name();
            let (copied, original) = (fs::read(copy.0.join(&name)), fs::read(folder.join(&name)));
            assert!(copied.unwrap() == original.unwrap(), "{} {name:?}", folder.display());
        }
    }
}

#[test]
fn the_shared_dbcop_histories_come_back_but_for_their_headers() {
    let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/histories");
    let names = ["fig5/BL-1k.bincode", "table2/dgraph.bincode", "fig11/chengRW-1000.bincode"];
    for file in names.map(|name| shared.join(name)).iter().filter(|file| file.is_file()) {
        let original = fs::read(file).unwrap();
        let history = read_bytes("original", &original, &ReadOptions::default()).unwrap().history;
        let mut bytes = Vec::new();
        let warnings = write_to(&history, Format::DbcopBincode, &mut bytes, &STRICT).unwrap();
        assert!(warnings.is_empty(), "{warnings:?}");
        let sessions = |bytes: &[u8]| bytes[bytes.len() - sessions_bytes(&history)..].to_vec();
        assert!(sessions(&bytes) == sessions(&original), "{}", file.display());
    }
}

fn sessions_bytes(history: &History) -> usize {
    8 + 8 * history.session_count() + 9 * history.txn_count() + 18 * history.op_count()
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let folder = Scratch::new("whole");
    fs::create_dir(&folder.0).unwrap();
    let target = folder.0.join("h.bincode");
    fs::write(&target, b"old").unwrap();
    let history = notation::parse("a: w(1)=1 unknown").unwrap();
    let error = write_to_path(&history, Format::DbcopBincode, &target, &STRICT).unwrap_err();
    assert_eq!(error.file(), target.display().to_string());
    assert_eq!(fs::read(&target).unwrap(), b"old");
    write_to_path(&history, Format::DbcopBincode, &target, &LOSSY).unwrap();
    assert!(fs::read(&target).unwrap().len() > 3);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "nothing is left beside it");
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_a_device_a_device() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let history = notation::parse("a: w(1)=1").unwrap();
    let (file, link) = (Scratch::new("file"), Scratch::new("link"));
    fs::write(&file.0, b"old").unwrap();
    symlink(&file.0, &link.0).unwrap();
    write_to_path(&history, Format::Native, &link.0, &STRICT).unwrap();
    assert!(fs::symlink_metadata(&link.0).unwrap().is_symlink());
    assert!(fs::read(&file.0).unwrap().len() > 3);
    write_to_path(&history, Format::Native, Path::new("/dev/null"), &STRICT).unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}

#[test]
fn a_name_asks_for_compression_and_reading_takes_it_off() {
    let history = notation::parse("init *=0\na: w(1)=1\nb: r(1)=1").unwrap();
    for (extension, magic) in [("gz", &[0x1f, 0x8b][..]), ("zst", &[0x28, 0xb5, 0x2f, 0xfd])] {
        let target = Scratch::new(&format!("history.{extension}"));
        write_to_path(&history, Format::Native, &target.0, &STRICT).unwrap();
        assert!(fs::read(&target.0).unwrap().starts_with(magic));
        let back = read(&Input::Path(target.0.clone()), &ReadOptions::default()).unwrap();
        assert_eq!(notation::print(&back.history).unwrap(), notation::print(&history).unwrap());
    }
}

#[test]
fn a_folder_that_is_no_history_or_two_is_refused() {
    let folder = Scratch::new("mixed");
    fs::create_dir(&folder.0).unwrap();
    let input = Input::Path(folder.0.clone());
    let error = read(&input, &ReadOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownFormat, "{error}");
    fs::write(folder.0.join("T1.log"), b"").unwrap();
    fs::write(folder.0.join("J1.log"), b"").unwrap();
    let error = read(&input, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("--format"), "{error}");
    let viper = read(&input, &ReadOptions::default().with_format(Format::Viper)).unwrap();
    assert_eq!(viper.history.session_count(), 1);
    let error = write_to_path(&viper.history, Format::Cobra, &folder.0, &STRICT).unwrap_err();
    assert!(error.to_string().contains("no empty folder"), "{error}");
}
