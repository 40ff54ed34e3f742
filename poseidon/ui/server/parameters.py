"""Reads and checks the parameters in the query of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.ui.server.answers import ClientError

if TYPE_CHECKING:
    from aiohttp import web

LONGEST = 500
MOST_ITEMS = 200
MOST_PODS = 1000


def text(request: web.Request, name: str, default: str = "") -> str:
    """Return a parameter as a text of at most 500 characters."""
    value = request.query.get(name, default)
    if len(value) > LONGEST:
        raise ClientError(400, f"{name}: longer than {LONGEST} characters")
    return value


def whole(request: web.Request, name: str, default: int, most: int) -> int:
    """Return a parameter as a whole number from 0 to ``most``; larger numbers count as ``most``."""
    value = request.query.get(name, "")
    if not value:
        return default
    if not value.isascii() or not value.isdecimal() or len(value) > 18:
        raise ClientError(400, f"{name}: {value[:20]!r} is not a whole number from 0 on")
    return min(int(value), most)


def page(request: web.Request, default: int, most: int = MOST_ITEMS) -> tuple[int, int]:
    """Return the parameters that select a part of a list: (offset, limit)."""
    return whole(request, "offset", 0, 10**9), whole(request, "limit", default, most)
