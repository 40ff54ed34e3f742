"""Prices of what is free of devices: the measure against its definition, and what becomes of it in rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.devices.gap_values import value_gaps
from cost_models.devices.gpu_prices import AMPLE, CAUTION, MARGIN, GpuPrices
from firmament.core.configuration import WeightedModel
from firmament.core.scheduler import Scheduler
from tests.cost_models.devices.oracle import Node, Pod, fits, place
from tests.cost_models.devices.test_fragmentation import NODES, PODS, part, show_nodes, show_pods
from tests.support.core import machine, placed, scheduler, task_class, tasks
from tests.support.devices import class_record, device, slice_record
from tests.support.effort import examples

Usual = Sequence[tuple[Pod, int]]


class PricedCluster:
    """What nodes are worth to the usual tasks, by the definition."""

    def __init__(self, nodes: Sequence[Node], usual: Usual) -> None:
        demand: dict[int, float] = {}
        every = sum(times for _, times in usual)
        for pod, times in usual:
            if pod.gpus:
                size = pod.milli // 10
                demand[size] = demand.get(size, 0) + times / every * pod.gpus
        self.values = value_gaps(demand)
        self.usual = [(pod, times) for pod, times in usual if pod.gpus]
        self.open = {
            pod: sum(len(node.gpus) for node in nodes if len(node.gpus) >= pod.gpus) for pod, _ in usual
        }
        self.margin = self.find_margin(nodes, usual)
        self.rates = [self.learn(node) for node in nodes]
        self.worths = [self.judge(row, node) for row, node in enumerate(nodes)]

    def find_margin(self, nodes: Sequence[Node], usual: Usual) -> float:
        """1 where there is plenty of cpu for all that comes until devices are filled, else up to `MARGIN`."""
        fills = sum(times * pod.gpus * self.values[pod.milli // 10] for pod, times in usual if pod.gpus)
        needs = sum(times * pod.cpu for pod, times in usual)
        gaps = sum(self.values[left // 10] for node in nodes for left in node.gpus)
        there = sum(node.cpu for node in nodes if node.gpus)
        if not needs or not gaps:
            return 1.0
        if not fills or not there:
            return MARGIN
        return float(min(MARGIN, max(1.0, AMPLE * needs * gaps / fills / there)))

    def learn(self, node: Node) -> tuple[float, float]:
        """How much cpu tasks need for each device that they fill here, and the deviation of that."""
        who = [
            (times / self.open[pod], pod.cpu, pod.gpus * self.values[pod.milli // 10])
            for pod, times in self.usual
            if pod.gpus <= len(node.gpus)
        ]
        filled = sum(weight * fills for weight, _, fills in who)
        if not filled:
            return 0.0, 0.0
        rate = sum(weight * cpu for weight, cpu, _ in who) / filled
        square = sum(weight * (cpu - rate * fills) ** 2 for weight, cpu, fills in who)
        return self.margin * rate, sqrt(square / filled)

    def judge(self, row: int, node: Node) -> float:
        """V of what a node has left; ``row``: its place among the cluster's nodes."""
        filled = sum(self.values[left // 10] for left in node.gpus)
        rate, spread = self.rates[row]
        lacking = rate * filled - node.cpu
        short = (lacking + sqrt(lacking**2 + (CAUTION * spread) ** 2 * filled)) / 2
        return float(max(0.0, filled - short / rate if rate else filled))


@settings(max_examples=examples(150))
@given(
    st.lists(NODES, min_size=1, max_size=5),
    st.lists(PODS, min_size=1, max_size=4),
    st.lists(st.tuples(PODS, st.integers(1, 9)), min_size=1, max_size=6, unique_by=lambda each: each[0]),
)
def test_the_charge_is_that_of_the_definition(
    nodes: list[Node], pods: list[Pod], usual: list[tuple[Pod, int]]
):
    found = show_pods([pod for pod, _ in usual], [times for _, times in usual])
    # The number of tasks per machine does not bind, and is left out.
    typical = replace(found, requests=found.requests * np.array([0, 1, 1]))
    raw = GpuPrices().assess(show_nodes(nodes), show_pods(pods, [1] * len(pods), typical)).raw
    cluster = PricedCluster(nodes, usual)
    for shape, pod in enumerate(pods):
        for row, node in enumerate(nodes):
            if fits(node, pod):
                lost = cluster.worths[row] - cluster.judge(row, place(node, pod))
                assert raw[shape, row] == pytest.approx(max(0.0, lost), abs=1e-6)


def test_a_figure_worked_out_by_hand():
    # Half of the usual tasks want 0.81 of a device, half 0.19 of it, all the same cpu per device that they fill.
    usual = show_pods([Pod(8, 1, 810), Pod(0, 1, 190)], [5, 5])
    usual = replace(usual, requests=usual.requests * np.array([0, 1, 0]))
    nodes = [Node(16, (190, 190)), Node(16, (1000, 0)), Node(4, (1000, 0)), Node(16)]
    ask = show_pods([Pod(0, 1, 190), Pod(8, 1, 810), Pod(8)], [1, 1, 1], usual)
    raw = GpuPrices().assess(show_nodes(nodes), ask).raw
    # 0.81 uses a device, and 0.19 finds room beside it. So gaps of 0.19 are worth nothing, nor is the rest of a device.
    assert raw[0].tolist() == pytest.approx([0, 0, 0, 0], abs=0.02)
    assert raw[1, 1] == pytest.approx(1)
    # Each device is to have 8 of cpu. With 16 of it, a task that takes 8 leaves enough.
    assert raw[2].tolist() == pytest.approx([0, 0, 0, 0], abs=0.02)
    # With 12, 4 are lacking: half of a device.
    raw = GpuPrices().assess(show_nodes([*nodes, Node(12, (1000, 0))]), ask).raw
    assert raw[2, 4] == pytest.approx(1 / 2, abs=0.02)
    # With two more devices and no more cpu, there are 36 of it for four devices that need 32, not 1.3 times as much.
    scarce = show_nodes([*nodes, Node(0, (1000, 1000))])
    raw = GpuPrices().assess(scarce, ask).raw
    # So each device is to have 8.8. With 16, a task that takes 8 leaves it short by 0.8: 1 / 11 of a device. With 4,
    # 5 / 11 of a device can be filled, and nothing once a task has taken them.
    assert raw[2].tolist() == pytest.approx([0, 1 / 11, 0, 0, 0], abs=0.02)
    assert GpuPrices().assess(scarce, show_pods([Pod(4)], [1], usual)).raw[0, 2] == pytest.approx(
        5 / 11, abs=0.02
    )


# --- in rounds --------------------------------------------------------------------------------------------------------


def make_core(*machines: tuple[int, int]) -> Scheduler:
    """Machines with so much cpu and so many devices, which tasks share, scheduled by prices alone."""
    core = scheduler(policy="void", overlays=[WeightedModel(GpuPrices(drivers=["gpu.example.com"]), 10)])
    core.apply([class_record("gpu")])
    for row, (cpu, count) in enumerate(machines):
        devices = [
            device(f"d{place}", allowMultipleAllocations=True, capacity={"milli": {"value": "1000"}})
            for place in range(count)
        ]
        core.apply([machine(f"m{row}", cpu=cpu), slice_record(f"m{row}", devices)])
    return core


def test_a_part_goes_into_the_gap_that_no_other_part_fills():
    core = make_core((8000, 1), (8000, 1), (8000, 1))
    core.apply(tasks(1, "large", content=part(810)))
    core.apply(tasks(2, "medium", content=part(650)))
    first = placed(core.run_round())
    assert len(set(first.values())) == 2
    # Beside 0.65 there is room for one of 0.32, which wait; beside 0.81 for one of 0.16 alone.
    core.apply(tasks(3, *(f"p{number}" for number in range(6)), content=part(320)))
    core.apply(tasks(4, "small", content=part(160)))
    assert placed(core.run_round())["small"] == first["large"]


def test_tasks_that_need_much_cpu_go_where_devices_leave_most_of_it():
    core = make_core((4000, 2), (16000, 2))
    core.apply(tasks(1, "many", content=part(1000, cpu=6000)))
    core.apply(tasks(2, "few", content=part(1000, cpu=2000)))
    core.apply(tasks(3, "plain", content=task_class(3000)))
    assert placed(core.run_round()) == {"many": "m1", "few": "m0", "plain": "m1"}
