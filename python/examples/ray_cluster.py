"""Checks many histories on a Ray cluster, and compares with one process: `python ray_cluster.py [FOLDER ...]`.

Ray is no requirement of the package: `check_files` takes any `map`, and `ray_map` below is one. The script starts a
cluster of two workers on this machine, adds 2,000 histories that it makes itself, kills a worker in the middle, and
prints whether all answers are the same and how the times compare.
"""

from __future__ import annotations

import os
import pathlib
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import ray

import isoscope

LEVELS = ["serializable", "snapshot-isolation"]
WORKERS = 2


def ray_map(task: Callable[[Any], Any], batches: Iterable[Any]) -> Iterator[Any]:
    """A `map` on Ray that gives results as they come; a batch whose worker died is run again."""
    remote = ray.remote(max_retries=5)(lambda batch: task(batch))
    running = [remote.remote(batch) for batch in batches]
    while running:
        (done,), running = ray.wait(running)
        yield ray.get(done)


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


def essence(rows: Iterable[dict]) -> list[tuple]:
    """The answers without times, in the order of names."""
    verdicts = ((row["history"]["file"], [(v["level"], v["verdict"]) for v in row.get("verdicts", [])]) for row in rows)
    return sorted(verdicts)


def timed(ask: Callable[[], list[dict]]) -> tuple[list[tuple], float]:
    """The answers, and the seconds that they took."""
    started = time.perf_counter()
    rows = ask()
    return essence(rows), time.perf_counter() - started


def with_a_killed_worker(paths: list[str]) -> list[dict]:
    """Checks the files, and kills a worker process after the first answers."""
    rows = []
    pids = ray.get([ray.remote(lambda: os.getpid()).remote() for _ in range(20 * WORKERS)])
    for row in isoscope.check_files(paths, LEVELS, map=ray_map, batch_bytes=1 << 20):
        rows.append(row)
        if pids:
            os.kill(pids[-1], signal.SIGKILL)
            print(f"killed the worker {pids[-1]} after {len(rows)} answers")
            pids = []
    return rows


def main(folders: list[str]) -> None:
    """Runs the comparison."""
    with tempfile.TemporaryDirectory() as made:
        paths = [str(path) for folder in folders for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()]
        for seed in range(2000):
            made_history(seed).write(path := f"{made}/{seed}.jsonl")
            paths.append(path)
        random.Random(0).shuffle(paths)
        alone, time_alone = timed(lambda: isoscope.check_files(paths, LEVELS).rows)
        ray.init(num_cpus=WORKERS, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
        ray.get([ray.remote(isoscope.check_file).remote(paths[0]) for _ in range(2 * WORKERS)])
        spread, time_spread = timed(lambda: isoscope.check_files(paths, LEVELS, map=ray_map, batch_bytes=1 << 20).rows)
        killed, _ = timed(lambda: with_a_killed_worker(paths))
        ray.shutdown()
    print(f"{len(paths)} histories, {sum(not verdicts for _, verdicts in alone)} of them no histories")
    print(f"one process {time_alone:.2f} s, {WORKERS} workers {time_spread:.2f} s: {time_alone / time_spread:.2f} times")
    print(f"same answers: {spread == alone}; with a worker killed: {killed == alone}")
    sys.exit(spread != alone or killed != alone)


if __name__ == "__main__":
    main(sys.argv[1:])
