"""Polls a source of measured use, with growing pauses while the source fails and one log line per outage."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from poseidon.kube.client.backoff import Backoff
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.environment import Environment
from poseidon.metrics_sources.intake import SourceMetrics

_log = logging.getLogger(__name__)

_ABSENT = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)


@dataclass(frozen=True, slots=True)
class PollerOptions:
    """The pauses in seconds after failures, and between polls of a source that is not served."""

    backoff_initial: float = 1.0
    backoff_cap: float = 60.0
    absent_seconds: float = 60.0


class Poller:
    """A loop that calls ``poll`` every ``interval`` seconds until cancelled.

    ``poll`` raises ``KubeError`` when it fails. A source that is not served, or that this client may not read, counts
    as absent, and is polled again after a longer pause.
    """

    def __init__(
        self,
        source: str,
        poll: Callable[[], Awaitable[None]],
        environment: Environment,
        *,
        interval: float,
        metrics: SourceMetrics,
        options: PollerOptions | None = None,
    ) -> None:
        self._source = source
        self._poll = poll
        self._interval = interval
        self._metrics = metrics
        self._random = environment.random
        self._clock = environment.clock
        self._sleep = environment.sleep
        self._options = options or PollerOptions()
        self._backoff = Backoff(self._random, self._options.backoff_initial, self._options.backoff_cap)
        self._absent = False
        self._asked = asyncio.Event()

    async def wait_asked(self) -> None:
        """Wait until the source has been polled once, with or without success."""
        await self._asked.wait()

    async def run(self) -> None:
        """Poll until cancelled, whatever errors ``poll`` raises."""
        while True:
            started = self._clock()
            try:
                await self._poll()
            except ApiError as error:
                pause = (
                    self._not_served(error)
                    if error.status in _ABSENT
                    else self._note_failure(error, error.retry_after)
                )
            except Exception as error:  # noqa: BLE001 - a source may answer anything
                pause = self._note_failure(
                    error if isinstance(error, KubeError) else KubeError(repr(error)), None
                )
            else:
                pause = self._note_success(self._clock() - started)
            self._asked.set()
            await self._sleep(pause)

    def _note_success(self, spent: float) -> float:
        if self._backoff.failures or self._absent:
            _log.info("source of utilisation answers again source=%s", self._source)
        self._backoff.reset()
        self._absent = False
        self._metrics.polls.labels(self._source, "answered").inc()
        return max(0.0, self._interval - spent)

    def _not_served(self, error: ApiError) -> float:
        if not self._absent:
            _log.info(
                'source of utilisation is not served, will look again source=%s error="%s"',
                self._source,
                error,
            )
        self._absent = True
        self._backoff.reset()
        self._metrics.polls.labels(self._source, "absent").inc()
        return self._options.absent_seconds * (0.75 + 0.5 * self._random.random())

    def _note_failure(self, error: KubeError, retry_after: float | None) -> float:
        first = self._backoff.failures == 0
        pause = max(self._backoff.next(), retry_after or 0.0)
        self._metrics.polls.labels(self._source, "failed").inc()
        # Only the first of several failures in a row is a warning, so that people see one line per outage.
        _log.log(
            logging.WARNING if first else logging.DEBUG,
            'source of utilisation does not answer, retrying source=%s in=%.1fs error="%s"',
            self._source,
            pause,
            error,
        )
        return pause
