"""Histories from and to tables, one row an operation: Arrow, pandas, Polars, or any mapping of columns.

A column crosses to the extension module as a buffer of 64-bit integers, which for columns of integers is the buffer of
the table itself. Other columns are encoded as dictionaries first, by the library that owns them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from isoscope import _isoscope
from isoscope.histories import COLUMNS, OPTIONAL_COLUMNS, History

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Column = tuple[Any, list[Any] | None]
"""A buffer of 64-bit integers; with names, they are places of names, and -1 is nothing."""

Initial = Mapping[Any, Any] | Iterable[tuple[Any, Any]]


def from_columns(
    columns: Mapping[str, Sequence[Any]],
    *,
    default: Any = None,
    initial: Initial = (),
    name: str = "columns",
) -> History:
    """Builds a history from columns of Python objects: `session`, `txn`, `op`, `key`, `value`, and optional ones."""
    _refuse_unknown(columns.keys())
    return _build({name: _of_sequence(columns[name]) for name in columns}, default, initial, name)


def from_arrow(table: pyarrow.Table, *, default: Any = None, initial: Initial = ()) -> History:
    """Builds a history from a table of pyarrow, or from anything with the Arrow interface (``__arrow_c_stream__``)."""
    import pyarrow

    table = table if isinstance(table, pyarrow.Table) else pyarrow.table(table)
    _refuse_unknown(table.column_names)
    columns = {name: _of_arrow(table.column(name)) for name in table.column_names}
    return _build(columns, default, initial, "Arrow table")


def from_polars(frame: polars.DataFrame, *, default: Any = None, initial: Initial = ()) -> History:
    """Builds a history from a data frame of Polars."""
    return from_arrow(frame.to_arrow(), default=default, initial=initial)


def from_pandas(frame: pandas.DataFrame, *, default: Any = None, initial: Initial = ()) -> History:
    """Builds a history from a data frame of pandas."""
    _refuse_unknown(frame.columns)
    columns = {name: _of_pandas(frame[name]) for name in frame.columns}
    return _build(columns, default, initial, "data frame")


def _build(columns: dict[str, Column], default: Any, initial: Initial, name: str) -> History:
    pairs = list(initial.items() if isinstance(initial, Mapping) else initial)
    return History(_isoscope.from_columns(columns, default, pairs, name))


def _refuse_unknown(names: Iterable[str]) -> None:
    """A column that is not understood may hold what changes the meaning of the others."""
    known = COLUMNS + OPTIONAL_COLUMNS
    if unknown := [str(name) for name in names if name not in known]:
        raise ValueError(f"unknown columns {', '.join(unknown)}; expected {', '.join(known)}")


def _of_sequence(column: Sequence[Any]) -> Column:
    if all(type(entry) is int and -(2**63) <= entry < 2**63 for entry in column):
        return array("q", column), None
    codes, names = array("q"), []
    places: dict[Any, int] = {}
    for entry in column:
        codes.append(-1 if entry is None else _place(entry, places, names))
    return codes, names


def _place(entry: Any, places: dict[Any, int], names: list[Any]) -> int:
    """The place of a name; `1`, `1.0` and `True` are different names, and an unhashable entry has its own place."""
    try:
        place = places.setdefault((type(entry), entry), len(names))
    except TypeError:
        place = len(names)
    if place == len(names):
        names.append(entry)
    return place


def _of_arrow(column: pyarrow.ChunkedArray) -> Column:
    import pyarrow

    kind = pyarrow.types
    whole = column.combine_chunks()
    if isinstance(whole, pyarrow.ChunkedArray):  # An empty column, or one too large for one array.
        whole = pyarrow.concat_arrays(whole.chunks) if whole.num_chunks else pyarrow.array([], whole.type)
    if kind.is_integer(whole.type) and not kind.is_uint64(whole.type) and not whole.null_count:
        return _arrow_buffer(whole.cast(pyarrow.int64())), None
    if kind.is_nested(whole.type) or kind.is_null(whole.type):
        return _of_sequence(whole.to_pylist())
    coded = whole if kind.is_dictionary(whole.type) else whole.dictionary_encode()
    codes = coded.indices.cast(pyarrow.int64()).fill_null(-1)
    return _arrow_buffer(codes), coded.dictionary.to_pylist()


def _arrow_buffer(whole: pyarrow.Array) -> Any:
    """The integers of an array, where they are."""
    if not len(whole):
        return array("q")
    buffer = whole.buffers()[1]
    return memoryview(buffer).cast("B")[whole.offset * 8 : (whole.offset + len(whole)) * 8].cast("q")


def _of_pandas(column: pandas.Series) -> Column:
    import pandas

    if pandas.api.types.is_integer_dtype(column.dtype) and not column.hasnans and column.dtype != "uint64":
        return column.to_numpy(dtype="int64"), None
    if pandas.api.types.is_float_dtype(column.dtype):
        return _of_sequence(_without_points([_plain(entry) for entry in column]))
    if column.dtype == object:
        return _of_sequence([_plain(entry) for entry in column])
    codes, names = pandas.factorize(column)
    return codes.astype("int64"), list(names)


def _without_points(column: list[float | None]) -> list[Any]:
    """pandas makes floats of integers where an entry is missing; a column without fractions is one of integers."""
    if all(entry is None or float(entry).is_integer() for entry in column):
        return [None if entry is None else int(entry) for entry in column]
    return column


def _plain(entry: Any) -> Any:
    """An entry of a column of objects: what pandas calls missing is nothing."""
    import pandas

    is_missing = entry is None or entry is pandas.NA or entry is pandas.NaT or entry != entry
    return None if is_missing is True else entry


def to_lists(inner: _isoscope.History) -> dict[str, list[Any]]:
    """The columns of a history as lists."""
    return {name: _to_list(*column) for name, column in _isoscope.to_columns(inner).items()}


def _to_list(buffer: bytes, names: list[Any] | None) -> list[Any]:
    codes = memoryview(buffer).cast("q")
    return list(codes) if names is None else [None if code < 0 else names[code] for code in codes]


def to_arrow(inner: _isoscope.History) -> pyarrow.Table:
    """The columns of a history as a table; texts are dictionaries over the buffer of the extension module."""
    import pyarrow

    columns = _isoscope.to_columns(inner)
    return pyarrow.table({name: _to_arrow(*column) for name, column in columns.items()})


def _to_arrow(buffer: bytes, names: list[Any] | None) -> pyarrow.Array:
    import pyarrow
    import pyarrow.compute

    codes = pyarrow.Array.from_buffers(pyarrow.int64(), len(buffer) // 8, [None, pyarrow.py_buffer(buffer)])
    if names is None:
        return codes
    places = pyarrow.compute.if_else(pyarrow.compute.greater_equal(codes, 0), codes, None)
    try:
        known = pyarrow.array(names)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as mixed:
        raise _isoscope.WriteError(f"Arrow cannot hold a column of these values: {mixed}") from mixed
    if pyarrow.types.is_string(known.type):
        return pyarrow.DictionaryArray.from_arrays(places, known)
    return known.take(places)


def to_pandas(inner: _isoscope.History) -> pandas.DataFrame:
    """The columns of a history as a data frame."""
    import pandas

    columns = _isoscope.to_columns(inner)
    return pandas.DataFrame({name: _to_pandas(*column) for name, column in columns.items()})


def _to_pandas(buffer: bytes, names: list[Any] | None) -> Any:
    import numpy
    import pandas

    codes = numpy.frombuffer(buffer, dtype="int64")
    if names is None:
        return codes
    if all(type(name) is str for name in names):
        return pandas.Categorical.from_codes(codes, categories=pandas.Index(names, dtype=object))
    if all(type(name) is bool for name in names) and (codes >= 0).all():
        return numpy.array(names, dtype=bool)[codes]
    entries = _to_list(buffer, names)
    if all(type(name) is int for name in names):
        return pandas.array(entries, dtype="Int64")
    return pandas.Series(entries, dtype=object)
