"""Bridge and solver over the simulated cluster: zones decide who is bound, in either version of the objects."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager

import pytest

from firmament.configuration.document import SchedulerConfiguration
from poseidon.kube.client.settings import ConnectionSettings
from poseidon.kube.client.transport import Transport
from poseidon.kube.watch_options import ReflectorOptions
from poseidon.numa.fingerprints import of_hashes, pod_hash
from poseidon.testbed.api_server.server import SimulatedCluster
from tests.firmament.server.driving import running_server
from tests.poseidon.bridge.test_bridge import Api, bridging
from tests.poseidon.numa.test_bridge import CRDS, GROUP, definition
from tests.support.needs import words_of
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("forked_programs")

PODS = "/api/v1/namespaces/default/pods"


def configuration(**args):
    overlay = {"name": "numa_fit", "weight": 2, "args": args}
    return SchedulerConfiguration.model_validate(
        {"apiVersion": "firmament.io/v1alpha1", "kind": "SchedulerConfiguration", "costModels": [overlay]}
    )


class Stage:
    """A node of 16 cores, and ways to look at it and its zones."""

    def __init__(self, api, transport, version):
        self.api = api
        self.transport = transport
        self.version = version
        self.path = f"/apis/{GROUP}/{version}/noderesourcetopologies"

    async def pod(self, name, cpu, **more):
        """A guaranteed pod."""
        resources = {kind: {"cpu": str(cpu), "memory": "1Mi"} for kind in ("requests", "limits")}
        container = {"name": "main", "image": "none", "resources": resources}
        spec = {"schedulerName": "poseidon", "containers": [container], **more}
        await self.api.create(
            PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        )

    async def until_bound(self, name):
        await until(lambda: self._looked(name, lambda pod: pod["spec"].get("nodeName")))

    async def until_told(self, name, text):
        await until(lambda: self._looked(name, lambda pod: text in str(pod["status"].get("conditions"))))

    async def _looked(self, name, question):
        return question((await self.api.pods())[name])

    def topology(self, *available, policy="single-numa-node", zones="node-", **attributes):
        """The object of the node, in the shape of its version: v1alpha1 has no attributes."""
        names = {"single-numa-node": "SingleNUMANodeContainerLevel"}
        found = {
            "apiVersion": f"{GROUP}/{self.version}",
            "kind": "NodeResourceTopology",
            "metadata": {"name": "n1"},
            "zones": [
                {
                    "name": f"{zones}{number}",
                    "type": "Node",
                    "resources": [
                        {"name": "cpu", "capacity": "4", "allocatable": "4", "available": str(left)},
                        {"name": "memory", "capacity": "1Gi", "allocatable": "1Gi", "available": "1Gi"},
                    ],
                }
                for number, left in enumerate(available)
            ],
        }
        if self.version == "v1alpha1":
            found["topologyPolicies"] = [names.get(policy, policy)]
        else:
            told = {"topologyManagerPolicy": policy, "topologyManagerScope": "container", **attributes}
            found["attributes"] = [{"name": name, "value": value} for name, value in told.items()]
        return found

    async def create(self, *available, **more):
        await self.api.create(self.path, self.topology(*available, **more))

    async def replace(self, *available, **more):
        await self.transport.delete(f"{self.path}/n1")
        await self.create(*available, **more)


@asynccontextmanager
async def stage(version, **args):
    cluster = SimulatedCluster()
    await cluster.start()
    try:
        async with (
            running_server(configuration=configuration(**args)) as running,
            Transport(ConnectionSettings(cluster.url), clock=time.monotonic) as transport,
        ):
            api = Api(cluster.url)
            api.transport = transport
            resources = {"cpu": "16", "memory": "16Gi", "pods": "110"}
            status = {"allocatable": resources, "conditions": [{"type": "Ready", "status": "True"}]}
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": status}
            await api.create("/api/v1/nodes", node)
            again = ReflectorOptions(absent_seconds=0.05)
            async with bridging(
                cluster, running.address.port, needs=words_of("numa_fit", "cpu_mem"), reflector=again
            ):
                yield Stage(api, transport, version)
    finally:
        await cluster.stop()


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2"])
async def test_a_definition_that_comes_later_an_object_that_turns_bad_and_one_that_goes(version, caplog):
    async with stage(version, missingTopology="refuse") as scene:
        await scene.pod("fits", 3)
        await scene.until_told("fits", "no node topology data")
        await scene.api.create(CRDS, definition(version))
        await scene.create(4, 4)
        await scene.until_bound("fits")
        await scene.pod("spans", 5)
        await scene.until_told("spans", "cannot align container: main")
        await scene.replace(4, 4, policy="Sometimes", zones="numa-node-")
        await scene.until_bound("spans")  # a policy that is not known counts as none, which aligns nothing
        told = [record.getMessage() for record in caplog.records if "has a defect" in record.getMessage()]
        assert sum("Sometimes" in each for each in told) == 1
        assert sum("numa-node-0" in each for each in told) == 1
        await scene.transport.delete(f"{scene.path}/n1")
        await scene.pod("late", 1)
        await scene.until_told("late", "no node topology data")


@pytest.mark.parametrize("counted", ["nobody", "everybody"])
async def test_a_fingerprint_says_whom_the_figures_count(counted):
    async with stage("v1alpha2", missingTopology="refuse") as scene:
        await scene.api.create(CRDS, definition("v1alpha2"))
        await scene.create(4, 4)
        await scene.pod("first", 3)
        await scene.until_bound("first")
        pods = [] if counted == "nobody" else [pod_hash("default", "first")]
        await scene.replace(
            4, 4, nodeTopologyPodsFingerprint=of_hashes(pods), nodeTopologyPodsFingerprintMethod="all"
        )
        await scene.pod("second", 4)
        await scene.until_bound("second")
        await scene.pod("third", 4)
        if counted == "nobody":  # what the first took comes off what the object states
            await scene.until_told("third", "cannot align container: main")
        else:
            await scene.until_bound("third")


async def test_who_preempts_gets_a_zone_of_its_own():
    async with stage("v1alpha2", preemptionMode="Enabled") as scene:
        await scene.api.create(CRDS, definition("v1alpha2"))
        await scene.api.create(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "high"},
                "value": 1000,
            },
        )
        await scene.create(4, 4)
        for name in ("a", "b"):
            await scene.pod(name, 3)
            await scene.until_bound(name)
        pods = [pod_hash("default", name) for name in ("a", "b")]
        await scene.replace(
            1, 1, nodeTopologyPodsFingerprint=of_hashes(pods), nodeTopologyPodsFingerprintMethod="all"
        )
        await scene.pod("important", 4, priorityClassName="high", priority=1000)
        await scene.until_bound("important")
        left = {"a", "b"} & set(await scene.api.pods())
        assert len(left) == 1  # the node has room for all; one zone had to be freed, and one was enough
