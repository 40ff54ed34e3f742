"""Defines the connection and settings that all parts of a process share for one API server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Annotated

from pydantic import BeforeValidator, Field

from poseidon.kube.client.metrics import KubeMetrics
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.rewinds import Rewinds
from protos.conventions.configuration import Section
from protos.conventions.durations import duration_schema, parse_duration

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport


class WatchOptions(Section):
    """The section ``watch``.

    ``reconcile_period`` (15 min) is the time between two comparisons of each collection's known objects with the API
    server's. 0 means never.
    """

    reconcile_period: Annotated[
        float,
        BeforeValidator(parse_duration),
        Field(ge=0, le=86400, allow_inf_nan=False),
        duration_schema(minimum=0, maximum=86400),
    ] = 900.0


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """Page sizes and times of a reflector, which lists and watches a collection."""

    page_size: int = 1000
    """Objects per page of a list."""
    watch_seconds: tuple[float, float] = (300.0, 600.0)
    """Range in seconds from which each watch's server-side time-out is drawn."""
    read_margin: float = 15.0
    """Seconds after the watch's time-out until the client gives up a silent stream."""
    absent_seconds: float = 20.0
    """Seconds between tries of a resource that is not served."""
    look_seconds: float = 5.0
    """Longest wait in seconds for the present version of a collection, before a watch is resumed."""
    broken_watches: int = 5
    """Number of watches that may fail in a row without progress before a new list."""
    backoff_initial: float = 0.2
    """First pause after a failure, in seconds."""
    backoff_cap: float = 10.0
    """Longest pause after failures, in seconds."""


_NEVER_COMPARED = WatchOptions(reconcile_period=0)


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
    reflector: ReflectorOptions = ReflectorOptions()
    """Sizes and times of all reflectors."""
    rewinds: Rewinds = field(default_factory=Rewinds)
    """The counter of the server's returns to an older state."""
