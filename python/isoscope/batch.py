"""Many histories: one function for a file, and one for all of them on any `map`.

A history that cannot be read or reaches its limit is a row of the answers, never the end of the run.
Answers are lines of JSON in the form of ``isoscope batch``, so either goes on where the other stopped.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from isoscope import _isoscope
from isoscope.checking import check
from isoscope.histories import Path, read_bytes
from isoscope.levels import Levels, resolved
from isoscope.levels import levels as all_levels
from isoscope.units import Duration, Size

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = dict[str, Any]
"""What `Report.to_dict` gives, or ``{"history": {"file": ...}, "error": ...}``."""

Mapper = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Like the builtin `map`: ``executor.map``, or the map of a cluster."""

BATCH_BYTES = 10 << 20
"""Files are put together to tasks of about this size; a larger file is a task of its own."""

FILE_BYTES = 64 << 10
"""What a file counts for at least, so that a task has at most 160 files."""


SESSION_LOG = re.compile(r"[TJ][0-9].*\.log(\.gz|\.zst)?")
"""The name of a session's log as Cobra and Viper write it; a folder with such logs is one history."""


def histories_below(folder: Path) -> list[str]:
    """The histories that a folder holds, by name, as ``isoscope batch FOLDER`` finds them.

    A folder with the logs of sessions (``T12.log``) is one history; hidden files are left out.
    """
    entries = sorted(pathlib.Path(folder).iterdir())
    if any(SESSION_LOG.fullmatch(entry.name) for entry in entries):
        return [os.fspath(folder)]
    found: list[str] = []
    for entry in entries:
        if not entry.name.startswith("."):
            found += histories_below(entry) if entry.is_dir() else [os.fspath(entry)]
    return found


def check_file(path: Path, levels: Levels | None = None, **limits: Any) -> Row:
    """Checks one file and gives the verdicts as plain data; what goes wrong with the file is data too.

    Takes the keyword arguments of `check`.
    """
    return _row(os.fspath(path), lambda: check(path, levels, **limits))


def check_bytes(data: bytes, levels: Levels | None = None, *, name: str = "bytes", **limits: Any) -> Row:
    """The same for the content of a file, where workers do not see the files."""
    return _row(name, lambda: check(read_bytes(data, name=name), levels, **limits))


def _row(name: str, ask: Callable[[], Any]) -> Row:
    try:
        return ask().to_dict()
    except (_isoscope.Error, OSError) as failed:
        return {"history": {"file": name}, "error": str(failed)}


def check_files(
    paths: Iterable[Path],
    levels: Levels | None = None,
    *,
    map: Mapper = map,
    output: Path | None = None,
    time_limit: Duration | None = None,
    memory_limit: Size | None = None,
    clock_skew: Duration | None = None,
    batch_bytes: int = BATCH_BYTES,
) -> Answers:
    """Checks many files by any `map`; iterate over the result for the answers as they come.

    With `output`, each answer is appended to this file as it comes, and files that already have an answer there are
    not checked again. Levels that are not names or files must be picklable where `map` leaves the process.
    """
    limits = {"time_limit": time_limit, "memory_limit": memory_limit, "clock_skew": clock_skew}
    known = Answers._read(output, levels) if output is not None else []
    answered = {row["history"]["file"] for row in known}
    left = [name for name in _names(paths) if name not in answered]
    task = partial(_check_batch, levels=levels, limits=limits)
    return Answers(known, map(task, batches(left, batch_bytes)), output)


def _names(paths: Iterable[Path]) -> list[str]:
    """The names of the files, each once."""
    return list(dict.fromkeys(os.fspath(path) for path in paths))


def _check_batch(names: list[str], levels: Levels | None, limits: dict[str, Any]) -> list[Row]:
    return [check_file(name, levels, **limits) for name in names]


