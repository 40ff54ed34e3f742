"""Figures that the upstreams' documentation and tests state, and what happens on the very threshold."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cost_models.interface import ContainerRow, Int64, ShapeRow
from cost_models.load_aware.arguments import Strategy
from cost_models.load_aware.score_formulas import packing_score, variation_score
from cost_models.load_aware.scorer import predict_cpu
from cost_models.load_aware.task_use import estimate
from cost_models.load_aware.thresholds import NO_LIMIT, compute_headroom
from firmament.core.events import MachineSampled, MachineUpserted
from firmament.core.model import Machine, TaskClass
from tests.cost_models.load_aware.oracle import Args, Node, Pod, Report, go_round
from tests.cost_models.load_aware.scenes import NOW, cluster, of_args, overlay, verdicts
from tests.support.core import Clock, scheduler, tasks

GIB = 2**30
FRESH = NOW - 10


def single(
    usage: dict[str, int],
    *,
    cpu: int = 96_000,
    memory: int = 512 * GIB,
    pod: Pod | None = None,
    **args: Any,
):
    """The overlay's verdict on one machine with that use."""
    node = Node("n", {"cpu": cpu, "memory": memory}, Report(FRESH, usage=usage))
    core = cluster([node], [pod or Pod("waiting")], overlay(**args))
    return verdicts(core, "waiting")["n"]


def test_the_reference_s_worked_score():
    pod = Pod("waiting", requests={"cpu": 16_000, "memory": 32 * GIB})
    verdict, reasons = single({"cpu": 32_000, "memory": 10 * GIB}, pod=pod)
    assert (verdict.feasible, verdict.score, verdict.raw, verdict.cost) == (True, 72.0, 72.0, 28.0)
    assert reasons == ()


@pytest.mark.parametrize(
    ("name", "request_", "limit", "factor", "expected"),
    [
        ("cpu", 4_000, 0, 85, 3_400),
        ("memory", 8 * GIB, 0, 70, 6_012_954_214),
        ("cpu", 0, 0, 85, 250),
        ("memory", 0, 0, 70, 200 * 2**20),
        ("kubernetes.io/batch-cpu", 0, 0, 85, 250),
        ("kubernetes.io/batch-memory", 0, 0, 70, 200 * 2**20),
        ("kubernetes.io/mid-cpu", 0, 0, 85, 0),
        ("", 0, 0, 85, 0),
        ("cpu", 14_000, 4_000, 85, 4_000),  # 11.9 cores, cut to a limit that covers one container only
        ("cpu", 1_000, 2_000, 85, 1_700),
        ("cpu", 1_000, 1_000, 150, 1_000),
        ("cpu", 1_000, 0, 150, 1_500),
        ("cpu", 10, 0, 85, 9),  # 8.5
    ],
)
def test_estimates(name: str, request_: int, limit: int, factor: int, expected: int):
    assert estimate(name, request_, limit, factor) == expected


# --- the very threshold ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "exact", "upstream"),
    [
        (6_399, True, True),
        (6_400, False, True),  # 65.00 % with the task's 100
        (6_449, False, True),  # 65.49 %
        (6_450, False, False),  # 65.50 %
    ],
)
def test_a_machine_is_refused_when_the_threshold_is_reached(used: int, exact: bool, upstream: bool):
    pod = Pod("waiting", requests={"cpu": 100}, limits={"memory": 1})
    for rounding, feasible in (("exact", exact), ("upstream", upstream)):
        args = Args(
            estimatedScalingFactors={"cpu": 100, "memory": 70},
            usageThresholds={"cpu": 65},
            thresholdRounding=rounding,
        )
        node = Node("n", {"cpu": 10_000, "memory": GIB}, Report(FRESH, usage={"cpu": used}))
        verdict, reasons = verdicts(cluster([node], [pod], of_args(args)), "waiting")["n"]
        assert verdict.feasible is feasible
        assert reasons == (() if feasible else ("node(s) cpu usage exceed threshold",))


def one(value: int) -> Int64:
    """An array of one machine and resource."""
    return np.array([[value]], dtype=np.int64)


