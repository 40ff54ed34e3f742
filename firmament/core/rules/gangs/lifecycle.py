"""Follows the life of gangs: which members may be tried, the state of each gang, and when the solver gives up a gang.

A round places all members that a gang needs, or none. If the driver reports that a member's binding was refused, the
member keeps its machine and is bound there again, a few times (see ``Rebinding``). If these tries fail, the member is
placed anew, like any member of a running gang that has lost its machine. A gang is whole once enough members are
bound; from then on the solver never gives it up, and replacements join it. If a gang is not whole in time, the solver
gives it up: it evicts the bound members (if so configured), and all the gang's tasks wait for a while.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import Job
from firmament.core.reasons import format_number
from firmament.core.results import Delta, DeltaKind, GangPhase, GangState, Unscheduled
from firmament.core.rules.gangs.least_room import list_lacking_resources
from firmament.core.rules.gangs.members import (
    count_missing_members,
    find_progress,
    lacks_members,
    list_able_members,
)
from firmament.core.rules.gangs.missing_members import explain_missing_members
from firmament.core.rules.gangs.surplus_members import Surplus
from firmament.core.rules.quotas.compilation import needs_one_flavor
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import hold_back, set_message


class GangOptions(Protocol):
    """The options of rounds that concern gangs."""

    @property
    def preemption(self) -> bool:
        """Whether a round may evict tasks to place others."""

    @property
    def gang_seconds(self) -> float:
        """Seconds within which a placed gang must be whole; otherwise the solver gives it up."""

    @property
    def evict_failed_gangs(self) -> bool:
        """Whether the solver evicts the bound members of a gang that it gives up."""

    @property
    def last_backoff(self) -> float:
        """Seconds for which the members of a gang that was given up wait."""

    @property
    def tells_why(self) -> bool:
        """Whether rounds report the states of gangs."""


@dataclass(frozen=True, slots=True)
class AdmittedTasks:
    """The tasks that a round tries, and the gangs among them, numbered from the oldest.

    ``waiting``: rows of the tasks; ``gang``: int64[N], the gang of each task, -1 for none; ``need``: int64[G], how
    many tasks of each gang must be placed; ``jobs``: the ids of the gangs' jobs.
    """

    waiting: Int64
    gang: Int64
    need: Int64
    jobs: tuple[str, ...]


@dataclass(slots=True)
class _GangStatus:
    """What the solver remembers about a gang from round to round."""

    since: float | None = None
    """The time at which a round placed the gang; None before that, and once the gang is whole."""
    whole: bool = False
    """Whether the gang has ever been whole."""
    failed: bool = False
    """Whether the solver has given up the gang."""
    withheld: bool = False
    """Whether the gang lacks members that can be tried, so that more free capacity would not help."""
    asked_to_leave: frozenset[str] = frozenset()
    """Uids of the members that the solver evicted when it last gave up the gang."""
    reported: GangState | None = None
    """The state of the gang that was reported last."""
    message: str = ""
    """The message on why the gang waits, as last reported."""


class GangLifecycle:
    """Follows the gangs of a cluster from round to round."""

    def __init__(self, options: GangOptions, evictions: PendingEvictions) -> None:
        self._options = options
        self._evictions = evictions
        self._statuses: dict[str, _GangStatus] = {}
        self._changed: set[str] = set()
        self._unreported: set[str] = set()
        self._surplus = Surplus()

    # --- before a round ------------------------------------------------------------------------------------------

    def admit(self, cluster: Cluster, waiting: Int64, now: float) -> AdmittedTasks:
        """Return the tasks to be tried: ``waiting`` (rows), with all members of their gangs that can be whole.

        If one member of a gang is in ``waiting``, the gang's unschedulable members are tried too. Gangs that are left
        out are marked unschedulable, with the reason in their members' messages; so are members beyond the size of a
        gang with tree rules.
        """
        self._update_statuses(cluster, now)
        tasks, jobs = cluster.tasks, cluster.jobs
        if not jobs.gangs:
            return AdmittedTasks(waiting, np.full(len(waiting), -1), np.empty(0, dtype=np.int64), ())
        gangs, ruled = jobs.gangs, cluster.ruled_gangs
        concerned = {tasks.job[task] for task in waiting.tolist()} & gangs
        free = [task for task in waiting.tolist() if tasks.job[task] not in concerned]
        called: list[tuple[tuple[float, int], str, list[int], int]] = []
        for job_id in sorted(concerned):
            job = jobs.gang(job_id)
            assert job is not None
            able, need = list_able_members(cluster, job, now), count_missing_members(cluster, job)
            if job.groups and able:
                able, need = self._surplus.hold_back_incomplete(cluster, job, able, need)
            if job_id in ruled and len(able) > need:
                able = self._surplus.hold_back(cluster, job, able, max(0, need))
            ungrouped = job_id not in ruled and not job.groups
            if need <= 0 and able and ungrouped and needs_one_flavor(cluster, able):
                # Classes of a gang that needs a task stay apart from other jobs, so its tasks can get one flavor.
                need = 1
            if need <= 0:
                free += able
            elif len(able) < need:
                self._withhold(cluster, job, able)
            elif job.least_room and self._lacks_room(cluster, job, able):
                hold_back(cluster, able)
            else:
                self._statuses.setdefault(job_id, _GangStatus()).failed = False
                first = int(tasks.sort_by_age(np.array(able, dtype=np.int64))[0])
                age = float(tasks.created[able[first]]), int(tasks.sequence[able[first]])
                called.append((age, job_id, able, need))
        called.sort()
        members = [task for _, _, able, _ in called for task in able]
        gang = [index for index, (_, _, able, _) in enumerate(called) for _ in able]
        return AdmittedTasks(
            waiting=np.array(free + members, dtype=np.int64),
            gang=np.array([-1] * len(free) + gang, dtype=np.int64),
            need=np.array([need for _, _, _, need in called], dtype=np.int64),
            jobs=tuple(job_id for _, job_id, _, _ in called),
        )

    def refuse(self, cluster: Cluster, job_id: str, why: str) -> None:
        """Mark a gang that no round can place as unschedulable, and record the reason for its members."""
        job = cluster.jobs.gang(job_id)
        if job is None:
            return
        hold_back(cluster, _list_pending(cluster, job_id))
        self.note(job_id, f"gang {job.name or job.id} {why}")
        self._unreported.add(job_id)

    def _withhold(self, cluster: Cluster, job: Job, able: list[int]) -> None:
        """Mark a gang that lacks members as unschedulable. The gang is tried again when the back-off of a member
        ends.
        """
        hold_back(cluster, able)
        self.note(job.id, explain_missing_members(cluster, job, able))
        self._statuses[job.id].withheld = True
        self._unreported.add(job.id)

    def _lacks_room(self, cluster: Cluster, job: Job, able: list[int]) -> bool:
        """Return whether all machines together have too little left for a gang; if so, record why for its members."""
        lacking = list_lacking_resources(cluster, job, able, preempts=self._options.preemption)
        if lacking:
            what = ", ".join(lacking)
            self.note(
                job.id,
                f"gang {job.name or job.id} waits for the least resources that it asks for: all "
                f"{format_number(len(cluster.machines), 'node')} together have too little room left of {what}",
            )
            self._unreported.add(job.id)
        return bool(lacking)

    def keep_unschedulable(self, cluster: Cluster, now: float) -> None:
        """Mark requeued members of incomplete gangs unschedulable again: free capacity does not help them."""
        for job_id, status in self._statuses.items():
            job = cluster.jobs.gang(job_id) if status.withheld else None
            # A gang that has changed may be complete now, so its members stay in the queue.
            may_be_complete = job_id in cluster.jobs.changed
            if job is not None and not may_be_complete and lacks_members(cluster, job, now):
                hold_back(cluster, list_able_members(cluster, job, now))

    # --- after a round -------------------------------------------------------------------------------------------

    def note(self, job_id: str, message: str) -> None:
        """Set the message that says what a gang waits for."""
        self._statuses.setdefault(job_id, _GangStatus()).message = message
        self._changed.add(job_id)

    def note_tried(
        self, cluster: Cluster, jobs: Sequence[str], gang: Int64, members: Sequence[Int64]
    ) -> None:
        """Set the messages of gangs that a round could not place: each gets the message of its first waiting member.

        ``jobs``: the gangs that were tried. ``gang``: int64[C], the index in ``jobs`` of each class, -1 for none.
        ``members``: the rows of each class's tasks.
        """
        tasks = cluster.tasks
        for number, job in enumerate(jobs if self._options.tells_why else ()):
            if cluster.jobs.gang(job) is None:
                continue
            for index in np.flatnonzero(gang == number).tolist():
                waiting = members[index][tasks.state[members[index]] == TaskPhase.PENDING]
                if len(waiting):
                    self.note(job, tasks.message[int(waiting[0])])
                    break

    def take_messages(self, cluster: Cluster) -> list[Unscheduled]:
        """Return the unreported messages for members of gangs that could not be tried, and mark them as reported."""
        tasks = cluster.tasks
        found = []
        for job_id in sorted(self._unreported):
            message = self._statuses[job_id].message if job_id in self._statuses else ""
            updated = [task for task in _list_pending(cluster, job_id) if tasks.message[task] != message]
            if updated and message:
                set_message(cluster, updated, message)
                found.append(Unscheduled(tuple(tasks.uid[task] for task in updated), message))
        self._unreported.clear()
        return found + self._surplus.take_notices(cluster) if self._surplus.unreported else found

    def take_changed_states(self, cluster: Cluster, now: float) -> tuple[GangState, ...]:
        """Return, by job, the gang states that have changed since the last call, and mark them as reported."""
        found = self._list_unreported_states(cluster, now)
        self._changed.clear()
        for state in found:
            self._statuses[state.job].reported = state
        return tuple(found)

    def _list_unreported_states(self, cluster: Cluster, now: float) -> list[GangState]:
        self._update_statuses(cluster, now)
        if not self._options.tells_why:
            return []
        found = []
        for job_id in sorted(self._changed):
            job, status = cluster.jobs.gang(job_id), self._statuses.get(job_id)
            if job is None or status is None:
                continue
            state = _build_state(cluster, job, status, self._evictions)
            if state != status.reported:
                found.append(state)
        return found

    # --- giving up after a time limit ----------------------------------------------------------------------------

    def next_in(self, cluster: Cluster, now: float) -> float | None:
        """Return the seconds until a gang must be given up or a state must be reported; None if neither is pending."""
        if self._list_unreported_states(cluster, now):
            return 0.0
        self._changed.clear()
        moments = []
        for job_id, status in self._statuses.items():
            if status.since is None and not status.failed:
                continue
            job = cluster.jobs.gang(job_id)
            if job is not None and status.since is not None:
                moments.append(status.since + self._get_gang_seconds(job))
            if self._list_late_members(cluster, job_id, status):
                moments.append(now)
        return max(0.0, min(moments) - now) if moments else None

    def expire(self, cluster: Cluster, now: float) -> list[Delta]:
        """Give up the gangs that are not whole in time, and return the deltas that evict their bound members.

        If a member's binding succeeds only after that, a later call evicts the member.
        """
        self._update_statuses(cluster, now)
        deltas = []
        followed = [
            job_id for job_id, status in self._statuses.items() if status.since is not None or status.failed
        ]
        for job_id in sorted(followed):
            status, job = self._statuses[job_id], cluster.jobs.gang(job_id)
            if job is None:
                continue
            late = self._list_late_members(cluster, job_id, status)
            if late:
                deltas += self._release(cluster, late, now)
                status.asked_to_leave |= {cluster.tasks.uid[task] for task in late}
            if status.since is None or now < status.since + self._get_gang_seconds(job):
                continue
            released = self._release(cluster, cluster.jobs.members(job_id), now)
            deltas += released
            status.asked_to_leave = frozenset(delta.uid for delta in released)
            self._update_statuses(cluster, now)
            status.since = None
            status.failed = True
            self.note(job_id, f"not whole {self._get_gang_seconds(job):g} s after it was decided")
        return deltas

    def _list_late_members(self, cluster: Cluster, job_id: str, status: _GangStatus) -> list[int]:
        """Return the members (rows) of a gang that were bound after the solver gave up the gang."""
        if not status.failed or not self._options.evict_failed_gangs:
            return []
        tasks = cluster.tasks
        return [
            task
            for task in cluster.jobs.members(job_id)
            if tasks.state[task] == TaskPhase.BOUND
            and not tasks.leaving[task]
            and tasks.uid[task] not in status.asked_to_leave
        ]

    def _release(self, cluster: Cluster, members: Iterable[int], now: float) -> list[Delta]:
        tasks = cluster.tasks
        deltas = []
        for task in members:
            if tasks.state[task] == TaskPhase.ASSUMED:
                transitions.give_up_place(cluster, task)
            elif (
                tasks.state[task] == TaskPhase.BOUND
                and self._options.evict_failed_gangs
                and not tasks.leaving[task]
            ):
                transitions.ask_to_leave(cluster, task)
                deltas.append(Delta(DeltaKind.PREEMPT, tasks.uid[task], cluster.where(task)))
            if tasks.state[task] == TaskPhase.PENDING:
                transitions.defer(cluster, task, now + self._options.last_backoff)
        return deltas

    def _get_gang_seconds(self, job: Job) -> float:
        return job.gang_seconds or self._options.gang_seconds

    def _update_statuses(self, cluster: Cluster, now: float) -> None:
        """Bring the statuses of changed gangs up to date."""
        changed = set(cluster.jobs.changed)
        cluster.jobs.changed.clear()
        self._changed |= changed
        for job_id in changed:
            job = cluster.jobs.gang(job_id)
            if job is None or not cluster.jobs.members(job_id):
                self._statuses.pop(job_id, None)
                continue
            status = self._statuses.setdefault(job_id, _GangStatus(whole=job.was_whole))
            status.withheld = False
            progress = find_progress(cluster, job)
            if progress.is_placed:
                status.failed, status.message = False, ""
            if progress.is_bound:
                status.whole, status.since = True, None
            elif progress.bound + progress.assumed == 0:
                # A member that was asked to leave may stay after all: until it has left, the gang counts as whole.
                status.whole, status.since = status.whole and progress.leaving > 0, None
            elif not status.whole and status.since is None and not status.failed:
                status.since = now


def _list_pending(cluster: Cluster, job_id: str) -> list[int]:
    """Return the waiting members (rows) of a gang, in the order of the gang's members."""
    rows = np.fromiter(cluster.jobs.members(job_id), dtype=np.int64)
    found: list[int] = rows[cluster.tasks.state[rows] == int(TaskPhase.PENDING)].tolist()
    return found


def _build_state(cluster: Cluster, job: Job, status: _GangStatus, evictions: PendingEvictions) -> GangState:
    """Return the state of a gang to be reported: its phase, its placed members, and what the gang waits for."""
    progress = find_progress(cluster, job)
    phase, message = GangPhase.WAITING, status.message
    if progress.is_bound:
        phase, message = GangPhase.BOUND, ""
    elif status.failed:
        phase = GangPhase.FAILED
    elif progress.leaving:
        phase, message = GangPhase.PREEMPTED, "members make room for more important tasks"
    elif progress.is_placed:
        preempting = evictions.is_awaited(cluster, cluster.jobs.members(job.id))
        phase, message = GangPhase.PREEMPTING if preempting else GangPhase.PLACED, ""
    members = len(cluster.jobs.members(job.id))
    return GangState(job.id, phase, message, members, progress.bound + progress.assumed, job.min_members)
