"""The web application: its routes, the checks of each request, and the headers of each answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from aiohttp import web

from poseidon.ui import intervals
from poseidon.ui.server.access import COOKIE, Access
from poseidon.ui.server.answers import Answers, ClientError, error_response
from poseidon.ui.server.assets import Assets
from poseidon.ui.server.connections import Connections, Counted
from poseidon.ui.server.cure_routes import CureRoutes
from poseidon.ui.server.events import Events
from poseidon.ui.server.flow_routes import FlowRoutes
from poseidon.ui.server.limits import RETRY_SECONDS, Gate, Limits
from poseidon.ui.server.metrics import PATH, PageMetrics
from poseidon.ui.server.queue_routes import QueueRoutes
from poseidon.ui.server.routes import Routes
from poseidon.ui.server.security_headers import HEADERS
from poseidon.ui.server.wrong_tokens import SECONDS, Guesses
from poseidon.ui.work.process import BusyError

if TYPE_CHECKING:
    from poseidon.ui.audience import Audience
    from poseidon.ui.cures import Cures
    from poseidon.ui.queues import Queues
    from poseidon.ui.sources.source import Source

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_log = logging.getLogger(__name__)

HEALTH = "/healthz"
_EVENTS, _OVERVIEW = "/api/v1/events", "/api/v1/overview"
_LARGEST_BODY = 16 << 10
_LONGEST_LINE = 8190


class Server:
    """Serves the dashboard, with the data of ``source``, to users whom ``access`` admits.

    ``wall`` returns seconds since the epoch; ``cures`` and ``queues`` are None if the dashboard cannot compute them.
    """

    def __init__(
        self,
        source: Source,
        access: Access,
        audience: Audience,
        *,
        wall: Callable[[], float],
        clock: Callable[[], float] = time.monotonic,
        cures: Cures | None = None,
        queues: Queues | None = None,
        limits: Limits | None = None,
        metrics: PageMetrics | None = None,
        assets: Assets | None = None,
    ) -> None:
        self._access = access
        self._audience = audience
        self._clock = clock
        self._guesses = Guesses(clock)
        self._metrics = metrics or PageMetrics()
        self._metrics.streams.set_function(lambda: audience.streams)
        self.limits = limits or Limits()
        self._versions = source.known.versions
        self._gate = Gate(self.limits.requests)
        limits = self.limits
        self.connections = Connections(limits.connections, limits.head, limits.idle, clock)
        self.events = Events(self._versions, audience, self.limits)
        self._assets = assets or Assets()
        answers = Answers(self._versions, wall)
        self._routes = (
            Routes(source, answers, wall),
            FlowRoutes(source, answers),
            CureRoutes(source.known, cures, answers),
            QueueRoutes(source.known, queues, answers),
        )

    def application(self) -> web.Application:
        """Return the application that aiohttp runs."""

        @web.middleware
        async def pass_request(request: web.Request, handler: Handler) -> web.StreamResponse:
            begun = self._clock()
            self.connections.note_request(request.transport)
            try:
                response = await answer(request, handler)
            finally:
                self.connections.note_answer(request.transport)
            self._metrics.count_answer(request, response.status, self._clock() - begun)
            return response

        async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                return self._refuse(request) or await self._handle(request, handler)
            except ClientError as error:
                return error_response(error.status, str(error))
            except BusyError as error:
                return _busy(str(error))
            except web.HTTPException as error:
                return error_response(error.status, error.reason)
            except (ConnectionError, asyncio.CancelledError):
                raise
            except Exception:  # noqa: BLE001 - the next request may succeed
                _log.exception("request failed path=%r", request.path)
                return error_response(500, "the request failed; the log says why")

        app = web.Application(middlewares=[pass_request], client_max_size=_LARGEST_BODY)
        app.router.add_get(HEALTH, _healthy)
        app.router.add_get(PATH, self._metrics.handle)
        app.router.add_get(_EVENTS, self.events.handle)
        for routes in self._routes:
            routes.add_to(app.router)
        app.router.add_get("/{path:(?!api/).*}", self._assets.handle)
        app.on_response_prepare.append(_add_headers)
        app.on_shutdown.append(self._close)
        return app

    async def publish(self) -> None:
        """Send changes to open pages once a second, until cancelled."""
        while True:
            await asyncio.sleep(intervals.PUBLISH_SECONDS)
            self._versions.publish()

    async def _close(self, _: web.Application) -> None:
        self.events.close()

    def _refuse(self, request: web.Request) -> web.Response | None:
        """Answer a request that is forbidden, or that has the token in its address.

        The function returns None if the request may be handled.
        """
        refusal = self._access.origin_refusal(request.headers)
        if refusal is None and request.path != HEALTH:
            if request.method == "GET" and request.path == "/" and "token" in request.query:
                return self._enter(request)
            cookie = request.cookies.get(COOKIE, "")
            refusal = self._access.refusal(request.headers, cookie, request.remote or "")
            if refusal is not None and (given := self._access.bearer(request.headers)):
                return self._wrong_token(request, given)
        return None if refusal is None else error_response(refusal.status, refusal.message)

    def _wrong_token(self, request: web.Request, given: str) -> web.Response | None:
        """Answer a request with a wrong token, or from an address with too many wrong tokens.

        The function returns None if the token is right.
        """
        peer = request.remote or ""
        if self._guesses.too_many(peer):
            wait = {"Retry-After": str(int(SECONDS))}
            return error_response(429, "too many wrong tokens; try again in a minute", wait)
        if self._access.knows(given):
            return None
        self._guesses.count_wrong_token(peer)
        return error_response(401, "this is not the token")

    async def _handle(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request that is allowed. Streams of events have their own limit, and probes are always answered."""
        if request.path in (_EVENTS, HEALTH):
            return await handler(request)
        if not self._gate.enter():
            return _busy("too many requests at a time")
        try:
            if request.path != PATH:
                self._audience.note_request("overview" if request.path == _OVERVIEW else "")
            return await handler(request)
        finally:
            self._gate.leave()

    def _enter(self, request: web.Request) -> web.Response:
        """Answer a request with the token in its address: set a cookie, and redirect to the address without it."""
        rest = urlencode([(key, value) for key, value in request.query.items() if key != "token"])
        response = web.Response(status=303, headers={"Location": f"/?{rest}" if rest else "/"})
        if self._access.token:
            if (refusal := self._wrong_token(request, request.query["token"])) is not None:
                return refusal
            response.set_cookie(COOKIE, self._access.cookie, httponly=True, samesite="Strict", path="/")
        return response


