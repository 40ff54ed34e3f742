"""Measures in running programs how long one tenant's most expensive pods delay another's: from first seen until seen
bound.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.hostile.delays import BOUND, HostileOptions, sum_up
from benchmarks.hostile.pods import MALLORY, SHAPES, Room, hostile_pod
from benchmarks.processes.end_to_end import EndToEndOptions, node_objects, pod_objects
from benchmarks.processes.parts.usage import UsageSampler, stack_roots
from benchmarks.targets.watching import PodWatch, watching
from poseidon.demo.binding_latency import PodName
from poseidon.demo.seeding import BULK_PATH, create_in_bulk, ensure_namespace
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
"""Shapes that are measured by default: a sample of the work of bridge, stream and rounds."""

_OTHERS = "others"
_EACH = 2**14
"""Bytes of each hostile pod, or fewer at the shape's limit of entries: the simulated API server sends all pods."""
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
    return {"kind": "hostile-processes", **sum_up(options, rows)}


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
                async with watching(transport, time.monotonic, _OTHERS) as watch:
                    usage = UsageSampler(stack_roots(stack))
                    return await stack.guard(_Measure(options, shape, transport, watch, usage).measured())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Burst(NamedTuple):
    """Seconds that a burst took by the clock, and processor seconds by kind of process meanwhile."""

    seconds: float
    processor: Mapping[str, float]


class _Measure:
    """Bursts of ordinary pods in one cluster.

    A burst takes from the moment when a watch first shows one of its pods until it shows the last one bound. The
    time includes the work of the simulated API server and of this process, which share the cores; ``processor`` has
    the seconds of each.
    """

    def __init__(
        self,
        options: HostileOptions,
        shape: str,
        transport: Transport,
        watch: PodWatch,
        usage: UsageSampler,
    ) -> None:
        self._options = options
        self._transport, self._watch, self._usage = transport, watch, usage
        self._bursts = count()
        pods = [msgspec.json.encode(each) for each in _hostile_pods(options, shape)]
        self._hostile = [b"\n".join(pods[at : at + _AT_ONCE]) for at in range(0, len(pods), _AT_ONCE)]

    async def measured(self) -> dict[str, Any]:
        """Return how long a burst takes alone, while hostile pods come, and while they are there."""
        runs = self._options.runs
        alone = _find_median([await self._burst() for _ in range(runs + 1)][1:])
        creating = asyncio.create_task(self._create_hostile())
        bursts = [await self._burst()]
        while not creating.done():
            bursts.append(await self._burst())
        await creating
        beside = max(bursts, key=attrgetter("seconds"))
        there = _find_median([await self._burst() for _ in range(runs)])
        late = max(beside.seconds, there.seconds) - alone.seconds
        return {
            "aloneSeconds": alone.seconds,
            "besideSeconds": beside.seconds,
            "thereSeconds": there.seconds,
            "delaySeconds": late,
            "holds": late <= BOUND,
            "processorSeconds": {
                "alone": alone.processor,
                "beside": beside.processor,
                "there": there.processor,
            },
        }

    async def _burst(self) -> _Burst:
        options, number = self._options, next(self._bursts)
        drawn = pod_objects(EndToEndOptions(pods=options.pods, classes=options.classes), _OTHERS)
        pods = [_renamed(each, f"{each['metadata']['name']}-{number}") for each in drawn]
        names = [PodName(_OTHERS, each["metadata"]["name"]) for each in pods]
        self._watch.announce(names)
        before = self._usage.totals()
        await create_in_bulk(self._transport, pods)
        async with asyncio.timeout(_PATIENCE):
            while not all(name in self._watch.lives for name in names):
                await self._watch.wait_for_change(_PATIENCE)
        used = {kind: total - before.get(kind, 0.0) for kind, total in self._usage.totals().items()}
        bound = max(self._watch.lives[name][1] for name in names)
        seconds = bound - min(self._watch.shown[name] for name in names)
        self._watch.forget(names)
        return _Burst(seconds, used)

    async def _create_hostile(self) -> None:
        for each in self._hostile:
            await self._transport.post(BULK_PATH, each)


def _find_median(bursts: Sequence[_Burst]) -> _Burst:
    return sorted(bursts, key=attrgetter("seconds"))[len(bursts) // 2]


def _hostile_pods(options: HostileOptions, shape: str) -> Iterator[dict[str, Any]]:
    kind = SHAPES[shape]
    for number in range(options.hostile * kind.times):
        variety = 0 if kind.copies else number
        room = Room(min(options.size, _EACH), kind.limit, variety * (kind.limit or 1))
        made = hostile_pod(shape, room, variety)
        made.update(apiVersion="v1", kind="Pod")
        yield _renamed(made, f"hostile-{number}")


def _renamed(pod: dict[str, Any], name: str) -> dict[str, Any]:
    metadata = {key: value for key, value in pod["metadata"].items() if key != "uid"}
    return {**pod, "metadata": {**metadata, "name": name}}
