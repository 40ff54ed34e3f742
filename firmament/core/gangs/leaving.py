"""Tasks that would come while the rest of their gang goes: they are held back, so that no half of a gang is left.

A gang that runs as a whole may have further tasks waiting, each for a place of its own. If more important tasks make
the gang go as a whole in the very round in which such a task finds a place, the place is not given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.gangs.members import lacking
from firmament.core.preemption.problem import Eviction, PreemptionProblem
from firmament.core.state.cluster import Cluster


def held_back(
    cluster: Cluster, preemption: PreemptionProblem, decided: Sequence[Eviction], guests: Int64
) -> tuple[list[Eviction], Bool]:
    """The decisions without those for tasks (``guests``, int64[N] rows) whose gang goes, and which are left: bool[N].

    Victims that others need as well are told to go for one of those; nobody else goes for a task that is held back.
    """
    kept: Bool = np.ones(len(decided), dtype=np.bool_)
    going = _going(cluster, preemption, decided)
    if going:
        kept = np.array([cluster.tasks.job[int(guest)] not in going for guest in guests], dtype=np.bool_)
    left = [each for each, keep in zip(decided, kept.tolist(), strict=True) if keep]
    for index in np.flatnonzero(~kept).tolist():
        _hand_over(decided[index], left)
    return left, kept


def _going(cluster: Cluster, preemption: PreemptionProblem, decided: Sequence[Eviction]) -> set[str]:
    """Gangs of which nobody would be left."""
    tasks, jobs = cluster.tasks, cluster.jobs
    if not jobs.any_gang:
        return set()
    told: dict[str, int] = {}
    for each in decided:
        for victim in each.evicts:
            job_id = tasks.job[int(preemption.row[victim])]
            told[job_id] = told.get(job_id, 0) + 1
    return {
        job_id
        for job_id, count in told.items()
        if (job := jobs.gang(job_id)) is not None and job.min_members - lacking(cluster, job) <= count
    }


def _hand_over(lost: Eviction, left: list[Eviction]) -> None:
    """Let the first that counts on them as well tell the victims of a decision that is dropped."""
    for victim in lost.evicts:
        for index, other in enumerate(left):
            if victim in other.awaits:
                beyond = other.beyond | ({victim} & lost.beyond)
                left[index] = replace(other, evicts=(*other.evicts, victim), beyond=beyond)
                break
