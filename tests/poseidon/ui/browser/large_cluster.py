"""The page of a large cluster in a browser: both programs, a simulated API server, and Chromium beside them.

``python -m tests.poseidon.ui.browser.large_cluster`` prints how long each view and each action takes with 10,000 nodes
and 100,000 pods; with ``--rounds 1000``, what page and browser hold while so many rounds pass by with a view open.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import aiohttp
import click
import psutil

from benchmarks.processes.parts.free_ports import free_ports
from poseidon.demo.seeding import create_in_bulk, ensure_namespace
from poseidon.demo.solver_client import SolverClient
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.harness.stack import CLUSTER_NAME, Stack, StackOptions
from protos.firmament.v1 import scheduler_pb2 as pb
from tests.poseidon.ui.browser.browser import Browser
from tests.poseidon.ui.browser.measure import print_times
from tests.poseidon.ui.browser.running_pair import POD_GROUPS, Topology, nodes, pods

Object = dict[str, Any]

_BATCH = 1000
_CLASSES, _KINDS = 100, 20
_PER_ROUND = 20
_VIEWS = ("overview", "flow", "cluster", "pending", "pods", "groups")


@dataclass(frozen=True, slots=True)
class LargeCluster:
    """A cluster that is there: the page's ``address`` and process, and what is needed to have rounds."""

    address: str
    page: psutil.Process
    transport: Transport
    solver: SolverClient


