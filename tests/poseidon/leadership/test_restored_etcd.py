"""A real etcd that is restored from a copy of its folder: the processes notice, begin anew, and use what is free."""

from __future__ import annotations

import asyncio
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable

import pytest
import yaml

from benchmarks.judge.api import Api
from benchmarks.judge.control_plane import VARIABLE, ControlPlane, binaries
from benchmarks.judge.random_cluster.objects import Object
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.harness.stack import Stack, StackOptions
from tests.support.waiting import until

BINARIES = binaries()
SERVERS = ("etcd", "kube-apiserver")
NODES, PODS_PER_NODE = 20, 4
BEFORE, WAITING, GONE, NEW = 10, 20, 40, 50
"""Pods that are bound in the copy, that wait in it, that came after it, and that come once it is back."""

GOES_ON_WITHIN = 15.0

pytestmark = [
    pytest.mark.skipif(BINARIES is None, reason=f"{VARIABLE} names no folder of binaries"),
    pytest.mark.timeout(600),
]


class Cluster:
    """A control plane whose etcd can be copied, and put back to the copy."""

    def __init__(self, plane: ControlPlane, folder) -> None:
        self._plane = plane
        self._data, self._copy = folder / "etcd", folder / "copy"

    async def save(self) -> None:
        """Copy the folder of etcd while it is stopped; then both servers go on."""
        await self._stop()
        shutil.copytree(self._data, self._copy)
        await self._start()

    async def restore(self) -> None:
        """Put the copy back."""
        await self._stop()
        shutil.rmtree(self._data)
        shutil.copytree(self._copy, self._data)
        await self._start()

    async def _stop(self) -> None:
        for name in reversed(SERVERS):
            await self._plane.kill(name)

    async def _start(self) -> None:
        # Neither is ready without the other.
        await asyncio.gather(*(self._plane.start_again(name) for name in SERVERS))

    async def create(self, objects: Iterable[Object]) -> None:
        async with self._transport() as transport:
            await Api(transport).create(objects)

    async def bound(self) -> dict[str, str]:
        """The node of each pod that has one, by the pod's name."""
        async with self._transport() as transport:
            pods = await Api(transport).list_objects("Pod")
        return {each["metadata"]["name"]: node for each in pods if (node := each["spec"].get("nodeName"))}

    async def until_bound(self, names: set[str], within: float = 60.0) -> dict[str, str]:
        async def all_bound() -> bool:
            return names <= (await self.bound()).keys()

        await until(all_bound, within=within)
        return await self.bound()

    def _transport(self) -> Transport:
        return Transport(load_settings(self._plane.kubeconfig), clock=time.monotonic)


def names_of(kind: str, count: int) -> set[str]:
    return {f"{kind}-{index}" for index in range(count)}


def pods(names: Iterable[str]) -> list[Object]:
    resources = {"requests": {"cpu": "1"}}
    spec = {
        "schedulerName": "poseidon",
        "containers": [{"name": "main", "image": "none", "resources": resources}],
    }
    return [
        {"kind": "Pod", "metadata": {"name": each, "namespace": "default"}, "spec": spec} for each in names
    ]


def node(name: str) -> Object:
    status = {
        "allocatable": {"cpu": str(PODS_PER_NODE), "memory": "16Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {"kind": "Node", "metadata": {"name": name}, "status": status}


@pytest.fixture
def stack(tmp_path):
    config = tmp_path / "configuration.yaml"
    head = {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration"}
    election = {"leaderElection": {"leaderElect": True, "resourceNamespace": "default"}}
    config.write_text(yaml.safe_dump({**head, **election}))
    return Stack(
        StackOptions(
            tmp_path,
            kubeconfig=tmp_path / "kubeconfig",
            config=config,
            cluster_name=tmp_path.name,
            log_level="debug",
        )
    )


async def test_fifty_new_pods_fill_the_cluster_after_a_restore(tmp_path, stack):
    assert BINARIES is not None
    before, waiting = names_of("before", BEFORE), names_of("waiting", WAITING)
    gone, new = names_of("gone", GONE), names_of("new", NEW)
    assert len(before | waiting | new) == NODES * PODS_PER_NODE, (
        "what is gone must be forgotten for all to fit"
    )
    async with ControlPlane(BINARIES, tmp_path) as plane, stack:
        cluster = Cluster(plane, tmp_path)
        await cluster.create(node(f"n{index}") for index in range(NODES))
        await stack.start_servers()
        await stack.start_bridge()
        await cluster.create(pods(before))
        in_copy = await cluster.until_bound(before)
        await stack.bridge.stop(15.0)
        await cluster.create(pods(waiting))
        await cluster.save()
        await stack.start_bridge()
        await cluster.create(pods(gone))
        await cluster.until_bound(before | waiting | gone)
        logged = stack.bridge.log.stat().st_size
        await cluster.restore()
        await cluster.create(pods(new))
        bound = await stack.guard(cluster.until_bound(waiting | new, within=GOES_ON_WITHIN))
        log = stack.bridge.log.read_text(encoding="utf-8")[logged:]
    assert bound.keys() == before | waiting | new
    assert in_copy.items() <= bound.items()
    assert set(Counter(bound.values()).values()) == {PODS_PER_NODE}
    tried = Counter(re.findall(r'msg="binding" pod=default/(\S+) node=', log))
    assert tried == Counter(waiting | new)
