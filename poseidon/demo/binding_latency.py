"""Measures how long pods take from creation to binding, by a watch of the API server."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from poseidon.kube.api.pods import Pod
from poseidon.kube.api.resource import Change


class PodName(NamedTuple):
    """Namespace and name of a pod."""

    namespace: str
    name: str


@dataclass(slots=True)
class _Life:
    created: float
    bound: float = math.inf
    node: str = ""
    message: str = ""


class PodTracker:
    """Records when pods are bound, from the changes that a reflector passes on. ``clock`` returns seconds.

    Only pods that callers announced with ``about_to_create`` are followed. A pod whose node changes counts as bound
    twice.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lives: dict[PodName, _Life] = {}
        self._bound = 0
        self._waiting: set[PodName] = set()
        self._changed = asyncio.Event()
        self.bound_twice = 0

    # --- what callers report --------------------------------------------------------------------------------

    def about_to_create(self, names: Iterable[PodName]) -> None:
        """Announce pods that are about to be created.

        The pods' time to binding counts from now on, including the request that creates them.
        """
        now = self._clock()
        self._lives.update((name, _Life(now)) for name in names)

    def take_changes(self, changes: Sequence[Change[Pod]]) -> None:
        """Update the record by the present state of changed pods."""
        now = self._clock()
        for change in changes:
            pod = change.object
            if pod is None:
                continue
            name = PodName(pod.metadata.namespace, pod.metadata.name)
            life = self._lives.get(name)
            if life is not None:
                self._note(name, life, pod, now)
        self._changed.set()

    def _note(self, name: PodName, life: _Life, pod: Pod, now: float) -> None:
        node = pod.spec.node_name
        if not node:
            condition = pod.condition("PodScheduled")
            if condition is not None and condition.status == "False":
                life.message = condition.message
                self._waiting.add(name)
        elif not life.node:
            life.node, life.bound = node, now
            self._bound += 1
            self._waiting.discard(name)
        elif life.node != node:
            self.bound_twice += 1
            life.node = node

    # --- what callers ask -----------------------------------------------------------------------------------

    @property
    def expected(self) -> int:
        """Number of announced pods."""
        return len(self._lives)

    @property
    def bound(self) -> int:
        """Number of announced pods that are bound."""
        return self._bound

    def is_bound(self, name: PodName) -> bool:
        """Return whether an announced pod is bound, or was bound before."""
        life = self._lives.get(name)
        return life is not None and bool(life.node)

    def has_bound_since(self, announced: int) -> bool:
        """Return whether a pod is bound that was announced later than the first ``announced`` pods."""
        return any(life.node for life in islice(self._lives.values(), announced, None))

    @property
    def waiting(self) -> int:
        """Number of announced pods that are reported as fitting on no node."""
        return len(self._waiting)

    def reasons(self) -> dict[str, int]:
        """Return the number of waiting pods by the first sentence of their messages.

        After the first sentence, messages differ from pod to pod.
        """
        messages = (self._lives[name].message for name in self._waiting)
        firsts = (message.partition(". ") for message in messages)
        return dict(Counter(first + dot.rstrip() for first, dot, _ in firsts))

    def latencies(self) -> list[float]:
        """Return the seconds from creation to binding of all bound pods, sorted."""
        return sorted(life.bound - life.created for life in self._lives.values() if life.node)

    def seconds(self) -> float:
        """Return the seconds from the first creation to the last binding so far, or 0 without a binding."""
        bound = [life for life in self._lives.values() if life.node]
        if not bound:
            return 0.0
        first = min(life.created for life in self._lives.values())
        return max(life.bound for life in bound) - first

    async def wait_for_change(self, at_most: float) -> None:
        """Wait until a pod has changed since the last call, for at most ``at_most`` seconds."""
        try:
            async with asyncio.timeout(at_most):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()


def percentile(ordered: Sequence[float], percent: float) -> float | None:
    """Return the nearest-rank percentile of sorted values, or None if there are no values."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]
