"""Answers questions about the flows of rounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from poseidon.ui.server import parameters
from poseidon.ui.server.answers import Answers, ClientError
from poseidon.ui.server.routes import PREFIX
from poseidon.ui.views.cluster import group_of
from poseidon.ui.views.flow.details import class_detail, constraint_detail, machines_detail
from poseidon.ui.views.flow.sankey import draw_sankey

if TYPE_CHECKING:
    from aiohttp import web

    from poseidon.ui.sources.source import Source
    from protos.firmament.v1 import scheduler_pb2 as pb

_MOST_DRAWN = 200
_LARGEST_ROUND = 2**53


class FlowRoutes:
    """HTTP routes of the flow of a round, and of its parts."""

    def __init__(self, source: Source, answers: Answers) -> None:
        self._source = source
        self._known = source.known
        self._answers = answers

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add the routes about flows to a router."""
        router.add_get(f"{PREFIX}/flow", self.answer_flow)
        router.add_get(f"{PREFIX}/flow/classes/{{id}}", self.cls)
        router.add_get(f"{PREFIX}/flow/constraints/{{id}}", self.constraint)
        router.add_get(f"{PREFIX}/flow/machines/{{id}}", self.machines)

    async def answer_flow(self, request: web.Request) -> web.Response:
        """Return the picture of a flow as JSON."""
        flow = await self._fetch_flow(request)
        group_by = self._group_by(request)
        classes = parameters.whole(request, "classes", 30, _MOST_DRAWN)
        groups = parameters.whole(request, "groups", 20, _MOST_DRAWN)
        known = self._known

        def draw() -> dict[str, Any]:
            levels, labels = known.store.groupings(), self._labels(group_by)
            return draw_sankey(flow, known.rounds.list_rounds(), group_by, levels, labels, classes, groups)

        key = ("flow", flow.round, group_by, classes, groups)
        return self._answers.view(request, "flow", key, draw)

    async def cls(self, request: web.Request) -> web.Response:
        """Return a class of a flow in detail."""
        flow, labels = await self._fetch_flow(request), self._labels(self._group_by(request))
        page = parameters.page(request, 50)
        return self._answer_found(request, class_detail(flow, request.match_info["id"], labels, *page))

    async def constraint(self, request: web.Request) -> web.Response:
        """Return a constraint of a flow in detail."""
        flow = await self._fetch_flow(request)
        return self._answer_found(request, constraint_detail(flow, request.match_info["id"]))

    async def machines(self, request: web.Request) -> web.Response:
        """Return a group of machines of a flow in detail."""
        flow, group_by = await self._fetch_flow(request), self._group_by(request)
        page = parameters.page(request, 50)
        name, labels = request.match_info["id"], self._labels(group_by)
        return self._answer_found(request, machines_detail(flow, name, labels, group_by, *page))

    def _answer_found(self, request: web.Request, found: dict[str, Any] | None) -> web.Response:
        if found is None:
            raise ClientError(404, f"the round has no {request.match_info['id'][:50]}")
        return self._answers.fresh(request, found, self._known.versions.get("flow"))

    async def _fetch_flow(self, request: web.Request) -> pb.RoundFlow:
        number = parameters.whole(request, "round", 0, _LARGEST_ROUND)
        if not self._known.about.capabilities.flow:
            raise ClientError(404, "the flows of rounds are not known; the solver may be of an older release")
        flow = await self._source.flow(number)
        if flow is None:
            which = f"of round {number}" if number else "of a round"
            raise ClientError(404, f"no flow {which} is known")
        return flow

    def _group_by(self, request: web.Request) -> str:
        if "groupBy" in request.query:
            return parameters.text(request, "groupBy")
        return self._known.store.groupings()[0]

    def _labels(self, group_by: str) -> Callable[[str], str]:
        return partial(_label_of, self._known.store.nodes, group_by)


def _label_of(nodes: dict[str, Any], group_by: str, machine: str) -> str:
    return group_of(nodes.get(machine), group_by)
