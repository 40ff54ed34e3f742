"""How long one tenant's most expensive pods hold up another's in running programs: from creation until seen bound."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.end_to_end import EndToEndOptions, node_objects, pod_objects
from benchmarks.environment import environment
from benchmarks.hostile import BOUND, HostileOptions
from benchmarks.hostile_pods import MALLORY, SHAPES, Room, hostile_pod
from benchmarks.targets.watching import PodWatch, watching
from poseidon.demo.seeding import create_in_bulk, ensure_namespace
from poseidon.demo.tracker import PodName
from poseidon.kube.client.settings import load_settings
from poseidon.kube.client.transport import Transport
from poseidon.testbed.harness.stack import Stack, StackOptions

FEW = (
    "required values",
    "pod anti-affinity among all",
    "kinds with two spread constraints",
    "sizes",
    "labels",
)
"""Kinds that are measured unless others are named: a sample of what bridge, stream and rounds have work with."""

_OTHERS = "others"
_EACH = 2**14
"""Bytes of each hostile pod, or so many entries as the solver takes: the simulated API server sends all of them."""
_AT_ONCE = 50
_PATIENCE = 300.0


def run_processes(
    options: HostileOptions, progress: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Measure each shape with a cluster, a solver and a bridge of its own, one after the other.

    Raises ``ChildDiedError``, ``KubeError`` or ``TimeoutError``.
    """
    rows = []
    for shape in options.shapes:
        row = {"shape": shape, **asyncio.run(_measure(options, shape))}
        progress(f"{shape}: {row['delaySeconds']:.2f} s")
        rows.append(row)
    return {
        "kind": "hostile-processes",
        "environment": environment(),
        "nodes": options.nodes,
        "classes": options.classes,
        "pods": options.pods,
        "hostile": options.hostile,
        "boundSeconds": BOUND,
        "holds": all(row["holds"] for row in rows),
        "rows": rows,
    }


async def _measure(options: HostileOptions, shape: str) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="poseidon-hostile-"))
    try:
        async with Stack(StackOptions(folder, cluster_name=folder.name, log_level="warning")) as stack:
            await stack.start_servers()
            settings = load_settings(stack.kubeconfig)
            async with Transport(settings, clock=time.monotonic, user_agent="poseidon-bench") as transport:
                for name in (MALLORY, _OTHERS):
                    await ensure_namespace(transport, name)
                await create_in_bulk(transport, list(node_objects(options.nodes)))
                await stack.start_bridge()
                async with watching(transport, time.monotonic) as watch:
                    return await stack.guard(_Measure(options, shape, transport, watch).measured())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Measure:
    """Bursts of ordinary pods in one cluster; all times are seconds of the clock until the last is seen bound."""

    def __init__(self, options: HostileOptions, shape: str, transport: Transport, watch: PodWatch) -> None:
        self._options, self._shape = options, shape
        self._transport, self._watch = transport, watch
        self._bursts = count()

    async def measured(self) -> dict[str, Any]:
        """Return how long a burst takes alone, while hostile pods come, and while they are there."""
        runs = self._options.runs
        alone = statistics.median([await self._burst() for _ in range(runs + 1)][1:])
        creating = asyncio.create_task(self._create_hostile())
        beside = [await self._burst()]
        while not creating.done():
            beside.append(await self._burst())
        await creating
        there = statistics.median([await self._burst() for _ in range(runs)])
        late = max(*beside, there) - alone
        return {
            "aloneSeconds": alone,
            "besideSeconds": max(beside),
            "thereSeconds": there,
            "delaySeconds": late,
            "holds": late <= BOUND,
        }

    async def _burst(self) -> float:
        options, number = self._options, next(self._bursts)
        drawn = pod_objects(EndToEndOptions(pods=options.pods, classes=options.classes), _OTHERS)
        pods = [_renamed(each, f"{each['metadata']['name']}-{number}") for each in drawn]
        names = [PodName(_OTHERS, each["metadata"]["name"]) for each in pods]
        self._watch.announce(names)
        await create_in_bulk(self._transport, pods)
        async with asyncio.timeout(_PATIENCE):
            while not all(name in self._watch.lives for name in names):
                await self._watch.wait_for_change(_PATIENCE)
        lives = [self._watch.lives[name] for name in names]
        self._watch.forget(names)
        return max(bound for _, bound in lives) - min(created for created, _ in lives)

    async def _create_hostile(self) -> None:
        batch: list[dict[str, Any]] = []
        for each in self._hostile():
            batch.append(each)
            if len(batch) == _AT_ONCE:
                await create_in_bulk(self._transport, batch)
                batch = []
        await create_in_bulk(self._transport, batch)

    def _hostile(self) -> Iterator[dict[str, Any]]:
        kind = SHAPES[self._shape]
        for number in range(self._options.hostile * kind.times):
            variety = 0 if kind.copies else number
            room = Room(min(self._options.size, _EACH), kind.limit, variety * (kind.limit or 1))
            made = hostile_pod(self._shape, room, variety)
            made.update(apiVersion="v1", kind="Pod")
            yield _renamed(made, f"hostile-{number}")


def _renamed(pod: dict[str, Any], name: str) -> dict[str, Any]:
    metadata = {key: value for key, value in pod["metadata"].items() if key != "uid"}
    return {**pod, "metadata": {**metadata, "name": name}}
