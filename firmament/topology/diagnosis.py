"""Why a group finds no place: the level and the rule that stand in the way, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.topology.reach import Reach, reach
from firmament.topology.rules import Rule, Shortage, limits
from firmament.topology.tree import Tree


def shortage(tree: Tree, slots: Int64, size: int, rules: Sequence[Rule], held: Int64) -> Shortage:
    """What to tell about a group that cannot be placed; arguments as of `GroupSolver.place`.

    Rules are added from the leaves up; the first level that leaves no placement gets the blame.
    """
    room = int((np.maximum(slots, 0) + held).sum())
    if room < size:
        return Shortage("", f"{room} of {size} pods fit", room)
    active = [Rule() for _ in rules]
    found = reach(tree, slots, size, active, held)
    for level in range(len(rules) - 1, -1, -1):
        active[level] = rules[level]
        found = reach(tree, slots, size, active, held)
        if not found.whole >> size & 1:
            break
    placeable = max(found.whole.bit_length() - 1, 0)
    text = f"level {tree.levels[level]}: {_obstacle(tree, level, size, rules[level], found)}"
    if placeable:
        text += f"; {placeable} of {size} pods fit by this rule"
    there = int(held.sum())
    if there:
        text += f", {there} of them running"
    return Shortage(tree.levels[level], text, placeable)


def _obstacle(tree: Tree, level: int, size: int, rule: Rule, found: Reach) -> str:
    """The rule that cannot be kept, with figures."""
    highest = found.shares[level].highest()
    able = int((highest > 0).sum())
    if rule.hard and rule.kind == "pack":
        most = int(highest.max(initial=0))
        whose = f"all {size} pods" if level == 0 else f"the share of each {tree.levels[level - 1]}"
        return f"hard pack wants {whose} on one unit, the largest holds {most}"
    if rule.hard:
        return f"hard spread wants one pod on each unit, {able} units can take one, {size} pods"
    bound = limits(rule)
    if bound.units:
        if level == 0 and bound.low * bound.units <= size:
            share = size // bound.units if rule.kind == "spread" else max(bound.low, 1)
            able = int((highest >= share).sum())
            if able < bound.units:
                return f"{bound.units} partitions wanted, {able} units can hold their share"
        return f"{bound.units} partitions wanted" + _each(rule)
    return f"pods per unit{_each(rule)}, {able} units can hold so many"


def _each(rule: Rule) -> str:
    """The range and the factor of a rule, in words."""
    parts = []
    if rule.least or rule.most:
        parts.append(f"{max(rule.least, 1)} to {rule.most}" if rule.most else f"at least {rule.least}")
    if rule.factor > 1:
        parts.append(f"multiples of {rule.factor}")
    return " of " + ", ".join(parts) if parts else ""
