"""Whole rounds under thresholds: what tasks of all classes add up to, batches, and what is not known."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmament.core.events import ClassDefined, MachineSampled, MachineUpserted, TasksBound, TasksSubmitted
from firmament.core.model import Machine, TaskClass
from tests.cost_models.load_aware import oracle
from tests.cost_models.load_aware.oracle import Args, Node, Pod, Report
from tests.cost_models.load_aware.scenes import NOW, cluster, of_args, overlay, verdicts
from tests.cost_models.load_aware.test_against_reference import arguments, nodes, pods
from tests.support.core import messages, placed
from tests.support.effort import examples

FRESH = NOW - 10
MIB = 2**20


def measured(name: str, cpu: int, *, offered: int = 10_000, time: float | None = FRESH) -> Node:
    """A node of 10 cores and plenty of memory whose cpu use is known."""
    return Node(name, {"cpu": offered, "memory": 10**12}, Report(time, usage={"cpu": cpu}))


def waiting(count: int, cpu: int = 1_000, prefix: str = "t") -> list[Pod]:
    return [
        Pod(f"{prefix}-{index}", "koord-batch", limits={"kubernetes.io/batch-cpu": cpu})
        for index in range(count)
    ]


EXACT: dict[str, Any] = {"estimatedScalingFactors": {"cpu": 100, "memory": 70}}


# --- thresholds hold for what a round adds up to ---------------------------------------------------------------------


def over_threshold(node: Node, there: list[Pod], args: Args) -> list[str]:
    """Pods that the reference's filter refuses, seen with all others of the round that its thresholds count.

    Tasks that are exempt, or held to prod thresholds only, count for nobody else: in the order in which they come last,
    the filter passes them all.
    """
    found = []
    for pod in there:
        _, prod, _, _ = oracle.profile(node, args, pod)
        others = [
            each
            for each in there
            if each is not pod and not each.daemon and oracle.profile(node, args, each)[1] == prod
        ]
        if oracle.refused(node, pod, args, NOW, others):
            found.append(pod.name)
    return found


@settings(max_examples=examples(150))
@given(
    nodes(),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
    st.data(),
    arguments(),
)
def test_no_round_reaches_a_threshold(scene: list[Node], copies: list[int], data: st.DataObject, args: Args):
    todo = []
    for kind, count in enumerate(copies):
        model = data.draw(pods(f"k{kind}", placed=False))
        todo += [
            Pod(f"k{kind}-{copy}", model.service_class, model.requests, model.limits, daemon=model.daemon)
            for copy in range(count)
        ]
    core = cluster(scene, todo, of_args(args))
    result = core.run_round()
    there: dict[str, list[Pod]] = {node.name: [] for node in scene}
    for pod in todo:
        if pod.name in placed(result):
            there[placed(result)[pod.name]].append(pod)
    for node in scene:
        assert over_threshold(node, there[node.name], args) == []


def test_a_round_fills_a_machine_up_to_the_threshold_and_says_why_the_rest_waits():
    core = cluster([measured("n", 2_000)], waiting(9), overlay(usageThresholds={"cpu": 65}, **EXACT))
    result = core.run_round()
    assert len(placed(result)) == 4  # the fifth would make it 7 of 10 cores
    said = set(messages(result).values())
    assert all(
        each.startswith("0/1 nodes are available: 1 node(s) cpu usage exceed threshold.") for each in said
    )


def test_classes_reach_a_threshold_together():
    todo = [*waiting(3, 700, "a"), *waiting(3, 1_100, "b"), *waiting(3, 300, "c")]
    core = cluster([measured("n", 3_000)], todo, overlay(usageThresholds={"cpu": 65}, **EXACT))
    sizes = {pod.name: pod.limits["kubernetes.io/batch-cpu"] for pod in todo}
    there = set(placed(core.run_round()))
    total = sum(sizes[uid] for uid in there)
    assert total < 3_500
    left = [size for uid, size in sizes.items() if uid not in there]
    assert left
    assert total + min(left) >= 3_500, "nothing that waits has room"


def test_a_batch_is_balanced_within_one_round():
    """The k-th task on a machine costs more, so machines end at the same use."""
    used = {"a": 0, "b": 1_000, "c": 2_000, "d": 4_000}
    core = cluster([measured(name, cpu) for name, cpu in used.items()], waiting(13, 500), overlay(**EXACT))
    counts = Counter(placed(core.run_round()).values())
    ends = {name: cpu + 500 * counts[name] for name, cpu in used.items()}
    assert ends == {"a": 3_500, "b": 3_500, "c": 3_500, "d": 4_000} or max(ends.values()) <= 4_000


def test_unreported_tasks_count_in_the_next_round():
    core = cluster([measured("n", 0)], waiting(4), overlay(usageThresholds={"cpu": 65}, **EXACT))
    assert len(placed(core.run_round())) == 4
    core.apply([MachineSampled("n", FRESH + 5, {"cpu": 100.0}, own_windows=True)])  # has not seen them yet
    verdict, _ = verdicts(core, "t-0")["n"]
    assert verdict.score == (59 + 99) // 2  # of cpu 10000 - 100 - 3 x 1000 - 1000 are left, nearly all memory


def test_prod_tasks_are_held_to_their_own_thresholds_and_count_for_all():
    args = {"usageThresholds": {"cpu": 50}, "prodUsageThresholds": {"cpu": 30}, **EXACT}
    todo = [*waiting(9), *(Pod(f"p-{index}", "koord-prod", limits={"cpu": 1_000}) for index in range(9))]
    core = cluster([measured("n", 0)], todo, overlay(**args))
    kinds = Counter(uid[0] for uid in placed(core.run_round()))
    assert kinds == {"t": 4, "p": 2}


def test_daemons_go_where_thresholds_are_reached():
    pod = Pod("d", limits={"cpu": 1_000}, daemon=True)
    core = cluster([measured("n", 9_000)], [pod], overlay())
    assert placed(core.run_round()) == {"d": "n"}


# --- what is not known -----------------------------------------------------------------------------------------------


def unknowns() -> list[Node]:
    """Nodes without a report, with an old one, with one that has no time, and one that has no figures."""
    running = [Pod(f"r{index}", limits={"cpu": 1_500}) for index in range(4)]
    silent = Node("silent", {"cpu": 10_000, "memory": 10**12})
    empty = Node("empty", silent.allocatable, Report(FRESH))
    found = [silent, measured("old", 100, time=NOW - 180), measured("timeless", 100, time=None), empty]
    for node, pod in zip(found, running, strict=True):
        node.pods = [pod]
    return found


@pytest.mark.parametrize(
    ("missing", "feasible"),
    [
        ("upstream", {"silent": True, "old": False, "timeless": False, "empty": True}),
        ("failOpen", {"silent": True, "old": True, "timeless": True, "empty": True}),
        ("failClosed", {"silent": False, "old": False, "timeless": False, "empty": False}),
        ("estimate", {"silent": True, "old": True, "timeless": True, "empty": True}),
    ],
)
def test_machines_of_which_nothing_fresh_is_known(missing: str, feasible: dict[str, bool]):
    core = cluster(unknowns(), [Pod("t", limits={"cpu": 1_000})], overlay(missingMetrics=missing))
    found = verdicts(core, "t")
    assert {name: verdict.feasible for name, (verdict, _) in found.items()} == feasible
    scored = missing == "estimate"
    assert all(bool(verdict.score) == scored for verdict, _ in found.values())
    refusals = {reasons[0] for _, reasons in found.values() if reasons}
    if missing == "upstream":
        assert refusals == {"node(s) nodeMetric expired"}
    if missing == "failClosed":
        assert refusals == {"node(s) nodeMetric expired", "node(s) nodeMetric missing"}


def test_estimates_stand_for_use_that_is_not_known():
    args: dict[str, Any] = {"usageThresholds": {"cpu": 65}, "missingMetrics": "estimate", **EXACT}
    core = cluster(unknowns(), waiting(40), overlay(**args))
    counts = Counter(placed(core.run_round()).values())
    assert counts == {"silent": 4, "old": 4, "timeless": 4, "empty": 4}  # 1.5 cores run; 5.5 stay below 6.5


# --- every machine is hot --------------------------------------------------------------------------------------------


def test_tasks_wait_when_every_machine_is_hot():
    core = cluster([measured("a", 9_000), measured("b", 8_000)], waiting(2), overlay())
    result = core.run_round()
    assert placed(result) == {}
    assert set(messages(result).values()) == {
        "0/2 nodes are available: 2 node(s) cpu usage exceed threshold."
    }


def test_or_go_to_the_least_bad_one():
    hot = [measured("a", 9_000), measured("b", 8_000)]
    core = cluster(hot, waiting(3), overlay(whenAllHot="leastLoaded", **EXACT))
    found = verdicts(core, "t-0")
    assert {name: (each.feasible, each.raw, each.cost) for name, (each, _) in found.items()} == {
        "a": (True, -35.0, 135.0),
        "b": (True, -25.0, 125.0),
    }
    assert Counter(placed(core.run_round()).values()) == {"b": 2, "a": 1}


def test_the_least_bad_one_is_not_taken_while_another_has_room():
    core = cluster(
        [measured("a", 8_000), measured("b", 5_000)], waiting(3), overlay(whenAllHot="leastLoaded", **EXACT)
    )
    assert placed(core.run_round()) == {"t-0": "b"}


@pytest.mark.parametrize("kept_off", ["unschedulable", "full"])
def test_a_machine_that_cannot_take_a_task_anyway_is_no_reason_to_wait(kept_off: str):
    """Such as a control plane's: it is hardly used, and closed."""
    cold = Machine(
        "cold", {"cpu": 10_000, "memory": 10**12, "pods": 1000}, unschedulable=kept_off == "unschedulable"
    )
    core = cluster([measured("hot", 9_000)], waiting(2), overlay(whenAllHot="leastLoaded", **EXACT))
    core.apply([MachineUpserted(cold), MachineSampled("cold", FRESH, {"cpu": 0.0}, own_windows=True)])
    if kept_off == "full":
        big = TaskClass(requests=(("cpu", 10_000),), service_class="koord-free")
        core.apply([ClassDefined(99, big), TasksBound("cold", 99, ("big",), assigned=(NOW - 900,))])
        core.apply([ClassDefined(98, TaskClass(requests=(("cpu", 500),))), TasksSubmitted(98, ("small",))])
        assert placed(core.run_round())["small"] == "hot"
        return
    assert placed(core.run_round()) == {"t-0": "hot", "t-1": "hot"}
