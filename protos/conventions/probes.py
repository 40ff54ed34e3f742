"""Answers HTTP requests from threads: metrics, probes, and pages for people."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from socketserver import ThreadingMixIn
from threading import Lock, Thread
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from prometheus_client import CollectorRegistry

_BEAT_SECONDS = 1.0
_HANGS_AFTER_SECONDS = 30.0
"""Seconds after which the event loop counts as hung. Translating the largest clusters takes a second or two."""


MOST_CONNECTIONS = 64
"""Most connections at a time; a scraper or kubelet has one, for as long as an answer takes."""

SILENT_SECONDS = 10.0
"""Seconds for which a connection may send nothing, or receive nothing of an answer."""


class Heartbeat:
    """Records when the event loop last ran. ``clock`` is monotonic, and may be called from any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._beaten_at = clock()

    async def run(self) -> None:
        """Record every second that the event loop runs, until cancelled."""
        while True:
            self._beaten_at = self._clock()
            await asyncio.sleep(_BEAT_SECONDS)

    def fault(self) -> str:
        """Return what is wrong, "" while the event loop runs."""
        silent = self._clock() - self._beaten_at
        return f"the event loop has not run for {silent:.0f} s" if silent > _HANGS_AFTER_SECONDS else ""


def application(
    registry: Callable[[], CollectorRegistry],
    probes: Mapping[str, Callable[[], str]],
    pages: Mapping[str, Callable[[str], str]] = MappingProxyType({}),
) -> WSGIApplication:
    """Return a WSGI application that answers by path, from any thread.

    ``probes``: by path, returns what is wrong; the answer is 503 with this text, 200 if it is "". ``pages``: by prefix
    of the path, returns the text for the rest of the path; the answer is 404 if it is "". Any other path gives the
    metrics of ``registry``, which is called each time.
    """

    def answer(environment: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environment.get("PATH_INFO", "")
        page = next((each for each in pages if path.startswith(each)), None)
        if path in probes:
            wrong = probes[path]()
            status, text = HTTPStatus.SERVICE_UNAVAILABLE if wrong else HTTPStatus.OK, wrong or "ok"
        elif page is not None:
            found = pages[page](path.removeprefix(page))
            status, text = HTTPStatus.OK if found else HTTPStatus.NOT_FOUND, found or "nothing lately"
        else:
            return make_wsgi_app(registry())(environment, start_response)
        start_response(f"{status.value} {status.phrase}", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{text}\n".encode()]

    return answer


def serve(host: str, port: int, answer: WSGIApplication) -> WSGIServer:
    """Answer from threads until the process ends; return the server at once. Raises ``OSError`` if it cannot listen."""

    (family, _, _, _, address), *_ = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )

    class Server(_Bounded):
        address_family = family

    server = make_server(str(address[0]), port, answer, Server, handler_class=_Quiet)
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


class _Bounded(ThreadingMixIn, WSGIServer):
    """A server with a limited number of connections, so that clients cannot use up the program's file descriptors.

    A new connection beyond the limit ends the oldest, so that probes, which are short, are always answered.
    """

    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, *given: Any, **named: Any) -> None:
        self._open: dict[int, socket.socket] = {}  # by identity, the oldest first
        self._lock = Lock()
        super().__init__(*given, **named)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request in a thread; beyond the limit, end the oldest connection."""
        with self._lock:
            self._open[id(request)] = request
            oldest = next(iter(self._open.values())) if len(self._open) > MOST_CONNECTIONS else None
            if oldest is not None:
                del self._open[id(oldest)]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread notices, and closes it
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """End a connection."""
        with self._lock:
            self._open.pop(id(request), None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log no errors of connections that break or time out."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Quiet(WSGIRequestHandler):
    """Handles requests without logging them, and ends connections that are silent for too long."""

    timeout = SILENT_SECONDS

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the standard library
        """Log nothing."""
