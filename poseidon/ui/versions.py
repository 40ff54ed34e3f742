"""Counts the changes of each subject, so that each view is computed only once per change."""

from __future__ import annotations

from collections.abc import Callable, Mapping

SUBJECTS = ("session", "overview", "flow", "cluster", "pending", "groups")


class Versions:
    """Version numbers of subjects; ``mark`` records changes, ``publish`` raises the numbers and calls listeners."""

    def __init__(self) -> None:
        self._numbers = dict.fromkeys(SUBJECTS, 1)
        self._changed: set[str] = set()
        self._listeners: list[Callable[[], None]] = []

    def mark(self, *subjects: str) -> None:
        """Mark subjects as changed."""
        self._changed.update(subjects)

    def get(self, subject: str) -> int:
        """Return how often a subject, which is a part of the page's data, has changed."""
        return self._numbers[subject]

    def vector(self) -> Mapping[str, int]:
        """Return the version number of each subject."""
        return dict(self._numbers)

    def publish(self) -> bool:
        """Raise the numbers of the marked subjects, and call listeners; return whether any subject was marked."""
        if not self._changed:
            return False
        for subject in self._changed:
            self._numbers[subject] += 1
        self._changed.clear()
        for listener in self._listeners:
            listener()
        return True

    def listen(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after each ``publish`` with changes, from now on."""
        self._listeners.append(listener)
