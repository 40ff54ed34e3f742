"""Trials of changes that may admit a workload: what is changed for a trial, and who loses places by it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from poseidon.api import read
from poseidon.offline.admission_trials import AdmissionChange, AdmissionStep, AdmissionTrials, name_others
from poseidon.offline.cluster import build_offline_cluster
from poseidon.offline.plan import schedule_pods
from tests.poseidon.offline.objects import node, pod
from tests.poseidon.queues.objects import LABEL, cluster_queue, flavor, local_queue, quotas

CONFIG = {"queues": {"source": "kueue"}}


@pytest.mark.parametrize(
    ("others", "text"),
    [
        ((), ""),
        (("a",), "; then a loses its places"),
        (("a", "b"), "; then a, b lose their places"),
        (("a", "b", "c"), "; then a, b, c lose their places"),
        (("a", "b", "c", "d"), "; then a, b, c and 1 more lose their places"),
        (tuple(f"w{number}" for number in range(1003)), "; then w0, w1, w2 and 1,000 more lose their places"),
    ],
)
def test_those_who_lose_places_are_named_up_to_three(others, text):
    assert name_others(others) == text


def test_a_change_as_json():
    step = AdmissionStep("quota", "ClusterQueue/team", "default", "cpu", 1, 2)
    assert AdmissionChange("do it", (step,), ("kubectl x",), ("shop/a",)).as_json() == {
        "text": "do it",
        "steps": [
            {
                "kind": "quota",
                "subject": "ClusterQueue/team",
                "flavor": "default",
                "resource": "cpu",
                "before": 1,
                "after": 2,
            }
        ],
        "commands": ["kubectl x"],
        "others": ["shop/a"],
    }
    assert AdmissionChange("x", ()).as_json() == {"text": "x", "steps": [], "commands": [], "others": []}


def queued(name: str, cpu: str = "1", **spec) -> dict:
    return pod(name, cpu=cpu, metadata={"labels": {LABEL: "users"}}, **spec)


def trials(*pods: dict, waiting: str = "shop/late", cpu: int = 2, nodes: int = 1):
    """Return trials for the pods that wait, and the quota of their queue, of 2 cores."""
    objects = [
        *(node(f"n{number}") for number in range(nodes)),
        flavor(),
        cluster_queue("team", quotas(cpu=cpu, memory="64Gi")),
        local_queue("users", "team"),
        *pods,
    ]
    cluster = read(deepcopy(objects), config=CONFIG)
    built: Any = build_offline_cluster(cluster.manifests, cluster.configuration, 0.0)
    plan = schedule_pods(built, cluster.manifests)
    made = AdmissionTrials(cluster.manifests, cluster.configuration, 0.0, built, plan, [waiting])
    quota = built.state.queues.quotas["ClusterQueue/team"]
    return made, quota


EARLY = [queued("a", priority=5), queued("b", priority=5)]


def test_a_larger_quota_lets_a_pod_in_if_it_is_large_enough():
    tried, quota = trials(*EARLY, queued("late"))
    assert tried.try_quota(quota) is None
    for cores, answer in ((2999, None), (3000, ())):
        larger = replace(quota, nominal={"default": {**quota.nominal["default"], "cpu": cores}})
        assert tried.try_quota(larger) == answer


@pytest.mark.parametrize(("priority", "answer"), [(4, None), (6, ("shop/b",))])
def test_a_priority_takes_the_place_of_another(priority, answer):
    tried, _ = trials(*EARLY, queued("late"))
    found = tried.try_priority(priority)
    assert found == answer or (answer is not None and len(found) == 1)


def test_lower_requests_let_a_pod_in_beside_the_others():
    tried, _ = trials(queued("a"), queued("late", cpu="1500m"))
    assert tried.try_requests({"cpu": 1001}) is None
    assert tried.try_requests({"cpu": 1000}) == ()


@pytest.mark.parametrize(
    ("requests", "lowered"),
    [
        ({"cpu": 1000}, True),  # of the larger container alone
        ({"cpu": 501}, True),
        ({"cpu": 500}, False),  # nothing is left of it
        ({"gpu": 1}, False),
    ],
)
def test_the_request_of_the_largest_container_is_lowered(requests, lowered):
    late = queued("late")
    small = late["spec"]["containers"][0]
    small["resources"]["requests"]["cpu"] = "500m"
    large = deepcopy(small)
    large["name"] = "large"
    large["resources"]["requests"]["cpu"] = "1500m"
    late["spec"]["containers"].append(large)
    tried, _ = trials(queued("a", cpu="1"), late)
    assert tried.try_requests(requests) == (() if lowered else None)


def test_limits_of_extended_resources_follow_their_requests():
    late = queued("late", cpu="100m")
    for part in ("requests", "limits"):
        late["spec"]["containers"][0]["resources"].setdefault(part, {})["example.com/gpu"] = 3
    group = quotas(cpu=2, memory="64Gi", **{"example.com/gpu": 2})
    gpus = node("n1")
    gpus["status"]["allocatable"]["example.com/gpu"] = 8
    objects = [gpus, flavor(), cluster_queue("team", group), local_queue("users", "team"), late]
    cluster = read(objects, config=CONFIG)
    built: Any = build_offline_cluster(cluster.manifests, cluster.configuration, 0.0)
    plan = schedule_pods(built, cluster.manifests)
    tried = AdmissionTrials(cluster.manifests, cluster.configuration, 0.0, built, plan, ["shop/late"])
    assert tried.try_requests({"example.com/gpu": 3}) is None
    assert tried.try_requests({"example.com/gpu": 2}) == ()


def test_those_that_run_already_count_as_placed():
    runs = queued("runs", phase="Running", nodeName="n0", priority=1)
    tried, _ = trials(runs, queued("late", cpu="2"))
    assert tried.try_priority(0) is None
    assert tried.try_priority(9) in (("shop/runs",), None)
