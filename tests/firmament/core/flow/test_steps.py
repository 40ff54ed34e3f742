"""Steps of machines: merged or not, flows cost what their tasks cost one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.network import (
    Steps,
    build_network,
    compute_unscheduled_penalties,
    dearest_path,
    flow_cost,
)
from firmament.core.flow.network.widening import map_flow_to_wider_network, unmerge
from firmament.core.flow.residual import Residual
from tests.support.core import problem
from tests.support.effort import examples


def charged(crowd: int, placed: int, times: int, step: int, tasks: int) -> int:
    """What the tasks of a row cost one by one: each looks at how many are on its machine already."""
    on_machine = [placed] * times
    total = 0
    for index in range(tasks):
        machine = index % times
        total += crowd * (on_machine[machine] // step * step)
        on_machine[machine] += 1
    return total


@settings(max_examples=examples(300))
@given(
    crowd=st.integers(0, 20),
    placed=st.integers(0, 7),
    times=st.integers(1, 4),
    room=st.integers(0, 30),
    most=st.integers(0, 40),
    step=st.integers(1, 4),
    merged=st.integers(0, 12),
)
def test_filled_in_order_the_arcs_cost_what_the_tasks_cost_one_by_one(
    crowd: int, placed: int, times: int, room: int, most: int, step: int, merged: int
):
    rows = [np.array([each]) for each in (crowd, placed, times, room, most)]
    steps = Steps(rows[0], rows[1], rows[2], rows[3], rows[4], step)
    alone, together = steps.arcs(), steps.arcs(np.array([merged]))
    assert steps.count_arcs() == len(alone.cost) == int(alone.count[0])
    assert alone.capacity.sum() == together.capacity.sum() <= room
    assert len(together.cost) == len(alone.cost) - max(0, min(merged, len(alone.cost)) - 1)
    for tasks in range(int(alone.capacity.sum()) + 1):
        filled = np.clip(tasks - (np.cumsum(alone.capacity) - alone.capacity), 0, alone.capacity)
        assert int(filled @ alone.cost) == charged(crowd, placed, times, step, tasks)
        assert steps.cost(np.array([tasks])) == charged(crowd, placed, times, step, tasks)


def test_a_network_unfolds_to_what_it_would_have_been_unmerged():
    given_problem = problem(
        tasks=[5, 4], requests=[[1], [1]], free=[[6], [4], [3]], cost=[[5, 3, 9], [1, 2, 3]], crowd=[2, 0, 7]
    )
    residual = Residual(given_problem)
    columns = ArcColumns(np.array([0, 0, 1, 1, 1]), np.array([0, 2, 0, 1, 2]))
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    many, merged = np.array([6, 6, 2]), np.array([4, 3, 2])
    whole = build_network(residual, columns, penalties, many)
    small = build_network(residual, columns, penalties, many, merged)
    assert len(small.problem.tails) < len(whole.problem.tails)
    unfolded = unmerge(small)
    for name in ("tails", "heads", "capacities", "costs", "supplies"):
        np.testing.assert_array_equal(getattr(unfolded.problem, name), getattr(whole.problem, name))
    np.testing.assert_array_equal(unfolded.step_machine, whole.step_machine)
    np.testing.assert_array_equal(unfolded.step_count, whole.step_count)
    flows = np.zeros(len(small.problem.tails), dtype=np.int64)
    # Five and three tasks on the first and last machine through columns, one left; the merged steps are full or not.
    flows[small.blocks[0]] = [5, 0, 0, 1, 2]
    flows[small.blocks[2].start + 4] = 1
    steps = small.blocks[3]
    for machine, tasks in enumerate((5, 1, 2)):
        own = np.flatnonzero(small.step_machine == machine) + steps.start
        room = small.problem.capacities[own]
        flows[own] = np.clip(tasks - (np.cumsum(room) - room), 0, room)
    carried = map_flow_to_wider_network(small, flows, unfolded, 3)
    assert flow_cost(small, flows) == flow_cost(unfolded, carried) == int(carried @ unfolded.problem.costs)
