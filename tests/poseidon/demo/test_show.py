"""The show of ``poseidon demo --ui``: work comes and ends, and goes on whoever is killed."""

from __future__ import annotations

import json
import signal
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
import yaml

from poseidon.demo.machine_load import MachineMeter
from poseidon.demo.seeding import create_in_bulk, ensure_namespace
from poseidon.demo.show import Show
from poseidon.demo.show_objects import (
    GPU,
    NAMESPACE,
    POD_GROUPS,
    RUN_SECONDS,
    add_gpus,
    count_gpus,
    job_pods,
    make_replacement,
)
from poseidon.demo.workload import example_paths, load_workload
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from tests.poseidon.demo.test_command import Demo, start, wait_for  # noqa: F401 - start is a fixture
from tests.support.cluster import running_cluster

TURN = 15


class Stage:
    """A simulated cluster of two nodes, and the show in it."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.said: list[str] = []
        self.show = Show(transport, ["n1", "n2"], 300, self.said.append)

    async def objects(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = msgspec.json.decode(await self.transport.get(path))["items"]
        return found

    async def pods(self, prefix: str = "") -> list[dict[str, Any]]:
        found = await self.objects(f"/api/v1/namespaces/{NAMESPACE}/pods")
        return [each for each in found if each["metadata"]["name"].startswith(prefix)]

    async def cordoned(self) -> list[str]:
        nodes = await self.objects("/api/v1/nodes")
        return [each["metadata"]["name"] for each in nodes if each["spec"].get("unschedulable")]


@asynccontextmanager
async def stage() -> AsyncIterator[Stage]:
    async with (
        running_cluster() as cluster,
        Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
    ):
        await ensure_namespace(transport, NAMESPACE)
        await create_in_bulk(transport, [POD_GROUPS])
        node = {"apiVersion": "v1", "kind": "Node", "status": {"allocatable": {"cpu": "4", "pods": "110"}}}
        await create_in_bulk(transport, [{**node, "metadata": {"name": name}} for name in ("n1", "n2")])
        yield Stage(transport)


async def test_a_turn_has_a_gang_a_shortage_and_a_node_that_is_drained_and_comes_back():
    async with stage() as found:
        bound = [
            {**each, "spec": {**each["spec"], "nodeName": node}}
            for node in ("n1", "n2")
            for each in job_pods(f"old-{node}", 2, {"cpu": "1"}, seconds=3600)
        ]
        await create_in_bulk(found.transport, bound)
        drained = []
        for _ in range(TURN + 2):
            await found.show.beat()
            drained.append(await found.cordoned())
        groups = await found.objects(f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{NAMESPACE}/podgroups")
        assert {each["metadata"]["name"]: each["spec"]["minMember"] for each in groups} == {
            "gang-2": 6,
            "gang-17": 6,
        }
        members = await found.pods("gang-2-")
        assert len(members) == 6
        assert len(await found.pods("train-7-")) == count_gpus(2) + 2
        assert (
            len({each["metadata"]["labels"]["job-name"] for each in await found.pods("batch-")}) == TURN + 2
        )
        # Drained in beat 12, and back four beats later.
        assert [bool(each) for each in drained] == [False] * 11 + [True] * 4 + [False] * 2
        (node,) = drained[11]
        old = await found.pods("old-")
        assert sorted(each["metadata"]["name"] for each in old if "-again" in each["metadata"]["name"]) == [
            f"old-{node}-000-again12",
            f"old-{node}-001-again12",
        ]
        assert all(line for line in found.said)
        assert [
            word for word in ("gang", "shortage", "drained", "again") if word not in " ".join(found.said)
        ] == []


async def test_what_has_ended_is_removed():
    async with stage() as found:
        ended = [
            {**each, "status": {"phase": phase}}
            for phase in ("Succeeded", "Failed")
            for each in job_pods(phase.lower(), 2, {"cpu": "1"}, seconds=1)
        ]
        await create_in_bulk(found.transport, ended)
        await found.show.beat()
        assert {each["metadata"]["labels"]["job-name"] for each in await found.pods()} == {"batch-1"}


async def test_an_api_server_that_refuses_does_not_end_the_show():
    async with running_cluster() as cluster:
        url = cluster.url
    async with Transport(ConnectionSettings(url), clock=time.monotonic) as transport:
        said: list[str] = []
        await Show(transport, ["n1"], 100, said.append).beat()
        assert said
        assert all(line.startswith("the API server refused a request: ") for line in said)


def test_replacements_keep_what_their_controllers_would():
    (pod,) = job_pods("job", 1, {"cpu": "1"}, seconds=8)
    pod["spec"]["nodeName"] = "n1"
    again = make_replacement(make_replacement(pod, 3), 7)
    assert again["metadata"]["name"] == "job-000-again7"
    assert again["metadata"]["annotations"] == {RUN_SECONDS: "8"}
    assert again["metadata"]["ownerReferences"] == pod["metadata"]["ownerReferences"]
    assert "nodeName" not in again["spec"]


def test_some_nodes_have_gpus():
    plain = load_workload(example_paths(), nodes=120, pods=10, scheduler_name="poseidon")
    found = add_gpus(plain).nodes
    having = [int(each["status"]["allocatable"].get(GPU, 0)) for each in found]
    assert (sum(having), sum(map(bool, having))) == (count_gpus(120), 3)
    assert all(GPU not in each["status"]["allocatable"] for each in plain.nodes)


def test_how_busy_the_machine_was():
    texts = ["cpu  100 0 100 800 0 0 0 0 0 0\n", "cpu  160 0 130 805 5 0 0 0 60 0\ncpu0 1 2 3"]
    meter = MachineMeter(iter(texts).__next__)
    use = meter.use()
    assert use.busy == 0.9  # 90 of 100 ticks; guests are among them
    assert "90% busy" in str(use)
    assert use.as_json().keys() == {"cores", "busy", "load"}
    unknown = MachineMeter(lambda: "nothing of the kind").use()
    assert unknown.busy is None
    assert "busy" not in str(unknown)


def bound_batches(kubeconfig: Path) -> int:
    """The number of the last batch of which a pod has a node, 0 for none."""
    server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    with urllib.request.urlopen(f"{server}/api/v1/namespaces/{NAMESPACE}/pods") as answer:
        pods = json.load(answer)["items"]
    return max(
        (
            int(each["metadata"]["labels"]["job-name"].partition("-")[2])
            for each in pods
            if each["spec"].get("nodeName") and each["metadata"]["name"].startswith("batch-")
        ),
        default=0,
    )


def goes_on(kubeconfig: Path, before: int) -> Callable[[], bool]:
    return lambda: bound_batches(kubeconfig) > before + 1


@pytest.mark.timeout(300)
def test_it_goes_on_whoever_is_killed(start):  # noqa: F811 - the fixture
    demo: Demo = start("--ui", "--nodes", "40", "--pods", "100")
    page = demo.line("The dashboard is at http://127.0.0.1:").rpartition(" ")[2].strip()
    demo.line("keeps running until Ctrl-C")
    [folder] = demo.left()
    kubeconfig = demo.folder / folder / "kubeconfig"
    wait_for(lambda: bound_batches(kubeconfig))
    with urllib.request.urlopen(f"{page}api/v1/session") as answer:
        assert json.load(answer)["source"] == "live"
    for words, number, told in (
        (
            ("firmament", "serve"),
            signal.SIGKILL,
            "firmament serve was killed by SIGKILL; it is started again",
        ),
        (("poseidon", "run"), signal.SIGKILL, "poseidon run was killed by SIGKILL; it is started again"),
        (("poseidon", "run"), signal.SIGTERM, "poseidon run ended with status 0; it is started again"),
    ):
        child: psutil.Process = demo.child(*words)
        before = bound_batches(kubeconfig)
        child.send_signal(number)
        demo.line(told)
        wait_for(goes_on(kubeconfig, before))
    demo.process.send_signal(signal.SIGINT)
    status, out, _ = demo.end()
    assert status == 0
    assert "this machine meanwhile" in out
    assert demo.left() == []
