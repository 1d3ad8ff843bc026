"""The pytest plugin: a fixture that records what a test sees, and asserts an isolation level at the end.

    def test_transfers(isolation):
        session = isolation.session("a")
        ...
        isolation.assert_holds("serializable")

With ``@pytest.mark.isolation("serializable")`` or ``--isolation LEVEL`` the level is asserted at the end of the test by
itself. The failure message is the explanation; the history and the HTML report are kept in the folder that it names.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator
from typing import Any

import pytest

from isoscope.checking import check
from isoscope.histories import History
from isoscope.recorder import Recorder
from isoscope.report import Report


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options."""
    group = parser.getgroup("isoscope")
    group.addoption("--isolation", metavar="LEVEL", help="assert this isolation level of every test that records")
    group.addoption("--isolation-reports", metavar="FOLDER", help="keep the histories and reports of violations here")


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    config.addinivalue_line("markers", "isolation(level, **limits): assert an isolation level at the end of the test")


class Isolation(Recorder):
    """A recorder that asserts isolation levels of what it recorded."""

    def __init__(self, path: pathlib.Path, reports: pathlib.Path) -> None:
        super().__init__(path)
        self._reports = reports
        self._history: History | None = None
        self.is_asserted = False

    def default_value(self, value: Any) -> None:
        """Tells the value with which every key starts that has no other."""
        self._file.default_value(value)

    def history(self) -> History:
        """Ends the recording and reads it, once."""
        if self._history is None:
            self._history = super().history()
        return self._history

    def check(self, levels: Any = None, **limits: Any) -> Report:
        """Ends the recording and checks it, as `isoscope.check` does."""
        return check(self.history(), levels, **limits)

    def assert_holds(self, level: Any, **limits: Any) -> None:
        """Ends the recording and fails the test with the explanation, unless the level holds."""
        __tracebackhide__ = True
        self.is_asserted = True
        report = self.check(level, **limits)
        if any(answer.verdict == "violated" for answer in report.answers):
            page, recording = self._keep(report)
            told = "\n\n".join(witness.text() for witness in report.witnesses())
            pytest.fail(f"{told}\n\nreport:  {page}\nhistory: {recording}", pytrace=False)
        if undecided := [answer for answer in report.answers if answer.verdict == "undecided"]:
            pytest.fail("\n".join(f"{one.level} is undecided: {one.reason}" for one in undecided), pytrace=False)

    def _keep(self, report: Report) -> tuple[pathlib.Path, pathlib.Path]:
        """Writes the report and the history as artefacts."""
        self._reports.mkdir(parents=True, exist_ok=True)
        page, recording = self._reports / "report.html", self._reports / "history.jsonl"
        page.write_text(report.html(), encoding="utf-8")
        recording.write_bytes(pathlib.Path(self.path).read_bytes())
        return page, recording


@pytest.fixture
def isolation(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Iterator[Isolation]:
    """A recorder for the test; keys are absent at first unless `initial` or `default_value` says otherwise."""
    folder = request.config.getoption("--isolation-reports")
    name = re.sub(r"[^\w.-]+", "_", request.node.nodeid)
    reports = pathlib.Path(folder) / name if folder else tmp_path / "isolation"
    recorder = Isolation(tmp_path / "history.jsonl", reports)
    try:
        yield recorder
        _assert_asked(request, recorder)
    finally:
        recorder.close()


def _assert_asked(request: pytest.FixtureRequest, recorder: Isolation) -> None:
    """Asserts the level of the marker or of the command line, if the test itself succeeded and asserted none."""
    __tracebackhide__ = True
    marker = request.node.get_closest_marker("isolation")
    level = request.config.getoption("--isolation")
    called = request.node.stash.get(CALLED, None)
    if recorder.is_asserted or called is None or called.failed or called.skipped:
        return
    if marker is not None:
        recorder.assert_holds(*marker.args, **marker.kwargs)
    elif level:
        recorder.assert_holds(level)


CALLED = pytest.StashKey[pytest.TestReport]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Keeps how the test itself ended, for the end of the fixture."""
    report = yield
    if call.when == "call":
        item.stash[CALLED] = report
    return report
