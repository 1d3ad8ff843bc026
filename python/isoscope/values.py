"""Keys and values that plain Python types cannot express, and other types in a form that histories can hold."""

from __future__ import annotations

import datetime
import decimal
import uuid
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Keyword:
    """A keyword of EDN, without its colon."""

    name: str


@dataclass(frozen=True)
class Symbol:
    """A bare symbol of EDN."""

    name: str


@dataclass(frozen=True)
class Tagged:
    """A tagged form, such as ``#inst "..."``."""

    tag: str
    value: Any


def form_of(value: Any) -> tuple[str, Any]:
    """The form in which a history holds a value: ``plain``, ``keyword``, ``symbol``, or ``#tag``, and the content.

    Values that Python calls equal get equal forms, so that a read of ``Decimal("1.0")`` has the writer of ``Decimal("1.00")``.
    """
    match value:
        case Keyword(name):
            return "keyword", name
        case Symbol(name):
            return "symbol", name
        case Tagged(tag, content):
            return f"#{tag}", content
        case bool() | int() | float() | str() | list() | tuple() | dict():
            return "plain", _of_base_type(value)
        case bytes() | bytearray() | memoryview():
            return "#bytes", bytes(value).hex()
        case decimal.Decimal():
            return "#decimal", str(value.normalize()) if value.is_finite() else str(value)
        case datetime.datetime():
            return "#datetime", _moment(value)
        case datetime.date() | datetime.time():
            return f"#{type(value).__name__}", value.isoformat()
        case datetime.timedelta():
            return "#timedelta", repr(value)
        case uuid.UUID():
            return "#uuid", str(value)
    return _of_other_type(value)


def tagged(tag: str, content: Any) -> Any:
    """The Python object of a tagged form, the inverse of `form_of`; a content that does not fit its tag stays `Tagged`."""
    try:
        return _untagged(tag, content)
    except (TypeError, ValueError, decimal.InvalidOperation):
        return Tagged(tag, content)


def _untagged(tag: str, content: Any) -> Any:
    match tag:
        case "bytes":
            return bytes.fromhex(content)
        case "decimal":
            return decimal.Decimal(content)
        case "uuid":
            return uuid.UUID(content)
        case "datetime":
            return datetime.datetime.fromisoformat(content)
        case "date":
            return datetime.date.fromisoformat(content)
        case "time":
            return datetime.time.fromisoformat(content)
    return Tagged(tag, content)


def _of_base_type(value: Any) -> Any:
    """An object of a subclass, such as an `IntEnum` or a named tuple, as the plain type it extends."""
    for base in (bool, int, float, str, list, tuple, dict):
        if isinstance(value, base):
            return base(value) if base is not str else str.__str__(value)
    raise AssertionError(type(value))


def _moment(value: datetime.datetime) -> str:
    """Two descriptions of one moment in different time zones have the same text."""
    return (value.astimezone(datetime.UTC) if value.tzinfo else value).isoformat()


def _of_other_type(value: Any) -> tuple[str, Any]:
    if callable(item := getattr(value, "item", None)):  # A scalar of numpy.
        return "plain", item()
    raise TypeError(
        f"a history cannot hold a {type(value).__qualname__}: expected None, bool, int, float, str, bytes, Decimal, "
        "datetime, UUID, or lists and dicts of these"
    )
