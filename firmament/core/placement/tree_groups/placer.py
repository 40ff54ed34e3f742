"""Places groups over a tree one after another: counts places by the tree's rules, then gives these to tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, product

import numpy as np

from cost_models.interface import Int64
from firmament.core.board.admit_one_by_one import replay
from firmament.core.board.board import Board
from firmament.core.constraints.preferences import soft_cost
from firmament.core.flow.joint_admission import admit
from firmament.core.flow.network.network import Arcs, crowding_cost, join_arcs
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments
from firmament.core.placement.outcome import Means
from firmament.core.placement.tree_groups.alike_groups import describe_needs
from firmament.core.placement.tree_groups.nested_placer import (
    RoomCache,
    assign,
    bounds_by_requests,
    build_nested_problem,
)
from firmament.core.reasons import format_number
from firmament.core.tree_solver.groups import GroupTerms, TreeGroup
from firmament.core.tree_solver.nested.divided.solver import solve_tree
from firmament.core.tree_solver.nested.room import PlaceCost
from firmament.core.tree_solver.nested.trees import NestedGroup
from firmament.core.tree_solver.tree import Shortage
from firmament.solvers.base import Solver

UNLIKE_PLACES = "its pods may use different nodes, and no way was found to share them out by the rules"
IN_THE_WAY = "its pods are in each other's way, by limits or rules that they share"


@dataclass(frozen=True, slots=True)
class _LeafRoom:
    """What the leaves of the tree take of a group's classes.

    ``classes``: int64[B], ascending; ``slots``, ``cost``: int64[B, L], as for `assign_places`; ``counted``: int64[L],
    as for `ExactSolver.place`.
    """

    classes: Int64
    slots: Int64
    cost: Int64
    counted: Int64 | None


class GroupPlacer:
    """Places groups on ``board``, which each placed group replaces; ``shortages``: why groups were not placed."""

    def __init__(self, terms: GroupTerms, board: Board, prices: Int64, means: Means) -> None:
        """``prices``: int64[M], cost units that other tasks would pay for a place on each machine."""
        self.board = board
        self.shortages: dict[int, str] = {}
        self._problem = board.residual.problem
        self._terms = terms
        self._groups = terms.every
        self._prices = prices
        self._means = means
        self._tries = means.tuning.groups.tries
        self._refused: dict[tuple[object, ...], str] = {}
        self._steps = means.nested_steps
        self._kept = RoomCache()
        self._draws: dict[int, tuple[tuple[int, int], ...]] = {}

    def place(self, gang: int) -> Assignments:
        """Place and book a group as a whole, or nothing of it; return its places in order of admission."""
        group = self._groups[gang]
        if not group.refused and (lack := self.explain_lack_of_quota(gang)):
            self.shortages[gang] = lack
            return Assignments.empty()
        kind = self.describe_needs(gang)
        known = group.refused or self._refused.get(kind, "")
        if known:
            self.shortages[gang] = known
            return Assignments.empty()
        found = self._place_nested(group, kind) if isinstance(group, NestedGroup) else self._place(group)
        if isinstance(found, str):
            self.shortages[gang] = found
            if not self.board.ruled:  # without rules between tasks, free capacity only shrinks
                self._refused[kind] = found
            return Assignments.empty()
        self.shortages.pop(gang, None)
        return found

    def _place(self, group: TreeGroup) -> Assignments | str:
        """Place and book all tasks of a group, or return why the group cannot be placed."""
        room = self._find_room(group)
        if len(room.classes) == 1:
            return self._place_within(group, room, room.slots[0])
        # Places that every task of the group may use are tried first: any task may get any of these places.
        shared = room.slots.min(axis=0)
        found = self._place_within(group, room, shared)
        if isinstance(found, str) and (room.slots != shared).any():
            found = self._place_within(group, room, room.slots.max(axis=0))
            if found == UNLIKE_PLACES:
                return self._place_around_selective(group, room)
        return found

    def _place_nested(self, group: NestedGroup, kind: Hashable) -> Assignments | str:
        """Place and book a tree of groups, or return why the tree cannot be placed."""
        class_of = {int(self._problem.shape[cls]): cls for cls in group.part_class.tolist()}
        costs = {shape: self._make_cost(cls) for shape, cls in class_of.items()}
        of_part = [costs[int(self._problem.shape[cls])] for cls in group.part_class.tolist()]
        capped: list[tuple[Int64, Int64]] = []
        for _ in range(self._tries):
            domains = self._terms.domains
            posed = (
                build_nested_problem(self.board, group, domains, of_part)
                if capped
                else self._kept.build_nested_problem(self.board, group, domains, of_part, kind)
            )
            for full, most in capped:
                posed.room.cap(full, most)
            found = solve_tree(posed, self._steps)
            if isinstance(found, Shortage):
                return found.message
            proposed = assign(group, found)
            # If only requests limit the machines, the search has already respected all limits.
            admitted = self._admit(proposed, found.tasks, certain=bounds_by_requests(self.board))
            if isinstance(admitted, Assignments):
                return admitted
            got = admitted.residual.placed - self.board.residual.placed
            capped.append((np.flatnonzero(got < proposed.count_per_machine(self._problem.machines)), got))
        return IN_THE_WAY

    def _place_around_selective(self, group: TreeGroup, room: _LeafRoom) -> Assignments | str:
        """Place and book a group, trying leaves for classes with few usable leaves first; or return why not."""
        slots = room.slots.max(axis=0)
        selective = SelectiveClasses(group.order, room.slots, room.cost)
        for taken in islice(selective.starts(), self._tries):
            left = np.minimum(slots - taken, selective.slots_of_others)
            found = self._place_within(group, room, left, taken)
            if not isinstance(found, str):
                return found
        return UNLIKE_PLACES

    def _make_cost(self, cls: int) -> PlaceCost:
        """Return a function for the cost of one task of a class on machines as the board is now.

        If there are rules between tasks, costs are computed at once, as preferences compare all machines.
        """
        board, prices = self.board, self._prices

        def compute(machines: Int64) -> Int64:
            return (
                prices[machines] + crowding_cost(board.residual, machines) + leaf_cost(board, cls, machines)
            )

        return compute(np.arange(self._problem.machines)).take if board.ruled else compute

    def _place_within(
        self, group: TreeGroup, room: _LeafRoom, slots: Int64, taken: Int64 | None = None
    ) -> Assignments | str:
        """Place and book a group on ``taken`` and at most ``slots`` other places (int64[L]), or return why not."""
        tree = self._terms.tree
        given = np.zeros_like(slots) if taken is None else taken
        cost = room.cost[0] if len(room.classes) == 1 else room.cost.mean(axis=0).astype(np.int64)
        for _ in range(self._tries):
            counts = self._terms.solver.place(
                tree, slots, group.size, group.rules, cost, group.held + given, room.counted
            )
            if isinstance(counts, Shortage):
                return counts.message
            places = counts - group.held
            proposed = assign_places(
                group.order, places, tree.rows, room.slots, room.cost, self._means.solver
            )
            if proposed is None:
                return UNLIKE_PLACES
            admitted = self._admit(proposed, len(group.order))
            if isinstance(admitted, Assignments):
                return admitted
            slots = np.maximum(self._narrow(slots + given, room, places, admitted) - given, 0)
        return IN_THE_WAY

    # --- other orders of groups ----------------------------------------------------------------------------------

    def copy_to(self, board: Board) -> GroupPlacer:
        """Return a placer for the same groups on another board, which has no shortages noted yet."""
        twin = GroupPlacer(self._terms, board, self._prices, self._means)
        twin._draws = self._draws
        return twin

    def adopt(self, board: Board, placed: Iterable[int]) -> None:
        """Continue with another board, on which the groups in ``placed`` have places; forget earlier refusals."""
        self.board = board
        self._refused.clear()
        for gang in placed:
            self.shortages.pop(gang, None)

    def book_again(self, placed: Assignments) -> Assignments | None:
        """Book places found on another board, in an order valid here; if not all fit, book nothing and return None."""
        admitted = self._admit(placed, int(placed.count.sum()), sure=False)
        return admitted if isinstance(admitted, Assignments) else None

    def describe_needs(self, gang: int) -> tuple[object, ...]:
        """Return a key that is equal for groups that need equal places."""
        return describe_needs(self._problem, self._groups[gang])

    def explain_lack_of_quota(self, gang: int) -> str:
        """Return a message if quota is left for too few of a group's tasks, wherever they go; "" otherwise."""
        quotas, group = self.board.residual.quotas, self._groups[gang]
        if quotas is None:
            return ""
        draws = self._draws.get(gang)
        if draws is None:
            found = Counter(quotas.terms.draw[self._problem.shape[group.order]].tolist())
            draws = self._draws[gang] = tuple(found.items())
        left = sum(count if draw < 0 else min(count, quotas.count_units(draw)) for draw, count in draws)
        tasks = len(group.order)
        if left >= (max(1, group.fewest) if isinstance(group, NestedGroup) else tasks):
            return ""
        return f"quota is left for {left} of its {format_number(tasks, 'pod')}"

    def lacks_room(self, gang: int) -> bool:
        """Return whether a group requests more of some resource than all machines of the tree together have left.

        If the group lacks capacity, no other order of the groups helps it.
        """
        problem = self._problem
        group, free = self._groups[gang], self.board.residual.free
        wanted = problem.requests[problem.shape[group.order]].sum(axis=0)
        rows = slice(None) if isinstance(group, NestedGroup) else self._terms.tree.rows
        left = np.maximum(free[:, rows], 0).sum(axis=1)
        return bool((wanted > left).any())

    def shares_machines_only(self) -> bool:
        """Return whether only tasks on the same machine can get in each other's way."""
        problem = self._problem
        return not self.board.ruled and problem.takes_requests_alone and not problem.shares_room

    # --- capacity of the tree's leaves ---------------------------------------------------------------------------

    def _find_room(self, group: TreeGroup) -> _LeafRoom:
        leaves = self._terms.tree.rows
        classes = np.unique(group.order)
        slots = [self.board.count_fitting(cls, leaves) for cls in classes.tolist()]
        residual = self.board.residual
        price = self._prices[leaves] + crowding_cost(residual, leaves)
        cost = [price + leaf_cost(self.board, cls, leaves) for cls in classes.tolist()]
        return _LeafRoom(classes, np.stack(slots), np.stack(cost), self._count(int(classes[0])))

    def _count(self, cls: int) -> Int64 | None:
        """Return how many tasks fit on leaves by the counted resources: int64[L]; None if tasks request none."""
        request = self._problem.requests[self._problem.shape[cls]]
        columns = [column for column in self._terms.counted.tolist() if request[column] > 0]
        if not columns:
            return None
        free = self.board.residual.free[np.ix_(columns, self._terms.tree.rows)]
        fitting: Int64 = (free // request[columns][:, None]).min(axis=0)
        return fitting

    def _admit(
        self, proposed: Assignments, tasks: int, *, sure: bool = True, certain: bool = False
    ) -> Assignments | Board:
        """Book and return a proposed placement if all of it fits together; otherwise return a board with what fitted.

        If not all of it fits, nothing is booked on the placer's own board. ``sure``: whether each class fits alone; a
        single class then cannot fail if tasks share nothing but machines. ``certain``: whether all proposed tasks are
        known to fit together.
        """
        before = self.board
        if certain:
            before.residual.book_assignments(proposed)
            before.fix_pairs(proposed)
            return _in_order(proposed, self._terms.position)
        alone = sure and self.shares_machines_only() and len(np.unique(proposed.cls)) == 1
        trial = before if alone else before.copy()
        admitted = replay(trial, proposed) if trial.ruled else admit(trial.residual, proposed)
        trial.fix_pairs(admitted)
        if int(admitted.count.sum()) < tasks:
            return trial
        self.board = trial
        return _in_order(admitted, self._terms.position) if not trial.ruled else admitted

    def _narrow(self, slots: Int64, room: _LeafRoom, wanted: Int64, trial: Board) -> Int64:
        """Return ``slots`` without those that turned out to conflict with the places that were admitted."""
        leaves = self._terms.tree.rows
        got = trial.residual.placed[leaves] - self.board.residual.placed[leaves]
        most = np.where(got < wanted, got, slots)
        after = [trial.count_fitting(cls, leaves, together=True) for cls in room.classes.tolist()]
        return np.minimum(most, got + np.max(after, axis=0))


def leaf_cost(board: Board, cls: int, leaves: Int64) -> Int64:
    """Return what a task of a class costs on each leaf, with present preferences and pairs: int64[L], in units."""
    problem = board.residual.problem
    cost = problem.cost[problem.shape[cls], leaves].astype(np.int64)
    soft = soft_cost(board.rules, cls, np.ones(len(leaves), dtype=np.bool_), leaves)
    if soft is not None:
        cost += np.rint(soft.points * COST_UNITS_PER_POINT).astype(np.int64)
    if board.pairs.involves(cls):
        cost += np.rint(board.pairs.cost_at(cls, leaves)).astype(np.int64)
    return cost


def _in_order(placed: Assignments, position: Int64) -> Assignments:
    """Return assignments ordered by the position of their machines in the tree."""
    return placed.select(np.lexsort((placed.cls, position[placed.machine])))


# --- Assigns the tasks of a group to the places counted for the group.
#
# Tasks that are neighbours in the group's order go next to each other in the tree. If some task may not use some
# place, a small network assigns places to classes; within a class, neighbours keep their order.


def assign_places(
    order: Int64, places: Int64, machine: Int64, slots: Int64, cost: Int64, solver: Solver
) -> Assignments | None:
    """Assign a group's tasks to places, in order of the tree, or return None if not all can have a place.

    ``order``: int64[N], the class of each task; ``places``: int64[L], places per leaf, N in all; ``machine``: int64[L],
    the row of each leaf. ``slots``, ``cost``: int64[B, L], for each of the B classes, in ascending order: how many of
    its tasks fit on each leaf alone, and what one of them costs there.
    """
    classes, of_task = np.unique(order, return_inverse=True)
    used = np.flatnonzero(places)
    leaf = np.repeat(used, places[used])
    straight = np.zeros((len(classes), len(used)), dtype=np.int64)
    np.add.at(straight, (of_task, np.searchsorted(used, leaf)), 1)
    counts = straight
    if (straight > slots[:, used]).any():
        wanted = np.bincount(of_task, minlength=len(classes))
        found = _transport(wanted, places[used], slots[:, used], cost[:, used], solver)
        if found is None:
            return None
        counts = found
    at, cls = np.nonzero(counts.T)
    return Assignments(classes[cls], machine[used[at]], counts[cls, at])


class SelectiveClasses:
    """The classes of a group that may use fewer leaves than others, and sets of leaves where they could go."""

    def __init__(self, order: Int64, slots: Int64, cost: Int64) -> None:
        """``order``, ``slots``, ``cost``: as for `assign_places`."""
        self._wanted = np.unique(order, return_counts=True)[1]
        self._slots = slots
        self._cost = cost
        by_choice = np.argsort(slots.sum(axis=1), kind="stable")
        self._classes = by_choice[:-1].tolist()  # the least selective class can use the leaves left
        self.slots_of_others: Int64 = slots[by_choice[-1]]
        """int64[L], how many tasks of the least selective class fit on each leaf."""

    def starts(self) -> Iterator[Int64]:
        """Yield tasks per leaf, int64[L], for different first leaves of the selective classes, cheap ones first.

        The tasks of a class occupy consecutive leaves, as many as fit on each.
        """
        first = [self._leaves(cls) for cls in self._classes]
        for leaves in product(*first):
            taken = np.zeros(self._slots.shape[1], dtype=np.int64)
            for cls, leaf in zip(self._classes, leaves, strict=True):
                left = np.roll(np.maximum(self._slots[cls] - taken, 0), -leaf)
                before = np.cumsum(left) - left
                taken += np.roll(np.clip(self._wanted[cls] - before, 0, left), leaf)
            if int(taken.sum()) == int(self._wanted[self._classes].sum()):
                yield taken

    def _leaves(self, cls: int) -> list[int]:
        leaves = np.flatnonzero(self._slots[cls])
        cheapest: list[int] = leaves[np.argsort(self._cost[cls, leaves], kind="stable")].tolist()
        return cheapest


def _transport(wanted: Int64, places: Int64, slots: Int64, cost: Int64, solver: Solver) -> Int64 | None:
    """Return the cheapest tasks of each class per leaf: int64[B, U], at most ``slots``; None if not all have a place.

    The rows sum to ``wanted`` (int64[B]), the columns to ``places`` (int64[U]). Errors of the solver are raised.
    """
    classes, leaves = slots.shape
    row, column = np.nonzero(slots)
    sink = classes + leaves
    dearest = int(cost.max(initial=0)) + 1
    tasks = int(wanted.sum())
    solution = solver.solve(
        join_arcs(
            np.concatenate([wanted, np.zeros(leaves, dtype=np.int64), [-tasks]]),
            Arcs(row, classes + column, slots[row, column], cost[row, column]),
            Arcs(np.arange(classes, sink), sink, places, 0),
            # Leaving a task without a place costs more than all other tasks together can save.
            Arcs(np.arange(classes), sink, wanted, dearest * tasks),
        )
    )
    if solution.flows[len(row) + leaves :].any():
        return None
    counts = np.zeros_like(slots)
    counts[row, column] = solution.flows[: len(row)]
    return counts
