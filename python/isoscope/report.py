"""Answers about a history: verdicts, certificates, explanations and witnesses."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from isoscope import _isoscope
from isoscope._isoscope import Explanation, WitnessEdge
from isoscope.certificates import Certificate
from isoscope.histories import History
from isoscope.units import Duration, optional_nanoseconds

WIDTH = 100
"""Explanations as text have lines of at most this many characters, where words allow it."""


class Witness:
    """The part of a history that shows a violation, as few transactions and operations as possible."""

    def __init__(self, inner: _isoscope.Witness) -> None:
        self._inner = inner
        self.level: str = inner.level
        self.anomaly: str = inner.anomaly
        self.adya_class: str | None = inner.adya_class
        self.meaning: str = inner.meaning
        """What the pattern means for an application."""
        self.headline: str = inner.headline
        self.transactions: list[str] = inner.transactions
        self.participants: list[str] = inner.participants
        """What each transaction saw and did."""
        self.edges: list[WitnessEdge] = inner.edges
        """The steps from one transaction to the next."""
        self.is_minimal: bool = inner.is_minimal
        """Whether nothing can be left out; not so if a limit was reached first."""
        self.notation: str | None = inner.notation

    @property
    def sentences(self) -> list[str]:
        """Why the level is violated."""
        return [text for _, text in self._inner.lines]

    @property
    def history(self) -> History:
        """The witness as a history of its own, which violates the level."""
        return History(self._inner.history)

    def svg(self) -> str:
        """The picture as the content of an SVG file."""
        return self._inner.svg()

    def dot(self) -> str:
        """The graph for Graphviz."""
        return self._inner.dot()

    def text(self) -> str:
        """The violation in sentences."""
        head = [f"{self.level} is violated: {self.headline}", self.meaning]
        parts = [_wrap(line, "") for line in head] + [""] + [_wrap(line, "  ") for line in self.participants] + [""]
        number = 0
        for depth, line in self._inner.lines:
            number += depth == 0
            parts.append(_wrap(line if depth else f"{number}. {line}", "  " + "   " * depth))
        if not self.is_minimal:
            parts += ["", "A limit was reached before the witness was as small as possible."]
        return "\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """What `isoscope explain --json` prints of a witness."""
        names = ("source", "target", "kind", "key", "reason")
        edges = [{name: getattr(edge, name) for name in names} for edge in self.edges]
        for edge in edges:
            edge["from"], edge["to"] = edge.pop("source"), edge.pop("target")
        return {
            "level": self.level,
            "anomaly": self.anomaly,
            "class": self.adya_class,
            "meaning": self.meaning,
            "headline": self.headline,
            "transactions": self.transactions,
            "participants": self.participants,
            "sentences": self.sentences,
            "edges": edges,
            "is_minimal": self.is_minimal,
            "notation": self.notation,
        }

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text())}</pre>{self.svg()}"

    def __repr__(self) -> str:
        return f"<Witness of {self.level}: {self.headline}>"


def _wrap(text: str, indent: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent + "   ", break_long_words=False)


class Answer:
    """The answer for one level. It is no truth value, since it may be undecided: compare its verdict."""

    def __init__(self, inner: _isoscope.Answer, history: History) -> None:
        self._inner = inner
        self._history = history
        self.level: str = inner.level
        self.verdict: str = inner.verdict
        """``holds``, ``violated`` or ``undecided``."""
        self.anomaly: str | None = inner.anomaly
        """The name of the pattern that violates the level."""
        self.follows_from: str | None = inner.follows_from
        """The level from whose answer this one follows."""
        self.time_ms: float = inner.time_ms

    @property
    def reason(self) -> str | None:
        """One line that says why the verdict is what it is."""
        return self._inner.reason

    @property
    def explanation(self) -> Explanation | None:
        """Why the level is violated."""
        return self._inner.explanation

    @property
    def clock_skew(self) -> str | dict[str, dict[str, int]] | None:
        """How the verdict depends on clocks, as in the JSON of the command; `None` where it does not."""
        if not self._inner.has_skew:
            return None
        if (thresholds := self._inner.skew_thresholds) is None:
            return "any_skew"
        return {"threshold": dict(zip(("violated_up_to", "holds_from"), thresholds, strict=True))}

    @cached_property
    def certificate(self) -> Certificate | None:
        """The proof of the verdict; `None` if it is undecided or follows from another answer."""
        found = self._inner.certificate
        return found and Certificate(found.level, found.verdict, bytes(found))

    def witness(self, time_limit: Duration | None = None) -> Witness | None:
        """The part of the history that shows the violation, as small as possible; it is looked for once.

        `None` for an answer that is no violation. If `time_limit` is reached first, the witness is larger than it
        could be, and `Witness.is_minimal` is false.
        """
        found = self._inner.find_witness(optional_nanoseconds(time_limit))
        return found and Witness(found)

    def explain(self, format: str = "text", *, time_limit: Duration | None = None) -> str:
        """Why the verdict is what it is: as ``text``, or a violation as ``svg`` or ``html``."""
        if format not in ("text", "svg", "html"):
            raise ValueError(f"the format is {format!r}, expected 'text', 'svg' or 'html'")
        witness = self.witness(time_limit)
        if format == "html":
            return _isoscope.page(self._history._inner, [self._inner], [witness._inner] if witness else [])
        if witness is not None:
            return witness.text() if format == "text" else witness.svg()
        if format == "svg":
            raise ValueError(f"{self.level} {self.verdict}: there is no violation to draw")
        return f"{self.level}: {self.verdict}" + (f" ({self.reason})" if self.reason else "")

    def to_dict(self) -> dict[str, Any]:
        """What `isoscope check --json` prints of a verdict."""
        told = self.explanation
        found = {
            "level": self.level,
            "verdict": self.verdict,
            "time_ms": self.time_ms,
            "anomaly": self.anomaly,
            "transactions": told.transactions if told else [],
            "reason": self.reason,
            "headline": told.headline if told else None,
            "participants": told.participants if told else [],
            "sentences": told.sentences if told else [],
        }
        optional = {"clock_skew": self.clock_skew, "follows_from": self.follows_from}
        return found | {name: value for name, value in optional.items() if value is not None}

    def __bool__(self) -> bool:
        raise TypeError("an answer is no truth value, since it may be undecided: compare its verdict")

    def __repr__(self) -> str:
        return f"<Answer {self.level}: {self.verdict}{', ' + self.anomaly if self.anomaly else ''}>"

    def _repr_html_(self) -> str:
        witness = self.witness()
        return witness._repr_html_() if witness else f"<pre>{html.escape(self.explain())}</pre>"


class Report(Mapping[str, Answer]):
    """The answers about one history, by the names of levels."""

    def __init__(self, history: History, answers: list[_isoscope.Answer], not_asked: list[tuple[str, str]]) -> None:
        self.history = history
        self.answers = [Answer(answer, history) for answer in answers]
        """In the order in which the levels were named, or strongest first."""
        self.not_asked = dict(not_asked)
        """Levels that the history cannot be asked for, each with the reason."""

    def __getitem__(self, name: str) -> Answer:
        """The answer for a level, by its name or alias."""
        for answer in self.answers:
            if answer.level == name:
                return answer
        try:
            wanted = _isoscope.level(name).name
        except _isoscope.LevelError:
            wanted = name
        for answer in self.answers:
            if answer.level == wanted:
                return answer
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (answer.level for answer in self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def __bool__(self) -> bool:
        raise TypeError("a report is no truth value: compare the verdicts of its answers")

    def violated(self) -> list[Answer]:
        """The violated levels."""
        return [answer for answer in self.answers if answer.verdict == "violated"]

    def weakest_violated(self) -> list[Answer]:
        """The violated levels that imply no other violated level, each once if several have the same reason."""
        violated = [(answer, _shipped(answer.level)) for answer in self.violated()]
        kept: list[Answer] = []
        reasons: set[str] = set()
        for answer, level in violated:
            implied = [other for other, weaker in violated if other is not answer and _implies(level, weaker)]
            reason = str(answer.explanation)
            if not implied and reason not in reasons:
                kept.append(answer)
                reasons.add(reason)
        return kept

    def witnesses(self, time_limit: Duration | None = None) -> list[Witness]:
        """What shows the violations: a witness for each of the weakest violated levels."""
        found = [answer.witness(time_limit) for answer in self.weakest_violated()]
        return [witness for witness in found if witness is not None]

    def text(self) -> str:
        """The verdicts, and the violations in sentences."""
        lines = [f"{answer.level}: {answer.verdict}" for answer in self.answers]
        lines += [f"{level}: not asked ({reason})" for level, reason in self.not_asked.items()]
        return "\n".join(lines + [f"\n{witness.text()}" for witness in self.witnesses()])

    def html(self, time_limit: Duration | None = None) -> str:
        """The report as the content of one HTML file, which loads nothing."""
        witnesses = [witness._inner for witness in self.witnesses(time_limit)]
        return _isoscope.page(self.history._inner, [answer._inner for answer in self.answers], witnesses)

    def to_dict(self) -> dict[str, Any]:
        """What `isoscope check --json` prints."""
        history = self.history
        about = {"file": history.name, "format": history.format} | history.counts | {"warnings": history.warnings}
        found: dict[str, Any] = {"history": about, "verdicts": [answer.to_dict() for answer in self.answers]}
        if self.not_asked:
            found["not_asked"] = [{"level": level, "reason": why} for level, why in self.not_asked.items()]
        return found

    def _repr_html_(self) -> str:
        frame = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{frame}" style="width: 100%; height: 40em; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"<Report {self.history.name}: {', '.join(f'{one.level} {one.verdict}' for one in self.answers)}>"


def _shipped(name: str) -> _isoscope.Level | None:
    try:
        return _isoscope.level(name)
    except _isoscope.LevelError:
        return None


def _implies(stronger: _isoscope.Level | None, weaker: _isoscope.Level | None) -> bool:
    return stronger is not None and weaker is not None and stronger.implies(weaker)
