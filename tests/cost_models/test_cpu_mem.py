"""The default policy's figures, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cost_models.firmament_policies.cpu_mem import CpuMem
from cost_models.interface import MachineColumns, ShapeBatch, ShapeRow
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids
from tests.support.effort import examples


def machines(
    *capacity_and_free: tuple[tuple[int, int], tuple[int, int]],
    resources: tuple[str, ...] = ("cpu", "memory"),
) -> MachineColumns:
    """Machines by (capacity, free), each a pair of cpu and memory."""
    count = len(capacity_and_free)
    return MachineColumns(
        names=[f"m{index}" for index in range(count)],
        resources=resources,
        capacity=np.array([pair[0] for pair in capacity_and_free], dtype=np.int64),
        free=np.array([pair[1] for pair in capacity_and_free], dtype=np.int64),
        running=np.zeros(count, dtype=np.int64),
        labels=[{}] * count,
        annotations=[{}] * count,
        usage=np.full((count, 2), np.nan),
        usage_time=np.full(count, np.nan),
        records={},
        now=0.0,
    )


def raw(columns: MachineColumns, *requests: tuple[int, int]) -> list[list[float]]:
    """Native figures per request and machine."""
    shapes = ShapeBatch(
        requests=np.array(requests, dtype=np.int64),
        counts=np.ones(len(requests), dtype=np.int64),
        rows=[ShapeRow()] * len(requests),
    )
    return CpuMem().assess(columns, shapes).raw.tolist()


HALF_FULL = ((1_000, 32_000), (500, 16_000))


def test_the_example_of_the_original():
    # fc = 520/1000, fr = 17000/32000 = 0.53125: L = (520 + 531) / 2 = 525, B = 0. The original's slot 0 cost 2500,
    # because it left the task's own request out.
    assert raw(machines(HALF_FULL), (20, 1_000)) == [[2_525.0]]


def test_the_next_slot_of_the_example():
    after_one = ((1_000, 32_000), (480, 15_000))
    assert raw(machines(after_one), (20, 1_000)) == [[2_551.0]]


def test_crowding_of_the_example():
    # 500 x (20/1000 + 1000/32000): what L grows by, before rounding.
    assert CpuMem().crowding(machines(HALF_FULL), np.array([20, 1_000])).tolist() == [25.625]


def test_an_empty_machine_costs_what_the_task_itself_takes():
    empty = ((1_000, 1_000), (1_000, 1_000))
    assert raw(machines(empty), (0, 0), (100, 100), (500, 500)) == [[2_000.0], [2_100.0], [2_500.0]]


@pytest.mark.parametrize(
    ("cpu_left", "memory_left", "figure"),
    [
        (500, 500, 2_500.0),  # balanced: L alone
        (100, 900, 2_660.0),  # fractions 0.9 and 0.1: mean 0.5, variance 0.4^2 = 0.16
        (900, 100, 2_660.0),
        (0, 1_000, 2_750.0),  # the greatest imbalance: variance 0.25
        (300, 500, 2_610.0),  # fractions 0.7 and 0.5: variance 0.01
        (100, 300, 2_810.0),
        (200, 800, 2_590.0),
    ],
)
def test_imbalance_costs_a_thousand_times_the_variance(cpu_left: int, memory_left: int, figure: float):
    assert raw(machines(((1_000, 1_000), (cpu_left, memory_left))), (0, 0)) == [[figure]]


def test_every_whole_variance_is_counted_in_full():
    # Differences of 200 thousandths give whole figures of B: no rounding error may take one off.
    columns = machines(*(((1_000, 1_000), (1_000 - taken, 1_000)) for taken in range(0, 1_001, 200)))
    expected = [2_000.0 + taken // 2 + taken * taken // 4_000 for taken in range(0, 1_001, 200)]
    assert raw(columns, (0, 0)) == [expected]


def by_hand(capacity: tuple[int, int], free: tuple[int, int], request: tuple[int, int]) -> float:
    """The formula for a single pair, in Python's own numbers."""
    fractions = []
    for offered, left, asked in zip(capacity, free, request, strict=True):
        taken = 1000.0 * (offered - left) if offered > 0 else 1000.0
        fractions.append(min((taken + 1000.0 * asked) / max(offered, 1), 1000.0))
    cpu, memory = fractions
    level = (math.floor(cpu) + math.floor(memory)) // 2
    return 2000 + level + math.floor((cpu - memory) * (cpu - memory) * (1.0 / 4000.0))


