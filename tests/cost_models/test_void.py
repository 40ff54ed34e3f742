"""The policy that charges nothing."""

from __future__ import annotations

from cost_models.firmament_policies.void import Void
from cost_models.interface import ShapeRow
from firmament.core.configuration import WeightedModel
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids
from tests.support.models import Stated, flat
from tests.support.policies import machines, shapes


def test_nothing_costs_anything():
    model, columns = Void(), machines("a", "b", running=[0, 90])
    assert model.assess(columns, shapes(ShapeRow())).raw.tolist() == [[0.0]]
    assert model.crowding(columns, shapes(ShapeRow()).requests[0]).tolist() == [0.0, 0.0]


def test_tasks_are_placed_although_the_original_charged_nothing_for_leaving_them():
    core = scheduler(
        machine("m", cpu=1_000), tasks(1, *uids("t", 10), content=task_class(cpu=100)), policy="void"
    )
    result = core.run_round()
    assert len(placed(result)) == 10
    assert result.stats.cost == 0


def test_an_overlay_decides_alone():
    core = scheduler(
        machine("a"),
        machine("b"),
        tasks(1, *uids("t", 3)),
        policy="void",
        overlays=[WeightedModel(Stated(flat(1.0, 0.0)))],
    )
    assert set(placed(core.run_round()).values()) == {"b"}
