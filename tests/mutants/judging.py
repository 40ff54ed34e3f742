"""Runs the tests that mirror a module while it has a change, in a copy of the project."""

from __future__ import annotations

import enum
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.changes import Change
from tests.mutants.places import find_place
from tests.mutants.traces import PYTEST, Test, Traces, environment, mirror

SERVING: Final = Path(__file__).with_name("serving.py")


class Verdict(enum.Enum):
    """What came of a change."""

    KILLED = "killed"
    SURVIVED = "survived"
    #: Nothing failed, but some tests of the folder fail without the change too, and might have noticed it.
    OPEN = "not judged"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a change, and who said so."""

    verdict: Verdict
    seconds: float
    #: The first test that failed, of an open change the first that fails anyway; empty if none did, or none could be
    #: collected.
    test: str = ""
    #: How many tests ran.
    tests: int = 0


class Session:
    """A process that has collected some tests, and runs them with changes."""

    def __init__(self, copy: Path, files: Sequence[str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    str(SERVING),
                    str(theirs.fileno()),
                    *PYTEST,
                    f"--basetemp={copy}.tests",
                    "--timeout=0",
                    *files,
                ],
                cwd=copy,
                env=environment(copy),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        self._channel = ours
        self._lines = ours.makefile("rw")
        self.is_ready = bool(self._lines.readline())

    def run(
        self, tests: Sequence[Test], file: Path, source: bytes, function: tuple[str, int] | None
    ) -> tuple[str, str]:
        """Run tests with new code for a function, or as all is; return what came of it, and which test said so."""
        order = {
            "tests": [[test.name, test.limit] for test in tests],
            "file": str(file),
            "source": source.decode(),
            "function": function,
        }
        self._lines.write(json.dumps(order) + "\n")
        self._lines.flush()
        word, test = json.loads(self._lines.readline())
        return word, test

    def close(self) -> None:
        """End the process."""
        self._lines.close()
        self._channel.close()
        self._process.kill()
        self._process.wait()


class Judge:
    """Makes changes in one copy of the project, one after the other, and runs tests there."""

    def __init__(self, copy: Path, kept: Path) -> None:
        self._copy = copy
        self._kept = kept
        self._folder = ""
        self._traces: Traces
        self._session: Session | None = None

    def judge(self, change: Change) -> Judgement:
        """Judge one change by the tests that pass without it."""
        folder = mirror(self._copy, change.path)
        if not folder:
            return Judgement(Verdict.SURVIVED, 0.0)
        self._turn_to(folder)
        begun = time.monotonic()
        source = (self._copy / change.path).read_bytes()
        place = find_place(source, change)
        lasting = place.function is None or self._traces.is_run_by_imports(change.path, place.lines)
        tests = self._traces.list_reaching(change.path, () if place.function is None else place.lines)
        # A process that a test starts reads the change from the file; who runs the line there is not known.
        others = [
            test
            for test in self._traces.tests
            if test not in tests and (place.function is None or test.starts_programs)
        ]
        wanted = sorted(tests, key=lambda test: test.starts_programs) + others
        with self._changed(change, source) as changed:
            word, test = "unchanged", ""
            if not lasting and wanted:
                word, test = self._serve().run(wanted, self._copy / change.path, changed, place.function)
            if word == "unchanged" and wanted:
                word, test = self._run_anew(wanted, change)
        verdict = Verdict.KILLED if word in ("failed", "slow") else Verdict.SURVIVED
        if verdict is Verdict.SURVIVED and self._traces.failing:
            verdict, test = Verdict.OPEN, self._traces.failing[0]
        return Judgement(verdict, round(time.monotonic() - begun, 2), test, len(wanted))

    def close(self) -> None:
        """End the process that waits for changes, if there is one."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _turn_to(self, folder: str) -> None:
        if folder != self._folder:
            self.close()
            self._traces = Traces(self._copy, folder, self._kept)
            self._folder = folder

    def _serve(self) -> Session:
        if self._session is None:
            self._session = Session(self._copy, sorted({test.file for test in self._traces.tests}))
        return self._session

    def _run_anew(self, tests: Sequence[Test], change: Change) -> tuple[str, str]:
        """Run tests in a process that imports the changed module."""
        session = Session(self._copy, sorted({test.file for test in tests}))
        try:
            if not session.is_ready:
                return "failed", ""
            return session.run(tests, self._copy / change.path, b"", None)
        finally:
            session.close()

    @contextmanager
    def _changed(self, change: Change, source: bytes) -> Iterator[bytes]:
        """Have the change in the file, for processes that start meanwhile."""
        module = self._copy / change.path
        times = module.stat()
        changed = change.apply(source)
        if module.stat().st_size == len(changed):
            changed += b"\n"  # what is compiled and kept is known by size and second
        module.write_bytes(changed)
        try:
            yield changed
        finally:
            module.write_bytes(source)
            os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
