"""What a check costs beside the engine: `python overhead.py HISTORY LEVEL COMMAND [LIBRARY]`.

COMMAND is the built `isoscope`, and LIBRARY the built example `check` of the library, which reads and checks and does
nothing else; wheel, command and example must be built with the same profile.

Times of a shared machine say little about 5 %, so instructions are counted, by callgrind. What a program does before and
after a check is taken off: each is also run on a history of three transactions, and the two counts are subtracted.
Beside that, the processor time of a check of three transactions is measured, call by call.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time

import isoscope

THREE = "a: r(x)=0 r(y)=0 w(x)=1\nb: r(x)=0 r(y)=0 w(y)=1\nc: r(x)=1\n"

CHECK = "import sys, isoscope; isoscope.check(sys.argv[1], sys.argv[2])"


def instructions(words: list[str]) -> int:
    """How many instructions a program executes in this process and its threads."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*valgrind, *words], capture_output=True, text=True)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if counted is None:
        sys.exit(f"valgrind counted nothing: {done.stderr}")
    return int(counted[1])


def beyond_three(words: list[str], history: str, three: str) -> int:
    """The instructions for a history beyond those for three transactions; the words name the history as `{}`."""
    return instructions([word.format(history) for word in words]) - instructions([word.format(three) for word in words])


def compare_large(history: str, level: str, command: str, library: str | None = None) -> None:
    """Counts instructions of the programs."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as three:
        three.write(THREE)
        three.flush()
        programs = {
            "Python": [sys.executable, "-c", CHECK, "{}", level],
            "command": [command, "check", "{}", "--level", level, "--threads", "1", "--json"],
        }
        if library is not None:
            programs["library"] = [library, "{}", level]
        counts = {name: beyond_three(words, history, three.name) for name, words in programs.items()}
    for name, count in counts.items():
        print(f"{name}: {count / 1e6:,.1f} million instructions, Python {counts['Python'] / count:.4f} times that")


def measure_three(calls: int = 2000) -> None:
    """Measures single checks of three transactions, in processor time of all threads and by the clock."""
    history = isoscope.parse(THREE)
    for levels in ("serializable", None):
        used, took = [], []
        for _ in range(calls):
            clock, processor = time.perf_counter(), time.process_time()
            isoscope.check(history, levels)
            used.append(time.process_time() - processor)
            took.append(time.perf_counter() - clock)
        for name, values in (("processor time", used), ("clock", took)):
            median, most = statistics.median(values) * 1e3, sorted(values)[calls * 9 // 10] * 1e3
            print(f"three transactions, {levels or 'all levels'}: {name} {median:.3f} ms, in nine of ten {most:.3f} ms")


if __name__ == "__main__":
    compare_large(*sys.argv[1:5])
    measure_three()
