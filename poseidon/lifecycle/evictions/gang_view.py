"""What the bridge itself can see of gangs: who is in one, and whether it fails to become whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from poseidon.lifecycle.phases import Phase

if TYPE_CHECKING:
    from poseidon.lifecycle.jobs import Jobs
    from poseidon.lifecycle.pods import Tasks
    from poseidon.pod_groups.groups import Groups

_THERE = frozenset({Phase.ANSWER_DUE, Phase.BOUND, Phase.EVICTING})


class GangView:
    """Counts members by the groups that pods are in, whatever the solver makes of them."""

    def __init__(self, groups: Groups, jobs: Jobs, tasks: Tasks) -> None:
        self._groups = groups
        self._jobs = jobs
        self._tasks = tasks

    def gang_of(self, uid: str) -> str:
        """Return the job of the gang that a pod is in, "" for none."""
        group = self._groups.group_of(uid)
        return group.job.id if group is not None and self._groups.job(group).min_members > 1 else ""

    def is_failing(self, uid: str) -> bool:
        """Whether the gang of a pod has too few members on nodes, and has not been whole: it may be given up."""
        group = self._groups.group_of(uid)
        if group is None or self._jobs.has_been_whole(group.job.id):
            return False
        there = sum(self._is_there(each) for each in group.progress)
        return 0 < there < self._groups.job(group).min_members

    def _is_there(self, uid: str) -> bool:
        record = self._tasks.get(uid)
        return record is not None and record.phase in _THERE
