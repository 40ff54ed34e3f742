"""What kept the tasks that wait off machines once a round had placed all that it did: the reasons why they wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from firmament.core.filters import reasons
from firmament.core.filters.root_causes import (
    Cause,
    MachineRefusal,
    RootCauses,
    Stage,
    lacks,
    root_causes,
    rule_refusals,
)
from firmament.core.flow.problem import Assignments, PlacementProblem
from firmament.core.placement.outcome import PlacementState
from firmament.core.round_flow.rooms import MOST_SHAPES, ShapeGate
from firmament.core.rules.constraint import Constraints
from firmament.core.rules.model_limits import ModelLimits
from firmament.core.rules.pairs import PairState

LEFT_OVER = "node(s) had room that the round did not use"
"""Of machines that refuse nothing: a limit of time, or waiting that is cheaper than the place."""

_OUTSIDE = Cause(reasons.NOT_NAMED, Stage.NAMED)
_UNKNOWN = ShapeGate((), 0)

Reasons = tuple[tuple[str, int], ...]


def find_kept_back(
    problem: PlacementProblem,
    placed: Assignments,
    resources: Sequence[str],
    static: Callable[[int], list[MachineRefusal]],
    before: Mapping[int, ShapeGate],
) -> dict[int, Reasons]:
    """Return, for each class of which tasks wait after the round, machines by what keeps one more of them off.

    The reason that matters most comes first: what has closed machines since the round began, then what a filter found
    that has its turn late, as the machines before it passed all others. ``static``: what refuses a shape beside room;
    ``before``: by shape, what it met as the round began. Of very many classes only those of most tasks are looked at.
    """
    state = PlacementState(problem)
    state.book(placed)
    waiting = state.residual.remaining.sum(axis=1)
    concerned = np.argsort(-waiting, kind="stable")[:MOST_SHAPES]
    if not waiting.any():
        return {}
    constraints = _constraints(problem, placed, state)
    free, found = state.residual.free.T, {}
    for cls in concerned[waiting[concerned] > 0].tolist():
        shape = int(problem.shape[cls])
        refusals = [*_outside_pins(problem, cls), *static(shape)]
        refusals += lacks(free, problem.requests[shape], resources)
        causes = root_causes(problem.machines, [*refusals, *rule_refusals(constraints.refusals(cls))])
        counts = _ordered(causes, before.get(shape, _UNKNOWN))
        found[cls] = (*counts, *_of_open(problem, cls, causes))
    return found


def _constraints(problem: PlacementProblem, placed: Assignments, state: PlacementState) -> Constraints:
    limits = ModelLimits(problem.joint, problem.ledgers, problem.shape)
    limits.add_all(placed.cls, placed.machine, placed.count)
    pairs = None if problem.pairs is None else PairState(problem.pairs)
    if pairs is not None:
        pairs.add_all(placed.cls, placed.machine, placed.count)
    return Constraints([state.rules, limits, pairs])


def _outside_pins(problem: PlacementProblem, cls: int) -> Iterator[MachineRefusal]:
    if cls in problem.pins:
        yield MachineRefusal(_OUTSIDE, ~problem.within_pins(cls, np.ones(problem.machines, dtype=np.bool_)))


def _ordered(causes: RootCauses, before: ShapeGate) -> list[tuple[str, int]]:
    then = dict(before.refusals)
    stages = {cause.text: cause.stage for cause, _ in causes.refusals}

    def rank(found: tuple[str, int]) -> tuple[int, int, int]:
        text, machines = found
        grown = machines - then.get(text, 0) if before.open else 0
        return -max(grown, 0), -stages[text], -machines

    return sorted(causes.counts(), key=rank)


def _of_open(problem: PlacementProblem, cls: int, causes: RootCauses) -> Iterator[tuple[str, int]]:
    """Yield a reason for machines that nothing refuses."""
    machines = int((~causes.refused()).sum())
    if machines:
        in_gang = len(problem.gang) > 0 and int(problem.gang[cls]) >= 0
        yield reasons.too_few_places("") if in_gang else LEFT_OVER, machines
