"""Where gangs stand, and what the driver is told of that."""

from __future__ import annotations

from dataclasses import dataclass

from firmament.core.gangs.members import count_members
from firmament.core.model import Job
from firmament.core.results import GangPhase, GangState
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import Evictions


@dataclass(slots=True)
class GangStatus:
    """Where a gang stands. ``since``: when it was decided without being whole yet, None if that is not so;
    ``withheld``: it lacks members that could be tried, so more room would not help it; ``told_to_go``: uids of the
    members that were, when it was given up last.
    """

    since: float | None = None
    whole: bool = False
    failed: bool = False
    withheld: bool = False
    told_to_go: frozenset[str] = frozenset()
    told: GangState | None = None
    message: str = ""


def gang_state(cluster: Cluster, job: Job, status: GangStatus, evictions: Evictions) -> GangState:
    """What is to be told of a gang: how far it has come, and what it waits for."""
    bound, assumed, leaving = count_members(cluster, job.id)
    phase, message = GangPhase.WAITING, status.message
    if bound >= job.min_members:
        phase, message = GangPhase.BOUND, ""
    elif status.failed:
        phase = GangPhase.FAILED
    elif leaving:
        phase, message = GangPhase.PREEMPTED, "members make room for more important tasks"
    elif bound + assumed >= job.min_members:
        preempting = evictions.awaited(cluster, cluster.jobs.members(job.id))
        phase, message = GangPhase.PREEMPTING if preempting else GangPhase.PLACED, ""
    members = len(cluster.jobs.members(job.id))
    return GangState(job.id, phase, message, members, bound + assumed, job.min_members)
