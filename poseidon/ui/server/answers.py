"""Makes answers: JSON with a version, which is encoded once, and compressed if that saves time."""

from __future__ import annotations

import gzip
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from aiohttp import web

if TYPE_CHECKING:
    from poseidon.ui.versions import Versions

_COMPRESSED_FROM = 1024
_LEVEL = 1
_MOST_KEPT = 64
_MOST_BYTES = 64 << 20
_TYPE = "application/json; charset=utf-8"


class ClientError(Exception):
    """Raised if a request cannot be answered; it has a ``status`` and a line for people."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Kept(NamedTuple):
    version: int
    plain: bytes
    packed: bytes | None


class Answers:
    """Makes answers to requests. The answer for a subject and its parameters is reused until the subject changes.

    ``wall`` returns seconds since the epoch.
    """

    def __init__(self, versions: Versions, wall: Callable[[], float]) -> None:
        self._versions = versions
        self._wall = wall
        self._start = f"{wall():.3f}"  # The first part makes the tags of a restarted process differ.
        self._kept: OrderedDict[tuple[Any, ...], _Kept] = OrderedDict()
        self._bytes = 0

    def view(
        self, request: web.Request, subject: str, key: tuple[Any, ...], make: Callable[[], Mapping[str, Any]]
    ) -> web.Response:
        """Answer with the value of ``make``, which is called once per key and version of the subject."""
        version = self._versions.get(subject)
        tag = f'"{self._start}-{version}"'
        if request.headers.get("If-None-Match") == tag:
            return web.Response(status=304, headers={"ETag": tag})
        kept = self._kept.get(key)
        if kept is None or kept.version != version:
            kept = self._keep(key, self._encode(make(), version))
        self._kept.move_to_end(key)
        return _response(request, kept, {"ETag": tag})

    def fresh(self, request: web.Request, value: Mapping[str, Any], version: int = 0) -> web.Response:
        """Answer with a value that is not reused for other requests."""
        return _response(request, self._encode(value, version), {})

    def _encode(self, value: Mapping[str, Any], version: int) -> _Kept:
        plain = msgspec.json.encode({"at": round(self._wall(), 3), "version": version, **value})
        packed = gzip.compress(plain, _LEVEL, mtime=0) if len(plain) > _COMPRESSED_FROM else None
        return _Kept(version, plain, packed)

    def _keep(self, key: tuple[Any, ...], kept: _Kept) -> _Kept:
        former = self._kept.pop(key, None)
        self._bytes += _size(kept) - (_size(former) if former is not None else 0)
        self._kept[key] = kept
        while len(self._kept) > _MOST_KEPT or (self._bytes > _MOST_BYTES and len(self._kept) > 1):
            self._bytes -= _size(self._kept.popitem(last=False)[1])
        return kept


def _size(kept: _Kept) -> int:
    return len(kept.plain) + len(kept.packed or b"")


def _response(request: web.Request, kept: _Kept, headers: Mapping[str, str]) -> web.Response:
    shown = {
        "Content-Type": _TYPE,
        "Cache-Control": "private, no-cache",
        "Vary": "Accept-Encoding",
        **headers,
    }
    if kept.packed is not None and "gzip" in request.headers.get("Accept-Encoding", ""):
        return web.Response(body=kept.packed, headers={**shown, "Content-Encoding": "gzip"})
    return web.Response(body=kept.plain, headers=shown)


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return an answer with an error message."""
    shown = {"Content-Type": _TYPE, "Cache-Control": "no-store", **(headers or {})}
    return web.Response(status=status, body=msgspec.json.encode({"error": message}), headers=shown)
