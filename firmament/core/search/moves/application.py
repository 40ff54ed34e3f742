"""Improves whole applications: places their tasks anew, one after another, as long as that lowers the cost.

The largest applications come first. Two kinds of search alternate for each application, while all other tasks stay.
In the first kind of search, every task moves to where it costs least until no move lowers the cost. In a second
phase, a part of the application is removed and placed in another order; the result is kept if it is cheaper (ruin and
recreate, Schrimpf et al. 2000). The number of moves limits the search, not time, so that equal rounds have equal
results.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Float64, Int64
from firmament.core.board.application import Application, ApplicationBoard
from firmament.core.board.board import Board
from firmament.core.constraints.pairs import PairState
from firmament.core.flow.problem import Assignments
from firmament.core.flow.residual import Residual
from firmament.core.ranks import group_rows, rank_in_runs
from firmament.core.search.driver import (
    SearchBudget,
    SearchFigures,
    SearchLog,
    Unsupported,
    count_unsupported,
    search,
)
from firmament.core.search.tuning import ApplicationTuning


def improve_applications(
    board: Board, pairs: PairState, placed: Assignments, tuning: ApplicationTuning, log: SearchLog
) -> Assignments:
    """Move tasks of applications in ``placed`` to lower the cost; book the moves, and return all tasks in order.

    Classes with rules about other tasks stay where they are. ``pairs``: the pairs of ``board``. Equal arguments give
    equal results.
    """
    reason = Unsupported.LEDGERS if board.problem.irrevocable else Unsupported.RULES
    staying = pairs.rules.kind >= 0
    if reason is Unsupported.RULES:
        staying &= np.isin(np.arange(len(staying)), list(board.rules.rules.of))
    unsupported = count_unsupported({reason: staying}, placed.cls, placed.count)
    log.append(SearchFigures(RebuildApplication.name, unsupported=unsupported))
    if board.problem.irrevocable or not len(placed.cls):
        return placed
    return _ApplicationSearch(board, pairs, placed.tasks(), tuning, log).improve()


class _ApplicationSearch:
    """Searches one application after another, and divides the budget of moves among the applications."""

    def __init__(
        self,
        board: Board,
        pairs: PairState,
        units: Assignments,
        tuning: ApplicationTuning,
        log: SearchLog,
    ) -> None:
        self._tuning, self._log = tuning, log
        self._residual, self._pairs = board.residual, pairs
        self._cls, self._machine = units.cls, units.machine.copy()
        kind = pairs.rules.kind[units.cls]
        self._group = np.where(kind >= 0, np.append(pairs.terms.group, -1)[kind], -1)
        movable = ~np.isin(units.cls, np.array(sorted(board.rules.rules.of), dtype=np.int64))
        self._movable = (self._group >= 0) & movable
        self._budget = tuning.moves * tuning.small // (tuning.small + len(units.cls))
        self._fixed = _by_group(
            pairs,
            np.concatenate([pairs.rules.resident_kind, kind[~movable & (kind >= 0)]]),
            np.concatenate([pairs.rules.resident_machine, units.machine[~movable & (kind >= 0)]]),
        )
        self._cheapest: dict[int, Int64] = {}

    def improve(self) -> Assignments:
        tuning, members = self._tuning, np.flatnonzero(self._movable)
        apps = [members[each] for each in group_rows(self._group[members])]
        weights = [len(app) for app in apps]
        waiting = len(members)
        for place in np.argsort(-np.array(weights), kind="stable").tolist() if apps else []:
            tasks = weights[place]
            fair = self._budget * tasks // waiting
            waiting -= tasks
            wanted = min(max(fair, tuning.least_per_task * tasks), tuning.moves_per_task * tasks)
            if wanted + tuning.to_begin <= self._budget:
                self._improve(apps[place], wanted)
        ones = np.ones(len(self._cls), dtype=np.int64)
        return Assignments(self._cls, self._machine, ones)

    def _improve(self, units: Int64, budget: int) -> None:
        """Search one application; ``units``: the indices of its tasks."""
        group = int(self._group[units[0]])
        self._book(units, -1)
        move = RebuildApplication(
            self._residual, self._pairs, self._application(group, units), self._cls[units]
        )
        moves = SearchBudget(budget)
        move.begin(self._machine[units], seed=group, budget=moves)
        self._log.append(search(move, moves, needs=len(units), patience=_PATIENCE))
        self._budget -= budget - moves.left + self._tuning.to_begin
        self._machine[units] = move.best_machines()
        self._book(units, 1)

    def _book(self, units: Int64, sign: int) -> None:
        cls, machine, signs = self._cls[units], self._machine[units], np.full(len(units), sign)
        self._residual.book(self._residual.problem.shape[cls], machine, signs)
        self._pairs.count(self._pairs.rules.kind[cls], self._pairs.terms.domain[machine], signs)

    def _application(self, group: int, units: Int64) -> Application:
        classes = np.unique(self._cls[units])
        kinds = np.flatnonzero(self._pairs.terms.group == group)
        fixed_kind, fixed_machine = self._fixed.get(group, (np.empty(0, np.int64), np.empty(0, np.int64)))
        machines = self._machines(classes, np.concatenate([self._machine[units], fixed_machine]))
        return Application(
            classes=classes,
            kinds=kinds,
            kind=np.searchsorted(kinds, self._pairs.rules.kind[classes]),
            machines=machines,
            fixed_kind=np.searchsorted(kinds, fixed_kind),
            fixed_machine=fixed_machine,
        )

    def _machines(self, classes: Int64, hosts: Int64) -> Int64:
        """Return the rows of the machines from which the tasks of some classes choose, ascending."""
        problem = self._residual.problem
        if problem.machines <= self._tuning.all_machines:
            return np.arange(problem.machines)
        shapes = np.unique(problem.shape[classes]).tolist()
        return np.unique(np.concatenate([hosts, *(self._few(shape) for shape in shapes)]))

    def _few(self, shape: int) -> Int64:
        """Return a shape's cheapest machines in each domain, as of the beginning of the search."""
        found = self._cheapest.get(shape)
        if found is None:
            problem, domain = self._residual.problem, self._pairs.terms.domain
            machines = np.flatnonzero(self._residual.find_fitting(shape))
            cost = problem.cost[shape, machines] + (problem.crowd * self._residual.placed)[machines]
            order = machines[np.lexsort((cost, domain[machines]))]
            found = self._cheapest[shape] = order[rank_in_runs(domain[order]) < self._tuning.per_domain]
        return found