AMOUNTS = st.integers(0, 70_000) | st.integers(0, 2**42)
PAIRS = st.tuples(AMOUNTS, AMOUNTS)


@settings(max_examples=examples(150))
@given(
    capacities=st.lists(PAIRS, min_size=1, max_size=8),
    part=st.floats(0, 1),
    requests=st.lists(PAIRS, max_size=8),
)
def test_all_pairs_have_the_figure_that_each_has_by_itself(
    capacities: list[tuple[int, int]], part: float, requests: list[tuple[int, int]]
):
    states = [(offered, (int(offered[0] * part), int(offered[1] * part))) for offered in capacities]
    found = raw(machines(*states), *requests) if requests else []
    assert found == [[by_hand(*state, request) for state in states] for request in requests]


def test_of_many_pairs_each_has_the_figure_that_it_has_by_itself():
    rng = np.random.default_rng(1)
    states = [
        ((cpu, memory), (int(rng.integers(cpu)), int(rng.integers(memory))))
        for cpu, memory in rng.integers(1_000, 64_000, size=(1_000, 2)).tolist()
    ]
    requests = [(cpu, memory) for cpu, memory in rng.integers(0, 9_000, size=(150, 2)).tolist()]
    found = np.array(raw(machines(*states), *requests))
    assert found.tolist() == [[by_hand(*state, request) for state in states] for request in requests]


def test_a_full_machine_is_the_worst_in_range():
    assert raw(machines(((1_000, 1_000), (0, 0))), (100, 100)) == [[3_000.0]]
    assert CpuMem().range.points(np.array([2_000.0, 3_000.0, 3_250.0])).tolist() == [0.0, 80.0, 100.0]


def test_a_machine_without_capacity_counts_as_full():
    assert raw(machines(((0, 0), (0, 0)), ((0, 1_000), (0, 1_000))), (0, 0)) == [[3_000.0, 2_750.0]]
    assert CpuMem().crowding(machines(((0, 0), (0, 0))), np.array([5, 5])).tolist() == [1_000.0]


def test_resources_that_nobody_knows_count_as_full():
    unknown = machines(HALF_FULL, resources=("pods", "example.com/device"))
    assert raw(unknown, (20, 1_000)) == [[3_000.0]]
    assert CpuMem().crowding(unknown, np.array([20, 1_000])).tolist() == [0.0]


def test_requests_above_the_capacity_stay_in_range():
    assert raw(machines(HALF_FULL), (10**9, 10**12)) == [[3_000.0]]


def test_an_exact_fit_is_accepted():
    # The original refused exact fits: it required the request to be less than what is left.
    exact = task_class(cpu=1_000, memory=32_000)
    core = scheduler(machine("m", cpu=1_000, memory=32_000, pods=1), tasks(1, "t", content=exact))
    assert placed(core.run_round()) == {"t": "m"}


def test_one_more_than_an_exact_fit_is_refused():
    core = scheduler(
        machine("m", cpu=1_000, memory=32_000), tasks(1, "t", content=task_class(cpu=1_001, memory=32_000))
    )
    assert placed(core.run_round()) == {}


def test_tasks_of_different_sizes_do_not_overfill_a_machine_together():
    # The original gave sizes 1, 1, 1 and 4 of a machine with 4 cores a slot each.
    core = scheduler(
        machine("m", cpu=4_000),
        tasks(1, *uids("small", 3), content=task_class(cpu=1_000)),
        tasks(2, "large", content=task_class(cpu=4_000)),
    )
    core.run_round()
    assert next(core.machine_states()).free["cpu"] >= 0


def test_a_task_goes_to_the_emptier_machine():
    core = scheduler(
        machine("full", cpu=1_000, memory=1_000),
        tasks(1, "first", content=task_class(cpu=600, memory=600)),
    )
    core.run_round()
    core.apply([machine("empty", cpu=1_000, memory=1_000), *tasks(2, "second", content=task_class(cpu=1))])
    assert placed(core.run_round()) == {"second": "empty"}
