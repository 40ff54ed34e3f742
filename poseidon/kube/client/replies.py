"""Replies of an HTTP/1.1 server, read out of whatever pieces a connection brings. Does no I/O.

No more of HTTP than an API server's answers to small writes need: a length, chunks, or a body that ends with the
connection. Headers that say nothing about that, or about when to ask again, are not looked at.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import NamedTuple

_MAX_HEAD = 1 << 16
_MAX_LINE = 1 << 12
"""Bytes that a line between chunks may have."""
_PLAIN_STATUS_LINE = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) ([^\r\n]*)(?=\r\n)")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9]\d\d)(?: ([^\r\n]*))?(?:\r\n|\Z)")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")
_BODILESS = frozenset({int(HTTPStatus.NO_CONTENT), int(HTTPStatus.NOT_MODIFIED)})
_FIRST_REFUSAL = int(HTTPStatus.BAD_REQUEST)


class MalformedReplyError(Exception):
    """What came is not a reply of an HTTP/1.1 server."""


class Reply(NamedTuple):
    """A whole reply. ``keeps_open``: the connection may carry another request."""

    status: int
    reason: str
    retry_after: str | None
    body: bytes
    keeps_open: bool


def read_whole(data: bytes) -> Reply | None:
    """Return the reply that ``data`` is, if it is a whole one of the usual kind: with a length, and nothing special.

    That is what nearly all are, in one piece. Any other is for a ``ReplyReader``, from its beginning.
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
    """Reads one reply to a request whose reply may have a body (any but HEAD)."""

    def __init__(self) -> None:
        self._unread = bytearray()
        self._body = bytearray()
        self._missing = 0
        self._head: Reply | None = None
        self._whole: Reply | None = None
        self._read_part = self._read_head

    def feed(self, data: bytes) -> Reply | None:
        """Take what the connection brought; return the reply once it is whole. Raises ``MalformedReplyError``.

        Nothing may be fed after that. A server that sends more than was asked for gets no other request.
        """
        self._unread += data
        while self._whole is None and self._read_part():
            pass
        whole = self._whole
        return whole._replace(keeps_open=False) if whole is not None and self._unread else whole

    def finish(self) -> Reply:
        """Return the reply that the end of the connection completes. Raises ``MalformedReplyError``."""
        if self._head is None or self._read_part != self._read_rest:
            raise MalformedReplyError("the server ended the connection before its reply was whole")
        return self._head._replace(body=bytes(self._unread))

    # --- parts: each returns whether it has been read -------------------------------------------------------

    def _read_head(self) -> bool:
        end = self._unread.find(b"\r\n\r\n")
        if end < 0:
            self._bound(_MAX_HEAD)
            return False
        head = bytes(self._unread[:end])
        del self._unread[: end + 4]
        line = _STATUS_LINE.match(head)
        if line is None:
            raise MalformedReplyError(f"not a reply of an HTTP server: {head[:60]!r}")
        status = int(line[2])
        if status < HTTPStatus.OK:
            if status == HTTPStatus.SWITCHING_PROTOCOLS:
                raise MalformedReplyError("the server switches to another protocol")
            return True  # the reply proper is still to come
        fields = head.lower()
        length, coding = _length(fields), _field(fields, b"transfer-encoding")
        if length and coding:
            raise MalformedReplyError(
                "the reply has a Content-Length and a Transfer-Encoding; only one can be true"
            )
        reason = (line[3] or b"").decode("latin-1")
        retry_after = _field(fields, b"retry-after").decode("latin-1") or None
        keeps_open = line[1] == b"1" and b"close" not in _field(fields, b"connection")
        self._head = Reply(status, reason, retry_after, b"", keeps_open)
        if status in _BODILESS:
            self._whole = self._head
        elif coding:
            if coding != b"chunked":
                raise MalformedReplyError(f"the server encodes its reply in an unknown way: {coding[:60]!r}")
            self._read_part = self._read_size
        elif length:
            self._missing = int(length)
            self._read_part = self._read_length
        else:
            self._head = self._head._replace(keeps_open=False)
            self._read_part = self._read_rest
        return True

    def _read_length(self) -> bool:
        if not self._read_missing():
            return False
        self._complete()
        return True

    def _read_rest(self) -> bool:
        return False

    def _read_size(self) -> bool:
        line = self._read_line()
        if line is None:
            return False
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            raise MalformedReplyError(f"not the size of a chunk: {line[:60]!r}")
        self._missing = int(size[1], 16)
        self._read_part = self._read_chunk if self._missing else self._read_trailer
        return True

    def _read_chunk(self) -> bool:
        if not self._read_missing():
            return False
        self._read_part = self._read_chunk_end
        return True

    def _read_chunk_end(self) -> bool:
        line = self._read_line()
        if line:
            raise MalformedReplyError("a chunk is longer than its size says")
        self._read_part = self._read_size if line is not None else self._read_chunk_end
        return line is not None

    def _read_trailer(self) -> bool:
        line = self._read_line()
        if line == b"":
            self._complete()
        return line is not None

    # --- helpers -------------------------------------------------------------------------------------------

    def _read_missing(self) -> bool:
        if len(self._unread) < self._missing:
            return False
        if len(self._unread) == self._missing and not self._body:
            self._body, self._unread = self._unread, self._body  # nothing is copied
            return True
        self._body += self._unread[: self._missing]
        del self._unread[: self._missing]
        return True

    def _read_line(self) -> bytes | None:
        """Return the next line without its end, None if it has not come yet."""
        end = self._unread.find(b"\r\n")
        if end < 0:
            self._bound(_MAX_LINE)
            return None
        line = bytes(self._unread[:end])
        del self._unread[: end + 2]
        return line

    def _bound(self, most: int) -> None:
        if len(self._unread) > most:
            raise MalformedReplyError(f"no end of a line in {most} bytes")

    def _complete(self) -> None:
        assert self._head is not None
        self._whole = self._head._replace(body=bytes(self._body))


def _field(fields: bytes, name: bytes) -> bytes:
    """Return the value of a header out of a head in lower case, b"" without one."""
    begin = fields.find(b"\r\n" + name + b":")
    if begin < 0:
        return b""
    begin += len(name) + 3
    end = fields.find(b"\r\n", begin)
    return fields[begin : end if end >= 0 else len(fields)].strip()


def _length(fields: bytes) -> bytes:
    """Return the digits of Content-Length, b"" without one. Raises ``MalformedReplyError`` for several or bad ones.

    Repeated equal values are accepted (RFC 9110, section 8.6); of different ones no one knows where the reply ends.
    """
    stated = {
        value.strip()
        for line in fields.split(b"\r\n")
        if line.partition(b":")[0].rstrip() == b"content-length"
        for value in line.partition(b":")[2].split(b",")
    }
    if len(stated) > 1:
        raise MalformedReplyError(f"conflicting Content-Length: {b', '.join(sorted(stated))[:60]!r}")
    length = stated.pop() if stated else b""
    if length and not length.isdigit():
        raise MalformedReplyError(f"Content-Length: {length[:60]!r} is not a number")
    return length
