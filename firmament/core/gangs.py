"""The life of gangs: who may be tried, what is retried in its place, and when one is given up.

The one rule: a gang is decided all or nothing. If the driver reports that a member's binding was refused, the member
keeps its place and is bound again there, some times; then it looks for another place, as any member of a running gang
that has lost its machine does. A gang that is not whole in time is given up: members that are bound are told to go (if
so configured), and all wait before they are tried again. A gang has been whole once enough members were bound; from
then on it is never given up, and replacements join it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cost_models.interface import Int64
from firmament.core.cluster import Cluster
from firmament.core.configuration import RoundOptions
from firmament.core.model import Job
from firmament.core.results import Delta, DeltaKind, GangPhase, GangState, Unscheduled
from firmament.core.tasks import State

TRIES_IN_PLACE = 3
"""Bindings of a member that are tried on one machine before the place is given up."""


@dataclass(slots=True)
class _Standing:
    """Where a gang stands. ``since``: when it was decided without being whole yet, None if that is not so."""

    since: float | None = None
    whole: bool = False
    failed: bool = False
    told: GangState | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Muster:
    """``waiting``: rows of the tasks to be tried; ``gang``: int64[N], the gang of each, -1 for none; ``need``:
    int64[G], how many of each gang must be placed; gangs are numbered by age. ``jobs``: their ids.
    """

    waiting: Int64
    gang: Int64
    need: Int64
    jobs: tuple[str, ...]


class Gangs:
    """The gangs of a cluster."""

    def __init__(self, options: RoundOptions) -> None:
        self._options = options
        self._standings: dict[str, _Standing] = {}
        self._rebind: set[str] = set()
        self._news: set[str] = set()
        self._withheld: set[str] = set()

    # --- before a round ------------------------------------------------------------------------------------------

    def muster(self, cluster: Cluster, waiting: Int64, now: float) -> Muster:
        """Complete the gangs among the tasks in ``waiting`` (rows), and leave out those that cannot be whole.

        Members that are parked take part when one of their gang does. Gangs that are left out are parked, and told why.
        """
        self._look(cluster, now)
        tasks, jobs = cluster.tasks, cluster.jobs
        if not jobs.any_gang:
            return Muster(waiting, np.full(len(waiting), -1), np.empty(0, dtype=np.int64), ())
        gangs = jobs.gangs
        concerned = {tasks.job[task] for task in waiting.tolist()} & gangs
        free = [task for task in waiting.tolist() if tasks.job[task] not in concerned]
        called: list[tuple[tuple[float, int], str, list[int], int]] = []
        for job_id in sorted(concerned):
            job = jobs.gang(job_id)
            assert job is not None
            able, need = self._able(cluster, job, now)
            if need <= 0:
                free += able
            elif len(able) < need:
                self._withhold(cluster, job, need)
            else:
                age = min((float(tasks.created[task]), int(tasks.sequence[task])) for task in able)
                called.append((age, job_id, able, need))
        called.sort()
        members = [task for _, _, able, _ in called for task in able]
        gang = [index for index, (_, _, able, _) in enumerate(called) for _ in able]
        return Muster(
            waiting=np.array(free + members, dtype=np.int64),
            gang=np.array([-1] * len(free) + gang, dtype=np.int64),
            need=np.array([need for _, _, _, need in called], dtype=np.int64),
            jobs=tuple(job_id for _, job_id, _, _ in called),
        )

    def _able(self, cluster: Cluster, job: Job, now: float) -> tuple[list[int], int]:
        """Members that could be tried now, and how many of them must be placed."""
        tasks = cluster.tasks
        members = cluster.jobs.members(job.id)
        running = sum(tasks.state[task] in (State.ASSUMED, State.BOUND) for task in members)
        able = [
            task
            for task in members
            if tasks.state[task] == State.PENDING
            and not tasks.refused[task]
            and tasks.not_before[task] <= now
        ]
        return able, job.min_members - running

    def _withhold(self, cluster: Cluster, job: Job, need: int) -> None:
        """Park a gang that lacks members."""
        tasks = cluster.tasks
        members = cluster.jobs.members(job.id)
        pending = [task for task in members if tasks.state[task] == State.PENDING]
        text = f"gang {job.name or job.id} waits for members: {len(members)} of {job.min_members} exist"
        if len(members) >= job.min_members:
            text = f"gang {job.name or job.id} waits for members that cannot be tried yet: {need} are needed"
        self.note(job.id, text)
        self._withheld.add(job.id)
        for task in pending:
            tasks.parked[task] = True

    # --- after a round -------------------------------------------------------------------------------------------

    def note(self, job_id: str, message: str) -> None:
        """Note what a gang waits for."""
        self._standings.setdefault(job_id, _Standing()).message = message
        self._news.add(job_id)

    def withheld(self, cluster: Cluster) -> list[Unscheduled]:
        """What the members of gangs that could not be tried have to be told, if that is new to them."""
        tasks = cluster.tasks
        found = []
        for job_id in sorted(self._withheld):
            message = self._standings[job_id].message if job_id in self._standings else ""
            told = [
                task
                for task in cluster.jobs.members(job_id)
                if tasks.state[task] == State.PENDING and tasks.message[task] != message
            ]
            for task in told:
                tasks.message[task] = message
            if told and message:
                found.append(Unscheduled(tuple(tasks.uid[task] for task in told), message))
        self._withheld.clear()
        return found

    def states(self, cluster: Cluster, now: float) -> tuple[GangState, ...]:
        """Gangs whose standing changed since this was last asked, by job."""
        self._look(cluster, now)
        news, self._news = self._news, set()
        found = []
        for job_id in sorted(news):
            job = cluster.jobs.gang(job_id)
            if job is None:
                continue
            standing = self._standings.setdefault(job_id, _Standing())
            state = self._state(cluster, job, standing)
            if state != standing.told and (state.members or standing.told is not None):
                standing.told = state
                found.append(state)
        return tuple(found)

    def _state(self, cluster: Cluster, job: Job, standing: _Standing) -> GangState:
        tasks = cluster.tasks
        members = cluster.jobs.members(job.id)
        bound = sum(bool(tasks.state[task] == State.BOUND and not tasks.leaving[task]) for task in members)
        assumed = sum(bool(tasks.state[task] == State.ASSUMED) for task in members)
        leaving = any(tasks.leaving[task] for task in members)
        phase, message = GangPhase.WAITING, standing.message
        if bound >= job.min_members:
            phase, message = GangPhase.BOUND, ""
        elif standing.failed:
            phase = GangPhase.FAILED
        elif leaving:
            phase, message = GangPhase.PREEMPTED, "members make room for more important tasks"
        elif bound + assumed >= job.min_members:
            phase, message = GangPhase.PLACED, ""
        return GangState(job.id, phase, message, len(members), bound + assumed, job.min_members)

    # --- bindings that are refused -------------------------------------------------------------------------------

    def keeps_place(self, cluster: Cluster, task: int) -> bool:
        """Whether a task whose binding was refused is a member to be bound again where it is, after its back-off."""
        tasks = cluster.tasks
        job = cluster.jobs.gang(tasks.job[task])
        if job is None or tasks.failures[task] >= TRIES_IN_PLACE:
            return False
        self._rebind.add(tasks.uid[task])
        return True

    def due(self, cluster: Cluster, now: float) -> list[Delta]:
        """Bindings of members that are to be tried again in their places."""
        tasks = cluster.tasks
        deltas = []
        for uid in sorted(self._rebind):
            task = tasks.row_of.get(uid)
            if task is None or tasks.state[task] != State.ASSUMED:
                self._rebind.discard(uid)
            elif tasks.not_before[task] <= now:
                self._rebind.discard(uid)
                deltas.append(Delta(DeltaKind.PLACE, uid, cluster.where(task)))
        return deltas

    # --- time ----------------------------------------------------------------------------------------------------

    def next_in(self, cluster: Cluster, now: float) -> float | None:
        """Seconds until something is due or to be told, None if nothing is."""
        if cluster.jobs.changed or self._news:
            return 0.0
        moments = []
        for uid in self._rebind:
            task = cluster.tasks.row_of.get(uid)
            moments.append(now if task is None else float(cluster.tasks.not_before[task]))
        for job_id, standing in self._standings.items():
            job = cluster.jobs.gang(job_id)
            if job is not None and standing.since is not None:
                moments.append(standing.since + self._seconds(job))
        return max(0.0, min(moments) - now) if moments else None

    def expire(self, cluster: Cluster, now: float) -> list[Delta]:
        """Give up the gangs that have not become whole in time; returns the deltas that release bound members."""
        self._look(cluster, now)
        deltas = []
        for job_id in sorted(self._standings):
            standing, job = self._standings[job_id], cluster.jobs.gang(job_id)
            if job is None or standing.since is None or now < standing.since + self._seconds(job):
                continue
            standing.since = None
            standing.failed = True
            standing.message = f"not whole {self._seconds(job):g} s after it was decided"
            deltas += self._release(cluster, cluster.jobs.members(job_id), now)
            cluster.jobs.touch(job_id)
        return deltas

    def _release(self, cluster: Cluster, members: Iterable[int], now: float) -> list[Delta]:
        tasks = cluster.tasks
        deltas = []
        for task in members:
            if tasks.state[task] == State.ASSUMED:
                cluster.vacate(task)
                tasks.state[task] = State.PENDING
                cluster.version += 1
            elif (
                tasks.state[task] == State.BOUND
                and self._options.evict_failed_gangs
                and not tasks.leaving[task]
            ):
                tasks.leaving[task] = True
                deltas.append(Delta(DeltaKind.PREEMPT, tasks.uid[task], cluster.where(task)))
            if tasks.state[task] == State.PENDING:
                tasks.not_before[task] = now + self._options.last_backoff
                tasks.parked[task] = False
        return deltas

    def _seconds(self, job: Job) -> float:
        return job.gang_seconds or self._options.gang_seconds

    def _look(self, cluster: Cluster, now: float) -> None:
        """Bring the standings of changed gangs up to date."""
        changed = set(cluster.jobs.changed)
        cluster.jobs.changed.clear()
        self._news |= changed
        tasks = cluster.tasks
        for job_id in changed:
            job, members = cluster.jobs.gang(job_id), cluster.jobs.members(job_id)
            if job is None or not members:
                self._standings.pop(job_id, None)
                continue
            standing = self._standings.setdefault(job_id, _Standing())
            bound = sum(tasks.state[task] == State.BOUND for task in members)
            running = bound + sum(tasks.state[task] == State.ASSUMED for task in members)
            if bound >= job.min_members:
                standing.whole, standing.since, standing.failed, standing.message = True, None, False, ""
            elif running == 0:
                standing.whole, standing.since = False, None
            elif not standing.whole and standing.since is None and not standing.failed:
                standing.since = now
            if running >= job.min_members:
                standing.message = ""
            if standing.failed and running == 0:
                standing.failed = False