class Listening:
    """A server that listens, at ``address``, until it is closed."""

    def __init__(self, runner: web.AppRunner, sockets: asyncio.Server, watch: asyncio.Task[None]) -> None:
        self._runner, self._sockets, self._watch = runner, sockets, watch
        host, port = sockets.sockets[0].getsockname()[:2]
        self.address: tuple[str, int] = str(host), int(port)

    async def close(self) -> None:
        """Stop listening; requests that are being answered get a moment to end."""
        self._sockets.close()
        await self._runner.cleanup()
        self._watch.cancel()


async def serve(server: Server, host: str, port: int) -> Listening:
    """Start to listen at an address. Raises ``OSError`` if the address cannot be used."""
    runner = web.AppRunner(
        server.application(),
        access_log=None,
        max_line_size=_LONGEST_LINE,
        keepalive_timeout=server.limits.idle,
        shutdown_timeout=2.0,
    )
    await runner.setup()
    handling = runner.server
    assert handling is not None

    def protocol() -> asyncio.Protocol:
        return Counted(server.connections, handling())

    try:
        sockets = await asyncio.get_running_loop().create_server(protocol, host, port, backlog=128)
    except BaseException:
        await runner.cleanup()
        raise
    return Listening(runner, sockets, asyncio.create_task(server.connections.watch()))


def _busy(message: str) -> web.Response:
    return error_response(503, message, {"Retry-After": str(RETRY_SECONDS)})


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok\n")


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in HEADERS.items():
        response.headers[name] = value
