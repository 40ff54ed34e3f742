"""Runs the tests that touch a module while it has a fault, in a copy of the project."""

from __future__ import annotations

import ast
import enum
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from tests.mutants.changes import Change

LEAST_SECONDS: Final = 60.0
SLOWER: Final = 5.0
"""A run may take so many times as long as without the fault, and never less than ``LEAST_SECONDS``."""

SLOW: Final = ("tests/benchmarks", "tests/deploy", "tests/documentation", "tests/examples", "tests/programs")
"""Tests of whole programs; they judge no single module."""


class Verdict(enum.Enum):
    """What came of a change."""

    KILLED = "killed"
    KILLED_ELSEWHERE = "killed elsewhere"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of a change, and who said so."""

    verdict: Verdict
    seconds: float
    test: str = ""
    """The first test that failed; empty if none did, or none in time."""


class BrokenTestsError(Exception):
    """Tests fail, or end in nothing, without any change."""


class TestsOfModules:
    """Finds the tests of a module: those in the folder that mirrors its package, and those that import it."""

    __test__ = False

    def __init__(self, root: Path) -> None:
        self._root = root

    def mirror(self, module: str) -> list[str]:
        """Test files in the folder that mirrors the module's; those that import the module first.

        Where there is no such folder, or nothing in it, its parent's counts.
        """
        folder = PurePosixPath("tests") / PurePosixPath(module).parent
        while folder.parts[1:]:
            files = sorted(
                each.relative_to(self._root).as_posix() for each in (self._root / folder).glob("test_*.py")
            )
            if files:
                return sorted(files, key=lambda file: (_name(module) not in self._imports[file], file))
            folder = folder.parent
        return []

    def elsewhere(self, module: str) -> list[str]:
        """Other test files that import the module, or something of its package."""
        near = set(self.mirror(module))
        wanted = {_name(module), _name(module).rpartition(".")[0]}
        return [
            file
            for file, names in self._imports.items()
            if file not in near and not file.startswith(SLOW) and not wanted.isdisjoint(names)
        ]

    @cached_property
    def _imports(self) -> dict[str, set[str]]:
        """Modules that each test file imports, and their packages."""
        found = {}
        for file in sorted((self._root / "tests").rglob("test_*.py")):
            names: set[str] = set()
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.ImportFrom) and node.module:
                    names |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
                elif isinstance(node, ast.Import):
                    names |= {each.name for each in node.names}
            found[file.relative_to(self._root).as_posix()] = names | {
                each.rpartition(".")[0] for each in names
            }
        return found


class Judge:
    """Makes changes in one copy of the project, one after the other, and runs tests there."""

    def __init__(self, copy: Path) -> None:
        self._copy = copy
        self._tests = TestsOfModules(copy)
        self._usual: dict[tuple[str, ...], float] = {}

    def judge(self, change: Change) -> Judgement:
        """Judge one change. Raises BrokenTestsError if tests fail without it."""
        near = tuple(self._tests.mirror(change.path))
        far = tuple(self._tests.elsewhere(change.path))
        begun = time.monotonic()
        for files, verdict in ((near, Verdict.KILLED), (far, Verdict.KILLED_ELSEWHERE)):
            if not files:
                continue
            limit = max(LEAST_SECONDS, SLOWER * self._usual_seconds(files))
            module = self._copy / change.path
            source = module.read_bytes()
            module.write_bytes(change.apply(source))
            try:
                failed, test = self._run(files, limit)
            finally:
                module.write_bytes(source)
            if failed:
                return Judgement(verdict, time.monotonic() - begun, test)
        return Judgement(Verdict.SURVIVED, time.monotonic() - begun)

    def _usual_seconds(self, files: tuple[str, ...]) -> float:
        """How long the tests take without a change."""
        if files not in self._usual:
            begun = time.monotonic()
            failed, test = self._run(files, 1_800.0)
            if failed:
                raise BrokenTestsError(f"{test or files[0]} fails without any change: mend it first")
            self._usual[files] = time.monotonic() - begun
        return self._usual[files]

    def _run(self, files: tuple[str, ...], limit: float) -> tuple[bool, str]:
        """Whether some test fails, or none ends in time; and which it is."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "--tb=no",
            *files,
        ]
        environment = {**os.environ, "PYTHONPATH": str(self._copy), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            command,
            cwd=self._copy,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return True, ""
        failed = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return process.returncode != 0, failed[0].split(" - ")[0].split(" ", 1)[1] if failed else ""


def _name(module: str) -> str:
    return module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
