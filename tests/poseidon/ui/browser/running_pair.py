"""A running pair with a page: a simulated cluster in which some pods fit, some wait, and one gang is whole.

``python -m tests.poseidon.ui.browser.running_pair FOLDER`` takes pictures of every view for the documents.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from poseidon.demo.seeding import create_in_bulk, ensure_namespace
from poseidon.demo.solver_client import SolverClient
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.harness.stack import CLUSTER_NAME, Stack, StackOptions
from poseidon.testbed.seeding import NodeShape, node
from tests.poseidon.ui.browser.browser import Browser, Page
from tests.programs.end_to_end.scene import free_port
from tests.support import preloaded

Object = dict[str, Any]


class Topology(NamedTuple):
    """So many racks of so many nodes in each zone."""

    zones: tuple[str, ...]
    racks: int
    per_rack: int


SMALL = Topology(("west-1a", "west-1b", "west-1c"), 4, 10)
BOUND, WAITING, PLAIN_WAITING = 1_310, 64, 24
GPU = {"nvidia.com/gpu": "4"}
POOL = ({"key": "dedicated", "value": "training", "effect": "NoSchedule"},)
TOLERATES = [{"key": "dedicated", "operator": "Equal", "value": "training", "effect": "NoSchedule"}]
POD_GROUPS: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "podgroups.scheduling.x-k8s.io"},
    "spec": {
        "group": "scheduling.x-k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "podgroups", "kind": "PodGroup"},
        "versions": [{"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}}}],
    },
}
VIEWS = {
    "overview": ("#/overview", "Why pods wait"),
    "flow": ("#/flow", "nothing more fits through"),
    "cluster": ("#/cluster?level=topology.kubernetes.io/zone", "120 nodes"),
    "pending": ("#/pending?by=class", "64 pods"),
    "pod": ("#/pods/research/sweep-00", "Insufficient nvidia.com/gpu"),
    "groups": ("#/groups", "mpi"),
}


def nodes(topology: Topology) -> Iterator[Object]:
    """Yield zones of racks; the last rack of each is for training."""
    for zone in topology.zones:
        for rack in range(topology.racks):
            training = rack == topology.racks - 1
            shape = NodeShape(
                "gpu-32" if training else "standard-16",
                cpu="32" if training else "16",
                memory="128Gi" if training else "64Gi",
                extended=GPU if training else {},
                taints=POOL if training else (),
                labels={"topology.example.com/rack": f"{zone}-r{rack}"},
            )
            for number in range(topology.per_rack):
                yield node(f"{zone}-r{rack}-n{number:02}", shape, zone=zone)


def pods(name: str, count: int, requests: dict[str, str], **spec: Any) -> Iterator[Object]:
    """So many pods ``name-00`` … of one ReplicaSet; ``group``: the PodGroup that they are in."""
    group = spec.pop("group", "")
    namespace = "research" if "nvidia.com/gpu" in requests else "shop"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    labels = {"app": name} | ({"scheduling.x-k8s.io/pod-group": group} if group else {})
    for number in range(count):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{number:02}",
                "namespace": namespace,
                "labels": labels,
                "ownerReferences": [owner],
            },
            "spec": {
                "schedulerName": "poseidon",
                "containers": [{"name": "main", "image": "pause", "resources": {"requests": requests}}],
                **spec,
            },
        }


def plain_pods() -> list[Object]:
    """Pods that fit, and pods that do not, on nodes without GPUs."""
    return [
        *pods("web-front", 480, {"cpu": "500m", "memory": "1Gi"}),
        *pods("checkout", 320, {"cpu": "1", "memory": "2Gi"}),
        *pods("search", 240, {"cpu": "1500m", "memory": "4Gi"}),
        *pods("ingest", 150, {"cpu": "2", "memory": "6Gi"}),
        *pods("report", 20, {"cpu": "24", "memory": "16Gi"}),
        *pods("archive", 4, {"cpu": "100m"}, nodeSelector={"disk": "tape"}),
    ]


def gpu_pods() -> list[Object]:
    """Pods that ask for GPUs; of the last ones some do not fit."""
    gpu = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    return [
        *pods("mpi", 24, gpu, tolerations=TOLERATES, group="mpi"),
        *pods("sweep", 96 + 40, gpu, tolerations=TOLERATES),
    ]


@asynccontextmanager
async def running_pair(folder: Path) -> AsyncIterator[str]:
    """All processes, with everything placed that fits; yields the page's address."""
    solver_metrics, metrics = free_port(), free_port()
    options = StackOptions(
        folder,
        kubelets=True,
        launch=preloaded.fork,
        more_for_solver=("--metrics", f"127.0.0.1:{solver_metrics}"),
        more_for_bridge=("--metrics", f"127.0.0.1:{metrics}"),
    )
    async with Stack(options) as stack:
        await stack.start_servers()
        settings = load_settings(stack.kubeconfig)
        async with (
            Transport(settings, clock=time.monotonic, user_agent="poseidon-tests") as transport,
            SolverClient(stack.solver_address, CLUSTER_NAME) as solver,
        ):
            for namespace in ("shop", "research"):
                await ensure_namespace(transport, namespace)
            group = {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "mpi", "namespace": "research"},
                "spec": {"minMember": 24},
            }
            machines = list(nodes(SMALL))
            await create_in_bulk(transport, [POD_GROUPS])
            await create_in_bulk(transport, [*machines, group])
            await stack.start_bridge()
            page = await stack.start_page(
                *("--listen", f"127.0.0.1:{free_port()}"),
                *("--bridge", f"http://127.0.0.1:{metrics}/metrics"),
                *("--solver", f"http://127.0.0.1:{solver_metrics}/metrics"),
            )
            await solver.wait_for(lambda counts: counts.machines == len(machines))
            plain = plain_pods()
            await create_in_bulk(transport, plain)
            await solver.wait_for(
                lambda counts: counts.bound == len(plain) - PLAIN_WAITING and not counts.assumed
            )
            # Those that lack GPUs are in the last round, whose flow is shown.
            await create_in_bulk(transport, gpu_pods())
            await solver.wait_for(
                lambda counts: counts.bound == BOUND and counts.pending == WAITING and not counts.assumed
            )
            yield page


async def picture_of(tab: Page, view: str) -> bytes:
    """Open a view, wait for what it has to show, and return what is seen."""
    address, text = VIEWS[view]
    await tab.value(f"location.hash = {address!r}")
    await tab.shows(text, seconds=60)
    await asyncio.sleep(0.6)  # what moves into place has arrived
    return await tab.picture()


async def _pictures(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with running_pair(Path(folder)) as origin, Browser() as browser:
            tab = await browser.page()
            tab.origin = origin
            await tab.look(width=1280, height=800)
            await tab.open("#/overview")
            for view in VIEWS:
                (target / f"dashboard-{view}.png").write_bytes(await picture_of(tab, view))
            await tab.close()


if __name__ == "__main__":
    asyncio.run(_pictures(Path(sys.argv[1])))
