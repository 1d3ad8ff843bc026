"""Durations and sizes as people give them."""

from __future__ import annotations

import datetime

from isoscope import _isoscope

Duration = int | float | str | datetime.timedelta
"""Seconds as a number, a text such as ``"5ms"`` or ``"2m"``, or a `timedelta`."""

Size = int | str
"""Bytes as a number, or a text such as ``"4GiB"``."""


def nanoseconds(duration: Duration) -> int:
    """The whole nanoseconds of a duration."""
    match duration:
        case str():
            return _isoscope.parse_duration(duration)
        case datetime.timedelta():
            found = duration / datetime.timedelta(microseconds=1) * 1000
        case _:
            found = duration * 1_000_000_000
    if not 0 <= found < 2**63:
        raise ValueError(f"a duration is between 0 and 292 years, and this one is {duration!r}")
    return round(found)


def optional_nanoseconds(duration: Duration | None) -> int | None:
    """The whole nanoseconds of a duration, if there is one."""
    return None if duration is None else nanoseconds(duration)


def optional_bytes(size: Size | None) -> int | None:
    """The bytes of a size, if there is one."""
    return _isoscope.parse_size(size) if isinstance(size, str) else size
