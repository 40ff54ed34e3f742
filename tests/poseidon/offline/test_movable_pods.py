"""Which running pods may be moved, and what a move costs: by owners, annotations and data on the node."""

from __future__ import annotations

from typing import Any

import pytest

from poseidon.disruption_budgets.eviction_answers import BudgetAnswers
from poseidon.kube.api.decoding import convert_object
from poseidon.kube.api.pods import Pod
from poseidon.offline.evictability import MoveRules, RunningPods, goes_with_its_node
from poseidon.offline.move_costs import move_prices
from poseidon.pod_groups.groups import Groups

SAFE = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
KEEP = "karpenter.sh/do-not-disrupt"


def make_pod(
    annotations: dict[str, str] | None = None,
    owner: str = "apps/v1 ReplicaSet",
    volumes: Any = (),
    **metadata: Any,
) -> Pod:
    version, _, kind = owner.partition(" ")
    owners = (
        [{"apiVersion": version, "kind": kind, "name": "o", "uid": "o", "controller": True}] if owner else []
    )
    given = {
        "name": "p",
        "namespace": "a",
        "uid": "a/p",
        "annotations": annotations or {},
        "ownerReferences": owners,
    }
    spec = {"nodeName": "n1", "volumes": list(volumes)}
    return convert_object({"metadata": {**given, **metadata}, "spec": spec}, Pod)


FOLDER = {"name": "scratch", "emptyDir": {}}
MEMORY = {"name": "memory", "emptyDir": {"medium": "Memory"}}
HOST = {"name": "logs", "hostPath": {"path": "/var/log"}}
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (make_pod(), ""),
        (make_pod(owner=""), "has no controller that would replace it"),
        (make_pod({KEEP: "true"}), f"has the annotation {KEEP}: true"),
        (make_pod({KEEP: "true"}, owner=""), f"has the annotation {KEEP}: true"),
        (make_pod({KEEP: "false"}), ""),
        (make_pod({SAFE: "false"}), f"has the annotation {SAFE}: false"),
        (make_pod({SAFE: "true"}, owner=""), "has no controller that would replace it"),
        (make_pod(volumes=[FOLDER]), "has local data in volume scratch (emptyDir)"),
        (make_pod(volumes=[MEMORY, CLAIM]), ""),
        (make_pod(volumes=[MEMORY, HOST, FOLDER]), "has local data in volume logs (hostPath)"),
        (make_pod({SAFE: "true"}, volumes=[FOLDER, HOST]), ""),
        (make_pod({SAFE_VOLUMES: "other, scratch"}, volumes=[FOLDER]), ""),
        (
            make_pod({SAFE_VOLUMES: "scratch"}, volumes=[FOLDER, HOST]),
            "has local data in volume logs (hostPath)",
        ),
    ],
)
def test_why_a_pod_stays_on_its_node(pod, why):
    assert MoveRules(BudgetAnswers(()), Groups()).refusal("a/p", pod) == why


def test_local_data_may_be_left_behind():
    rules = MoveRules(BudgetAnswers(()), Groups(), local_data_may_go=True)
    assert rules.refusal("a/p", make_pod(volumes=[FOLDER, HOST])) == ""
    assert rules.refusal("a/p", make_pod({KEEP: "true"}, volumes=[FOLDER])) != ""


@pytest.mark.parametrize(
    ("pod", "goes"),
    [
        (make_pod(), False),
        (make_pod(owner=""), False),
        (make_pod(owner="apps/v1 DaemonSet"), True),
        (make_pod(owner="example.com/v1 DaemonSet"), False),
        (make_pod(owner="v1 Node"), True),
        (make_pod({"kubernetes.io/config.mirror": "x"}), True),
        (make_pod(deletionTimestamp="2026-01-01T00:00:00Z"), True),
    ],
)
def test_which_pods_end_with_their_nodes(pod, goes):
    assert goes_with_its_node(pod) is goes


def test_pods_that_neither_go_nor_stay_are_movable():
    running = RunningPods({name: make_pod() for name in "dcba"}, frozenset("a"), {"b": "has local data"})
    assert running.movable == ["c", "d"]
    assert running.nodes == dict.fromkeys("dcba", "n1")


@pytest.mark.parametrize(
    ("stated", "price"),
    [
        (None, 0.0),
        ("0", 0.0),
        ("2.5", 2.5),
        ("10000000", 1e7),
        ("10000001", None),
        ("-1", None),
        ("nan", None),
        ("much", None),
    ],
)
def test_what_a_move_costs(stated, price):
    pod = make_pod({} if stated is None else {"firmament.io/move-cost": stated})
    prices, faults = move_prices([pod])
    assert prices == ({} if price is None else {"a/p": price})
    words = f"pod a/p: annotation firmament.io/move-cost is '{stated}'; it must be a number from 0 to 10,000,000; "
    assert faults == ([] if price is not None else [f"{words}the pod stays"])
