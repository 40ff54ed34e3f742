"""Places trees of groups on a board: as the search counts it, then checked against all that tasks share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.board.board import Board
from firmament.core.flow.problem import Assignments
from firmament.core.tree_solver.nested import LinkedGroup, NestedDomains, NestedGroup
from firmament.core.tree_solver.nested_room import NestedRoom
from firmament.core.tree_solver.nested_search import NestedPlaces
from firmament.core.tree_solver.nested_solver import NestedProblem


def pose(board: Board, group: NestedGroup, domains: NestedDomains, costs: Sequence[Int64]) -> NestedProblem:
    """Return the problem of a tree on a board; ``costs``: int64[M] of each part."""
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
    most = np.stack([board.units(classes[part], machines, together=True) for part in first])
    requests = problem.requests[problem.shape[[classes[part] for part in first]]]
    room = NestedRoom(board.residual.free, requests, most, np.stack([costs[part] for part in first]))
    return NestedProblem(LinkedGroup.link(group), domains, room, shape_of)


def assign(group: NestedGroup, places: NestedPlaces) -> Assignments:
    """Return places as assignments, by machine."""
    order = np.lexsort((places.part, places.machine))
    return Assignments(group.part_class[places.part[order]], places.machine[order], places.count[order])
