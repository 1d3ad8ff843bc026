"""Which statements of SQL the wrappers of connections understand: those on one table that name rows by primary key.

The text is cut into words; nothing is rewritten. A statement that is not of one of the forms below is not understood,
which `isoscope.dbapi` treats as it must: a read is left out, a write makes its table unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

WORD = re.compile(
    r"""\s+|--[^\n]*|/\*.*?\*/"""
    r"""|(?P<text>'(?:[^']|'')*')"""
    r"""|(?P<number>\d+(?:\.\d+)?)"""
    r"""|(?P<mark>\?\d*|%s|%\((?P<format>\w+)\)s|:(?P<colon>[a-zA-Z_]\w*)|\$\d+)"""
    r"""|(?P<name>[a-zA-Z_]\w*|"[^"]+"|`[^`]+`)"""
    r"""|(?P<sign>::|<>|<=|>=|!=|[^\s\w])""",
    re.DOTALL,
)

CHANGING = {"insert", "update", "delete", "merge", "replace", "truncate", "copy", "drop", "alter", "create", "call", "do"}
"""First words of statements that may change tables."""


@dataclass
class Word:
    """A word of a statement: its kind, its text in lower case, and its value if it is a constant or a parameter."""

    kind: str
    text: str
    value: Any = None

    @property
    def is_value(self) -> bool:
        """Whether the word stands for one value."""
        return self.kind in ("text", "number", "mark")


@dataclass
class Statement:
    """A statement on one table."""

    kind: str
    """``select``, ``insert``, ``update`` or ``delete``."""
    table: str
    primary_key: str
    columns: list[str] = field(default_factory=list)
    """The columns that an update sets."""
    key_word: Word | None = None
    """The primary key of the row, if the statement is about one row."""
    is_understood: bool = False
    _names: list[str] = field(default_factory=list)
    _has_rows: bool = False

    @property
    def is_write(self) -> bool:
        """Whether the statement changes its table."""
        return self.kind != "select"

    @property
    def key(self) -> Any:
        """The primary key of the row."""
        assert self.key_word is not None
        return self.key_word.value

    def start(self, names: Sequence[str]) -> None:
        """The database answered a select with these columns."""
        self._names = list(names)
        self._has_rows = False

    def cells(self, rows: Sequence[Any], is_last: bool) -> Iterator[tuple[Any, str, tuple[Any] | None]]:
        """What a select read: the primary key, the column, and the value, or nothing for a row that is not there."""
        for row in rows:
            self._has_rows = True
            found = dict(zip(self._names, row, strict=True)) if not isinstance(row, Mapping) else row
            if self.primary_key in found:
                key = found[self.primary_key]
            elif self.key_word is not None:
                key = self.key
            else:
                return
            for name in self.columns:
                if name in found:
                    yield key, name, (found[name],)
        if is_last and not self._has_rows and self.key_word is not None:
            self._has_rows = True
            for name in self.columns:
                yield self.key, name, None


def words_of(sql: str, parameters: Any) -> list[Word]:
    """The words of a statement, with the values of parameters."""
    words: list[Word] = []
    place = count = 0
    while place < len(sql):
        match = WORD.match(sql, place)
        assert match is not None  # Every character is of one of the kinds.
        place = match.end()
        kind, text = match.lastgroup, match.group()
        if kind is None:
            continue
        if kind in ("format", "colon", "mark"):
            name = match.group("format") or match.group("colon")
            words.append(Word("mark", text, _parameter(parameters, name, text, count)))
            count += name is None
        elif kind == "text":
            words.append(Word(kind, text, text[1:-1].replace("''", "'")))
        elif kind == "number":
            words.append(Word(kind, text, float(text) if "." in text else int(text)))
        elif kind == "name":
            words.append(Word(kind, text.strip('"`').lower()))
        else:
            words.append(Word("sign", text))
    return words


def _parameter(parameters: Any, name: str | None, text: str, count: int) -> Any:
    """The value of a parameter; a statement with too few of them is refused by the database, not here."""
    try:
        if name is not None:
            return parameters[name]
        digits = text.lstrip("?$%s")
        return parameters[int(digits) - 1 if digits else count]
    except (IndexError, KeyError, TypeError):
        return None


def first_word(sql: str) -> str:
    """The first word, in lower case."""
    words = words_of(sql, ())
    return words[0].text if words else ""


def parse(sql: str, parameters: Any, tables: Mapping[str, str], columns: Mapping[str, list[str]]) -> list[Statement]:
    """What a statement does to the recorded tables: at most one statement that is understood, or one that is not
    understood for each table that it may change."""
    words = _unqualified(words_of(sql, parameters), tables)
    while words and words[-1].text == ";":
        words.pop()
    if not words:
        return []
    mentioned = [name for name in tables if any(word.kind == "name" and word.text == name for word in words)]
    kind = words[0].text
    if kind == "select" and not any(word.text in CHANGING - {"update"} for word in words):
        found = _select(words, tables, columns)
        return [found] if found is not None else []
    if len(mentioned) == 1 and kind in ("insert", "update", "delete"):
        table = mentioned[0]
        parts = {"insert": _insert, "update": _update, "delete": _delete}[kind](words, table, tables[table], columns[table])
        if parts is not None:
            return [parts]
    is_changing = any(word.text in CHANGING for word in words)
    return [Statement(kind, table, tables[table]) for table in mentioned] if is_changing else []


