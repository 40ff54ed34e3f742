"""Units of tasks that lack quota and are placed together: a single task or a gang."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.quotas.victims import Newcomer


@dataclass(frozen=True, slots=True)
class QuotaUnit:
    """Tasks that are placed together, one task or a gang; ``members``: classes and the number of tasks of each."""

    members: tuple[tuple[int, int], ...]
    newcomer: Newcomer


def put_unit(state: PreemptionState, unit: QuotaUnit) -> list[tuple[int, int]] | None:
    """Place the tasks of a unit and return the places as (class, machine), or None as soon as a task finds none."""
    places = []
    for cls, count in unit.members:
        for _ in range(count):
            machine = find_machine(state, cls)
            if machine is None:
                return None
            state.put(cls, machine)
            places.append((cls, machine))
    return places


def find_machine(state: PreemptionState, cls: int) -> int | None:
    """Return the cheapest machine that takes one more task of a class now, or None."""
    wanted = np.flatnonzero(state.heeds(cls))
    roomy = np.flatnonzero((state.room[:, wanted] >= state.request(cls)[wanted]).all(axis=1))
    places = roomy[state.usable(cls)[roomy]]
    cost = state.problem.cost[state.problem.shape[cls], places]
    for machine in places[np.argsort(cost, kind="stable")].tolist():
        if state.takes(cls, machine):
            return int(machine)
    return None
