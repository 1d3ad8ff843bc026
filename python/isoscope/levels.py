"""Isolation levels: those that isoscope ships, levels of your own, and questions about levels themselves."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable
from dataclasses import dataclass

from isoscope import _isoscope
from isoscope._isoscope import Level
from isoscope.histories import History, Path
from isoscope.units import Duration, optional_nanoseconds

Levels = str | Level | Iterable[str | Level]
"""A level, by its name or alias, as a file ``FILE.iso``, or as a `Level`; or several."""


def levels() -> list[Level]:
    """All levels that isoscope ships, strongest first."""
    return _isoscope.levels()


def level(name: str) -> Level:
    """The level of a name or alias; raises `LevelError` if there is none."""
    return _isoscope.level(name)


def parse_levels(text: str, name: str = "text") -> list[Level]:
    """The levels that a text in the language of levels defines."""
    return _isoscope.parse_levels(text, name, lambda _included: None)


def read_levels(path: Path) -> list[Level]:
    """The levels that a file defines; files that it includes are looked for beside it."""
    file = pathlib.Path(path)

    def included(name: str) -> str | None:
        beside = file.parent / name
        return beside.read_text(encoding="utf-8") if beside.is_file() else None

    return _isoscope.parse_levels(file.read_text(encoding="utf-8"), os.fspath(file), included)


def resolved(asked: Levels | None) -> list[Level]:
    """The levels of an argument; `None` gives no levels, which means all."""
    if asked is None:
        return []
    if isinstance(asked, str | Level):
        asked = [asked]
    found: list[Level] = []
    for one in asked:
        found += [one] if isinstance(one, Level) else _named(one)
    if not found:
        raise _isoscope.LevelError("no level is asked for; None asks for all")
    return found


def _named(name: str) -> list[Level]:
    path, colon, wanted = name.rpartition(":")
    if colon and path.endswith(".iso"):
        found = [one for one in read_levels(path) if wanted in (one.name, *one.aliases)]
        if not found:
            raise _isoscope.LevelError(f"{path} defines no level {wanted!r}")
        return found
    return read_levels(name) if name.endswith(".iso") else [level(name)]


@dataclass(frozen=True)
class Separation:
    """A history that some levels allow and others forbid."""

    history: History
    allowed: dict[str, list[str]]
    """For each level that allows the history, an order of the transactions that explains it."""
    forbidden: dict[str, list[str]]
    """For each level that forbids the history, the reasons."""
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Comparison:
    """What one level allows that another forbids, and the other way round, within a scope."""

    first: str
    second: str
    relation: str
    """The first level is ``stronger``, ``weaker``, ``equivalent`` or ``incomparable``."""
    only_first_allows: History | None
    only_second_allows: History | None


def synth(
    allow: Levels,
    forbid: Levels,
    *,
    txns: int | None = None,
    max_txns: int = 5,
    objects: int = 3,
    values: int | None = None,
    blind_writes: bool = True,
    time_limit: Duration | None = None,
) -> Separation | None:
    """The smallest history that `allow` allows and `forbid` forbids; `None` if there is none within the scope."""
    sides = resolved(allow), resolved(forbid)
    _check_scope(txns or max_txns, objects)
    scope = txns, max_txns, objects, values, blind_writes
    found = _isoscope.synthesize(*sides, *scope, optional_nanoseconds(time_limit))
    if found is None:
        return None
    return Separation(History(found.history), dict(found.allowed), dict(found.forbidden), str(found))


def compare(
    first: str | Level,
    second: str | Level,
    *,
    max_txns: int = 5,
    objects: int = 3,
    time_limit: Duration | None = None,
) -> Comparison:
    """Compares two levels by the histories that they allow, within a scope."""
    (one,), (other,) = resolved(first), resolved(second)
    _check_scope(max_txns, objects)
    limit = optional_nanoseconds(time_limit)
    relation, *only = _isoscope.compare_levels(one, other, max_txns, objects, limit)
    return Comparison(one.name, other.name, relation, *(found and History(found) for found in only))


def _check_scope(txns: int, objects: int) -> None:
    """The bounds of the command."""
    if not (1 <= txns <= 32 and 1 <= objects <= 16):
        raise ValueError(f"a scope has 1 to 32 transactions and 1 to 16 objects, not {txns} and {objects}")
