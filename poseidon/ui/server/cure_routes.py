"""Answers questions about changes that would make a pod fit; a search for them is the only action of the page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from poseidon.ui.server.answers import Answers, ClientError
from poseidon.ui.server.routes import PREFIX

if TYPE_CHECKING:
    from aiohttp import web

    from poseidon.ui.cures import Cures
    from poseidon.ui.page_data import Known

_HEADER = "X-Poseidon"
_BODY_SECONDS = 10.0


class _Asked(msgspec.Struct):
    pod: str


class CureRoutes:
    """HTTP routes of the searches for cures. ``cures`` is None if this dashboard cannot search for cures."""

    def __init__(self, known: Known, cures: Cures | None, answers: Answers) -> None:
        self._known = known
        self._cures = cures
        self._answers = answers

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add the routes about cures to a router."""
        router.add_post(f"{PREFIX}/cures", self.ask)
        router.add_get(f"{PREFIX}/cures/{{id}}", self.state)

    async def ask(self, request: web.Request) -> web.Response:
        """Begin a search for cures, or raise ``BusyError``.

        The request needs a header that a form of another site's page cannot send.
        """
        if request.headers.get(_HEADER) != "1" or request.content_type != "application/json":
            raise ClientError(403, f"send the header {_HEADER}: 1, and JSON")
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                body = await request.read()
        except TimeoutError:
            raise ClientError(408, "the request's body did not arrive in time") from None
        try:
            pod = msgspec.json.decode(body, type=_Asked).pod
        except msgspec.DecodeError as error:
            raise ClientError(400, f"the body is not a search for cures: {error}") from None
        cures = self._get_cures()
        record = self._known.store.pod(pod)
        if record is None or not record.waits:
            raise ClientError(404, "there is no pod of this name that waits")
        response = self._answers.fresh(request, {"job": cures.ask(record.name)})
        response.set_status(202)
        return response

    async def state(self, request: web.Request) -> web.Response:
        """Return the progress of a search for cures, and its results."""
        found = self._get_cures().state(request.match_info["id"])
        if found is None:
            raise ClientError(404, "no search has this number, or it has ended too long ago")
        return self._answers.fresh(request, found)

    def _get_cures(self) -> Cures:
        if self._cures is None or not self._known.about.capabilities.cures:
            raise ClientError(
                404,
                "this dashboard cannot search for cures, because the solver's package is not installed here",
            )
        return self._cures
