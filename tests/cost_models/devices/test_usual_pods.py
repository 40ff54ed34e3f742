"""Usual pods that are stated beforehand: how they are read, and what they count beside those that the cluster has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.devices.gpu_fragmentation import GpuFragmentation
from cost_models.devices.gpu_packing import GpuPacking
from cost_models.devices.gpu_prices import GpuPrices
from cost_models.interface import ModelArgumentError, ShapeBatch, ShapeRow
from firmament.core.configuration import WeightedModel
from firmament.core.scheduler import Scheduler
from tests.cost_models.columns import machine_columns
from tests.cost_models.devices.oracle import Node, Pod, fits, loss, place
from tests.cost_models.devices.test_fragmentation import NODES, PODS, part, show_nodes, show_pods
from tests.cost_models.devices.test_gpu_prices import PricedCluster
from tests.support.core import machine, placed, scheduler, tasks
from tests.support.devices import class_record, device, slice_record
from tests.support.effort import examples

Usual = list[tuple[Pod, int]]
MIXTURES = st.lists(
    st.tuples(PODS, st.integers(1, 9)), min_size=1, max_size=5, unique_by=lambda each: each[0]
)


def state(usual: Sequence[tuple[Pod, float]], count: int, **more: Any) -> dict[str, Any]:
    """Arguments that state these pods, with their weights."""
    pods = [
        {"weight": weight, "requests": {"cpu": f"{pod.cpu}m", "pods": 0}}
        | ({"gpus": pod.gpus, "share": pod.milli / 1000} if pod.gpus else {})
        for pod, weight in usual
    ]
    return {"usualPods": pods, "usualPodsCount": count, **more}


def show_usual(usual: Sequence[tuple[Pod, int]]) -> ShapeBatch:
    """The tasks that a cluster has, which take no place of those that a machine has."""
    found = show_pods([pod for pod, _ in usual], [times for _, times in usual])
    return replace(found, requests=found.requests * np.array([0, 1, 1]))


@settings(max_examples=examples(150))
@given(
    st.lists(NODES, min_size=1, max_size=4),
    st.lists(PODS, min_size=1, max_size=3),
    MIXTURES,
    MIXTURES,
    st.sampled_from([1, 10, 1000]),
)
def test_stated_pods_count_as_so_many_of_the_cluster(
    nodes: list[Node], pods: list[Pod], stated: Usual, learned: Usual, count: int
):
    every = sum(weight for _, weight in stated)
    mixed: dict[Pod, int] = {}
    for pod, times in learned:
        mixed[pod] = mixed.get(pod, 0) + every * times
    for pod, weight in stated:
        mixed[pod] = mixed.get(pod, 0) + count * weight
    usual = list(mixed.items())
    columns, asked = show_nodes(nodes), show_pods(pods, [1] * len(pods), show_usual(learned))
    prices = GpuPrices(**state(stated, count)).assess(columns, asked).raw
    losses = GpuFragmentation(**state(stated, count)).assess(columns, asked).raw
    cluster = PricedCluster(nodes, usual)
    for shape, pod in enumerate(pods):
        for row, node in enumerate(nodes):
            if fits(node, pod):
                lost = cluster.worths[row] - cluster.judge(row, place(node, pod))
                assert prices[shape, row] == pytest.approx(max(0.0, lost), abs=1e-6)
                assert losses[shape, row] * 1000 == pytest.approx(loss(node, pod, usual), abs=1e-6)


def assess(entries: list[dict[str, Any]], devices: bool = True) -> list[float]:
    """What a part of 0.3, or a whole device if nodes only count them, costs on nodes of two zones by what is stated."""
    args = {"usualPods": entries, "usualPodsCount": 10**9}
    if devices:
        nodes = show_nodes([Node(8, (1000,)), Node(8, (1000,))])
        nodes = replace(nodes, labels=[{"zone": "a"}, {"zone": "b"}])
        ask = show_pods([Pod(1, 1, 300)], [1], show_usual([(Pod(1), 1)]))
    else:
        nodes = machine_columns(
            {"m0": {"zone": "a"}, "m1": {"zone": "b"}},
            resources=("pods", "cpu", "nvidia.com/gpu"),
            capacity=(100, 16, 4),
        )
        ask = ShapeBatch(np.array([(1, 1, 1)]), np.array([1]), [ShapeRow()])
        ask = replace(ask, typical=replace(ask, requests=np.array([(1, 1, 0)])))
    return list(np.round(GpuFragmentation(**args).assess(nodes, ask).raw[0], 6))


def test_stated_pods_come_where_their_labels_and_resources_are():
    whole = {"gpus": 1}
    assert assess([whole]) == [1.0, 1.0]
    assert assess([whole | {"nodeLabels": {"zone": "a"}}]) == [1.0, 0.0]
    assert assess([whole | {"nodeLabels": {"zone": ["b", "c"]}}]) == [0.0, 1.0]
    assert assess([whole | {"nodeLabels": {"rack": "a"}}]) == [0.0, 0.0]
    assert assess([whole | {"requests": {"example.com/fast": 1}}]) == [0.0, 0.0]
    assert assess([whole | {"requests": {"cpu": "9m"}}]) == [0.0, 0.0]
    # Half of them could use 0.7 of what is left, the others nothing.
    assert assess([whole | {"weight": 5}, {"weight": 5, "gpus": 1, "share": 0.5}]) == [0.65, 0.65]


def test_stated_parts_take_no_devices_that_nodes_only_count():
    assert assess([{"gpus": 4}], devices=False) == [4.0, 4.0]
    assert assess([{"gpus": 1, "share": 0.5}], devices=False) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"gpu": 1}, r"usualPods\[0\]: unknown argument 'gpu'; known: .*gpus"),
        ({"weight": 0}, r"usualPods\[0\]: weight is 0.0; it must be a number above 0"),
        ({"weight": "often"}, "weight is 'often'; it must be a number"),
        ({"gpus": 1, "share": 1.5}, "share is 1.5; it must be a number, 0 to 1"),
        ({"gpus": 1, "share": 0}, "share is 0.0; it must be a number above 0"),
        ({"share": 0.5}, "share is 0.5; it must be left out where gpus is 0"),
        ({"gpus": 0.5}, "gpus is 0.5; it must be a whole number"),
        ({"requests": {"nvidia.com/gpu": 1}}, r"requests\.nvidia\.com/gpu is 1; it must be stated as gpus"),
        ({"requests": {"cpu": "many"}}, r"requests\.cpu is 'many'; it must be an amount"),
        ({"requests": ["cpu"]}, "requests is .*; it must be a map"),
        ({"nodeLabels": {"zone": []}}, r"nodeLabels\.zone is \[\]; it must be a text, or a list of texts"),
        ({"nodeLabels": {"zone": 1}}, r"nodeLabels\.zone is 1; it must be a text"),
    ],
)
def test_faults_of_statements_are_named(entry: dict[str, Any], fault: str):
    for model in (GpuPrices, GpuFragmentation):
        with pytest.raises(ModelArgumentError, match=fault):
            model(usualPods=[entry])


def test_faults_of_the_list_are_named():
    with pytest.raises(ModelArgumentError, match="gpu_prices: usualPods has 1001 entries; it may have 1000"):
        GpuPrices(usualPods=[{}] * 1001)
    with pytest.raises(ModelArgumentError, match="usualPods is 'many'; it must be a list of maps"):
        GpuPrices(usualPods="many")
    with pytest.raises(ModelArgumentError, match="usualPodsCount is 0; it must be a number, 1 to"):
        GpuPrices(usualPodsCount=0)
    with pytest.raises(ModelArgumentError, match="gpu_packing: unknown argument 'usualPods'"):
        GpuPacking(usualPods=[])


# --- in rounds --------------------------------------------------------------------------------------------------------


def make_core(usual: list[dict[str, Any]]) -> Scheduler:
    """Two machines with a device each, which tasks share, scheduled by prices that are told the usual pods."""
    args = {"drivers": ["gpu.example.com"], "usualPods": usual}
    core = scheduler(policy="void", overlays=[WeightedModel(GpuPrices(**args), 10)])
    core.apply([class_record("gpu")])
    for name in ("m0", "m1"):
        shared = device("d0", allowMultipleAllocations=True, capacity={"milli": {"value": "1000"}})
        core.apply([machine(name, cpu=8000), slice_record(name, [shared])])
    return core


@pytest.mark.parametrize(("size", "beside"), [(0.32, "large"), (0.19, "medium")])
def test_before_any_pod_has_come_what_is_stated_decides(size: float, beside: str):
    mixture = ((0.81, 1), (0.65, 1), (0.16, 0.5), (size, 9))
    core = make_core([{"gpus": 1, "share": share, "weight": weight} for share, weight in mixture])
    core.apply([*tasks(1, "large", content=part(810)), *tasks(2, "medium", content=part(650))])
    first = placed(core.run_round())
    assert len(set(first.values())) == 2
    # 0.32 fits beside 0.65 alone, so 0.16 goes to the other. 0.19 fits beside 0.81, and would still fit there.
    core.apply(tasks(3, "small", content=part(160)))
    assert placed(core.run_round())["small"] == first[beside]


@pytest.mark.parametrize(("count", "alone"), [(50_000, True), (49_999, False)])
def test_stated_pods_that_count_much_more_than_those_of_the_cluster_decide_alone(count: int, alone: bool):
    entries = state([(Pod(1, 1, 300), 1.0)], count)
    nodes, pods = show_nodes([Node(8, (1000, 300))]), [Pod(1, 1, 300)]
    found = [
        GpuFragmentation(**entries).assess(nodes, show_pods(pods, [1], show_usual([(usual, 5)]))).raw.tolist()
        for usual in (Pod(1, 1, 700), Pod(1, 1, 300))
    ]
    assert (found[0] == found[1]) == alone
