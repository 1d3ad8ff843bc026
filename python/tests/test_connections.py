"""The wrappers of connections: what is understood, and what is left out."""

from __future__ import annotations

import os
import pathlib
import sqlite3
from typing import Any

import pytest

import isoscope
from isoscope import dbapi, sql

TABLES = {"accounts": "id"}
COLUMNS = {"accounts": ["id", "owner", "balance"]}


def parsed(text: str, parameters: Any = ()) -> list[tuple]:
    found = sql.parse(text, parameters, TABLES, COLUMNS)
    return [(one.kind, one.is_understood, one.columns, one.key_word and one.key) for one in found]


@pytest.mark.parametrize(
    ("text", "parameters", "expected"),
    [
        ("SELECT balance FROM accounts WHERE id = ?", (1,), [("select", True, ["balance"], 1)]),
        ("select * from accounts where id=%(a)s for update", {"a": 1}, [("select", True, COLUMNS["accounts"], 1)]),
        ("SELECT id, balance FROM accounts WHERE balance > 3", (), [("select", True, ["id", "balance"], None)]),
        ("SELECT balance FROM accounts WHERE balance > 3", (), []),
        ("SELECT sum(balance) FROM accounts", (), []),
        ("SELECT balance FROM accounts a JOIN b ON a.id = b.id", (), []),
        ("SELECT 1", (), []),
        ("UPDATE accounts SET balance = balance - ? WHERE id = ?", (5, 1), [("update", True, ["balance"], 1)]),
        ("UPDATE accounts SET balance = max(1, 2), owner = 'x, y' WHERE id = 7", (), [("update", True, ["balance", "owner"], 7)]),
        ("UPDATE accounts SET balance = 0", (), [("update", False, [], None)]),
        ("UPDATE accounts SET balance = 0 WHERE id = 1 OR id = 2", (), [("update", False, [], None)]),
        ("UPDATE accounts SET id = 3 WHERE id = 1", (), [("update", False, [], None)]),
        ("INSERT INTO accounts (id, balance) VALUES (:i, 2 )", {"i": 4}, [("insert", True, COLUMNS["accounts"], 4)]),
        ("INSERT INTO accounts VALUES (%s, %s, %s);", (4, "x", 1), [("insert", True, COLUMNS["accounts"], 4)]),
        ("INSERT INTO accounts (balance) VALUES (1)", (), [("insert", False, [], None)]),
        ("INSERT INTO accounts SELECT * FROM other", (), [("insert", False, [], None)]),
        ("INSERT INTO accounts (id) VALUES (1) ON CONFLICT DO NOTHING", (), [("insert", False, [], None)]),
        ("DELETE FROM accounts WHERE id = ?", (2,), [("delete", True, COLUMNS["accounts"], 2)]),
        ("DELETE FROM accounts", (), [("delete", False, [], None)]),
        ("WITH x AS (DELETE FROM accounts RETURNING id) SELECT * FROM x", (), [("with", False, [], None)]),
        ("TRUNCATE accounts", (), [("truncate", False, [], None)]),
        ("-- accounts\nUPDATE others SET a = 'accounts'", (), []),
    ],
)
def test_statements(text: str, parameters: Any, expected: list[tuple]) -> None:
    assert parsed(text, parameters) == expected


def connect(path: pathlib.Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{path}?cache=shared", uri=True, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA read_uncommitted = 1")
    return connection


@pytest.fixture
def bank(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "bank.db"
    setup = connect(path)
    setup.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner TEXT, balance INTEGER)")
    setup.execute("INSERT INTO accounts VALUES (1, NULL, 100), (2, 'bob', 100)")
    return path


def deposit(client: Any, amount: int) -> None:
    """Reads the balance, and sets the sum."""
    (balance,) = client.execute("SELECT balance FROM accounts WHERE id = ?", (1,)).fetchone()
    client.execute("UPDATE accounts SET balance = ? WHERE id = ?", (str(balance + amount), 1))


def test_a_lost_update_of_a_program_that_knows_nothing_of_isoscope(bank: pathlib.Path, tmp_path: pathlib.Path) -> None:
    recording = dbapi.Recording(tmp_path / "run.jsonl", connect(bank), TABLES)
    ann, bob = recording.wrap(connect(bank), "ann"), recording.wrap(connect(bank), "bob")
    seen = []
    for client in (ann, bob):
        client.execute("BEGIN")
        seen.append(client.execute("SELECT balance FROM accounts WHERE id = 1").fetchone()[0])
    for client, balance in zip((ann, bob), seen, strict=True):
        client.execute("UPDATE accounts SET balance = ? WHERE id = ?", (str(balance + 10), 1))
        client.execute("COMMIT")
    report = isoscope.check(recording.history(), ["snapshot-isolation", "read-committed"])
    assert not recording.left_out
    # The values of the history are those of the database: the text '110' became a number.
    assert report["snapshot-isolation"].anomaly == "lost update"
    assert report["read-committed"].verdict == "holds"


