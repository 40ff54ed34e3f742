"""Finds machines that a whole gang will fit on once the tasks expected to end there have ended.

The solver then keeps these machines free for the gang, so the search looks for few machines that lack little of what
the gang needs. The search takes machines in the order of what each lacks per task of the gang, until the gang can be
placed on them by all of its rules.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.outcome import Means
from firmament.core.placement.placing import place

MOST_TRIES = 24
"""Number of sets of machines tried for one gang.

Each set is twice as large as the last one, or half way between two.
"""


@dataclass(frozen=True, slots=True)
class RoomSearch:
    """The gangs for which machines are sought, and what machines will have free."""

    gangs: tuple[int, ...]
    """Gangs of the problem for which machines are sought."""
    in_the_end: Int64
    """int64[M, K]: what machines will have free once these tasks have ended."""
    run: Float64
    """float64[M]: longest run time so far of the tasks expected to end there; predicts how long they still run."""
    kept: Bool | None = None
    """bool[S, M]: machines that would do, but are kept for other gangs; None if no machine is kept."""


def find_gang_room(
    problem: PlacementProblem, gang: int, search: RoomSearch, means: Means
) -> Assignments | None:
    """Return places for all tasks that a gang needs, on few machines that lack little for them, or None.

    Machines that are kept for other gangs are used only if the other machines do not suffice. The solver's errors are
    raised, except for time-outs.
    """
    alone = _alone(problem, gang, search.in_the_end)
    order = _by_lack(problem, gang, search)
    best = _place_on(alone, gang, order, means) if len(order) else None
    if best is None:
        return _place_on_kept(problem, gang, search, means)
    least, most, size = 0, len(order), 1
    for _ in range(MOST_TRIES):
        if size >= most:
            size = (least + most) // 2
        if not least < size < most:
            break
        found = _place_on(alone, gang, order[:size], means)
        if found is None:
            least, size = size, size * 2
        else:
            best, most, size = found, size, (least + size) // 2
    return best


def _place_on_kept(
    problem: PlacementProblem, gang: int, search: RoomSearch, means: Means
) -> Assignments | None:
    """Return places for all tasks that a gang needs as if no machine were kept for other gangs, or None."""
    if search.kept is None:
        return None
    opened = replace(problem, feasible=problem.feasible | search.kept)
    order = _by_lack(opened, gang, search)
    return _place_on(_alone(opened, gang, search.in_the_end), gang, order, means) if len(order) else None


def _alone(problem: PlacementProblem, gang: int, in_the_end: Int64) -> PlacementProblem:
    """Return the problem of one gang alone, with the capacity that machines will have in the end."""
    counts = np.where((problem.gang == gang)[:, None], problem.counts, 0)
    need = np.where(np.arange(len(problem.gang_need)) == gang, problem.gang_need, 0)
    groups = {number: group for number, group in problem.topology.groups.items() if number == gang}
    nested = {number: group for number, group in problem.topology.nested.items() if number == gang}
    topology = replace(problem.topology, groups=groups, nested=nested)
    return replace(problem, counts=counts, gang_need=need, free=in_the_end, topology=topology)


def _by_lack(problem: PlacementProblem, gang: int, search: RoomSearch) -> Int64:
    """Return rows of the machines that may take at least one of a gang's tasks in the end.

    Machines that lack least per task come first; of these, the machines that are expected to be free soonest.
    """
    in_the_end = search.in_the_end
    least: Float64 = np.full(problem.machines, np.inf)
    for shape in np.unique(problem.shape[problem.gang == gang]).tolist():
        waiting = int(problem.counts[(problem.gang == gang) & (problem.shape == shape)].sum())
        request = problem.requests[shape]
        wanted = np.flatnonzero(request)
        if not waiting or not len(wanted):
            continue
        asked = request[wanted]
        units = np.clip((in_the_end[:, wanted] // asked).min(axis=1), 0, waiting)
        usable = problem.feasible[shape] & (units > 0)
        missing = np.maximum(units[:, None] * asked - np.maximum(problem.free[:, wanted], 0), 0)
        share = (missing / np.maximum(in_the_end[:, wanted], 1)).max(axis=1, initial=0.0)
        # Of two machines that lack equally much per task, the machine that takes more tasks comes first, as fewer
        # machines must then be drained.
        lack = share * search.run / np.maximum(units, 1) - units * 1e-9
        least = np.where(usable, np.minimum(least, lack), least)
    order = np.argsort(least, kind="stable")
    return order[np.isfinite(least[order])]


def _place_on(alone: PlacementProblem, gang: int, machines: Int64, means: Means) -> Assignments | None:
    """Return places for all tasks that a gang needs on ``machines`` (rows), or None if there are too few."""
    feasible = np.zeros_like(alone.feasible)
    feasible[:, machines] = alone.feasible[:, machines]
    placed = place(replace(alone, feasible=feasible), means).assignments
    return placed if int(placed.count.sum()) >= int(alone.gang_need[gang]) else None
