"""Compiles a round's tree groups: jobs whose tasks are distributed over the tree of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cost_models.group_terms import GroupRules, TopologyModel, TopologyTerms
from cost_models.interface import Int64, MachineColumns
from firmament.core.reasons import format_number
from firmament.core.rules.gangs.members import (
    list_members_asked_to_leave,
    list_staying_members,
    natural_key,
)
from firmament.core.rules.tree_groups.nested import find_domains, list_labels, nest_groups
from firmament.core.state.cluster import Cluster
from firmament.core.tree_solver.groups import NO_GROUPS, GroupTerms, TreeGroup
from firmament.core.tree_solver.solver import ExactSolver, list_inconsistencies
from firmament.core.tree_solver.tree import Rule, Tree, build_tree


@dataclass(frozen=True, slots=True)
class TriedGangs:
    """The gangs that a round tries, with their tasks.

    ``jobs``: the job of each gang. ``gang``: int64[C], the gang of each class of the problem, -1 for none.
    ``members``: for each class, the rows of its tasks.
    """

    jobs: Sequence[str]
    gang: Int64
    members: Sequence[Int64]


def compile_groups(
    cluster: Cluster,
    trees: MachineTrees,
    model: TopologyModel | None,
    columns: MachineColumns,
    called: TriedGangs,
) -> GroupTerms:
    """Return the tree groups among the gangs of a round; `NO_GROUPS` if there are none."""
    ruled = cluster.ruled_gangs
    nested = _compile_nested(cluster, called)
    numbers = [
        number for number, job in enumerate(called.jobs) if job in ruled and number not in nested.groups
    ]
    if model is None or not numbers:
        return nested
    terms = model.topology_terms(columns)
    tree, position = trees.build(terms)
    groups = {
        number: _build_group(cluster, terms.groups[called.jobs[number]], tree, position, called, number)
        for number in numbers
    }
    names = list(cluster.resources.names)
    counted = [names.index(name) for name in terms.resources if name in names]
    return GroupTerms(
        tree,
        ExactSolver(terms.choice),
        groups,
        position,
        np.array(counted, dtype=np.int64),
        nested.domains,
        nested.nested,
        nested.resources,
    )


def _compile_nested(cluster: Cluster, called: TriedGangs) -> GroupTerms:
    """Return the gangs of a round that are trees of groups; `NO_GROUPS` if there are none."""
    jobs = {
        number: job
        for number, name in enumerate(called.jobs)
        if (job := cluster.jobs.gang(name)) is not None and job.groups
    }
    if not jobs:
        return NO_GROUPS
    labels = list_labels([*jobs.values()])
    classes: dict[int, list[int]] = {}
    for cls, number in enumerate(called.gang.tolist()):
        classes.setdefault(number, []).append(cls)
    groups = {
        number: nest_groups(cluster, job, labels, classes[number], called.members)
        for number, job in jobs.items()
    }
    position = np.arange(len(cluster.machines))
    return replace(
        NO_GROUPS,
        nested=groups,
        position=position,
        domains=find_domains(cluster, labels),
        resources=tuple(cluster.resources.names),
    )


def list_groups(cluster: Cluster) -> frozenset[str]:
    """Return the jobs that are distributed over the tree of machines."""
    return cluster.ruled_gangs


class MachineTrees:
    """Builds the tree of machines for a round; keeps the last tree until machines are added, removed or relabelled."""

    def __init__(self) -> None:
        self._terms: TopologyTerms | None = None
        self._tree = build_tree(("",), {})
        self._position = np.empty(0, dtype=np.int64)

    def build(self, terms: TopologyTerms) -> tuple[Tree, Int64]:
        """Return the tree, and int64[M]: the leaf of each machine.

        A machine outside the tree gets the number of leaves.
        """
        known = self._terms
        if known is None or known.levels != terms.levels or known.paths != terms.paths:
            placed = {path: row for row, path in enumerate(terms.paths) if path is not None}
            self._tree = build_tree(terms.levels, placed)
            self._position = np.full(len(terms.paths), self._tree.leaves, dtype=np.int64)
            self._position[self._tree.rows] = np.arange(self._tree.leaves)
            self._terms = terms
        return self._tree, self._position


def list_ruled_members(cluster: Cluster, tasks: Int64) -> Int64:
    """Return which of ``tasks`` (rows) are in a tree group; labels of machines define the tree."""
    ruled = cluster.ruled_gangs
    members = [row for row in tasks.tolist() if cluster.tasks.job[row] in ruled]
    return np.array(members, dtype=np.int64)


def sort_by_natural_name(cluster: Cluster, members: Int64) -> Int64:
    """Return the tasks (rows) sorted by name, with numbers in names compared as numbers."""
    names = cluster.tasks.name
    return np.array(sorted(members.tolist(), key=lambda row: (natural_key(names[row]), row)), dtype=np.int64)


def _build_group(
    cluster: Cluster, rules: GroupRules, tree: Tree, position: Int64, called: TriedGangs, number: int
) -> TreeGroup:
    job = cluster.jobs.gang(called.jobs[number])
    assert job is not None  # ``called`` holds only jobs that are gangs.
    at = position[cluster.tasks.machine[list_staying_members(cluster, job.id)]]
    held = np.bincount(at[at < tree.leaves], minlength=tree.leaves).astype(np.int64)
    classes = np.flatnonzero(called.gang == number)
    of_task = {row: cls for cls in classes.tolist() for row in called.members[cls].tolist()}
    waiting = sort_by_natural_name(cluster, np.array(list(of_task), dtype=np.int64))
    order = np.array([of_task[row] for row in waiting.tolist()], dtype=np.int64)
    levels = list_level_rules(rules, tree.levels)
    size = len(waiting) + int(held.sum())
    refused = _explain_departures(cluster, job.id) or _explain_unlike_requests(cluster, waiting)
    if not refused and tree.leaves:
        units = [tree.count_units(level) for level in range(len(tree.levels))]
        refused = "; ".join(list_inconsistencies(levels, tree.levels, size, units))
    return TreeGroup(rules.name or job.name or job.id, size, levels, held, order, refused)


def list_level_rules(rules: GroupRules, levels: Sequence[str]) -> tuple[Rule, ...]:
    """Return the rules of a group for each level of the tree."""
    return tuple(rules.levels.get(level, Rule()) for level in levels)


def _explain_departures(cluster: Cluster, job_id: str) -> str:
    """Return why a group is refused while members that were asked to leave may stay.

    The result is "" if the group has no members that were asked to leave.
    """
    asked = len(list_members_asked_to_leave(cluster, job_id))
    if not asked:
        return ""
    return f"{format_number(asked, 'pod')} of it {'has' if asked == 1 else 'have'} been asked to leave, and may stay"


def _explain_unlike_requests(cluster: Cluster, waiting: Int64) -> str:
    """Return why a group is refused if its tasks request different amounts; "" if they do not."""
    requests = {
        shape: cluster.requests.get(shape)[0]
        for shape in {cluster.classes.rows[int(cluster.tasks.cls[row])].shape for row in waiting.tolist()}
    }
    asked: list[Mapping[str, int]] = [
        {name: int(amount) for name, amount in zip(cluster.resources.names, vector, strict=False) if amount}
        for _, vector in sorted(requests.items())
    ]
    for other in asked[1:]:
        for name in sorted({*asked[0], *other}):
            one, two = asked[0].get(name, 0), other.get(name, 0)
            if one != two:
                return (
                    f"its pods ask for unlike amounts of {name} ({min(one, two)} and {max(one, two)}); "
                    "give all pods of the group the same requests"
                )
    return ""
