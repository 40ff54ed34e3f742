"""Defines the connection and settings that all parts of a process share for one API server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from poseidon.kube.binding_and_eviction_metrics import WriteMetrics
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.rewinds import Rewinds
from poseidon.kube.watch_metrics import WatchMetrics
from poseidon.kube.watch_options import ReflectorOptions, WatchOptions

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

    from poseidon.kube.client.transport import Transport


_NEVER_COMPARED = WatchOptions(reconcile_period=0)


class KubeMetrics:
    """All metrics of the traffic with an API server, registered in ``registry``."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.watches = WatchMetrics(registry)
        self.writes = WriteMetrics(registry)


def _create_unused_metrics() -> KubeMetrics:
    from prometheus_client import CollectorRegistry

    return KubeMetrics(CollectorRegistry())


@dataclass(frozen=True, slots=True)
class Environment:
    """The connection to one API server, and other objects that all parts of a process share."""

    transport: Transport
    """Sends all requests to the API server."""
    metrics: KubeMetrics = field(default_factory=_create_unused_metrics)
    """Counters of the traffic."""
    random: Random = field(default_factory=Random)
    """Source of jitter."""
    clock: Callable[[], float] = time.monotonic
    """Monotonic seconds."""
    wall: Callable[[], float] = time.time
    """Seconds since the epoch."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """Waits for some seconds."""
    quarantine: Quarantine = field(default_factory=Quarantine)
    """Collects objects that could not be handled."""
    watch: WatchOptions = _NEVER_COMPARED
    """How often known objects are compared with the API server's."""
    reflector: ReflectorOptions = field(default_factory=ReflectorOptions)
    """Sizes and times of all reflectors."""
    rewinds: Rewinds = field(default_factory=Rewinds)
    """The counter of the server's returns to an older state."""
