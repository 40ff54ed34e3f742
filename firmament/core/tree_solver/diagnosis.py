"""Why a group finds no place: the level and the rule that stand in the way, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.tree_solver.reach import Reach, reach
from firmament.core.tree_solver.rules import Rule, Shortage, limits
from firmament.core.tree_solver.tree import Tree


def shortage(tree: Tree, slots: Int64, size: int, rules: Sequence[Rule], held: Int64) -> Shortage:
    """What to tell about a group that cannot be placed; arguments as of `GroupSolver.place`.

    Rules are added from the leaves up; the first level that leaves no placement gets the blame.
    """
    there = int(held.sum())
    if there > size:
        return Shortage("", f"{there} pods run already, more than the size {size}", 0)
    room = int((np.clip(slots, 0, size) + held).sum())
    if room < size:
        return Shortage("", f"{room} of {size} pods fit" + _running(held), room)
    active = [Rule() for _ in rules]
    found = reach(tree, slots, size, active, held)
    for level in range(len(rules) - 1, -1, -1):
        active[level] = rules[level]
        found = reach(tree, slots, size, active, held)
        if not found.whole >> size & 1:
            break
    placeable = max(found.whole.bit_length() - 1, 0)
    text = f"level {tree.levels[level]}: {_obstacle(tree, level, size, rules[level], found)}"
    text += f"; at most {placeable} of {size} pods fit" if placeable else f"; none of {size} pods fits"
    return Shortage(tree.levels[level], text + " by this rule" + _running(held), placeable)


def _running(held: Int64) -> str:
    """A remark on pods that are there already."""
    there = int(held.sum())
    return f" ({there} of them running)" if there else ""


def _obstacle(tree: Tree, level: int, size: int, rule: Rule, found: Reach) -> str:
    """The rule that cannot be kept, with figures."""
    highest = found.shares[level].highest()
    able, most = int((highest > 0).sum()), int(highest.max(initial=0))
    whose = f"all {size} pods" if level == 0 else f"the whole share of each {tree.levels[level - 1]}"
    if rule.hard and rule.kind == "pack":
        return f"hard pack wants {whose} on one unit, the largest holds {most}"
    if rule.hard:
        return f"hard spread wants one pod on each unit, {able} units can take one"
    bound = limits(rule)
    each = _each(rule)
    if not bound.units:
        return f"pods per unit: {each}; {able} units can hold such a share"
    wanted = f"{bound.units} partitions wanted" + (f" (pods per unit: {each})" if each else "")
    share = max(size // bound.units if rule.kind == "spread" else 1, bound.low)
    if level == 0 and share <= size:
        able = int((highest >= share).sum())
    return wanted + (f", {able} units can hold their share" if able < bound.units or level == 0 else "")


def _each(rule: Rule) -> str:
    """The range and the factor of a rule, in words."""
    parts = []
    if rule.least or rule.most:
        parts.append(f"{max(rule.least, 1)} to {rule.most}" if rule.most else f"at least {rule.least}")
    if rule.factor > 1:
        parts.append(f"multiples of {rule.factor}")
    return ", ".join(parts)
