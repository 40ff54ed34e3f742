"""Places a few plain tasks without a network, where that is certainly the optimum of the network.

The tasks of one shape are alike, and on each machine the next one costs at least as much as the one before. So giving
each in turn to the machine where it costs least is the optimum of the shape by itself. If no two shapes want the same
machine, all these optima hold together; nothing can cost less, since others only make a machine dearer. Wherever
something else has a say (rules between tasks, gangs, preferences, reservations, limits that tasks share, reports of
use, tasks that find no place), the round goes the whole way.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cost_models.firmament_policies.scarce_resources import scarce_columns
from cost_models.interface import Int64
from firmament.core.few_tasks.first_costs import CLOSED, FirstCosts, select_columns
from firmament.core.gangs.lifecycle import AdmittedTasks
from firmament.core.rules.registry import is_limited, list_ruled
from firmament.core.scoring.round_assessment import batch_of, crowding_units
from firmament.core.snapshot.grouping import RoundContext
from firmament.solvers.base import Int32

MOST_TASKS = 24
"""As many as the network restricts to the machines that they need."""

_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PlacedDirectly:
    """Tasks (int64[N] rows) and their machines (int64[N] rows); ``units``: what they cost, ``classes``: how many they
    are of, by class and priority. It holds for the cluster as of ``version``, of so many machines.
    """

    tasks: Int64
    machines: Int64
    units: int
    classes: int
    version: int
    of_machines: int


def place_directly(
    context: RoundContext, admitted: AdmittedTasks, costs: FirstCosts, now: float
) -> PlacedDirectly | None:
    """Place all that ``admitted`` calls; None if it takes the whole way to say where they go."""
    if not _is_plain(context, admitted):
        return None
    cluster, waiting = context.cluster, admitted.waiting
    tasks, known = cluster.tasks, cluster.classes.rows
    order = np.lexsort((tasks.sequence[waiting], tasks.created[waiting], tasks.cls[waiting]))
    members: dict[int, list[int]] = {}
    for row in waiting[order].tolist():
        members.setdefault(known[int(tasks.cls[row])].shape, []).append(row)
    if any(known[cls].pinned for cls in set(tasks.cls[waiting].tolist())) or not all(
        _wants_only_room(context, shape) for shape in members
    ):
        return None
    scarce = scarce_columns(cluster.resources.names, cluster.machines.capacity)
    costs.look(context, scarce)
    counts = {shape: len(rows) for shape, rows in members.items()}
    choice = _Choice(context, counts, scarce, now)
    for shape in members:
        units = costs.get(context, shape, scarce, now)
        if units is None or not choice.add(shape, units):
            return None
    placed = np.array([row for rows in members.values() for row in rows], dtype=np.int64)
    kinds = set(zip(tasks.cls[placed].tolist(), tasks.priority[placed].tolist(), strict=True))
    machines = np.array(choice.machines, dtype=np.int64)
    return PlacedDirectly(placed, machines, choice.units, len(kinds), cluster.version, len(cluster.machines))


def _is_plain(context: RoundContext, admitted: AdmittedTasks) -> bool:
    """Return whether nothing has a say in where tasks go but their costs, rules about machines, and room."""
    cluster, configuration = context.cluster, context.configuration
    waiting, reservations, needs = admitted.waiting, context.reservations, configuration.needs
    few = 0 < len(waiting) <= min(MOST_TASKS, len(cluster.machines) // 2)
    others = cluster.jobs.had_gangs or cluster.has_promises or context.evictions.under_way
    if not few or others or reservations.held or reservations.gangs.held or reservations.gangs.sought:
        return False
    if list_ruled(cluster) or cluster.constraining_models or configuration.pair_models:
        return False
    reported = cluster.machines.samples.last_change or needs.residents or needs.load or needs.arrivals
    if reported or (configuration.spread and cluster.tasks.spread[waiting].any()):
        return False
    return all(each.model.promises.per_machine for each in configuration.models)


def _wants_only_room(context: RoundContext, shape: int) -> bool:
    """Return whether tasks of a shape (row of the table) go by rules whose answers last, and have no
    preferences.
    """
    machines, rules = context.cluster.machines, context.static_rows.rules
    content = context.cluster.classes.shapes[shape]
    if content.invalid or is_limited(content):
        return False
    if next(iter(rules.passing_refusals(machines, content)), None) is not None:
        return False
    return rules.preferences(machines, content, np.ones(len(machines), dtype=np.bool_)) is None


class _Choice:
    """Chooses ``machines`` (rows) for the tasks of one shape after another; ``units``: what they cost so far."""

    def __init__(
        self, context: RoundContext, counts: Mapping[int, int], scarce: tuple[int, ...], now: float
    ) -> None:
        """``counts``: tasks by shape."""
        self._context, self._counts, self._scarce, self._now = context, counts, scarce, now
        self._turn = context.configuration.options.seed % len(context.cluster.machines)
        self.machines: list[int] = []
        self.units = 0

    def add(self, shape: int, units: Int32) -> bool:
        """Choose for the tasks of a shape; ``units``: int32[M], of a first task.

        False, if they find no place or want machines that others want as well.
        """
        count = self._counts[shape]
        rows = self._find_cheapest(units, count)
        if len(rows) < count:
            return False
        if count == 1:
            taken, cost = rows.tolist(), int(units[rows[0]])
        else:
            taken, cost = self._deal_out(shape, rows, units)
        if not set(taken).isdisjoint(self.machines):
            return False
        self.machines += taken
        self.units += cost
        return True

    def _find_cheapest(self, units: Int32, most: int) -> Int64:
        """Return rows of the ``most`` cheapest machines; those that tie at the end are taken in turn."""
        if most == 1:
            limit = units.min()
            tied = np.flatnonzero(units == limit) if limit < CLOSED else _NONE
            if self.machines:
                tied = tied[~np.isin(tied, self.machines)]
            below = _NONE
        else:
            limit = np.partition(units, most - 1)[most - 1]
            below = np.flatnonzero(units < limit)
            tied = np.flatnonzero(units == limit) if limit < CLOSED else _NONE
        if len(tied) == 0:
            return below
        at = np.searchsorted(tied, self._turn) + np.arange(most - len(below))
        return np.concatenate([below, tied.take(at, mode="wrap")])

    def _deal_out(self, shape: int, rows: Int64, units: Int32) -> tuple[list[int], int]:
        """Give the tasks of a shape, one by one, to the machine of ``rows`` that costs the next least; and that."""
        cluster = self._context.cluster
        rows = np.sort(rows)
        shapes, counts = list(self._counts), np.array(list(self._counts.values()), dtype=np.int64)
        columns = select_columns(cluster, rows, self._scarce, self._now)
        crowd = crowding_units(
            columns, batch_of(cluster, shapes, counts), self._context.configuration.models
        ).tolist()
        request = cluster.requests.get(shape)[0]
        asked = np.flatnonzero(request)
        free = columns.capacity[:, asked] - cluster.machines.used[np.ix_(rows, asked)]
        room = (free // request[asked]).min(axis=1, initial=np.iinfo(np.int64).max).tolist()
        waiting = [(int(cost), place) for place, cost in enumerate(units[rows].tolist())]
        heapq.heapify(waiting)
        taken, total = list[int](), 0
        for _ in range(self._counts[shape]):
            cost, place = heapq.heappop(waiting)
            taken.append(int(rows[place]))
            total += cost
            room[place] -= 1
            if room[place]:
                heapq.heappush(waiting, (cost + crowd[place], place))
        return taken, total
