"""Histories: read from files, parsed, built from rows, written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from isoscope import _isoscope
from isoscope.units import Duration, Size, optional_bytes, optional_nanoseconds

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Path = str | os.PathLike[str]

COLUMNS = ("session", "txn", "op", "key", "value")
"""The columns that every table of operations has."""

OPTIONAL_COLUMNS = (
    "outcome",
    "begin_request",
    "begin_response",
    "commit_request",
    "commit_response",
    "version",
    "failed",
)
"""The columns that a table of operations may have."""


class History:
    """What clients of a database observed: sessions of transactions of operations. It never changes."""

    __slots__ = ("_inner",)

    def __init__(self, inner: _isoscope.History) -> None:
        """Use `read`, `parse`, `from_rows` or one of the other functions that make histories."""
        self._inner = inner

    @property
    def name(self) -> str:
        """The name of the file, or a description of another source."""
        return self._inner.name

    @property
    def format(self) -> str | None:
        """The format that the history was read from; `None` if it was not read."""
        return self._inner.format

    @property
    def warnings(self) -> list[str]:
        """Notes of the reader, each with its stable name in brackets."""
        return self._inner.warnings

    @property
    def clock(self) -> str:
        """What the times count: ``nanoseconds`` of clients, or ``position`` in one recording."""
        return self._inner.clock

    @property
    def has_times(self) -> bool:
        """Whether any transaction has times."""
        return self._inner.has_times

    @property
    def counts(self) -> dict[str, int]:
        """How many sessions, transactions (committed, aborted, unknown), operations and keys there are."""
        return dict(self._inner.counts)

    def write(self, path: Path, format: str | None = None, *, lossy: bool = False) -> list[str]:
        """Writes the history whole or not at all, and gives the writer's warnings.

        Without `format` the ending of the name tells it: ``.jsonl``, ``.edn`` or ``.bincode``, with ``.gz`` or ``.zst``.
        `lossy` leaves out what the format cannot express, instead of raising `WriteError`.
        """
        return self._inner.write(os.fspath(path), format, lossy)

    def to_bytes(self, format: str = "native", *, lossy: bool = False) -> bytes:
        """The history as the content of a file."""
        return self._inner.to_bytes(format, lossy)

    def operations(self) -> dict[str, list[Any]]:
        """The history as columns of plain Python objects, one row an operation."""
        from isoscope import tables

        return tables.to_lists(self._inner)

    def to_arrow(self) -> pyarrow.Table:
        """The history as a table of pyarrow, one row an operation."""
        from isoscope import tables

        return tables.to_arrow(self._inner)

    def to_pandas(self) -> pandas.DataFrame:
        """The history as a data frame of pandas, one row an operation."""
        from isoscope import tables

        return tables.to_pandas(self._inner)

    def to_polars(self) -> polars.DataFrame:
        """The history as a data frame of Polars, one row an operation."""
        import polars

        return polars.DataFrame(self.to_arrow())

    def __len__(self) -> int:
        """The number of transactions."""
        return len(self._inner)

    def __str__(self) -> str:
        """The history in the notation, where the notation can express it."""
        return self.to_bytes("notation", lossy=True).decode()

    def __repr__(self) -> str:
        counts = self.counts
        return f"<History {self.name}: {counts['sessions']} sessions, {counts['transactions']} transactions>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Histories travel to other processes in the native format."""
        return _unpickle, (self.to_bytes(), self.name)


def _unpickle(data: bytes, name: str) -> History:
    return read_bytes(data, name=name, format="native")


def read(
    path: Path,
    format: str | None = None,
    *,
    initial_transaction: bool = False,
    time_limit: Duration | None = None,
    memory_limit: Size | None = None,
) -> History:
    """Reads a file or a folder; without `format` the content tells it, and gzip and zstd are decompressed.

    `initial_transaction` takes a transaction that only writes and stands alone or first as the initial state.
    Raises `ReadError` with the place if the input is not a history.
    """
    limits = optional_nanoseconds(time_limit), optional_bytes(memory_limit)
    return History(_isoscope.read(os.fspath(path), format, initial_transaction, *limits))


def read_bytes(
    data: bytes,
    *,
    name: str = "bytes",
    format: str | None = None,
    initial_transaction: bool = False,
    memory_limit: Size | None = None,
) -> History:
    """Reads the content of a file."""
    limit = optional_bytes(memory_limit)
    return History(_isoscope.read_bytes(bytes(data), name, format, initial_transaction, limit))


def parse(text: str) -> History:
    """Reads a history in the notation, such as ``a: r(x)=0 w(x)=1``."""
    return read_bytes(text.encode(), name="notation", format="notation")


def formats() -> list[tuple[str, str, bool]]:
    """The formats: name, description, and whether isoscope writes it too."""
    return _isoscope.formats_known()


def from_rows(
    rows: Iterable[Mapping[str, Any] | tuple[Any, ...]],
    *,
    default: Any = None,
    initial: Mapping[Any, Any] | Iterable[tuple[Any, Any]] = (),
) -> History:
    """Builds a history from operations: tuples ``(session, txn, op, key, value)``, or mappings with these names.

    Mappings may also have `outcome`, the four times, `version` and `failed`.
    `default` is the value with which every key starts that `initial` does not name; `None` is absent.
    """
    from isoscope import tables

    names = COLUMNS + OPTIONAL_COLUMNS
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for row in rows:
        given = row if isinstance(row, Mapping) else dict(zip(COLUMNS, row, strict=True))
        if unknown := given.keys() - columns.keys():
            raise ValueError(f"a row has {', '.join(sorted(unknown))}, expected {', '.join(names)}")
        for name, column in columns.items():
            column.append(given.get(name))
    used = {name: column for name, column in columns.items() if name in COLUMNS or any(column)}
    return tables.from_columns(used, default=default, initial=initial, name="rows")
