"""Checks many histories on a Ray cluster, and compares with one process: `python ray_cluster.py [FOLDER ...]`.

Ray is no requirement of the package: `check_files` takes any `map`, and `RayMap` below is one. The script starts a
cluster of two workers on this machine, adds histories that it makes itself (`--made 2000`), checks all of them in one
process, on the cluster, and on the cluster with a worker that is killed in the middle, and prints whether all answers
are the same and how busy the workers were.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import ray

import isoscope

LEVELS = ["session-serializable", "session-snapshot-isolation"]


class Done(NamedTuple):
    """What a task gives back: its result, where it ran and how long."""

    result: Any
    pid: int
    started: float
    ended: float
    processor_seconds: float


class RayMap:
    """A `map` on Ray that gives results as they come; a batch whose worker died is run again.

    `done` collects what the tasks told. With `kill_after`, a worker is killed when that many tasks are done: the one
    that a task runs on now, since each running task has a file of its process in `folder`.
    """

    def __init__(self, folder: str, kill_after: int | None = None) -> None:
        self.folder = folder
        self.kill_after = kill_after
        self.killed: str | None = None
        self.done: list[Done] = []
        self.batch_count = 0

    def __call__(self, task: Callable[[Any], Any], batches: Iterable[Any]) -> Iterator[Any]:
        """Runs the batches."""
        folder, shared_task = self.folder, ray.put(task)
        remote = ray.remote(max_retries=5)(run_task)
        running = [remote.remote(shared_task, batch, folder) for batch in batches]
        self.batch_count = len(running)
        while running:
            (ready,), running = ray.wait(running)
            self.done.append(ray.get(ready))
            yield self.done[-1].result
            if self.kill_after is not None and self.killed is None and len(self.done) >= self.kill_after:
                self.killed = kill_one(folder)

    def busy_share(self) -> float:
        """The share of the time from the first begin to the last end in which the workers had a task."""
        span = max(done.ended for done in self.done) - min(done.started for done in self.done)
        workers = len({done.pid for done in self.done})
        return sum(done.ended - done.started for done in self.done) / (span * workers)


def run_task(task: Callable[[Any], Any], batch: Any, folder: str) -> Done:
    """Runs in a worker. A file says that it runs, and stays if the worker dies."""
    mark = pathlib.Path(folder, f"{os.getpid()}")
    started, used = time.time(), processor_seconds()
    mark.touch()
    result = task(batch)
    mark.unlink(missing_ok=True)
    return Done(result, os.getpid(), started, time.time(), processor_seconds() - used)


def kill_one(folder: str) -> str:
    """Kills a worker on which a task runs; the next one if the task ended before the signal came."""
    while True:
        for pid in os.listdir(folder):
            os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.05)
            if pathlib.Path(folder, pid).exists():
                return pid
        time.sleep(0.001)


def processor_seconds() -> float:
    """What this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def made_history(seed: int) -> isoscope.History:
    """A small run of a store that sometimes answers with an old value."""
    choose = random.Random(seed)
    versions: dict[int, list[int]] = {key: [0] for key in range(5)}
    rows = []
    for txn in range(60):
        for _ in range(4):
            key = choose.randrange(5)
            if choose.random() < 0.5:
                rows.append((txn % 6, txn, "w", key, txn * 10 + len(rows) + 1))
                versions[key].append(rows[-1][-1])
            else:
                is_stale = choose.random() < 0.02 and len(versions[key]) > 1
                rows.append((txn % 6, txn, "r", key, versions[key][-2 if is_stale else -1]))
    return isoscope.from_rows(rows, default=0)


def essence(rows: Iterable[dict]) -> dict[str, Any]:
    """The answers without times, by file."""
    told = {row["history"]["file"]: row.get("error") or verdicts(row) for row in rows}
    return dict(sorted(told.items()))


def verdicts(row: dict) -> list[tuple]:
    """Level, verdict and anomaly, for each level."""
    return [(answer["level"], answer["verdict"], answer["anomaly"]) for answer in row["verdicts"]]


def histories(folders: list[str], made_count: int, folder: str) -> list[str]:
    """The histories of the folders and new ones, the largest first, so that none is left to the end."""
    paths = [path for given in folders for path in isoscope.histories_below(given)]
    for seed in range(made_count):
        made_history(seed).write(path := f"{folder}/{seed}.jsonl")
        paths.append(path)
    return sorted(paths, key=isoscope.batch.counted_bytes, reverse=True)


def timed(paths: list[str], **how: Any) -> tuple[dict[str, Any], float]:
    """The answers, and the seconds that they took."""
    started = time.perf_counter()
    rows = isoscope.check_files(paths, LEVELS, time_limit=60, batch_bytes=1 << 20, **how).rows
    return essence(rows), time.perf_counter() - started


def start_cluster(workers: int) -> None:
    """Starts a cluster on this machine, and its worker processes."""
    # Ray's workers are nice by 15: beside other load they would hardly run, and the times would say nothing.
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(num_cpus=workers, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
    nap = ray.remote(lambda: (time.sleep(0.5), os.getpid()))
    while len({pid for _, pid in ray.get([nap.remote() for _ in range(workers)])}) < workers:
        pass


def main() -> None:
    """Runs the comparison."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--made", type=int, default=2000, help="how many histories are made beside those of the folders")
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as marks:
        paths = histories(given.folders, given.made, made)
        used = processor_seconds()
        alone, seconds_alone = timed(paths)
        used_alone = processor_seconds() - used
        start_cluster(given.workers)
        quiet = RayMap(marks)
        spread, seconds_spread = timed(paths, map=quiet)
        wounded = RayMap(marks, kill_after=2)
        killed, _ = timed(paths, map=wounded)
        ray.shutdown()
        lost = os.listdir(marks)
    used_spread = sum(done.processor_seconds for done in quiet.done)
    workers = sorted({done.pid for done in quiet.done})
    print(f"{len(paths)} histories, {sum(isinstance(told, str) for told in alone.values())} of them no histories")
    print(f"one process: {seconds_alone:.2f} s, {used_alone:.2f} s of processor time")
    print(
        f"workers {workers}, {quiet.batch_count} tasks: {seconds_spread:.2f} s, {used_spread:.2f} s of processor time, "
        f"busy {quiet.busy_share():.0%} of the time; {seconds_alone / seconds_spread:.2f} times as fast"
    )
    print(f"killed the worker {wounded.killed} while it ran a task; tasks that it did not end: {lost}")
    print(f"same answers: {spread == alone}; with a worker killed: {killed == alone}")
    sys.exit(spread != alone or killed != alone or len(workers) < given.workers or lost != [wounded.killed])


if __name__ == "__main__":
    main()
