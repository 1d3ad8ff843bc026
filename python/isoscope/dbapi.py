"""Records what a program does with a DB-API connection anyway.

    recording = dbapi.Recording("run.jsonl", connection, {"accounts": "id"})
    connection = recording.wrap(psycopg.connect(...), session="a")

Each column of each row of the named tables is a key: ``["accounts", 1, "balance"]``. The wrapper understands statements
on one table: ``SELECT`` of columns, and ``INSERT``, ``UPDATE`` and ``DELETE`` of one row by its primary key. After a
write it reads the row back in the same transaction, so that the history holds values as the database gives them, and
expressions such as ``balance - 10`` are recorded with their result.

A read that the wrapper does not understand (a join, a sum) is left out, which is always sound. A write that it does not
understand makes the whole table unknown: nothing of that table is in the history, and `Recording.left_out` says why.
Tables that triggers or cascading foreign keys change must not be recorded, since no statement tells of these changes.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from isoscope.histories import History, Path, from_rows
from isoscope.recorder import Recorder, Session
from isoscope.sql import Statement, first_word, parse
from isoscope.values import Keyword

NULL = Keyword("null")
"""A column of a row that is there and holds NULL; `None` is a row that is not there."""


class Recording:
    """A recording of several connections to one database."""

    def __init__(
        self,
        path: Path,
        connection: Any,
        tables: Mapping[str, str],
        *,
        aborted_by: Callable[[BaseException], bool] | None = None,
    ) -> None:
        """Reads the tables, each with the name of its primary key, as the initial state.

        Nothing else may write to the tables from now on. `aborted_by` says of an exception of ``commit`` whether it
        certainly aborted the transaction; without it that is told from the SQLSTATE (class 40) and from SQLite's
        words for a busy database.
        """
        self.tables = {name.lower(): key.lower() for name, key in tables.items()}
        self.columns: dict[str, list[str]] = {}
        self.left_out: dict[str, str] = {}
        """Tables that are not in the history, each with the statement that was not understood."""
        self.aborted_by = aborted_by or is_certain_abort
        self._lock = threading.Lock()
        self._recorder = Recorder(path)
        self._initial = [pair for name in self.tables for pair in self._rows(connection, name)]
        self._recorder.initial(self._initial)
        connection.rollback()

    def _rows(self, connection: Any, table: str) -> list[tuple[Any, Any]]:
        cursor = connection.cursor()
        cursor.execute(f"SELECT * FROM {table}")
        names = [column[0].lower() for column in cursor.description]
        self.columns[table] = names
        place = names.index(self.tables[table])
        rows = [(row[place], name, value) for row in cursor.fetchall() for name, value in zip(names, row, strict=True)]
        cursor.close()
        return [(key_of(table, row, name), stored(value)) for row, name, value in rows]

    def wrap(self, connection: Any, session: Any = None) -> Connection:
        """A connection that records what is done with it; one session for each connection."""
        return Connection(connection, self, self._recorder.session(session))

    def leave_out(self, table: str, statement: str) -> None:
        """A write to the table was not understood, so what readers see of the table cannot be told."""
        with self._lock:
            self.left_out.setdefault(table, statement)

    def close(self) -> None:
        """Ends the recording."""
        self._recorder.close()

    def history(self) -> History:
        """Ends the recording and gives the history, without the tables that were left out."""
        history = self._recorder.history()
        return self._without(history) if self.left_out else history

    def _without(self, history: History) -> History:
        """The history without the operations on the tables that were left out; transactions stay, if empty."""
        columns = history.operations()
        names = list(columns)
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        for row in rows:
            if row["key"] is not None and row["key"][0] in self.left_out:
                row["op"] = row["key"] = row["value"] = None
        return from_rows(rows, initial=[pair for pair in self._initial if pair[0][0] not in self.left_out])


def key_of(table: str, row: Any, column: str) -> list[Any]:
    """The key of a column of a row."""
    return [table, row, column]


def stored(value: Any) -> Any:
    """A value of a row that is there."""
    return NULL if value is None else value


def is_certain_abort(error: BaseException) -> bool:
    """Whether an exception says that the database has rolled back: SQLSTATE class 40, or SQLite's busy database."""
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    if isinstance(state, str):
        return state.startswith("40")
    name = getattr(error, "sqlite_errorname", None)
    return isinstance(name, str) and name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


