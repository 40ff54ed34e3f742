"""Poses trees of groups as problems of the search in ``tree_solver``, and turns the places found into assignments."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments
from firmament.core.tree_solver.nested.problem import NestedProblem
from firmament.core.tree_solver.nested.room import NestedRoom, PlaceCost
from firmament.core.tree_solver.nested.search import Hints, NestedPlaces
from firmament.core.tree_solver.nested.trees import LinkedGroup, NestedDomains, NestedGroup


class RoomCache:
    """Keeps the free capacity computed for one tree of groups for the next tree, if the next has the same shapes.

    Amounts that the earlier tree has taken no longer count as free.
    """

    def __init__(self) -> None:
        self._shapes: tuple[int, ...] = ()
        self._room: NestedRoom | None = None
        self._hints: dict[Hashable, Hints] = {}
        self._linked: dict[Hashable, LinkedGroup] = {}

    def build_nested_problem(
        self,
        board: Board,
        group: NestedGroup,
        domains: NestedDomains,
        costs: Sequence[PlaceCost],
        kind: Hashable,
    ) -> NestedProblem:
        """Return the problem of placing a tree of groups on a board; ``costs``: by part of the tree.

        ``kind``: equal for trees that need equal places, so that the domains found for one tree are tried first for the
        next.
        """
        if not bounds_by_requests(board) or board.residual.problem.pins:
            return build_nested_problem(board, group, domains, costs)
        shape = board.residual.problem.shape[group.part_class].tolist()
        shapes = tuple(dict.fromkeys(shape))
        room = self._room
        if room is None or shapes != self._shapes or not room.is_as_free_as(board.residual.free):
            posed = build_nested_problem(board, group, domains, costs)
            self._shapes, self._room = shapes, posed.room
            self._hints = {kind: posed.hints}
            self._linked = {kind: posed.group}
            return posed
        room.cost = [costs[shape.index(each)] for each in shapes]
        hints = self._hints.setdefault(kind, {})
        shape_of = [shapes.index(each) for each in shape]
        linked = LinkedGroup.link(group, self._linked.get(kind))
        self._linked.setdefault(kind, linked)
        return NestedProblem(linked, domains, room, shape_of, hints)


def bounds_by_requests(board: Board) -> bool:
    """Return whether nothing but requests limits which tasks a machine takes together."""
    problem = board.residual.problem
    alone = problem.takes_requests_alone and not problem.shares_room and problem.multiplicity is None
    return alone and not board.ruled and not problem.pairs.closes


def build_nested_problem(
    board: Board, group: NestedGroup, domains: NestedDomains, costs: Sequence[PlaceCost]
) -> NestedProblem:
    """Return the problem of placing a tree of groups on a board; ``costs``: by part of the tree."""
    problem = board.residual.problem
    classes = group.part_class.tolist()
    looks: dict[tuple[int, bytes], int] = {}
    first: list[int] = []
    shape_of = []
    for part, cls in enumerate(classes):
        pins = problem.pins.get(cls)
        alone = cls.to_bytes(8, "little") if board.ruled else b""
        key = int(problem.shape[cls]), alone + (b"" if pins is None else pins.tobytes())
        if key not in looks:
            looks[key] = len(looks)
            first.append(part)
        shape_of.append(looks[key])
    machines = np.arange(problem.machines)
    most = np.stack(
        [board.count_fitting(classes[part], machines, together=True, requests=False) for part in first]
    )
    requests = problem.requests[problem.shape[[classes[part] for part in first]]]
    cost = [costs[part] for part in first]
    room = NestedRoom(board.residual.free, requests, most, cost, problem.topology.resources)
    return NestedProblem(LinkedGroup.link(group), domains, room, shape_of)


def assign(group: NestedGroup, places: NestedPlaces) -> Assignments:
    """Return the places of a tree of groups as assignments, sorted by machine."""
    order = np.lexsort((places.part, places.machine))
    return Assignments(group.part_class[places.part[order]], places.machine[order], places.count[order])
