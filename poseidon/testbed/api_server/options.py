"""The settings of a simulated cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from poseidon.testbed.api_server.flow_control import WriteLimits


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """How the simulated API server behaves. Times are in seconds."""

    history: int = 50_000
    """How many changes are kept per kind; watches and pages that need older ones get status 410."""
    token: str | None = None
    """Token that clients must present, None for no authentication."""
    bookmark_interval: float = 60.0
    """Time between two bookmarks of a watch."""
    seed: int | None = None
    """Seed for uids, which makes them equal in every run, None for random uids."""
    graceful: bool = False
    """Whether deleted pods on nodes keep their grace period until a kubelet removes them."""
    writes: WriteLimits = field(default_factory=WriteLimits)
    """Limits on writes; by default none."""
    clock: Callable[[], float] = time.time
    """Returns the wall-clock time for timestamps."""
    journal: Path | None = None
    """File that records all writes.

    A server that starts with an existing file continues from its state, without the older versions of objects.
    """

    def __post_init__(self) -> None:
        for name in ("history", "bookmark_interval"):
            if getattr(self, name) <= 0:
                raise ValueError(f"simulated cluster: {name}: {getattr(self, name)} is not positive")
        if self.token is not None and not self.token:
            raise ValueError("simulated cluster: token: is empty; use None to let everyone in")
