"""When it is worth saying anew why a pod stays pending.

With every node that comes or goes the counts in ten thousand messages change. People and autoscalers look at the
reasons, and every message costs two writes. So new reasons are told at once, and mere counts after a while.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from poseidon.lifecycle.actions import AnnounceUnschedulable
from protos.conventions.configuration import Duration, Section

if TYPE_CHECKING:
    from poseidon.lifecycle.pods import Tasks
    from poseidon.lifecycle.records import PodRecord

_GRAMMAR = re.compile(r"0/\d+ nodes are available: ")
_COUNT = re.compile(r"^\d+ ")


def reasons_of(message: str) -> str:
    """Return the reasons of a message, without counts; messages in other words stand for themselves.

    In kube-scheduler's grammar reasons are sorted as text that begins with the count, so that their order may
    change with the counts alone. What follows the list, such as which pods were faster this time, is
    detail as counts are.
    """
    grammar = _GRAMMAR.match(message)
    if grammar is None:
        return message
    listed = message[grammar.end() :].partition(". ")[0].rstrip(".")
    return ", ".join(sorted(_COUNT.sub("", reason) for reason in listed.split(", ")))


class AnnouncementOptions(Section):
    """The section ``announcements``: ``counts_after`` (60 s) is how long counts may be out of date."""

    counts_after: Duration = 60.0


class PendingReasons:
    """Decides what is said of pending pods, and when. ``clock`` is monotonic."""

    def __init__(self, tasks: Tasks, clock: Callable[[], float], options: AnnouncementOptions) -> None:
        self._tasks = tasks
        self._clock = clock
        self._counts_seconds = options.counts_after
        # What is said later: the newest message by uid, and when each is due.
        self._later: dict[str, str] = {}
        self._due: list[tuple[float, str]] = []

    def consider(self, record: PodRecord, message: str) -> AnnounceUnschedulable | None:
        """Take why a pod stays pending; return what is to be said of it now."""
        uid = record.task.uid
        if record.place or record.message == message:
            self._later.pop(uid, None)
            return None
        now = self._clock()
        due = record.announced_at + self._counts_seconds
        if record.message and now < due and reasons_of(record.message) == reasons_of(message):
            if uid not in self._later:
                heapq.heappush(self._due, (due, uid))
            self._later[uid] = message
            return None
        return self._say(record, message, now)

    def waiting_for(self, record: PodRecord, message: str) -> AnnounceUnschedulable | None:
        """Take what has to happen before a pod is bound to the node that it has got; return what is to be said."""
        return None if record.message == message else self._say(record, message, self._clock())

    def undecided(self, record: PodRecord, message: str) -> AnnounceUnschedulable:
        """Take why no solver looks at a pod; return what is to be said. One found unschedulable still counts so."""
        found_before = bool(record.message)
        return self._say(record, message, self._clock())._replace(undecided=not found_before)

    def take_due(self) -> list[AnnounceUnschedulable]:
        """Return what was put off and is to be said by now, of pods that still wait, once."""
        now = self._clock()
        said = []
        while self._due and self._due[0][0] <= now:
            _, uid = heapq.heappop(self._due)
            message = self._later.get(uid)
            record = self._tasks.get(uid)
            if message is None or record is None or record.place or not record.message:
                # Overtaken by events: bound, gone, or said in other words since.
                self._later.pop(uid, None)
            elif record.announced_at + self._counts_seconds > now:
                heapq.heappush(self._due, (record.announced_at + self._counts_seconds, uid))
            else:
                said.append(self._say(record, message, now))
        return said

    def _say(self, record: PodRecord, message: str, now: float) -> AnnounceUnschedulable:
        self._later.pop(record.task.uid, None)
        said = AnnounceUnschedulable(record.ref, message, bool(record.message))
        record.message = message
        record.said_here = True
        record.announced_at = now
        return said
