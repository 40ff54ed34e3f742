"""The life of gangs: which members may be tried, the state of each gang, and when one is given up.

The one rule: a gang is decided all or nothing. If the driver reports that a member's binding was refused, the member
keeps its place and is bound again there, some times (see ``Rebinding``); then it looks for another place, as any member
of a running gang that has lost its machine does. A gang that is not whole in time is given up: its bound members are
evicted (if so configured), and all its tasks wait for a while before they are tried again. A gang has been whole once
enough members were bound; from then on it is never given up, and replacements join it.
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
from firmament.core.rules.gangs.least_room import lacking_room
from firmament.core.rules.gangs.members import (
    Surplus,
    able_members,
    count_by_group,
    count_members,
    is_bound_whole,
    lacking,
    lacking_beside,
)
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskPhase
from firmament.core.state.waiting import hold_back, tell
from firmament.core.tree_solver.nested.lacking import explain_missing


class GangOptions(Protocol):
    """What of the options of rounds concerns gangs."""

    @property
    def preemption(self) -> bool:
        """Whether tasks may be evicted for others."""

    @property
    def gang_seconds(self) -> float:
        """Seconds within which a decided gang must be whole; then it is given up."""

    @property
    def evict_failed_gangs(self) -> bool:
        """Whether bound members of a gang that is given up are evicted."""

    @property
    def last_backoff(self) -> float:
        """Seconds for which members of a gang that was given up wait."""


@dataclass(frozen=True, slots=True)
class AdmittedTasks:
    """``waiting``: rows of the tasks to be tried; ``gang``: int64[N], the gang of each, -1 for none; ``need``:
    int64[G], how many of each gang must be placed; gangs are numbered by age. ``jobs``: their ids.
    """

    waiting: Int64
    gang: Int64
    need: Int64
    jobs: tuple[str, ...]


@dataclass(slots=True)
class _GangStatus:
    """The state of a gang."""

    since: float | None = None
    """When the gang was decided, None once it is whole."""
    whole: bool = False
    """Whether it is whole."""
    failed: bool = False
    """Whether it has been given up."""
    withheld: bool = False
    """Whether it lacks members that could be tried, so that more room would not help."""
    told_to_go: frozenset[str] = frozenset()
    """Ids of members that were evicted when it was given up last."""
    told: GangState | None = None
    """State that was last reported."""
    message: str = ""
    """Message that was last reported."""


class GangLifecycle:
    """The gangs of a cluster."""

    def __init__(self, options: GangOptions, evictions: PendingEvictions) -> None:
        self._options = options
        self._evictions = evictions
        self._statuses: dict[str, _GangStatus] = {}
        self._news: set[str] = set()
        self._untold: set[str] = set()
        self._surplus = Surplus()

    # --- before a round ------------------------------------------------------------------------------------------

    def admit(self, cluster: Cluster, waiting: Int64, now: float) -> AdmittedTasks:
        """Return complete the gangs among the tasks in ``waiting`` (rows), and leave out those that cannot be
        whole.

        Members that are unschedulable take part when one of their gang does. Gangs that are left out are marked
        unschedulable, and told why; so are members beyond the need of gangs with rules.
        """
        self._look(cluster, now)
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
            able, need = able_members(cluster, job, now), lacking(cluster, job)
            if job.groups and able:
                able, need = self._surplus.hold_back_incomplete(cluster, job, able, need)
            if job_id in ruled and len(able) > need:
                able = self._surplus.hold_back(cluster, job, able, max(0, need))
            if need <= 0:
                free += able
            elif len(able) < need:
                self._withhold(cluster, job, able)
            elif job.least_room and self._lacks_room(cluster, job, able):
                hold_back(cluster, able)
            else:
                self._statuses.setdefault(job_id, _GangStatus()).failed = False
                first = int(np.lexsort((tasks.sequence[able], tasks.created[able]))[0])
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
        """Hold back a gang that no round can take, and tell its members why."""
        job = cluster.jobs.gang(job_id)
        if job is None:
            return
        hold_back(cluster, _list_pending(cluster, job_id))
        self.note(job_id, f"gang {job.name or job.id} {why}")
        self._untold.add(job_id)

    def _withhold(self, cluster: Cluster, job: Job, able: list[int]) -> None:
        """Hold back a gang that lacks members. Those in a back-off come back by themselves, and call the others."""
        hold_back(cluster, able)
        members = len(cluster.jobs.members(job.id))
        name = job.name or job.id
        text = f"gang {name} waits for members: {members} of {job.min_members} exist"
        if members >= job.min_members:
            need = lacking(cluster, job)
            text = f"gang {name} waits for members: {len(able)} of {need} can be tried now"
        if job.groups:
            text = f"gang {name} waits for members: "
            have = count_by_group(cluster, job, able)
            lacks = explain_missing(job.groups, have)
            text += lacks or f"{have.total()} of {job.min_members} can be tried now"
        self.note(job.id, text)
        self._statuses[job.id].withheld = True
        self._untold.add(job.id)

    def _lacks_room(self, cluster: Cluster, job: Job, able: list[int]) -> bool:
        """Return whether all machines together have too little room for a gang; says so."""
        lacking = lacking_room(cluster, job, able, preempts=self._options.preemption)
        if lacking:
            what = ", ".join(lacking)
            self.note(
                job.id,
                f"gang {job.name or job.id} waits for the least resources that it asks for: all "
                f"{format_number(len(cluster.machines), 'node')} together have too little room left of {what}",
            )
            self._untold.add(job.id)
        return bool(lacking)

    def keep_unschedulable(self, cluster: Cluster, now: float) -> None:
        """Hold back again the requeued members of gangs that lack members, as room does not help those."""
        for job_id, status in self._statuses.items():
            job = cluster.jobs.gang(job_id) if status.withheld else None
            if job is not None and job_id not in cluster.jobs.changed:  # else it was requeued for a reason
                able = able_members(cluster, job, now)
                lacks = (
                    lacking_beside(cluster, job, able) if job.groups else lacking(cluster, job) - len(able)
                )
                if lacks > 0:
                    hold_back(cluster, able)

    # --- after a round -------------------------------------------------------------------------------------------

    def note(self, job_id: str, message: str) -> None:
        """Note what a gang waits for."""
        self._statuses.setdefault(job_id, _GangStatus()).message = message
        self._news.add(job_id)

    def note_tried(
        self, cluster: Cluster, jobs: Sequence[str], gang: Int64, members: Sequence[Int64]
    ) -> None:
        """Note why gangs that were tried in vain wait: as the first of their members does.

        ``jobs``: those that were tried; ``gang``: int64[C], index into them of each group of tasks, -1 for none;
        ``members``: rows of each group.
        """
        tasks = cluster.tasks
        for number, job in enumerate(jobs):
            if cluster.jobs.gang(job) is None:
                continue
            for index in np.flatnonzero(gang == number).tolist():
                waiting = members[index][tasks.state[members[index]] == TaskPhase.PENDING]
                if len(waiting):
                    self.note(job, tasks.message[int(waiting[0])])
                    break

    def withheld(self, cluster: Cluster) -> list[Unscheduled]:
        """Return new messages for members of gangs that could not be tried."""
        tasks = cluster.tasks
        found = []
        for job_id in sorted(self._untold):
            message = self._statuses[job_id].message if job_id in self._statuses else ""
            told = [task for task in _list_pending(cluster, job_id) if tasks.message[task] != message]
            if told and message:
                tell(cluster, told, message)
                found.append(Unscheduled(tuple(tasks.uid[task] for task in told), message))
        self._untold.clear()
        return found + self._surplus.take_notices(cluster) if self._surplus.untold else found

    def states(self, cluster: Cluster, now: float) -> tuple[GangState, ...]:
        """Return gangs whose standing changed since this was last asked, by job."""
        found = self._untold_states(cluster, now)
        self._news.clear()
        for state in found:
            self._statuses[state.job].told = state
        return tuple(found)

    def _untold_states(self, cluster: Cluster, now: float) -> list[GangState]:
        self._look(cluster, now)
        found = []
        for job_id in sorted(self._news):
            job, status = cluster.jobs.gang(job_id), self._statuses.get(job_id)
            if job is None or status is None:
                continue
            state = _state(cluster, job, status, self._evictions)
            if state != status.told:
                found.append(state)
        return found

    # --- time ----------------------------------------------------------------------------------------------------

    def next_in(self, cluster: Cluster, now: float) -> float | None:
        """Return seconds until something is due or to be told, None if nothing is."""
        if self._untold_states(cluster, now):
            return 0.0
        self._news.clear()
        moments = []
        for job_id, status in self._statuses.items():
            job = cluster.jobs.gang(job_id)
            if job is not None and status.since is not None:
                moments.append(status.since + self._seconds(job))
            if self._late(cluster, job_id, status):
                moments.append(now)
        return max(0.0, min(moments) - now) if moments else None

    def expire(self, cluster: Cluster, now: float) -> list[Delta]:
        """Give up the gangs that have not become whole in time; returns the deltas that release bound members.

        Bindings that were on their way may still succeed: such members are evicted as well.
        """
        self._look(cluster, now)
        deltas = []
        for job_id in sorted(self._statuses):
            status, job = self._statuses[job_id], cluster.jobs.gang(job_id)
            if job is None:
                continue
            late = self._late(cluster, job_id, status)
            if late:
                deltas += self._release(cluster, late, now)
                status.told_to_go |= {cluster.tasks.uid[task] for task in late}
            if status.since is None or now < status.since + self._seconds(job):
                continue
            told = self._release(cluster, cluster.jobs.members(job_id), now)
            deltas += told
            status.told_to_go = frozenset(delta.uid for delta in told)
            self._look(cluster, now)
            status.since = None
            status.failed = True
            status.message = f"not whole {self._seconds(job):g} s after it was decided"
        return deltas

    def _late(self, cluster: Cluster, job_id: str, status: _GangStatus) -> list[int]:
        """Return members (rows) of a gang that was given up which have been bound since."""
        if not status.failed or not self._options.evict_failed_gangs:
            return []
        tasks = cluster.tasks
        return [
            task
            for task in cluster.jobs.members(job_id)
            if tasks.state[task] == TaskPhase.BOUND
            and not tasks.leaving[task]
            and tasks.uid[task] not in status.told_to_go
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

    def _seconds(self, job: Job) -> float:
        return job.gang_seconds or self._options.gang_seconds

    def _look(self, cluster: Cluster, now: float) -> None:
        """Bring the standings of changed gangs up to date."""
        changed = set(cluster.jobs.changed)
        cluster.jobs.changed.clear()
        self._news |= changed
        for job_id in changed:
            job = cluster.jobs.gang(job_id)
            if job is None or not cluster.jobs.members(job_id):
                self._statuses.pop(job_id, None)
                continue
            status = self._statuses.setdefault(job_id, _GangStatus(whole=job.was_whole))
            status.withheld = False
            bound, assumed, leaving = count_members(cluster, job_id)
            if lacking(cluster, job) <= 0:
                status.failed, status.message = False, ""
            if is_bound_whole(cluster, job):
                status.whole, status.since = True, None
            elif bound + assumed == 0:
                # A member that was told to leave may stay after all.
                status.whole, status.since = status.whole and leaving > 0, None
            elif not status.whole and status.since is None and not status.failed:
                status.since = now


def _list_pending(cluster: Cluster, job_id: str) -> list[int]:
    """Return the members (rows) of a gang that wait, in their order."""
    rows = np.fromiter(cluster.jobs.members(job_id), dtype=np.int64)
    found: list[int] = rows[cluster.tasks.state[rows] == int(TaskPhase.PENDING)].tolist()
    return found


def _state(cluster: Cluster, job: Job, status: _GangStatus, evictions: PendingEvictions) -> GangState:
    """Return the state of a gang to report: its progress, and what it waits for."""
    bound, assumed, leaving = count_members(cluster, job.id)
    phase, message = GangPhase.WAITING, status.message
    if is_bound_whole(cluster, job):
        phase, message = GangPhase.BOUND, ""
    elif status.failed:
        phase = GangPhase.FAILED
    elif leaving:
        phase, message = GangPhase.PREEMPTED, "members make room for more important tasks"
    elif lacking(cluster, job) <= 0:
        preempting = evictions.is_awaited(cluster, cluster.jobs.members(job.id))
        phase, message = GangPhase.PREEMPTING if preempting else GangPhase.PLACED, ""
    members = len(cluster.jobs.members(job.id))
    return GangState(job.id, phase, message, members, bound + assumed, job.min_members)
