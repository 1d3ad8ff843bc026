//! Arbitrary bytes as lines of the protocol of `exec:` (`docs/exec.md`).

use databases::{Statement, is_exec_hello, read_exec_answer};
use history::{Bound, Datum};

/// Reads a line as the answer to `hello` and to a statement of each form.
pub fn read(bytes: &[u8]) {
    let _ = is_exec_hello(bytes);
    let (table, key) = (String::from("t"), Datum::Int(1));
    let statements = [
        Statement::Read { table: table.clone(), key: key.clone() },
        Statement::Write { table: table.clone(), key: key.clone(), column: "c".into(), value: Datum::Nil },
        Statement::Insert { table: table.clone(), key, values: Vec::new() },
        Statement::Range { table, from: Bound::Unbounded, to: Bound::Unbounded },
        Statement::Sql("select 1".into()),
    ];
    for statement in &statements {
        let _ = read_exec_answer(statement, bytes);
    }
}
