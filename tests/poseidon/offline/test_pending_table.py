"""What the table of a plan says of pods that wait: a line for each workload, the main cause first."""

from __future__ import annotations

import pytest

from poseidon.offline.plan import Pending
from poseidon.offline.waiting_workloads import shorten_message, waiting_workloads
from tests.poseidon.offline.objects import node, pod, pod_group

PREEMPTION = (
    " no new claims to deallocate, preemption: 0/4 nodes are available: 4 No preemption victims found."
)


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("0/1 nodes are available: 1 Insufficient cpu.", "Insufficient cpu (1 of 1 node)"),
        (
            f"0/4 nodes are available: 1 Insufficient cpu, 3 node(s) had untolerated taint(s) {{a: b}}.{PREEMPTION}",
            "Insufficient cpu (1 of 4 nodes), node(s) had untolerated taint(s) {a: b} (3)",
        ),
        (
            "gang a/g needs 3 places at once: 0/2 nodes are available: 2 Insufficient cpu. n1 had room until a/b did.",
            "Insufficient cpu (2 of 2 nodes); gang a/g needs 3 places at once",
        ),
        (
            "0/9 nodes are available: 1 Too many pods, 1 node(s) too hot, 2 Insufficient cpu, 4 node(s) were off.",
            "node(s) too hot (1 of 9 nodes), Insufficient cpu (2), Too many pods (1) and 1 more cause",
        ),
        (
            '0/1 nodes are available: persistentvolumeclaim "data" not found.',
            'persistentvolumeclaim "data" not found',
        ),
        ("Scheduling is blocked due to non-empty scheduling gates",) * 2,
        (
            "0/0 nodes are available: no nodes available to schedule pods.",
            "no nodes available to schedule pods",
        ),
    ],
)
def test_the_main_cause_comes_first(message, cause):
    assert shorten_message(message) == cause


def test_a_workload_has_one_line():
    said = ["0/2 nodes are available: 2 Insufficient cpu."] * 2 + [
        "0/2 nodes are available: 2 Too many pods."
    ]
    pending = [Pending(f"a/p{number}", text) for number, text in enumerate([*said, "waits"])]
    rows = waiting_workloads(pending, {f"a/p{number}": "a/ReplicaSet/web" for number in range(3)})
    assert [(row.name, row.pods, row.text) for row in rows] == [
        ("a/ReplicaSet/web", 3, "Insufficient cpu (2 of 2 nodes) (1 pod for other reasons)"),
        ("a/p3", 1, "waits"),
    ]


def web(replicas):
    container = {"name": "c", "resources": {"requests": {"cpu": 2}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    }


def test_the_table_is_short_and_wide_has_every_message(run, write):
    path = write(node("n"), web(5))
    short = run("plan", "-f", path).stdout
    assert "shop/Deployment/web   3      Insufficient cpu (1 of 1 node)\n" in short
    assert "shop/web-4" not in short
    wide = run("plan", "-f", path, "-o", "wide").stdout
    assert "shop/web-4    0/1 nodes are available: 1 Insufficient cpu." in wide


def test_pods_that_wait_for_victims_are_not_called_bound(run, write):
    low = pod("low", cpu=3, phase="Running", nodeName="n", priority=0)
    path = write(node("n"), low, pod("high", cpu=3, priority=10), pod("small"))
    lines = run("plan", "-f", path).stdout.splitlines()
    assert lines[:2] == ["POD          NODE", "shop/small   n"]
    assert lines[3].split() == ["PREEMPTING", "POD", "NODE", "WAITS", "FOR"]
    assert lines[4].split() == ["shop/high", "n", "shop/low"]
    assert lines[-1].startswith("1 pod bound to 1 node of 1, 1 waits for 1 pod to make way, 0 pending; cost ")


@pytest.mark.parametrize(("replicas", "status"), [(2, 0), (3, 3)])
@pytest.mark.parametrize("output", ["table", "json"])
def test_scripts_may_ask_for_a_status(run, write, replicas, status, output):
    path = write(node("n"), web(replicas))
    outcome = run("plan", "-f", path, "-o", output, "--fail-pending")
    assert outcome.status == status
    assert outcome.stdout
    assert run("plan", "-f", path, "-o", output).status == 0


def test_members_of_a_group_without_an_owner_are_one_line(run, write):
    member = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}}
    pods = [pod(f"m{number}", cpu=3, metadata=member) for number in range(3)]
    said = run("plan", "-f", write(node("a"), pod_group("g", 3), *pods)).stdout
    (line,) = (each for each in said.splitlines() if each.startswith("shop/PodGroup/g "))
    assert line.split()[1] == "3"
    assert "shop/m1" not in said
