//! The SQL of statements, by dialect.

use super::*;
use crate::{ColumnType, Comparison, Table};

fn check(statement: Statement, dialect: &Dialect, expected: &str) {
    let catalog = Catalog::default();
    let table = Table {
        name: "t".into(),
        key: ColumnType::Int,
        columns: vec![("v".into(), ColumnType::Text), ("n".into(), ColumnType::Int)],
        rows: vec![],
        keeps_old: true,
    };
    catalog.prepare(&[table]).unwrap();
    let shown = match compile(&statement, dialect, &catalog) {
        Ok(query) => {
            let parameters: Vec<_> = query.parameters.iter().map(Datum::to_string).collect();
            format!("{} <- {}", query.text, parameters.join(" "))
        }
        Err(failure) => failure.to_string(),
    };
    assert_eq!(shown, expected);
}

fn t() -> String {
    "t".into()
}

#[test]
fn points() {
    let read = Statement::ReadForUpdate { table: t(), key: 1.into() };
    check(read.clone(), &POSTGRES, r#"SELECT "v", "n" FROM "t" WHERE "k" = $1 FOR UPDATE <- 1"#);
    check(read, &SQLITE, "refused: this database has no SELECT ... FOR UPDATE");
    let add = Statement::Add { table: t(), key: 1.into(), column: "n".into(), by: -2 };
    check(add, &MYSQL, "UPDATE `t` SET `n` = `n` + ? WHERE `k` = ? <- -2 1");
    let wrong = Statement::Write { table: t(), key: 1.into(), column: "x".into(), value: 2.into() };
    check(wrong, &SQLITE, "refused: table t has no column x");
    let wrong = Statement::Read { table: "u".into(), key: 1.into() };
    check(wrong, &SQLITE, "refused: no table u was prepared");
}

#[test]
fn upserts() {
    let put = Statement::Put { table: t(), key: 1.into(), values: vec!["a".into(), 2.into()] };
    check(
        put.clone(),
        &SQLITE,
        r#"INSERT INTO "t" ("k", "v", "n") VALUES (?, ?, ?) ON CONFLICT ("k") DO UPDATE SET "v" = excluded."v", "n" = excluded."n" <- 1 a 2"#,
    );
    check(
        put,
        &MYSQL,
        "INSERT INTO `t` (`k`, `v`, `n`) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE `v` = VALUES(`v`), `n` = VALUES(`n`) <- 1 a 2",
    );
    let append = Statement::Append { table: t(), key: 1.into(), value: 7.into() };
    check(
        append,
        &MYSQL,
        "INSERT INTO `t` (`k`, `v`, `n`) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE `v` = CASE WHEN `t`.`v` = '' THEN VALUES(`v`) ELSE CONCAT(`t`.`v`, ',', VALUES(`v`)) END <- 1 \"7\" 0",
    );
}

#[test]
fn ranges_and_predicates() {
    let range =
        Statement::Range { table: t(), from: Bound::Included(1.into()), to: Bound::Excluded(5.into()) };
    check(
        range,
        &POSTGRES,
        r#"SELECT "k", "v", "n" FROM "t" WHERE "k" >= $1 AND "k" < $2 ORDER BY "k" <- 1 5"#,
    );
    let predicate = Where::Or(vec![
        Where::Not(Box::new(Where::Modulo("n".into(), 3, 0))),
        Where::And(vec![
            Where::Compare("k".into(), Comparison::GreaterOrEqual, 4.into()),
            Where::In("n".into(), vec![1.into(), 2.into()]),
        ]),
        Where::In("n".into(), vec![]),
    ]);
    let update = Statement::Update { table: t(), predicate, set: vec![("v".into(), "b".into())] };
    check(
        update,
        &POSTGRES,
        r#"UPDATE "t" SET "v_before" = "v", "n_before" = "n", "v" = $1 WHERE (NOT ("n" % $2 = $3)) OR (("k" >= $4) AND ("n" IN ($5, $6))) OR (1 = 0) <- b 3 0 4 1 2"#,
    );
    let predicate = || Where::Compare("n".into(), Comparison::Less, 4.into());
    let update = || Statement::UpdateReturning {
        table: t(),
        predicate: predicate(),
        set: vec![("v".into(), "b".into())],
    };
    check(
        update(),
        &SQLITE,
        r#"UPDATE "t" SET "v_before" = "v", "n_before" = "n", "v" = ? WHERE "n" < ? RETURNING "k", "v_before", "n_before" <- b 4"#,
    );
    check(update(), &MYSQL, "refused: this database has no UPDATE ... RETURNING");
    let update =
        Statement::Update { table: t(), predicate: predicate(), set: vec![("v".into(), "b".into())] };
    check(update, &MYSQL, "UPDATE `t` SET `v_before` = `v`, `n_before` = `n`, `v` = ? WHERE `n` < ? <- b 4");
}
