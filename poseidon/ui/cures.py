"""Searches for changes that would make a pod fit, when users ask; it handles one pod after another."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from poseidon.ui.work.curing import propose_cures
from poseidon.ui.work.process import BusyError, JobError

if TYPE_CHECKING:
    from poseidon.ui.work.inputs import ClusterInput
    from poseidon.ui.work.process import Jobs

KEPT_SECONDS = 60.0
SECONDS = 180.0
_MOST_KEPT = 100
_MOST_UNDER_WAY = 8
WAITING, WORKING, DONE, FAILED = "waiting", "working", "done", "failed"


@dataclass(slots=True)
class _Job:
    pod: str
    number: str
    state: str = WAITING
    at: float = 0.0
    found: dict[str, Any] = field(default_factory=dict)
    error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the search as the JSON object that the documents describe."""
        return {
            "state": self.state,
            "pod": self.pod,
            "progress": _PROGRESS[self.state],
            "asOf": self.found.get("asOf", 0.0),
            "cures": self.found.get("cures", []),
            "note": self.found.get("note", ""),
            "error": self.error,
        }


_PROGRESS = {
    WAITING: "other searches come first",
    WORKING: "reading the cluster, and trying changes by rounds",
    DONE: "",
    FAILED: "",
}


class Cures:
    """The searches for cures that users of the dashboard have begun; results are kept for a minute.

    ``clock`` returns seconds that never decrease.
    """

    def __init__(self, worker: Jobs, given: ClusterInput, clock: Callable[[], float]) -> None:
        self._worker = worker
        self._given = given
        self._clock = clock
        self._jobs: OrderedDict[str, _Job] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, pod: str) -> str:
        """Begin to search for cures of a pod, and return the number of the search.

        Raises ``BusyError`` if too many searches wait.
        """
        for job in reversed(self._jobs.values()):
            under_way = job.state in (WAITING, WORKING)
            fresh = job.state == DONE and self._clock() - job.at < KEPT_SECONDS
            if job.pod == pod and (under_way or fresh):
                return job.number
        if len(self._tasks) >= _MOST_UNDER_WAY:
            raise BusyError("too many searches wait already; try again in a minute")
        job = _Job(pod, token_hex(8))
        self._jobs[job.number] = job
        while len(self._jobs) > _MOST_KEPT:
            self._jobs.popitem(last=False)
        task = asyncio.create_task(self._work(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return job.number

    def state(self, number: str) -> dict[str, Any] | None:
        """Return the JSON object of a search that the documents describe, or None for an unknown number."""
        job = self._jobs.get(number)
        return None if job is None else job.as_json()

    async def _work(self, job: _Job) -> None:
        def mark_begun() -> None:
            job.state = WORKING

        try:
            job.found = await self._worker.do(
                partial(propose_cures, self._given, job.pod), SECONDS, mark_begun
            )
            job.state = DONE
        except JobError as error:
            job.state, job.error = FAILED, str(error)
        job.at = self._clock()
