"""Passes the changes that a watch has received to their handler, and logs objects that cannot be decoded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Generic, TypeVar

from prometheus_client import Counter

from poseidon.kube.api.metadata import KubeStruct, ObjectMeta
from poseidon.kube.api.resource import Change
from poseidon.kube.environment import Environment
from poseidon.kube.watch.namespace_turns import LONG, NamespaceTurns

T = TypeVar("T", bound=KubeStruct)

_log = logging.getLogger(__name__)

_FEW = 4
"""Most changes that are handled at once if no other changes wait."""


class Delivery(Generic[T]):
    """The delivery of one collection's changes; see ``Reflector`` for ``take``, ``changed`` and ``in_turn``."""

    def __init__(
        self,
        environment: Environment,
        resource: str,
        take: Callable[[Sequence[Change[T]]], None],
        changed: Callable[[], None] | None,
        *,
        in_turn: bool = False,
    ) -> None:
        self._metrics, self._quarantine = environment.metrics, environment.quarantine
        self._clock, self._sleep = environment.clock, environment.sleep
        self._resource = resource
        self._in_turn = in_turn
        self._turns: NamespaceTurns[T] | None = None  # None while few changes come
        self._late = asyncio.Event()
        self._take_changes = take
        self._changed = changed
        self._heard: dict[str, Counter] = {}
        self.synced = asyncio.Event()
        """Whether a complete list has been passed on, or the resource is not served."""

    def hand_over(self, batch: Sequence[Change[T]], kind: str) -> None:
        """Pass on changes that come from a list instead of a watch; metrics count them under ``kind``."""
        if batch:
            self.count_heard(kind, len(batch))
            self.deliver(batch)

    def count_heard(self, kind: str, number: int) -> None:
        """Count received changes of a kind in the metrics."""
        series = self._heard.get(kind)
        if series is None:  # The series is looked up once, because that takes longer than counting.
            series = self._heard[kind] = self._metrics.watches.watch_events.labels(self._resource, kind)
        series.inc(number)

    def report_gone(self, uids: Collection[str]) -> None:
        """Pass on that the objects with these uids no longer exist."""
        self.hand_over([Change(uid, None) for uid in sorted(uids)], "VANISHED")

    def deliver(self, batch: Sequence[Change[T]], size: int = 0) -> None:
        """Pass on changes, of ``size`` bytes in all; changes that cannot be handled are set aside.

        If many changes come, namespaces take turns (see ``NamespaceTurns``): ``catch_up`` passes on the remaining
        ones later.
        """
        if not self._in_turn or not self.synced.is_set():
            self._pass_on(batch)
            return
        turns = self._turns
        if turns is not None and turns.is_idle:
            turns = self._turns = None
        if turns is None and len(batch) <= _FEW:
            begun = self._clock()
            self._pass_on(batch)
            if (took := self._clock() - begun) > LONG:
                self._turns = NamespaceTurns(self._pass_on, self._clock)
                self._turns.charge(batch[0], took)
            return
        if turns is None:
            turns = self._turns = NamespaceTurns(self._pass_on, self._clock)
        turns.take(batch, size)
        if len(turns):
            self._late.set()

    async def catch_up(self) -> None:
        """Pass on waiting changes when the turns of their namespaces come, until cancelled."""
        while True:
            await self._late.wait()
            self._late.clear()
            # While this task sleeps, ``deliver`` may pass on all changes and set the turns to None.
            while (turns := self._turns) is not None and (pause := turns.next_in()) is not None:
                await self._sleep(pause)
                turns.hand_on()

    def _pass_on(self, batch: Sequence[Change[T]]) -> None:
        self._quarantine.deliver(self._resource, self._call_handler, batch)

    def _call_handler(self, batch: Sequence[Change[T]]) -> None:
        self._take_changes(batch)
        if self._changed is not None:
            self._changed()

    def mark_synced(self) -> None:
        """Note that a complete list has been passed on, or that the collection is not served."""
        if not self.synced.is_set():
            self.synced.set()
            if self._changed is not None:
                self._changed()

    def reject(self, metadata: ObjectMeta, problem: str) -> None:
        """Count an object that cannot be decoded, and log it."""
        self._metrics.watches.rejected_objects.labels(self._resource).inc()
        name = f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name
        _log.warning(
            'object cannot be decoded and is left out resource=%s name=%s error="%s"',
            self._resource,
            name or "?",
            problem,
        )
