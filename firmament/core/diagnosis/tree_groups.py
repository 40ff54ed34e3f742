"""What rules for groups mean for one task: machines outside of the tree, and where the rest of its group is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cost_models.group_terms import NOT_IN_TREE, TopologyTerms
from cost_models.interface import Bool
from firmament.core.configuration import CoreConfiguration
from firmament.core.filters.root_causes import Cause
from firmament.core.scoring.assessment import RoundAssessment
from firmament.core.snapshot.snapshot import Snapshot
from firmament.core.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class ExplainedGroup:
    """``assessed``: with the verdict of the model that knows groups in its place; ``details``: its lines per machine;
    ``model``: its position, -1 for none.
    """

    assessed: RoundAssessment
    model: int = -1
    details: Sequence[tuple[str, ...]] = ()


def explain_group(
    cluster: Cluster, configuration: CoreConfiguration, assessed: RoundAssessment, task: int
) -> ExplainedGroup:
    """Judge the machines for a task (row) by the rules of its group, if it has such."""
    model, name = configuration.group_model, cluster.tasks.job[task]
    if model is None or name not in cluster.ruled_gangs:
        return ExplainedGroup(assessed)
    terms = model.topology_terms(assessed.machines)
    outside = np.array([path is None for path in terms.paths], dtype=np.bool_)
    position = [each.model for each in configuration.models].index(model)
    assessments = list(assessed.assessments)
    assessments[position] = replace(assessments[position], feasible=~outside[None, :], reason=NOT_IN_TREE)
    static = assessed.static[0].with_refusals(outside, Cause(NOT_IN_TREE))
    return ExplainedGroup(
        replace(assessed, assessments=tuple(assessments), static=(static,)),
        position,
        _details(terms, _others(cluster, name, task)),
    )


def _others(cluster: Cluster, name: str, task: int) -> Counter[int]:
    """Tasks of a group by the machine (row) that they are on, but for one task, and those that have been told to go."""
    tasks = cluster.tasks
    there = (row for row in cluster.jobs.members(name) if row != task and not tasks.leaving[row])
    return Counter(int(tasks.machine[row]) for row in there if tasks.machine[row] >= 0)


def _details(terms: TopologyTerms, others: Counter[int]) -> list[tuple[str, ...]]:
    """Per machine a line for each of its units in which tasks of the group are."""
    units: Counter[tuple[str, ...]] = Counter()
    for row, count in others.items():
        path = terms.paths[row]
        for depth in range(1, len(path or ()) + 1):
            units[(path or ())[:depth]] += count
    return [
        tuple(
            f"{level or 'unit'} {'/'.join(path[:depth])}: {units[path[:depth]]} other pods of the group"
            for depth, level in enumerate(terms.levels, start=1)
            if path[:depth] in units
        )
        for path in (path or () for path in terms.paths)
    ]


# --- What tasks of groups are told: which rule keeps their group out, and which machines are not in the tree.


def shortage(snapshot: Snapshot, shortages: Mapping[int, str], index: int) -> str:
    """Why the group of a class of the snapshot found no place; empty if it did, or if the class has no such group."""
    if not len(snapshot.problem.gang):
        return ""
    return shortages.get(int(snapshot.problem.gang[index]), "")


def outside_tree(snapshot: Snapshot, index: int) -> Bool | None:
    """bool[M] of the snapshot: machines that are not in the tree; None for classes without a group."""
    terms = snapshot.problem.topology
    if terms is None or int(snapshot.problem.gang[index]) not in terms.groups:
        return None
    outside: Bool = terms.position >= terms.tree.leaves
    return outside
