"""Quincy's figures against the original's network, path by path; the forecast against what it divides up."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.firmament_policies.coco import PENALTIES
from cost_models.firmament_policies.forecast import best_grouping, forecast_tasks
from cost_models.firmament_policies.input_locations import ANNOTATION
from cost_models.firmament_policies.quincy import Quincy
from cost_models.firmament_policies.task_types import TYPES
from cost_models.interface import ShapeRow
from tests.cost_models.columns import machine_columns, shape_batch
from tests.support.effort import examples

GIB = 2**30
RACK = "topology.kubernetes.io/rack"
NAMES = [f"m{index}" for index in range(6)]
RACK_NAMES = ["r0", "r1", "r2"]


@dataclass(frozen=True)
class Held:
    """A block of input and who holds a copy."""

    size: int
    machines: tuple[str, ...]
    rack: str

    def annotation(self) -> dict[str, object]:
        return {"bytes": self.size, "machine": list(self.machines)} | (
            {"rack": self.rack} if self.rack else {}
        )


blocks = st.lists(
    st.builds(
        Held,
        size=st.integers(0, 64).map(lambda eighths: eighths * GIB // 8),
        machines=st.lists(st.sampled_from([*NAMES, "gone"]), max_size=3).map(tuple),
        rack=st.sampled_from(["", *RACK_NAMES, "beyond"]),
    ).filter(lambda block: bool(block.machines or block.rack)),
    min_size=1,
    max_size=5,
)
racks_of = st.lists(st.sampled_from(RACK_NAMES), min_size=len(NAMES), max_size=len(NAMES))


def cheapest_path(held: list[Held], rack_of: dict[str, str], name: str) -> float:
    """The least cost of all arcs that lead a task with this input to a machine, in the original's network."""
    total = sum(block.size for block in held)

    def on(machine: str) -> int:
        return sum(block.size for block in held if machine in block.machines)

    def within(rack: str) -> int:
        holders = [{rack_of.get(machine) for machine in block.machines} | {block.rack} for block in held]
        return sum(block.size for block, racks in zip(held, holders, strict=True) if rack in racks)

    def transfer(machine: str) -> float:
        near = within(rack_of[machine])
        return (1 * (near - on(machine)) + 2 * (total - near)) / GIB

    paths = [max(map(transfer, rack_of))]
    if within(rack_of[name]) >= 0.1 * total:
        paths.append(max(transfer(each) for each in rack_of if rack_of[each] == rack_of[name]))
    if on(name) >= 0.1 * total:
        paths.append(transfer(name))
    return min(paths)


@settings(max_examples=examples(150))
@given(held=blocks, racks=racks_of)
def test_a_machine_costs_the_cheapest_path_to_it(held: list[Held], racks: list[str]):
    rack_of = dict(zip(NAMES, racks, strict=True))
    machines = machine_columns({name: {RACK: rack} for name, rack in rack_of.items()})
    annotation = json.dumps([block.annotation() for block in held])
    answer = Quincy().assess(machines, shape_batch(ShapeRow(annotations={ANNOTATION: annotation})))
    figures = np.full(len(NAMES), answer.raw[0, 0])
    assert answer.sparse is not None
    figures[answer.sparse.machine] = answer.sparse.raw
    assert answer.notes == ()
    assert figures.tolist() == pytest.approx([cheapest_path(held, rack_of, name) for name in NAMES])


waiting_tasks = st.lists(st.integers(0, 300), min_size=TYPES, max_size=TYPES)


@settings(max_examples=examples(150))
@given(waiting=waiting_tasks, machines=st.integers(0, 30))
def test_every_waiting_type_is_in_one_group_and_no_machine_is_left(waiting: list[int], machines: int):
    counts = np.array(waiting, dtype=np.float64)
    groups, quotas = best_grouping(counts, counts / 1000, machines, PENALTIES)
    if not any(waiting) or machines == 0:
        assert sum(quotas) == 0
        return
    assert sorted(kind for group in groups for kind in group) == np.flatnonzero(counts).tolist()
    assert sum(quotas) == machines
    assert all(quota > 0 for quota in quotas)


@settings(max_examples=examples(100))
@given(waiting=waiting_tasks, machines=st.integers(1, 12))
def test_the_forecast_expects_each_task_once(waiting: list[int], machines: int):
    columns = machine_columns([f"m{index}" for index in range(machines)])
    batch = shape_batch(*[ShapeRow()] * TYPES, counts=waiting)
    nobody = np.zeros((TYPES, machines))
    expected = forecast_tasks(columns, batch, np.arange(TYPES), nobody, PENALTIES)
    apart = np.count_nonzero(waiting) > 1
    assert expected.sum(axis=1).tolist() == pytest.approx(waiting if apart else [0.0] * TYPES)
