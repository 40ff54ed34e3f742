"""States of preemption with quotas in a few words, without records and rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.flow.problem import Assignments
from firmament.core.preemption.node_state import PreemptionState
from firmament.core.preemption.problem import PreemptionTuning
from tests.firmament.core.preemption.states import Gang, Victim, Waiting, pose
from tests.support.core import problem


def quota_state(
    terms: QuotaTerms,
    waiting: Sequence[Waiting],
    free: Sequence[Sequence[int]],
    victims: Sequence[Victim] = (),
    *,
    draws: Sequence[int] = (),
    feasible: Sequence[Sequence[bool]] | None = None,
    occupied: Sequence[Sequence[bool]] | None = None,
    pins: dict[int, list[int]] | None = None,
    gangs: Sequence[Gang] = (),
    placed: Sequence[tuple[int, int]] = (),
    gang: Sequence[int] = (),
    gang_need: Sequence[int] = (),
) -> PreemptionState:
    """A state whose class c draws by ``terms.draw[c]``, and whose victim v draws by ``draws[v]``.

    All classes may evict for quota. Victims and classes came in the order in which they stand here, victims first.
    """
    posed = problem(
        tasks=[each.count for each in waiting],
        requests=[each.size for each in waiting],
        free=free,
        priority=[each.priority for each in waiting],
        feasible=feasible,
        pins=pins,
    )
    posed = replace(posed, quotas=terms)
    if gang:
        posed = replace(posed, gang=np.array(gang), gang_need=np.array(gang_need, dtype=np.int64))
    given = replace(
        pose(waiting, victims, gangs=gangs),
        draw=np.array(draws, dtype=np.int64),
        reclaims=np.ones(len(waiting), dtype=np.bool_),
        age=np.arange(len(victims)),
        since=np.arange(len(waiting)) + len(victims),
        occupied=None if occupied is None else np.array(occupied),
    )
    return PreemptionState(posed, given, Assignments.from_single_tasks(list(placed)), PreemptionTuning())
