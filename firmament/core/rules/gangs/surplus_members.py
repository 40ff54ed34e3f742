"""Holds back members of gangs that are not needed now, or whose groups lack members.

A gang with tree rules may have members beyond its size: these wait until another member leaves.
"""

from __future__ import annotations

from firmament.core.model import Job
from firmament.core.reasons import format_number
from firmament.core.results import Unscheduled
from firmament.core.rules.gangs.members import count_by_group, count_lacking, name_group, natural_key
from firmament.core.rules.gangs.missing_members import explain_incomplete_group
from firmament.core.state import waiting
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase
from firmament.core.tree_solver.nested.lacking import list_whole


class Surplus:
    """Holds back members that a gang does not need now, and keeps the messages for these members."""

    def __init__(self) -> None:
        self.unreported: list[tuple[str, str]] = []

    def hold_back(self, cluster: Cluster, job: Job, able: list[int], need: int) -> list[int]:
        """Hold back the tasks in ``able`` (rows) beyond ``need``; return the others, which are the oldest."""
        tasks = cluster.tasks
        able = sorted(able, key=lambda row: (tasks.created[row], natural_key(tasks.name[row]), row))
        beyond = able[need:]
        waiting.hold_back(cluster, beyond)
        members = format_number(job.min_members, "member")
        text = f"beyond size: group {job.name or job.id} has its {members}; this pod waits until one of them leaves"
        self.unreported += [(tasks.uid[row], text) for row in beyond]
        return able[:need]

    def hold_back_incomplete(
        self, cluster: Cluster, job: Job, able: list[int], need: int
    ) -> tuple[list[int], int]:
        """Hold back the tasks in ``able`` (rows) whose groups in the gang's tree lack members.

        Return the other tasks, and how many of them the tree needs; if the tree itself lacks members, this number
        exceeds the number of tasks.
        """
        have = count_by_group(cluster, job, able)
        if count_lacking(job, have) > 0:
            return able, len(able) + 1
        short = {each.name for each in job.groups} - list_whole(job.groups, have)
        beyond = [task for task in able if name_group(cluster, task) in short]
        if beyond:
            waiting.hold_back(cluster, beyond)
            why = {name: explain_incomplete_group(job, have, name) for name in short}
            self.unreported += [(cluster.tasks.uid[task], why[name_group(cluster, task)]) for task in beyond]
            able = [task for task in able if name_group(cluster, task) not in short]
        return able, max(1, need) if able else 0

    def take_notices(self, cluster: Cluster) -> list[Unscheduled]:
        """Return the messages for held-back members that have not been reported yet, and forget them."""
        tasks = cluster.tasks
        news: dict[str, list[str]] = {}
        for uid, message in self.unreported:
            row = tasks.row_of.get(uid)
            if row is not None and tasks.state[row] == TaskPhase.PENDING and tasks.message[row] != message:
                waiting.set_message(cluster, [row], message)
                news.setdefault(message, []).append(uid)
        self.unreported.clear()
        return [Unscheduled(tuple(uids), message) for message, uids in news.items()]
