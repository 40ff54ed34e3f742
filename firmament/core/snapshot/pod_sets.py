"""Pod sets of which some tasks have machines already: the others take the same flavor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firmament.core.constraints.quota_flavors import find_flavor_choice
from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.pod_sets import find_pod_sets
from firmament.core.snapshot.grouping import TaskGroups
from firmament.core.state.cluster import Cluster


def pin_started_pod_sets(
    cluster: Cluster, problem: PlacementProblem, groups: TaskGroups, jobs: Sequence[str]
) -> PlacementProblem:
    """Return the problem with the waiting tasks of pod sets pinned to the machines of the flavor that these have.

    ``jobs``: the job of each gang. A set whose tasks have machines of no common flavor is left alone.
    """
    sets, terms, tasks = find_pod_sets(problem), problem.quotas, cluster.tasks
    if terms is None or not sets.any():
        return problem
    pins = dict(problem.pins)
    for cls in np.flatnonzero(sets).tolist():
        rows = np.array(cluster.jobs.members(jobs[int(problem.gang[cls])]), dtype=np.int64)
        machines = tasks.machine[rows[tasks.cls[rows] == groups.cls[cls]]]
        machines = machines[machines >= 0]
        if not len(machines):
            continue
        found = find_flavor_choice(terms, int(terms.draw[problem.shape[cls]]), machines)
        if found is not None:
            pins[cls] = np.flatnonzero(problem.limit_to_pins(cls, found))
    return replace(problem, pins=pins)