class Connection:
    """A connection whose transactions are recorded."""

    def __init__(self, inner: Any, recording: Recording, session: Session) -> None:
        self._inner = inner
        self._recording = recording
        self._session = session._inner
        self._has_failed = False
        """Whether a statement of the transaction failed: some databases then roll back although asked to commit."""
        self._written: dict[str, str] = {}
        """The tables that the transaction wrote to, each with a statement."""
        self._number = 0
        """The number of the transaction, by which rows that are fetched too late are told."""

    def cursor(self, *args: Any, **kwargs: Any) -> Cursor:
        """A cursor that records."""
        return Cursor(self._inner.cursor(*args, **kwargs), self)

    def execute(self, sql: str, parameters: Any = (), **kwargs: Any) -> Cursor:
        """Executes a statement on a new cursor, as several drivers allow."""
        return self.cursor().execute(sql, parameters, **kwargs)

    def commit(self) -> None:
        """Commits, and records what became of the transaction."""
        self._commit(self._inner.commit)

    def rollback(self) -> None:
        """Rolls back, and records the transaction as aborted."""
        self._roll_back(self._inner.rollback)

    def close(self) -> None:
        """Closes the connection, which aborts an open transaction."""
        self._end_autocommitted()
        self._roll_back(self._inner.close)

    def _commit(self, action: Callable[[], Any]) -> None:
        self._end_autocommitted()
        if not self._session.is_open():
            action()
            return
        self._session.ending()
        try:
            action()
        except BaseException as error:
            self._commit_failed(error)
            raise
        is_uncertain = self._has_failed and not hasattr(self._inner, "in_transaction")
        self._session.unknown() if is_uncertain else self._session.commit()

    def _commit_failed(self, error: BaseException) -> None:
        """A transaction that SQLite keeps open after a commit on a busy database may be committed later."""
        if not self._recording.aborted_by(error):
            self._session.unknown()
        elif not getattr(self._inner, "in_transaction", False):
            self._session.abort()

    def _roll_back(self, action: Callable[[], Any]) -> None:
        """A commit was never sent, so the transaction is aborted even if the rollback fails."""
        self._end_autocommitted()
        is_open = self._session.is_open()
        if is_open:
            self._session.ending()
        try:
            action()
        finally:
            if is_open:
                self._session.abort()

    def _begin(self) -> None:
        """A statement is about to be sent."""
        self._end_autocommitted()
        if not self._session.is_open():
            self._has_failed = False
            self._written = {}
            self._number += 1
            self._session.begin(None)
            self._session.begun()

    def _end_autocommitted(self) -> None:
        """A statement outside of a transaction was one by itself, and committed when the database had answered."""
        if self._session.is_open() and _is_idle(self._inner):
            self._session.abort() if self._has_failed else self._session.commit()

    def _undo(self) -> None:
        """A part of the transaction was rolled back: which of its writes stay cannot be told."""
        for table, statement in self._written.items():
            self._recording.leave_out(table, statement)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Commits or rolls back; drivers differ in whether they close the connection too, and here it stays open."""
        self.rollback() if error is not None else self.commit()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Cursor:
    """A cursor whose statements are recorded."""

    def __init__(self, inner: Any, connection: Connection) -> None:
        self._inner = inner
        self._connection = connection
        self._recording = connection._recording
        self._reading: Statement | None = None
        self._number = 0

    def execute(self, sql: str, parameters: Any = (), **kwargs: Any) -> Cursor:
        """Executes a statement, and records it once the database has answered."""
        given = (parameters,) if parameters else ()
        connection = self._connection

        def action() -> Any:
            return self._inner.execute(sql, *given, **kwargs)

        self._reading = None
        match first_word(sql):
            case "commit" | "end":
                connection._commit(action)
            case "rollback" if " to " not in sql.lower():
                connection._roll_back(action)
            case "rollback":
                connection._undo()
                action()
            case _:
                connection._begin()
                self._run(sql, parameters, action)
        return self

    def executemany(self, sql: str, parameters: Any) -> Cursor:
        """Executes a statement once for each set of parameters."""
        for one in parameters:
            self.execute(sql, one)
        return self

    def _run(self, sql: str, parameters: Any, action: Callable[[], Any]) -> None:
        recording = self._recording
        statements = parse(sql, parameters, recording.tables, recording.columns)
        for statement in statements:
            if statement.is_write:
                self._connection._written[statement.table] = sql
            if not statement.is_understood:
                recording.leave_out(statement.table, sql)
        try:
            action()
        except BaseException:
            # The write may have happened if the answer never came; then so did the end of the transaction.
            self._connection._has_failed = True
            raise
        understood = next((one for one in statements if one.is_understood), None)
        if understood is None:
            return
        if understood.is_write:
            self._read_back(understood, sql)
        else:
            understood.start([column[0].lower() for column in self._inner.description])
            self._reading, self._number = understood, self._connection._number

    def _read_back(self, statement: Statement, sql: str) -> None:
        """Records the columns that a write changed with the values that the database holds now."""
        if self._inner.rowcount == 0:
            return
        table, session = statement.table, self._connection._session
        assert statement.key_word is not None
        if self._inner.rowcount != 1 or _is_idle(self._connection._inner):
            # A write outside of a transaction has committed, and the row may hold the next one already.
            self._recording.leave_out(table, sql)
            return
        if statement.kind == "delete":
            for name in statement.columns:
                session.delete(key_of(table, statement.key, name))
            return
        cursor = self._connection._inner.cursor()
        mark = statement.key_word.text if statement.key_word.kind == "mark" else None
        question = f"SELECT {statement.primary_key}, {', '.join(statement.columns)} FROM {table}"
        condition = f" WHERE {statement.primary_key} = {mark or statement.key_word.text}"
        cursor.execute(question + condition, *([_only(mark, statement.key)] if mark else []))
        (row,) = cursor.fetchall()
        cursor.close()
        cells = list(row.values()) if isinstance(row, Mapping) else list(row)
        for name, value in zip(statement.columns, cells[1:], strict=True):
            session.write(key_of(table, cells[0], name), stored(value))

    def fetchone(self) -> Any:
        """The next row, recorded as read."""
        row = self._inner.fetchone()
        self._read([] if row is None else [row], is_last=row is None)
        return row

    def fetchmany(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Some rows, recorded as read."""
        rows = self._inner.fetchmany(*args, **kwargs)
        self._read(rows, is_last=not rows)
        return rows

    def fetchall(self) -> list[Any]:
        """All rows that are left, recorded as read."""
        rows = self._inner.fetchall()
        self._read(rows, is_last=True)
        return rows

    def __iter__(self) -> Iterator[Any]:
        while (row := self.fetchone()) is not None:
            yield row

    def _read(self, rows: list[Any], *, is_last: bool) -> None:
        """Records the columns of rows; a row that was asked for by its key and is not there is absent.

        Rows that are fetched after the end of their transaction belong to none that could still be recorded.
        """
        statement, session = self._reading, self._connection._session
        is_late = self._number != self._connection._number or not session.is_open()
        if statement is None or is_late:
            return
        for key, name, value in statement.cells(rows, is_last):
            session.read(key_of(statement.table, key, name), None if value is None else stored(value[0]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __enter__(self) -> Cursor:
        return self

    def __exit__(self, *_: object) -> None:
        self._inner.close()


def _is_idle(connection: Any) -> bool:
    """Whether a connection is known to be outside of a transaction."""
    if (is_inside := getattr(connection, "in_transaction", None)) is not None:  # sqlite3
        return not is_inside
    if (info := getattr(connection, "info", None)) is not None and hasattr(info, "transaction_status"):  # psycopg
        return int(info.transaction_status) == 0
    return bool(getattr(connection, "autocommit", False))


def _only(mark: str, value: Any) -> Any:
    """The parameters of a question with one mark, which may have a name or a number."""
    if named := re.fullmatch(r"%\((\w+)\)s|:(\w+)", mark):
        return {named[1] or named[2]: value}
    digits = mark.lstrip("?$%s")
    return [value] * (int(digits) if digits else 1)
