"""Parses replies of an HTTP/1.1 server from the pieces that a connection receives. Does no I/O.

Nearly all replies to small writes come in one piece with a Content-Length, and this module parses them directly. The
library h11 parses all other replies. Of the headers, only Retry-After is kept.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import NamedTuple

import h11

_MAX_UNFINISHED = 1 << 16
"""Longest head of a reply, or line between chunks, in bytes."""
_PLAIN_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) ([^\r\n]*)(?=\r\n)")
_BODILESS = frozenset({int(HTTPStatus.NO_CONTENT), int(HTTPStatus.NOT_MODIFIED)})
_FIRST_REFUSAL = int(HTTPStatus.BAD_REQUEST)


class MalformedReplyError(Exception):
    """The data is not a reply of an HTTP/1.1 server."""


class Reply(NamedTuple):
    """A whole reply. ``keeps_open``: the connection may carry another request."""

    status: int
    reason: str
    retry_after: str | None
    body: bytes
    keeps_open: bool


def read_whole(data: bytes) -> Reply | None:
    """Return the reply in ``data`` if it is complete and simple: with a length, not chunked; else None.

    Nearly all replies are simple. Pass any other reply, from its beginning, to a ``ReplyReader``.
    """
    line = _PLAIN_STATUS_LINE.match(data)
    end = data.find(b"\r\n\r\n")
    if line is None or end < 0:
        return None
    fields = data[line.end() : end].lower()
    if fields.count(b"\r\ncontent-length") > 1:
        return None
    length = _field(fields, b"content-length")
    if not length.isdigit() or int(length) != len(data) - end - 4:
        return None
    if b"\r\ntransfer-encoding:" in fields or b"\r\nconnection:" in fields:
        return None
    status = int(line[1])
    if status in _BODILESS:
        return None
    retry_after = (
        _field(fields, b"retry-after").decode("latin-1") or None if status >= _FIRST_REFUSAL else None
    )
    return Reply(status, line[2].decode("latin-1"), retry_after, data[end + 4 :], keeps_open=True)


class ReplyReader:
    """A reader of one reply in pieces; the request may be of any method but HEAD."""

    def __init__(self) -> None:
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MAX_UNFINISHED)
        for sent in (h11.Request(method="POST", target="/", headers=[("Host", "-")]), h11.EndOfMessage()):
            self._connection.send(sent)
        self._head: h11.Response | None = None
        self._body = bytearray()

    def feed(self, data: bytes) -> Reply | None:
        """Add data from the connection; return the reply once it is whole. Raises ``MalformedReplyError``.

        Add nothing after that. A connection with more data than the reply is not used again.
        """
        if not data:
            return None  # h11 would take empty data for the end of the connection.
        try:
            self._connection.receive_data(data)
            return self._read()
        except h11.RemoteProtocolError as error:
            raise MalformedReplyError(f"not a reply of an HTTP server: {error}") from None

    def finish(self) -> Reply:
        """Return the reply after the server has closed the connection.

        Raises ``MalformedReplyError`` if it is not whole.
        """
        try:
            self._connection.receive_data(b"")
            reply = self._read()
        except h11.RemoteProtocolError:
            reply = None
        if reply is None:
            raise MalformedReplyError("the server ended the connection before its reply was whole")
        return reply

    def _read(self) -> Reply | None:
        """Read the received parts; return the reply if it is complete."""
        while True:
            event = self._connection.next_event()
            if isinstance(event, h11.InformationalResponse):
                if event.status_code == HTTPStatus.SWITCHING_PROTOCOLS:
                    raise MalformedReplyError("the server switches to another protocol")
            elif isinstance(event, h11.Response):
                if {b"content-length", b"transfer-encoding"} <= {name for name, _ in event.headers}:
                    raise MalformedReplyError(
                        "the reply has a Content-Length and a Transfer-Encoding; only one can be true"
                    )
                self._head = event
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                return self._whole()
            else:
                return None

    def _whole(self) -> Reply:
        head, connection = self._head, self._connection
        assert head is not None
        retry_after = next(
            (value.decode("latin-1") for name, value in head.headers if name == b"retry-after"), None
        )
        spare, _ = connection.trailing_data
        keeps_open = connection.their_state is h11.DONE and connection.our_state is h11.DONE and not spare
        return Reply(
            head.status_code, bytes(head.reason).decode("latin-1"), retry_after, bytes(self._body), keeps_open
        )


def _field(fields: bytes, name: bytes) -> bytes:
    """Return the value of a header from a head in lower case, b"" if it is missing."""
    begin = fields.find(b"\r\n" + name + b":")
    if begin < 0:
        return b""
    begin += len(name) + 3
    end = fields.find(b"\r\n", begin)
    return fields[begin : end if end >= 0 else len(fields)].strip()
