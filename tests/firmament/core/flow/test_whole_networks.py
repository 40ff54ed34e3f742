"""Small networks are solved whole: the same optimum as by generating columns, and no expected prices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmament.core.flow import column_generation
from firmament.core.flow.column_generation import FlowOutcome, GenerationOptions, optimal_flow
from firmament.core.flow.price_estimate.equilibrium import estimate_prices
from firmament.core.flow.problem import PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.histories.problems import placement_problem
from tests.support.tuning import FLOW


def solved(given_problem: PlacementProblem, most: int) -> FlowOutcome | None:
    residual = Residual(given_problem)
    fits = {shape: residual.find_fitting(shape) for shape in range(len(given_problem.requests))}
    return optimal_flow(residual, fits, OrToolsSolver(), GenerationOptions(whole=most), FLOW)


@given(seed=st.integers(0, 2**32 - 1))
def test_it_is_the_optimum_that_generating_columns_finds(seed: int):
    each = placement_problem(seed, 5, 12, tasks=6)
    if seed % 3 == 0:
        each = replace(each, pins={1: np.array([0, 3, 7])})
    whole, generated = solved(each, 10**6), solved(each, 0)
    assert (whole is None) == (generated is None)
    if whole is not None and generated is not None:
        assert whole.certified
        assert whole.bound == generated.bound
        assert int(whole.assignments().count.sum()) == int(generated.assignments().count.sum())
        assert len(whole.carried) == whole.arcs >= generated.arcs


@pytest.mark.parametrize(("most", "estimated"), [(4 * 9 + 9 * 3, False), (4 * 9 + 9 * 3 - 1, True)])
def test_prices_are_estimated_for_networks_beyond_the_bound_alone(monkeypatch, most, estimated):
    """Four classes on nine machines with room for three tasks each."""
    each = problem(
        tasks=[5] * 4, requests=[[1]] * 4, free=[[3]] * 9, cost=np.arange(36).reshape(4, 9).tolist()
    )
    asked = []

    def noticed(*arguments):
        asked.append(True)
        return estimate_prices(*arguments)

    monkeypatch.setattr(column_generation, "estimate_prices", noticed)
    outcome = solved(each, most)
    assert outcome is not None
    assert outcome.certified
    assert (len(asked) > 0) == estimated
