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
    """Number of changes remembered per kind; older watches and pages get a 410."""
    token: str | None = None
    """Token that clients must present; None: no authentication."""
    bookmark_interval: float = 60.0
    """Time between bookmarks of a watch."""
    seed: int | None = None
    """Seed of uids, which makes them the same in every run; None: random uids."""
    graceful: bool = False
    """Whether deleted pods on nodes keep their grace period until a kubelet removes them."""
    writes: WriteLimits = field(default_factory=WriteLimits)
    """Limits on writes; by default none."""
    clock: Callable[[], float] = time.time
    """Wall-clock time for timestamps."""
    journal: Path | None = None
    """File for all writes. A server that starts with an existing one continues from it, without older versions."""

    def __post_init__(self) -> None:
        for name in ("history", "bookmark_interval"):
            if getattr(self, name) <= 0:
                raise ValueError(f"simulated cluster: {name}: {getattr(self, name)} is not positive")
        if self.token is not None and not self.token:
            raise ValueError("simulated cluster: token: is empty; use None to let everyone in")
