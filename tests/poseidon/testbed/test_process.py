"""The cluster as a process of its own, and the seeding of large clusters."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.objects.resources import NODES, PODS
from poseidon.testbed.objects.store import decode
from poseidon.testbed.seeding import NodeShape, create_nodes, create_pods
from tests.poseidon.testbed.conftest import new_operations
from tests.support.cluster import pod
from tests.support.preloaded import quick_python
from tests.support.time_limits import stretch
from tests.support.waiting import wait_until

COMMAND = ("-m", "poseidon.testbed")
REPORTS = ("slo.koordinator.sh/v1alpha1/nodemetrics", "metrics.k8s.io/v1beta1/nodes")


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen(
        [quick_python(), *COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("listening on "), line
        yield process, line.split()[-1]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=stretch(10))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_announces_itself_and_ends_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    config = tmp_path / "config"
    with running("--nodes", "3", "--kubelets", "--kubeconfig", str(config)) as (process, url):
        assert yaml.safe_load(config.read_text())["clusters"][0]["cluster"] == {"server": url}
        with urllib.request.urlopen(f"{url}/api/v1/nodes?limit=1", timeout=stretch(10)) as answer:
            assert b'"remainingItemCount":2' in answer.read()
        # A watch that is open must not hold the process back.
        with urllib.request.urlopen(f"{url}/api/v1/nodes?watch=1", timeout=stretch(10)) as stream:
            assert b"ADDED" in stream.readline()
            before = time.monotonic()
            process.send_signal(number)
            assert process.wait(10) == 0
            assert time.monotonic() - before < stretch(5)
        assert process.stderr is not None
        assert process.stderr.read() == ""


def ask(url: str, body: object = None, method: str = "") -> dict[str, Any]:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(
        url,
        data,
        {"Content-Type": "application/json"},
        method=method or ("POST" if data else "GET"),
    )
    try:
        with urllib.request.urlopen(request, timeout=stretch(10)) as answer:
            found: dict[str, Any] = json.load(answer)
            return found
    except urllib.error.HTTPError as error:
        return {"items": [], "code": error.code}


def test_each_option_starts_its_simulation() -> None:
    simulations = (
        "--kubelets",
        "--replace-pods",
        "--volumes",
        "--devices",
        "--koordlets",
        "--metrics-server",
    )
    with running("--nodes", "1", "--report-interval", "1", *simulations) as (_, url):
        pods, core = f"{url}/api/v1/namespaces/default/pods", f"{url}/api/v1/namespaces/default"
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
        web = pod("web-1", nodeName="node-00000")
        web["metadata"]["ownerReferences"] = [owner]
        ask(pods, web)
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data"},
            "spec": {
                "storageClassName": "fast",
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        volume_class = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "fast"},
            "provisioner": "csi.example.com",
            "volumeBindingMode": "Immediate",
        }
        ask(f"{url}/apis/storage.k8s.io/v1/storageclasses", volume_class)
        ask(f"{core}/persistentvolumeclaims", claim)
        template = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "gpu"},
            "spec": {"spec": {"devices": {"requests": []}}},
        }
        dra = f"{url}/apis/resource.k8s.io/v1/namespaces/default"
        ask(f"{dra}/resourceclaimtemplates", template)
        ask(pods, pod("trainer", resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}]))

        wait_until(lambda: ask(f"{pods}/web-1")["status"]["phase"] == "Running", what="the kubelet")
        ask(f"{pods}/web-1", method="DELETE")
        wait_until(
            lambda: any(each["metadata"]["name"].startswith("web-r") for each in ask(pods)["items"]),
            what="the replacement",
        )
        wait_until(
            lambda: ask(f"{core}/persistentvolumeclaims/data")["status"].get("phase") == "Bound",
            what="the volume",
        )
        wait_until(lambda: ask(f"{dra}/resourceclaims")["items"], what="the claim of devices")
        koordlets, metrics = (f"{url}/apis/{path}" for path in REPORTS)
        wait_until(lambda: ask(koordlets)["items"], what="the koordlet's report")
        wait_until(lambda: ask(metrics)["items"], what="the metrics server's report")


def test_without_options_nothing_moves() -> None:
    with running("--nodes", "1") as (_, url):
        ask(f"{url}/api/v1/namespaces/default/pods", pod("web", nodeName="node-00000"))
        for path in REPORTS:
            assert ask(f"{url}/apis/{path}") == {"items": [], "code": 404}
        found = ask(f"{url}/api/v1/namespaces/default/pods/web")
        assert found["status"].get("phase", "Pending") == "Pending"


def test_a_taken_port_is_one_line() -> None:
    with running() as (_, url):
        port = url.rpartition(":")[2]
        done = subprocess.run(
            [quick_python(), *COMMAND, "--port", port],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "address already in use" in done.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is needed to make a certificate")
def test_https_with_a_token(tmp_path: Path) -> None:
    key, certificate, config = tmp_path / "key.pem", tmp_path / "cert.pem", tmp_path / "config"
    subject = ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *subject]
    subprocess.run(make, check=True, capture_output=True, timeout=60)
    files = ["--tls-cert", str(certificate), "--tls-key", str(key), "--kubeconfig", str(config)]
    with running("--token", "s3cret", *files) as (_, url):
        assert url.startswith("https://")
        context = ssl.create_default_context(cafile=str(certificate))
        context.check_hostname = False
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{url}/api/v1/nodes", timeout=10, context=context)
        if kubectl := shutil.which("kubectl"):
            environment = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(config)}
            listed = subprocess.run(
                [kubectl, "get", "ns", "-o", "name"],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            )
            assert "namespace/default" in listed.stdout


def test_half_a_key_pair_is_a_usage_error(tmp_path: Path) -> None:
    file = tmp_path / "cert.pem"
    file.write_text("no certificate")
    for arguments in (["--tls-cert", str(file)], ["--tls-cert", str(file), "--tls-key", str(file)]):
        done = subprocess.run(
            [quick_python(), *COMMAND, *arguments], capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 2
        assert "--tls-cert" in done.stderr
        assert done.stderr.count("\n") == 1


async def test_seeded_nodes_have_shapes_and_zones(operations: Operations) -> None:
    large = NodeShape(
        "large", cpu="64", extended={"example.com/gpu": "8"}, taints=[{"key": "gpu", "effect": "NoSchedule"}]
    )
    names = await create_nodes(operations, 8, [NodeShape(), large], ["a", "b"])
    assert names[-1] == "node-00007"
    seen = set()
    for name in names:
        node = decode(operations.get(NODES, "", name))
        labels = node["metadata"]["labels"]
        seen.add((labels["node.kubernetes.io/instance-type"], labels["topology.kubernetes.io/zone"]))
        assert {"type": "Ready", "status": "True"}.items() <= node["status"]["conditions"][-1].items()
    assert seen == {("standard", "a"), ("standard", "b"), ("large", "a"), ("large", "b")}
    assert decode(operations.get(NODES, "", names[1]))["status"]["allocatable"]["example.com/gpu"] == "8"


async def test_seeded_pods_keep_their_status(operations: Operations) -> None:
    bodies = [
        pod("a", nodeName="n") | {"status": {"phase": "Running"}},
        {k: v for k, v in pod("b").items() if k != "kind"},
    ]
    assert await create_pods(operations, bodies) == 2
    assert decode(operations.get(PODS, "default", "a"))["status"]["phase"] == "Running"
    assert decode(operations.get(PODS, "default", "b"))["status"]["phase"] == "Pending"


async def test_ten_thousand_pods_are_seeded_in_seconds() -> None:
    operations = new_operations(history=20_000)
    before = time.process_time()
    await create_pods(operations, (pod(f"p{index:05d}") for index in range(10_000)))
    # About half a second where this was written; the limit only catches work that grows with the number of pods.
    assert time.process_time() - before < 10
    assert len(operations.store.collection("pods")) == 10_000
