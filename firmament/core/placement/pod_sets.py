"""Pod sets: the tasks of one class in a gang, which take the same flavor where their queue says so.

A flow knows no flavors of whole sets. So a set is placed by itself where a joint solution divides it: in each choice
of flavors at a time. A solution that keeps to the flavors chosen then pins the set to their machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

import numpy as np

from cost_models.interface import Bool
from firmament.core.board.board import Board
from firmament.core.constraints.quota_flavors import (
    MOST_CHOICES,
    find_flavor_choice,
    iterate_machines,
    list_flavor_choices,
)
from firmament.core.constraints.quota_order import QuotaOrder
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.flow.problem import Assignments, PlacementProblem


def find_pod_sets(problem: PlacementProblem) -> Bool:
    """Return the classes whose tasks all take the same one of several flavors: bool[C]."""
    terms, sets = problem.quotas, np.zeros(problem.classes, dtype=np.bool_)
    if terms is None or not any(terms.same_flavor) or not len(problem.gang):
        return sets
    draw = terms.draw[problem.shape]
    same = np.append(terms.same_flavor, False)[terms.find_nodes_of(draw)] & (problem.gang >= 0)
    several = [number for number in np.unique(draw[same]).tolist() if _has_choice(terms, number)]
    return np.asarray(same & np.isin(draw, several))


def _has_choice(terms: QuotaTerms, draw: int) -> bool:
    """Return whether tasks of a draw have several flavors to choose from that cover machines."""
    many = any(len(group.flavors) > 1 for group in terms.draws[draw].groups)
    return many and len(list_flavor_choices(terms, draw)) > 1


def find_divided(problem: PlacementProblem, placed: Assignments) -> Bool:
    """Return the gangs with a pod set of which no choice of flavors covers all machines in ``placed``: bool[G]."""
    divided = np.zeros(len(problem.gang_need), dtype=np.bool_)
    terms, sets = problem.quotas, find_pod_sets(problem)
    if terms is None or not sets.any():
        return divided
    for cls in np.unique(placed.cls[sets[placed.cls]]).tolist():
        machines = placed.machine[placed.cls == cls]
        if find_flavor_choice(terms, int(terms.draw[problem.shape[cls]]), machines) is None:
            divided[problem.gang[cls]] = True
    return divided


def pin_pod_sets(
    problem: PlacementProblem, placed: Assignments, *, waiting: Bool | None = None
) -> PlacementProblem:
    """Return the problem with pod sets pinned to the machines of the flavors that they have in ``placed``.

    ``waiting``: bool[C], the only classes that are pinned; all if it is None.
    """
    terms, sets = problem.quotas, find_pod_sets(problem)
    if waiting is not None:
        sets &= waiting
    if terms is None or not sets.any():
        return problem
    pins = dict(problem.pins)
    for cls in np.unique(placed.cls[sets[placed.cls]]).tolist():
        machines = placed.machine[placed.cls == cls]
        found = find_flavor_choice(terms, int(terms.draw[problem.shape[cls]]), machines)
        if found is not None:
            pins[cls] = np.flatnonzero(problem.limit_to_pins(cls, found))
    return replace(problem, pins=pins)


def list_confinements(
    problem: PlacementProblem, classes: Sequence[int], *, alone: bool = False
) -> Iterator[dict[int, Bool]]:
    """Yield how the pod sets among some classes of a gang may choose flavors: by class, bool[M], the machines left.

    The first choices come first. Without pod sets, one choice that confines nobody. ``alone``: tasks that are in no
    gang are pod sets, too.
    """
    terms = problem.quotas
    if terms is None or not any(terms.same_flavor):
        yield {}
        return
    in_gang = problem.gang >= 0 if len(problem.gang) else np.zeros(problem.classes, dtype=np.bool_)
    draws = {cls: int(terms.draw[problem.shape[cls]]) for cls in classes if alone or in_gang[cls]}
    same = {cls: draw for cls, draw in draws.items() if draw >= 0 and terms.takes_same_flavor(draw)}
    chosen = [cls for cls, draw in same.items() if _has_choice(terms, draw)]
    machines = [list(iterate_machines(terms, same[cls])) for cls in chosen]
    for choice in islice(product(*machines), MOST_CHOICES):
        yield dict(zip(chosen, choice, strict=True))


def place_pod_set(
    board: Board, cls: int, place_rest: Callable[[Board], Assignments]
) -> tuple[Board, Assignments]:
    """Return a copy of ``board`` on which the waiting tasks of a pod set have places, all in one choice of flavors.

    The choice is the first in which most of them find places; if their queue would rather not borrow, the first of
    those in which it borrows least.
    """
    problem, terms = board.problem, board.problem.quotas
    assert terms is not None
    draw = int(terms.draw[problem.shape[cls]])
    sparing = terms.is_sparing(terms.draws[draw].node)
    best, least = (board.copy(), Assignments.empty()), (0, 0)
    order = QuotaOrder(board.residual.quotas) if sparing and board.residual.quotas is not None else None
    for machines in iterate_machines(terms, draw):
        rows = np.flatnonzero(problem.limit_to_pins(cls, machines))
        trial = board.for_problem(replace(problem, pins={**problem.pins, cls: rows}))
        placed = place_rest(trial)
        tasks = int(placed.count.sum())
        borrows = 0
        if order is not None and tasks:
            borrows = order.find_standing([(draw, int(terms.kind[placed.machine[0]]), tasks)]).borrows
        if (-tasks, borrows) < least:
            best, least = (trial.for_problem(problem), placed), (-tasks, borrows)
    return best
