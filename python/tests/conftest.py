"""What the tests share: the command, and the histories that may be there."""

from __future__ import annotations

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "histories"
COUNTEREXAMPLES = ROOT / "crates" / "cli" / "tests" / "counterexamples"

pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def command() -> str:
    """The built command, which `cargo xtask test` names."""
    path = os.environ.get("ISOSCOPE_COMMAND")
    if path is None:
        pytest.skip("ISOSCOPE_COMMAND does not name the built command")
    return path
