"""Pods that take long to translate hold up no pods of other namespaces."""

from __future__ import annotations

import asyncio
from random import Random
from typing import cast

import msgspec
from prometheus_client import CollectorRegistry

from poseidon.bridge.options import BridgeOptions
from poseidon.bridge.runner import Bridge, BridgeProcess
from poseidon.configuration.document import BridgeConfiguration
from poseidon.kube.client.transport import Transport
from poseidon.kube.environment import Environment
from poseidon.kube.watch_options import WatchOptions
from tests.poseidon.bridge.scripted_solver import ScriptedSolver, running_solver
from tests.support.pod_way import WatchedServer
from tests.support.waiting import until

COSTLY, PLAIN = 150, 20


def costly(number):
    """A pod with as many rules as are read, each of its own: hundreds of times as much work as a plain one."""
    terms = [
        {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {
                "matchExpressions": [{"key": f"k{term}", "operator": "NotIn", "values": [f"{number}-{term}"]}]
            },
        }
        for term in range(100)
    ]
    return {
        "metadata": {
            "name": f"c{number}",
            "namespace": "costly",
            "uid": f"c{number}",
            "resourceVersion": f"{number + 10}",
            "labels": {f"k{number % 100}": "v"},
        },
        "spec": {
            "schedulerName": "poseidon",
            "containers": [{"name": "a", "image": "i"}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}},
        },
    }


def plain(number):
    return {
        "metadata": {
            "name": f"p{number}",
            "namespace": "plain",
            "uid": f"p{number}",
            "resourceVersion": f"{number + 1000}",
        },
        "spec": {"schedulerName": "poseidon", "containers": [{"name": "a", "image": "i"}]},
    }


class InOneRead(WatchedServer):
    """An API server of whose watch each read brings as many lines as there are."""

    async def lines(self, path, query, read_timeout):
        async for found in super().lines(path, query, read_timeout):
            yield found[0].split(b"\n")


async def test_plain_pods_that_come_behind_costly_ones_are_sent_before_most_of_them():
    api, solver = InOneRead(), ScriptedSolver()
    seen = []

    def takes(event):
        seen.extend(event.tasks.uids)
        return True

    solver.takes = takes
    async with running_solver(solver) as port:
        options = BridgeOptions(
            (f"127.0.0.1:{port}",), BridgeConfiguration(watch=WatchOptions(reconcile_period=0))
        )
        process = BridgeProcess(Environment(cast("Transport", api), random=Random(1)))
        stop = asyncio.Event()
        running = asyncio.create_task(Bridge(process, options, CollectorRegistry()).run(stop))
        await until(lambda: solver.synced)
        pods = [*map(costly, range(COSTLY)), *map(plain, range(PLAIN))]
        lines = b"\n".join(msgspec.json.encode({"type": "ADDED", "object": each}) for each in pods)
        api.watches["/api/v1/pods"].put_nowait(lines)
        await until(lambda: len(seen) == COSTLY + PLAIN)
        assert max(seen.index(f"p{number}") for number in range(PLAIN)) < COSTLY // 2
        assert sorted(seen) == sorted(each["metadata"]["uid"] for each in pods)
        stop.set()
        await running
