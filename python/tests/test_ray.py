"""A real Ray cluster: the example, on a few histories.

`python/examples/ray_cluster.py ../../shared/histories` is the large run, by hand: all shared histories and 2,000 made
ones (docs/python.md has its figures).
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from conftest import COUNTEREXAMPLES, ROOT, SHARED

pytest.importorskip("ray")

EXAMPLE = ROOT / "python" / "examples" / "ray_cluster.py"


def test_a_cluster_gives_the_same_answers_and_survives_a_killed_worker(tmp_path: pathlib.Path) -> None:
    # Workers import from the folder that the script is started in: not from that of the package's sources.
    folders = [folder for folder in (COUNTEREXAMPLES, SHARED / "elle", SHARED / "fig5") if folder.is_dir()]
    done = subprocess.run(
        [sys.executable, EXAMPLE, *folders, "--made", "300"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "same answers: True; with a worker killed: True" in done.stdout
