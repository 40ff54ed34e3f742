"""Prices of places against what the optimum becomes with one place, or one task, more."""

from __future__ import annotations

from itertools import chain

import networkx as nx
import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from firmament.core.flow.network.network import compute_unscheduled_penalties, dearest_path
from firmament.core.flow.problem import COST_UNITS_PER_POINT, PlacementProblem
from firmament.core.flow.residual import Residual
from firmament.core.placement.outcome import PassOptions, no_timer
from firmament.core.round_flow.refusals_and_prices import place_prices
from firmament.core.rounds import decide
from firmament.solvers.ortools_solver import OrToolsSolver
from tests.support.core import problem
from tests.support.effort import examples
from tests.support.histories.problems import SEEDS, placement_problem


def optimum(problem: PlacementProblem, *, place_on: int = -1, without: int = -1) -> int:
    """Cost of the best flow, one unit a task, with one more place on a machine or one task of a class less.

    Of problems whose tasks ask for one unit of the first resource and nothing else. By networkx, arc by arc.
    """
    start = Residual(problem)
    penalties = compute_unscheduled_penalties(start, dearest_path(start)).tolist()
    graph: nx.MultiDiGraph[object] = nx.MultiDiGraph()
    total = 0
    for cls, waiting in enumerate(problem.counts.tolist()):
        supply = sum(waiting) - (cls == without)
        total += supply
        graph.add_node(("class", cls), demand=-supply)
        for bucket, count in enumerate(waiting):
            graph.add_edge(("class", cls), "sink", capacity=count, weight=penalties[cls][bucket])
        shape = int(problem.shape[cls])
        for machine in range(problem.machines):
            if problem.feasible[shape, machine] and machine in problem.pins.get(cls, range(problem.machines)):
                graph.add_edge(("class", cls), ("machine", machine), weight=int(problem.cost[shape, machine]))
    for machine, room in enumerate(problem.free[:, 0].tolist()):
        for place in range(max(0, room) + (machine == place_on)):
            weight = int(problem.crowd[machine]) * place
            graph.add_edge(("machine", machine), "sink", capacity=1, weight=weight)
    graph.add_node("sink", demand=total)
    return int(nx.network_simplex(graph)[0])


def small(seed: int, classes: int, machines: int) -> PlacementProblem:
    """One with fewer tasks than would make steps of crowding longer than one, and classes that all differ.

    Those that do not are one class of the network, with the penalties, and the price, of all of them.
    """
    found = placement_problem(seed, classes, machines, roomy=True)
    assume(found.crowd_step() == 1 and found.counts.any())
    return found


@settings(max_examples=examples(150))
@given(SEEDS, st.integers(1, 4), st.integers(1, 6))
def test_prices_are_what_a_place_more_or_a_task_less_would_change(seed: int, classes: int, machines: int):
    given_problem = small(seed, classes, machines)
    placement = decide(given_problem, OrToolsSolver(), PassOptions(), no_timer)
    assume(placement.first is None or placement.first.classes is None)
    prices = place_prices(given_problem, placement)
    now = optimum(given_problem)
    for machine in range(machines):
        saved = now - optimum(given_problem, place_on=machine)
        assert round(prices.machine[machine] * COST_UNITS_PER_POINT) == saved, machine
    for cls in np.flatnonzero(given_problem.counts.any(axis=1)).tolist():
        if not np.isnan(prices.cls[cls]):  # NaN: it fits nowhere
            less = now - optimum(given_problem, without=cls)
            assert round(prices.cls[cls] * COST_UNITS_PER_POINT) == less, cls


def test_a_place_is_worth_what_its_absence_costs():
    # Two places at no cost, a third task has to go where it costs a hundred points.
    found = problem(tasks=[3], requests=[[1]], free=[[2], [5]], cost=[[0, 10_000]])
    placement = decide(found, OrToolsSolver(), PassOptions(), no_timer)
    prices = place_prices(found, placement)
    assert prices.machine.tolist() == [100.0, 0.0]
    assert prices.cls.tolist() == [100.0]


def test_nobody_lacks_a_place_where_all_have_the_cheapest():
    found = problem(tasks=[2, 1], requests=[[1], [1]], free=[[2], [5]], cost=[[0, 700], [700, 0]])
    placement = decide(found, OrToolsSolver(), PassOptions(), no_timer)
    assert not place_prices(found, placement).machine.any()


def test_machines_that_are_alike_have_one_price():
    found = problem(tasks=[40], requests=[[1]], free=[[1]] * 30, cost=[[0] * 30])
    placement = decide(found, OrToolsSolver(), PassOptions(), no_timer)
    prices = place_prices(found, placement)
    assert placement.first is not None
    assert placement.first.alike is not None
    assert len(set(prices.machine.tolist())) == 1
    assert prices.machine[0] > 0  # ten tasks wait for a place


def test_without_a_flow_nothing_has_a_price():
    found = problem(tasks=[2], requests=[[9]], free=[[2], [5]])
    prices = place_prices(found, decide(found, OrToolsSolver(), PassOptions(), no_timer))
    assert np.isnan(prices.cls).all()
    assert not any(chain(prices.machine.tolist()))
