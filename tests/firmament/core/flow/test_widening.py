"""A network that is given more columns is the one that would be built with them, and its flow is the same."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from firmament.core.flow.network.arc_columns import ArcColumns
from firmament.core.flow.network.network import build_network, compute_unscheduled_penalties, dearest_path
from firmament.core.flow.network.widening import map_flow_to_wider_network, widen_network
from firmament.core.flow.residual import Residual
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.effort import examples
from tests.support.histories.problems import SEEDS, fits_of, placement_problem


def pairs(residual: Residual, random: np.random.Generator, share: float) -> set[tuple[int, int]]:
    """About ``share`` of all columns; those of pinned classes are always there."""
    problem, fits = residual.problem, fits_of(residual)
    return {
        (cls, machine)
        for cls in residual.active().tolist()
        for machine in np.flatnonzero(fits[int(problem.shape[cls])]).tolist()
        if (machine in problem.pins[cls] if cls in problem.pins else random.random() < share)
    }


def columns_of(chosen: set[tuple[int, int]]) -> ArcColumns:
    cls, machine = np.array(sorted(chosen), dtype=np.int64).reshape(-1, 2).T
    return ArcColumns(cls, machine)


@settings(max_examples=examples(200))
@given(
    seed=SEEDS,
    classes=st.integers(1, 6),
    machines=st.integers(1, 9),
    before=st.floats(0, 1),
    after=st.floats(0, 1),
)
def test_a_widened_network_is_the_one_that_is_built_afresh(
    seed: int, classes: int, machines: int, before: float, after: float
):
    residual = Residual(placement_problem(seed, classes, machines, joint=True))
    random = np.random.default_rng(seed)
    few, many = pairs(residual, random, before), pairs(residual, random, after)
    steps, merged = random.integers(1, 9, machines), random.integers(0, 4, machines)
    penalties = compute_unscheduled_penalties(residual, dearest_path(residual))
    narrow = build_network(residual, columns_of(few), penalties, steps, merged)
    flows = OrToolsSolver().solve(narrow.problem).flows
    found = widen_network(residual, narrow, flows, columns_of(many - few))
    event(f"widened: {found is not None}, by {min(3, len(many - few))}")
    reached = {machine for _, machine in few}
    assert (found is not None) == all(machine in reached for _, machine in many)
    if found is None:
        return
    network, carried = found
    expected = build_network(residual, columns_of(few | many), penalties, steps, merged)
    assert np.array_equal(carried, map_flow_to_wider_network(narrow, flows, expected, machines))
    for part, wanted in (
        (network, expected),
        (network.problem, expected.problem),
        (network.columns, expected.columns),
    ):
        for field in fields(part):
            value, right = getattr(part, field.name), getattr(wanted, field.name)
            if isinstance(right, np.ndarray):
                assert value.dtype == right.dtype
                assert np.array_equal(value, right), field.name
