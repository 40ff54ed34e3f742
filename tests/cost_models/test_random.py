"""Random costs: repeatable, spread out, and dependent on nothing that they should not depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cost_models.checks.sample_inputs import of_machines
from cost_models.firmament_policies.random_policy import LARGEST, RandomPolicy
from cost_models.interface import ModelArgumentError, ShapeRow
from cost_models.registry import load_model
from firmament.core.configuration import WeightedModel
from tests.support.core import machine, placed, scheduler, tasks, uids
from tests.support.models import Stated, flat
from tests.support.policies import machines, shapes

NAMES = tuple(f"node-{index}" for index in range(4_000))


def raw(seed: int = 0, row: ShapeRow | None = None, request: tuple[int, int, int] = (1, 100, 0)):
    return RandomPolicy(seed).assess(machines(*NAMES), shapes(row or ShapeRow(), requests=[request])).raw[0]


def test_equal_seeds_give_equal_figures_and_others_others():
    assert raw(7).tolist() == raw(7).tolist()
    assert (raw(7) != raw(8)).mean() > 0.999


def test_figures_stay_the_same_from_version_to_version():
    model = RandomPolicy(1)
    answer = model.assess(machines("a", "b"), shapes(ShapeRow(), requests=[(1, 100, 0)]))
    assert answer.raw.tolist() == [[2_515_487.0, 467_949.0]]


def test_figures_are_spread_evenly_over_the_range():
    figures = raw()
    assert figures.min() >= 1
    assert figures.max() <= LARGEST
    assert np.array_equal(figures, np.floor(figures))
    tenths = np.histogram(figures, bins=10, range=(1, LARGEST))[0] / len(NAMES)
    assert tenths.min() > 0.08
    assert tenths.max() < 0.12


@pytest.mark.parametrize(
    "other",
    [
        {"request": (1, 101, 0)},
        {"request": (1, 0, 100)},
        {"row": ShapeRow("elsewhere")},
        {"row": ShapeRow(labels={"app": "web"})},
        {"row": ShapeRow(annotations={"app": "web"})},
    ],
)
def test_shapes_that_differ_in_anything_have_figures_of_their_own(other):
    assert (raw() != raw(**other)).mean() > 0.999
    assert abs(np.corrcoef(raw(), raw(**other))[0, 1]) < 0.1


def test_a_figure_depends_neither_on_other_machines_nor_on_other_shapes():
    model, columns = RandomPolicy(), machines(*NAMES[:50])
    both = shapes(ShapeRow("a"), ShapeRow("b"))
    full = model.assess(columns, both).raw
    assert model.assess(of_machines(columns, [40, 3]), both).raw.tolist() == full[:, [40, 3]].tolist()
    assert model.assess(columns, shapes(ShapeRow("b"))).raw.tolist() == full[1:].tolist()


def test_a_resource_that_only_others_ask_for_changes_nothing():
    wider = machines("a", resources=("pods", "example.com/device", "cpu", "memory"))
    asked = shapes(ShapeRow(), requests=[(1, 0, 100, 0)])
    narrow = RandomPolicy().assess(machines("a"), shapes(ShapeRow(), requests=[(1, 100, 0)]))
    assert RandomPolicy().assess(wider, asked).raw.tolist() == narrow.raw.tolist()


def test_load_changes_nothing():
    columns = machines("a", "b")
    busy = replace(columns, running=np.array([50, 0]), free=columns.free // 2)
    asked = shapes(ShapeRow())
    assert (
        RandomPolicy().assess(columns, asked).raw.tolist() == RandomPolicy().assess(busy, asked).raw.tolist()
    )
    assert RandomPolicy().crowding(busy, asked.requests[0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "1", True, None])
def test_a_seed_that_is_none_is_refused(seed):
    with pytest.raises(ModelArgumentError, match=r"^random: seed is .*; it must be a whole number from 0 to"):
        load_model("random", {"seed": seed})


def test_each_class_goes_to_its_cheapest_machine():
    figures = raw(request=(1, 100, 0))[:10]
    core = scheduler(*(machine(name) for name in NAMES[:10]), tasks(1, *uids("t", 4)), policy="random")
    assert set(placed(core.run_round()).values()) == {NAMES[int(figures.argmin())]}


def test_an_overlay_of_more_weight_decides():
    core = scheduler(
        machine("a"),
        machine("b"),
        tasks(1, "t"),
        policy="random",
        overlays=[WeightedModel(Stated(flat(100.0, 0.0)), weight=2)],
    )
    assert placed(core.run_round()) == {"t": "b"}
