"""Builds the flow network over a set of columns (arcs class -> machine), for the solver.

    class ──cost──► machine ──crowding, in parallel steps──► sink
    class ────────► unscheduled aggregator ──penalty, in wait buckets──► sink

The nodes are numbered in this order: classes, their unscheduled aggregators, the machines that occur in a column, the
sink. The supply of a class is its number of waiting tasks. The arcs over the aggregator can take all tasks, so a
feasible flow always exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.problem import WAIT_BUCKETS
from firmament.core.flow.residual import Residual, machine_units
from firmament.core.ranks import count_up, places_in
from firmament.solvers.base import FlowProblem, Int32


@dataclass(frozen=True, slots=True)
class Network:
    """A network for the solver, and the classes and machines that its arcs stand for.

    The arcs of ``problem`` come in four blocks: A columns; C' arcs class -> aggregator; C' x WAIT_BUCKETS arcs
    aggregator -> sink, those of a class side by side; G crowding steps machine -> sink.
    """

    problem: FlowProblem
    """The network in the form that the solver reads."""
    columns: ArcColumns
    """The class -> machine arcs."""
    classes: Int64
    """int64[C'], rows of the classes with waiting tasks."""
    machines: Int64
    """int64[M'], rows of the machines that occur in a column."""
    column_class: Int64
    """int64[A], class of each column, as an index into ``classes``."""
    column_machine: Int64
    """int64[A], machine of each column, as an index into ``machines``."""
    step_machine: Int64
    """int64[G], machine of each step, as an index into ``machines``.
    The steps of a machine are adjacent, in order of cost.
    """
    step_count: Int64
    """int64[M'], number of step arcs per machine."""
    steps: Steps
    """The crowding steps before any of them are merged."""

    @property
    def blocks(self) -> tuple[slice, slice, slice, slice]:
        """Index ranges of the four blocks of arcs."""
        ends = np.cumsum(
            [
                len(self.column_class),
                len(self.classes),
                len(self.classes) * WAIT_BUCKETS,
                len(self.step_machine),
            ]
        ).tolist()
        return slice(0, ends[0]), slice(ends[0], ends[1]), slice(ends[1], ends[2]), slice(ends[2], ends[3])


def dearest_path(residual: Residual) -> int:
    """Return an upper bound, in hundredths of a point, on the cost of placing one task in this round."""
    problem = residual.problem
    if problem.machines == 0:
        return 0
    most = machine_units(Residual(problem), np.arange(problem.classes)) // problem.times()
    return int(problem.cost.max(initial=0)) + int((problem.crowd * most).max(initial=0))


def compute_unscheduled_penalties(residual: Residual, dearest: int) -> Int64:
    """Return what leaving a task unscheduled costs, more than any gain: int64[C, WAIT_BUCKETS]; longest wait first.

    Placing one more task may push other tasks to other machines, at most one task per class or machine. A penalty is
    therefore the dearest placement (``dearest``: units) times the longest chain of such moves, so the flow leaves no
    task waiting that has a place. Among tasks that compete for a place, each wait bucket counts more than any
    difference in cost, and each rank of priority counts more than any difference in wait.
    """
    problem = residual.problem
    longest_chain = min(problem.classes, problem.machines) + 1
    step = dearest + 1
    wait = step * np.arange(WAIT_BUCKETS - 1, -1, -1, dtype=np.int64)
    penalties: Int64 = step * longest_chain + step * WAIT_BUCKETS * problem.priority[:, None] + wait[None, :]
    return penalties


def crowding_cost(residual: Residual, machine: Int64, nth: Int64 | int = 0) -> Int64:
    """Return what the ``nth[i]`` task (from 0) of this pass pays for crowding on ``machine[i]``, in units."""
    problem = residual.problem
    step = problem.crowd_step()
    each = nth if problem.multiplicity is None else nth // problem.multiplicity[machine]
    return problem.crowd[machine] * ((residual.placed[machine] + each) // step * step)


class Arcs(NamedTuple):
    """Arcs of one kind: each field is an array int[N], or one number for all arcs."""

    tails: Int64 | Int32 | int
    heads: Int64 | Int32 | int
    capacities: Int64 | int
    costs: Int64 | int


def join_arcs(supplies: Int64, *kinds: Arcs) -> FlowProblem:
    """Return the flow problem with the arcs of all ``kinds``, in this order."""
    columns = (
        np.concatenate(part) for part in zip(*(np.broadcast_arrays(*kind) for kind in kinds), strict=True)
    )
    tails, heads, capacities, costs = columns
    return FlowProblem(
        tails.astype(np.int32),
        heads.astype(np.int32),
        capacities.astype(np.int64, copy=False),
        costs.astype(np.int64, copy=False),
        supplies,
    )


def build_network(
    residual: Residual, columns: ArcColumns, penalties: Int64, steps: Int64, merged: Int64 | None = None
) -> Network:
    """Return the network of ``columns``; ``steps``: int64[M], how many crowding steps each machine gets.

    ``merged``: int64[M], how many first steps of each machine form one arc at the cost of the dearest of them; None: no
    steps are merged. A flow that fills the merged arcs is also a flow without merging, but at another cost.
    """
    problem = residual.problem
    classes = residual.active()
    present = np.zeros(problem.machines, dtype=np.bool_)
    present[columns.machine] = True
    machines, column_machine = np.flatnonzero(present), (np.cumsum(present) - 1)[columns.machine]
    column_class = places_in(classes, problem.classes)[columns.cls]
    waiting = residual.remaining.sum(axis=1)
    capacity, cost = column_arcs(residual, columns)

    given = Steps(
        crowd=problem.crowd[machines],
        placed=residual.placed[machines],
        times=problem.times()[machines],
        room=machine_units(residual, classes)[machines],
        most=steps[machines],
        step=problem.crowd_step(),
    )
    arcs = given.arcs(None if merged is None else merged[machines])
    first_machine = 2 * len(classes)
    sink = first_machine + len(machines)
    aggregators = np.arange(len(classes), 2 * len(classes), dtype=np.int64)
    remaining, penalty = residual.remaining[classes].ravel(), penalties[classes].ravel()
    supplies = np.zeros(sink + 1, dtype=np.int64)
    supplies[: len(classes)] = waiting[classes]
    supplies[sink] = -int(waiting.sum())
    return Network(
        problem=join_arcs(
            supplies,
            Arcs(column_class, first_machine + column_machine, capacity, cost),
            Arcs(np.arange(len(classes)), aggregators, waiting[classes], 0),
            Arcs(np.repeat(aggregators, WAIT_BUCKETS), sink, remaining, penalty),
            Arcs(first_machine + arcs.machine, sink, arcs.capacity, arcs.cost),
        ),
        columns=columns,
        classes=classes,
        machines=machines,
        column_class=column_class,
        column_machine=column_machine,
        step_machine=arcs.machine,
        step_count=arcs.count,
        steps=given,
    )


def whole_network(residual: Residual, fits: dict[int, Bool], penalties: Int64, most: int) -> Network | None:
    """Return the network of all columns and steps, or None if it has more than ``most`` of them."""
    problem, classes = residual.problem, residual.active()
    steps = machine_units(residual, classes)
    if len(classes) * problem.machines + int(steps.sum()) > most:
        return None
    rows, machines = [], []
    for cls in classes.tolist():
        row = np.flatnonzero(fits[int(problem.shape[cls])])
        if cls in problem.pins:
            row = np.intersect1d(row, problem.pins[cls], assume_unique=True)
        rows.append(np.full(len(row), cls))
        machines.append(row)
    if not any(map(len, rows)):
        return None
    columns = ArcColumns(np.concatenate(rows), np.concatenate(machines))
    return build_network(residual, columns, penalties, steps)


def column_arcs(residual: Residual, columns: ArcColumns) -> tuple[Int64, Int64]:
    """Return two int64[A]: how many waiting tasks each column can take, and the cost of each task on it."""
    problem = residual.problem
    waiting, shapes = residual.remaining.sum(axis=1), problem.shape[columns.cls]
    capacity = np.minimum(residual.count_fitting(shapes, columns.machine), waiting[columns.cls])
    if problem.most:
        most = waiting.copy()
        most[list(problem.most)] = list(problem.most.values())
        np.minimum(capacity, most[columns.cls] * problem.times()[columns.machine], out=capacity)
    return capacity, problem.cost[shapes, columns.machine].astype(np.int64)


def flow_cost(network: Network, flows: Int64) -> int:
    """Return the cost of a flow in hundredths of a point; each task pays its own step even where steps are merged."""
    *others, steps = network.blocks
    before = slice(others[0].start, others[-1].stop)
    taken = np.bincount(network.step_machine, weights=flows[steps], minlength=len(network.machines))
    return int(flows[before] @ network.problem.costs[before]) + network.steps.cost(taken.astype(np.int64))


# --- Machine -> sink arcs: each further task on a machine costs more, in parallel steps of equal width.


@dataclass(frozen=True, slots=True)
class StepArcs:
    """Crowding steps as arcs: ``machine``: int64[G], index of the machine.

    The steps of a machine are adjacent, in order of cost.

    ``count``: int64[M'], number of arcs of each machine; ``capacity``, ``cost``: int64[G].
    """

    machine: Int64
    count: Int64
    capacity: Int64
    cost: Int64

    def drop_empty(self) -> StepArcs:
        """Return the arcs whose capacity is above 0; ``count`` still counts all arcs."""
        some = self.capacity > 0
        return StepArcs(self.machine[some], self.count, self.capacity[some], self.cost[some])


@dataclass(frozen=True, slots=True)
class Steps:
    """Crowding steps of some machines at the beginning of a pass; all fields are int64[M'], except ``step``.

    ``crowd``: units of cost that a task adds for the next one; ``times``: number of machines that the row stands for;
    ``placed``: tasks admitted earlier in the round on each of these machines; ``room``: most tasks that the row takes;
    ``most``: most steps that the row gets, each of ``step`` tasks per machine. A row without crowding has one step for
    all tasks that it takes.
    """

    crowd: Int64
    placed: Int64
    times: Int64
    room: Int64
    most: Int64
    step: int

    def arcs(self, merged: Int64 | None = None) -> StepArcs:
        """Return the arcs; ``merged``: int64[M'], how many first steps of a row become one, at the dearest cost."""
        width, used, count = self._sizes()
        skipped = np.zeros_like(count)
        if merged is not None:
            skipped = np.clip(merged, 1, np.maximum(count, 1)) - 1
        count = count - skipped
        machine = np.repeat(np.arange(len(count)), count)
        nth = count_up(count)
        width, used, room = width[machine], used[machine], self.room[machine]
        last = nth + skipped[machine]
        dearest = np.maximum(last * width - used, 0)
        begin = np.where(nth == 0, 0, dearest)
        end = np.minimum((last + 1) * width - used, room)
        ahead = self.placed[machine] + dearest // self.times[machine]
        return StepArcs(machine, count, end - begin, self.crowd[machine] * (ahead // self.step * self.step))

    def count_arcs(self) -> int:
        """Return the number of arcs if no steps are merged."""
        return int(self._sizes()[2].sum())

    def cost(self, tasks: Int64) -> int:
        """Return the crowding cost of ``tasks`` (int64[M']) in hundredths of a point; each task pays its own step."""
        full, rest = np.divmod(tasks, self.times)
        after = self.placed + full
        whole = sum_steps(after, self.step) - sum_steps(self.placed, self.step)
        return int((self.crowd * (self.times * whole + rest * (after // self.step * self.step))).sum())

    def _sizes(self) -> tuple[Int64, Int64, Int64]:
        """Return three int64[M']: tasks per step, tasks placed earlier in the first step, and the number of steps."""
        width = self.step * self.times
        flat = self.crowd == 0
        wide = np.where(flat, np.maximum(self.room, 1), width)
        used = np.where(flat, 0, self.placed * self.times % width)
        count = np.minimum(np.where(flat, 1, self.most), -(-(self.room + used) // wide))
        return wide, used, count


def sum_steps(height: Int64, step: int) -> Int64:
    """Return the sum over k < height of floor(k / step) * step."""
    full, rest = np.divmod(height, step)
    total: Int64 = step * step * (full * (full - 1) // 2) + full * step * rest
    return total