def test_serial_programs_are_never_accused(bank: pathlib.Path, tmp_path: pathlib.Path) -> None:
    recording = dbapi.Recording(tmp_path / "run.jsonl", connect(bank), TABLES)
    clients = [recording.wrap(connect(bank), name) for name in ("ann", "bob")]
    for number in range(20):
        client = clients[number % 2]
        client.execute("BEGIN")
        deposit(client, 5)
        client.execute("INSERT INTO accounts (id, balance) VALUES (?, ?)", (10 + number, number))
        if number % 3 == 0:
            client.execute("DELETE FROM accounts WHERE id = ?", (9 + number,))
        if number % 5 == 4:
            client.rollback()
        else:
            client.commit()
        client.execute("SELECT id, owner, balance FROM accounts").fetchall()
        client.execute("SELECT balance FROM accounts WHERE id = ?", (99,)).fetchone()
    history = recording.history()
    assert not recording.left_out
    assert history.counts["aborted"] == 4 and history.counts["committed"] > 30
    assert isoscope.check(history, "strict-serializable")["strict-serializable"].verdict == "holds"


def test_a_write_that_is_not_understood_leaves_its_table_out(bank: pathlib.Path, tmp_path: pathlib.Path) -> None:
    recording = dbapi.Recording(tmp_path / "run.jsonl", connect(bank), TABLES)
    client = recording.wrap(connect(bank), "ann")
    client.execute("BEGIN")
    deposit(client, 5)
    client.execute("UPDATE accounts SET balance = balance + 1")
    client.commit()
    client.execute("BEGIN")
    deposit(client, 5)
    client.commit()
    history = recording.history()
    assert recording.left_out == {"accounts": "UPDATE accounts SET balance = balance + 1"}
    assert history.counts["operations"] == 0 and history.counts["transactions"] >= 2
    assert isoscope.check(history, "serializable")["serializable"].verdict == "holds"


def test_a_savepoint_that_is_rolled_back_leaves_tables_out(bank: pathlib.Path, tmp_path: pathlib.Path) -> None:
    recording = dbapi.Recording(tmp_path / "run.jsonl", connect(bank), TABLES)
    client = recording.wrap(connect(bank), "ann")
    client.execute("BEGIN")
    client.execute("SAVEPOINT here")
    deposit(client, 5)
    client.execute("ROLLBACK TO here")
    client.commit()
    assert list(recording.left_out) == ["accounts"]


def test_rows_that_are_fetched_too_late_are_left_out(bank: pathlib.Path, tmp_path: pathlib.Path) -> None:
    recording = dbapi.Recording(tmp_path / "run.jsonl", connect(bank), TABLES)
    client = recording.wrap(connect(bank), "ann")
    client.execute("BEGIN")
    late = client.execute("SELECT id, balance FROM accounts")
    client.commit()
    client.execute("BEGIN")
    client.execute("UPDATE accounts SET balance = 7 WHERE id = 1")
    late.fetchall()
    client.commit()
    assert [op for op in recording.history().operations()["op"] if op] == ["write"]


def test_an_engine_of_sqlalchemy(bank: pathlib.Path, tmp_path: pathlib.Path) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    from isoscope.sqlalchemy import record

    engine = sqlalchemy.create_engine(f"sqlite:///{bank}")
    recording = record(engine, tmp_path / "run.jsonl", TABLES)
    metadata = sqlalchemy.MetaData()
    accounts = sqlalchemy.Table("accounts", metadata, autoload_with=engine)
    for amount in (5, 7):
        with engine.begin() as connection:
            query = sqlalchemy.select(accounts.c.id, accounts.c.balance).where(accounts.c.id == 1)
            balance = connection.execute(query).one().balance
            connection.execute(accounts.update().where(accounts.c.id == 1).values(balance=balance + amount))
    history = recording.history()
    writes = [value for op, value in zip(*map(history.operations().get, ("op", "value")), strict=True) if op == "write"]
    assert recording.left_out == {} and writes == [105, 112]
    assert isoscope.check(history, "serializable")["serializable"].verdict == "holds"


@pytest.mark.skipif("ISOSCOPE_TEST_POSTGRES" not in os.environ, reason="ISOSCOPE_TEST_POSTGRES names no server")
def test_a_write_skew_on_postgresql(tmp_path: pathlib.Path) -> None:
    psycopg = pytest.importorskip("psycopg")
    url, table = os.environ["ISOSCOPE_TEST_POSTGRES"], "isoscope_python_wrapped"
    with psycopg.connect(url, autocommit=True) as setup:
        setup.execute(f"DROP TABLE IF EXISTS {table}")
        setup.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, balance numeric)")
        setup.execute(f"INSERT INTO {table} VALUES (1, 100), (2, 100)")
    recording = dbapi.Recording(tmp_path / "run.jsonl", psycopg.connect(url), {table: "id"})
    clients = [recording.wrap(psycopg.connect(url), name) for name in ("ann", "bob")]
    for client in clients:
        client._inner.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        client.execute(f"SELECT id, balance FROM {table} ORDER BY id").fetchall()
    for account, client in enumerate(clients, 1):
        client.execute(f"UPDATE {table} SET balance = balance - 150 WHERE id = %s", (account,))
        client.commit()
    report = isoscope.check(recording.history(), ["serializable", "snapshot-isolation"])
    with psycopg.connect(url, autocommit=True) as setup:
        setup.execute(f"DROP TABLE {table}")
    assert report["serializable"].anomaly == "write skew"
    assert report["snapshot-isolation"].verdict == "holds"
