"""Answers questions about queues.

A worker process describes the queues; until the description is there, clients ask again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.ui.server import parameters
from poseidon.ui.server.answers import Answers, ClientError
from poseidon.ui.server.routes import PREFIX

if TYPE_CHECKING:
    from aiohttp import web

    from poseidon.ui.page_data import Known
    from poseidon.ui.queues import Queues


class QueueRoutes:
    """HTTP routes of queues. ``queues`` is None if this dashboard cannot describe queues."""

    def __init__(self, known: Known, queues: Queues | None, answers: Answers) -> None:
        self._known = known
        self._queues = queues
        self._answers = answers

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add the routes about queues to a router."""
        router.add_get(f"{PREFIX}/queues", self.queues)
        router.add_get(f"{PREFIX}/queues/workloads", self.workloads)
        router.add_get(f"{PREFIX}/queues/starts", self.starts)

    async def queues(self, request: web.Request) -> web.Response:
        """Return the tree of queues."""
        offset, limit = parameters.page(request, 200)
        return self._answers.fresh(request, self._get_queues().list_queues(offset, limit))

    async def workloads(self, request: web.Request) -> web.Response:
        """Return the workloads that wait in a queue."""
        queue, workload = parameters.text(request, "queue"), parameters.text(request, "workload")
        if bool(queue) == bool(workload):
            raise ClientError(400, "name either a queue or a workload")
        offset, limit = parameters.page(request, 50)
        found = self._get_queues().list_workloads(queue, workload, offset, max(limit, 1))
        if found["queue"] is None and found["state"] == "done":
            raise ClientError(404, f"there is no queue {queue}" if queue else f"{workload} is in no queue")
        return self._answers.fresh(request, found)

    async def starts(self, request: web.Request) -> web.Response:
        """Return when the pods that wait in queues are expected to get nodes."""
        found = self._get_queues().expect_starts(parameters.text(request, "queue"))
        return self._answers.fresh(request, found)

    def _get_queues(self) -> Queues:
        if self._queues is None or not self._known.about.capabilities.queues:
            raise ClientError(
                404,
                "queues are not known here: no project of queues is configured, or no solver is installed",
            )
        return self._queues
