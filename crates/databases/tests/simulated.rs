//! The suite on the simulated store, at every level; its faults, and that no session waits for ever.

mod suite;

use history::{Bound, Datum};
use isoscope_databases::{FailureKind, Statement, Url, open, simulated_promise};
use suite::*;

#[test]
fn every_level_loses_and_skews_what_its_name_says() {
    let database = database("sim:?lock-timeout-ms=2000");
    assert_eq!(default_setting(&*database).name, "serializable");
    for setting in database.settings() {
        let name = setting.name.as_str();
        assert!(simulated_promise(name).is_some(), "{name}");
        let is_serializable = matches!(name, "serial" | "serializable" | "two-phase-locking" | "ssi");
        let keeps_updates = is_serializable || name.contains("snapshot");
        let is_fresh =
            is_serializable || matches!(name, "snapshot" | "prefix" | "read-committed" | "read-uncommitted");
        if is_fresh {
            check_statements(&*database, &setting, "statements");
        }
        if is_serializable {
            check_failures(&*database, &setting, "failures");
        }
        if keeps_updates {
            count_updates(&*database, &setting, "count");
        }
        if is_fresh {
            check_lost_update(&*database, &setting, "lost", !keeps_updates);
            check_write_skew(&*database, &setting, "skew", !is_serializable);
        }
    }
}

#[test]
fn a_level_in_the_url_is_the_only_setting() {
    let database = database("sim:snapshot");
    let names: Vec<_> = database.settings().into_iter().map(|setting| setting.name).collect();
    assert_eq!(names, ["snapshot"]);
    let other = isoscope_databases::Setting { name: "serial".into(), is_default: false };
    assert_eq!(database.connect(0).unwrap().begin(&other).unwrap_err().kind, FailureKind::Refused);
}

#[test]
fn what_the_store_does_not_know_is_refused() {
    for url in ["sim:nonsense", "sim:?fault=nonsense", "sim:?rate=2", "sim:?seed=x", "sim:?colour=red"] {
        let failure = open(&[Url::parse(url).unwrap()]).err().unwrap_or_else(|| panic!("{url}"));
        assert_eq!(failure.kind, FailureKind::Refused, "{url}: {failure}");
    }
}

#[test]
fn two_phase_locking_waits_and_a_watcher_sees_it() {
    let database = database("sim:two-phase-locking?lock-timeout-ms=5000");
    let setting = default_setting(&*database);
    let tables = Tables::prepare(&*database, "wait");
    let mut watcher = database.watcher(0).unwrap();
    let (mut one, mut two) = (database.connect(0).unwrap(), database.connect(0).unwrap());
    let two_id = two.id().unwrap();
    one.begin(&setting).unwrap();
    one.execute(&tables.write(1, 1)).unwrap();
    two.begin(&setting).unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| two.execute(&tables.read(1)));
        while !watcher.is_waiting(two_id).unwrap() {
            std::thread::yield_now();
        }
        one.commit().unwrap();
        assert_eq!(integer(waiting.join().unwrap().unwrap()), 1);
    });
    two.abort().unwrap();
}

#[test]
fn a_client_that_goes_away_takes_its_locks_with_it() {
    let database = database("sim:serial?lock-timeout-ms=50");
    let setting = default_setting(&*database);
    let tables = Tables::prepare(&*database, "gone");
    let mut one = database.connect(0).unwrap();
    one.begin(&setting).unwrap();
    one.execute(&tables.write(1, 1)).unwrap();
    let mut two = database.connect(0).unwrap();
    let failure = two.begin(&setting).unwrap_err();
    assert_eq!((failure.kind, failure.code.as_deref()), (FailureKind::Aborted, Some("lock-timeout")));
    drop(one);
    assert_eq!(integer(transaction(&mut *two, &setting, &[tables.read(1)]).remove(0)), 0);
}

#[test]
fn faults_strike() {
    let seen = |url: &str| {
        let database = database(url);
        let setting = default_setting(&*database);
        let tables = Tables::prepare(&*database, "fault");
        let mut session = database.connect(0).unwrap();
        session.begin(&setting).unwrap();
        session.execute(&tables.write(1, 5)).unwrap();
        session.abort().unwrap();
        transaction(&mut *session, &setting, &[tables.write(2, 6)]);
        let answers = transaction(&mut *session, &setting, &[tables.read(1), tables.read(2)]);
        answers.into_iter().map(integer).collect::<Vec<_>>()
    };
    assert_eq!(seen("sim:serializable"), [0, 6]);
    assert_eq!(seen("sim:serializable?fault=aborted-read&rate=1"), [5, 6]);
    assert_eq!(seen("sim:serializable?fault=lost-commit&rate=1"), [0, 0]);
    let skewed = database("sim:serializable?fault=clock-skew&rate=1");
    assert_ne!(skewed.connect(0).unwrap().clock_offset_ns(), 0);
    check_write_skew(&*skewed, &default_setting(&*skewed), "clock", false);
    let faulty = |fault: &str| database(&format!("sim:serializable?fault={fault}&rate=1"));
    let lost = faulty("lost-update");
    check_lost_update(&*lost, &default_setting(&*lost), "lost", true);
    let skew = faulty("write-skew");
    check_write_skew(&*skew, &default_setting(&*skew), "skew", true);
}

#[test]
fn of_five_clocks_one_is_wrong_whatever_the_seed() {
    for seed in 0..20 {
        let database = database(&format!("sim:serializable?fault=clock-skew&rate=0.2&seed={seed}"));
        let offsets: Vec<i64> = (0..10).map(|_| database.connect(0).unwrap().clock_offset_ns()).collect();
        let wrong = |sessions: &[i64]| sessions.iter().filter(|&&offset| offset != 0).count();
        assert_eq!((wrong(&offsets[..5]), wrong(&offsets[5..])), (1, 1), "{offsets:?}");
    }
    let all_wrong = database("sim:serializable?fault=clock-skew&rate=1");
    let [one, two] = [0; 2].map(|node| all_wrong.connect(node).unwrap().clock_offset_ns());
    assert_ne!(one, two, "clocks that are wrong alike are right");
}

#[test]
fn a_row_that_came_after_a_scan_is_noticed_also_by_who_deletes_it() {
    let database = database("sim:serializable");
    let setting = default_setting(&*database);
    let table = Tables::prepare(&*database, "phantom").register;
    let key = Datum::Int(5000);
    let mut one = database.connect(0).unwrap();
    one.begin(&setting).unwrap();
    let everything = Bound::Unbounded;
    one.execute(&Statement::Range { table: table.clone(), from: everything.clone(), to: everything })
        .unwrap();
    let insert = Statement::Insert { table: table.clone(), key: key.clone(), values: vec![5.into()] };
    transaction(&mut *database.connect(0).unwrap(), &setting, &[insert]);
    one.execute(&Statement::Delete { table, key }).unwrap();
    assert_eq!(one.commit().unwrap_err().kind, FailureKind::Aborted);
}
