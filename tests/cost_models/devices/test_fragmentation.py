"""Fragmentation of devices: the measure against its definition, and what the models make of it in rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.devices.gpu_fragmentation import GpuFragmentation
from cost_models.devices.gpu_packing import GpuPacking
from cost_models.interface import DeviceColumns, DeviceDemand, MachineColumns, ShapeBatch, ShapeRow
from firmament.core.configuration import WeightedModel
from firmament.core.events import ClassDefined, TasksSubmitted
from firmament.core.model import TaskClass
from firmament.core.scheduler import Scheduler
from tests.cost_models.columns import machine_columns
from tests.cost_models.devices.oracle import Node, Pod, fits, loss
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids
from tests.support.devices import (
    class_record,
    device,
    exactly,
    list_devices,
    own_claim,
    slice_record,
)
from tests.support.effort import examples

PODS = st.builds(
    Pod,
    st.integers(0, 8),
    st.just(1),
    st.sampled_from([100, 250, 300, 500, 700, 1000]),
) | st.builds(Pod, st.integers(0, 8), st.sampled_from([0, 1, 2, 4]))
NODES = st.builds(
    Node,
    st.integers(0, 16),
    st.lists(st.sampled_from([0, 100, 200, 250, 450, 700, 900, 1000]), max_size=4).map(tuple),
)


def show_nodes(nodes: Sequence[Node]) -> MachineColumns:
    """Machines as the model sees them."""
    most = max([len(node.gpus) for node in nodes] + [1])
    free = np.zeros((len(nodes), most))
    for row, node in enumerate(nodes):
        free[row, : len(node.gpus)] = np.array(node.gpus) / 1000
    count = np.array([len(node.gpus) for node in nodes], dtype=np.int64)
    columns = machine_columns(
        [f"m{row}" for row in range(len(nodes))],
        capacity=(100, 16, 1),
        free=[(100, node.cpu, 1) for node in nodes],
    )
    return replace(columns, devices=DeviceColumns(np.where(count > 0, 0, -1), free, count))


def show_pods(pods: Sequence[Pod], counts: Sequence[int], typical: ShapeBatch | None = None) -> ShapeBatch:
    """Tasks as the model sees them."""
    gpus = np.array([[pod.gpus] for pod in pods], dtype=np.int64)
    share = np.array([[pod.milli / 1000 if pod.gpus else 0.0] for pod in pods])
    return ShapeBatch(
        np.array([(1, pod.cpu, 0) for pod in pods], dtype=np.int64),
        np.array(counts, dtype=np.int64),
        [ShapeRow()] * len(pods),
        devices=DeviceDemand(gpus, share),
        typical=typical,
    )


@settings(max_examples=examples(150))
@given(
    st.lists(NODES, min_size=1, max_size=5),
    st.lists(PODS, min_size=1, max_size=4),
    st.lists(st.tuples(PODS, st.integers(1, 9)), min_size=1, max_size=6),
)
def test_the_loss_is_that_of_the_definition(nodes: list[Node], pods: list[Pod], usual: list[tuple[Pod, int]]):
    typical = show_pods([pod for pod, _ in usual], [times for _, times in usual])
    raw = GpuFragmentation().assess(show_nodes(nodes), show_pods(pods, [1] * len(pods), typical)).raw
    for shape, pod in enumerate(pods):
        for row, node in enumerate(nodes):
            if fits(node, pod):
                assert raw[shape, row] * 1000 == pytest.approx(loss(node, pod, usual), abs=1e-6)


def test_a_figure_worked_out_by_hand():
    # Two devices, one with 0.3 left. Half of the usual tasks want a whole device, half want 0.3 of one.
    # Usable before: 1 and 1.3, on average 1.15. A task of 0.3 takes the rest of the second: 1 and 1, 0.15 is lost.
    # On the other machine it breaks a whole device: of 2 and 2 remain 1 and 1.7, so 0.65 is lost.
    usual = show_pods([Pod(1), Pod(1, 1, 1000), Pod(1, 1, 300)], [0, 5, 5])
    nodes = show_nodes([Node(8, (1000, 300)), Node(8, (1000, 1000))])
    raw = GpuFragmentation().assess(nodes, show_pods([Pod(1, 1, 300)], [1], usual)).raw
    assert raw[0].tolist() == pytest.approx([0.15, 0.65])


def test_devices_that_nodes_only_count_are_whole_ones():
    columns = machine_columns(
        ["a", "b", "c"],
        resources=("pods", "cpu", "nvidia.com/gpu"),
        capacity=(100, 16, 4),
        free=[(100, 16, 4), (100, 16, 1), (100, 0, 2)],
    )
    ask = ShapeBatch(np.array([(1, 1, 1)]), np.array([1]), [ShapeRow()])
    usual = ShapeBatch(np.array([(1, 1, 1), (1, 1, 4)]), np.array([1, 1]), [ShapeRow()] * 2)
    raw = GpuFragmentation().assess(columns, replace(ask, typical=usual)).raw
    # Of four, a task for one or for four could use all; of three, one for four nothing. Without cpu, nobody anything.
    assert raw[0].tolist() == pytest.approx([2.5, 0.5, 0.0])
    assert GpuPacking().assess(columns, ask).raw[0].tolist() == [4.0, 1.0, 2.0]


@pytest.mark.parametrize(("tasks", "grows"), [(3, True), (4, True), (5, False)])
def test_in_small_rounds_a_second_task_on_a_machine_with_devices_costs_more(tasks: int, grows: bool):
    usual = show_pods([Pod(1, 1, 300)], [tasks])
    nodes = show_nodes([Node(8, (1000,)), Node(8), Node(8, (1000, 1000))])
    growth = GpuFragmentation().assess(nodes, show_pods([Pod(1, 1, 300)], [tasks], usual)).growth
    assert (None if growth is None else growth.tolist()) == ([1.0, 0.0, 1.0] if grows else None)


# --- in rounds --------------------------------------------------------------------------------------------------------


def part(milli: int, count: int = 1, cpu: int = 100) -> TaskClass:
    """A task that wants so many thousandths of devices."""
    asked = exactly("gpu", count, capacity={"requests": {"milli": str(milli)}}, order="binpack", name="r")
    return replace(task_class(cpu), claims=(own_claim(asked),))


def make_core(*gpus: int, **options: object) -> Scheduler:
    """Machines with so many devices each, which tasks share, scheduled by fragmentation alone."""
    core = scheduler(
        policy="void",
        overlays=[WeightedModel(GpuFragmentation(drivers=["gpu.example.com"]))],
    )
    core.apply([class_record("gpu")])
    for row, count in enumerate(gpus):
        devices = [
            device(f"d{place}", allowMultipleAllocations=True, capacity={"milli": {"value": "1000"}})
            for place in range(count)
        ]
        core.apply([machine(f"m{row}", cpu=8000), slice_record(f"m{row}", devices)])
    return core


def test_parts_go_to_devices_that_are_in_use_and_whole_devices_stay_whole():
    core = make_core(2, 2)
    core.apply(tasks(1, "first", content=part(400)))
    (there,) = placed(core.run_round()).values()
    # Somebody else wants whole machines: usual tasks are those that wait, too.
    core.apply(tasks(2, "pair", content=part(1000, 2)))
    core.apply(tasks(3, "a", "b", content=part(300)))
    result = core.run_round()
    found = placed(result)
    assert found["pair"] != there
    assert found["a"] == found["b"] == there
    devices = {
        delta.uid: list_devices(claim.allocation) for delta in result.deltas for claim in delta.allocations
    }
    assert devices["a"] == devices["b"] == [(there, "d0")]


def test_a_machine_with_devices_of_two_kinds_counts_with_the_first():
    core = make_core(2)
    second = device("e0", allowMultipleAllocations=True, capacity={"milli": {"value": "500"}})
    core.apply([slice_record("more", [second], nodeName="m0")])
    core.apply(tasks(1, "a", "b", "c", content=part(1000)))
    assert len(placed(core.run_round())) == 2


def test_tasks_without_devices_leave_those_usable():
    # The cpu of a machine with devices is needed by tasks that want these.
    core = make_core(1, 0)
    core.apply(tasks(1, "gpu", content=part(1000, cpu=6000)))
    core.apply(tasks(2, "plain", content=task_class(4000)))
    assert placed(core.run_round()) == {"gpu": "m0", "plain": "m1"}


def test_a_task_is_explained_as_if_its_own_devices_were_free():
    core = make_core(1)
    core.apply([ClassDefined(1, part(600)), TasksSubmitted(1, uids("t", 2))])
    (uid,) = placed(core.run_round())
    (told,) = core.explain(uid).machines
    assert told.feasible
    # Usable for the usual task, 0.6 of a device, are 1 without it and nothing with it.
    (figure,) = [each.raw for each in told.models if each.model == "gpu_fragmentation"]
    assert figure == pytest.approx(1.0)


def test_devices_in_use_are_tried_first_or_last_as_a_request_states():
    for order, expected in (("binpack", "d1"), ("spread", "d0")):
        core = make_core(2)
        first = exactly("gpu", 1, capacity={"requests": {"milli": "800"}})
        small = exactly("gpu", 1, capacity={"requests": {"milli": "300"}}, order="spread")
        asked = exactly("gpu", 1, capacity={"requests": {"milli": "200"}}, order=order)
        for number, request in enumerate((small, first, asked), start=1):
            core.apply(
                tasks(number, f"t{number}", content=replace(task_class(1), claims=(own_claim(request),)))
            )
            result = core.run_round()
        ((claim,),) = [delta.allocations for delta in result.deltas]
        assert list_devices(claim.allocation) == [("m0", expected)], order
