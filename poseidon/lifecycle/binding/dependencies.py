"""Placements that wait for others of the same round."""

from __future__ import annotations

from collections.abc import Iterable


class Dependencies:
    """Holds back tasks until all those that they lean on are settled."""

    def __init__(self) -> None:
        self._unmet: dict[str, set[str]] = {}
        self._followers: dict[str, list[str]] = {}

    def hold(self, uid: str, on: Iterable[str]) -> None:
        """Hold a task back until each of ``on`` (not empty) is met."""
        self._unmet[uid] = set(on)
        for leader in self._unmet[uid]:
            self._followers.setdefault(leader, []).append(uid)

    def holds(self, uid: str) -> bool:
        """Whether a task is held back."""
        return uid in self._unmet

    def drop(self, uid: str) -> None:
        """A task is no longer held back, and not to be released either."""
        self._unmet.pop(uid, None)

    def met(self, uid: str) -> list[str]:
        """A task is bound, or gone: return the held tasks that may go on now."""
        released = []
        for follower in self._followers.pop(uid, ()):
            unmet = self._unmet.get(follower)
            if unmet is not None:
                unmet.discard(uid)
                if not unmet:
                    del self._unmet[follower]
                    released.append(follower)
        return released

    def failed(self, uid: str) -> list[str]:
        """A task was not bound: return the held tasks that leaned on it, which are no longer held."""
        lost = []
        for follower in self._followers.pop(uid, ()):
            if uid in self._unmet.get(follower, ()):
                del self._unmet[follower]
                lost.append(follower)
        return lost
