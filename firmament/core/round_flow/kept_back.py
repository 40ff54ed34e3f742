"""Finds the reasons why tasks wait after a round's placements: why machines do not take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cost_models.interface import Bool
from firmament.core.board.board import Board
from firmament.core.diagnosis.failed_scheduling_message import explain_too_few_places
from firmament.core.filters.root_causes import RootCauses, make_root_causes, rule_refusals
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.rules.framework.node_rule import MachineRefusal
from firmament.core.rules.node_name import OUTSIDE
from firmament.core.rules.node_resources import find_refusals_by_resource

MOST_CLASSES = 100
"""Most classes that are examined; each takes some dozen passes over all machines."""

LEFT_OVER = "node(s) had room that the round did not use"
"""Reason for machines that refuse nothing: a time limit ended the round, or waiting was cheaper than the place."""

Reasons = tuple[tuple[str, int], ...]


def find_kept_back(
    problem: PlacementProblem,
    placed: Assignments,
    resources: Sequence[str],
    static: Callable[[int], list[MachineRefusal]],
) -> dict[int, Reasons]:
    """Return how many machines refuse one more task of each class that has waiting tasks after the round, by reason.

    The function puts the most important reason first. The result is the reason of most machines that were open when
    the round began. If no machine was open, the result is the reason of most of those machines that refused least,
    see ``_nearest``. ``static``: what refuses a shape besides a lack of capacity. If there are very many classes,
    only the classes with most waiting tasks are examined.
    """
    waiting = problem.counts.sum(axis=1) - placed.count_per_class(problem.classes)
    if not waiting.any():
        return {}
    concerned = np.argsort(-waiting, kind="stable")[:MOST_CLASSES]
    begin, end = Board(problem), Board(problem)
    end.book(placed)
    found = {}
    for cls in concerned[waiting[concerned] > 0].tolist():
        others = [*_outside_pins(problem, cls), *static(int(problem.shape[cls]))]
        causes = _causes(end, cls, others, resources)
        was_open = ~_causes(begin, cls, others, resources).find_refused()
        counts = _order(causes, was_open if was_open.any() else _nearest(causes))
        found[cls] = (*counts, *_of_open(problem, cls, causes))
    return found


def _causes(board: Board, cls: int, others: Sequence[MachineRefusal], resources: Sequence[str]) -> RootCauses:
    """Return for a board why each machine refuses one more task of a class."""
    problem = board.problem
    lacking = find_refusals_by_resource(
        board.residual.free.T, problem.requests[int(problem.shape[cls])], resources
    )
    return make_root_causes(problem.machines, [*others, *lacking, *rule_refusals(board.refusals(cls))])


def _nearest(causes: RootCauses) -> Bool:
    """Return which machines failed only the last filters and, of these, have the fewest reasons: bool[M]."""
    if not causes.refusals:
        return causes.find_refused()
    stages = np.array([cause.reason.stage for cause, _ in causes.refusals])[causes.code]
    last = causes.find_refused() & (stages == stages[causes.find_refused()].max(initial=0))
    reasons_each = np.sum(list(causes.machines().values()), axis=0)
    return last & (reasons_each == reasons_each[last].min(initial=len(causes.refusals)))


def _order(causes: RootCauses, matter: Bool) -> list[tuple[str, int]]:
    """Return the number of machines by reason; first the reason of most machines that ``matter`` (bool[M])."""
    found = [
        (-int((affected & matter).sum()), -int(affected.sum()), text)
        for text, affected in causes.machines().items()
    ]
    return [(text, -machines) for _, machines, text in sorted(found)]


def _outside_pins(problem: PlacementProblem, cls: int) -> Iterator[MachineRefusal]:
    if cls in problem.pins:
        yield MachineRefusal(OUTSIDE, ~problem.limit_to_pins(cls, np.ones(problem.machines, dtype=np.bool_)))


def _of_open(problem: PlacementProblem, cls: int, causes: RootCauses) -> Iterator[tuple[str, int]]:
    """Yield a reason for the machines that refuse nothing, and their number."""
    machines = int((~causes.find_refused()).sum())
    if machines:
        in_gang = len(problem.gang) > 0 and int(problem.gang[cls]) >= 0
        yield explain_too_few_places("") if in_gang else LEFT_OVER, machines
