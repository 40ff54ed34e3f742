"""The settings of a simulated cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from poseidon.testbed.api_server.flow_control import WriteLimits


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """How the simulated API server behaves. Times are in seconds.

    ``history`` is the number of changes remembered per kind: older watches and pages get a 410. ``token`` None lets
    everyone in.
    ``graceful``: pods on nodes keep their grace period when they are deleted, until a kubelet has removed them.
    ``writes`` is what the server can take; by default it is as fast as it can be.
    ``clock`` gives wall-clock time for timestamps; with a ``seed`` UIDs are the same in every run. ``journal`` is a
    file for all writes: who begins with one that holds some goes on from there, and remembers no older version.
    """

    history: int = 50_000
    token: str | None = None
    bookmark_interval: float = 60.0
    seed: int | None = None
    graceful: bool = False
    writes: WriteLimits = field(default_factory=WriteLimits)
    clock: Callable[[], float] = time.time
    journal: Path | None = None

    def __post_init__(self) -> None:
        for name in ("history", "bookmark_interval"):
            if getattr(self, name) <= 0:
                raise ValueError(f"simulated cluster: {name}: {getattr(self, name)} is not positive")
        if self.token is not None and not self.token:
            raise ValueError("simulated cluster: token: is empty; use None to let everyone in")
