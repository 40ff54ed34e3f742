"""Places a group over a tree exactly: if any placement keeps the rules, the solver finds the best one.

*Best* is a comparison in this order; each point decides if all points before it are equal:

1. Level by level from the top, how well the counts of its units obey the level's rule, all units of the level together.
   With rule *pack*, fewer used units are better, then a larger largest, second largest, ... count. With rule *spread*,
   a smaller largest, second largest, ... count is better. Hard rules leave nothing to compare.

2. Level by level from the top, without the leaves: how many pods the used units could hold, all together. With
   "best-fit", a smaller number of pods is better, so that small groups do not break up empty domains; with
   "roomiest", a larger one is; "cheapest" does not compare it. ``counted`` says by which resources pods count.

3. The sum of ``cost`` over the pods.

4. How many pods the used leaves could hold, as in point 2.

Among placements that are equal in all four points, the order of the tree decides, the same way each time. Of siblings
that are alike, the earlier one gets no fewer pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from cost_models.interface import Int64
from firmament.core.reasons import format_number
from firmament.core.tree_solver.answers import answer
from firmament.core.tree_solver.count_vectors import find_reachable, get_lowest, make_progression
from firmament.core.tree_solver.questions import ask
from firmament.core.tree_solver.reach import ReachableShares, reach, room_of
from firmament.core.tree_solver.tree import Rule, Shortage, Tree, limits

Choice = Literal["best-fit", "roomiest", "cheapest"]
CHOICES: tuple[Choice, ...] = ("best-fit", "roomiest", "cheapest")
_SIGN = {"best-fit": 1, "roomiest": -1, "cheapest": 0}


@dataclass(frozen=True, slots=True)
class ExactSolver:
    """Finds the best placement of a group, as the module defines it.

    ``choice``: which of otherwise equal domains are used.
    """

    choice: Choice = "best-fit"

    def place(
        self,
        tree: Tree,
        slots: Int64,
        size: int,
        rules: Sequence[Rule],
        cost: Int64,
        held: Int64,
        counted: Int64 | None = None,
    ) -> Int64 | Shortage:
        """Return how many of the group's pods each leaf holds, int64[L], or why the group cannot be placed.

        ``slots``: int64[L], how many more pods each leaf takes (below 0 counts as 0); ``size``: all pods of the group;
        ``rules``: one per level, top to bottom; ``cost``: int64[L], charged for each pod on the leaf, at most 2**62 in
        sum; ``held``: int64[L], pods of the group that are there already and stay; ``counted``: int64[L], how many more
        pods each leaf takes by the resources by which domains are compared, None for ``slots``. The answer, int64[L],
        sums to ``size``, is nowhere below ``held`` nor above ``held + slots``, and keeps every strict rule. Equal input
        gives equal answers.
        """
        enough = int((np.clip(slots, 0, size) + held).sum()) >= size
        found = reach(tree, slots, size, rules, held) if enough else None
        if found is None or not found.whole >> size & 1:
            return find_shortage(tree, slots, size, rules, held)
        if counted is not None:
            found = replace(found, room=room_of(tree, counted, held))
        return divide(tree, found, size, rules, cost, _SIGN[self.choice])


# --- Divides a group over a tree if it is known how many pods each unit can hold.


def divide(
    tree: Tree, found: ReachableShares, size: int, rules: Sequence[Rule], cost: Int64, sign: int
) -> Int64:
    """Return how many of ``size`` pods each leaf holds in the best placement: int64[L]; ``found`` proves there is one.

    Questions go down the tree, answers come back up, and the placement is read from the answers, beginning at the root.
    ``sign``: 1 if domains that could hold few pods are better, -1 for those that could hold many, 0 if that does not
    matter.
    """
    asked = ask(tree, found, rules, size)
    answers = answer(tree, found, rules, cost, sign, asked)
    shares = np.full(1, size, dtype=np.int64)
    for level in range(len(rules)):
        first = tree.first_children(level).tolist()
        code = asked[level].units * (size + 1) + asked[level].shares
        below = np.zeros(tree.count_units(level), dtype=np.int64)
        used = np.flatnonzero(shares)
        questions = np.searchsorted(code, used * (size + 1) + shares[used])
        for unit, question in zip(used.tolist(), questions.tolist(), strict=True):
            start, end = first[unit], first[unit + 1]
            below[start:end] = answers[level].held[question][: end - start]
        shares = below
    return shares


# --- Says why a group cannot be placed: the level and the rule that cannot be kept, and how many pods could be placed.


def find_shortage(tree: Tree, slots: Int64, size: int, rules: Sequence[Rule], held: Int64) -> Shortage:
    """Return why a group cannot be placed; arguments are as for `ExactSolver.place`.

    Rules are added from the leaves up; the first level that leaves no placement is named as the reason.
    """
    there = int(held.sum())
    if there > size:
        run = "runs" if there == 1 else "run"
        return Shortage("", f"{format_number(there, 'pod')} {run} already, more than the size {size}", 0)
    room = int((np.clip(slots, 0, size) + held).sum())
    if room < size:
        return Shortage("", _describe_fit(room, size) + _running(held), room)
    active = [Rule() for _ in rules]
    found = reach(tree, slots, size, active, held)
    for level in range(len(rules) - 1, -1, -1):
        active[level] = rules[level]
        found = reach(tree, slots, size, active, held)
        if not found.whole >> size & 1:
            break
    placeable = max(found.whole.bit_length() - 1, 0)
    text = f"level {tree.levels[level]}: {_obstacle(tree, level, size, rules[level], found)}"
    text += (
        f"; at most {_describe_fit(placeable, size)}"
        if placeable
        else f"; none of {format_number(size, 'pod')} fits"
    )
    return Shortage(tree.levels[level], text + " by this rule" + _running(held), placeable)


def _count_with_verb(number: int, noun: str) -> str:
    return f"{format_number(number, noun)} {'is' if number == 1 else 'are'}"


def _describe_fit(room: int, size: int) -> str:
    """Return how many pods of a group fit, in words: ``1 of 4 pods fits``, ``0 of 1 pod fits``."""
    return f"{room} of {format_number(size, 'pod')} {'fits' if 1 in (room, size) else 'fit'}"


def _running(held: Int64) -> str:
    """Return a remark about pods of the group that run already, "" if there are none."""
    there = int(held.sum())
    return f" ({there} of them running)" if there else ""


def _obstacle(tree: Tree, level: int, size: int, rule: Rule, found: ReachableShares) -> str:
    """Return a text that says, with figures, why the rule of a level cannot be kept."""
    highest = found.shares[level].highest()
    able, most = int((highest > 0).sum()), int(highest.max(initial=0))
    whose = (
        f"all {format_number(size, 'pod')}"
        if level == 0
        else f"the whole share of each {tree.levels[level - 1]}"
    )
    if rule.hard and rule.kind == "pack":
        return f"hard pack wants {whose} on one unit, the largest holds {most}"
    if rule.hard:
        return f"hard spread wants one pod on each unit, {format_number(able, 'unit')} can take one"
    bound = limits(rule)
    each = _each(rule)
    if not bound.units:
        return f"pods per unit: {each}; {format_number(able, 'unit')} can hold such a share"
    wanted = f"{format_number(bound.units, 'partition')} wanted" + (
        f" (pods per unit: {each})" if each else ""
    )
    share = max(size // bound.units if rule.kind == "spread" else 1, bound.low)
    if level == 0 and share <= size:
        able = int((highest >= share).sum())
    return wanted + (
        f", {format_number(able, 'unit')} can hold their share" if able < bound.units or level == 0 else ""
    )


def _each(rule: Rule) -> str:
    """Return the range and the factor of a rule in words."""
    parts = []
    if rule.least or rule.most:
        parts.append(f"{max(rule.least, 1)} to {rule.most}" if rule.most else f"at least {rule.least}")
    if rule.factor > 1:
        parts.append(f"multiples of {rule.factor}")
    return ", ".join(parts)


# --- Finds rules that a tree cannot keep however empty it is.


def list_inconsistencies(
    rules: Sequence[Rule], levels: Sequence[str], size: int, units: Sequence[int]
) -> tuple[str, ...]:
    """Return a line for people on each rule of a group that no tree of this size can keep; () if there is none.

    ``rules``, ``levels`` (names) and ``units`` (how many there are): top to bottom. Only the size of the tree counts,
    so a group without such a line may still find no place.
    """
    if size < 1:
        return (f"size {size}: a group has at least 1 pod",)
    lines = []
    for rule, level, number in zip(rules, levels, units, strict=True):
        line = _alone(rule, size, number)
        if line:
            lines.append(f"level {level}: {line}")
    return tuple(lines) or _together(rules, levels, size, units)


def _alone(rule: Rule, size: int, units: int) -> str:
    """Return what is wrong with one rule, whatever the other rules are; "" if nothing is."""
    if rule.hard:
        short = rule.kind == "spread" and units < size
        wanted = f"hard spread wants a unit for each of {format_number(size, 'pod')}"
        return f"{wanted}, the tree has {units}" if short else ""
    bound = limits(rule)
    there, hold = format_number(units, "unit"), "holds" if units == 1 else "hold"
    low, high = format_number(bound.low, "pod"), format_number(bound.high, "pod")
    factor, needed = rule.factor, max(rule.partitions, 1)
    checks = (
        (0 < rule.most < rule.least, f"min {rule.least} is above max {rule.most}"),
        (
            0 < bound.high < bound.low,
            f"no multiple of factor {factor} is from {max(rule.least, 1)} to {rule.most}",
        ),
        (
            size % bound.step,
            f"{_count_with_verb(size, 'pod')} no multiple of factor {factor}, {size % bound.step} too many",
        ),
        (
            rule.partitions > units,
            f"{format_number(rule.partitions, 'partition')} wanted, the tree has {there}",
        ),
        (
            needed * bound.low > size,
            f"{format_number(needed, 'unit')} of at least {low} wanted, the group has {size}",
        ),
        (
            bound.high and not rule.partitions and units * bound.high < size,
            f"{there} of at most {high} {hold} {units * bound.high} of {size}",
        ),
    )
    return next((line for wrong, line in checks if wrong), "")


def _together(
    rules: Sequence[Rule], levels: Sequence[str], size: int, units: Sequence[int]
) -> tuple[str, ...]:
    """Return a line on the first level, from the leaves up, whose rules allow no group of this size; () if none.

    Units count as empty.
    """
    loose = [Rule() for _ in rules]
    for level in range(len(rules) - 1, -1, -1):
        loose[level] = rules[level]
        possible = _possible(loose, size, units)
        if not possible >> size & 1:
            near = [str(count) for count in _around(possible, size)]
            hint = f"; possible sizes near it: {' and '.join(near)}" if near else ""
            below = " with the rules below it" if level + 1 < len(rules) else ""
            return (
                f"level {levels[level]}: {format_number(size, 'pod')} cannot be divided by this rule{below}{hint}",
            )
    return ()


def _possible(rules: Sequence[Rule], size: int, units: Sequence[int]) -> int:
    """Return the set (bits, see `count_vectors`) of group sizes up to 2 * ``size`` that rules allow on empty units."""
    top = 2 * size
    counts = 0
    for level in range(len(rules), 0, -1):
        bound = limits(rules[level - 1])
        allowed = make_progression(bound.low, min(bound.high or top, top), bound.step)
        counts = allowed if level == len(rules) else counts & allowed
        # Every unit above has at least one child, so no unit has more children than this.
        most = units[level - 1] - (units[level - 2] - 1 if level > 1 else 0)
        if bound.units > most:
            return 0
        counts = find_reachable([(counts, False)] * (bound.units or most), bound.units, top)
    return counts


def _around(possible: int, size: int) -> list[int]:
    """Return the largest possible size below ``size`` and the smallest one above, if they exist."""
    below, above = possible & ((1 << size) - 1), possible >> size
    found = [below.bit_length() - 1] if below else []
    return found + ([size + get_lowest(above)] if above else [])
