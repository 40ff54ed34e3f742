"""Writes and reads the status of PodGroups in the words and counts of scheduler-plugins' controller.

Phases are those of PodGroups in scheduler-plugins (``pkg/controllers/podgroup_controller.go``), with one difference:
Failed is final in that project; in this module, a group whose failed pods have been replaced is Running again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from poseidon.kube.api.metadata import format_time
from poseidon.kube.api.pod_groups import PodGroup, PodGroupStatus
from poseidon.kube.quarantine import Quarantine
from poseidon.kube.write.patch_writer import GroupStatusWrite
from poseidon.pod_groups.demands import Source
from poseidon.pod_groups.group import Group
from poseidon.pod_groups.group_names import Progress
from poseidon.pod_groups.groups import Groups

PENDING, SCHEDULING, SCHEDULED = "Pending", "Scheduling", "Scheduled"
RUNNING, FAILED, FINISHED = "Running", "Failed", "Finished"

_WHOLE_PHASES = frozenset({SCHEDULED, RUNNING, FAILED, FINISHED})


class PodGroupStatuses:
    """The writes to PodGroups: a new phase at once, counts with ``take_late``.

    A status that another program writes stays until the group itself changes. ``wall`` returns seconds since the epoch.
    """

    def __init__(
        self, groups: Groups, wall: Callable[[], float], quarantine: Quarantine | None = None
    ) -> None:
        self._quarantine = quarantine if quarantine is not None else Quarantine()
        self._groups = groups
        self._wall = wall
        self._written: dict[str, PodGroupStatus] = {}
        self._late: dict[str, GroupStatusWrite] = {}

    def take_writes(self, moved: list[Group]) -> list[GroupStatusWrite]:
        """Return the urgent writes for groups that have changed; keep the other writes for ``take_late``."""
        writes: list[GroupStatusWrite] = []
        for group in moved:
            with self._quarantine.attempt("statuses of groups", group.job.id, name=group.member.name):
                writes.extend(self._take_group_writes(group))
        return writes

    def _take_group_writes(self, group: Group) -> Iterator[GroupStatusWrite]:
        known = self._groups.source(group)
        if known is None:
            return
        uid, found = known
        if not isinstance(found, PodGroup):
            return
        former = self._written.setdefault(uid, found.status)
        status = self._status(group, found, former)
        if status == former:
            self._late.pop(uid, None)
            return
        source = group.member.source
        write = GroupStatusWrite(uid, source.namespace, source.name, status)
        if status.phase != former.phase:
            self._late.pop(uid, None)
            self._written[uid] = status
            yield write
        else:
            self._late[uid] = write

    def take_late(self) -> list[GroupStatusWrite]:
        """Return the writes that were postponed, each once."""
        late, self._late = list(self._late.values()), {}
        self._written.update((write.uid, write.status) for write in late)
        return late

    def forget(self, uid: str) -> None:
        """Remove a PodGroup that has been deleted."""
        self._written.pop(uid, None)
        self._late.pop(uid, None)

    def _status(self, group: Group, found: PodGroup, former: PodGroupStatus) -> PodGroupStatus:
        counts = group.counts
        phase = phase_of(counts, found.spec.min_member)
        started = former.schedule_start_time
        if started is None and phase != PENDING:
            started = format_time(self._wall())
        ended = counts[Progress.SUCCEEDED] + counts[Progress.FAILED]
        return PodGroupStatus(
            phase=phase,
            occupied_by=former.occupied_by or group.owners,
            scheduled=counts[Progress.PLACED] + counts[Progress.RUNNING] + ended,
            running=counts[Progress.RUNNING],
            succeeded=counts[Progress.SUCCEEDED],
            failed=counts[Progress.FAILED],
            schedule_start_time=started,
        )


def phase_of(counts: Mapping[Progress, int], needed: int) -> str:
    """Return the phase of a group that needs ``needed`` pods, by the numbers of its pods."""
    succeeded, failed = counts.get(Progress.SUCCEEDED, 0), counts.get(Progress.FAILED, 0)
    active = counts.get(Progress.RUNNING, 0) + succeeded
    total = sum(counts.values())
    if needed < 1:
        return PENDING
    if succeeded >= needed:
        return FINISHED
    if active >= needed:
        return RUNNING
    if failed + active >= needed:
        return FAILED
    if total < needed:
        return PENDING
    placed = counts.get(Progress.PLACED, 0) + active
    return SCHEDULED if placed >= needed else SCHEDULING


class GangsCompleteBeforeRestart:
    """Finds, once after the start of this process, the gangs that were complete before.

    The class uses the phases in the groups' objects, and the age of the groups' placements. ``timeout``: seconds
    within which a gang must be placed, unless the gang states its own; ``wall`` returns seconds since the epoch.
    """

    def __init__(self, groups: Groups, timeout: float, wall: Callable[[], float]) -> None:
        self._groups = groups
        self._timeout = timeout
        self._wall = wall
        self._phases: dict[str, str] | None = {}

    def note_phase(self, uid: str, found: Source) -> None:
        """Record an object's phase, which an earlier process has written.

        After ``take_jobs``, a call of this method has no effect.
        """
        if self._phases is not None and isinstance(found, PodGroup):
            self._phases[uid] = found.status.phase

    def take_jobs(self) -> list[str]:
        """Return, at the first call, the job IDs of gangs that were complete before. All pods must be known."""
        if self._phases is None:
            return []
        jobs = list(self._whole(self._phases, self._wall()))
        self._phases = None
        return jobs

    def _whole(self, phases: dict[str, str], now: float) -> Iterator[str]:
        for group in self._groups:
            demand, known = self._groups.demand(group), self._groups.source(group)
            if demand is None or demand.min_members <= 1:
                continue
            written = phases.get(known[0], "") if known is not None else ""
            if written in _WHOLE_PHASES or now - group.first_placed > (demand.seconds or self._timeout):
                yield group.job.id
