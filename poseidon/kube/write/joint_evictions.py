"""Decides about pods that must be evicted together, once one of them may have been evicted."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from poseidon.kube.client.errors import ApiError


class JointEviction:
    """The evictions of pods that must leave together. ``unfinished`` are the uids whose evictions have not ended."""

    def __init__(self) -> None:
        self.unfinished: set[str] = set()
        self._leaves = False
        self._in_flight = 0
        self._answered = asyncio.Event()

    async def stays(self, requested: Collection[str]) -> bool:
        """Return whether all pods can stay: none of them is in ``requested`` any more, and none leaves.

        If the answers of requests in flight decide this, the function waits for them.
        """
        while not self._leaves and self.unfinished.isdisjoint(requested):
            if not self._in_flight:
                return True
            self._answered.clear()
            await self._answered.wait()
        return False

    @contextmanager
    def ask(self) -> Iterator[None]:
        """Record, around a request to evict one of the pods, whether that pod may leave, as after a lost answer."""
        self._in_flight += 1
        try:
            yield
        except ApiError as error:
            # A pod that no longer exists may have left because of an earlier request.
            self._leaves |= error.not_found or error.replaced or error.status == HTTPStatus.GATEWAY_TIMEOUT
            raise
        except BaseException:
            self._leaves = True
            raise
        else:
            self._leaves = True
        finally:
            self._in_flight -= 1
            self._answered.set()
