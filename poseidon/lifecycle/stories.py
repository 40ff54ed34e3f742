"""What has become of pods lately: every step of their lifecycles, for people who ask why."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from poseidon.lifecycle.phases import Event, Phase

CAPACITY = 50_000
"""Steps that are remembered, of all pods together; about 5 MB."""


class Step(NamedTuple):
    """One event of a pod; ``place`` is where it is counted after it, "" for nowhere."""

    at: float
    uid: str
    event: Event
    before: Phase
    after: Phase
    place: str

    def line(self, now: float) -> str:
        """Return the step as a line for people."""
        where = f" node={self.place}" if self.place else ""
        return (
            f"{now - self.at:.3f} s ago: {self.event.value}: {self.before.value} -> {self.after.value}{where}"
        )


class Stories:
    """The latest steps of all pods, in order. ``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float], capacity: int = CAPACITY) -> None:
        self._clock = clock
        self._steps: deque[tuple[float, str, Event, Phase, Phase, str]] = deque(maxlen=capacity)

    def note(self, uid: str, event: Event, before: Phase, after: Phase, place: str) -> None:
        """Remember a step."""
        self._steps.append((self._clock(), uid, event, before, after, place))

    def of(self, uid: str) -> list[str]:
        """Return what is remembered of a pod, oldest first, as lines for people."""
        now = self._clock()
        return [Step(*step).line(now) for step in list(self._steps) if step[1] == uid]
