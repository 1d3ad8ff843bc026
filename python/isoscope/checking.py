"""`check`: which isolation levels a history satisfies."""

from __future__ import annotations

from isoscope import _isoscope
from isoscope.histories import History, Path, read
from isoscope.levels import Levels, resolved
from isoscope.report import Report
from isoscope.units import Duration, Size, nanoseconds, optional_bytes, optional_nanoseconds


def check(
    history: History | Path,
    levels: Levels | None = None,
    *,
    time_limit: Duration | None = None,
    memory_limit: Size | None = None,
    clock_skew: Duration | None = None,
    threads: int = 1,
    seed: int = 0,
) -> Report:
    """Decides isolation levels of a history, or of the file of this name; without `levels` all of them.

    The engine runs without the interpreter's lock, so threads of Python check at the same time, and Ctrl-C ends it.
    A level that is not decided within `time_limit` or `memory_limit` (of the whole process) is undecided, never wrong.
    `clock_skew` says how far apart the clocks of two clients may be, `threads` how many threads decide a level.
    A violation is an answer, not an exception; `LevelError` says that the history cannot be asked for a level.
    """
    asked = resolved(levels)
    if not 1 <= threads <= 256:
        raise ValueError(f"threads is between 1 and 256, and this is {threads}")
    if not isinstance(history, History):
        history = read(history, time_limit=time_limit, memory_limit=memory_limit)
    limits = optional_nanoseconds(time_limit), optional_bytes(memory_limit)
    skew = 0 if clock_skew is None else nanoseconds(clock_skew)
    return Report(history, *_isoscope.check(history._inner, asked, *limits, skew, threads, seed))
