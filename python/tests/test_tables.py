"""Histories from and to tables."""

from __future__ import annotations

import datetime
import decimal
import uuid

import pytest
from conftest import COUNTEREXAMPLES

import isoscope

ROWS = [
    ("a", 1, "read", "x", 0),
    ("a", 1, "write", "x", 1),
    ("b", 2, "read", "x", 0),
    ("b", 2, "write", "x", 2),
    ("b", 3, "read", "y", None),
    ("b", 3, "delete", "x", None),
]


def columns_of(rows: list[tuple]) -> dict[str, list]:
    return {name: list(column) for name, column in zip(isoscope.histories.COLUMNS, zip(*rows, strict=True), strict=True)}


def test_rows_make_the_history_that_they_say() -> None:
    history = isoscope.from_rows(ROWS, default=0, initial={"y": None})
    assert history.counts == {
        "sessions": 2,
        "transactions": 3,
        "committed": 3,
        "aborted": 0,
        "unknown": 0,
        "operations": 6,
        "keys": 2,
    }
    report = isoscope.check(history, ["serializable", "si"])
    assert report["si"].anomaly == "lost update"


def test_every_library_gives_the_same_history() -> None:
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    plain = isoscope.from_rows(ROWS, default=0, initial={"y": None}).to_bytes()
    given = {"default": 0, "initial": {"y": None}}
    table = pyarrow.table(columns_of(ROWS))
    assert isoscope.from_arrow(table, **given).to_bytes() == plain
    sliced = pyarrow.concat_tables([table.slice(0, 2), table.slice(2)])
    assert isoscope.from_arrow(sliced, **given).to_bytes() == plain
    assert isoscope.from_arrow(table.slice(2), **given).counts["transactions"] == 2
    # pandas makes floats of the column of values, which has a missing entry.
    assert isoscope.from_pandas(pandas.DataFrame(columns_of(ROWS)), **given).to_bytes() == plain
    polars = pytest.importorskip("polars")
    assert isoscope.from_polars(polars.DataFrame(columns_of(ROWS)), **given).to_bytes() == plain


def test_histories_come_back_from_tables() -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for path in sorted(COUNTEREXAMPLES.glob("*.txt")):
        history = isoscope.read(path)
        expected = isoscope.check(history).to_dict()["verdicts"]
        words = [(one["level"], one["verdict"], one["anomaly"]) for one in expected]
        for copy in (
            isoscope.from_columns(history.operations(), default=0),
            isoscope.from_arrow(history.to_arrow(), default=0),
            isoscope.from_pandas(history.to_pandas(), default=0),
        ):
            found = isoscope.check(copy).to_dict()["verdicts"]
            assert [(one["level"], one["verdict"], one["anomaly"]) for one in found] == words, path


def test_lists_times_outcomes_and_versions_come_back() -> None:
    rows = [
        {"session": 0, "txn": "t", "op": "append", "key": 1, "value": 5, "outcome": "unknown", "begin_request": 3},
        {"session": 1, "txn": "u", "op": "read", "key": 1, "value": [5], "outcome": "committed", "version": 7},
        {"session": 1, "txn": "v", "op": "write", "key": 2, "value": 9, "outcome": "aborted", "failed": True},
        {"session": 1, "txn": "w", "op": None, "key": None, "value": None},
    ]
    columns = isoscope.from_rows(rows).operations()
    assert columns["op"] == ["append", "read_list", "write", None]
    assert columns["value"] == [5, [5], 9, None]
    assert columns["outcome"] == ["unknown", "committed", "aborted", "committed"]
    assert columns["begin_request"] == [3, None, None, None]
    assert columns["version"] == [None, 7, None, None]
    assert columns["failed"] == [False, False, True, False]
    assert isoscope.from_columns(columns).operations() == columns


def test_values_of_many_types_come_back() -> None:
    values = [
        None,
        True,
        1,
        1.0,
        2**70,
        "1",
        b"\x00\xff",
        decimal.Decimal("1.5"),
        datetime.datetime(2026, 11, 17, tzinfo=datetime.UTC),
        datetime.date(2026, 11, 17),
        uuid.UUID(int=7),
        isoscope.Keyword("k"),
        isoscope.Symbol("s"),
        isoscope.Tagged("t", 1),
        [1, [2]],
        {"a": 1},
    ]
    rows = [(0, place, "w", place, value) for place, value in enumerate(values)]
    found = isoscope.from_rows(rows).operations()["value"]
    assert found == values and [type(value) for value in found] == [type(value) for value in values]
    written = isoscope.read_bytes(isoscope.from_rows(rows).to_bytes())
    assert written.operations()["value"] == values
    with pytest.raises(TypeError, match="cannot hold a object"):
        isoscope.from_rows([(0, 0, "w", 0, object())])


def test_equal_decimals_are_one_value() -> None:
    rows = [(0, 1, "w", "x", decimal.Decimal("1.50")), (1, 2, "r", "x", decimal.Decimal("1.5"))]
    assert isoscope.check(isoscope.from_rows(rows), "serializable")["serializable"].verdict == "holds"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 1, "w", "x", 1), (0, 2, "w", "x", 2), (0, 1, "w", "x", 3)], "goes on after another"),
        ([(0, 1, "peek", "x", 1)], "peek"),
        ([{"session": 0, "txn": 1, "op": "w", "key": "x", "value": 1, "outcome": "perhaps"}], "perhaps"),
        ([{"session": 0, "txn": 1, "op": "w", "key": "x", "value": 1, "colour": "red"}], "colour"),
    ],
)
def test_tables_that_say_nothing_sensible_are_refused(rows: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        isoscope.from_rows(rows)


def test_a_table_cannot_hold_predicates() -> None:
    text = b'{"isoscope":1}\n{"s":0,"ops":[["p","v > 3",[]]],"o":"c"}\n'
    with pytest.raises(isoscope.WriteError, match="ranges or predicates"):
        isoscope.read_bytes(text).operations()
