"""Decides when to report again why a pod stays pending.

Each node that is added or removed may change the counts in ten thousand messages, and each message costs two writes. So
new reasons, which people and autoscalers need, are reported at once. If only counts have changed, the message is
reported later.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable

from poseidon.lifecycle.actions import Action, AnnounceUnschedulable
from poseidon.lifecycle.phases import PodRecord
from poseidon.lifecycle.pod_records import PodRecords
from protos.configuration.sections import Duration, Section

_GRAMMAR = re.compile(r"0/\d+ nodes are available: ")
_COUNT = re.compile(r"^\d+ ")

OUTAGE_SECONDS = 30.0
"""Seconds without an answer from a solver before pods' messages say so.

A restart of the solver takes only a few seconds.
"""

_LOOK_SECONDS = 5.0
MESSAGE = "no node chosen: the solver has not answered for a while; the pod is placed when it does"
"""Message of pods that wait while no solver answers."""


def reasons_of(message: str) -> str:
    """Return the sorted reasons of a message in kube-scheduler's form, without counts; any other message unchanged.

    kube-scheduler sorts reasons as text that begins with the count, so the order of reasons may change with the
    counts. Text after the list, such as the names of other pods, is left out like counts.
    """
    grammar = _GRAMMAR.match(message)
    if grammar is None:
        return message
    listed = message[grammar.end() :].partition(". ")[0].rstrip(".")
    return ", ".join(sorted(_COUNT.sub("", reason) for reason in listed.split(", ")))


class AnnouncementOptions(Section):
    """The section ``announcements``: counts in messages may be out of date for ``counts_after`` seconds (60)."""

    counts_after: Duration = 60.0


class PendingReasons:
    """The reports of pending pods' reasons, which are added to ``actions`` when they are due."""

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
        # Postponed messages: the newest by uid, and a heap of the times when they are due.
        self._later: dict[str, str] = {}
        self._due: list[tuple[float, str]] = []
        self._outage_since: float | None = None
        self._report_at = 0.0

    def consider(self, record: PodRecord, message: str) -> None:
        """Take the reason why a pod stays pending, and report it now, later or not at all."""
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
        """Take the reason why a pod is not sent to the solver, if this scheduler has to place the pod."""
        if record.waits_for and record.schedulable:
            self.consider(record, record.waits_for)

    def report_wait(self, record: PodRecord, message: str) -> None:
        """Report what a pod that has a node still waits for before it can be bound."""
        if record.message != message:
            self._say(record, message, self._clock())

    def say_due(self) -> None:
        """Report the postponed reasons that are due, if their pods still wait."""
        now = self._clock()
        while self._due and self._due[0][0] <= now:
            _, uid = heapq.heappop(self._due)
            message = self._later.get(uid)
            record = self._tasks.get(uid)
            if message is None or record is None or record.place or not record.message:
                # The message is out of date: the pod is bound or gone, or another message has been reported since.
                self._later.pop(uid, None)
            elif record.announced_at + self._counts_seconds > now:
                heapq.heappush(self._due, (record.announced_at + self._counts_seconds, uid))
            else:
                self._say(record, message, now)

    def note_solver(self, *, solver_answers: bool) -> None:
        """Record whether a solver answers at present. Call this method about every second.

        During an outage, each waiting pod gets one message about the outage, which stays until a solver reports
        another reason. A pod that a solver found unschedulable before still counts as unschedulable.
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
