"""What all parts that talk to one API server share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Annotated

from prometheus_client import CollectorRegistry
from pydantic import BeforeValidator, Field

from poseidon.kube.client.metrics import KubeMetrics
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.rewinds import Rewinds
from protos.conventions.configuration import Section, duration_schema, parse_duration

if TYPE_CHECKING:
    from poseidon.kube.client.transport import Transport


class WatchOptions(Section):
    """The section ``watch``.

    ``reconcile_period`` (15 min): how often what is known of each resource is compared with what the API server has.
    0: never.
    """

    reconcile_period: Annotated[
        float,
        BeforeValidator(parse_duration),
        Field(ge=0, le=86400, allow_inf_nan=False),
        duration_schema(minimum=0, maximum=86400),
    ] = 900.0


@dataclass(frozen=True, slots=True)
class ReflectorOptions:
    """Sizes and times (seconds) of a reflector.

    ``watch_seconds`` is the range that each watch's server-side time-out is drawn from; the client gives up
    on a silent stream ``read_margin`` later. ``absent_seconds`` is the pause between tries of a resource that
    is not served. ``broken_watches`` is the number of watches in a row that fail without progress after which
    to list anew.
    """

    page_size: int = 1000
    watch_seconds: tuple[float, float] = (300.0, 600.0)
    read_margin: float = 15.0
    absent_seconds: float = 20.0
    broken_watches: int = 5
    backoff_initial: float = 0.2
    backoff_cap: float = 10.0


_NEVER_COMPARED = WatchOptions(reconcile_period=0)


def _create_unused_metrics() -> KubeMetrics:
    return KubeMetrics(CollectorRegistry())


@dataclass(frozen=True, slots=True)
class Environment:
    """The way to an API server, and what a process has once. ``random`` is for jitter.

    ``clock`` is monotonic, ``wall`` tells seconds since the epoch. What cannot be dealt with goes to ``quarantine``.
    ``watch`` and ``reflector`` say how resources are followed; ``rewinds`` is told when the server has gone back to an
    older state.
    """

    transport: Transport
    metrics: KubeMetrics = field(default_factory=_create_unused_metrics)
    random: Random = field(default_factory=Random)
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    quarantine: Quarantine = field(default_factory=Quarantine)
    watch: WatchOptions = _NEVER_COMPARED
    reflector: ReflectorOptions = ReflectorOptions()
    rewinds: Rewinds = field(default_factory=Rewinds)
