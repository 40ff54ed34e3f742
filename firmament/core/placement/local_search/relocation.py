"""Finds places for tasks that waves have left, by placing others of the same round elsewhere.

Networks and waves decide class by class and domain by domain; where room and rules are tight, a task may stay pending
although there is a place for it if others go elsewhere. Two bounded searches look for such placements:

1. *Rebuilding*: all tasks of the round are placed anew one by one, in random orders in which classes come the earlier
   the more often they were left over (squeaky wheel optimisation, Joslin and Clements 1999).
2. *Moving*: a pending task is put on some machine, whoever is in its way is taken up and put elsewhere. If one of those
   finds no place, it waits instead, and the next step tries to place it: a walk over placements of equal number (an
   ejection chain), which ends where one more task fits.

Nothing is given up on the way: the best placement so far is kept, and only if all of it can be placed in a valid order.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

import numpy as np

from cost_models.interface import Int64
from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments, PlacementProblem, Residual, machine_units
from firmament.core.placement.admission import in_valid_order
from firmament.core.placement.tuning import RelocationTuning


def relocate_tasks(
    problem: PlacementProblem, placed: Assignments, seed: int, tuning: RelocationTuning
) -> Assignments:
    """A placement of more of the problem's tasks than ``placed``, in a valid order, or ``placed`` itself.

    Important tasks come first: of each priority at least as many are placed as before, unless more of a higher one are.
    Deterministic for equal arguments.
    """
    tasks = int(problem.counts.sum())
    if problem.ledgers or tasks > tuning.most_tasks or cannot_be_bettered(problem, placed):
        return placed
    search = _RelocationSearch(problem, placed, seed, tuning)
    budget = (
        min(tuning.moves, tuning.moves_per_task * tasks) * tuning.small // (tuning.small + problem.machines)
    ) // _checks_of_a_move(problem, placed)
    while search.open and search.moves + tasks <= budget // 2:
        search.rebuild()
    while search.open and search.moves < budget:
        search.step()
    return search.best


def _checks_of_a_move(problem: PlacementProblem, placed: Assignments) -> int:
    """How many times as much as usual a move of the tasks that are left costs, by the number of their rules; 1 or more.

    People write a handful of rules; of classes with hundreds fewer moves are tried.
    """
    if problem.rules is None:
        return 1
    left = np.flatnonzero(problem.counts.sum(axis=1) > placed.count_per_class(problem.classes)).tolist()
    checks = sum(problem.rules.rules(cls).checks for cls in left)
    return 1 + checks // (_USUAL_CHECKS * max(1, len(left)))


_USUAL_CHECKS = 16
"""Rules of a class up to which all moves are tried."""

_Step: TypeAlias = list[tuple[int, int, bool]]
"""What one step has done, to be undone: (class, machine, whether it was put there)."""


class _RelocationSearch:
    """A walk over placements. ``best``: the best so far, in a valid order; ``moves``: tasks put down so far."""

    def __init__(
        self, problem: PlacementProblem, placed: Assignments, seed: int, tuning: RelocationTuning
    ) -> None:
        self._problem = problem
        self._tuning = tuning
        self._random = np.random.default_rng(seed)
        self._start = Residual(problem)
        self._candidates: dict[int, Int64] = {}
        self._all = Counter(
            {cls: int(count) for cls, count in enumerate(problem.counts.sum(axis=1)) if count}
        )
        self._left_over: Counter[int] = Counter()
        self.best = placed
        self.moves = 0
        self._rebuilds = 0
        self._go_on_from(placed)
        self._best_value = self._value_now

    def _go_on_from(self, placed: Assignments) -> None:
        """Make ``placed`` the placement from which the walk goes on."""
        self._now = _Arrangement(self._problem)
        self._waiting = self._all.copy()
        for cls, machine, _ in placed.tasks().entries():
            self._waiting[cls] -= 1
            self._now.put(cls, machine)
        self._value_now = self._value()

    @property
    def open(self) -> bool:
        """Whether the best placement leaves a task that might have a place."""
        return any(count > 0 and len(self._places(cls)) for cls, count in self._waiting.items())

    def rebuild(self) -> None:
        """Place everything anew, one by one; go on from there if it is the best so far."""
        self._left_over.update(cls for cls, count in self._waiting.items() if count > 0)
        former, waiting, value = self._now, self._waiting, self._value_now
        self._now, self._waiting = _Arrangement(self._problem), self._all.copy()
        queue = [cls for cls in sorted(self._all) for _ in range(self._all[cls])]
        urgency = self._random.random(len(queue))
        if (
            self._rebuilds % 2
        ):  # whole classes in turn: those who follow others find them, and room beside them
            urgency = 0.2 * urgency + self._random.random(self._problem.classes)[queue]
        self._rebuilds += 1
        urgency += np.array([self._left_over[cls] for cls in queue]) * 0.5
        order = np.lexsort((-urgency, -self._problem.priority[queue]))
        queue = [queue[index] for index in order.tolist()]
        step: _Step = []
        moved = True
        while queue and moved:
            before = len(queue)
            full: set[int] = set()
            rest = []
            for cls in queue:
                if cls in full or not self._settle(cls, step):
                    full.add(cls)
                    rest.append(cls)
            queue, moved = rest, len(rest) < before
        self._value_now = self._value()
        if self._value_now > self._best_value:
            self._best_value = self._value_now
            self.best = Assignments.of_tasks([(cls, machine) for cls, machine, _ in step])
        elif self._value_now < value:
            self._left_over.update(queue)
            self._now, self._waiting, self._value_now = former, waiting, value

    def _places(self, cls: int) -> Int64:
        """Machines on which a task of the class fits while no other task of the round is there; rules aside."""
        found = self._candidates.get(cls)
        if found is None:
            fits = self._start.fits(int(self._problem.shape[cls]))
            found = self._candidates[cls] = np.flatnonzero(self._problem.limit_to_pins(cls, fits))
        return found

    def _value(self) -> tuple[int, ...]:
        """Waiting tasks per priority, the highest first, negated: greater is better."""
        ranks = int(self._problem.priority.max(initial=0)) + 1
        waiting = [0] * ranks
        for cls, count in self._waiting.items():
            waiting[ranks - 1 - int(self._problem.priority[cls])] -= count
        return tuple(waiting)

    def step(self) -> None:
        """Put one waiting task somewhere and those in its way elsewhere; undone if that leaves more waiting."""
        classes = sorted(cls for cls, count in self._waiting.items() if count > 0 and len(self._places(cls)))
        cls = classes[int(self._random.integers(len(classes)))]
        places = self._places(cls)
        machine = int(places[int(self._random.integers(len(places)))])
        self.moves += 1
        before = self._waiting.copy()
        step: _Step = []
        if not self._make_way(cls, machine, step):
            self._undo(step, before)
            return
        self._put(cls, machine, step)
        for displaced in self._by_size([each for each, _, put in step if not put]):
            self._settle(displaced, step)
        for each in self._by_size(sorted(self._waiting)):
            while self._waiting[each] > 0 and self._settle(each, step):
                pass
        value = self._value()
        if value < self._value_now or (value > self._best_value and not self._keep(value)):
            self._undo(step, before)
        else:
            self._value_now = value

    def _keep(self, value: tuple[int, ...]) -> bool:
        """Make the present placement the best, if all of it can be placed in some order."""
        ordered = in_valid_order(self._problem, self._now.assignments())
        if ordered is None:
            return False
        self.best, self._best_value = ordered, value
        return True

    def _by_size(self, classes: list[int]) -> list[int]:
        """Classes with few places first."""
        return sorted(classes, key=lambda cls: (len(self._places(cls)), cls))

    # --- moves -----------------------------------------------------------------------------------------------------

    def _make_way(self, cls: int, machine: int, step: _Step) -> bool:
        """Take up the tasks that keep one of ``cls`` off the machine; False if that cannot be done."""
        residual, rank = self._now.board.residual, self._problem.priority[cls]
        shape = int(self._problem.shape[cls])
        while not residual.has_room_on(shape, machine):
            present = sorted({each for each in self._now.on[machine] if self._problem.priority[each] <= rank})
            if not present or len(step) >= self._tuning.most_in_the_way:
                return False
            self._take_up(present[int(self._random.integers(len(present)))], machine, step)
        while not self._now.board.rules.allows(cls, machine):
            blocking = self._blocking(cls, machine)
            if not blocking or len(step) >= self._tuning.most_in_the_way:
                return False
            self._take_up(*blocking[int(self._random.integers(len(blocking)))], step)
        return residual.has_room_on(shape, machine)

    def _blocking(self, cls: int, machine: int) -> list[tuple[int, int]]:
        """Tasks of the round, as (class, machine), that count against one of ``cls`` on the machine."""
        state, rank = self._now.board.rules, self._problem.priority[cls]
        rules = state.rules.rules(cls)
        numbers = [each.counter for each in rules.exclusions]
        numbers += [each.counter for each in rules.spreadings if each.own]
        for number in numbers:
            domain = state.rules.counters[number].domain
            if domain[machine] < 0 or not state.counts[number][domain[machine]]:
                continue
            found = [
                (each, row)
                for row in np.flatnonzero(domain == domain[machine]).tolist()
                for each in dict.fromkeys(self._now.on[row])
                if number in state.rules.rules(each).adds and self._problem.priority[each] <= rank
            ]
            if found:
                return found
        return []

    def _settle(self, cls: int, step: _Step) -> bool:
        """Put one waiting task of a class where it may go."""
        self.moves += 1
        machines = np.flatnonzero(self._now.board.open_to(cls))
        if len(machines) == 0:
            return False
        if self._random.random() < self._tuning.cheapest:
            machine = int(machines[np.argmin(self._cost(cls)[machines])])
        else:
            machine = int(machines[int(self._random.integers(len(machines)))])
        self._put(cls, machine, step)
        return True

    def _cost(self, cls: int) -> Int64:
        """int64[M]: units for one more task of a class, crowding by the tasks of the round included."""
        problem = self._problem
        return problem.cost[problem.shape[cls]] + problem.crowd * self._now.board.residual.placed

    def _put(self, cls: int, machine: int, step: _Step) -> None:
        self._now.put(cls, machine)
        self._waiting[cls] -= 1
        step.append((cls, machine, True))

    def _take_up(self, cls: int, machine: int, step: _Step) -> None:
        self._now.take_up(cls, machine)
        self._waiting[cls] += 1
        step.append((cls, machine, False))

    def _undo(self, step: _Step, waiting: Counter[int]) -> None:
        for cls, machine, put in reversed(step):
            if put:
                self._now.take_up(cls, machine)
            else:
                self._now.put(cls, machine)
        self._waiting = waiting


# --- How many tasks can be placed at most: where so many are, a search for more is in vain.


def most_placed(residual: Residual, classes: Int64) -> int:
    """Upper bound on the tasks of ``classes`` that ``residual`` takes together, whatever their mix.

    On each machine that some of them fits, the room divided by the smallest of their requests; rules between tasks and
    limits of models would only lower it.
    """
    shapes = np.unique(residual.problem.shape[classes]).tolist()
    fits = residual.fits_of(shapes)
    open_to = np.zeros(residual.problem.machines, dtype=np.bool_)
    for shape in shapes:
        open_to |= fits[shape]
    return int(machine_units(residual, classes)[open_to].sum())


def cannot_be_bettered(problem: PlacementProblem, placed: Assignments) -> bool:
    """Whether no placement has more tasks than ``placed`` of some priority, and as many of each higher one.

    True is certain; False says nothing. To place more of a priority, more have to be placed of it and the higher ones
    together; so it is enough that these are as many as can be, for each priority that a waiting task has.
    """
    counts = problem.counts.sum(axis=1)
    done = placed.count_per_class(problem.classes)
    residual = Residual(problem)
    for rank in np.unique(problem.priority[done < counts]).tolist():
        important = np.flatnonzero((problem.priority >= rank) & (counts > 0))
        if done[important].sum() < most_placed(residual, important):
            return False
    return True


class _Arrangement:
    """Single tasks on a board. ``on[m]``: classes of those on machine m, in the order in which they came.

    Not for problems with ledgers: what they take they do not give back.
    """

    def __init__(self, problem: PlacementProblem) -> None:
        self.board = Board(problem)
        self.on: list[list[int]] = [[] for _ in range(problem.machines)]

    def put(self, cls: int, machine: int) -> None:
        """Put one task on a machine; the caller has seen that it may go there."""
        self.board.place(cls, machine)
        self.on[machine].append(cls)

    def take_up(self, cls: int, machine: int) -> None:
        """Take one task off a machine again."""
        self.board.give_back(cls, machine)
        self.on[machine].remove(cls)

    def assignments(self) -> Assignments:
        """All tasks, one by one, by machine."""
        return Assignments.of_tasks([(cls, row) for row, tasks in enumerate(self.on) for cls in tasks])
