"""Advertises a node's physical bandwidth as an extended resource of the node it runs on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from poseidon.agents.link_speed import LinkSpeedError
from poseidon.kube.api.core import Node
from poseidon.kube.api.decoding import decode_object
from poseidon.kube.client.backoff import Backoff
from poseidon.kube.client.errors import KubeError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.parsing.quantities import QuantityError, amount
from poseidon.pods.resources import BANDWIDTH

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport

_log = logging.getLogger(__name__)


class BandwidthAgent:
    """Keeps ``status.capacity`` and ``status.allocatable`` of a node at what ``speed`` says, in bits per second.

    ``speed`` may raise ``LinkSpeedError``; what is advertised then stays. The node is looked at again every
    ``interval`` seconds, since a kubelet that registers anew forgets what it does not know.
    """

    def __init__(
        self,
        transport: Transport,
        node: str,
        speed: Callable[[], int],
        *,
        random: Random,
        interval: float = 60.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._transport = transport
        self._node = node
        self._speed = speed
        self._interval = interval
        self._sleep = sleep
        self._backoff = Backoff(random)

    async def run(self) -> None:
        """Advertise until cancelled."""
        while True:
            try:
                await self.advertise()
            except (KubeError, LinkSpeedError) as error:
                delay = min(self._backoff.next(), self._interval)
                _log.warning('bandwidth not advertised node=%s in=%.1fs error="%s"', self._node, delay, error)
            else:
                self._backoff.reset()
                delay = self._interval
            await self._sleep(delay)

    async def advertise(self) -> bool:
        """Bring the node up to date once. Returns whether it was not. Raises ``KubeError``, ``LinkSpeedError``."""
        speed = self._speed()
        path = f"/api/v1/nodes/{self._node}"
        node = decode_object(await self._transport.get(path), Node)
        parts = {"capacity": node.status.capacity, "allocatable": node.status.allocatable or {}}
        stale = [part for part, given in parts.items() if _bits(given.get(BANDWIDTH)) != speed]
        if not stale:
            return False
        body: dict[str, Any] = {
            "metadata": {"uid": node.metadata.uid},
            "status": {part: {BANDWIDTH: str(speed)} for part in stale},
        }
        await self._transport.patch(f"{path}/status", msgspec.json.encode(body), MERGE_PATCH)
        _log.info("bandwidth advertised node=%s bits=%d", self._node, speed)
        return True


def _bits(value: Any) -> int | None:
    if value is None:
        return None
    try:
        return amount(BANDWIDTH, value)
    except QuantityError:
        return None
