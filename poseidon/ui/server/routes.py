"""Answers all HTTP requests, except those about flows, cures and queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import poseidon
from poseidon.ui.cluster.records import BOUND, GONE, PENDING
from poseidon.ui.server import parameters
from poseidon.ui.server.answers import Answers, ClientError
from poseidon.ui.sources.source import NotExplainedError
from poseidon.ui.views.cluster import show_cluster
from poseidon.ui.views.groups.all_groups import show_groups
from poseidon.ui.views.nodes import show_node
from poseidon.ui.views.overview import show_overview
from poseidon.ui.views.pending import show_pending
from poseidon.ui.views.pods import PodQuery, show_pod, show_pods

if TYPE_CHECKING:
    from aiohttp import web

    from poseidon.ui.sources.source import Source

PREFIX = "/api/v1"
_PHASES = ("", PENDING, BOUND, GONE)


class Routes:
    """HTTP routes of all views except flows, cures and queues. ``wall`` returns seconds since the epoch."""

    def __init__(self, source: Source, answers: Answers, wall: Callable[[], float]) -> None:
        self._source = source
        self._known = source.known
        self._answers = answers
        self._wall = wall

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add the routes of the views to a router."""
        for path, handler in (
            ("/session", self.session),
            ("/overview", self.overview),
            ("/cluster", self.cluster),
            ("/nodes/{name}", self.node),
            ("/pending", self.pending),
            ("/pods", self.pods),
            ("/pods/{namespace}/{name}", self.answer_pod),
            ("/groups", self.groups),
        ):
            router.add_get(f"{PREFIX}{path}", handler)

    async def session(self, request: web.Request) -> web.Response:
        """Return the session: the source of the data, and whether the programs answer."""
        value = {**self._known.session(), "poseidon": poseidon.__version__}
        return self._answers.fresh(request, value, self._known.versions.get("session"))

    async def overview(self, request: web.Request) -> web.Response:
        """Return the overview: the state of solver, bridge and cluster."""
        return self._answers.view(request, "overview", ("overview",), lambda: show_overview(self._known))

    async def cluster(self, request: web.Request) -> web.Response:
        """Return all nodes as columns of figures, for the heat map."""
        level = parameters.text(request, "level") if "level" in request.query else None
        key = ("cluster", level)
        return self._answers.view(request, "cluster", key, lambda: show_cluster(self._known.store, level))

    async def node(self, request: web.Request) -> web.Response:
        """Return a node in full."""
        name = request.match_info["name"]
        offset, limit = parameters.page(request, 100)
        found = show_node(self._known, name, offset, limit)
        if found is None:
            raise ClientError(404, f"there is no node {name}")
        return self._answers.fresh(request, found, self._known.versions.get("cluster"))

    async def pending(self, request: web.Request) -> web.Response:
        """Return the waiting pods, and why they wait."""
        by = parameters.text(request, "by", "reason")
        if by not in ("reason", "class"):
            raise ClientError(400, f"by: {by[:20]!r} is neither reason nor class")
        offset, limit = parameters.page(request, 50)
        key = ("pending", by, offset, limit)
        store = self._known.store
        return self._answers.view(
            request, "pending", key, lambda: show_pending(store, by, offset, limit, self._wall())
        )

    async def pods(self, request: web.Request) -> web.Response:
        """Return a part of the list of pods."""
        phase = parameters.text(request, "phase")
        if phase not in _PHASES:
            raise ClientError(400, f"phase: {phase[:20]!r} is none of {', '.join(_PHASES[1:])}")
        names = ("node", "namespace", "reason", "class", "q")
        query = PodQuery(phase, *(parameters.text(request, name) for name in names))
        offset, limit = parameters.page(request, 100, parameters.MOST_PODS)
        found = show_pods(self._known.store, query, offset, limit)
        return self._answers.fresh(request, found, self._known.versions.get("cluster"))

    async def answer_pod(self, request: web.Request) -> web.Response:
        """Return a pod in full: its history, and the verdict of each node."""
        name = f"{request.match_info['namespace']}/{request.match_info['name']}"
        record = self._known.store.pod(name)
        if record is None:
            raise ClientError(
                404, f"there is no pod {name}, nor was there one in the last quarter of an hour"
            )
        found, problem = None, None
        if self._known.about.capabilities.explain and not record.gone and record.phase != "ended":
            try:
                found = await self._source.verdicts(record)
            except NotExplainedError as error:
                problem = str(error)
        value = show_pod(self._known, record, found, problem)
        return self._answers.fresh(request, value, self._known.versions.get("pending"))

    async def groups(self, request: web.Request) -> web.Response:
        """Return groups of pods that belong together."""
        return self._answers.view(request, "groups", ("groups",), lambda: show_groups(self._known))
