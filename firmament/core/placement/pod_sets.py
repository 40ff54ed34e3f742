"""Handles pod sets: tasks of a gang that take the same flavor, because their queue says so.

A pod set consists of the tasks of one class, or of all classes of a gang that name the same group of pod sets
(``Draw.together``). A flow cannot force all tasks of a pod set into one flavor. If a joint solution divides a pod set
among flavors, the set is therefore placed by itself, in one choice of flavors after another. If a solution keeps the
set in the flavors chosen, the set is then pinned to the machines of these flavors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.board.board import Board
from firmament.core.constraints.quota_flavors import (
    MOST_CHOICES,
    find_flavor_choice,
    list_flavor_choices,
    list_machine_choices,
)
from firmament.core.constraints.quota_order import QuotaOrder
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.flow.problem import Assignments, PlacementProblem


def list_pod_sets(
    problem: PlacementProblem, among: Sequence[int] | None = None, *, alone: bool = False
) -> list[list[int]]:
    """Return the classes of each pod set that has several flavors to choose from.

    ``among``: the only classes that are looked at; None: all classes. ``alone``: whether a task without a gang counts
    as a pod set, too.
    """
    terms = problem.quotas
    if terms is None or not any(terms.same_flavor):
        return []
    draw = terms.draw[problem.shape]
    gang = problem.gang if len(problem.gang) else np.full(problem.classes, -1, dtype=np.int64)
    same = np.append(terms.same_flavor, False)[terms.find_nodes_of(draw)] & ((gang >= 0) | alone)
    chosen = np.flatnonzero(same) if among is None else [cls for cls in among if same[cls]]
    sets: dict[tuple[int, str], list[int]] = {}
    for cls in map(int, chosen):
        together = terms.draws[int(draw[cls])].together if gang[cls] >= 0 else ""
        sets.setdefault((int(gang[cls]), together) if together else (-1 - cls, ""), []).append(cls)
    has_choice: dict[tuple[int, ...], bool] = {}
    for classes in sets.values():
        draws = tuple(draw[classes].tolist())
        if draws not in has_choice:
            has_choice[draws] = _has_choice(terms, draws)
    return [classes for classes in sets.values() if has_choice[tuple(draw[classes].tolist())]]


def _has_choice(terms: QuotaTerms, draws: Sequence[int]) -> bool:
    """Return whether some tasks of a pod set can choose between several flavors that cover machines."""
    return any(
        any(len(group.flavors) > 1 for group in terms.draws[draw].groups)
        and len(list_flavor_choices(terms, [draw])) > 1
        for draw in dict.fromkeys(draws)
    )


def find_divided(problem: PlacementProblem, placed: Assignments) -> Bool:
    """Return which gangs have a pod set whose machines in ``placed`` no single choice of flavors covers: bool[G]."""
    divided = np.zeros(len(problem.gang_need), dtype=np.bool_)
    for classes in list_pod_sets(problem):
        if np.isin(placed.cls, classes).any() and _find_choice(problem, classes, placed) is None:
            divided[problem.gang[classes[0]]] = True
    return divided


def _find_choice(problem: PlacementProblem, classes: Sequence[int], placed: Assignments) -> list[Bool] | None:
    """Return the machines of the first choice of flavors that covers a set in ``placed``: bool[M] for each class."""
    assert problem.quotas is not None
    draws = problem.quotas.draw[problem.shape[list(classes)]].tolist()
    machines = [placed.machine[placed.cls == cls] for cls in classes]
    return find_flavor_choice(problem.quotas, draws, machines)


def pin_pod_sets(
    problem: PlacementProblem, placed: Assignments, *, waiting: Bool | None = None
) -> PlacementProblem:
    """Return the problem with pod sets pinned to the machines of the flavors that they have in ``placed``.

    ``waiting``: bool[C], the only classes that are pinned; None: all classes.
    """
    pins = dict(problem.pins)
    for classes in list_pod_sets(problem):
        if not np.isin(placed.cls, classes).any():
            continue
        for cls, found in zip(classes, _find_choice(problem, classes, placed) or (), strict=False):
            if waiting is None or waiting[cls]:
                pins[cls] = np.flatnonzero(problem.limit_to_pins(cls, found))
    return replace(problem, pins=pins)


def list_confinements(
    problem: PlacementProblem, classes: Sequence[int], *, alone: bool = False
) -> Iterator[dict[int, Bool]]:
    """Yield each way in which the pod sets of some classes may choose flavors: by class, bool[M], the machines left.

    The choices that the queues' flavors list first come first. Without pod sets, the only choice is empty, and limits
    no class. ``alone``: as in `list_pod_sets`.
    """
    sets, terms = list_pod_sets(problem, classes, alone=alone), problem.quotas
    if terms is None or not sets:
        yield {}
        return
    choices = [list_machine_choices(terms, terms.draw[problem.shape[members]].tolist()) for members in sets]
    for choice in islice(product(*choices), MOST_CHOICES):
        yield {
            cls: left
            for members, machines in zip(sets, choice, strict=True)
            for cls, left in zip(members, machines, strict=True)
        }


def place_pod_set(
    board: Board, classes: Sequence[int], place_rest: Callable[[Board], Assignments]
) -> tuple[Board, Assignments]:
    """Return a copy of ``board`` on which the waiting tasks of a pod set have places, all in one choice of flavors.

    The choice is the one in which most tasks find places. If several choices are equal, the function takes the first
    one; if the tasks' queue prefers not to borrow, the one in which it borrows least.
    """
    problem, terms = board.problem, board.problem.quotas
    assert terms is not None
    draws: list[int] = terms.draw[problem.shape[list(classes)]].tolist()
    sparing = terms.is_sparing(terms.draws[draws[0]].node)
    best, least = (board.copy(), Assignments.empty()), (0, 0)
    order = QuotaOrder(board.residual.quotas) if sparing and board.residual.quotas is not None else None
    for machines in list_machine_choices(terms, draws):
        pins = {
            cls: np.flatnonzero(problem.limit_to_pins(cls, left))
            for cls, left in zip(classes, machines, strict=True)
        }
        trial = board.for_problem(replace(problem, pins={**problem.pins, **pins}))
        placed = place_rest(trial)
        tasks = int(placed.count.sum())
        borrows = 0
        if order is not None and tasks:
            drawn = [
                (int(terms.draw[problem.shape[cls]]), int(terms.kind[machine]), count)
                for cls, machine, count in placed.entries()
            ]
            borrows = order.find_standing(drawn).borrows
        if (-tasks, borrows) < least:
            best, least = (trial.for_problem(problem), placed), (-tasks, borrows)
    return best


def number_pod_sets(problem: PlacementProblem) -> Int64:
    """Return the number of each class's pod set, as its index in `list_pod_sets`; -1 for a class in none: int64[C]."""
    numbers = np.full(problem.classes, -1, dtype=np.int64)
    for number, classes in enumerate(list_pod_sets(problem)):
        numbers[classes] = number
    return numbers
