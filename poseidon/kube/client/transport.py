"""Sends HTTP requests to an API server: takes and returns raw bytes, and raises typed errors.

No other module makes requests.

Lists and watches use a full HTTP client; behind a proxy, writes use it, too. Without a limit, writes, which are small
and may be thousands a second, use a pool of open connections (``ConnectionPool``). This module decodes nothing except
the ``Status`` bodies of errors.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Self
from urllib.parse import urlencode, urlsplit

import aiohttp
from yarl import URL

from poseidon.kube.api.decoding import MalformedObjectError, decode_object
from poseidon.kube.api.metadata import Status
from poseidon.kube.client.connections import (
    Address,
    ConnectionPool,
    IdleClosedError,
    NotPermittedError,
    PoolOptions,
    probing_socket,
)
from poseidon.kube.client.errors import ApiError, NotLeaderError, UnreachableError, UnsendableError, one_line
from poseidon.kube.client.media_types import JSON, STRATEGIC_MERGE_PATCH
from poseidon.kube.client.replies import MalformedReplyError, Reply
from protos.conventions.secrets import redact_value

if TYPE_CHECKING:
    from poseidon.kube.client.credentials import Credentials
    from poseidon.kube.client.settings import ConnectionSettings


_log = logging.getLogger(__name__)
_MAX_MESSAGE = 500
_MAX_RETRY_AFTER = 60.0
"""The longest Retry-After that is obeyed, in seconds; API servers ask for a few seconds."""
# Status codes are plain numbers: looking up a member of an enumeration takes longer than comparing it.
_NO_SUCCESS = int(HTTPStatus.MULTIPLE_CHOICES)
_UNAUTHORIZED = int(HTTPStatus.UNAUTHORIZED)
_TARGET = re.compile(r"/[!-~]*")
"""Pattern of a path that a request may have: no blanks, no line ends."""
_CONNECT_SECONDS = 10.0
_IDLE_SECONDS = 60.0
_RENEWAL_SECONDS = 1.0
"""Shortest time in seconds between two reloads of credentials because a request was refused."""


class Transport:
    """A client of one API server.

    ``timeout`` limits every exchange that is not a stream, in seconds. ``clock`` is monotonic. Credentials are read
    again after ``refresh_seconds``, in a thread; new connections use them, and idle connections are closed if
    certificates have changed. ``may_write`` is called right before each write is sent; if it returns False, the write
    raises ``NotLeaderError``. Use as ``async with``, or call ``close()``.
    """

    def __init__(
        self,
        settings: ConnectionSettings,
        *,
        clock: Callable[[], float],
        user_agent: str = "poseidon",
        timeout: float = 30.0,
        refresh_seconds: float = 10.0,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._settings = settings
        self._may_write = may_write
        self._clock = clock
        self._refresh_seconds = refresh_seconds
        self._timeout = aiohttp.ClientTimeout(total=timeout, connect=_CONNECT_SECONDS)
        # Replies are not compressed: compression takes the server more time than sending the bytes takes on a cluster
        # network.
        self._headers = {"Accept": JSON, "Accept-Encoding": "identity", "User-Agent": user_agent}
        self._tls = settings.tls
        self._authorized_until = float("-inf") if settings.credentials else float("inf")
        self._refreshed = True
        self._renewable_at = float("-inf")
        self._renewing = asyncio.Lock()
        self._authorizing = asyncio.Lock()
        self._session: aiohttp.ClientSession | None = None
        self._writes: ConnectionPool | None = None
        self._heads: dict[str, bytes] = {}
        self._base_path = urlsplit(settings.server).path.rstrip("/")
        if settings.proxy is None:
            address = Address.from_url(settings.server, settings.tls, settings.tls_server_name)
            limits = PoolOptions(connect=_CONNECT_SECONDS, exchange=timeout, idle=_IDLE_SECONDS)
            self._writes = ConnectionPool(address, clock=clock, options=limits, may_write=may_write)

    @property
    def server(self) -> str:
        """The URL of the server without credentials, for messages."""
        return redact_value(self._settings.server)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections. Later requests open new connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()
        if self._writes is not None:
            self._writes.close()
            await asyncio.sleep(0)  # Connections end in the next turn of the event loop.

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, accept: str = JSON) -> bytes:
        """Return the body of a GET, in the media type ``accept``. Raises ``ApiError`` or ``UnreachableError``."""
        return await self._exchange("GET", path, query, None, accept)

    async def find(self, path: str) -> bytes | None:
        """Return the body of a GET, None if the object does not exist (404). Raises as ``get`` does."""
        try:
            return await self.get(path)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    async def server_time(self) -> float | None:
        """Return the API server's clock in whole seconds since the epoch; None if the server does not state it.

        Raises ``UnreachableError``.
        """
        try:
            async with await self._open("GET", "/version", self._timeout) as response:
                date = response.headers.get("Date", "")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable("GET", "/version", error) from error
        try:
            return parsedate_to_datetime(date).timestamp()
        except ValueError:
            return None

    async def post(self, path: str, body: bytes, *, urgent: bool = False) -> bytes:
        """Return the body of the answer to a POST of JSON.

        An ``urgent`` POST goes before other writes if they wait for connections.

        Raises ``ApiError`` or ``UnreachableError``.
        """
        return await self._exchange("POST", path, None, body, JSON, urgent=urgent)

    async def put(self, path: str, body: bytes) -> bytes:
        """Return the body of a PUT of JSON. Raises ``ApiError`` or ``UnreachableError``."""
        return await self._exchange("PUT", path, None, body, JSON)

    async def patch(self, path: str, body: bytes, content_type: str = STRATEGIC_MERGE_PATCH) -> bytes:
        """Return the body of a PATCH of the given content type. Raises ``ApiError`` or ``UnreachableError``."""
        return await self._exchange("PATCH", path, None, body, content_type)

    async def delete(self, path: str, body: bytes | None = None) -> bytes:
        """Return the body of a DELETE, with options as JSON if given. Raises ``ApiError`` or ``UnreachableError``."""
        return await self._exchange("DELETE", path, None, body, JSON)

    async def lines(
        self, path: str, query: Mapping[str, str], read_timeout: float
    ) -> AsyncGenerator[list[bytes], None]:
        """Stream a response: each item has all whole lines that one read received, without their newlines.

        Ends when the server ends the response; an unfinished last line is dropped. Raises ``ApiError`` for an
        error status, ``UnreachableError`` when the connection breaks or is silent for ``read_timeout``
        seconds. Close the iterator (``contextlib.aclosing``) to release the connection.
        """
        timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT_SECONDS, sock_read=read_timeout)
        try:
            for last in (False, True):
                await self._authorize()
                used = self._identity()
                async with await self._open("GET", path, timeout, query) as response:
                    if response.status >= _NO_SUCCESS:
                        reply = await _read(response)
                        if reply.status == _UNAUTHORIZED and not last and await self._renew(used):
                            continue
                        raise _refusal(reply)
                    async for lines in _whole_lines(response.content):
                        yield lines
                    return
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _unreachable("GET", path, error) from error

    async def _exchange(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: bytes | None,
        media_type: str,
        *,
        urgent: bool = False,
    ) -> bytes:
        """Send a request with a ``body`` of a media type, or without a body, and ask for an answer of that type."""
        writes = self._writes if body is not None else None
        try:
            for last in (False, True):
                if self._clock() >= self._authorized_until:
                    await self._authorize()
                used = self._identity()
                if writes is not None and body is not None:
                    reply = await writes.exchange(
                        self._request(method, path, body, media_type), urgent=urgent
                    )
                else:
                    if method != "GET" and not self._may_write():
                        raise NotLeaderError(method, path)
                    async with await self._open(
                        method, path, self._timeout, query, body, media_type
                    ) as response:
                        reply = await _read(response)
                # A request refused because of its credentials was not carried out, so it is sent again with new
                # credentials.
                if reply.status != _UNAUTHORIZED or last or not await self._renew(used):
                    if reply.status >= _NO_SUCCESS:
                        raise _refusal(reply)
                    return reply.body
            raise AssertionError("unreachable: the last try returns or raises")
        except NotPermittedError:
            raise NotLeaderError(method, path) from None
        except (aiohttp.ClientError, MalformedReplyError, TimeoutError, OSError) as error:
            raise _unreachable(method, path, error) from error

    def _request(self, method: str, path: str, body: bytes, content_type: str) -> bytes:
        """Encode a whole request; raises ``UnsendableError``."""
        _check_path(path)
        head = self._heads.get(content_type)
        if head is None:
            # The head is the same for all requests until credentials change.
            parts = urlsplit(self._settings.server)
            headers = {"Host": parts.netloc.rpartition("@")[2], **self._headers, "Content-Type": content_type}
            lines = "".join(f"{name}: {' '.join(value.split())}\r\n" for name, value in headers.items())
            head = self._heads[content_type] = f" HTTP/1.1\r\n{lines}".encode("latin-1")
        line = f"{method} {self._base_path}{path}".encode("ascii")
        return b"%b%bContent-Length: %d\r\n\r\n%b" % (line, head, len(body), body)

    async def _open(
        self,
        method: str,
        path: str,
        patience: aiohttp.ClientTimeout,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        media_type: str = JSON,
    ) -> aiohttp.ClientResponse:
        _check_path(path)
        await self._authorize()
        if self._session is None:
            self._session = self._new_session()
        url = self._settings.server + path + ("?" + urlencode(query) if query else "")
        headers = {**self._headers, "Accept" if body is None else "Content-Type": media_type}
        return await self._session.request(
            method,
            URL(url, encoded=True),
            data=body,
            headers=headers,
            timeout=patience,
            proxy=self._settings.proxy,
            ssl=self._tls if self._tls is not None else True,
            server_hostname=self._settings.tls_server_name,
        )

    def _new_session(self) -> aiohttp.ClientSession:
        # Callers limit their own concurrency; a limit in this client could make a binding wait for a watch.
        connector = aiohttp.TCPConnector(
            limit=0, keepalive_timeout=_IDLE_SECONDS, socket_factory=probing_socket
        )
        return aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), read_bufsize=2**18, trust_env=False
        )

    def _identity(self) -> tuple[str | None, ssl.SSLContext | None]:
        """Return the Authorization header and the TLS context that requests use now."""
        return self._headers.get("Authorization"), self._tls

    async def _renew(self, used: tuple[str | None, ssl.SSLContext | None]) -> bool:
        """Load credentials again if enough time has passed; return whether they differ from ``used``."""
        if self._settings.credentials is None:
            return False
        async with self._renewing:
            if self._identity() == used and self._clock() >= self._renewable_at:
                self._renewable_at = self._clock() + _RENEWAL_SECONDS
                self._authorized_until = float("-inf")
                await self._authorize(refused=True)
        return self._identity() != used

    async def _authorize(self, *, refused: bool = False) -> None:
        """Load credentials if their time is over; if that fails, keep the present ones, which may still be valid."""
        if self._clock() < self._authorized_until:
            return
        async with self._authorizing:
            source = self._settings.credentials
            if source is None or self._clock() < self._authorized_until:
                return
            try:
                credentials = await asyncio.to_thread(source.read, refused=refused)
            except Exception as error:  # noqa: BLE001 - plug-ins and file systems raise anything
                if self._refreshed:
                    _log.warning("credentials not refreshed error=%s", one_line(error))
                self._refreshed = False
            else:
                self._use(credentials)
                self._refreshed = True
            self._authorized_until = self._clock() + self._refresh_seconds

    def _use(self, credentials: Credentials) -> None:
        """Use these credentials from now on.

        If the certificates of the credentials differ from the present ones, open new connections.
        """
        if credentials.authorization:
            self._headers = {**self._headers, "Authorization": credentials.authorization}
            self._heads.clear()
        if credentials.tls is not None and credentials.tls is not self._tls:
            self._tls = credentials.tls
            if self._writes is not None:
                self._writes.use_tls(credentials.tls)


async def _whole_lines(content: aiohttp.StreamReader) -> AsyncGenerator[list[bytes], None]:
    """Split the content into lines, and yield the lines that each read completes."""
    rest = b""
    async for chunk in content.iter_any():
        lines = (rest + chunk).split(b"\n") if rest else chunk.split(b"\n")
        rest = lines.pop()
        if lines:
            yield lines


def _check_path(path: str) -> None:
    if _TARGET.fullmatch(path) is None:
        raise UnsendableError(path)


async def _read(response: aiohttp.ClientResponse) -> Reply:
    retry_after = response.headers.get("Retry-After")
    body = await response.read()
    return Reply(response.status, response.reason or "", retry_after, body, keeps_open=True)


def _refusal(reply: Reply) -> ApiError:
    """Return the error to raise for an unsuccessful reply."""
    raw = reply.body
    reason, message = "", raw.decode("utf-8", "replace").strip()
    # A header that is a date counts as absent: API servers use none.
    given = reply.retry_after or ""
    retry_after = float(given) if given.isdecimal() else None
    try:
        status = decode_object(raw, Status)
    except MalformedObjectError:
        pass  # A proxy or load balancer answered, not the API server.
    else:
        reason, message = status.reason, status.message or message
        retry_after = retry_after or status.details.retry_after_seconds or None
    message = " ".join(message.split())[:_MAX_MESSAGE] or reply.reason
    if retry_after is not None:
        retry_after = min(retry_after, _MAX_RETRY_AFTER)
    return ApiError(reply.status, reason, message, retry_after)


def _unreachable(method: str, path: str, error: BaseException) -> UnreachableError:
    what = "timed out" if isinstance(error, TimeoutError) else one_line(error)
    return UnreachableError(f"{method} {path}: {what}", idle_closed=isinstance(error, IdleClosedError))
