"""The strategies score as kube-scheduler does, by its arithmetic on single numbers, and fill machines in one round."""

from __future__ import annotations

from collections import Counter
from math import floor, trunc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.interface import ModelArgumentError, ShapeRow
from cost_models.node_resources_fit.most_allocated import MostAllocated
from cost_models.node_resources_fit.requested_to_capacity_ratio import RequestedToCapacityRatio
from cost_models.node_resources_fit.strategy import FitStrategy
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids
from tests.support.policies import machines, shapes

GPU = "nvidia.com/gpu"
RESOURCES = ("pods", "cpu", "memory", GPU)
SPREADING = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]


def most_requested(requested, capacity):
    return min(requested, capacity) * 100 // capacity


def broken_line(shape):
    def score(percent):
        for number, (at, value) in enumerate(shape):
            if percent <= at:
                if number == 0:
                    return value
                before, low = shape[number - 1]
                return low + trunc((value - low) * (percent - before) / (at - before))
        return shape[-1][1]

    return lambda requested, capacity: score(most_requested(requested, capacity))


def expected(score, weights, capacity, taken, request, *, zeros_count):
    """Return what kube-scheduler's loop over resources says of one node."""
    total = weight_sum = 0
    for name, weight in weights.items():
        column = RESOURCES.index(name)
        if capacity[column] == 0 or (name == GPU and request[column] == 0):
            continue
        found = score(taken[column] + request[column], capacity[column])
        if found > 0 or zeros_count:
            total += found * weight
            weight_sum += weight
    if weight_sum == 0:
        return 0
    return total // weight_sum if zeros_count else floor(total / weight_sum + 0.5)


amounts = st.lists(st.integers(0, 40), min_size=4, max_size=4)
clusters = st.lists(st.tuples(amounts, amounts), min_size=1, max_size=6)
weightings = st.dictionaries(
    st.sampled_from(["cpu", "memory", GPU]), st.integers(1, 5), min_size=1, max_size=3
)
lines = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)), min_size=1, max_size=5, unique_by=lambda it: it[0]
).map(sorted)


@given(clusters, amounts, weightings, st.none() | lines)
def test_scores_are_those_of_kube_scheduler(cluster, request_, weights, line):
    taken = [[min(have, used) for have, used in zip(*each, strict=True)] for each in cluster]
    has = [capacity for capacity, _ in cluster]
    columns = machines(
        *(f"m{index}" for index in range(len(cluster))),
        resources=RESOURCES,
        capacity=has,
        free=(np.array(has) - np.array(taken)).tolist(),
    )
    resources = [{"name": name, "weight": weight} for name, weight in weights.items()]
    model: FitStrategy
    if line is None:
        model, score = MostAllocated(resources=resources), most_requested
    else:
        points = [{"utilization": at, "score": value} for at, value in line]
        model = RequestedToCapacityRatio(resources=resources, shape=points)
        score = broken_line([(at, 10 * value) for at, value in line])
    answer = model.assess(columns, shapes(ShapeRow(), requests=[request_]))
    assert answer.score is not None
    assert answer.score[0].tolist() == [
        expected(score, weights, capacity, used, request_, zeros_count=line is None)
        for capacity, used in zip(has, taken, strict=True)
    ]
    order = answer.raw[0] - (100 - answer.score[0])
    assert ((order >= 0) & (order < 1)).all()


@pytest.mark.parametrize("policy", ["most_allocated", "requested_to_capacity_ratio"])
def test_one_round_fills_equal_machines_one_after_another(policy):
    core = scheduler(
        *(machine(f"m{index}", cpu=4_000) for index in range(20)),
        tasks(1, *uids("t", 14), content=task_class(cpu=1_000)),
        policy=policy,
    )
    assert sorted(Counter(placed(core.run_round()).values()).values()) == [2, 4, 4, 4]


def test_a_falling_function_spreads_the_tasks_of_one_round():
    core = scheduler(
        *(machine(f"m{index}", cpu=100_000) for index in range(5)),
        tasks(1, *uids("t", 10), content=task_class(cpu=100)),
        policy="requested_to_capacity_ratio",
        args={"shape": SPREADING},
    )
    assert sorted(Counter(placed(core.run_round()).values()).values()) == [2, 2, 2, 2, 2]


@pytest.mark.parametrize(
    ("model", "args", "told"),
    [
        (MostAllocated, {"resources": [{"weight": 1}]}, "resources[0]: name is ''"),
        (MostAllocated, {"resources": [{"name": "cpu", "weight": 0}]}, "weight is 0; it must be"),
        (MostAllocated, {"resources": [{"name": "cpu"}, {"name": "cpu"}]}, "it must be named once"),
        (MostAllocated, {"shape": SPREADING}, "unknown argument 'shape'"),
        (RequestedToCapacityRatio, {"shape": SPREADING[::-1]}, "it must be points whose utilization ascends"),
        (RequestedToCapacityRatio, {"shape": [{"utilization": 0, "score": 11}]}, "shape[0]: score is 11"),
    ],
)
def test_bad_arguments_are_named(model, args, told):
    with pytest.raises(ModelArgumentError) as refused:
        model(**args)
    assert told in str(refused.value)
