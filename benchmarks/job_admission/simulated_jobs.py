"""Creates Jobs over time, and ends each Job when its run time has passed since it was resumed, as if its pods ran."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from benchmarks.job_admission.workload import RUNTIME, JobSchedule, Stream
from benchmarks.judge.api import Api
from benchmarks.judge.random_cluster.objects import Object
from benchmarks.processes.parts.raw_watch import follow_objects
from poseidon.kube.client.errors import ApiError, KubeError
from poseidon.kube.client.transport import Transport

_PATH = "/apis/batch/v1/jobs"
_TYPE = {"apiVersion": "batch/v1", "kind": "Job"}
"""What objects of a list and of a watch leave out."""


class SimulatedJobs:
    """Creates Jobs, follows their changes, and ends them.

    ``clock`` gives seconds; ``api`` and ``transport`` are of the same API server.
    """

    def __init__(self, transport: Transport, api: Api, clock: Callable[[], float]) -> None:
        self._transport, self._api, self._clock = transport, api, clock
        self._running: dict[str, asyncio.Task[None]] = {}
        self._tasks = [asyncio.create_task(self._follow())]
        self._failure: KubeError | None = None
        self._created: dict[str, float] = {}
        self.admitted: dict[str, list[float]] = {}
        """When each Job was seen resumed, by namespace and name; more than once if it was suspended in between."""
        self.ended: dict[str, float] = {}
        """When each Job was seen to have ended."""
        self.refused: list[str] = []
        """What the API server said to reports that it refused."""

    @property
    def waits(self) -> list[float]:
        """Seconds from the creation of each Job to its first admission."""
        return [times[0] - self._created[key] for key, times in self.admitted.items()]

    def begin(self, schedule: JobSchedule) -> None:
        """Begin to create the Jobs, each at its time."""
        self._tasks += [asyncio.create_task(self._create(stream)) for stream in schedule.streams]

    def check(self) -> None:
        """Raise the ``KubeError`` because of which Jobs are not created, followed or ended any more."""
        if self._failure is not None:
            raise self._failure
        for task in self._tasks:
            if task.done():
                task.result()

    async def stop(self) -> None:
        """Stop creating, following and ending Jobs."""
        tasks = [*self._tasks, *self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _create(self, stream: Stream) -> None:
        for job in stream.jobs:
            await asyncio.sleep(stream.pause)
            self._created[_key(job)] = self._clock()
            await self._api.create([job])

    async def _follow(self) -> None:
        async for job, _ in follow_objects(self._transport, _PATH):
            self._note(job | _TYPE)

    def _note(self, job: Object) -> None:
        key = _key(job)
        if any(each["type"] == "Complete" for each in job.get("status", {}).get("conditions") or ()):
            self.ended.setdefault(key, self._clock())
        elif job["spec"].get("suspend"):
            if (task := self._running.pop(key, None)) is not None:
                task.cancel()
        elif key not in self._running:
            self.admitted.setdefault(key, []).append(self._clock())
            self._running[key] = asyncio.create_task(self._end(job))

    async def _end(self, job: Object) -> None:
        """Let a Job run for its time, and report that its pods have succeeded."""
        begun = _now()
        await asyncio.sleep(int(job["metadata"]["annotations"][RUNTIME]) / 1000.0)
        conditions = [
            {"type": each, "status": "True", "lastTransitionTime": _now(), "reason": "Played", "message": ""}
            for each in ("SuccessCriteriaMet", "Complete")
        ]
        status: dict[str, Any] = {
            "startTime": begun,
            "completionTime": _now(),
            "succeeded": job["spec"]["completions"],
            "conditions": conditions,
        }
        try:
            await self._api.patch(job, {"status": status}, "/status")
        except (
            ApiError
        ) as error:  # if this is not a fault of the report, the Job was suspended at that moment
            self.refused.append(str(error))
        except KubeError as error:
            self._failure = self._failure or error


def _key(job: Object) -> str:
    return f"{job['metadata']['namespace']}/{job['metadata']['name']}"


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@asynccontextmanager
async def simulate_jobs(
    transport: Transport, api: Api, clock: Callable[[], float]
) -> AsyncGenerator[SimulatedJobs]:
    """Provide simulated Jobs that follow the Jobs until the context ends."""
    jobs = SimulatedJobs(transport, api, clock)
    try:
        yield jobs
    finally:
        await jobs.stop()
