"""What all parts that talk to one API server share."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, TypeVar

from poseidon.kube.api.metadata import KubeStruct
from poseidon.kube.watch.quarantine import Quarantine
from poseidon.kube.watch.reflector import Reflector

if TYPE_CHECKING:
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.client.metrics import KubeMetrics
    from poseidon.kube.client.transport import Transport
    from poseidon.kube.watch.changes import Handler, ReflectorOptions

T = TypeVar("T", bound=KubeStruct)


@dataclass(frozen=True, slots=True)
class Environment:
    """The way to an API server, and what a process has once. ``random`` is for jitter.

    ``clock`` is monotonic, ``wall`` tells seconds since the epoch. What cannot be dealt with goes to ``quarantine``.
    ``for_events`` is the way for what is only told, and may be told at any time; None: the same. What is known of a
    resource is compared with what there is every ``reconcile_seconds``.
    """

    transport: Transport
    metrics: KubeMetrics
    random: Random
    clock: Callable[[], float]
    wall: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    quarantine: Quarantine = field(default_factory=Quarantine)
    for_events: Transport | None = None
    reconcile_seconds: float = math.inf

    def reflector(
        self, resource: Resource[T], handler: Handler[T], options: ReflectorOptions
    ) -> Reflector[T]:
        """Make what follows a resource and tells ``handler``."""
        return Reflector(
            self.transport,
            resource,
            handler,
            metrics=self.metrics,
            random=self.random,
            clock=self.clock,
            options=options,
            quarantine=self.quarantine,
            reconcile_seconds=self.reconcile_seconds,
        )
