"""Manifests of a small application become the objects of a large cluster."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import yaml

from poseidon.demo.workload import example_paths, load_workload
from poseidon.manifests.loader import ManifestError

NODE = """
apiVersion: v1
kind: Node
metadata: {name: small, labels: {kubernetes.io/hostname: small, disk: ssd}}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Node
metadata: {name: large}
spec: {taints: [{key: a, value: b, effect: NoSchedule}]}
status: {allocatable: {cpu: "16", memory: 64Gi, pods: "110"}}
---
"""
TEMPLATE = """
    metadata: {labels: {app: a}}
    spec: {containers: [{name: main, image: "app:1", resources: {requests: {cpu: 100m}}}]}
"""
DEPLOYMENT = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 3
  template: {TEMPLATE}
---
"""
JOB = f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: batch, namespace: shop}}
spec:
  parallelism: 2
  completions: 5
  template: {TEMPLATE}
---
"""
DAEMON_SET = f"""
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: agent, namespace: infra}}
spec:
  template: {TEMPLATE}
---
"""
LONE = """
apiVersion: v1
kind: Pod
metadata: {name: lone}
spec: {containers: [{name: main, image: "app:1"}]}
---
"""
RUNNING = """
apiVersion: v1
kind: Pod
metadata: {name: running}
spec: {nodeName: small, containers: [{name: main, image: "app:1"}]}
---
"""


@pytest.fixture
def load(tmp_path: Path):
    def load_text(text: str, nodes: int = 4, pods: int = 1):
        path = tmp_path / "all.yaml"
        path.write_text(text)
        return load_workload([str(path)], nodes=nodes, pods=pods, scheduler_name="mine")

    return load_text


def test_the_example_is_scaled_whole():
    workload = load_workload(example_paths(), nodes=1000, pods=2000, scheduler_name="poseidon")
    assert len(workload.nodes) == 1000
    assert workload.shapes == 3
    assert workload.zones == 3
    assert 2000 <= len(workload.pods) < 2014
    per_service = Counter(pod["metadata"]["labels"]["app"] for pod in workload.pods)
    assert len(per_service) == 12
    assert per_service["frontend"] == 3 * per_service["adservice"]
    assert {pod["spec"]["schedulerName"] for pod in workload.pods} == {"poseidon"}
    assert len({pod["metadata"]["name"] for pod in workload.pods}) == len(workload.pods)
    assert workload.namespaces == ("boutique",)


def test_pods_carry_all_of_their_templates():
    workload = load_workload(example_paths(), nodes=8, pods=1, scheduler_name="poseidon")
    [app] = [path for path in example_paths() if path.endswith("app.yaml")]
    templates = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in yaml.safe_load_all(Path(app).read_text())
    }
    for pod in workload.pods:
        assert pod["spec"] == templates[pod["metadata"]["ownerReferences"][0]["name"]]


def test_nodes_repeat_the_shapes_in_turn(load):
    workload = load(NODE + DEPLOYMENT, nodes=5)
    assert [node["metadata"]["name"] for node in workload.nodes] == [
        "small-0000",
        "large-0000",
        "small-0001",
        "large-0001",
        "small-0002",
    ]
    third = workload.nodes[2]
    assert third["metadata"]["labels"] == {"kubernetes.io/hostname": "small-0001", "disk": "ssd"}
    assert workload.nodes[3]["spec"]["taints"] == [{"key": "a", "value": "b", "effect": "NoSchedule"}]


@pytest.mark.parametrize(("pods", "expected"), [(1, 3), (3, 3), (4, 6), (100, 102)])
def test_replicas_are_multiplied_until_there_are_enough_pods(load, pods, expected):
    workload = load(NODE + DEPLOYMENT, pods=pods)
    assert len(workload.pods) == expected
    assert workload.owners["shop", "Deployment", "web"]["spec"]["replicas"] == expected
    for pod in workload.pods:
        [owner] = pod["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Deployment", "web", True)


def test_jobs_and_lone_pods_are_multiplied_and_daemons_follow_the_nodes(load):
    workload = load(NODE + JOB + DAEMON_SET + LONE, nodes=6, pods=12)
    counts = Counter(pod["metadata"]["name"].rpartition("-")[0] for pod in workload.pods)
    # Three nodes of six are tainted; three pods at a time are wanted besides the daemon's three.
    assert counts == {"agent": 3, "batch": 6, "lone": 3}
    assert workload.owners["shop", "Job", "batch"]["spec"]["completions"] == 15
    agents = [pod for pod in workload.pods if pod["metadata"]["name"].startswith("agent")]
    terms = [
        pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        for pod in agents
    ]
    nodes = [term["nodeSelectorTerms"][0]["matchFields"][0]["values"][0] for term in terms]
    assert sorted(nodes) == ["small-0000", "small-0001", "small-0002"]
    assert all(pod["spec"]["containers"][0]["image"] == "app:1" for pod in agents)


def test_what_runs_already_is_left_out(load):
    workload = load(NODE + DEPLOYMENT + RUNNING)
    assert {pod["metadata"]["name"] for pod in workload.pods} == {"web-0", "web-1", "web-2"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (DEPLOYMENT, "hold no Node"),
        (NODE, "no pods to schedule"),
        (NODE + RUNNING, "no pods to schedule"),
        (NODE + DEPLOYMENT.replace("replicas: 3", "replicas: x"), "replicas"),
        (NODE + DEPLOYMENT.replace("100m", "-100m"), "is negative"),
        (NODE + "kind: [", "not valid YAML"),
    ],
)
def test_unusable_manifests_are_refused(load, text, told):
    with pytest.raises(ManifestError) as caught:
        load(text)
    assert told in "\n".join(caught.value.lines)
