"""How placements end: confirmed or given back, with reports for the solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.lifecycle.actions import Action, Nominate
from poseidon.lifecycle.phases import UNDER_WAY, UNPLACED, Event
from protos.firmament.v1 import scheduler_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Callable

    from poseidon.lifecycle.binding.dependencies import Dependencies
    from poseidon.lifecycle.binding.nominations import Nominations
    from poseidon.lifecycle.pods import Tasks
    from poseidon.lifecycle.records import PodRecord


class BindingOutcomes:
    """Settles what the solver decided, and keeps the reports about it. ``act`` has something done."""

    def __init__(
        self,
        tasks: Tasks,
        dependencies: Dependencies,
        act: Callable[[Action], None],
        nominations: Nominations,
    ) -> None:
        self._tasks = tasks
        self._nominations = nominations
        self._dependencies = dependencies
        self._act = act
        self._reports: list[pb.BindingReport] = []

    def take_reports(self) -> list[pb.BindingReport]:
        """Return the reports for the solver, once."""
        reports, self._reports = self._reports, []
        return reports

    def forget_reports(self) -> None:
        """Drop the reports that have not been taken."""
        self._reports.clear()

    def confirm(self, record: PodRecord) -> None:
        """Tell the solver that its placement holds, and remember that it knows."""
        uid = record.task.uid
        self._nominations.end(uid)
        if record.told is not None and record.awaits_report:
            place = record.place
            self._reports.append(pb.BindingReport(task=uid, machine=place, bound=True))
            record.told = record.told._replace(machine=place)
        self._tasks.touch(uid)

    def fail(
        self,
        record: PodRecord,
        reason: str,
        *,
        retry: bool,
        nominated: bool = False,
        event: Event = Event.GIVEN_UP,
    ) -> None:
        """Give back the place of a pod that is not bound, and those of the pods that depend on it.

        ``nominated``: what others have left for it there stays its own until it is placed anew. ``event``: what has
        happened to it.
        """
        uid, machine = record.task.uid, record.binding
        if record.awaits_report:
            self.report(uid, machine, reason, retry=retry)
        # PendingReasons were withdrawn when it was to be bound: whatever is said next of it is new.
        record.message = ""
        if not nominated:
            self.nominate(record, "")
        if not retry:
            self._nominations.end(uid)
        self._dependencies.drop(uid)
        self._tasks.move(record, event)
        self.fail_followers(uid, f"depends on {record.task.name}, which was not bound")

    def fail_followers(self, uid: str, reason: str) -> None:
        """Give back the places of the pods that wait for this one."""
        for follower in self._dependencies.failed(uid):
            held = self._tasks.get(follower)
            if held is not None and held.in_flight:
                self.fail(held, reason, retry=True)

    def report(self, uid: str, machine: str, reason: str, *, retry: bool) -> None:
        """Tell the solver that a delta was not carried out, and whether to ``retry`` it."""
        self._reports.append(
            pb.BindingReport(task=uid, machine=machine, bound=False, reason=reason, retry=retry)
        )

    def without_place(self, record: PodRecord) -> None:
        """Nobody makes way for a pod any more: it has turned out to have no place."""
        self.nominate(record, "")
        self._nominations.end(record.task.uid)

    def nominate(self, record: PodRecord, node: str) -> None:
        """Have a pod's status name the node where others make way for it, or its claims are bound, or none any more.

        With its binding the API server has taken the nomination back.
        """
        if record.phase not in UNPLACED | UNDER_WAY:
            record.nominated = ""
            return
        if record.nominated != node:
            record.nominated = node
            if node:
                self._nominations.put(record)
            self._act(Nominate(record.ref, node))
