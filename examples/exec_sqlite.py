#!/usr/bin/env python3
"""The reference program of `exec:`: a database for isoscope in any language.

    isoscope run --db "exec:python3 examples/exec_sqlite.py /tmp/test.db"

It drives SQLite through Python's standard library.
To drive something else, keep `main` and `Session.ask` and replace the SQL; docs/exec.md describes the messages.
Each session of isoscope is a process of its own, so nothing here needs to know of threads.
"""

import json
import sqlite3
import sys

SETTINGS = {"deferred": "BEGIN DEFERRED", "immediate": "BEGIN IMMEDIATE", "exclusive": "BEGIN EXCLUSIVE"}
TYPES = {"int": "INTEGER", "text": "TEXT"}
COMPARISONS = {"=", "<>", "<", "<=", ">", ">="}
STATEMENTS = [
    "read", "write", "put", "add", "append", "insert", "delete", "range", "select", "update", "delete-where", "sql",
]


class Refused(Exception):
    """Something that this program cannot do."""


class Session:
    def __init__(self, path):
        # No transactions behind our back: isoscope says when one begins.
        self.database = sqlite3.connect(path, timeout=0.3, isolation_level=None)
        # Isolation does not depend on what reaches the disk, and speed does.
        self.database.execute("PRAGMA synchronous = OFF")
        self.tables = {}

    def ask(self, request):
        """One request to one answer."""
        handler = getattr(self, "on_" + request["op"].replace("-", "_"), None)
        if handler is None:
            raise Refused("no such request: " + request["op"])
        return handler(request)

    # --- sessions and tables

    def on_hello(self, _request):
        return {
            "product": "SQLite",
            "version": sqlite3.sqlite_version,
            "settings": list(SETTINGS),
            "default": "deferred",
            "statements": STATEMENTS,
        }

    def on_tables(self, request):
        self.tables.update({table["name"]: table for table in request["tables"]})
        return {"done": True}

    def on_prepare(self, request):
        self.on_tables(request)
        self.database.execute("BEGIN IMMEDIATE")
        for table in request["tables"]:
            columns = "".join(f', "{name}" {TYPES[kind]} NOT NULL' for name, kind in table["columns"])
            self.database.execute(f'DROP TABLE IF EXISTS "{table["name"]}"')
            self.database.execute(f'CREATE TABLE "{table["name"]}" (k {TYPES[table["key"]]} PRIMARY KEY{columns})')
            for key, values in table["rows"]:
                self.insert(table["name"], key, values)
        self.database.execute("COMMIT")
        return {"done": True}

    # --- transactions

    def on_begin(self, request):
        if request["setting"] not in SETTINGS:
            raise Refused("no such setting: " + request["setting"])
        self.database.execute(SETTINGS[request["setting"]])
        return {"done": True}

    def on_commit(self, _request):
        self.database.execute("COMMIT")
        return {"done": True}

    def on_abort(self, _request):
        self.roll_back()
        return {"done": True}

    def roll_back(self):
        if self.database.in_transaction:
            self.database.execute("ROLLBACK")

    # --- statements on one key

    def on_read(self, request):
        rows = self.rows(request["table"], "k = ?", [request["key"]])
        return {"row": rows[0][1] if rows else None}

    def on_write(self, request):
        text = f'UPDATE "{request["table"]}" SET "{request["column"]}" = ? WHERE k = ?'
        return self.count(text, [request["value"], request["key"]])

    def on_add(self, request):
        column = request["column"]
        text = f'UPDATE "{request["table"]}" SET "{column}" = "{column}" + ? WHERE k = ?'
        return self.count(text, [request["by"], request["key"]])

    def on_insert(self, request):
        self.insert(request["table"], request["key"], request["values"])
        return {"done": True}

    def on_put(self, request):
        changes = ", ".join(f'"{name}" = excluded."{name}"' for name, _ in self.columns(request["table"]))
        self.insert(request["table"], request["key"], request["values"], f"ON CONFLICT (k) DO UPDATE SET {changes}")
        return {"done": True}

    def on_append(self, request):
        columns = self.columns(request["table"])
        (name, _), table = columns[0], request["table"]
        values = [str(request["value"])] + ["" if kind == "text" else 0 for _, kind in columns[1:]]
        grown = f'CASE WHEN "{name}" = \'\' THEN excluded."{name}" ELSE "{name}" || \',\' || excluded."{name}" END'
        self.insert(table, request["key"], values, f'ON CONFLICT (k) DO UPDATE SET "{name}" = {grown}')
        return {"done": True}

    def on_delete(self, request):
        return self.count(f'DELETE FROM "{request["table"]}" WHERE k = ?', [request["key"]])

    # --- statements on many keys

    def on_range(self, request):
        conditions, values = ["1 = 1"], []
        for end, included, excluded in [("from", ">=", ">"), ("to", "<=", "<")]:
            if request[end] is not None:
                kind, key = request[end]
                conditions.append(f"k {included if kind == 'in' else excluded} ?")
                values.append(key)
        return {"rows": self.rows(request["table"], " AND ".join(conditions), values)}

    def on_select(self, request):
        values = []
        return {"rows": self.rows(request["table"], condition(request["where"], values), values)}

    def on_update(self, request):
        values = [value for _, value in request["set"]]
        changes = ", ".join(f'"{name}" = ?' for name, _ in request["set"])
        text = f'UPDATE "{request["table"]}" SET {changes} WHERE {condition(request["where"], values)}'
        return self.count(text, values)

    def on_delete_where(self, request):
        values = []
        return self.count(f'DELETE FROM "{request["table"]}" WHERE {condition(request["where"], values)}', values)

    def on_sql(self, request):
        cursor = self.database.execute(request["text"])
        if cursor.description is None:
            return {"count": max(cursor.rowcount, 0)}
        return {"rows": [[row[0], list(row[1:])] for row in cursor.fetchall()]}

    # --- helpers

    def columns(self, table):
        return self.tables[table]["columns"]

    def rows(self, table, where, values):
        names = "".join(f', "{name}"' for name, _ in self.columns(table))
        cursor = self.database.execute(f'SELECT k{names} FROM "{table}" WHERE {where} ORDER BY k', values)
        return [[row[0], list(row[1:])] for row in cursor.fetchall()]

    def insert(self, table, key, values, on_conflict=""):
        marks = ", ".join("?" for _ in [key, *values])
        self.database.execute(f'INSERT INTO "{table}" VALUES ({marks}) {on_conflict}', [key, *values])

    def count(self, text, values):
        return {"count": self.database.execute(text, values).rowcount}