@given(st.integers(1, 100), st.integers(1, 2**53), st.integers(0, 2**53))
def test_room_is_exact(percent: int, offered: int, used: int):
    left = int(compute_headroom(one(percent), one(offered), one(used), "exact")[0, 0])
    assert Fraction(used + left, offered) * 100 < percent
    assert Fraction(used + left + 1, offered) * 100 >= percent


@given(st.integers(1, 100), st.one_of(st.integers(1, 10**6), st.integers(1, 2**46)))
def test_room_with_upstream_s_rounding_is_what_upstream_computes(percent: int, offered: int):
    left = int(compute_headroom(one(percent), one(offered), one(0), "upstream")[0, 0])
    assert go_round(left / offered * 100) <= percent
    assert go_round((left + 1) / offered * 100) > percent


def test_no_threshold_and_nothing_to_take_a_part_of_limit_nothing():
    percent, offered, used = (np.array([row], dtype=np.int64) for row in ([0, 65], [100, 0], [10**6, 10**6]))
    assert compute_headroom(percent, offered, used, "exact").tolist() == [[NO_LIMIT, NO_LIMIT]]


@pytest.mark.parametrize(("since", "counts"), [(180, False), (179, True)])
def test_an_estimate_counts_until_its_time_is_over(since: int, counts: bool):
    """The deadline is compared with the time of the report, and must lie after it."""
    report = Report(FRESH, usage={"cpu": 100})
    running = Pod("running", requests={"cpu": 10_000}, assigned=FRESH - since, used={"cpu": 100})
    node = Node("n", {"cpu": 100_000, "memory": GIB}, report, [running])
    args = Args(estimatedSecondsAfterPodScheduled=180, resourceWeights={"cpu": 1})
    pod = Pod("waiting", limits={"cpu": 1, "memory": 1})
    verdict, _ = verdicts(cluster([node], [pod], of_args(args)), "waiting")["n"]
    assert verdict.score == (91.0 if counts else 99.0)


# --- Trimaran --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percent", "score"), [(0, 40), (20, 70), (40, 100), (50, 33), (70, 20), (100, 0), (100.1, 0), (130, 0)]
)
def test_target_load_packing(percent: float, score: int):
    assert packing_score(np.array([float(percent)]), 40.0).tolist() == [score]


@pytest.mark.parametrize(
    ("average", "deviation", "margin", "sensitivity", "score"),
    [
        (40, 36, 1, 1, 57),
        (-40, 36, 1, 2, 65),
        (200, 36, 1, 2, 20),
        (40, -36, 1, 2, 75),
        (40, 120, 1, 2, 25),
        (40, 36, -1, 1, 75),
        (40, 36, 1, -1, 57),
        (40, 36, 1, 0, 75),
    ],
)
def test_load_variation_risk_balancing(
    average: float, deviation: float, margin: float, sensitivity: float, score: int
):
    strategy = Strategy("LoadVariationRiskBalancing", margin=margin, sensitivity=sensitivity)
    use, spread = np.array([float(average)]), np.array([float(deviation)])
    found = variation_score(use, spread, 10.0, np.array([100.0]), strategy)
    assert np.floor(found + 0.5).tolist() == [score]
    assert variation_score(use, spread, 10.0, np.array([0.0]), strategy).tolist() == [0.0]


@pytest.mark.parametrize(
    ("containers", "overhead", "expected"),
    [
        ([ContainerRow("a", limits=(("cpu", 700),), requests=(("cpu", 700),))], 0, 700),
        ([ContainerRow("a", requests=(("cpu", 101),))], 0, 152),  # 151.5
        ([ContainerRow("a")], 0, 1_000),
        (
            [ContainerRow("a"), ContainerRow("b", limits=(("cpu", 200),)), ContainerRow("i", "init")],
            30,
            1_230,
        ),
    ],
)
def test_predicted_cpu_counts_container_by_container(
    containers: list[ContainerRow], overhead: int, expected: int
):
    row = ShapeRow(containers=tuple(containers), overhead=(("cpu", overhead),) if overhead else ())
    assert predict_cpu(row, 0, Strategy()) == expected


