"""The flow network over a set of columns.

    class ──cost──► machine ──crowding, in parallel steps──► sink
    class ────────► unscheduled aggregator ──penalty, in wait buckets──► sink

Nodes are numbered: classes, their unscheduled aggregators, the machines that occur in a column, the sink. The supply of
a class is its number of waiting tasks, so that a feasible flow always exists.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.flow.columns import Columns
from firmament.flow.equilibrium import machine_units
from firmament.flow.problem import WAIT_BUCKETS, Residual
from firmament.solvers.base import FlowProblem


@dataclass(frozen=True, slots=True)
class Network:
    """A network and what its arcs mean.

    The arcs of ``problem`` come in blocks: A columns, C' class -> aggregator, C' x WAIT_BUCKETS aggregator -> sink
    (bucket-minor), G machine steps -> sink. ``classes``: int64[C'] active classes; ``machines``: int64[M'] machine
    rows; ``column_class``, ``column_machine``: int64[A] indices into those two; ``step_machine``: int64[G] index into
    ``machines``, steps of one machine adjacent and in order of cost; ``step_count``: int64[M'].
    """

    problem: FlowProblem
    columns: Columns
    classes: Int64
    machines: Int64
    column_class: Int64
    column_machine: Int64
    step_machine: Int64
    step_count: Int64

    @property
    def blocks(self) -> tuple[slice, slice, slice, slice]:
        """Index ranges of the four blocks of arcs."""
        ends = np.cumsum(
            [len(self.columns), len(self.classes), len(self.classes) * WAIT_BUCKETS, len(self.step_machine)]
        ).tolist()
        return slice(0, ends[0]), slice(ends[0], ends[1]), slice(ends[1], ends[2]), slice(ends[2], ends[3])


@dataclass(frozen=True, slots=True)
class Penalties:
    """Cost of leaving tasks unscheduled: int64[C, WAIT_BUCKETS], falling from the longest wait to the shortest."""

    cost: Int64


def unscheduled_penalties(residual: Residual, dearest: int) -> Penalties:
    """Penalties above any gain that leaving a task could bring.

    One more task placed may push others aside, once per class or machine at most, so a task is worth the dearest
    placement (``dearest``: units) times the longest chain of such moves: nothing stays pending by choice. Among tasks
    that compete for a place, each wait bucket counts more than any difference in cost, and each rank of priority more
    than any difference in wait.
    """
    problem = residual.problem
    longest_chain = min(problem.classes, problem.machines) + 1
    step = dearest + 1
    wait = step * np.arange(WAIT_BUCKETS - 1, -1, -1, dtype=np.int64)
    return Penalties(step * longest_chain + step * WAIT_BUCKETS * problem.priority[:, None] + wait[None, :])


def dearest_path(residual: Residual) -> int:
    """Upper bound, in units, on what placing one task can cost in this round."""
    problem = residual.problem
    if problem.machines == 0:
        return 0
    most = machine_units(Residual(problem), np.arange(problem.classes)) // problem.times()
    return int(problem.cost.max(initial=0)) + int((problem.crowd * most).max(initial=0))


def crowding_cost(residual: Residual, machine: Int64, nth: Int64) -> Int64:
    """Units for the ``nth[i]`` (from 0) task of this pass on ``machine[i]``, after those admitted before."""
    problem = residual.problem
    step = problem.crowd_step()
    each = nth if problem.multiplicity is None else nth // problem.multiplicity[machine]
    return problem.crowd[machine] * ((residual.placed[machine] + each) // step * step)


def build_network(
    residual: Residual, columns: Columns, penalties: Penalties, steps: Int64, merged: Int64 | None = None
) -> Network:
    """Build the network of ``columns``; ``steps``: int64[M], how many crowding steps each machine is given.

    ``merged``: int64[M], how many first steps of each are one arc at the cost of the dearest of them, none by default.
    Flows that fill those arcs are the same as without merging, at another cost.
    """
    problem = residual.problem
    classes = residual.active()
    class_index = np.full(problem.classes, -1, dtype=np.int64)
    class_index[classes] = np.arange(len(classes))
    machines, column_machine = _reached(columns, problem.machines)
    column_class = class_index[columns.cls]
    waiting = residual.remaining.sum(axis=1)
    capacity = _column_capacity(residual, columns, waiting)
    cost = problem.cost[problem.shape[columns.cls], columns.machine].astype(np.int64)

    step_machine, step_count, step_capacity, step_cost = _crowding_steps(
        residual, machines, classes, steps, np.zeros_like(steps) if merged is None else merged
    )
    first_machine = 2 * len(classes)
    sink = first_machine + len(machines)
    aggregators = np.arange(len(classes), 2 * len(classes), dtype=np.int64)
    tails = (
        column_class,
        np.arange(len(classes)),
        np.repeat(aggregators, WAIT_BUCKETS),
        first_machine + step_machine,
    )
    heads = (
        first_machine + column_machine,
        aggregators,
        np.full(len(classes) * WAIT_BUCKETS, sink),
        np.full(len(step_machine), sink),
    )
    capacities = (capacity, waiting[classes], residual.remaining[classes].ravel(), step_capacity)
    costs = (cost, np.zeros(len(classes), dtype=np.int64), penalties.cost[classes].ravel(), step_cost)
    supplies = np.zeros(sink + 1, dtype=np.int64)
    supplies[: len(classes)] = waiting[classes]
    supplies[sink] = -int(waiting.sum())
    flow_problem = FlowProblem(
        tails=np.concatenate(tails).astype(np.int32),
        heads=np.concatenate(heads).astype(np.int32),
        capacities=np.concatenate(capacities),
        costs=np.concatenate(costs),
        supplies=supplies,
    )
    return Network(
        problem=flow_problem,
        columns=columns,
        classes=classes,
        machines=machines,
        column_class=column_class,
        column_machine=column_machine,
        step_machine=step_machine,
        step_count=step_count,
    )


def _reached(columns: Columns, machines: int) -> tuple[Int64, Int64]:
    """Machines of the columns, ascending, and the place of each column's among them: int64[A]."""
    present = np.zeros(machines, dtype=np.bool_)
    present[columns.machine] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[columns.machine]


def _column_capacity(residual: Residual, columns: Columns, waiting: Int64) -> Int64:
    """How many of a class's ``waiting`` tasks (int64[C]) each column's machine takes at most: int64[A]."""
    problem = residual.problem
    capacity = np.minimum(residual.units(problem.shape[columns.cls], columns.machine), waiting[columns.cls])
    if problem.most:
        most = waiting.copy()
        most[list(problem.most)] = list(problem.most.values())
        np.minimum(capacity, most[columns.cls] * problem.times()[columns.machine], out=capacity)
    return capacity


def _crowding_steps(
    residual: Residual, machines: Int64, classes: Int64, steps: Int64, merged: Int64
) -> tuple[Int64, Int64, Int64, Int64]:
    """Machine -> sink arcs: machine index, number per machine, capacity and cost of each.

    A machine without crowding cost gets one arc for all its room; others ``steps`` arcs of ``crowd_step`` tasks for
    each machine that the row stands for, the first ``merged`` of which are one.
    """
    problem = residual.problem
    room = machine_units(residual, classes)[machines]
    times = problem.times()[machines]
    width = problem.crowd_step() * times
    flat = problem.crowd[machines] == 0
    wide = np.where(flat, np.maximum(room, 1), width)
    # What was placed before may have used part of the first step.
    used = np.where(flat, 0, residual.placed[machines] * times % width)
    count = np.minimum(np.where(flat, 1, steps[machines]), -(-(room + used) // wide))
    skipped = np.clip(merged[machines], 1, np.maximum(count, 1)) - 1
    count -= skipped
    step_machine = np.repeat(np.arange(len(machines)), count)
    nth = np.arange(len(step_machine)) - np.repeat(np.cumsum(count) - count, count)
    wide, used, skipped, room = (
        wide[step_machine],
        used[step_machine],
        skipped[step_machine],
        room[step_machine],
    )
    dearest = np.maximum((nth + skipped) * wide - used, 0)
    begin = np.where(nth == 0, 0, dearest)
    end = np.minimum((nth + skipped + 1) * wide - used, room)
    return step_machine, count, end - begin, crowding_cost(residual, machines[step_machine], dearest)
