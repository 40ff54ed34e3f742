"""Groups over a tree of machines, looked at once more when a round is closed after events."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cost_models.group_terms import TopologyTerms
from cost_models.interface import Int64
from firmament.core.constraints.tree_groups import rules_of
from firmament.core.flow.terms import Group, GroupTerms
from firmament.core.gangs.members import staying_members
from firmament.core.snapshot.snapshot import Snapshot, model_columns
from firmament.core.state.cluster import Cluster

Path = tuple[str, ...] | None


def overtaken_groups(cluster: Cluster, snapshot: Snapshot, used: Mapping[str, Int64]) -> frozenset[str]:
    """Jobs whose places were decided by what is no longer so: rules, the tree about these places, or the tasks that the
    group has there already. So are those of all that have rules now and had none then.

    ``used``: per job of a group with rules, the machines (rows of the snapshot) that were decided for it.
    """
    terms, model = snapshot.problem.topology, snapshot.configuration.group_model
    ruled = frozenset() if terms is None else frozenset(snapshot.gangs[gang] for gang in terms.groups)
    newly_ruled = cluster.ruled_gangs - ruled
    if terms is None or model is None or not used:
        return newly_ruled
    now = model.topology_terms(model_columns(cluster, snapshot.assessed.machines.now))
    number = {snapshot.gangs[gang]: gang for gang in terms.groups}
    return newly_ruled | frozenset(
        job
        for job, machines in used.items()
        if not _stands(cluster, snapshot, now, job, terms.groups[number[job]], machines)
    )


def _stands(
    cluster: Cluster, snapshot: Snapshot, now: TopologyTerms, job: str, group: Group, machines: Int64
) -> bool:
    """Whether what was decided for a group, on ``machines``, was decided by what is so now."""
    terms = snapshot.problem.topology
    assert terms is not None
    if job not in now.groups or now.levels != terms.tree.levels:
        return False
    return (
        rules_of(now.groups[job], now.levels) == group.rules
        and all(_path_then(terms, row) == _path_now(cluster, snapshot, now, row) for row in machines.tolist())
        and _held_then(terms, group) == _held_now(cluster, now, job)
    )


def _path_then(terms: GroupTerms, row: int) -> Path:
    leaf = int(terms.position[row])
    return terms.tree.path(len(terms.tree.levels) - 1, leaf) if leaf < terms.tree.leaves else None


def _path_now(cluster: Cluster, snapshot: Snapshot, now: TopologyTerms, row: int) -> Path:
    at = cluster.machines.row_of.get(snapshot.machine_names[row], -1)
    return now.paths[at] if at >= 0 else None


def _held_then(terms: GroupTerms, group: Group) -> dict[Path, int]:
    level = len(terms.tree.levels) - 1
    leaves = np.flatnonzero(group.held).tolist()
    return {terms.tree.path(level, leaf): int(group.held[leaf]) for leaf in leaves}


def _held_now(cluster: Cluster, now: TopologyTerms, job: str) -> dict[Path, int]:
    held: dict[Path, int] = {}
    for row in staying_members(cluster, job).tolist():
        path = now.paths[int(cluster.tasks.machine[row])]
        if path is not None:
            held[path] = held.get(path, 0) + 1
    return held
