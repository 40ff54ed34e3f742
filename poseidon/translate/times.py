"""Times as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=4096)  # pods of a burst were created within a few seconds
def seconds(timestamp: str | None) -> float | None:
    """Return an RFC 3339 time in seconds since the epoch, None for none and for text that is not a time."""
    if not timestamp:
        return None
    try:
        time = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
