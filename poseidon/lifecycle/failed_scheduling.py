"""Decides when to report again why a pod stays pending.

Each node that comes or goes changes the counts in ten thousand messages, and each message costs two writes.
So new reasons, which people and autoscalers need, are reported at once, and changed counts only after a
while.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable

from poseidon.lifecycle.actions import Action, AnnounceUnschedulable
from poseidon.lifecycle.phases import PodRecord
from poseidon.lifecycle.pod_records import PodRecords
from protos.conventions.configuration import Duration, Section

_GRAMMAR = re.compile(r"0/\d+ nodes are available: ")
_COUNT = re.compile(r"^\d+ ")

OUTAGE_SECONDS = 30.0
"""How long no solver answers before pods' messages say so: a restart takes a few seconds, and is no news."""

_LOOK_SECONDS = 5.0
MESSAGE = "no node chosen: the solver has not answered for a while; the pod is placed when it does"
"""Reason of pods that wait while no solver answers, as no other program says why they stay pending."""


def reasons_of(message: str) -> str:
    """Return the reasons of a message of kube-scheduler's form, sorted, without counts; any other message as it is.

    kube-scheduler sorts reasons as text that begins with the count, so their order may change with the
    counts. Text after the list, such as which pods were faster this time, is detail like counts.
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
    """Decides which reasons of pending pods are reported, and when, and adds the reports to ``actions``."""

    def __init__(
        self,
        tasks: PodRecords,
        actions: list[Action],
        clock: Callable[[], float],
        options: AnnouncementOptions,
    ) -> None:
        self._tasks = tasks
        self._actions = actions
        self._clock = clock
        self._counts_seconds = options.counts_after
        # Messages that were put off: the newest by uid, and a heap of when each is due.
        self._later: dict[str, str] = {}
        self._due: list[tuple[float, str]] = []
        self._outage_since: float | None = None
        self._report_at = 0.0

    def consider(self, record: PodRecord, message: str) -> None:
        """Consider why a pod stays pending: report it now, later or not at all."""
        uid = record.task.uid
        if record.place or record.message == message:
            self._later.pop(uid, None)
            return
        now = self._clock()
        due = record.announced_at + self._counts_seconds
        if record.message and now < due and reasons_of(record.message) == reasons_of(message):
            if uid not in self._later:
                heapq.heappush(self._due, (due, uid))
            self._later[uid] = message
            return
        self._say(record, message, now)

    def consider_wait(self, record: PodRecord) -> None:
        """Consider why a pod is not sent to the solver, if it is for this scheduler to place."""
        if record.waits_for and record.schedulable:
            self.consider(record, record.waits_for)

    def report_wait(self, record: PodRecord, message: str) -> None:
        """Report for what a pod with a node still waits before it can be bound."""
        if record.message != message:
            self._say(record, message, self._clock())

    def say_due(self) -> None:
        """Report reasons whose reports were postponed until now, of pods that still wait."""
        now = self._clock()
        while self._due and self._due[0][0] <= now:
            _, uid = heapq.heappop(self._due)
            message = self._later.get(uid)
            record = self._tasks.get(uid)
            if message is None or record is None or record.place or not record.message:
                # The pod is bound or gone, or another message has been reported since.
                self._later.pop(uid, None)
            elif record.announced_at + self._counts_seconds > now:
                heapq.heappush(self._due, (record.announced_at + self._counts_seconds, uid))
            else:
                self._say(record, message, now)

    def note_solver(self, *, solver_answers: bool) -> None:
        """Record whether a solver answers at present. Call it about every second.

        Each waiting pod gets one message about an outage, until a solver says something else about it. A pod
        that was found unschedulable before still counts as such.
        """
        now = self._clock()
        if solver_answers:
            self._outage_since = None
            return
        if self._outage_since is None:
            self._outage_since = now
            self._report_at = now + OUTAGE_SECONDS
        if now < self._report_at:
            return
        self._report_at = now + _LOOK_SECONDS
        for record in self._tasks:
            waits = record.schedulable and not record.place and not record.waits_for
            if waits and record.message != MESSAGE:
                self._say(record, MESSAGE, now, undecided=not record.message)

    def _say(self, record: PodRecord, message: str, now: float, *, undecided: bool = False) -> None:
        self._later.pop(record.task.uid, None)
        self._actions.append(AnnounceUnschedulable(record.ref, message, bool(record.message), undecided))
        record.message = message
        record.said_here = True
        record.announced_at = now
