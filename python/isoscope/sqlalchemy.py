"""Records what a program does with an engine of SQLAlchemy anyway.

    recording = record(engine, "run.jsonl", {"accounts": "id"})
    ...
    isoscope.check(recording.history(), "serializable")

Every connection that the pool opens from now on is a session. `isoscope.dbapi` says which statements are understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Engine, event

from isoscope.dbapi import Recording
from isoscope.histories import Path


def record(engine: Engine, path: Path, tables: Mapping[str, str]) -> Recording:
    """Begins a recording of an engine; connections that the pool has already are closed when they are given back."""
    connection = engine.raw_connection()
    try:
        recording = Recording(path, connection.driver_connection, tables)
    finally:
        connection.close()
    engine.dispose(close=True)

    def connect(dialect: Any, record: Any, args: Any, params: Any) -> Any:
        return recording.wrap(dialect.connect(*args, **params))

    event.listen(engine, "do_connect", connect)
    return recording
