"""Times as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0
"""From the beginning of the year 1 to the end of 9999, which are all times that can be written again."""


@lru_cache(maxsize=4096)  # pods of a burst were created within a few seconds
def seconds(timestamp: str | None) -> float | None:
    """Return an RFC 3339 time in seconds since the epoch, None for none and for text that is not a time.

    What lies before ``EARLIEST`` or after ``LATEST`` where its offset is none counts as no time: nothing here could
    write it.
    """
    if not timestamp:
        return None
    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    found = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return found if EARLIEST <= found <= LATEST else None
