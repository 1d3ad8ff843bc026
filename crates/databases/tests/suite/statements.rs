//! Every kind of statement, in transactions that commit and that do not; and failures by their meaning.

use history::{Bound, Datum};
use isoscope_databases::{
    Comparison, Database, FailureKind, Reply, Session, Setting, Statement, StatementKind, Where,
    list_elements,
};

use super::{Tables, integer, transaction};

/// Asks everything once, and compares with what a table is.
pub fn check_statements(database: &dyn Database, setting: &Setting, test: &str) {
    let tables = Tables::prepare(database, test);
    check_points(database, setting, &tables);
    check_rows(database, setting, &tables);
    check_predicates(database, setting, &tables);
    check_lists(database, setting, &tables);
    check_abort(database, setting, &tables);
    check_visibility(database, setting, &tables);
}

fn check_points(database: &dyn Database, setting: &Setting, tables: &Tables) {
    let mut session = database.connect(0).unwrap();
    let table = || tables.register.clone();
    let add = |key: i64, by| Statement::Add { table: table(), key: key.into(), column: "v".into(), by };
    let answers = transaction(
        &mut *session,
        setting,
        &[
            tables.read(0),
            tables.write(0, 7),
            tables.read(0),
            add(0, -9),
            tables.read(0),
            tables.read(999_999),
            tables.write(999_999, 1),
            add(999_999, 1),
            // The same value again: the row is found all the same.
            tables.write(0, -2),
        ],
    );
    let row = |value: i64| Reply::Row(Some(vec![value.into()]));
    let one = || Reply::Count(1);
    let none = || Reply::Count(0);
    assert_eq!(answers, [row(0), one(), row(7), one(), row(-2), Reply::Row(None), none(), none(), one()]);
    if database.supports(StatementKind::ReadForUpdate) {
        let statement = Statement::ReadForUpdate { table: table(), key: 0.into() };
        assert_eq!(transaction(&mut *session, setting, &[statement]), [row(-2)]);
    }
}

fn check_rows(database: &dyn Database, setting: &Setting, tables: &Tables) {
    let mut session = database.connect(0).unwrap();
    let table = || tables.rows.clone();
    let values = |n: i64, colour: &str| vec![n.into(), colour.into()];
    let read = |key: &str| Statement::Read { table: table(), key: key.into() };
    let delete = |key: &str| Statement::Delete { table: table(), key: key.into() };
    let range = |from, to| Statement::Range { table: table(), from, to };
    let answers = transaction(
        &mut *session,
        setting,
        &[
            Statement::Insert { table: table(), key: "e".into(), values: values(5, "it's \"quoted\"") },
            read("e"),
            Statement::Put { table: table(), key: "e".into(), values: values(6, "white") },
            Statement::Put { table: table(), key: "f".into(), values: values(7, "grey") },
            delete("a"),
            delete("a"),
            read("a"),
            range(Bound::Included("b".into()), Bound::Excluded("d".into())),
            range(Bound::Excluded("d".into()), Bound::Unbounded),
            range(Bound::Unbounded, Bound::Included("b".into())),
        ],
    );
    let row = |key: &str, n, colour| (Datum::from(key), values(n, colour));
    assert_eq!(
        answers,
        [
            Reply::Done,
            Reply::Row(Some(values(5, "it's \"quoted\""))),
            Reply::Done,
            Reply::Done,
            Reply::Count(1),
            Reply::Count(0),
            Reply::Row(None),
            Reply::Rows(vec![row("b", 2, "green"), row("c", 3, "blue")]),
            Reply::Rows(vec![row("e", 6, "white"), row("f", 7, "grey")]),
            Reply::Rows(vec![row("b", 2, "green")]),
        ]
    );
}

/// After `check_rows` there are b 2 green, c 3 blue, d 4 red, e 6 white, f 7 grey.
fn check_predicates(database: &dyn Database, setting: &Setting, tables: &Tables) {
    let mut session = database.connect(0).unwrap();
    let table = || tables.rows.clone();
    let n = || "n".to_owned();
    let is_colour = |colour: &str| Where::Compare("colour".into(), Comparison::Equal, colour.into());
    let found = |predicate: Where| Statement::Select { table: table(), predicate };
    let answers = transaction(
        &mut *session,
        setting,
        &[
            found(Where::Modulo(n(), 2, 0)),
            found(Where::Between(n(), 3.into(), 6.into())),
            found(Where::In("k".into(), vec!["b".into(), "f".into(), "z".into()])),
            found(Where::Not(Box::new(Where::Or(vec![
                Where::Compare(n(), Comparison::Less, 3.into()),
                Where::Compare("k".into(), Comparison::GreaterOrEqual, "e".into()),
            ])))),
            found(Where::And(vec![Where::All, is_colour("red")])),
            found(Where::In(n(), vec![])),
            Statement::Update {
                table: table(),
                predicate: Where::Compare(n(), Comparison::Greater, 3.into()),
                set: vec![(n(), 0.into()), ("colour".into(), "black".into())],
            },
            found(is_colour("black")),
            Statement::DeleteWhere {
                table: table(),
                predicate: Where::Compare(n(), Comparison::NotEqual, 0.into()),
            },
            found(Where::All),
        ],
    );
    let keys = |answer: &Reply| match answer {
        Reply::Rows(rows) => rows.iter().map(|(key, _)| key.to_string()).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    };
    let keys: Vec<_> = answers.iter().map(keys).collect();
    assert_eq!(keys, ["b d e", "c d e", "b f", "c d", "d", "", "Count(3)", "d e f", "Count(2)", "d e f"]);
    check_changed_rows(&mut *session, database, setting, tables);
}

