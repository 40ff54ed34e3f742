"""Compares the objects that a reflector has passed on with the API server's, from time to time, by metadata only.

A list at exactly the version that the watch has reached must contain the same objects in the same versions. If the
list differs, an event was lost or is wrong, and no later event would correct that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from poseidon.kube.api.resource import Resource
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.environment import Environment
from poseidon.kube.watch.listing import versions_at

_log = logging.getLogger(__name__)

_MOST_NAMED = 5


class Known(NamedTuple):
    """The known objects of a collection (``resource``) at a ``version``: the objects' versions by uid."""

    resource: Resource[Any]
    version: str
    objects: Mapping[str, str]


async def reconcile(
    environment: Environment,
    known: Callable[[], Known | None],
    list_anew: Callable[[], None],
    wanted: asyncio.Event,
) -> None:
    """Compare until cancelled: about once per period, and whenever ``wanted`` is set.

    Each comparison is up to a quarter of a period earlier or later. If the period is 0, compare only when ``wanted``
    is set. ``known`` returns the known objects, or None while they belong to no single version; ``list_anew`` is
    called if they differ from the server's.
    """
    metrics, period = environment.metrics, environment.watch.reconcile_period
    while True:
        with suppress(TimeoutError):
            seconds = period * (0.75 + 0.5 * environment.random.random()) if period else None
            async with asyncio.timeout(seconds):
                await wanted.wait()
        wanted.clear()
        ours = known()
        if ours is None:
            continue
        result, differing = await _compare(environment, ours)
        metrics.watches.reconciliations.labels(ours.resource.name, result).inc()
        if differing:
            metrics.watches.drifted_objects.labels(ours.resource.name).inc(differing)
            list_anew()


async def _compare(environment: Environment, known: Known) -> tuple[str, int]:
    """Compare once; return the result by its name in metrics, and the number of objects that differ."""
    name = known.resource.name
    try:
        limit = environment.reflector.page_size
        there = await versions_at(environment.transport, known.resource, limit, known.version)
    except KubeError as error:
        if isinstance(error, ApiError) and error.expired:
            return "skipped", 0
        if isinstance(error, ApiError) and error.ahead:
            return "ahead", len(known.objects)
        _log.debug('not reconciled resource=%s error="%s"', name, error)
        return "failed", 0
    ours = known.objects
    differ = sorted(uid for uid in ours.keys() | there.keys() if ours.get(uid) != there.get(uid))
    if not differ:
        return "same", 0
    _log.warning(
        "watch has drifted from the API server, listing anew resource=%s version=%s objects=%d uids=%s",
        name,
        known.version,
        len(differ),
        ",".join(differ[:_MOST_NAMED]),
    )
    return "drifted", len(differ)
