"""The plugin, on a small bank over SQLite and PostgreSQL at levels that are too weak."""

from __future__ import annotations

import os
import pathlib

import pytest

LOST_UPDATE = """
import sqlite3

import pytest


def connect(path):
    uri = f"file:{path}?cache=shared"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    connection.execute("PRAGMA read_uncommitted = 1")
    return connection


def balance(connection):
    return connection.execute("SELECT balance FROM accounts WHERE id = 1").fetchone()[0]


def test_two_deposits(isolation, tmp_path):
    setup = connect(tmp_path / "bank.db")
    setup.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER)")
    setup.execute("INSERT INTO accounts VALUES (1, 100)")
    isolation.initial({"account 1": 100})
    clients = [connect(tmp_path / "bank.db") for _ in range(2)]
    open_transactions = []
    for name, client in zip(("ann", "bob"), clients):
        txn = isolation.session(name).transaction(
            begin=lambda client=client: client.execute("BEGIN"),
            commit=lambda client=client: client.execute("COMMIT"),
        )
        txn.__enter__()
        seen = txn.read("account 1", balance(client))
        open_transactions.append((txn, client, seen))
    for amount, (txn, client, seen) in zip((10, 20), open_transactions):
        client.execute("UPDATE accounts SET balance = ? WHERE id = 1", (seen + amount,))
        txn.write("account 1", seen + amount)
        txn.__exit__(None, None, None)
    assert balance(setup) == 120
    isolation.assert_holds("snapshot-isolation")
"""

WRITE_SKEW = """
import os

import psycopg
import pytest
from psycopg.rows import scalar_row

URL = os.environ["ISOSCOPE_TEST_POSTGRES"]


def balance(client, account):
    query = "SELECT balance FROM isoscope_python_bank WHERE id = %s"
    return client.cursor(row_factory=scalar_row).execute(query, (account,)).fetchone()


@pytest.mark.isolation("serializable")
def test_two_withdrawals(isolation):
    with psycopg.connect(URL, autocommit=True) as setup:
        setup.execute("DROP TABLE IF EXISTS isoscope_python_bank")
        setup.execute("CREATE TABLE isoscope_python_bank (id int PRIMARY KEY, balance int)")
        setup.execute("INSERT INTO isoscope_python_bank VALUES (1, 100), (2, 100)")
    isolation.initial({1: 100, 2: 100})
    clients = [psycopg.connect(URL) for _ in range(2)]
    transactions = []
    for name, client in zip(("ann", "bob"), clients):
        client.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        txn = isolation.session(name).transaction(
            commit=client.commit, rollback=client.rollback, aborted_by=psycopg.errors.SerializationFailure
        )
        txn.__enter__()
        assert sum(txn.read(account, balance(client, account)) for account in (1, 2)) >= 150
        transactions.append(txn)
    for account, client, txn in zip((1, 2), clients, transactions):
        client.execute("UPDATE isoscope_python_bank SET balance = -50 WHERE id = %s", (account,))
        txn.write(account, -50)
        txn.__exit__(None, None, None)
        client.close()
    with psycopg.connect(URL, autocommit=True) as setup:
        setup.execute("DROP TABLE isoscope_python_bank")
"""


def test_a_lost_update_on_sqlite_fails_the_test_in_sentences(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LOST_UPDATE)
    result = pytester.runpytest_subprocess("--isolation-reports", "reports")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*snapshot-isolation is violated: lost update on key*account 1*",
            "*ann*read*account 1*100*wrote*110*",
            "*bob*read*account 1*100*wrote*120*",
            "report:*report.html",
        ]
    )
    (page,) = pathlib.Path(pytester.path, "reports").rglob("report.html")
    assert "lost update" in page.read_text()
    assert (page.parent / "history.jsonl").exists()


@pytest.mark.skipif("ISOSCOPE_TEST_POSTGRES" not in os.environ, reason="ISOSCOPE_TEST_POSTGRES names no server")
def test_a_write_skew_on_postgresql_fails_the_test_in_sentences(pytester: pytest.Pytester) -> None:
    pytest.importorskip("psycopg")
    pytester.makepyfile(WRITE_SKEW)
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*serializable is violated: write skew on keys 1, 2*",
            "*ann*read 2 = 100*wrote 1 = -50*",
            "*bob*read 1 = 100*wrote 2 = -50*",
        ]
    )


RECORDS = """
import pytest


def test_records(isolation):
    isolation.default_value(0)
    for name, read, written in (("a", "y", "x"), ("b", "x", "y")):
        with isolation.session(name).transaction() as txn:
            txn.read(read, 0)
            txn.write(written, 1)
"""


def test_the_level_of_the_command_line_is_asserted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(RECORDS)
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    pytester.runpytest_subprocess("--isolation", "snapshot-isolation").assert_outcomes(passed=1)
    failing = pytester.runpytest_subprocess("--isolation", "serializable")
    failing.assert_outcomes(passed=1, errors=1)
    failing.stdout.fnmatch_lines(["*serializable is violated: write skew on keys x, y*"])


def test_a_test_that_fails_by_itself_says_so(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(RECORDS + "    assert False, 'by itself'\n")
    failing = pytester.runpytest_subprocess("--isolation", "serializable")
    failing.assert_outcomes(failed=1)
    failing.stdout.fnmatch_lines(["*by itself*"])
