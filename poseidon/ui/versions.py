"""Numbers the changes of each subject, at most once per look, so that each view is computed once per change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

SUBJECTS = ("session", "overview", "flow", "cluster", "pending", "groups")


class Versions:
    """Changes are marked at any rate; ``publish`` turns them into numbers, and tells those who listen."""

    def __init__(self) -> None:
        self._numbers = dict.fromkeys(SUBJECTS, 1)
        self._changed: set[str] = set()
        self._listeners: list[Callable[[], None]] = []

    def mark(self, *subjects: str) -> None:
        """Mark these as changed."""
        self._changed.update(subjects)

    def get(self, subject: str) -> int:
        """Return the number of a subject."""
        return self._numbers[subject]

    def vector(self) -> Mapping[str, int]:
        """Return all numbers."""
        return dict(self._numbers)

    def publish(self) -> bool:
        """Let what has been marked count; returns whether anything was."""
        if not self._changed:
            return False
        for subject in self._changed:
            self._numbers[subject] += 1
        self._changed.clear()
        for listener in self._listeners:
            listener()
        return True

    def listen(self, listener: Callable[[], None]) -> None:
        """Have something called after each ``publish`` that changed something."""
        self._listeners.append(listener)