def batches(names: Iterable[str], batch_bytes: int = BATCH_BYTES) -> Iterator[list[str]]:
    """Puts files together to tasks of about equal size."""
    batch: list[str] = []
    weight = 0
    for name in names:
        size = counted_bytes(name)
        if batch and weight + size > batch_bytes:
            yield batch
            batch, weight = [], 0
        batch.append(name)
        weight += size
    if batch:
        yield batch


def counted_bytes(name: str) -> int:
    """What a history counts for in a task."""
    path = pathlib.Path(name)
    try:
        files = path.rglob("*") if path.is_dir() else [path]
        return max(FILE_BYTES, sum(file.stat().st_size for file in files))
    except OSError:  # A file that is not there is an answer of its own.
        return FILE_BYTES


class Answers:
    """Answers about many histories, as they come: iterate once, and have all of them in `rows` and the tables."""

    def __init__(self, known: list[Row], coming: Iterable[list[Row]], output: Path | None) -> None:
        self._rows = list(known)
        self._coming = iter(coming)
        self._output = output

    def __iter__(self) -> Iterator[Row]:
        """The answers that are known already, then the others as they come."""
        place = 0
        while place < len(self._rows) or self._fetch():
            yield self._rows[place]
            place += 1

    def _fetch(self) -> bool:
        """Waits for the answers of one more task."""
        for batch in self._coming:
            if self._output is not None:
                self._append(batch)
            self._rows += batch
            if batch:
                return True
        return False

    def _append(self, batch: list[Row]) -> None:
        text = "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in batch)
        with open(self._output, "a", encoding="ascii") as out:  # type: ignore[arg-type]
            out.write(text)

    @staticmethod
    def _read(output: Path, levels: Levels | None) -> list[Row]:
        """The answers of a file; a last line that was cut off is removed, and its history checked again."""
        file = pathlib.Path(output)
        if not file.exists():
            return []
        text = file.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) != len(text):
            with open(file, "r+b") as cut:
                cut.truncate(len(whole))
        rows = [json.loads(line) for line in whole.splitlines()]
        expected = {level.name for level in resolved(levels) or all_levels()}
        for number, row in enumerate(rows, 1):
            if "error" not in row and _levels_of(row) != expected:
                raise ValueError(f"{file}: line {number} answers for other levels than those that are asked for now")
        return rows

    @property
    def rows(self) -> list[Row]:
        """All answers; waits for those that are still to come."""
        return list(self)

    def verdicts(self) -> dict[str, list[Any]]:
        """One table of all verdicts as columns: a row for each history and level, or for a history that failed."""
        names = ("file", "level", "verdict", "anomaly", "reason", "time_ms", "transactions", "error")
        table: dict[str, list[Any]] = {name: [] for name in names}
        for row in self:
            for entry in _verdict_rows(row):
                for name in names:
                    table[name].append(entry.get(name))
        return table

    def to_arrow(self) -> pyarrow.Table:
        """The table of all verdicts for pyarrow."""
        import pyarrow

        text, columns = pyarrow.string(), self.verdicts()
        kinds = {"time_ms": pyarrow.float64(), "transactions": pyarrow.int64()}
        return pyarrow.table({name: pyarrow.array(column, kinds.get(name, text)) for name, column in columns.items()})

    def to_pandas(self) -> pandas.DataFrame:
        """The table of all verdicts for pandas."""
        import pandas

        return pandas.DataFrame(self.verdicts())


def _levels_of(row: Row) -> set[str]:
    return {answer["level"] for answer in row["verdicts"] + row.get("not_asked", [])}


def _verdict_rows(row: Row) -> list[dict[str, Any]]:
    about = {"file": row["history"]["file"], "transactions": row["history"].get("transactions")}
    if "error" in row:
        return [about | {"error": row["error"]}]
    names = ("level", "verdict", "anomaly", "reason", "time_ms")
    return [about | {name: verdict.get(name) for name in names} for verdict in row["verdicts"]]
