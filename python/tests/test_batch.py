"""Many histories: any map, rows for failures, and going on after an end."""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
import pathlib
import subprocess

import pytest
from conftest import COUNTEREXAMPLES

import isoscope

LEVELS = ["serializable", "snapshot-isolation"]


@pytest.fixture
def files(tmp_path: pathlib.Path) -> list[str]:
    """The counterexamples, a file that is no history, and one that is missing."""
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{]")
    return [*map(str, sorted(COUNTEREXAMPLES.glob("*.txt"))), str(broken), str(tmp_path / "missing")]


def essence(rows: list[dict]) -> list[tuple]:
    return sorted(
        (row["history"]["file"], [(one["level"], one["verdict"]) for one in row.get("verdicts", [])], "error" in row)
        for row in rows
    )


def test_a_history_that_fails_is_a_row(files: list[str]) -> None:
    rows = isoscope.check_files(files, LEVELS).rows
    assert len(rows) == len(files)
    assert [row["history"]["file"] for row in rows if "error" in row] == files[-2:]
    one_by_one = [isoscope.check_file(path, LEVELS) for path in files]
    assert essence(rows) == essence(one_by_one)


def test_any_map_will_do(files: list[str]) -> None:
    expected = essence(isoscope.check_files(files, LEVELS).rows)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert essence(isoscope.check_files(files, LEVELS, map=pool.map, batch_bytes=1).rows) == expected
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        assert essence(isoscope.check_files(files, LEVELS, map=pool.map).rows) == expected


def test_answers_that_are_there_are_kept(files: list[str], tmp_path: pathlib.Path) -> None:
    output = tmp_path / "answers.jsonl"
    whole = essence(isoscope.check_files(files, LEVELS).rows)
    isoscope.check_files(files[:5], LEVELS, output=output).rows
    with open(output, "a") as cut:
        cut.write('{"history": {"file": "torn')
    asked: list[str] = []

    def counting(task, batches):
        for batch in batches:
            asked.extend(batch)
            yield task(batch)

    rows = isoscope.check_files(files, LEVELS, output=output, map=counting).rows
    assert asked == files[5:]
    assert essence(rows) == whole
    assert essence([json.loads(line) for line in output.read_text().splitlines()]) == whole
    with pytest.raises(ValueError, match="other levels"):
        isoscope.check_files(files, "causal", output=output)


def test_the_command_goes_on_where_python_stopped(files: list[str], tmp_path: pathlib.Path, command: str) -> None:
    output = tmp_path / "answers.jsonl"
    isoscope.check_files(files[:5], LEVELS, output=output).rows
    (tmp_path / "list").write_text("\n".join(files))
    words = [command, "batch", tmp_path / "list", "-o", output, "--jobs", "2", "--level", ",".join(LEVELS)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert essence(rows) == essence(isoscope.check_files(files, LEVELS).rows)


def test_a_folder_holds_the_histories_that_the_command_finds(tmp_path: pathlib.Path, command: str) -> None:
    for name in ("b/T1.log", "b/T2.log", "b/notes", "a/x.txt", "c/J0.log.gz", "c/TABLE.log", ".hidden", "Tea.log"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a: w(x)=1\n")
    found = isoscope.histories_below(tmp_path)
    assert found == [str(tmp_path / name) for name in ("Tea.log", "a/x.txt", "b", "c")]
    output = tmp_path / ".answers.jsonl"
    subprocess.run([command, "batch", tmp_path, "-o", output, "--level", "serializable"], capture_output=True)
    told = [json.loads(line)["history"]["file"] for line in output.read_text().splitlines()]
    assert sorted(told) == found


def test_files_are_batched_by_bytes(tmp_path: pathlib.Path) -> None:
    sizes = [1, 1, 300_000, 1, 700_000, 1]
    names = []
    for place, size in enumerate(sizes):
        file = tmp_path / f"{place}"
        file.write_bytes(b"x" * size)
        names.append(str(file))
    found = list(isoscope.batch.batches(names, 500_000))
    assert [len(batch) for batch in found] == [4, 1, 1]
    assert sum(found, []) == names


def test_one_table_of_all_verdicts(files: list[str]) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    answers = isoscope.check_files(files, LEVELS)
    frame = answers.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 15 * 2 + 2 and frame.error.notna().sum() == 2
    table = answers.to_arrow()
    assert table.num_rows == len(frame)
    assert table.column("verdict").to_pylist() == answers.verdicts()["verdict"]
