"""Poses covering problems: how much a task lacks on each machine, and how much each task there would free.

Besides resources, rules between tasks are columns of the problem. For a task with anti-affinity, all excluded tasks in
its domain must leave. For a task with a spread rule, as many tasks must leave as its domain has too many. Only tasks on
the task's own machine are chosen as victims, not those on other machines of the domain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.counters import RuleState
from firmament.core.constraints.topology_spread_skew import find_highest_count
from firmament.core.preemption.node_state import PreemptionState


@dataclass(frozen=True, slots=True)
class CoverProblem:
    """What must become free on R machines for a task, and which of at most J tasks per machine may leave.

    The problem has D columns, and only contains machines where it is enough to evict all tasks that may leave.
    """

    rows: Int64
    """int64[R], machine of each row."""
    slots: Int64
    """int64[R, J], tasks on each machine, V for no task."""
    open: Bool
    """bool[R, J], tasks that may leave."""
    size: Int64
    """int64[R, J, D], what each task would give back, 0 if the task may not leave."""
    deficit: Int64
    """int64[R, D], what the machine lacks; 0 or negative if it lacks nothing."""
    whole: Bool
    """bool[G], gangs that may leave as a whole; all others lose no more members than they can spare."""
    forced: Bool
    """bool[R, J], tasks that leave in any case; ``deficit`` counts them, so they are not ``open`` and have size 0."""

    def most_helpful_first(self) -> Int64:
        """Return indices of tasks; first come those that give back the largest part of what is lacking: int64[R, J]."""
        lacking = np.maximum(self.deficit, 0)
        given = np.minimum(self.size, lacking[:, None, :]) / np.maximum(lacking, 1)[:, None, :]
        return np.argsort(-given.sum(axis=2), axis=1, kind="stable")

    def narrow(self, rows: Int64, open_to: Bool, forced: Bool) -> CoverProblem:
        """Return the problem on ``rows`` (indices, int64[N]) where only ``open_to`` may leave and ``forced`` must.

        Rows are left out if these evictions do not suffice there.
        """
        size = self.size[rows]
        deficit = self.deficit[rows] - (size * forced[:, :, None]).sum(axis=1)
        size = size * open_to[:, :, None]
        fits = (deficit <= size.sum(axis=1)).all(axis=1)
        where = rows[fits]
        return CoverProblem(
            self.rows[where],
            self.slots[where],
            open_to[fits],
            size[fits],
            deficit[fits],
            self.whole,
            forced[fits] | self.forced[where],
        )


def build_cover_problem(now: PreemptionState, cls: int, rows: Int64, blocked: Bool) -> CoverProblem:
    """Return the covering problem of a class on the machines ``rows``, which the class may use.

    ``blocked``: bool[V], tasks that must not be chosen, besides tasks that are gone or not less important.
    """
    may_go = np.append(now.may_go(cls) & ~blocked, False)
    slots = _slots(now, rows)
    request = now.request(cls)
    wanted = np.flatnonzero(now.heeds(cls))
    open_to = may_go[slots]
    columns: list[tuple[Int64, Int64]] = []
    possible: Bool = np.ones(len(rows), dtype=np.bool_)
    if now.rules(cls).binding:
        open_to, possible = _keep_for_attraction(now, now.state, cls, rows, slots, open_to)
        for spreading in now.rules(cls).spreadings:
            possible &= spreading.key_domain[rows] >= 0
        columns = _rule_columns(now, now.state, cls, rows, slots, open_to)
    room = request[wanted] - now.room[np.ix_(rows, wanted)]
    lacking = np.concatenate([room, *(each[:, None] for each, _ in columns)], axis=1)
    sizes = now.sizes[:, wanted][slots] * open_to[:, :, None]
    given = np.concatenate([sizes, *(each[:, :, None] for _, each in columns)], axis=2)
    possible &= (lacking <= given.sum(axis=1)).all(axis=1)
    if not possible.all():
        rows, slots, open_to = rows[possible], slots[possible], open_to[possible]
        lacking, given = lacking[possible], given[possible]
    nobody = np.zeros(slots.shape, dtype=np.bool_)
    problem = CoverProblem(rows, slots, open_to, given, lacking, now.find_whole_gangs(cls), nobody)
    if not now.rules(cls).modelled:
        return problem
    forced, opened = _find_forced(now, now.state, cls, problem)
    return problem.narrow(np.flatnonzero(opened), (open_to & ~forced)[opened], forced[opened])


def _find_forced(
    now: PreemptionState, state: RuleState, cls: int, problem: CoverProblem
) -> tuple[Bool, Bool]:
    """Return the tasks that must leave because of models' constraints, bool[R, J], and where that helps, bool[R].

    Models' constraints are no columns, as they do not say how much each task gives back. Tasks are therefore removed
    one by one, the least important first, until the constraints allow the class. After that, each task that can stay
    after all does stay.
    """
    rows, slots = problem.rows, problem.slots
    forced, opened = np.zeros(slots.shape, dtype=np.bool_), np.ones(len(rows), dtype=np.bool_)
    closed = [mask for each in state.modelled for _, mask in each.refusals(cls, rows)]
    for place in np.flatnonzero(np.logical_or.reduce(closed) if closed else ~opened).tolist():
        machine = int(rows[place])
        kinds = {
            slot: now.problem.classes + int(now.preemption.kind[slots[place, slot]])
            for slot in np.flatnonzero(problem.open[place]).tolist()
        }
        gone: list[int] = []
        for slot, kind in kinds.items():
            if now.rules(kind).modelled:
                state.add(kind, machine, -1)
                gone.append(slot)
                if _allow_by_models(state, cls, machine):
                    break
        opened[place] = _allow_by_models(state, cls, machine)
        for slot in reversed(gone):
            state.add(kinds[slot], machine, 1)
            if opened[place] and not _allow_by_models(state, cls, machine):
                state.add(kinds[slot], machine, -1)
                forced[place, slot] = True
        for slot in np.flatnonzero(forced[place]).tolist():
            state.add(kinds[slot], machine, 1)
    return forced, opened


def _allow_by_models(state: RuleState, cls: int, machine: int) -> bool:
    return all(each.allows(cls, machine) for each in state.modelled)


def _slots(now: PreemptionState, rows: Int64) -> Int64:
    """Return the tasks of each machine in the order of leaving, filled up with V: int64[R, J]."""
    first, count = now.first[rows], now.first[rows + 1] - now.first[rows]
    place = np.arange(int(count.max(initial=0)))
    return np.where(place < count[:, None], first[:, None] + place, now.preemption.victims)


def find_counted(now: PreemptionState, number: int) -> Bool:
    """Return which tasks, on any machine, a counter of a rule counts: bool[V + 1]."""
    preemption = now.preemption
    classes = now.problem.classes
    kinds = np.array(
        [number in now.rules(classes + kind).adds for kind in range(len(preemption.requests))],
        dtype=np.bool_,
    )
    return np.append(kinds[preemption.kind], False)


def _keep_for_attraction(
    now: PreemptionState, state: RuleState, cls: int, rows: Int64, slots: Int64, open_to: Bool
) -> tuple[Bool, Bool]:
    """Return the tasks that may leave without breaking the class's affinity, and the machines that satisfy it."""
    attraction = now.rules(cls).attraction
    if attraction is None:
        return open_to, np.ones(len(rows), dtype=np.bool_)
    drawn = state.find_attracted(attraction, rows)
    for number in attraction.counters:
        counter = state.rules.counters[number]
        draws = find_counted(now, number)[slots]
        domain = counter.domain[rows]
        there = np.append(state.counts[number], 0)[domain]
        lonely = there <= (draws & open_to).sum(axis=1)
        open_to = open_to & ~(draws & lonely[:, None])
    return open_to, drawn


def _rule_columns(
    now: PreemptionState,
    state: RuleState,
    cls: int,
    rows: Int64,
    slots: Int64,
    open_to: Bool,
) -> list[tuple[Int64, Int64]]:
    """Return what each anti-affinity and spread rule lacks, int64[R], and what each task gives back, int64[R, J]."""
    rules = now.rules(cls)
    columns: list[tuple[int, Int64]] = []
    for number in dict.fromkeys(each.counter for each in rules.exclusions):
        domain = state.rules.counters[number].domain[rows]
        columns.append((number, np.append(state.counts[number], 0)[domain]))
    for spreading in rules.spreadings:
        domain = spreading.key_domain[rows]
        placed = state.counts[spreading.counter]
        excess = np.append(placed, 0)[domain] - find_highest_count(spreading, placed)
        columns.append((spreading.counter, excess))
    found = []
    for number, lacking in columns:
        here = state.rules.counters[number].domain[rows] >= 0
        counts = find_counted(now, number)[slots] & open_to & here[:, None]
        found.append((lacking.astype(np.int64), counts.astype(np.int64)))
    return found
