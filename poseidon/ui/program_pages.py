"""Reads the pages that bridge and solver serve over HTTP in addition to their metrics."""

from __future__ import annotations

import aiohttp

_PATIENCE = aiohttp.ClientTimeout(total=5.0)
_MOST_BYTES = 2**24
_FAULTS = (aiohttp.ClientError, OSError, TimeoutError, ValueError)


async def read_page(url: str) -> str | None:
    """Return the text that a program serves at a URL, or None if it cannot be read."""
    try:
        async with aiohttp.ClientSession(timeout=_PATIENCE) as session, session.get(url) as answer:
            if answer.status != 200:
                return None
            return (await answer.content.read(_MOST_BYTES)).decode("utf-8", "replace")
    except _FAULTS:
        return None


def get_configz_url(metrics_url: str) -> str:
    """Return the URL of a program's configuration, given the URL of its metrics."""
    return f"{metrics_url.rsplit('/', 1)[0]}/configz"
