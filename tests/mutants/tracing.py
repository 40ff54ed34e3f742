"""``python tracing.py RESULT FOLDER,... TESTS...``: run tests, and note which lines of the folders each of them runs.

A script that imports nothing of the project, so that it serves any copy of it. The result is JSON: ``tests`` has
seconds, lines by file, and whether it starts programs, for each test that passed; ``failed`` names the others;
``imported`` has the lines that ran before the first test.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

STARTS_PROGRAMS = frozenset({"subprocess.Popen", "os.fork", "os.posix_spawn"})
FORKS_PROGRAMS = "tests/support/preloaded.py"

Local = Callable[[FrameType, str, Any], Any]


ENOUGH = 2_000
"""So many lines of a function are noted in one test; it counts as having run all others too, which is faster."""


class Watched:
    """A function, and which of its lines a test has run."""

    def __init__(self, code: CodeType) -> None:
        self.file = code.co_filename
        self.lines: set[int] = set()
        self.is_done = False
        self._all = {line for _, _, line in code.co_lines() if line}
        self._left = ENOUGH
        self._code = code  # kept, so that no other gets its id

    def note(self, frame: FrameType, _: str, __: Any) -> Any:
        """Note the line that a frame of it is at."""
        self.lines.add(frame.f_lineno)
        self._left -= 1
        if not self._left:
            self.is_done = True
            self.lines |= self._all
        if self.is_done:
            frame.f_trace_lines = False
        return self.note

    def clear(self) -> None:
        """Forget what was noted."""
        self.lines.clear()
        self.is_done = False
        self._left = ENOUGH


class Tracer:
    """Notes the lines that run in files below some folders, in all threads."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self.starts_programs = False
        self._folders = folders
        self._watched: dict[int, Watched | None] = {}
        self._others: list[CodeType] = []  # kept, so that none of them gives its id to another

    def begin(self) -> None:
        """Note lines from now on."""
        sys.addaudithook(self._hear)
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def collect(self) -> dict[str, list[int]]:
        """Return the lines noted since the last time, by file."""
        found: dict[str, set[int]] = {}
        for watched in list(self._watched.values()):
            if watched is not None and watched.lines:
                found.setdefault(watched.file, set()).update(watched.lines)
                watched.clear()
        return {file: sorted(lines) for file, lines in sorted(found.items())}

    def _hear(self, event: str, _: object) -> None:
        if event in STARTS_PROGRAMS:
            self.starts_programs = True

    def _enter(self, frame: FrameType, _: str, __: Any) -> Local | None:
        code = frame.f_code
        key = id(code)
        try:
            watched = self._watched[key]
        except KeyError:
            watched = self._watched[key] = self._watch(code)
        if watched is None:
            if code.co_filename.endswith(FORKS_PROGRAMS):
                self.starts_programs = True
            return None
        return None if watched.is_done else watched.note

    def _watch(self, code: CodeType) -> Watched | None:
        if code.co_filename.startswith(self._folders):
            return Watched(code)
        self._others.append(code)
        return None


class Notes:
    """The plugin that asks the tracer after each test."""

    def __init__(self, tracer: Tracer) -> None:
        self.imported: dict[str, list[int]] = {}
        self.tests: dict[str, dict[str, Any]] = {}
        self.failed: list[str] = []
        self._tracer = tracer

    def pytest_collection_finish(self) -> None:
        """Set apart what ran until now."""
        self.imported = self._tracer.collect()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note what one test runs."""
        self._tracer.collect()
        self._tracer.starts_programs = False
        begun = time.perf_counter()
        yield
        self.tests[item.nodeid] = {
            "seconds": round(time.perf_counter() - begun, 4),
            "programs": self._tracer.starts_programs,
            "lines": self._tracer.collect(),
        }

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember which tests fail without any change."""
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Remember which files cannot be collected."""
        if report.failed:
            self.failed.append(report.nodeid)


def main(result: str, folders: str, arguments: list[str]) -> None:
    """Run pytest with arguments, and write what was noted."""
    tracer = Tracer(tuple(f"{Path(folder).resolve()}/" for folder in folders.split(",")))
    notes = Notes(tracer)
    tracer.begin()
    pytest.main(arguments, plugins=[notes])
    sys.settrace(None)
    root = f"{Path.cwd()}/"

    def name(lines: dict[str, list[int]]) -> dict[str, list[int]]:
        return {file.removeprefix(root): numbers for file, numbers in lines.items()}

    tests = {
        test: {**noted, "lines": name(noted["lines"])}
        for test, noted in notes.tests.items()
        if test not in notes.failed
    }
    Path(result).write_text(
        json.dumps({"tests": tests, "failed": sorted(set(notes.failed)), "imported": name(notes.imported)})
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