def _by_group(pairs: PairState, kind: Int64, machine: Int64) -> dict[int, tuple[Int64, Int64]]:
    """Return the kinds and machines of tasks, grouped by application."""
    group = pairs.terms.group[kind]
    return {int(group[rows[0]]): (kind[rows], machine[rows]) for rows in group_rows(group)}


_PATIENCE = 40
"""Number of rebuildings in a row without a gain after which the search of an application ends."""


class RebuildApplication:
    """A move that removes part of an application, places it in another order, then moves single tasks.

    A change consists of the state before the move, and whether all tasks found places.
    """

    name = "application"

    def __init__(self, residual: Residual, pairs: PairState, app: Application, cls: Int64) -> None:
        self._app = app
        self._board = ApplicationBoard(residual, pairs, app)
        self._index = np.searchsorted(app.classes, cls)
        stage = pairs.terms.stage[app.kinds[app.kind]][self._index].astype(np.float64)
        ends = np.bincount(pairs.ends.kind, minlength=pairs.terms.kinds)
        degree = ends[app.kinds[app.kind]][self._index].astype(np.float64)
        self._orders = [stage, -stage, -degree]
        self._number = 0

    def begin(self, machines: Int64, seed: int, budget: SearchBudget) -> None:
        """Place the tasks at their present places, then move each to where it costs least."""
        self._random = np.random.default_rng(seed)
        self._at = np.searchsorted(self._app.machines, machines)
        for unit, machine in enumerate(self._at.tolist()):
            index = int(self._index[unit])
            cost, _ = self._board.row(index)
            self._board.put(index, machine, float(cost[machine]))
        self._best, self._best_cost = self._at.copy(), self._board.cost
        self._violations = self._board.violations()
        self._settle(budget)
        self._keep()

    def best_machines(self) -> Int64:
        """Return the machine row of each task in the cheapest placement."""
        return self._app.machines[self._best]

    def evaluate(self, budget: SearchBudget) -> tuple[ApplicationBoard, Int64, bool]:
        """Rebuild all tasks in each of some orders, twice, then random parts; after the first orders with noise."""
        before, at = self._board.copy(), self._at.copy()
        count, orders = len(self._index), self._orders
        if self._number < 2 * len(orders):
            chosen, order = np.arange(count), orders[self._number % len(orders)]
        else:
            chosen = self._part()
            order = orders[int(self._random.integers(3))] + self._random.random(count)
        noise = self._noise() if self._number >= len(orders) else None
        self._number += 1
        done = self._rebuild(chosen[np.argsort(order[chosen], kind="stable")], noise, budget)
        if done:
            self._settle(budget)
        return before, at, done

    def accepts(self, change: tuple[ApplicationBoard, Int64, bool]) -> bool:
        """Return whether the new placement is the best so far; store it if it is."""
        return change[2] and self._keep()

    def apply(self, change: tuple[ApplicationBoard, Int64, bool]) -> None:
        """Do nothing: evaluating has carried out the change."""

    def undo(self, change: tuple[ApplicationBoard, Int64, bool]) -> None:
        """Return to the state before the change."""
        self._board, self._at, _ = change

    def _keep(self) -> bool:
        """Store the present placement as the best if it is cheaper and violates no more limits; return whether."""
        if self._board.cost >= self._best_cost - 1e-6 or self._board.violations() > self._violations:
            return False
        self._best, self._best_cost = self._at.copy(), self._board.cost
        return True

    def _noise(self) -> Float64:
        """Return random costs per machine, in units, by which domains look more expensive than they are."""
        domain = self._board.domain
        scale = self._best_cost / max(1, len(self._index)) * self._random.random()
        return (self._random.random(int(domain.max()) + 1) * scale)[domain]

    def _part(self) -> Int64:
        """Return the tasks to remove: all tasks of some classes, all tasks in some domain, or a random part."""
        choice = int(self._random.integers(3))
        if choice == 0:
            classes = self._random.random(len(self._app.classes)) < 0.3
            chosen = np.flatnonzero(classes[self._index])
        elif choice == 1:
            domain = self._board.domain[self._at]
            chosen = np.flatnonzero(domain == domain[int(self._random.integers(len(domain)))])
        else:
            chosen = np.flatnonzero(self._random.random(len(self._index)) < 0.3)
        return chosen if len(chosen) else np.arange(len(self._index))

    def _rebuild(self, units: Int64, noise: Float64 | None, budget: SearchBudget) -> bool:
        """Remove tasks and place them again in this order; return False if one of them finds no place."""
        for unit in units.tolist():
            self._board.withdraw(int(self._index[unit]), int(self._at[unit]))
        return all(self._place(unit, noise, budget) for unit in units.tolist())

    def _place(self, unit: int, noise: Float64 | None, budget: SearchBudget) -> bool:
        budget.spend()
        index = int(self._index[unit])
        cost, fits = self._board.row(index)
        if not fits.any():
            return False
        wanted = np.where(fits, cost if noise is None else cost + noise, np.inf)
        machine = int(np.argmin(wanted))
        self._board.put(index, machine, float(cost[machine]))
        self._at[unit] = machine
        return True

    def _settle(self, budget: SearchBudget) -> None:
        """Move single tasks to where they cost least, until no such move lowers the cost."""
        moved = True
        while moved and budget.left >= len(self._index):
            moved = False
            for unit in range(len(self._index)):
                index, machine = int(self._index[unit]), int(self._at[unit])
                former = self._board.withdraw(index, machine)
                cost, fits = self._board.row(index)
                best = int(np.argmin(np.where(fits, cost, np.inf)))
                budget.spend()
                if not fits[best] or cost[best] >= former - 1e-6:
                    best = machine
                else:
                    moved = True
                self._board.put(index, best, float(cost[best]))
                self._at[unit] = best
