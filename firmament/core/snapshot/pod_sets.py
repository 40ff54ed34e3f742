"""Confines the waiting tasks of a pod set to the flavor that the set's running tasks already use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from firmament.core.constraints.quota_flavors import find_flavor_choice
from firmament.core.flow.problem import PlacementProblem
from firmament.core.placement.pod_sets import list_pod_sets
from firmament.core.rules.quotas.compilation import number_draws
from firmament.core.snapshot.grouping import TaskGroups
from firmament.core.state.cluster import Cluster


def pin_started_pod_sets(
    cluster: Cluster, problem: PlacementProblem, groups: TaskGroups, jobs: Sequence[str]
) -> PlacementProblem:
    """Return the problem with the waiting tasks of each started pod set pinned to machines of one flavor.

    The flavor is that of the machines that the pod set's running tasks have. ``jobs``: the job of each gang. A pod
    set whose tasks are on machines without a common flavor is not pinned.
    """
    terms, tasks = problem.quotas, cluster.tasks
    sets = list_pod_sets(problem)
    if terms is None or not sets:
        return problem
    pins = dict(problem.pins)
    draw = terms.draw[problem.shape]
    for classes in sets:
        rows = np.array(cluster.jobs.members(jobs[int(problem.gang[classes[0]])]), dtype=np.int64)
        rows = rows[tasks.machine[rows] >= 0]
        together = terms.draws[int(draw[classes[0]])].together
        begun = number_draws(cluster, terms, tasks.cls[rows].tolist())
        joined = [terms.draws[number].together == together != "" for number in begun.tolist()]
        known = (begun >= 0) & (
            np.isin(tasks.cls[rows], groups.cls[classes]) | np.array(joined, dtype=np.bool_)
        )
        if not known.any():
            continue
        draws = np.append(draw[classes], begun[known]).tolist()
        nowhere = [np.empty(0, dtype=np.int64)] * len(classes)
        found = find_flavor_choice(terms, draws, [*nowhere, *tasks.machine[rows[known], np.newaxis]])
        for cls, left in zip(classes, found or (), strict=False):
            pins[cls] = np.flatnonzero(problem.limit_to_pins(cls, left))
    return replace(problem, pins=pins)