def _unqualified(words: list[Word], tables: Mapping[str, str]) -> list[Word]:
    """The words without the names of tables before the names of columns, as in ``accounts.id``."""
    kept: list[Word] = []
    for place, word in enumerate(words):
        is_dot = word.text == "." and kept and kept[-1].text in tables and place + 1 < len(words)
        if is_dot:
            kept.pop()
        else:
            kept.append(word)
    return kept


def _texts(words: Sequence[Word]) -> list[str]:
    return [word.text for word in words]


def _select(words: list[Word], tables: Mapping[str, str], columns: Mapping[str, list[str]]) -> Statement | None:
    """``SELECT a, b FROM t``, with any condition if the primary key is among the columns or is what is asked for."""
    texts = _texts(words)
    if "from" not in texts or texts.count("select") > 1 or "union" in texts:
        return None
    place = texts.index("from")
    if place + 1 >= len(words) or texts[place + 1] not in tables:
        return None
    table = texts[place + 1]
    rest = words[place + 2 :]
    if rest and rest[0].text not in ("where", "order", "for", "limit"):
        return None
    names = _names(words[1:place], columns[table])
    if names is None:
        return None
    key_word = _key_condition(_before(rest, ("for", "order", "limit")), tables[table])
    if key_word is None and tables[table] not in names:
        return None
    return Statement("select", table, tables[table], names, key_word, True)


def _names(words: list[Word], columns: list[str]) -> list[str] | None:
    """The columns of a list of plain names."""
    texts = _texts(words)
    if texts == ["*"]:
        return list(columns)
    names, commas = texts[::2], texts[1::2]
    is_plain = all(name in columns for name in names) and set(commas) <= {","} and len(names) == len(commas) + 1
    return names if is_plain else None


def _before(words: list[Word], ends: Sequence[str]) -> list[Word]:
    for place, word in enumerate(words):
        if word.text in ends:
            return words[:place]
    return words


def _key_condition(words: list[Word], key: str) -> Word | None:
    """The value of ``WHERE key = value``."""
    is_form = len(words) == 4 and _texts(words)[:3] == ["where", key, "="] and words[3].is_value
    return words[3] if is_form else None


def _insert(words: list[Word], table: str, key: str, columns: list[str]) -> Statement | None:
    """``INSERT INTO t (a, b) VALUES (1, 2)``, one row, with its primary key."""
    texts = _texts(words)
    if texts[:3] != ["insert", "into", table] or texts.count("values") != 1:
        return None
    place = texts.index("values")
    names = _names(words[4 : place - 1], columns) if texts[3] == "(" and texts[place - 1] == ")" else list(columns)
    if names is None or (texts[3] != "(" and place != 3) or key not in names:
        return None
    row = words[place + 1 :]
    is_row = len(row) == 2 * len(names) + 1 and row[0].text == "(" and row[-1].text == ")"
    cells = row[1:-1:2] if is_row else []
    if not is_row or any(comma.text != "," for comma in row[2:-1:2]) or not cells[names.index(key)].is_value:
        return None
    return Statement("insert", table, key, list(columns), cells[names.index(key)], True)


def _update(words: list[Word], table: str, key: str, columns: list[str]) -> Statement | None:
    """``UPDATE t SET a = ..., b = ... WHERE key = 1``; the primary key stays."""
    texts = _texts(words)
    if texts[:3] != ["update", table, "set"] or texts.count("where") != 1 or "select" in texts or "returning" in texts:
        return None
    place = texts.index("where")
    key_word = _key_condition(words[place:], key)
    names = _assigned(words[3:place])
    if key_word is None or names is None or key in names or not set(names) <= set(columns):
        return None
    return Statement("update", table, key, names, key_word, True)


def _assigned(words: list[Word]) -> list[str] | None:
    """The columns on the left of assignments; commas inside parentheses belong to expressions."""
    names: list[str] = []
    depth, is_start = 0, True
    for place, word in enumerate(words):
        if is_start:
            if word.kind != "name" or place + 1 >= len(words) or words[place + 1].text != "=":
                return None
            names.append(word.text)
        depth += {"(": 1, ")": -1}.get(word.text, 0)
        is_start = word.text == "," and depth == 0
    return names


def _delete(words: list[Word], table: str, key: str, columns: list[str]) -> Statement | None:
    """``DELETE FROM t WHERE key = 1``."""
    if _texts(words)[:3] != ["delete", "from", table]:
        return None
    key_word = _key_condition(words[3:], key)
    return key_word and Statement("delete", table, key, list(columns), key_word, True)