@asynccontextmanager
async def large_cluster(folder: Path, node_count: int, pod_count: int) -> AsyncIterator[LargeCluster]:
    """``pod_count`` pods, of which one of seventeen waits for what no node has."""
    solver_metrics, metrics, page_port = free_ports(3)
    options = StackOptions(
        folder,
        log_level="warning",
        more_for_solver=("--metrics", f"127.0.0.1:{solver_metrics}"),
        more_for_bridge=("--metrics", f"127.0.0.1:{metrics}"),
    )
    async with Stack(options) as stack:
        await stack.start_servers()
        async with (
            Transport(load_settings(stack.kubeconfig), clock=time.monotonic) as transport,
            SolverClient(stack.solver_address, CLUSTER_NAME) as solver,
        ):
            for namespace in ("shop", "research"):
                await ensure_namespace(transport, namespace)
            await create_in_bulk(transport, [POD_GROUPS])
            machines = list(nodes(Topology(tuple(f"west-{n}" for n in range(10)), node_count // 500, 50)))
            waiting = pod_count // 17
            await _create(transport, machines)
            await _create(
                transport, _running([each["metadata"]["name"] for each in machines], pod_count - waiting)
            )
            await _create(transport, _gangs(waiting // (3 * _KINDS)))
            await _create(transport, _waiting(waiting))
            await stack.start_bridge()

            def known(counts: pb.ListStateResponse) -> bool:
                return counts.bound == pod_count - waiting and counts.pending == waiting and counts.rounds > 0

            await solver.wait_for(known)
            address = await stack.start_page(
                *("--listen", f"127.0.0.1:{page_port}"),
                *("--bridge", f"http://127.0.0.1:{metrics}/metrics"),
                *("--solver", f"http://127.0.0.1:{solver_metrics}/metrics"),
            )
            yield LargeCluster(address, psutil.Process(stack.page.pid), transport, solver)


def _running(names: list[str], count: int) -> Iterator[Object]:
    """Yield pods that run already, of many Deployments, on the nodes in turn."""
    each = -(-count // _CLASSES)
    found = (
        pod
        for number in range(_CLASSES)
        for pod in pods(f"web-{number:03}", each, {"cpu": "250m", "memory": "512Mi"})
    )
    for index, pod in enumerate(islice(found, count)):
        pod["spec"]["nodeName"] = names[index % len(names)]
        pod["status"] = {"phase": "Running"}
        yield pod


def _waiting(count: int) -> Iterator[Object]:
    """Yield pods that no node has room for, or that none suits: of many classes, a third of them gangs."""
    each = count // (3 * _KINDS)
    for number in range(_KINDS):
        yield from pods(f"report-{number:02}", each, {"cpu": f"{40 + number}", "memory": "16Gi"})
        yield from pods(
            f"archive-{number:02}", each, {"cpu": "100m"}, nodeSelector={"disk": f"tape-{number}"}
        )
        left = count - 3 * _KINDS * each if number == 0 else 0
        gpus = {"cpu": "4", "nvidia.com/gpu": f"{5 + number}"}
        yield from pods(f"sweep-{number:02}", each + left, gpus, group=f"sweep-{number:02}")


def _gangs(members: int) -> Iterator[Object]:
    for number in range(_KINDS):
        yield {
            "apiVersion": "scheduling.x-k8s.io/v1alpha1",
            "kind": "PodGroup",
            "metadata": {"name": f"sweep-{number:02}", "namespace": "research"},
            "spec": {"minMember": members},
        }


async def _create(transport: Transport, objects: Iterable[Object]) -> None:
    left = iter(objects)
    while batch := list(islice(left, _BATCH)):
        await create_in_bulk(transport, batch)


async def _have_rounds(cluster: LargeCluster, rounds: int, browser: Browser) -> None:
    """Have rounds one after another with views open in turn; prints what page and browser hold meanwhile."""
    page = await browser.page()
    page.origin = cluster.address
    await page.open("#/overview")
    first = (await cluster.solver.counts()).rounds
    done, step = 0, max(1, rounds // 10)
    while done < rounds:
        view = _VIEWS[(done // step) % len(_VIEWS)]
        await page.value(f"location.hash = '#/{view}'")
        until = min(rounds, done + step)
        while done < until:
            await _one_round(cluster, first + done)
            done = (await cluster.solver.counts()).rounds - first
        measured = await page.measures()
        sys.stdout.write(
            f"{done:6} rounds  page {cluster.page.memory_info().rss / 2**20:7.1f} MiB"
            f"  heap {measured['JSHeapUsedSize'] / 2**20:6.1f} MiB"
            f"  elements {measured['Nodes']:7.0f}  listeners {measured['JSEventListeners']:5.0f}  {view}\n"
        )
        sys.stdout.flush()


async def _print_cures(cluster: LargeCluster) -> None:
    """Print how long it takes until the cures of a pod are there."""
    begun = time.monotonic()
    async with aiohttp.ClientSession(cluster.address) as session:
        body, headers = {"pod": "shop/report-00-00"}, {"X-Poseidon": "1"}
        async with session.post("/api/v1/cures", json=body, headers=headers) as answer:
            job = (await answer.json())["job"]
        found: dict[str, Any] = {"state": "waiting"}
        while found["state"] in ("waiting", "working"):
            await asyncio.sleep(0.2)
            async with session.get(f"/api/v1/cures/{job}") as answer:
                found = await answer.json()
    texts = [each["text"] for each in found.get("cures", ())]
    sys.stdout.write(f"cures of a pod: {found['state']} after {time.monotonic() - begun:.0f} s: {texts}\n")


async def _burst(cluster: LargeCluster) -> None:
    """Have pods of many classes placed, so that the newest rounds have more to show than those that wait."""
    before = (await cluster.solver.counts()).bound
    coming = [
        pod for number in range(_KINDS) for pod in pods(f"batch-{number}", 100, {"cpu": f"{100 + number}m"})
    ]
    await create_in_bulk(cluster.transport, coming)
    await cluster.solver.wait_for(lambda counts: counts.bound == before + len(coming) and not counts.assumed)


async def _one_round(cluster: LargeCluster, number: int) -> None:
    """Create a few pods, wait until they are bound, and delete them."""
    before = (await cluster.solver.counts()).bound
    coming = list(pods(f"burst-{number}", _PER_ROUND, {"cpu": "100m"}))
    await create_in_bulk(cluster.transport, coming)
    await cluster.solver.wait_for(lambda counts: counts.bound == before + _PER_ROUND and not counts.assumed)
    path = "/api/v1/namespaces/shop/pods/{}?gracePeriodSeconds=0"
    await asyncio.gather(*(cluster.transport.delete(path.format(pod["metadata"]["name"])) for pod in coming))
    await cluster.solver.wait_for(lambda counts: counts.bound == before)


async def _main(node_count: int, pod_count: int, times: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="poseidon-large-") as folder:
        async with large_cluster(Path(folder), node_count, pod_count) as cluster, Browser() as browser:
            page = await browser.page()
            page.origin = cluster.address
            if times:
                await _burst(cluster)
                await print_times(page, times)
                await _print_cures(cluster)
            await page.close()
            if rounds:
                await _have_rounds(cluster, rounds, browser)


@click.command()
@click.option("--nodes", "node_count", default=10_000, show_default=True, type=click.IntRange(500))
@click.option("--pods", "pod_count", default=100_000, show_default=True, type=click.IntRange(17))
@click.option("--times", default=5, show_default=True, help="Tries of each view and action; 0 for none.")
@click.option("--rounds", default=0, show_default=True, help="Rounds to have afterwards with the page open.")
def main(node_count: int, pod_count: int, times: int, rounds: int) -> None:
    """Measure the page of a large cluster."""
    asyncio.run(_main(node_count, pod_count, times, rounds))


if __name__ == "__main__":
    main()
