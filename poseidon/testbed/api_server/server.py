"""The API server of a simulated cluster, over HTTP, for demonstrations, tests and benchmarks.

The server is fast, because requests go straight from aiohttp's parser to one handler, without an application's
routing and middleware.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from poseidon.testbed.access import ACCESS_PATH, ADMINISTRATOR, Accounts, Attributes, RoleBasedAccess
from poseidon.testbed.api_server import bulk, requests
from poseidon.testbed.api_server.faults import Fault, FaultPlan
from poseidon.testbed.api_server.flow_control import FlowControl
from poseidon.testbed.api_server.measured_use import METRICS, MetricsServer
from poseidon.testbed.api_server.operations import Operations
from poseidon.testbed.api_server.options import ClusterOptions
from poseidon.testbed.api_server.routes import Router
from poseidon.testbed.controllers.controller_loop import drive
from poseidon.testbed.objects import errors
from poseidon.testbed.objects.history import Journal
from poseidon.testbed.objects.store import Store

Observer = Callable[[str, str, int], None]

_MAX_BODY = 3 * 1024 * 1024
"""The most bytes in the body of a request, as in the real server."""

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_OPEN_PATHS = frozenset({"/healthz", "/readyz", "/livez", "/version"})


class SimulatedCluster:
    """An API server that listens between ``start`` and ``stop``, and keeps all of its state in memory.

    ``operations`` gives access to the same objects within this process. ``observer`` is called with method, path and
    status of every request after its answer, and of a watch after its end. ``faults`` has the faults to inject.
    ``accounts`` knows the users by their tokens; ``access`` decides what they may do.
    """

    def __init__(self, options: ClusterOptions | None = None, observer: Observer | None = None) -> None:
        self.options = options or ClusterOptions()
        self._observer = observer
        options = self.options
        journal = Journal(options.journal) if options.journal is not None else None
        saved = journal.read() if journal is not None else None
        store = Store(clock=options.clock, history_limit=options.history, seed=options.seed, journal=journal)
        self.operations = Operations(store, graceful=options.graceful, saved=saved)
        self.faults = FaultPlan()
        self.accounts = Accounts(options.token, options.clock)
        self.access = RoleBasedAccess(store)
        self._flow = FlowControl(self.options.writes) if self.options.writes.any else None
        self._controllers: asyncio.Task[None] | None = None
        self._router = Router(self.operations, self.options, self.accounts)
        self._runner: web.ServerRunner | None = None
        self._url = ""

    def serve_metrics(self, metrics_server: MetricsServer | None) -> None:
        """Serve ``metrics.k8s.io`` from now on, or stop to serve it if ``metrics_server`` is None."""
        self._router.metrics_server = metrics_server
        for resource in METRICS:
            if metrics_server is not None:
                self.operations.registry.add(resource)
            else:
                self.operations.registry.remove_collection(resource.collection)

    @property
    def url(self) -> str:
        """Return the base URL of the server. Raises ``RuntimeError`` before ``start``."""
        if self._runner is None:
            raise RuntimeError("the simulated cluster is not running; call start() first")
        return self._url

    async def start(
        self, host: str = "127.0.0.1", port: int = 0, *, tls: ssl.SSLContext | None = None
    ) -> None:
        """Start to listen, over HTTPS if ``tls`` is given; with port 0, the system selects a free port.

        Raises ``OSError`` if the port is taken.
        """
        if self._runner is not None:
            raise RuntimeError("the simulated cluster is running already")
        # The watches of clients that disconnect are cancelled at once, not only at the next event.
        server = web.Server(
            self._handle if self._observer is None else self._handle_observed,
            request_factory=_make_request,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=600.0,
        )
        runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, host, port, backlog=1024, ssl_context=tls).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner
        controller = drive(self.operations.disruptions)
        self._controllers = asyncio.create_task(controller, name="disruption")
        scheme = "https" if tls else "http"
        self._url = f"{scheme}://[{host}]" if ":" in host else f"{scheme}://{host}"
        self._url += f":{runner.addresses[0][1]}"

    async def stop(self) -> None:
        """Close all connections and stop listening; do nothing if the server does not run."""
        runner, self._runner = self._runner, None
        controllers, self._controllers = self._controllers, None
        if runner is not None:
            await runner.cleanup()
        if controllers is not None:
            controllers.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await controllers

    async def _handle_observed(self, request: web.BaseRequest) -> web.StreamResponse:
        response = await self._handle(request)
        assert self._observer is not None
        self._observer(request.method, request.path, response.status)
        return response

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            user = self.accounts.user_of(request.headers.get("Authorization", ""))
            fault = self.faults.strike(request.method, request.path)
            if fault is not None:
                return await self._answer_with_fault(request, user, fault)
            return await self._answer(request, user)
        except errors.ApiError as error:
            return _refusal(error)
        except web.HTTPRequestEntityTooLarge:
            return _refusal(errors.ApiError(413, "RequestEntityTooLarge", f"limit is {_MAX_BODY} bytes"))

    async def _answer(self, request: web.BaseRequest, user: str) -> web.StreamResponse:
        if user != ADMINISTRATOR:
            self._authorize(request, user)
        if request.path == bulk.PATH:
            return await self._bulk(request)
        if request.path == ACCESS_PATH and request.method == "POST":
            return _json(self.access.answer(await request.read(), user), 201)
        if self._flow is not None and request.method not in _READS:
            async with self._flow.write():
                return await self._router.answer(request)
        return await self._router.answer(request)

    async def _answer_with_fault(
        self, request: web.BaseRequest, user: str, fault: Fault
    ) -> web.StreamResponse:
        """Answer a request as a fault says."""
        await fault.delay_request()
        response = await self._answer(request, user) if fault.after or not (fault.cut or fault.code) else None
        if fault.cut and request.transport is not None:
            request.transport.abort()
            return web.Response()
        if fault.code:
            raise fault.error()
        assert response is not None
        return response

    def _authorize(self, request: web.BaseRequest, user: str) -> None:
        """Raise ``ApiError`` 401 or 403 unless the roles of ``user`` allow the request."""
        if not user and request.path not in _OPEN_PATHS:
            raise errors.make_unauthorized_error()
        target = requests.parse_path(request.path)
        if target is None or request.path == ACCESS_PATH:
            return  # everybody may read documents, and ask about their own rights
        attributes = requests.attributes_of(request.method, target, request.query)
        self._require(user, attributes)
        if (target.plural, target.subresource) == ("resourceclaims", "status") and attributes.verb != "get":
            # Allocating devices to claims needs a right of its own (KEP-4817).
            self._require(user, attributes._replace(resource="resourceclaims/binding"))

    def _require(self, user: str, attributes: Attributes) -> None:
        if not self.access.allows(user, attributes):
            group = f".{attributes.group}" if attributes.group else ""
            resource = f"{attributes.resource}{group}"
            raise errors.forbidden(resource, attributes.name, attributes.forbidden_message(user))
        self.access.note(user, attributes)

    async def _bulk(self, request: web.BaseRequest) -> web.Response:
        if request.method != "POST":
            raise errors.method_not_allowed()
        result = await bulk.create_lines(self.operations, request.content.iter_any())
        return _json(result, 422 if result["failed"] else 201)


def _json(document: dict[str, Any], code: int, headers: dict[str, str] | None = None) -> web.Response:
    body = msgspec.json.encode(document)
    return web.Response(body=body, status=code, content_type="application/json", headers=headers)


def _refusal(error: errors.ApiError) -> web.Response:
    wait = error.details.get("retryAfterSeconds")
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return _json(error.status(), error.code, headers)


def _make_request(message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
    loop = task.get_loop()
    return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=_MAX_BODY)
