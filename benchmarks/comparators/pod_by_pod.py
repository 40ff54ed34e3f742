"""Places pods one by one: filters all machines, scores those that fit, takes the cheapest, then the next pod.

Three ways, all vectorised over machines:

* *scored*: every pod asks the cost models about the state that the pod before it left behind, as kube-scheduler does;
* *sampled*: the same, but only until kube-scheduler's number of feasible machines is found, from where the pod before
  stopped looking;
* *kept rows*: costs are those of the round's network (rows of all shapes, plus crowding), and are kept from pod to
  pod: a placement changes one column. No scheduler that works pod by pod and compares all machines does less work.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.comparators.base import Contest, NotMeasuredError, Outcome, assignments, queue_order
from cost_models.interface import Float64, Int64, MachineColumns, ShapeBatch
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.scoring.round_assessment import raw_rows

FORBIDDEN = np.iinfo(np.int64).max


def machines_to_find(machines: int) -> int:
    """Return how many feasible nodes kube-scheduler looks for by default: 50 % - nodes / 125, at least 5 % and 100
    nodes.

    Source: ``numFeasibleNodesToFind`` in kubernetes/pkg/scheduler/schedule_one.go.
    """
    if machines < 100:
        return machines
    return max(100, machines * max(5, 50 - machines // 125) // 100)


def place_by_score(contest: Contest) -> Outcome:
    """Place pods with all machines scored for every pod; raises ``NotMeasuredError`` for models of more than
    machines and shapes.
    """
    return _one_by_one(contest, contest.problem.machines)


def place_by_sample(contest: Contest) -> Outcome:
    """Place pods with kube-scheduler's number of feasible machines scored for every pod."""
    return _one_by_one(contest, machines_to_find(contest.problem.machines))


@dataclass(slots=True)
class _State:
    """The state of all machines, stored twice in a row, so that a window that wraps around the end is one slice."""

    columns: MachineColumns
    free: Int64
    running: Int64
    feasible: np.ndarray[tuple[int, int], np.dtype[np.bool_]]

    def book(self, machine: int, request: Int64) -> None:
        """Subtract a task's requests on both copies of a machine."""
        count = len(self.running) // 2
        for copy in (machine, machine + count):
            self.free[copy] -= request
            self.running[copy] += 1


def _one_by_one(contest: Contest, wanted: int) -> Outcome:
    problem = contest.problem
    if any(weighted.model.needs.residents for weighted in contest.models) or problem.joint:
        raise NotMeasuredError("models that look at neighbours or share rows are not compared pod by pod")
    begin = time.process_time()
    state = _ring(contest)
    batches = [_single(contest.snapshot.assessed.batch, shape) for shape in range(len(problem.requests))]
    classes, machines, start, looked = [], [], 0, 0
    for cls in queue_order(problem, contest.seed).tolist():
        shape = int(problem.shape[cls])
        found, examined = _find_cheapest(contest, state, shape, batches[shape], start, wanted)
        start = (start + examined) % problem.machines
        looked += examined
        if found >= 0:
            state.book(found, problem.requests[shape])
            classes.append(cls)
            machines.append(found)
    seconds = time.process_time() - begin
    placed = assignments(classes, machines, problem.machines)
    return Outcome(placed, seconds, {"machinesPerPod": looked / max(1, int(problem.counts.sum()))})


def _ring(contest: Contest) -> _State:
    columns = contest.snapshot.assessed.machines
    free = np.concatenate([contest.problem.free] * 2)
    running = np.concatenate([columns.running] * 2)
    doubled = replace(
        columns,
        names=[*columns.names, *columns.names],
        capacity=np.concatenate([columns.capacity] * 2),
        free=free,
        running=running,
        labels=[*columns.labels, *columns.labels],
        annotations=[*columns.annotations, *columns.annotations],
        usage=np.concatenate([columns.usage] * 2),
        usage_time=np.concatenate([columns.usage_time] * 2),
    )
    return _State(doubled, free, running, np.concatenate([contest.problem.feasible] * 2, axis=1))


def _single(batch: ShapeBatch, shape: int) -> ShapeBatch:
    unstated = None if batch.unstated is None else batch.unstated[shape : shape + 1]
    one = np.ones(1, dtype=np.int64)
    return ShapeBatch(batch.requests[shape : shape + 1], one, [batch.rows[shape]], unstated=unstated)


def _find_cheapest(
    contest: Contest, state: _State, shape: int, batch: ShapeBatch, start: int, wanted: int
) -> tuple[int, int]:
    """Return the cheapest machine with room (-1: none), and how many were examined from ``start`` on."""
    count = contest.problem.machines
    request = contest.problem.requests[shape]
    span = min(count, wanted)
    while True:
        window = slice(start, start + span)
        fits = state.feasible[shape, window].copy()
        for column in np.flatnonzero(request).tolist():
            fits &= state.free[window, column] >= request[column]
        if span == count or int(fits.sum()) >= wanted:
            break
        span = min(count, span * 2)
    if wanted < count:
        enough = np.flatnonzero(fits)[wanted - 1 : wanted]
        if len(enough):
            span = int(enough[0]) + 1
            fits = fits[:span]
    if not fits.any():
        return -1, span
    cost = _score(contest, state, shape, batch, slice(start, start + span))
    cost[~fits] = np.inf
    return (start + int(np.argmin(cost))) % count, span


def _score(contest: Contest, state: _State, shape: int, batch: ShapeBatch, window: slice) -> Float64:
    """Return the cost units that models charge on the machines of a window in their present state."""
    columns = state.columns
    seen = replace(
        columns,
        names=columns.names[window],
        capacity=columns.capacity[window],
        free=np.maximum(state.free[window], 0),
        running=state.running[window],
        labels=columns.labels[window],
        annotations=columns.annotations[window],
        usage=columns.usage[window],
        usage_time=columns.usage_time[window],
    )
    preferred = contest.snapshot.assessed.preferred[shape]
    width = len(seen.names)
    total = np.zeros(width)
    if preferred is not None:
        points = np.concatenate([preferred.points] * 2)[window]
        total += points * COST_UNITS_PER_POINT
    for weighted in contest.models:
        raw = raw_rows(weighted.model.assess(seen, batch), 1, width)[0]
        total += weighted.model.range.points(raw) * (weighted.weight * COST_UNITS_PER_POINT)
    return total


def place_by_kept_rows(contest: Contest) -> Outcome:
    """Place pods by the round's own costs; each placement updates one column."""
    problem = contest.problem
    if problem.joint:
        raise NotMeasuredError("models that share rows are not compared pod by pod")
    begin = time.process_time()
    free, requests = problem.free.copy(), problem.requests
    cost = np.where(problem.feasible, problem.cost.astype(np.int64), FORBIDDEN)
    for column in range(requests.shape[1]):
        amount = requests[:, column]
        cost[(amount[:, None] > free[None, :, column]) & (amount > 0)[:, None]] = FORBIDDEN
    classes, machines = [], []
    asked = requests > 0
    for cls in queue_order(problem, contest.seed).tolist():
        shape = int(problem.shape[cls])
        row = cost[shape]
        machine = int(row.argmin())
        if row[machine] == FORBIDDEN:
            continue
        free[machine] -= requests[shape]
        here = cost[:, machine]
        lacking = (asked & (requests > free[machine])).any(axis=1) | (here == FORBIDDEN)
        cost[:, machine] = np.where(lacking, FORBIDDEN, here + problem.crowd[machine])
        classes.append(cls)
        machines.append(machine)
    return Outcome(assignments(classes, machines, problem.machines), time.process_time() - begin)
