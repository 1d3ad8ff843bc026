//! Wrong specs and what is said about them: `wrong.txt`, rewritten with `UPDATE_EXPECT=1`.

use isoscope_spec::{Spec, SpecErrorKind};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wrong.txt");

#[test]
fn every_wrong_spec_is_told_where_it_is_wrong() {
    let corpus = std::fs::read_to_string(PATH).unwrap();
    let mut rewritten = Vec::new();
    let mut kinds = Vec::new();
    for case in corpus.split("====\n") {
        let (text, _) = case.split_once("----\n").expect("a spec and what is said about it");
        let error = Spec::parse("wrong.iso", text).map(|_| ()).expect_err(text);
        kinds.push(error.kind);
        rewritten.push(format!("{text}----\n{error}\n"));
    }
    let rewritten = rewritten.join("====\n");
    if std::env::var("UPDATE_EXPECT").is_ok() {
        std::fs::write(PATH, &rewritten).unwrap();
    }
    assert!(kinds.len() >= 100, "{} wrong specs", kinds.len());
    use SpecErrorKind::*;
    for kind in
        [Syntax, UnknownName, WrongSort, WrongArity, CyclicDefinition, DuplicateName, NotInFramework, Include]
    {
        assert!(kinds.iter().filter(|&&found| found == kind).count() >= 2, "too few of {kind:?}");
    }
    for (said, expected) in rewritten.split("====\n").zip(corpus.split("====\n")) {
        assert_eq!(said, expected);
    }
}

#[test]
fn an_error_in_an_included_file_points_into_that_file() {
    let mut find = |name: &str| {
        (name == "own.iso").then(|| "define mine = session\ndefine yours = sesion\n".to_string())
    };
    let error = Spec::parse_with("main.iso", "include \"own.iso\"\nlevel a : acyclic(yours)\n", &mut find)
        .unwrap_err();
    assert_eq!((error.file.name.as_str(), error.place()), ("own.iso", (2, 16)));
}
