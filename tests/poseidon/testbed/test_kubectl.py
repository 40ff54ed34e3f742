"""kubectl against the simulated cluster: an independent judge of how faithful it is."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from poseidon.testbed.kubeconfig import write_kubeconfig
from tests.support.cluster import binding, cluster_in_thread, pod

KUBECTL = shutil.which("kubectl")
pytestmark = pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")

MANIFEST = """
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  schedulerName: poseidon
  containers:
  - {name: main, image: "app:1", env: [{name: MODE, value: fast}], resources: {requests: {cpu: 100m}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "app:1"}]}
"""


class Kubectl:
    def __init__(self, url: str, home: Path) -> None:
        self.url = url
        config = home / "config"
        write_kubeconfig(config, url)
        self._environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(config)}

    def __call__(self, *arguments: str, stdin: str = "", status: int = 0) -> str:
        assert KUBECTL is not None
        done = subprocess.run(
            [KUBECTL, *arguments],
            input=stdin,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    @contextlib.contextmanager
    def follow(self, *arguments: str) -> Iterator[Iterator[str]]:
        """Give the lines that a command prints while it runs; it is ended with the block."""
        assert KUBECTL is not None
        command = [KUBECTL, *arguments]
        with subprocess.Popen(command, env=self._environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield iter(process.stdout.readline, "")
            finally:
                process.kill()

    def raw(self, path: str, body: object) -> None:
        self("create", "--raw", path, "-f", "-", stdin=json.dumps(body))


@pytest.fixture
def kubectl(tmp_path: Path):
    with cluster_in_thread() as cluster:
        yield Kubectl(cluster.url, tmp_path)


def add_node(kubectl: Kubectl, name: str) -> None:
    conditions = [{"type": "Ready", "status": "True"}]
    node = {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "status": {"conditions": conditions},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(node))


def test_apply_creates_recognises_and_changes(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", "-", stdin=MANIFEST).split() == [
        "pod/web",
        "created",
        "deployment.apps/web",
        "created",
    ]
    assert kubectl("apply", "-f", "-", stdin=MANIFEST).count("unchanged") == 2
    assert kubectl("apply", "-f", "-", stdin=MANIFEST.replace("app:1", "app:2")).count("configured") == 2
    path = "{.spec.containers[0].image} {.spec.containers[0].env[0].value}"
    assert kubectl("get", "pod", "web", "-o", f"jsonpath={path}") == "app:2 fast"
    assert "may not change fields" in kubectl(
        "apply", "-f", "-", stdin=MANIFEST.replace("schedulerName: poseidon", "schedulerName: x"), status=1
    )


def test_get_prints_what_people_look_for(kubectl: Kubectl) -> None:
    add_node(kubectl, "n1")
    kubectl("apply", "-f", "-", stdin=MANIFEST)
    assert kubectl("get", "pods").split()[:9] == [
        "NAME",
        "READY",
        "STATUS",
        "RESTARTS",
        "AGE",
        "web",
        "0/1",
        "Pending",
        "0",
    ]
    kubectl.raw("/api/v1/namespaces/default/pods/web/binding", binding("web", "n1"))
    wide = kubectl("get", "po", "-A", "-o", "wide")
    assert wide.startswith("NAMESPACE")
    assert "n1" in wide
    kubectl("cordon", "n1")
    assert "Ready,SchedulingDisabled" in kubectl("get", "nodes")
    assert "0/2" in kubectl("get", "deploy")
    assert "deployment.apps/web" in kubectl("get", "all", "-o", "name")
    names = kubectl("get", "pods", "--field-selector", "spec.nodeName=n1,status.phase!=Failed", "-o", "name")
    assert names == "pod/web\n"


def test_a_watch_prints_rows_as_things_change(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=MANIFEST)
    with kubectl.follow("get", "pods", "--watch", "-o", "wide") as lines:
        assert next(lines).startswith("NAME")
        assert "Pending" in next(lines)
        kubectl.raw("/api/v1/namespaces/default/pods/web/binding", binding("web", "n1"))
        assert " n1 " in next(lines)


def test_describe_shows_status_and_events(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=MANIFEST)
    event = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "web.1"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"},
        "reason": "FailedScheduling",
        "message": "0/0 nodes are available",
        "type": "Warning",
    }
    kubectl("create", "-f", "-", stdin=json.dumps(event))
    described = kubectl("describe", "pod", "web")
    assert "Status:       Pending" in described
    assert "FailedScheduling" not in described, "the event names no UID, so it belongs to no pod"
    uid = kubectl("get", "pod", "web", "-o", "jsonpath={.metadata.uid}")
    event["metadata"] = {"name": "web.2"}
    event["involvedObject"] = {"kind": "Pod", "namespace": "default", "name": "web", "uid": uid}
    kubectl("create", "-f", "-", stdin=json.dumps(event))
    assert "0/0 nodes are available" in kubectl("describe", "pod", "web")
    assert "pod/web" in kubectl("get", "events")


def test_describe_node_counts_its_pods(kubectl: Kubectl) -> None:
    add_node(kubectl, "n1")
    kubectl("create", "-f", "-", stdin=json.dumps(pod("a", nodeName="n1", cpu="250m")))
    described = kubectl("describe", "node", "n1")
    assert "(1 in total)" in described
    assert "250m" in described


def test_wait_and_delete(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=MANIFEST)
    kubectl.raw("/api/v1/namespaces/default/pods/web/binding", binding("web", "n1"))
    assert "condition met" in kubectl("wait", "--for=condition=PodScheduled", "pod/web", "--timeout=20s")
    assert 'pod "web" deleted' in kubectl("delete", "pod", "web", "--timeout=20s")
    assert 'pods "web" not found' in kubectl("get", "pod", "web", status=1)


def test_taints_come_and_go(kubectl: Kubectl) -> None:
    add_node(kubectl, "n1")
    kubectl("taint", "node", "n1", "a=b:NoSchedule")
    kubectl("taint", "node", "n1", "c=d:NoExecute")
    kubectl("taint", "node", "n1", "a-")
    assert kubectl("get", "node", "n1", "-o", "jsonpath={.spec.taints[*].key}") == "c"


def test_custom_resources_are_discovered(kubectl: Kubectl) -> None:
    crd = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "metadata": {"name": "groups.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "groups", "kind": "Group"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
    }
    kubectl("apply", "-f", "-", stdin=json.dumps(crd))
    kubectl("wait", "--for=condition=Established", "crd/groups.example.com", "--timeout=20s")
    group = {"kind": "Group", "apiVersion": "example.com/v1", "metadata": {"name": "g"}, "spec": {"size": 3}}
    assert "created" in kubectl("apply", "-f", "-", stdin=json.dumps(group))
    group["spec"] = {"size": 4}
    assert "configured" in kubectl("apply", "-f", "-", stdin=json.dumps(group))
    assert kubectl("get", "groups", "g", "-o", "jsonpath={.spec.size}") == "4"


def test_drain_evicts_and_budgets_hold_it_up(kubectl: Kubectl) -> None:
    """Pods that are not ready yet leave their budget unmet, so that nothing more may go."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    kubectl("create", "-f", "-", stdin=json.dumps(node))
    for name in ("a", "b"):
        body = {**pod(name, nodeName="n1"), "status": {"phase": "Running"}}
        body["metadata"]["labels"] = {"app": name}
        kubectl("create", "-f", "-", stdin=json.dumps(body))
        patch = '{"status":{"phase":"Running"}}'
        kubectl("patch", "pod", name, "--subresource=status", "--type=merge", "-p", patch)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep-a"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}},
    }
    kubectl("create", "-f", "-", stdin=json.dumps(budget))
    told = kubectl("drain", "n1", "--force", "--timeout=1s", status=1)
    assert "pod/b evicted" in told
    assert "Cannot evict pod as it would violate the pod's disruption budget." in told
    assert kubectl("get", "pods", "-o", "name").split() == ["pod/a"]
    kubectl("delete", "pdb", "keep-a")
    assert "node/n1 drained" in kubectl("drain", "n1", "--force", "--timeout=10s")