def condition(where, values):
    """A condition as SQL; its constants are added to the values."""
    if where is True:
        return "1 = 1"
    operator, *arguments = where
    if operator in ("and", "or"):
        parts = [f"({condition(part, values)})" for part in arguments]
        return f" {operator.upper()} ".join(parts) or ("1 = 1" if operator == "and" else "1 = 0")
    if operator == "not":
        return f"NOT ({condition(arguments[0], values)})"
    subject = column(arguments[0], values)
    if operator == "between":
        values.extend(arguments[1:])
        return f"{subject} BETWEEN ? AND ?"
    if operator == "in":
        values.extend(arguments[1])
        return f"{subject} IN ({', '.join('?' for _ in arguments[1])})"
    if operator in COMPARISONS:
        values.append(arguments[1])
        return f"{subject} {operator} ?"
    raise Refused(f"no such condition: {operator}")


def column(subject, values):
    """A column, or the remainder of one."""
    if isinstance(subject, list):
        _, name, divisor = subject
        values.append(divisor)
        return f'"{name}" % ?'
    return f'"{subject}"'


def failure(error):
    """What an error means for the transaction: docs/exec.md has the four words."""
    text = str(error)
    if isinstance(error, sqlite3.IntegrityError):
        return {"failed": "aborted", "code": "constraint", "message": text}
    if isinstance(error, sqlite3.OperationalError) and ("locked" in text or "busy" in text):
        return {"failed": "aborted", "code": "busy", "message": text}
    return {"failed": "refused", "message": text}


def main():
    session = Session(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = session.ask(json.loads(line))
        except (sqlite3.Error, Refused, KeyError, ValueError) as error:
            answer = failure(error)
            # After a failure the transaction is over.
            session.roll_back()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
