"""Problems with rules between tasks, small enough to follow by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.ruleset import Attraction, ClassRules, Counter, Exclusion, RuleSet
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.reasons import Reason
from tests.support.core import problem
from tests.support.rules import ints

Units = list[tuple[int, int]]


def ruled(counters: Sequence[Counter], of: Mapping[int, ClassRules], **more: object) -> PlacementProblem:
    """A problem as `problem` makes it, with rules."""
    return replace(problem(**more), rules=RuleSet(counters, of))  # type: ignore[arg-type]  # fields by name


def units(placed: Assignments) -> Units:
    """(class, machine) of every single task, in order."""
    return [
        (cls, machine)
        for cls, machine, count in zip(
            placed.cls.tolist(), placed.machine.tolist(), placed.count.tolist(), strict=True
        )
        for _ in range(count)
    ]


def proposed(*given: tuple[int, int] | tuple[int, int, int]) -> Assignments:
    """Assignments (class, machine[, count])."""
    rows = [(*each, 1)[:3] for each in given]
    return Assignments(*(ints(*(row[part] for row in rows)) for part in range(3)))


def apart(*numbers: int) -> ClassRules:
    """A class that shares no domain of these counters with its like."""
    return ClassRules(adds=numbers, exclusions=tuple(Exclusion(each, Reason.TOO_NEAR) for each in numbers))


def together(number: int) -> ClassRules:
    """A class that stays in one domain of a counter."""
    return ClassRules(adds=(number,), attraction=Attraction((number,), own=True, reason=Reason.NOT_NEAR))


def broken(given: PlacementProblem, placed: Sequence[tuple[int, int]]) -> list[str]:
    """What is wrong with placing tasks in this order: rules, room and counts, one task at a time."""
    state = RuleState(given.rules or RuleSet([]))
    free = given.free.copy()
    left = given.counts.sum(axis=1)
    faults = []
    for cls, machine in placed:
        shape = given.shape[cls]
        if not state.allows(cls, machine):
            faults.append(f"{cls} on {machine}: the rules do not allow it")
        if not given.feasible[shape, machine] or machine not in given.pins.get(cls, range(given.machines)):
            faults.append(f"{cls} on {machine}: is not open to it")
        wanted = given.requests[shape]
        if ((free[machine] < wanted) & (wanted > 0)).any():
            faults.append(f"{cls} on {machine}: there is no room")
        free[machine] -= wanted
        left[cls] -= 1
        state.add(cls, machine)
    return faults + [f"{cls}: more were placed than wait" for cls, count in enumerate(left) if count < 0]