def test_packing_prefers_the_machine_nearest_to_its_target():
    nodes = [
        Node(name, {"cpu": 10_000, "memory": GIB}, Report(FRESH, usage={"cpu": used}))
        for name, used in (("cold", 0), ("near", 3_000), ("above", 5_000))
    ]
    args = {"scoringStrategy": {"type": "TargetLoadPacking"}}
    core = cluster(nodes, [Pod("waiting", limits={"cpu": 1_000, "memory": 1})], overlay(**args))
    found = verdicts(core, "waiting")
    assert {name: each.score for name, (each, _) in found.items()} == {"cold": 55, "near": 100, "above": 27}


def test_tasks_that_a_report_cannot_show_yet_count_as_predicted():
    running = Pod("running", limits={"cpu": 2_000}, assigned=FRESH - 59)
    node = Node("n", {"cpu": 10_000, "memory": GIB}, Report(FRESH, usage={"cpu": 1_000}), [running])
    args = {"scoringStrategy": {"type": "TargetLoadPacking"}}
    pod = Pod("waiting", limits={"cpu": 1_000, "memory": 1})
    verdict, _ = verdicts(cluster([node], [pod], overlay(**args)), "waiting")["n"]
    assert verdict.score == 100  # 1000 + 2000 + 1000 of 10000


def test_most_used_packs_below_the_threshold():
    nodes = [
        Node(name, {"cpu": 10_000, "memory": GIB}, Report(FRESH, usage={"cpu": used}))
        for name, used in (("cold", 0), ("warm", 3_000), ("hot", 9_000))
    ]
    args: dict[str, Any] = {"scoringStrategy": {"type": "MostUsed"}, "resourceWeights": {"cpu": 1}}
    pod = Pod("waiting", limits={"cpu": 1_000, "memory": 1}, requests={"cpu": 1_000})
    found = verdicts(cluster(nodes, [pod], overlay(**args)), "waiting")
    assert {name: (each.feasible, each.score) for name, (each, _) in found.items()} == {
        "cold": (True, 8),
        "warm": (True, 38),
        "hot": (False, 98),
    }


# --- Trimaran through the core ---------------------------------------------------------------------------------------


def test_packing_goes_by_what_the_hardware_has():
    events = [
        MachineUpserted(Machine("n", {"cpu": 8_000, "memory": GIB, "pods": 9}, total={"cpu": 10_000})),
        MachineSampled("n", FRESH, {"cpu": 3_000.0}),
        *tasks(1, "t", content=TaskClass(requests=(("cpu", 1_000),), limits=(("cpu", 1_000),))),
    ]
    core = scheduler(
        events,
        policy="void",
        overlays=[overlay(scoringStrategy={"type": "TargetLoadPacking"})],
        clock=Clock(NOW),
    )
    verdict, _ = verdicts(core, "t")["n"]
    assert verdict.score == 100  # 4 of 10 cores, the target


def test_risk_uses_deviations_of_the_reports_that_the_solver_remembers():
    """Half of the reports say 20 %, half 60 %: mean 40 %, deviation 20 %; the last one says 60 %."""
    events = [
        MachineUpserted(Machine("n", {"cpu": 10_000, "memory": 10**9, "pods": 9})),
        *(
            MachineSampled("n", FRESH - 20 * step, {"cpu": 2_000.0 if step % 2 else 6_000.0})
            for step in reversed(range(10))
        ),
        *tasks(1, "t", content=TaskClass(requests=(("cpu", 1_000),))),
    ]
    scored = {
        kind: verdicts(
            scheduler(
                events,
                policy="void",
                overlays=[
                    overlay(
                        scoringStrategy={"type": "LoadVariationRiskBalancing"},
                        aggregated={"scoreAggregationType": kind} if kind else {},
                        usageThresholds={"cpu": 95},
                    )
                ],
                clock=Clock(NOW),
            ),
            "t",
        )["n"][0].score
        for kind in ("", "avg")
    }
    # (1 - (mean with the task's own 10 % + deviation) / 2) x 100
    assert scored == {"": 55.0, "avg": 65.0}
