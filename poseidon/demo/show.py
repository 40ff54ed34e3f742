"""Runs the show of ``poseidon demo --ui``: work comes and ends until the demonstration is stopped.

A batch of pods arrives every few seconds and ends by itself. In turn there are a gang, a shortage of GPUs, and a node
that is drained and returns. One pod fits nowhere. As a simulated cluster has no controllers of pods, this module
removes pods that have ended, and replaces evicted ones.
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
"""Seconds between two batches."""

_GANG, _SHORTAGE, _DRAIN, _TURN = 2, 7, 12, 15
"""At which batch of a turn gang, shortage and drain begin, and how many batches a turn has."""

_DRAINED_BEATS = 4
_MERGE = "application/merge-patch+json"
_PODS = "/api/v1/pods"
_NOT_NOW = (404, 409, 429)
"""Status codes that are no faults: another client made the change first, or a budget refuses it for now."""


class Show:
    """``nodes``: names of all nodes; ``size``: number of pods at the beginning; ``say`` gets a line for each act.

    ``sleep`` replaces the event loop's, for tests.
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

    # --- the parts of acts ---------------------------------------------------------------------------

    async def _try(self, act: Awaitable[None]) -> None:
        """Do an act; if a request is refused or not answered, say so and return."""
        try:
            await act
        except KubeError as error:
            self._say(f"the API server did not do it: {error}")

    def _next_batch(self) -> list[Object]:
        chance = self._random
        requests = {"cpu": f"{chance.choice((50, 100, 200))}m", "memory": chance.choice(("64Mi", "256Mi"))}
        count = chance.randint(1, self._batch)
        seconds = chance.choice((8, 15, 30))
        return list(show_objects.job_pods(f"batch-{self._number}", count, requests, seconds=seconds))

    async def _create(self, objects: Sequence[Object]) -> None:
        await create_in_bulk(self._transport, objects)

    async def _remove_ended(self) -> None:
        """Remove the show's pods that have ended, as a Job's time to live does."""
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
        """Send a request; return False if another client has made the change already, else True."""
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
