"""Names of single objects."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple


class PodRef(NamedTuple):
    """One pod; ``uid`` tells it from an earlier or later namesake."""

    uid: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"


class ObjectRef(NamedTuple):
    """One object of any kind, as events refer to it."""

    api_version: str
    kind: str
    uid: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def timestamp(seconds: float) -> str:
    """Write seconds since the epoch as Kubernetes writes times: RFC 3339, UTC, whole seconds."""
    return _timestamp(math.floor(seconds))


@lru_cache(maxsize=64)  # events of a burst are of a few seconds
def _timestamp(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
