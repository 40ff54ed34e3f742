"""How long a solver takes from being told of a pod to placing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from protos.firmament.v1 import scheduler_pb2 as pb

_MOST = 4096


class AnswerTimes:
    """Times of one stream: of each message with new pods one is followed, so that counting costs next to nothing.

    ``clock`` is monotonic; ``observe`` gets seconds. Of pods that find no place the oldest are forgotten.
    """

    def __init__(self, clock: Callable[[], float], observe: Callable[[float], None]) -> None:
        self._clock = clock
        self._observe = observe
        self._told: dict[str, float] = {}

    def told(self, events: Iterable[pb.Event]) -> None:
        """Be told of what is being sent."""
        for event in events:
            if event.WhichOneof("body") == "tasks" and event.tasks.uids:
                self._told.setdefault(event.tasks.uids[0], self._clock())
                break
        if len(self._told) > _MOST:
            del self._told[next(iter(self._told))]

    def answered(self, deltas: Iterable[pb.Delta]) -> None:
        """Be told of what the solver decides."""
        if not self._told:
            return
        for delta in deltas:
            since = self._told.pop(delta.task, None)
            if since is not None:
                self._observe(self._clock() - since)
