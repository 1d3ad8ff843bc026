//! The examples and tables of `docs/spec.md` are true.

use isoscope_spec::{Spec, WORDS};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/spec.md");

#[test]
fn every_example_is_a_spec() {
    let document = std::fs::read_to_string(PATH).unwrap();
    let mut count = 0;
    for block in document.split("```iso\n").skip(1) {
        let text = block.split("```").next().unwrap();
        let spec = Spec::parse("docs/spec.md", text).unwrap_or_else(|error| panic!("{error}"));
        count += spec.levels.len();
    }
    assert!(count >= 10, "{count} levels in the examples");
}

#[test]
fn every_word_is_in_the_table() {
    let document = std::fs::read_to_string(PATH).unwrap();
    for word in WORDS {
        let row = document.lines().find(|line| line.starts_with(&format!("| `{}` |", word.name)));
        let row = row.unwrap_or_else(|| panic!("`{}` is not in the table", word.name));
        let sorts: Vec<&str> = word.base.sorts().iter().map(|sort| sort.name()).collect();
        assert!(row.contains(&format!("`{}`", word.short)), "{row}");
        assert!(row.contains(&format!("| {} |", sorts.join(", "))), "{row}");
    }
}

#[test]
fn the_example_of_an_error_is_what_is_said() {
    let document = std::fs::read_to_string(PATH).unwrap();
    let error = Spec::parse("my.iso", "level a : visible = sesion\n").unwrap_err();
    assert!(document.contains(&format!("{error}\n")), "{error}");
}
