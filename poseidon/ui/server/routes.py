"""What is answered at which path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from poseidon.ui.server import parameters
from poseidon.ui.server.answers import Answers, ClientError
from poseidon.ui.views.cluster import cluster
from poseidon.ui.views.overview import overview
from poseidon.ui.views.pending import pending

if TYPE_CHECKING:
    from aiohttp import web

    from poseidon.ui.audience import Audience
    from poseidon.ui.sources.source import Source

_PREFIX = "/api/v1"


class Routes:
    """``wall`` tells seconds since the epoch."""

    def __init__(
        self, source: Source, answers: Answers, audience: Audience, wall: Callable[[], float]
    ) -> None:
        self._source = source
        self._known = source.known
        self._answers = answers
        self._audience = audience
        self._wall = wall

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add all paths."""
        for path, handler in (
            ("/session", self.session),
            ("/overview", self.overview),
            ("/cluster", self.cluster),
            ("/pending", self.pending),
        ):
            router.add_get(f"{_PREFIX}{path}", handler)

    async def session(self, request: web.Request) -> web.Response:
        """What is looked at."""
        import poseidon

        return self._answers.fresh(request, {**self._known.about.as_json(), "poseidon": poseidon.__version__})

    async def overview(self, request: web.Request) -> web.Response:
        """How things stand."""
        return self._answers.view(request, "overview", ("overview",), lambda: overview(self._known))

    async def cluster(self, request: web.Request) -> web.Response:
        """Nodes as columns."""
        level = parameters.text(request, "level") if "level" in request.query else None
        key = ("cluster", level)
        return self._answers.view(request, "cluster", key, lambda: cluster(self._known.store, level))

    async def pending(self, request: web.Request) -> web.Response:
        """Who waits, and why."""
        by = parameters.text(request, "by", "reason")
        if by not in ("reason", "class"):
            raise ClientError(400, f"by: {by[:20]!r} is neither reason nor class")
        offset, limit = parameters.page(request, 50)
        return self._answers.view(
            request,
            "pending",
            ("pending", by, offset, limit),
            lambda: pending(self._known.store, by, offset, limit, self._wall()),
        )
