"""Every placement of a small group, judged by the words of the rules: slow, obvious, and without the solver's code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from firmament.core.tree_solver.tree import Rule
from tests.firmament.core.tree_solver.cases import Case

Path = tuple[str, ...]


def leaf_paths(case: Case) -> list[Path]:
    """The paths of the leaves in tree order."""
    return [case.tree.leaf_path(leaf) for leaf in range(case.tree.leaves)]


def best(case: Case) -> tuple[Any, ...] | None:
    """What the best placement is worth, None if no placement keeps the rules."""
    paths = leaf_paths(case)
    worths = (
        worth(case, paths, counts)
        for counts in _all(case.slots.tolist(), case.held.tolist(), case.size)
        if keeps(case.rules, paths, counts)
    )
    return min(worths, default=None)


def keeps(rules: Sequence[Rule], paths: Sequence[Path], counts: Sequence[int]) -> bool:
    """Whether a placement keeps every strict rule."""
    for level, rule in enumerate(rules):
        children: dict[Path, list[int]] = defaultdict(list)
        for path, count in _per_unit(paths, counts, level).items():
            if count:
                children[path[:-1]].append(count)
        if not all(_obeys(rule, used) for used in children.values()):
            return False
    return True


def worth(case: Case, paths: Sequence[Path], counts: Sequence[int]) -> tuple[Any, ...]:
    """How good a placement is in the order of `firmament.core.tree_solver.solver`, less being better."""
    room = (case.slots + case.held).tolist()
    sign = {"best-fit": 1, "roomiest": -1, "cheapest": 0}[case.choice]
    obedience: list[Any] = []
    fit = []
    for level, rule in enumerate(case.rules):
        per_unit = _per_unit(paths, counts, level)
        sizes = sorted((count for count in per_unit.values() if count), reverse=True)
        if rule.kind == "spread":
            obedience.append(tuple(sizes))
        else:
            obedience.append((len(sizes), tuple(-size for size in sizes)))
        rooms = _per_unit(paths, room, level)
        fit.append(sign * sum(rooms[path] for path, count in per_unit.items() if count))
    price = sum(count * each for count, each in zip(counts, case.cost.tolist(), strict=True))
    return (*obedience, *fit[:-1], price, fit[-1])


def later_first(case: Case, paths: Sequence[Path], counts: Sequence[int]) -> Path | None:
    """A unit that holds more than an earlier sibling which is alike: same leaves with same slots, costs and pods."""
    leaves = list(zip(case.slots.tolist(), case.cost.tolist(), case.held.tolist(), strict=True))
    for level in range(len(case.rules)):
        content: dict[Path, list[tuple[Any, ...]]] = defaultdict(list)
        for path, leaf in zip(paths, leaves, strict=True):
            content[path[: level + 1]].append((path[level + 1 :], leaf))
        last: dict[tuple[Path, str], int] = {}
        for path, share in _per_unit(paths, counts, level).items():
            kind = (path[:-1], repr(content[path]))
            if share > last.get(kind, share):
                return path
            last[kind] = share
    return None


def _all(slots: Sequence[int], held: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """All counts with held <= count <= held + slots and the given sum."""
    if not slots:
        if size == 0:
            yield ()
        return
    for count in range(held[0], min(size, held[0] + slots[0]) + 1):
        for rest in _all(slots[1:], held[1:], size - count):
            yield (count, *rest)


def _per_unit(paths: Sequence[Path], values: Sequence[int], level: int) -> dict[Path, int]:
    totals: dict[Path, int] = defaultdict(int)
    for path, value in zip(paths, values, strict=True):
        totals[path[: level + 1]] += value
    return totals


def _obeys(rule: Rule, used: Sequence[int]) -> bool:
    """Whether the shares of one unit's used children are what the rule demands."""
    if rule.hard:
        return len(used) == 1 if rule.kind == "pack" else all(share == 1 for share in used)
    if rule.partitions and len(used) != rule.partitions:
        return False
    return all(
        share % rule.factor == 0 and share >= rule.least and (not rule.most or share <= rule.most)
        for share in used
    )
