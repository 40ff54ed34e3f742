"""Runs the show of ``poseidon demo --ui``: pods come and end until the demonstration is stopped.

Every few seconds, a batch of pods arrives; its pods end by themselves. Three scenes follow each other: a gang, a
shortage of GPUs, and a node that is drained and returns. One pod of the show fits on no node. A simulated cluster has
no controllers of pods. This module therefore removes pods that have ended, and replaces evicted ones.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from poseidon.demo import show_objects
from poseidon.demo.seeding import create_in_bulk, ensure_namespace
from poseidon.demo.show_objects import NAMESPACE
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.transport import Transport

Object = dict[str, Any]

BEAT = 3.0
"""Seconds between two batches of pods."""

_GANG, _SHORTAGE, _DRAIN, _TURN = 2, 7, 12, 15
"""The batches of a cycle in which the gang, the shortage and the drain begin, and the number of batches in a cycle."""

_DRAINED_BEATS = 4
_MERGE = "application/merge-patch+json"
_PODS = "/api/v1/pods"
_NOT_NOW = (404, 409, 429)
"""Status codes that are no faults: another client made the change first, or a budget refuses it for now."""


class Show:
    """The show: batches of pods that come and end, and scenes such as a drain.

    ``nodes`` has the names of all nodes; ``size`` is the number of pods at the beginning; ``say`` is called with a
    line for each scene. ``sleep`` replaces the event loop's sleep in tests.
    """

    def __init__(
        self,
        transport: Transport,
        nodes: Sequence[str],
        size: int,
        say: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._transport, self._nodes, self._say, self._sleep = transport, nodes, say, sleep
        self._random = random.Random(1)  # noqa: S311 - what comes next need not be secret
        self._batch = max(2, min(40, size // 100))
        self._number = 0
        self._drained: tuple[str, int] | None = None

    async def run(self) -> None:
        """Run until cancelled; if the API server refuses a request, skip the present scene (gang, shortage, drain)."""
        await self._try(ensure_namespace(self._transport, NAMESPACE))
        self._say("a pod arrives that fits nowhere: show/tape-archive-000 wants a node with tape")
        await self._try(self._create([show_objects.make_misfit()]))
        while True:
            await self.beat()
            await self._sleep(BEAT)

    async def beat(self) -> None:
        """Create a batch of pods, remove pods that have ended, and start a scene if one is due."""
        self._number += 1
        number, turn = self._number, self._number % _TURN
        await self._try(self._remove_ended())
        await self._try(self._create(self._next_batch()))
        if turn == _GANG:
            members = 2 * self._batch
            self._say(f"a gang arrives: show/gang-{number}, all {members} pods at once or none")
            await self._try(self._create(show_objects.make_gang(f"gang-{number}", members, seconds=20)))
        elif turn == _SHORTAGE:
            gpus = show_objects.count_gpus(len(self._nodes))
            pods = list(show_objects.make_shortage(f"train-{number}", gpus, seconds=12))
            self._say(
                f"a shortage begins: {len(pods)} pods of show/train-{number} want a GPU each, of {gpus}"
            )
            await self._try(self._create(pods))
        elif turn == _DRAIN:
            await self._try(self._drain(self._random.choice(self._nodes)))
        if self._drained is not None and number - self._drained[1] >= _DRAINED_BEATS:
            node, self._drained = self._drained[0], None
            self._say(f"node {node} takes pods again")
            await self._try(self._cordon(node, cordoned=False))

    # --- the parts of scenes -------------------------------------------------------------------------

    async def _try(self, act: Awaitable[None]) -> None:
        """Play a scene; if a request is refused or not answered, print that and return."""
        try:
            await act
        except KubeError as error:
            self._say(f"the API server refused a request: {error}")

    def _next_batch(self) -> list[Object]:
        chance = self._random
        requests = {"cpu": f"{chance.choice((50, 100, 200))}m", "memory": chance.choice(("64Mi", "256Mi"))}
        count = chance.randint(1, self._batch)
        seconds = chance.choice((8, 15, 30))
        return list(show_objects.job_pods(f"batch-{self._number}", count, requests, seconds=seconds))

    async def _create(self, objects: Sequence[Object]) -> None:
        await create_in_bulk(self._transport, objects)

    async def _remove_ended(self) -> None:
        """Remove the show's pods that have ended, as a Job's time to live would."""
        for phase in ("Succeeded", "Failed"):
            for pod in await self._pods(f"/api/v1/namespaces/{NAMESPACE}/pods", f"status.phase={phase}"):
                await self._ask(self._transport.delete(_path(pod)))

    async def _drain(self, node: str) -> None:
        """Cordon a node, and evict and replace its pods."""
        self._say(f"node {node} is drained")
        self._drained = node, self._number
        await self._cordon(node, cordoned=True)
        for pod in await self._pods(_PODS, f"spec.nodeName={node}"):
            name = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": name}
            if await self._ask(self._transport.post(f"{_path(pod)}/eviction", msgspec.json.encode(body))):
                await self._create([show_objects.make_replacement(pod, self._number)])

    async def _cordon(self, node: str, *, cordoned: bool) -> None:
        patch = msgspec.json.encode({"spec": {"unschedulable": cordoned}})
        await self._ask(self._transport.patch(f"/api/v1/nodes/{quote(node)}", patch, _MERGE))

    async def _pods(self, path: str, selector: str) -> list[Object]:
        found: Any = msgspec.json.decode(await self._transport.get(path, {"fieldSelector": selector}))
        return list(found.get("items") or ())

    async def _ask(self, request: Awaitable[object]) -> bool:
        """Send a request; return False if another client made the change before, or if a budget refuses it for now."""
        try:
            await request
        except ApiError as error:
            if error.status in _NOT_NOW:
                return False
            raise
        return True


def _path(pod: Object) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{quote(metadata['namespace'])}/pods/{quote(metadata['name'])}"
