"""The examples of the documents give what they say."""

from __future__ import annotations

import doctest
import pathlib
import re

import pytest
from conftest import ROOT

import isoscope


def test_the_examples_of_the_guide(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "python.md", None, 0)
    assert len(test.examples) > 30
    result = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(test)
    assert result.failed == 0


def test_the_example_of_the_package() -> None:
    assert doctest.testmod(isoscope).failed == 0
