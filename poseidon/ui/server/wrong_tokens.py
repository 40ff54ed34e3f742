"""Counts wrong tokens; after several wrong tokens in a minute, tokens from that address are not checked for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

MOST, SECONDS = 10, 60.0
_MOST_PEERS = 1024


class Guesses:
    """Counts wrong tokens by the sender's address. ``clock`` returns seconds that never decrease."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def too_many(self, peer: str) -> bool:
        """Return whether tokens from an address must not be checked at present."""
        begun, count = self._wrong.get(peer, (0.0, 0))
        return count >= MOST and self._clock() - begun < SECONDS

    def count_wrong_token(self, peer: str) -> None:
        """Count a wrong token from an address."""
        begun, count = self._wrong.pop(peer, (self._clock(), 0))
        if self._clock() - begun >= SECONDS:
            begun, count = self._clock(), 0
        self._wrong[peer] = begun, count + 1
        if len(self._wrong) > _MOST_PEERS:
            self._wrong.popitem(last=False)
