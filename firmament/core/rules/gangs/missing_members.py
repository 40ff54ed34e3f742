"""Says which members a gang waits for, in messages of its members."""

from __future__ import annotations

from collections import Counter

from firmament.core.model import Job
from firmament.core.rules.gangs.members import count_by_group, count_missing_members
from firmament.core.state.cluster import Cluster
from firmament.core.tree_solver.nested.lacking import explain_incomplete, explain_missing


def explain_missing_members(cluster: Cluster, job: Job, able: list[int]) -> str:
    """Return a message that says what a gang lacks; only its members ``able`` (rows) can be tried now."""
    start, members = _begin(job), len(cluster.jobs.members(job.id))
    if job.groups:
        have = count_by_group(cluster, job, able)
        lacks = explain_missing(job.groups, have)
        return start + (lacks or f"{have.total()} of {job.min_members} can be tried now")
    if members >= job.min_members:
        return f"{start}{len(able)} of {count_missing_members(cluster, job)} can be tried now"
    return f"{start}{members} of {job.min_members} exist"


def explain_incomplete_group(job: Job, have: Counter[str], group: str) -> str:
    """Return what a group in a gang's tree lacks; ``have``: by group, how many members have places or can be tried."""
    return _begin(job) + explain_incomplete(job.groups, have, group)


def _begin(job: Job) -> str:
    return f"gang {job.name or job.id} waits for members: "
