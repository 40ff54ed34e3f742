"""What the rules of a group mean, told in the simplest way: plain dicts, every way to share out, one rule at a time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

Rules = Mapping[str, Mapping[str, object]]
"""Constraints by level, as they stand in a record."""


def broken(counts: Mapping[tuple[str, ...], int], levels: Sequence[str], rules: Rules) -> list[str]:
    """The rules that a placement breaks. ``counts``: tasks by the path of each machine."""
    faults = []
    for depth, level in enumerate(levels):
        shares: dict[tuple[str, ...], dict[str, int]] = {}
        for path, count in counts.items():
            if count:
                below = shares.setdefault(path[:depth], {})
                below[path[depth]] = below.get(path[depth], 0) + count
        for parent, below in shares.items():
            faults += [
                f"{level} below {'/'.join(parent) or 'root'}: {fault}"
                for fault in _of(below, rules.get(level, {}))
            ]
    return faults


def _of(below: Mapping[str, int], rule: Mapping[str, object]) -> list[str]:
    """Faults of one parent's share, ``below``: tasks of each used unit."""
    spread = rule.get("type") == "spread"
    if rule.get("hard"):
        if spread:
            return [] if max(below.values()) == 1 else ["hard spread"]
        return [] if len(below) == 1 else ["hard pack"]
    faults = []
    partitions = rule.get("partitions", 0)
    if partitions and len(below) != partitions:
        faults.append("partitions")
    least, most = rule.get("min", 0), rule.get("max", 0)
    if least and most and not all(least <= count <= most for count in below.values()):  # type: ignore[operator]
        faults.append("range")
    factor = rule.get("factor", 1)
    if any(count % factor for count in below.values()):  # type: ignore[operator]
        faults.append("factor")
    return faults


def possible(
    slots: Mapping[tuple[str, ...], int],
    held: Mapping[tuple[str, ...], int],
    size: int,
    levels: Sequence[str],
    rules: Rules,
) -> bool:
    """Whether there is a way to share ``size`` tasks out: ``held`` ones stay, each machine takes ``slots`` more."""
    paths = sorted(slots)
    choices = [range(held.get(path, 0), held.get(path, 0) + slots[path] + 1) for path in paths]
    return any(
        sum(counts) == size and not broken(dict(zip(paths, counts, strict=True)), levels, rules)
        for counts in itertools.product(*choices)
    )
