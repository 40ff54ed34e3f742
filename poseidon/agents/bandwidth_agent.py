"""Advertises the physical bandwidth that a node's kernel reports as an extended resource of the node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from poseidon.kube.api.decoding import decode_object
from poseidon.kube.api.nodes import Node
from poseidon.kube.client.backoff import Backoff
from poseidon.kube.client.errors import KubeError
from poseidon.kube.client.media_types import MERGE_PATCH
from poseidon.kube.parsing.quantities import QuantityError, amount
from poseidon.pods.requests_and_limits import BANDWIDTH

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport

_log = logging.getLogger(__name__)

SYSFS = Path("/sys/class/net")
ROUTES = Path("/proc/net/route")

_BITS = 1_000_000


class LinkSpeedError(Exception):
    """The error for a network interface of unknown speed; the message says why, and what to do."""


class BandwidthAgent:
    """The agent that writes the bits per second that ``speed`` returns into a node's capacity and allocatable amounts.

    If ``speed`` raises ``LinkSpeedError``, the advertised amount stays. The agent checks the node every ``interval``
    seconds, because a kubelet that registers again removes resources that it does not know.
    """

    def __init__(
        self,
        transport: Transport,
        node: str,
        speed: Callable[[], int],
        *,
        random: Random,
        interval: float = 60.0,
    ) -> None:
        self._transport = transport
        self._node = node
        self._speed = speed
        self._interval = interval
        self._backoff = Backoff(random)

    async def run(self) -> None:
        """Advertise the bandwidth until cancelled."""
        while True:
            try:
                await self.advertise()
            except (KubeError, LinkSpeedError) as error:
                delay = min(self._backoff.next(), self._interval)
                _log.warning(
                    'bandwidth not advertised node=%s retry_in=%.1fs error="%s"', self._node, delay, error
                )
            else:
                self._backoff.reset()
                delay = self._interval
            await asyncio.sleep(delay)

    async def advertise(self) -> bool:
        """Update the node's status if it differs; return whether it did. Raises ``KubeError`` or ``LinkSpeedError``."""
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


def default_interface(routes: Path = ROUTES) -> str:
    """Return the network interface of the default route with the lowest metric; may raise ``LinkSpeedError``."""
    try:
        lines = routes.read_text(encoding="ascii", errors="replace").splitlines()[1:]
    except OSError as error:
        raise LinkSpeedError(f"{routes}: {error.strerror}; name the interface with --interface") from None
    # The columns are Iface Destination Gateway Flags RefCnt Use Metric Mask. A default route has destination and mask
    # 0.
    found = [
        fields for line in lines if len(fields := line.split()) > 7 and fields[1] == fields[7] == "0" * 8
    ]
    if not found:
        raise LinkSpeedError(f"{routes}: no default route; name the interface with --interface")
    return min(found, key=lambda fields: int(fields[6]))[0]


def link_speed(interface: str, sysfs: Path = SYSFS) -> int:
    """Return the speed of an interface in bits per second; raise ``LinkSpeedError``, also for virtual interfaces."""
    file = sysfs / interface / "speed"
    remedy = "name another one with --interface, or the speed with --speed"
    try:
        text = file.read_text(encoding="ascii", errors="replace").strip()
    except FileNotFoundError:
        raise LinkSpeedError(f"{file}: there is no such interface; {remedy}") from None
    except OSError as error:
        raise LinkSpeedError(
            f"{file} cannot be read ({error.strerror}), so the interface's speed is unknown; {remedy}"
        ) from None
    if not text.isdecimal() or int(text) == 0:
        raise LinkSpeedError(
            f"{file}: {text!r} is not a speed, as of a virtual interface or one without a link; {remedy}"
        )
    return int(text) * _BITS
