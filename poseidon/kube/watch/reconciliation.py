"""Whether what a reflector has handed over is what the API server has: compared from time to time, by metadata alone.

A list of exactly the version that a watch has come to has the same objects, each in the same version. Whatever differs
was lost on the way, or made up, and no later event would tell of it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.watch.listing import versions_at

if TYPE_CHECKING:
    from poseidon.kube.api.resource import Resource
    from poseidon.kube.client.metrics import KubeMetrics
    from poseidon.kube.client.transport import Transport

_log = logging.getLogger(__name__)

_MOST_NAMED = 5


class Known(NamedTuple):
    """What is known of a ``resource`` as of a ``version``: the versions of its objects by uid."""

    resource: Resource[Any]
    version: str
    objects: Mapping[str, str]


class Reconciler:
    """Compares every ``seconds``, a quarter earlier or later, ``limit`` objects a page.

    ``known`` returns what is known, None while that is of no one version; ``list_anew`` is called where it differs.
    """

    def __init__(
        self,
        transport: Transport,
        known: Callable[[], Known | None],
        list_anew: Callable[[], None],
        *,
        limit: int,
        seconds: float,
        metrics: KubeMetrics,
        random: Random,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._transport = transport
        self._known = known
        self._list_anew = list_anew
        self._limit = limit
        self._seconds = seconds
        self._metrics = metrics
        self._random = random
        self._sleep = sleep

    async def run(self) -> None:
        """Compare for ever."""
        while True:
            await self._sleep(self._seconds * (0.75 + 0.5 * self._random.random()))
            known = self._known()
            if known is not None:
                result = await self._compare(known)
                self._metrics.reconciliations.labels(known.resource.name, result).inc()

    async def _compare(self, known: Known) -> str:
        """Return how it went, in the words of the metric."""
        name = known.resource.name
        try:
            there = await versions_at(self._transport, known.resource, self._limit, known.version)
        except KubeError as error:
            if isinstance(error, ApiError) and error.expired:
                return "skipped"
            _log.debug('not reconciled resource=%s error="%s"', name, error)
            return "failed"
        ours = known.objects
        differ = sorted(uid for uid in ours.keys() | there.keys() if ours.get(uid) != there.get(uid))
        if not differ:
            return "same"
        _log.warning(
            "watch has drifted from the API server, listing anew resource=%s version=%s objects=%d uids=%s",
            name,
            known.version,
            len(differ),
            ",".join(differ[:_MOST_NAMED]),
        )
        self._metrics.drifted_objects.labels(name).inc(len(differ))
        self._list_anew()
        return "drifted"
