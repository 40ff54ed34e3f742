"""Dear machines stay free while cheap ones have room."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from cost_models.interface import ModelArgumentError, ShapeRow
from cost_models.prices.machine_price import MachinePrice
from firmament.core.configuration import WeightedModel
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids
from tests.support.policies import machines, shapes

TYPE = "node.kubernetes.io/instance-type"
TYPES = {"label": TYPE, "prices": {"small": 0.1, "gpu": 4}}


def prices_of(model, *values, running=None):
    label = model.label
    labels = [{} if value is None else {label: value} for value in values]
    columns = machines(*"abcdefgh"[: len(values)], labels=labels)
    if running is not None:
        columns = replace(columns, running=columns.running + running)
    return model.assess(columns, shapes(ShapeRow())).raw[0].tolist()


def test_a_label_holds_the_price():
    model = MachinePrice(highest=5, unknown=2)
    assert prices_of(model, "0.5", "3", None, "dear", "-1", "inf", "1e300") == [0.5, 3, 2, 2, 2, 2, 5e9]
    assert model.range.points_per_unit() == 20


def test_a_table_gives_the_values_of_a_label_prices():
    assert prices_of(MachinePrice(**TYPES), "small", "gpu", "other", "0.7") == [0.1, 4, 0, 0.7]
    assert MachinePrice(**TYPES).range.worst == 4


def test_what_runs_is_paid_for():
    model = MachinePrice(onlyEmpty=True, unknown=1)
    assert prices_of(model, "0.5", "0.5", None, running=[1, 0, 1]) == [0, 0.5, 0]


def test_tasks_go_to_dear_machines_only_when_the_others_are_full():
    made = [
        machine(f"m{index}", cpu=2_000, labels={TYPE: kind})
        for index, kind in enumerate(["gpu", "small", "small"])
    ]
    core = scheduler(
        *made,
        tasks(1, *uids("t", 5), content=task_class(cpu=1_000)),
        overlays=(WeightedModel(MachinePrice(**TYPES)),),
    )
    assert Counter(placed(core.run_round()).values()) == {"m1": 2, "m2": 2, "m0": 1}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        ({"prices": {"a": "x"}}, "prices[a] is 'x'; it must be a number, 0 or more"),
        ({"prices": {"a": -1}}, "prices[a] is -1"),
        ({"highest": 0}, "highest is 0.0; it must be a number above 0"),
        ({"price": 1}, "unknown argument 'price'"),
    ],
)
def test_bad_arguments_are_named(args, told):
    with pytest.raises(ModelArgumentError) as refused:
        MachinePrice(**args)
    assert told in str(refused.value)
