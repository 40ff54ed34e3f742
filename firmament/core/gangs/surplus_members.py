"""Members that a group with rules has beyond its size: they wait until one of the others leaves."""

from __future__ import annotations

from firmament.core.model import Job
from firmament.core.results import Unscheduled
from firmament.core.selectors.natural_order import natural_key
from firmament.core.state import waiting
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import State


class Surplus:
    """The members that are held back, and what they have to be told."""

    def __init__(self) -> None:
        self._untold: list[tuple[str, str]] = []

    def without(self, cluster: Cluster, job: Job, able: list[int], need: int) -> list[int]:
        """Park those of ``able`` (rows) that are beyond ``need``; returns the others, those that came first."""
        tasks = cluster.tasks
        able = sorted(able, key=lambda row: (tasks.created[row], natural_key(tasks.name[row]), row))
        beyond = able[need:]
        waiting.hold_back(cluster, beyond)
        text = f"beyond the size of group {job.name or job.id}, which has its {job.min_members} members"
        self._untold += [(tasks.uid[row], text) for row in beyond]
        return able[:need]

    def told(self, cluster: Cluster) -> list[Unscheduled]:
        """What members have to be told, if that is new to them; once."""
        tasks = cluster.tasks
        news: dict[str, list[str]] = {}
        for uid, message in self._untold:
            row = tasks.row_of.get(uid)
            if row is not None and tasks.state[row] == State.PENDING and tasks.message[row] != message:
                waiting.tell(cluster, [row], message)
                news.setdefault(message, []).append(uid)
        self._untold.clear()
        return [Unscheduled(tuple(uids), message) for message, uids in news.items()]
