"""Places tasks of pairs: plans domains for whole applications, then solves waves within these domains.

Each wave plans domains for the remaining tasks (see `DomainPlan`), and solves one network in which every class may
only use the machines of its domains. Each wave then admits what its network proposes. Tasks that are not admitted are
planned again with the remaining capacity. The last few tasks are placed one by one.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.board.board import Board
from firmament.core.constraints.pairs import PairState
from firmament.core.constraints.preferences import soft_cost
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual
from firmament.core.placement.outcome import Means, Placed
from firmament.core.placement.passes import place_leftovers, place_one_by_one
from firmament.core.placement.subclasses import ClassPart, Wave
from firmament.core.placement.tuning import PlacementTuning
from firmament.core.placement.waves import most_per_machine, plan_wave, solve_waves
from firmament.core.ranks import find_runs, places_in, sum_before_in_runs
from firmament.core.search.moves.application import improve_applications
from firmament.core.search.tuning import ApplicationTuning


def place_pairs(board: Board, means: Means) -> Placed:
    """Place as many tasks as possible, book them on the board, and return them in the order of admission.

    Raises ``SolverError`` if the solver fails, unless it fails because of its time limit.
    """
    pairs = board.pairs
    waves = solve_waves(board, lambda first: _plan_wave(board, pairs, means.tuning, first=first), means)
    watch = means.stopwatch()
    placed = Assignments.join([waves.assignments, place_last(board, pairs)])
    if pairs.terms.improve and pairs.terms.steers:
        placed = improve_applications(board, pairs, placed, means.tuning.applications, means.searches)
        if board.residual.remaining.any():  # a task that moved may have freed a place
            placed = Assignments.join([placed, place_last(board, pairs)])
    board.fix_pairs(placed)
    return waves.replace_assignments(placed, watch.seconds())


def _plan_wave(board: Board, pairs: PairState, tuning: PlacementTuning, *, first: bool) -> Wave | None:
    """Return the problem of the next wave, or None if no remaining task may go anywhere at present."""
    plan = DomainPlan(board, pairs, tuning.applications)
    planned: dict[int, list[tuple[int, int]]] = {cls: [] for cls in plan.classes.tolist()}
    rows, domains = np.nonzero(plan.counts)
    columns = plan.classes[rows], domains, plan.counts[rows, domains]
    for cls, domain, count in zip(*(column.tolist() for column in columns), strict=True):
        planned[cls].append((domain, count))
    inside = [pairs.terms.domain == domain for domain in range(pairs.terms.domains)]
    decided = {
        cls: _split_by_domain(board, cls, parts, inside, first=first) for cls, parts in planned.items()
    }
    return plan_wave(board, tuning.pinned_up_to, first=first, decided=decided)


def _split_by_domain(
    board: Board, cls: int, planned: list[tuple[int, int]], inside: list[Bool], *, first: bool
) -> list[ClassPart]:
    """Return the parts of a class, one per domain of the plan. ``planned``: pairs of a domain and a number of tasks."""
    rules = board.rules_of(cls)
    if not (rules.binding or rules.soft):
        return [ClassPart(cls, count, inside[domain]) for domain, count in planned]
    open_to = board.find_fitting(cls, paired=False)
    soft = soft_cost(board.rules, cls, open_to)
    found = []
    for domain, count in planned:
        allowed = open_to & inside[domain]
        machines = int(np.count_nonzero(allowed))
        if machines:
            most = most_per_machine(board.rules, cls, count, machines, first=first)
            found.append(ClassPart(cls, count, allowed, None if soft is None else soft.points, most))
    return found


def place_rest_of_pairs(board: Board) -> Assignments:
    """Place the remaining tasks one by one, book them on the board, and return them in the order of placing."""
    placed = place_last(board, board.pairs)
    board.fix_pairs(placed)
    return placed


def place_last(board: Board, pairs: PairState) -> Assignments:
    """Place remaining tasks one by one: tasks of applications where limits allow them, then all others."""
    residual = board.residual
    placed = place_one_by_one(board, list_paired_classes(residual, pairs).tolist(), paired=True)
    kept = list_paired_classes(residual, pairs)
    held_back = residual.remaining[kept].copy()
    residual.remaining[kept] = 0
    others = place_leftovers(board)
    residual.remaining[kept] = held_back
    return Assignments.join([placed, others])


# --- Domains of applications: decides before each wave how many tasks of each class go to which domain.
#
# Applications are handled in chunks, and the workloads of a chunk in the order of their stage. All workloads of one
# stage are decided together; workloads that depend on each other are in different stages. A workload goes to the domain
# where the sum of three costs is least: the cost of its pairs with tasks that are placed or planned, the machines' mean
# cost, and the crowding that the plan causes. The flow chooses the machines within a domain.


def list_paired_classes(residual: Residual, pairs: PairState) -> Int64:
    """Return the classes that have waiting tasks and belong to an application."""
    active = residual.active()
    kind = pairs.rules.kind[active]
    return active[(kind >= 0) & (np.append(pairs.terms.group, -1)[kind] >= 0)]


class DomainPlan:
    """The plan of a wave: ``counts``, int64[B, D], is how many tasks of each of ``classes`` go to each domain.

    The plan may contain fewer tasks than wait, if capacity is lacking or because of limits. ``pairs``: the state of
    pairs after the plan.
    """

    def __init__(self, board: Board, pairs: PairState, tuning: ApplicationTuning) -> None:
        residual = board.residual
        self.classes = list_paired_classes(residual, pairs)
        self.pairs = pairs.copy()
        self.counts = np.zeros((len(self.classes), pairs.terms.domains), dtype=np.int64)
        self._waiting = residual.remaining[self.classes].sum(axis=1)
        self._kind = pairs.rules.kind[self.classes]
        self._alone = self.pairs.self_paired(self._kind)
        self._room = _DomainRoom(board, self.classes, pairs)
        for chunk in self._chunks(residual, tuning.chunks):
            for members in chunk:
                self._assign(members)

    def _chunks(self, residual: Residual, most: int) -> list[list[Int64]]:
        """Return indices of classes by chunk (``most`` at most) and stage, the most important applications first."""
        terms = self.pairs.terms
        group, stage = terms.group[self._kind], terms.stage[self._kind]
        priority = residual.problem.priority[self.classes]
        highest = np.full(int(group.max(initial=-1)) + 1, -1, dtype=np.int64)
        np.maximum.at(highest, group, priority)
        groups = np.flatnonzero(highest >= 0)
        order = groups[np.lexsort((groups, -highest[groups]))]
        rank = places_in(order, len(highest))
        size = 1 if self.pairs.linked else -(-len(order) // most)
        chunk = rank[group] // max(1, size)
        by = np.lexsort((np.arange(len(chunk)), stage, -priority, chunk))
        keys = np.stack([chunk[by], -priority[by], stage[by]])
        cuts = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
        result: list[list[Int64]] = [[] for _ in range(int(chunk.max(initial=-1)) + 1)]
        for members in np.split(by, cuts) if len(by) else []:
            # Links are booked task by task, so the plan decides classes that share a link one after another.
            parts = np.split(members, len(members)) if self.pairs.linked else [members]
            result[int(chunk[members[0]])] += parts
        return result

    def _assign(self, members: Int64) -> None:
        """Assign the tasks of each class to its best domain, and tasks that do not fit there to the next best."""
        left = self._waiting[members]
        while True:
            todo = np.flatnonzero(left > 0)
            if not len(todo):
                return
            classes = members[todo]
            view = self.pairs.view(self._kind[classes])
            room = np.where(view.allowed, self._room.count_room(classes), 0)
            if self.pairs.linked:
                room = np.minimum(room, self.pairs.link_room(self._kind[classes]))
            cost = np.where(room > 0, view.cost + self._room.price(classes), np.inf)
            best = np.argmin(cost, axis=1)
            entry = np.arange(len(todo))
            found = np.isfinite(cost[entry, best])
            step = np.where(self._alone[classes], 1, left[todo])
            take = np.where(found, np.minimum(step, room[entry, best]), 0)
            take = self._room.jointly(classes, best, take)
            if not take.any():
                return
            self._book(classes, best, take)
            left[todo] -= take
            left[todo[~found]] = 0

    def _book(self, classes: Int64, domains: Int64, counts: Int64) -> None:
        np.add.at(self.counts, (classes, domains), counts)
        self.pairs.count(self._kind[classes], domains, counts)
        self._room.book(classes, domains, counts)


class _DomainRoom:
    """What domains can take of each class, and at what cost, reduced by what the plan uses of them on average."""

    def __init__(self, board: Board, classes: Int64, pairs: PairState) -> None:
        residual, problem = board.residual, board.residual.problem
        self._domain, domains = pairs.terms.domain, pairs.terms.domains
        self._requests = problem.requests[problem.shape[classes]]
        self._profile = np.empty(len(classes), dtype=np.int64)
        number: dict[tuple[int, int], int] = {}
        alone: list[Float64] = []
        price: list[Float64] = []
        for index, cls in enumerate(classes.tolist()):
            shape = int(problem.shape[cls])
            # Pins and rules between tasks concern one class; all other classes of a shape find the same machines open.
            special = cls if cls in problem.pins or board.rules_of(cls).binding else -1
            row = number.get((shape, special))
            if row is None:
                row = number[shape, special] = len(alone)
                open_to = (
                    residual.find_fitting(shape) if special < 0 else board.find_fitting(cls, paired=False)
                )
                units, mean = self._compute_profile(residual, shape, open_to, domains)
                if board.rules_of(cls).excludes_itself():
                    units = np.minimum(units, self._sum(open_to.astype(np.float64), domains))
                alone.append(units)
                price.append(mean)
            self._profile[index] = row
        self._left = np.array(alone).reshape(-1, domains)
        self._price = np.array(price).reshape(-1, domains)
        self._free = np.stack([self._sum(np.maximum(row, 0), domains) for row in residual.free])
        size = np.maximum(1.0, self._sum(np.ones(len(self._domain)), domains))
        self._growth = self._sum(problem.crowd, domains) / size**2
        self._planned = np.zeros(domains)

    def _sum(self, per_machine: Int64 | Float64, domains: int) -> Float64:
        return np.bincount(self._domain, weights=per_machine, minlength=domains).astype(np.float64)

    def _compute_profile(
        self, residual: Residual, shape: int, open_to: Bool, domains: int
    ) -> tuple[Float64, Float64]:
        """Return how many tasks of a shape fit each domain, and its open machines' mean cost: float64[D] each."""
        problem = residual.problem
        machines = np.flatnonzero(open_to)
        at = self._domain[machines]
        units = residual.count_fitting(np.full(len(machines), shape), machines)
        cost = problem.cost[shape, machines] + problem.crowd[machines] * residual.placed[machines]
        count = np.maximum(1, np.bincount(at, minlength=domains))
        return (
            np.bincount(at, weights=np.minimum(units, 2**31), minlength=domains).astype(np.float64),
            np.bincount(at, weights=cost, minlength=domains) / count,
        )

    def count_room(self, classes: Int64) -> Int64:
        """Return how many tasks of each class each domain still takes: int64[B, D]."""
        room = self._left[self._profile[classes]]
        for column, free in enumerate(self._free):
            request = self._requests[classes, column]
            asks = np.flatnonzero(request)
            room[asks] = np.minimum(room[asks], np.floor(free / request[asks, None]))
        return np.maximum(room, 0).astype(np.int64)

    def price(self, classes: Int64) -> Float64:
        """Return the cost units for one more task of each class in each domain, without pairs: float64[B, D]."""
        return self._price[self._profile[classes]] + self._growth * self._planned

    def jointly(self, classes: Int64, domains: Int64, counts: Int64) -> Int64:
        """Return ``counts`` reduced so that the tasks fit together; the first entry of each domain is never reduced."""
        by = np.argsort(domains, kind="stable")
        at = domains[by]
        runs_of = find_runs(at)
        fits = np.ones(len(by), dtype=np.bool_)
        for column, free in enumerate(self._free):
            load = (self._requests[classes, column] * counts)[by]
            fits &= (sum_before_in_runs(load, *runs_of) + load <= free[at]) | (load == 0)
        taken = np.zeros_like(counts)
        taken[by[fits]] = counts[by[fits]]
        return taken

    def book(self, classes: Int64, domains: Int64, counts: Int64) -> None:
        """Book what tasks use of their domains; negative counts release it."""
        for column in range(len(self._free)):
            np.subtract.at(self._free[column], domains, self._requests[classes, column] * counts)
        np.subtract.at(self._left, (self._profile[classes], domains), counts)
        np.add.at(self._planned, domains, counts)
