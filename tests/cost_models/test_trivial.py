"""The policy that prefers nothing."""

from __future__ import annotations

import numpy as np

from cost_models.checks.sample_inputs import ordinary_machines, ordinary_shapes
from cost_models.firmament_policies.trivial import Trivial
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids


def test_everything_costs_nothing():
    model, machines, shapes = Trivial(), ordinary_machines(), ordinary_shapes()
    assert not model.range.points(model.assess(machines, shapes).raw).any()
    assert not model.crowding(machines, shapes.requests[0]).any()


def test_tasks_go_wherever_they_fit():
    core = scheduler(
        *(machine(f"m{index}", cpu=1_000) for index in range(3)),
        tasks(1, *uids("t", 6), content=task_class(cpu=500)),
        policy="trivial",
    )
    result = core.run_round()
    counts = np.unique(list(placed(result).values()), return_counts=True)[1]
    assert counts.tolist() == [2, 2, 2]
    assert result.stats.cost == 0
