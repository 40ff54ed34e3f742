"""Keeps the last description of queues, and makes a new description when somebody asks and the last one is old."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from poseidon.ui import intervals
from poseidon.ui.work.process import JobError
from poseidon.ui.work.queueing import describe_queues

if TYPE_CHECKING:
    from poseidon.ui.work.inputs import ClusterInput
    from poseidon.ui.work.process import Jobs

SECONDS = 180.0
WORKING, DONE, FAILED = "working", "done", "failed"


class _Finding:
    """The last result of a job, such as a description of the queues. ``clock`` returns seconds that never decrease."""

    def __init__(
        self, worker: Jobs, job: Callable[[], dict[str, Any]], clock: Callable[[], float], *, lasts: bool
    ) -> None:
        self._worker, self._job, self._clock, self._lasts = worker, job, clock, lasts
        self._task: asyncio.Task[None] | None = None
        self._old_at = float("-inf")
        self._error: str | None = None
        self.found: dict[str, Any] = {}
        """The job's last result, empty before the first result."""

    def ask(self) -> dict[str, Any]:
        """Start the job if its last result is missing or old; return the job's state as JSON."""
        if self._task is None and self._clock() >= self._old_at:
            self._task = asyncio.create_task(self._work())
        state = WORKING if self._task is not None else FAILED if self._error else DONE
        return {"state": state, "asOf": self.found.get("asOf", 0.0), "error": self._error}

    async def _work(self) -> None:
        begun = self._clock()

        def mark_begun() -> None:
            nonlocal begun
            begun = self._clock()

        try:
            self.found = await self._worker.do(self._job, SECONDS, mark_begun)
            self._error = None
        except JobError as error:
            self._error = str(error)
        finally:
            now = self._clock()
            kept = max(intervals.QUEUES_SECONDS, intervals.QUEUES_SHARE * (now - begun))
            self._old_at = float("inf") if self._lasts and self._error is None else now + kept
            self._task = None


class Queues:
    """Describes the queues of an input, and when pods that wait in them are expected to get nodes.

    ``expect`` returns expected starts by ``queues`` and ``workloads``; it is called in the worker process. ``clock``
    returns seconds that never decrease.
    """

    def __init__(
        self,
        worker: Jobs,
        given: ClusterInput,
        expect: Callable[[ClusterInput], dict[str, Any]],
        clock: Callable[[], float],
    ) -> None:
        lasts = bool(given.paths)
        given = given if lasts else replace(given, suspended=True)
        self._queues = _Finding(worker, partial(describe_queues, given), clock, lasts=lasts)
        self._starts = _Finding(worker, partial(expect, given), clock, lasts=lasts)

    def list_queues(self, offset: int, limit: int) -> dict[str, Any]:
        """Return a part of all queues, each after its parent, as the JSON object that the documents describe."""
        state = self._queues.ask()
        queues, note = self._queues.found.get("queues", []), self._queues.found.get("note", "")
        return {**state, "note": note, "total": len(queues), "queues": queues[offset : offset + limit]}

    def list_workloads(self, queue: str, workload: str, offset: int, limit: int) -> dict[str, Any]:
        """Return the workloads that wait in a queue, or in the queue of a workload, as the documented JSON object.

        If ``workload`` waits, the returned part of the list is the one that contains it.
        """
        state, found = self._queues.ask(), self._queues.found
        queue = queue or found.get("members", {}).get(workload, "")
        waiting: Sequence[dict[str, Any]] = found.get("waiting", {}).get(queue, ())
        if workload:
            place = next(
                (place for place, each in enumerate(waiting) if each["workload"] == workload), offset
            )
            offset = place - place % limit
        return {
            **state,
            "queue": next((each for each in found.get("queues", []) if each["queue"] == queue), None),
            "total": len(waiting),
            "offset": offset,
            "items": list(waiting[offset : offset + limit]),
        }

    def expect_starts(self, queue: str) -> dict[str, Any]:
        """Return the expected starts of all queues, and of one queue's workloads, as the documented JSON object."""
        state, found = self._starts.ask(), self._starts.found
        waiting = self._queues.found.get("waiting", {}).get(queue, ())
        starts = found.get("workloads", {})
        workloads = {
            each["workload"]: starts[each["workload"]] for each in waiting if each["workload"] in starts
        }
        return {**state, "queues": found.get("queues", {}), "workloads": workloads}
