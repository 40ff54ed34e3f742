"""Draws changes by a seed, as many from each folder that matters as its share of lines asks for."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.mutants.changes import Change, list_changes

FOLDERS: Final = (
    "firmament/core/board",
    "firmament/core/commit",
    "firmament/core/constraints",
    "firmament/core/filters",
    "firmament/core/intake",
    "firmament/core/placement",
    "firmament/core/preemption",
    "firmament/core/requeue",
    "firmament/core/rescheduling",
    "firmament/core/rules",
    "firmament/core/search",
    "firmament/core/state",
    "poseidon/bridge",
    "poseidon/kube/watch",
    "poseidon/kube/write",
    "poseidon/leadership",
    "poseidon/lifecycle",
    "poseidon/pod_groups",
    "poseidon/pod_rules",
    "poseidon/pods",
    "poseidon/rescheduling",
    "poseidon/volumes",
)
"""Where a fault places a pod wrongly, loses one, or writes what nobody should write."""


def draw_changes(root: Path, count: int, seed: int) -> list[Change]:
    """Draw changes to the modules of ``FOLDERS`` below ``root``.

    Guarantees: equal sources, numbers and seeds give equal changes; no line is drawn twice; each folder gets at least
    one, and the others are shared out by how many changes each folder offers.
    """
    offered = {folder: _lines_of(root, folder) for folder in FOLDERS}
    total = sum(len(each) for each in offered.values())
    drawn: list[Change] = []
    before = 0
    for folder, lines in offered.items():
        before += len(lines)
        share = max(1, round(count * before / total) - len(drawn))
        chosen = random.Random(f"{seed} {folder}")
        keys = chosen.sample(sorted(lines), min(share, len(lines)))
        drawn += [chosen.choice(lines[key]) for key in keys]
    random.Random(seed).shuffle(drawn)
    return drawn[:count]


def list_module_changes(root: Path, paths: tuple[str, ...]) -> Iterator[Change]:
    """List all changes to the modules that are named, or lie below the folders that are."""
    for path in paths:
        place = root / path
        for module in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            yield from list_changes(module.relative_to(root).as_posix(), module.read_bytes())


def _lines_of(root: Path, folder: str) -> dict[tuple[str, int], list[Change]]:
    """Changes by path and line."""
    lines: dict[tuple[str, int], list[Change]] = {}
    for change in list_module_changes(root, (folder,)):
        if change.path.endswith("/tuning.py"):
            continue  # how long is searched, which only ever changes how good what is found is
        lines.setdefault((change.path, change.line), []).append(change)
    return lines
