"""In which order workers run tests: first those that mostly wait for processes, so that no worker ends with them alone.

``--dist worksteal`` cuts the list of tests into as many equal parts as there are workers, and moves tests from the end
of the longest part to workers that have run out of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final, TypeVar

import pytest

T = TypeVar("T")

WAITING: Final = frozenset(
    {
        "benchmarks",
        "deploy",
        "firmament/inspection",
        "firmament/server",
        "poseidon/app_network",
        "poseidon/demo",
        "poseidon/doctor",
        "poseidon/group_trees",
        "poseidon/live",
        "poseidon/rescheduling",
        "poseidon/testbed",
        "poseidon/ui",
        "poseidon/ui/browser",
        "programs/end_to_end",
        "programs/newer_features",
        "programs/tracing",
    }
)
"""Folders of tests that start processes, or wait for servers in this one."""

WHOLE: Final = frozenset({"poseidon/ui/browser"})
"""Folders whose tests share something that takes long to start: one worker begins with all of them."""

WORKERS_PER_CORE: Final = 2
"""While some tests wait for processes, others can run: a third of the time of all tests is waiting."""

MOST_WORKERS: Final = 8
"""Each has half a gigabyte, and takes some seconds to import all tests."""


def workers(cores: int) -> int:
    """How many workers run all tests in the least time."""
    return min(WORKERS_PER_CORE * cores, MOST_WORKERS)


def import_share(tests: Path, number: int, parts: int) -> None:
    """Import every ``parts``-th module of tests below a folder, from ``number`` on: what is compiled is kept."""
    for file in sorted(tests.rglob("test_*.py"))[number::parts]:
        with suppress(Exception, pytest.skip.Exception):  # collecting comes upon it again, and tells
            import_module(".".join(file.relative_to(tests.parent).with_suffix("").parts))


def waiting_folder(path: str) -> str:
    """The innermost folder of ``WAITING`` that a file below ``tests/`` is in; empty if it is in none."""
    folder = path.removeprefix("tests/").rpartition("/")[0]
    while folder and folder not in WAITING:
        folder = folder.rpartition("/")[0]
    return folder


def dealt(tests: Sequence[T], parts: int, path: Callable[[T], str]) -> list[T]:
    """The tests in an order whose equal parts each begin with their share of those that wait.

    ``path`` says where a test is, such as ``tests/poseidon/demo/test_command.py``. Tests of one file stay together
    as far as parts of equal length allow; what is in no folder of ``WAITING`` keeps its order.
    """
    units: dict[str, list[T]] = {}
    others: list[T] = []
    for test in tests:
        folder = waiting_folder(path(test))
        if not folder:
            others.append(test)
        else:
            units.setdefault(folder if folder in WHOLE else path(test), []).append(test)
    shares: list[list[T]] = [[] for _ in range(parts)]
    for unit in sorted(units.values(), key=len, reverse=True):
        min(shares, key=len).extend(unit)
    order: list[T] = []
    for number, share in enumerate(shares):
        length = (len(tests) - len(order)) // (parts - number)
        room = max(length - len(share), 0)
        order += [*share, *others[:room]]
        del others[:room]
    return [*order, *others]
