"""Bundles that are known from before: stages that begin with them come to what they come to without."""

from __future__ import annotations

import numpy as np
import pytest

from firmament.core.flow.problem import Assignments
from firmament.core.preemption.bundles import Bundles
from firmament.core.preemption.node_state import Prospect
from firmament.core.preemption.stages import Phase, Stages
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.property.test_victim_sets import make_case
from tests.support.core import scheduler
from tests.support.effort import examples

CASES = 60


def outcome(prospect: Prospect) -> tuple[list[tuple[int, int]], list[bool], list[int]]:
    """Places in order, who goes, and what budgets are left."""
    return prospect.taken, prospect.gone.tolist(), prospect.allowed.tolist()


@pytest.mark.parametrize("part", range(examples(2, least=1)))
def test_with_any_one_task_that_must_not_go(part: int):
    seen = 0
    for seed in range(part, 2 * CASES, 2):
        opened = scheduler(make_case(seed).events()).open_round()
        assert opened.picture is not None
        problem, preemption = opened.picture.problem, opened.picture.preemption
        if preemption is None:
            continue
        before = Prospect(problem, preemption, Assignments.empty())
        classes = np.arange(problem.classes)
        known: dict[int, Bundles] = {}
        for victim in (-1, *range(preemption.victims)):
            blocked = np.arange(preemption.victims) == victim
            phases = Phase(blocked, lenient=False), Phase(blocked, lenient=True)
            trials = before.copy(), before.copy()
            Stages(before, OrToolsSolver(), None).run(trials[0], classes, phases)
            Stages(before, OrToolsSolver(), None).run(trials[1], classes, phases, known)
            assert outcome(trials[0]) == outcome(trials[1]), f"{seed}: without {victim}"
            seen += len(trials[0].taken)
        assert set(known) == set(classes.tolist())
    assert seen > CASES
