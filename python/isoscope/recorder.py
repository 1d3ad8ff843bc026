"""Records what clients of a database see, as it happens.

    with isoscope.Recorder("run.jsonl", default=0) as recorder:
        session = recorder.session("a")
        with session.transaction(begin=db.begin, commit=db.commit, rollback=db.rollback) as txn:
            txn.read("x", db.get("x"))
            db.put("x", 1)
            txn.write("x", 1)

Times are taken before each question to the database and after its answer. A transaction that ends by an exception is
aborted only if that is certain; any other is unknown, and isoscope then considers both outcomes. Nothing is repeated.
A recorder may be used by many threads and tasks at a time; a session runs one transaction after the other.
"""

from __future__ import annotations

import inspect
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from isoscope import _isoscope
from isoscope.histories import History, Path, read

Action = Callable[[], Any]
"""A call to the database; in ``async with`` its result is awaited."""

Exceptions = tuple[type[BaseException], ...] | type[BaseException]


class Recorder:
    """A recording in the making: a file in the native format."""

    def __init__(
        self,
        path: Path,
        *,
        default: Any = None,
        initial: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (),
    ) -> None:
        """Begins a recording; a file of this name is emptied, unless another recording is being written to it.

        `default` is the value with which every key starts that `initial` does not name; `None` is absent.
        """
        self.path = os.fspath(path)
        self._file = _isoscope.RecordingFile(self.path)
        self._lock = threading.Lock()
        self._sessions: dict[Any, Session] = {}
        if default is not None:
            self._file.default_value(default)
        self.initial(initial)

    def initial(self, pairs: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """Tells the values with which keys start."""
        if given := list(pairs.items() if isinstance(pairs, Mapping) else pairs):
            self._file.initial(given)

    def note(self, note: Any) -> None:
        """Adds something for people, such as the name of the workload; readers pass over it."""
        self._file.note(note)

    def session(self, name: Any = None) -> Session:
        """The client of this name, the same one each time; without a name a new client."""
        with self._lock:
            if name is not None and name in self._sessions:
                return self._sessions[name]
            session = Session(self._file.session(name))
            self._sessions[name if name is not None else object()] = session
            return session

    @property
    def counts(self) -> dict[str, int]:
        """How many transactions have ended so far."""
        return dict(zip(("committed", "aborted", "unknown"), self._file.counts(), strict=True))

    def close(self) -> None:
        """Ends the recording; transactions that are still open are recorded as unknown."""
        with self._lock:
            sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            session._give_up()
        self._file.close()

    def history(self) -> History:
        """Ends the recording and reads it."""
        self.close()
        return read(self.path, "native")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session:
    """One client of a database, which runs one transaction after the other."""

    def __init__(self, inner: _isoscope.RecordedSession) -> None:
        self._inner = inner

    def transaction(
        self,
        name: Any = None,
        *,
        begin: Action | None = None,
        commit: Action | None = None,
        rollback: Action | None = None,
        aborted_by: Exceptions = (),
    ) -> Transaction:
        """A transaction, for ``with`` or ``async with``.

        `begin`, `commit` and `rollback` ask the database; the recorder calls them itself, to take the times.
        Exceptions of `aborted_by` say that the database has certainly aborted the transaction.
        """
        return Transaction(self._inner, name, begin, commit, rollback, aborted_by)

    def _give_up(self) -> None:
        if self._inner.is_open():
            self._inner.unknown()


class Transaction:
    """A transaction in the making: tell it each operation after the database has answered."""

    def __init__(
        self,
        inner: _isoscope.RecordedSession,
        name: Any,
        begin: Action | None,
        commit: Action | None,
        rollback: Action | None,
        aborted_by: Exceptions,
    ) -> None:
        self._inner = inner
        self._name = name
        self._begin = begin
        self._commit = commit
        self._rollback = rollback
        self._aborted_by = aborted_by
        self._has_ended = False

    def read(self, key: Any, value: Any) -> Any:
        """The transaction read this value; `None` if the key was absent. Gives the value back."""
        self._inner.read(key, value)
        return value

    def read_unknown(self, key: Any) -> None:
        """The transaction asked for a key and never got the answer."""
        self._inner.read_unknown(key)

    def read_list(self, key: Any, elements: Iterable[Any]) -> None:
        """The transaction read a list, oldest element first."""
        self._inner.read_list(key, list(elements))

    def write(self, key: Any, value: Any) -> None:
        """The transaction wrote a key; also if the answer to the write never came."""
        self._inner.write(key, value)

    def append(self, key: Any, value: Any) -> None:
        """The transaction appended an element to a list."""
        self._inner.append(key, value)

    def insert(self, key: Any, value: Any) -> None:
        """The transaction inserted a key that did not exist."""
        self._inner.insert(key, value)

    def delete(self, key: Any) -> None:
        """The transaction deleted a key."""
        self._inner.delete(key)

    def read_range(self, first: Any, last: Any, rows: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """The transaction read all keys from `first` to `last`, both included; `None` is no bound."""
        self._inner.read_range(first, last, _pairs(rows))

    def read_where(self, predicate: Any, rows: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        """The transaction read all rows that satisfy a predicate, such as ``"v > 3"``."""
        self._inner.read_predicate(predicate, _pairs(rows))

    def write_where(self, predicate: Any, value: Any, row_count: int | None = None) -> None:
        """The transaction set all rows that satisfy a predicate; `row_count` is the number the database gave."""
        self._inner.write_predicate(predicate, value, row_count)

    def delete_where(self, predicate: Any, row_count: int | None = None) -> None:
        """The transaction deleted all rows that satisfy a predicate."""
        self._inner.delete_predicate(predicate, row_count)

    def committed(self) -> None:
        """The database said that the transaction committed, for programs that commit by themselves."""
        self._end(self._inner.commit)

    def aborted(self) -> None:
        """The transaction certainly took no effect, for programs that roll back by themselves."""
        self._end(self._inner.abort)

    def unknown(self) -> None:
        """The transaction may have committed or not."""
        self._end(self._inner.unknown)

    def _end(self, end: Action) -> None:
        end()
        self._has_ended = True

    def __enter__(self) -> Self:
        self._inner.begin(self._name)
        with _Ending(self, self._aborted_by):
            if self._begin is not None:
                self._begin()
        self._inner.begun()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_ended:
            return
        self._inner.ending()
        if error is not None:
            self._leave_by(error, self._rollback)
            return
        with _Ending(self, self._aborted_by, may_have_committed=True):
            if self._commit is not None:
                self._commit()
        self.committed()

    def _leave_by(self, error: BaseException, rollback: Action | None) -> None:
        """Records a transaction whose block raised.

        If the recorder was given `commit`, the commit was never sent. Otherwise the exception may be that of a commit
        inside the block, and only `aborted_by` makes the outcome certain.
        """
        is_certain = self._commit is not None or isinstance(error, self._aborted_by)
        try:
            if rollback is not None:
                rollback()
        finally:
            self.aborted() if is_certain else self.unknown()

    async def __aenter__(self) -> Self:
        self._inner.begin(self._name)
        with _Ending(self, self._aborted_by):
            await _awaited(self._begin)
        self._inner.begun()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._has_ended:
            return
        self._inner.ending()
        if error is not None:
            try:
                await _awaited(self._rollback)
            finally:
                self._leave_by(error, None)
            return
        with _Ending(self, self._aborted_by, may_have_committed=True):
            await _awaited(self._commit)
        self.committed()


class _Ending:
    """A call to the database that begins or commits a transaction: its exception ends the transaction."""

    def __init__(self, transaction: Transaction, aborted_by: Exceptions, *, may_have_committed: bool = False) -> None:
        self._transaction = transaction
        self._aborted_by = aborted_by
        self._may_have_committed = may_have_committed

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if self._may_have_committed and not isinstance(error, self._aborted_by):
            self._transaction.unknown()
        else:
            self._transaction.aborted()


async def _awaited(action: Action | None) -> None:
    if action is not None and inspect.isawaitable(result := action()):
        await result


def _pairs(rows: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return list(rows.items() if isinstance(rows, Mapping) else rows)
