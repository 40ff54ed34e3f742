"""Figures of a report, from columns of tasks and series of measurements."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from poseidon.simulate.report import ReportSource, SimulationReport, WaitingTimes, make_report
from poseidon.simulate.tasks import NEVER, TaskProgress

TO_COME, WAITING, RUNNING, ENDED = TaskProgress


def report(
    *tasks: tuple[int, float, float, float, float, TaskProgress, int], **series: Any
) -> SimulationReport:
    """Report on tasks: kind, arrival, first and last begin, rest, state, evictions; the kinds are called a, b, a."""
    columns = np.array(tasks, dtype=np.float64).reshape(-1, 7).T
    kind, arrival, first, begun, left, state, evictions = columns
    record = {
        "at": [0.0, 60.0],
        "requested": [[1, 0, 0], [3, 0, 2]],
        "offered": [[4, 8, 2], [4, 8, 2]],
        "fragmented": [0.25, 0.5],
        "running": [1, 2],
        "waiting": [2, 0],
        "nodes": [2, 3],
        "empty": [1, 0],
        "rounds": 4,
        "uncertified": 1,
        "cost": 70,
        "preempted": 2,
        "displaced": 3,
        "round_seconds": [1.0, 3.0],
        "processor_seconds": 9.0,
        **series,
    }
    work = SimpleNamespace(arrival=arrival, template=kind.astype(np.int64))
    source = SimpleNamespace(
        record=SimpleNamespace(**record),
        tasks=SimpleNamespace(
            work=type("Work", (), {"__len__": lambda _: len(tasks), **vars(work)})(),
            state=state.astype(np.int8),
            begun=begun,
            left=left,
            first_begun=first,
            evictions=evictions.astype(np.int64),
        ),
        machines=SimpleNamespace(resources=("cpu", "gpu", "memory")),
        kinds=SimpleNamespace(names=("a", "b", "a")),
        arrived=sum(each[5] is not TO_COME for each in tasks),
        now=120.0,
    )
    return make_report(cast(ReportSource, source))


def test_series_are_shares_of_what_nodes_offer_and_their_means():
    found = report()
    assert (found.horizon, found.utilisation) == (120.0, {"cpu": 0.5, "memory": 0.5})
    assert found.curves.utilisation == {"cpu": (0.25, 0.75), "memory": (0.0, 1.0)}
    assert (found.curves.at, found.curves.nodes, found.curves.empty) == ((0.0, 60.0), (2, 3), (1, 0))
    assert (found.curves.running, found.curves.waiting) == ((1, 2), (2, 0))
    assert (found.fragmentation, found.nodes, found.empty) == (0.375, 2.5, 0.5)
    assert found.curves.fragmentation == (0.25, 0.5)
    assert (found.rounds, found.uncertified, found.cost) == (4, 1, 70)
    assert (found.preempted, found.displaced) == (2, 3)
    assert found.seconds == {"processor": 9.0, "roundP50": 2.0, "roundP99": pytest.approx(2.98)}
    assert (found.waits, found.makespan) == ((), None)


def test_without_points_or_rounds_figures_are_zero():
    found = report(
        at=[],
        requested=[],
        offered=[],
        fragmented=[],
        nodes=[],
        empty=[],
        running=[],
        waiting=[],
        round_seconds=[],
    )
    assert (found.utilisation, found.fragmentation, found.nodes, found.empty) == ({}, 0.0, 0.0, 0.0)
    assert found.seconds == {"processor": 9.0, "roundP50": 0.0, "roundP99": 0.0}


def test_a_resource_that_no_node_offers_is_not_used():
    assert report(offered=[[0, 8, 2], [4, 8, 2]]).curves.utilisation["cpu"] == (0.0, 0.75)


def test_waits_are_until_the_first_node_by_kind_and_of_all():
    found = report(
        (0, 0.0, 1.0, 50.0, 5.0, RUNNING, 1),
        (2, 10.0, 13.0, 13.0, 5.0, ENDED, 0),
        (1, 20.0, NEVER, NEVER, 5.0, WAITING, 0),
        (0, 30.0, 30.0, NEVER, 5.0, WAITING, 2),
        (0, 99.0, NEVER, NEVER, 5.0, TO_COME, 0),
    )
    assert found.waits == (
        WaitingTimes("a", 3, 3, 1, 1.0, 3.0, 3.0, 3.0, 3),
        WaitingTimes("b", 1, 0, 1, None, None, None, None, 0),
        WaitingTimes("all", 4, 3, 2, 1.0, 3.0, 3.0, 3.0, 3),
    )


@pytest.mark.parametrize(
    ("last", "makespan"),
    [
        ((0, 20.0, 21.0, 30.0, 15.0, ENDED, 0), 35.0),
        ((0, 20.0, 21.0, 30.0, 15.0, RUNNING, 0), None),
        ((0, 20.0, NEVER, NEVER, 15.0, TO_COME, 0), None),
    ],
)
def test_the_makespan_is_from_the_first_arrival_to_the_last_end_if_all_have_ended(last, makespan):
    assert report((0, 10.0, 11.0, 11.0, 5.0, ENDED, 0), last).makespan == makespan


def test_a_report_for_comparison_has_no_times_of_this_machine():
    found = report()
    assert "seconds" in found.as_json()
    assert found.as_json(timed=False) == {
        key: each for key, each in found.as_json().items() if key != "seconds"
    }
