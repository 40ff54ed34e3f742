"""What the rest of a bridge asks about leadership, and the answer where there is only one bridge."""

from __future__ import annotations

import asyncio
from typing import Protocol

from poseidon.leadership.election import Role


class Leadership(Protocol):
    """Whether this process is the one that decides for its cluster."""

    @property
    def role(self) -> Role:
        """How this process stands."""

    @property
    def fencing(self) -> int:
        """The number of this leader, larger than that of all before it."""

    def may_write(self) -> bool:
        """Whether this process may change the cluster now."""

    async def wait_elected(self) -> None:
        """Wait until this process leads."""

    async def run(self) -> None:
        """Do what it takes until cancelled or released. Raises ``LeadershipLostError``."""

    async def release(self) -> None:
        """Let others take over at once. This process writes nothing any more from here on."""


class OnlyBridge:
    """The leadership of a bridge that no other stands by: it leads from the start, until its process ends."""

    role = Role.LEADER

    def __init__(self, fencing: int) -> None:
        self.fencing = fencing

    def may_write(self) -> bool:
        """Return whether it may change the cluster: at any time."""
        return True

    async def wait_elected(self) -> None:
        """Return at once."""

    async def run(self) -> None:
        """Do nothing until cancelled."""
        await asyncio.Event().wait()

    async def release(self) -> None:
        """Do nothing: solvers know how long to wait for who comes next."""
