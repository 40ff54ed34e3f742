"""Finds the changes to which no test of the mirroring folder comes: gaps that show before anything is judged."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.mutants.changes import Change
from tests.mutants.places import find_place
from tests.mutants.sharing import copy_project
from tests.mutants.traces import Traces, mirror


def list_unreached(root: Path, changes: Iterable[Change]) -> list[Change]:
    """List those of the changes within functions whose line no test of the mirroring folder runs, in order.

    Tests that start programs are not asked what these run, and tests that fail do not count.
    """
    kept = root / "build/mutants"
    copy = copy_project(root, kept / "copy-0")
    folders: dict[str, list[Change]] = {}
    for change in sorted(changes):
        folders.setdefault(mirror(root, change.path), []).append(change)
    found = []
    for folder, concerned in sorted(folders.items()):
        traces = Traces(copy, folder, kept / "traces") if folder else None
        for change in concerned:
            place = find_place((root / change.path).read_bytes(), change)
            if place.function is None:
                continue
            if traces is None or not traces.list_reaching(change.path, place.lines):
                found.append(change)
    return found
