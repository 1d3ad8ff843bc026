"""The recorder: outcomes, threads, tasks."""

from __future__ import annotations

import asyncio
import pathlib
import threading

import pytest

import isoscope


class Refused(Exception):
    """The database says that it aborted the transaction."""


class Lost(Exception):
    """The connection is gone."""


def raising(error: Exception):
    def action() -> None:
        raise error

    return action


def outcomes(recorder: isoscope.Recorder) -> list[str]:
    return recorder.history().operations()["outcome"]


@pytest.fixture
def recorder(tmp_path: pathlib.Path) -> isoscope.Recorder:
    return isoscope.Recorder(tmp_path / "run.jsonl", default=0)


def test_a_plain_transaction_is_committed_with_its_times(recorder: isoscope.Recorder) -> None:
    with recorder.session("a").transaction() as txn:
        assert txn.read("x", 0) == 0
        txn.write("x", 1)
    columns = recorder.history().operations()
    assert columns["session"] == ["a", "a"] and columns["outcome"] == ["committed"] * 2
    times = [columns[name][0] for name in ("begin_request", "begin_response", "commit_request", "commit_response")]
    assert times == sorted(times)


def test_the_name_of_a_session_is_one_session(recorder: isoscope.Recorder) -> None:
    for value in range(3):
        with recorder.session("a").transaction() as txn:
            txn.write("x", value)
    assert recorder.history().counts["sessions"] == 1


@pytest.mark.parametrize(
    ("actions", "in_block", "expected"),
    [
        ({"commit": raising(Refused()), "aborted_by": Refused}, None, "aborted"),
        ({"commit": raising(Lost()), "aborted_by": Refused}, None, "unknown"),
        ({"commit": raising(Lost())}, None, "unknown"),
        ({"commit": lambda: None, "rollback": lambda: None}, Lost(), "aborted"),
        ({"commit": lambda: None, "rollback": raising(Lost())}, Refused(), "aborted"),
        ({}, Lost(), "unknown"),
        ({"aborted_by": Refused}, Refused(), "aborted"),
        ({"rollback": lambda: None}, Lost(), "unknown"),
        ({"commit": lambda: None}, None, "committed"),
    ],
)
def test_exceptions_say_what_became_of_a_transaction(
    recorder: isoscope.Recorder, actions: dict, in_block: Exception | None, expected: str
) -> None:
    try:
        with recorder.session("a").transaction(**actions) as txn:
            txn.write("x", 1)
            if in_block is not None:
                raise in_block
    except (Lost, Refused):
        assert expected != "committed"
    assert outcomes(recorder) == [expected]

    async def in_task(recorder: isoscope.Recorder) -> None:
        async with recorder.session("a").transaction(**actions) as txn:
            txn.write("x", 1)
            if in_block is not None:
                raise in_block

    again = isoscope.Recorder(recorder.path + ".async")
    try:
        asyncio.run(in_task(again))
    except (Lost, Refused):
        assert expected != "committed"
    assert outcomes(again) == [expected]


def test_a_begin_that_fails_has_no_effect(recorder: isoscope.Recorder) -> None:
    with pytest.raises(Lost), recorder.session("a").transaction(begin=raising(Lost())):
        pass
    assert outcomes(recorder) == ["aborted"]


def test_what_is_still_open_at_the_end_is_unknown(recorder: isoscope.Recorder) -> None:
    recorder.session("a").transaction().__enter__().write("x", 1)
    assert outcomes(recorder) == ["unknown"]


def test_a_session_runs_one_transaction_at_a_time(recorder: isoscope.Recorder) -> None:
    session = recorder.session("a")
    with session.transaction(), pytest.raises(RuntimeError, match="sessions of their own"):
        session.transaction().__enter__()
    with pytest.raises(RuntimeError, match="no open transaction"):
        session.transaction().read("x", 0)
    recorder.close()
    with pytest.raises(RuntimeError, match="closed"):
        recorder.session("b")


def test_two_recordings_never_write_to_one_file(recorder: isoscope.Recorder) -> None:
    with pytest.raises(OSError, match="another recording"):
        isoscope.Recorder(recorder.path)


def test_threads_record_at_once(recorder: isoscope.Recorder) -> None:
    store: dict[str, int] = {"x": 0}
    lock = threading.Lock()

    def client(name: int) -> None:
        for number in range(50):
            with lock, recorder.session(name).transaction() as txn:
                txn.read("x", store["x"])
                store["x"] = name * 1000 + number + 1
                txn.write("x", store["x"])

    threads = [threading.Thread(target=client, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    history = recorder.history()
    assert history.counts["committed"] == 400 and history.counts["sessions"] == 8
    assert isoscope.check(history, "strict-serializable")["strict-serializable"].verdict == "holds"


def test_tasks_record_at_once(recorder: isoscope.Recorder) -> None:
    store: dict[str, int] = {"x": 0}

    async def client(name: int) -> None:
        for _ in range(5):
            async with recorder.session(name).transaction() as txn:
                value = txn.read("x", store["x"])
                await asyncio.sleep(0)
                store["x"] = value + 1
                txn.write("x", value + 1)

    async def all_clients() -> None:
        await asyncio.gather(*(client(name) for name in range(4)))

    asyncio.run(all_clients())
    report = isoscope.check(recorder.history(), "snapshot-isolation")
    assert report["snapshot-isolation"].anomaly == "lost update"
