"""Says which tests run which lines: runs the tests of a folder once, and keeps what was noted."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Final

TRACING: Final = Path(__file__).with_name("tracing.py")
PYTEST: Final = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no")
FILES_AT_ONCE: Final = 6
"""Files of tests in one run: what it notes is kept, so that one who ends a run in between loses no more."""

LEAST_SECONDS: Final = 2.0
SLOWER: Final = 10.0
"""A test may take so many times as long as without the change, and never less than ``LEAST_SECONDS``."""


def mirror(root: Path, module: str) -> str:
    """The folder of tests that mirrors a module's; where there is none with tests, that of its parent. Or empty."""
    folder = PurePosixPath("tests") / PurePosixPath(module).parent
    while folder.parts[1:]:
        if any((root / folder).glob("test_*.py")):
            return folder.as_posix()
        folder = folder.parent
    return ""


@dataclass(frozen=True, slots=True)
class Test:
    """One test, as it runs without a change."""

    __test__ = False

    name: str
    seconds: float
    starts_programs: bool
    lines: dict[str, list[int]]

    @property
    def file(self) -> str:
        """Where it is."""
        return self.name.partition("::")[0]

    @property
    def limit(self) -> float:
        """How many seconds it may compute with a change."""
        return max(LEAST_SECONDS, SLOWER * self.seconds)


class Traces:
    """What the tests of one folder run of the modules that the folder mirrors.

    Tests that fail without any change are left out, and so are files that cannot be collected; ``failing`` names them.
    """

    def __init__(self, copy: Path, folder: str, kept: Path) -> None:
        """Read what is kept below a folder; run only those files of tests for which nothing, or something else, is.

        Of a file with a test that fails nothing is kept, so that the next run tries it again.
        """
        self.tests: list[Test] = []
        self.failing: list[str] = []
        self._imported: dict[str, set[int]] = {}
        place = kept / f"{folder.replace('/', '.')}.json"
        package = folder.removeprefix("tests/")
        known: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
        modules = _digest(copy, sorted((copy / package).rglob("*.py")))
        wanted = {
            file.relative_to(copy).as_posix(): f"{modules} {_digest(copy, [file])}"
            for file in sorted((copy / folder).glob("test_*.py"))
        }
        stale = [file for file, digest in wanted.items() if known.get(file, {}).get("digest") != digest]
        known = {file: known[file] for file in wanted if file in known}
        for begin in range(0, len(stale), FILES_AT_ONCE):
            some = stale[begin : begin + FILES_AT_ONCE]
            found = _trace(copy, package, some)
            for file in some:
                tests = {name: test for name, test in found["tests"].items() if name.startswith(f"{file}::")}
                known[file] = {"digest": wanted[file], "tests": tests, "imported": found["imported"]}
            self.failing += found["failed"]
            broken = {name.partition("::")[0] for name in self.failing}
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(json.dumps({file: known[file] for file in known if file not in broken}))
        for noted in known.values():
            for file, lines in noted["imported"].items():
                self._imported.setdefault(file, set()).update(lines)
            for name, test in noted["tests"].items():
                self.tests.append(Test(name, test["seconds"], test["programs"], test["lines"]))
        self.tests.sort(key=lambda test: test.seconds)

    def list_reaching(self, module: str, lines: Iterable[int] = ()) -> list[Test]:
        """List the tests that run one of these lines of a module, or any line of it; the fastest first."""
        wanted = set(lines)
        return [
            test
            for test in self.tests
            if (wanted.intersection(test.lines.get(module, ())) if wanted else module in test.lines)
        ]

    def is_run_by_imports(self, module: str, lines: Iterable[int]) -> bool:
        """Whether one of these lines of a module runs before any test does."""
        return not self._imported.get(module, set()).isdisjoint(lines)


def _trace(copy: Path, package: str, files: list[str]) -> dict[str, Any]:
    result = copy / ".trace.json"
    result.unlink(missing_ok=True)
    options = [*PYTEST, "--timeout=0", "--continue-on-collection-errors"]
    command = [sys.executable, "-P", str(TRACING), str(result), package, *options, *files]
    subprocess.run(command, cwd=copy, env=environment(copy), check=False, stdout=2, stdin=subprocess.DEVNULL)
    if not result.exists():  # a test has ended the process
        return {"tests": {}, "failed": files, "imported": {}}
    found: dict[str, Any] = json.loads(result.read_text())
    return found


def environment(copy: Path) -> dict[str, str]:
    """The environment of processes that run what is in a copy of the project."""
    return {**os.environ, "PYTHONPATH": str(copy)}


def _digest(copy: Path, files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.relative_to(copy).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