/// Of the rows d, e and f, where the database can return the rows that an update changed, as they were before.
fn check_changed_rows(
    session: &mut dyn Session,
    database: &dyn Database,
    setting: &Setting,
    tables: &Tables,
) {
    if !database.supports(StatementKind::UpdateReturning) {
        return;
    }
    let update = Statement::UpdateReturning {
        table: tables.rows.clone(),
        predicate: Where::Compare("k".into(), Comparison::Greater, "d".into()),
        set: vec![("n".into(), 9.into())],
    };
    let answers = transaction(session, setting, &[update]);
    let Reply::Rows(mut rows) = answers[0].clone() else { panic!("{answers:?}") };
    rows.sort_by_key(|(key, _)| key.to_string());
    let black = || vec![0.into(), "black".into()];
    assert_eq!(rows, [("e".into(), black()), ("f".into(), black())]);
}

fn check_lists(database: &dyn Database, setting: &Setting, tables: &Tables) {
    let mut session = database.connect(0).unwrap();
    let append =
        |value: i64| Statement::Append { table: tables.lists.clone(), key: 1.into(), value: value.into() };
    let read = Statement::Read { table: tables.lists.clone(), key: 1.into() };
    transaction(&mut *session, setting, &[append(5), append(6)]);
    let answers = transaction(&mut *session, setting, &[append(7), read]);
    let Reply::Row(Some(columns)) = &answers[1] else { panic!("{answers:?}") };
    let Datum::Str(text) = &columns[0] else { panic!("{columns:?}") };
    assert_eq!(list_elements(text), [5, 6, 7].map(Datum::Int));
}

fn check_abort(database: &dyn Database, setting: &Setting, tables: &Tables) {
    let mut session = database.connect(0).unwrap();
    session.abort().expect("nothing to abort is fine");
    session.begin(setting).unwrap();
    session.execute(&tables.write(1, 100)).unwrap();
    session.execute(&Statement::Delete { table: tables.register.clone(), key: 2.into() }).unwrap();
    let insert = |key: i64| Statement::Insert {
        table: tables.register.clone(),
        key: key.into(),
        values: vec![0.into()],
    };
    session.execute(&insert(5000)).unwrap();
    session.abort().unwrap();
    let answers = transaction(&mut *session, setting, &[tables.read(1), tables.read(2), tables.read(5000)]);
    assert_eq!(answers[2], Reply::Row(None));
    assert_eq!(answers.into_iter().take(2).map(integer).collect::<Vec<_>>(), [0, 0]);
    let failure = session.commit().expect_err("no transaction is open");
    assert_eq!(failure.kind, FailureKind::Refused);
}

/// What one session commits the other sees afterwards.
fn check_visibility(database: &dyn Database, setting: &Setting, tables: &Tables) {
    let (mut one, mut two) = (database.connect(0).unwrap(), database.connect(0).unwrap());
    for round in 1..20 {
        transaction(&mut *one, setting, &[tables.write(3, round)]);
        let seen = transaction(&mut *two, setting, &[tables.read(3)]).remove(0);
        assert_eq!(integer(seen), round);
        std::mem::swap(&mut one, &mut two);
    }
}

/// Failures say what they mean, and the session goes on.
pub fn check_failures(database: &dyn Database, setting: &Setting, test: &str) {
    let tables = Tables::prepare(database, test);
    let mut session = database.connect(0).unwrap();
    let table = || tables.register.clone();
    let cases = [
        (Statement::Insert { table: table(), key: 1.into(), values: vec![1.into()] }, FailureKind::Aborted),
        (Statement::Read { table: "missing".into(), key: 1.into() }, FailureKind::Refused),
        (
            Statement::Write { table: table(), key: 1.into(), column: "missing".into(), value: 1.into() },
            FailureKind::Refused,
        ),
        (Statement::Put { table: table(), key: 1.into(), values: vec![] }, FailureKind::Refused),
        (Statement::Sql("SELEKT nonsense".into()), FailureKind::Refused),
    ];
    for (statement, kind) in cases {
        session.begin(setting).unwrap();
        session.execute(&tables.write(4, 44)).unwrap();
        let failure = session.execute(&statement).expect_err("must fail");
        assert_eq!(failure.kind, kind, "{statement:?}: {failure}");
        // The transaction is over: its write is gone, and the session is ready.
        assert_eq!(
            integer(transaction(&mut *session, setting, &[tables.read(4)]).remove(0)),
            0,
            "{statement:?}"
        );
    }
    let unknown = Setting { name: "no-such-setting".into(), is_default: false };
    assert_eq!(session.begin(&unknown).expect_err("no such setting").kind, FailureKind::Refused);
    let wrong = isoscope_databases::Table::of_integers("Robert'); DROP TABLE students", []);
    assert_eq!(database.prepare(&[wrong]).expect_err("no such name").kind, FailureKind::Refused);
}
