"""Finds waiting tasks for which too little quota is left; reserving machines for such a task would be useless."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.constraints.remaining_quota import RemainingQuota
from firmament.core.rules.framework.limit_rule import RoundDemand
from firmament.core.rules.gangs.members import count_missing_members
from firmament.core.rules.registry import find_quotas, list_drawing
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


def find_lacking_quota(cluster: Cluster, rows: Int64) -> Bool:
    """Return which pending tasks (int64[N] rows) have too little quota now, wherever they go: bool[N].

    Members of a gang lack quota if there is too little for all members that the gang needs.
    """
    tasks, jobs = cluster.tasks, cluster.jobs
    lacking = np.zeros(len(rows), dtype=np.bool_)
    drawing = frozenset(list_drawing(cluster)).intersection(tasks.cls[rows].tolist())
    if not drawing:
        return lacking
    names = [tasks.job[row] for row in rows.tolist()]
    gangs = {name: gang for name in {*names} if (gang := jobs.gang(name)) is not None}
    members = {name: _list_pending(cluster, name) for name in gangs}
    left = _QuotaLeft(
        cluster, np.concatenate([tasks.cls[rows], *(tasks.cls[each] for each in members.values())])
    )
    too_few = {
        name: left.count_served(tasks.cls[members[name]].tolist()) < count_missing_members(cluster, gang)
        for name, gang in gangs.items()
    }
    for place, (row, name) in enumerate(zip(rows.tolist(), names, strict=True)):
        lacking[place] = too_few[name] if name in too_few else not left.count_served([int(tasks.cls[row])])
    return lacking


def _list_pending(cluster: Cluster, job: str) -> Int64:
    members = np.array(cluster.jobs.members(job), dtype=np.int64)
    return members[cluster.tasks.state[members] == TaskPhase.PENDING]


class _QuotaLeft:
    """The amounts that quotas have left for tasks of some classes (rows)."""

    def __init__(self, cluster: Cluster, classes: Int64) -> None:
        shape_of = {int(cls): cluster.classes.rows[cls].shape for cls in np.unique(classes).tolist()}
        shapes = sorted({*shape_of.values()})
        nothing = np.zeros(len(shapes), dtype=np.int64)
        terms = find_quotas(cluster, RoundDemand(shapes, nothing, nothing[:, None]))
        draw = {} if terms is None else dict(zip(shapes, terms.draw.tolist(), strict=True))
        self._draw_of = {cls: draw.get(shape, -1) for cls, shape in shape_of.items()}
        room = None if terms is None else RemainingQuota(terms)
        self._units = (
            {} if room is None else {each: room.count_units(each) for each in {*draw.values()} - {-1}}
        )

    def count_served(self, classes: Iterable[int]) -> int:
        """Return for how many tasks the quotas suffice at most; ``classes``: the class of each task."""
        wanted = Counter(self._draw_of[cls] for cls in classes)
        return sum(min(count, self._units.get(draw, count)) for draw, count in wanted.items())
