"""What the blocks of a network mean: read back as tables of (who, where, up to how many, at what cost)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from cost_models.interface import JointRows
from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.network import (
    Network,
    build_network,
    compute_unscheduled_penalties,
    crowding_cost,
    dearest_path,
)
from firmament.core.flow.problem import WAIT_BUCKETS, Assignments, PlacementProblem
from firmament.core.flow.residual import Residual
from tests.support.core import problem


def full_network(residual: Residual, steps: int = 100) -> Network:
    """The network with every column."""
    given = residual.problem
    cls, machine = np.divmod(np.arange(given.classes * given.machines), max(1, given.machines))
    return build_network(
        residual,
        ArcColumns(cls, machine),
        compute_unscheduled_penalties(residual, dearest_path(residual)),
        np.full(given.machines, steps),
    )


def take(residual: Residual, *assigned: tuple[int, int, int]) -> None:
    """Book (class, machine, count) triples."""
    cls, machine, count = np.array(assigned, dtype=np.int64).T
    residual.book_assignments(Assignments(cls, machine, count))


def columns(network: Network) -> list[tuple[int, int, int, int]]:
    """(class, machine, capacity, cost) of the arcs between classes and machines."""
    arcs, block = network.problem, network.blocks[0]
    first = 2 * len(network.classes)
    return [
        (int(network.classes[tail]), int(network.machines[head - first]), capacity, cost)
        for tail, head, capacity, cost in zip(
            arcs.tails[block].tolist(),
            arcs.heads[block].tolist(),
            arcs.capacities[block].tolist(),
            arcs.costs[block].tolist(),
            strict=True,
        )
    ]


def steps(network: Network) -> dict[int, list[tuple[int, int]]]:
    """(capacity, cost) of the arcs from each machine to the sink."""
    arcs, block = network.problem, network.blocks[3]
    first, sink = 2 * len(network.classes), len(arcs.supplies) - 1
    assert (arcs.heads[block] == sink).all()
    found: dict[int, list[tuple[int, int]]] = {int(machine): [] for machine in network.machines}
    for tail, capacity, cost in zip(
        arcs.tails[block].tolist(), arcs.capacities[block].tolist(), arcs.costs[block].tolist(), strict=True
    ):
        found[int(network.machines[tail - first])].append((capacity, cost))
    return found


def two_by_two(tasks: Sequence[int | Sequence[int]] = (3, 5), crowd: int = 0) -> PlacementProblem:
    """Two classes and two machines of two resources."""
    return problem(
        tasks=tasks,
        requests=[[10, 1], [4, 0]],
        free=[[25, 9], [8, 1]],
        cost=[[100, 200], [0, 50]],
        crowd=crowd,
    )


def test_columns_carry_what_fits_at_what_the_models_charge():
    network = full_network(Residual(two_by_two()))
    assert columns(network) == [(0, 0, 2, 100), (0, 1, 0, 200), (1, 0, 5, 0), (1, 1, 2, 50)]


def test_supplies_are_the_waiting_tasks():
    network = full_network(Residual(two_by_two()))
    # Two classes, their aggregators, two machines, the sink.
    assert network.problem.supplies.tolist() == [3, 5, 0, 0, 0, 0, -8]


def test_every_task_may_stay_unscheduled():
    residual = Residual(two_by_two(tasks=[[1, 0, 2, 0], 5]))
    network = full_network(residual)
    _, aggregation, unscheduled, _ = network.blocks
    arcs = network.problem
    assert list(zip(arcs.tails[aggregation].tolist(), arcs.heads[aggregation].tolist(), strict=True)) == [
        (0, 2),
        (1, 3),
    ]
    assert arcs.capacities[aggregation].tolist() == [3, 5]
    assert arcs.costs[aggregation].tolist() == [0, 0]
    assert arcs.tails[unscheduled].tolist() == [2, 2, 2, 2, 3, 3, 3, 3]
    assert arcs.capacities[unscheduled].tolist() == [1, 0, 2, 0, 0, 0, 0, 5]


def test_only_classes_that_wait_and_machines_with_columns_take_part():
    residual = Residual(problem(tasks=[2, 0, 1], requests=[[1], [1], [1]], free=[[9], [9], [9]]))
    network = build_network(
        residual,
        ArcColumns(np.array([0, 2, 2]), np.array([2, 0, 2])),
        compute_unscheduled_penalties(residual, dearest_path(residual)),
        np.ones(3, dtype=np.int64),
    )
    assert network.classes.tolist() == [0, 2]
    assert network.machines.tolist() == [0, 2]
    assert columns(network) == [(0, 2, 2, 0), (2, 0, 1, 0), (2, 2, 1, 0)]


def test_joint_rows_limit_a_column_too():
    rows = JointRows(row_of=np.array([0, -1]), amount=np.array([2]), limit=np.array([5]), reason="full")
    network = full_network(Residual(problem(tasks=[9], requests=[[1]], free=[[99], [99]], joint=[rows])))
    assert columns(network) == [(0, 0, 2, 0), (0, 1, 9, 0)]


# --- crowding --------------------------------------------------------------------------------------------------------


def test_without_crowding_a_machine_has_one_arc():
    network = full_network(Residual(problem(tasks=[7], requests=[[2]], free=[[9], [0]])))
    assert steps(network) == {0: [(4, 0)], 1: []}


def test_each_task_on_a_machine_costs_more_than_the_one_before():
    network = full_network(Residual(problem(tasks=[7], requests=[[2]], free=[[9], [4]], crowd=[10, 25])))
    assert steps(network) == {0: [(1, 0), (1, 10), (1, 20), (1, 30)], 1: [(1, 0), (1, 25)]}


def test_later_passes_continue_where_earlier_ones_stopped():
    residual = Residual(problem(tasks=[7], requests=[[2]], free=[[9], [4]], crowd=10))
    take(residual, (0, 0, 3))
    assert steps(full_network(residual)) == {0: [(1, 30)], 1: [(1, 0), (1, 10)]}


def test_steps_are_limited_to_what_is_asked_for():
    network = full_network(Residual(problem(tasks=[9], requests=[[1]], free=[[9]], crowd=10)), steps=3)
    assert steps(network) == {0: [(1, 0), (1, 10), (1, 20)]}


def crowded() -> PlacementProblem:
    """80 tasks on two machines: crowding counts in steps of two tasks."""
    return problem(tasks=[80], requests=[[1]], free=[[7], [100]], crowd=[10, 1])


def test_where_a_machine_gets_dozens_of_tasks_steps_are_wider():
    given = crowded()
    assert given.crowd_step() == 2
    network = full_network(Residual(given), steps=5)
    assert steps(network) == {
        0: [(2, 0), (2, 20), (2, 40), (1, 60)],
        1: [(2, 0), (2, 2), (2, 4), (2, 6), (2, 8)],
    }


def test_a_wide_step_that_was_begun_before_is_finished_first():
    residual = Residual(crowded())
    take(residual, (0, 0, 3), (0, 1, 4))
    assert steps(full_network(residual, steps=3)) == {
        0: [(1, 20), (2, 40), (1, 60)],
        1: [(2, 4), (2, 6), (2, 8)],
    }


@pytest.mark.parametrize(("before", "expected"), [(0, [0, 0, 20, 20, 40]), (3, [20, 40, 40, 60, 60])])
def test_crowding_cost_of_the_nth_task(before: int, expected: list[int]):
    residual = Residual(crowded())
    residual.placed[0] = before
    assert crowding_cost(residual, np.zeros(5, np.int64), np.arange(5)).tolist() == expected


# --- penalties -------------------------------------------------------------------------------------------------------


def test_leaving_a_task_costs_more_than_any_placement():
    residual = Residual(two_by_two(crowd=7))
    dearest = dearest_path(residual)
    # 200 for the dearest column, and 7 for each of at most 6 tasks before (24 / 4 of the smaller class).
    assert dearest >= 200 + 7 * 5
    assert (compute_unscheduled_penalties(residual, dearest) > dearest).all()


def test_penalties_rise_with_priority_then_with_wait():
    residual = Residual(problem(tasks=[1, 1, 1], requests=[[1]] * 3, free=[[3]], priority=[0, 2, 1]))
    cost = compute_unscheduled_penalties(residual, 1_000)
    assert cost.shape == (3, WAIT_BUCKETS)
    assert (np.diff(cost, axis=1) < 0).all()  # bucket 0 has waited longest
    assert cost[2].min() > cost[0].max()  # priority outweighs every wait
    assert cost[1].min() > cost[2].max()


def test_without_machines_there_is_nothing_dear():
    residual = Residual(problem(tasks=[2], requests=[[1]], free=[], cost=[[]]))
    assert dearest_path(residual) == 0
