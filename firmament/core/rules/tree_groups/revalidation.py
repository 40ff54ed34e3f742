"""Checks tree groups when a round is closed: whether rules, tree and placed tasks are still as the round saw them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.group_terms import TopologyModel, TopologyTerms
from cost_models.interface import Int64, MachineColumns
from firmament.core.rules.gangs.members import list_staying_members
from firmament.core.rules.tree_groups.compilation import list_level_rules
from firmament.core.rules.tree_groups.nested import list_labels, nest_groups
from firmament.core.state.cluster import Cluster
from firmament.core.tree_solver.groups import GroupTerms, TreeGroup
from firmament.core.tree_solver.nested.trees import NestedGroup


@dataclass(frozen=True, slots=True)
class DecidedGroups:
    """The tree groups as a round saw them when it began."""

    terms: GroupTerms
    """The tree of machines and the groups, by number of the gang."""
    jobs: Sequence[str]
    """Jobs of the round's gangs."""
    machines: Sequence[str]
    """Names of the round's machines."""

    def find_overtaken(
        self,
        cluster: Cluster,
        model: TopologyModel | None,
        columns: Callable[[], MachineColumns],
        used: Mapping[str, Int64],
    ) -> frozenset[str]:
        """Return the jobs whose decided machines are no longer valid, and those that got rules since the round began.

        A decision holds while three things are unchanged: the group's rules, the tree around the decided machines,
        and the group's placed tasks.

        ``columns``: the machines as they are now. ``used``: by job, the machines (rows of the round) that were
        decided for it.
        """
        number = {self.jobs[gang]: gang for gang in self.terms.every}
        overtaken = set(cluster.ruled_gangs - number.keys())
        ruled: dict[str, TreeGroup] = {}
        for job in used:
            group = self.terms.every[number[job]]
            if isinstance(group, TreeGroup):
                ruled[job] = group
            elif not self._is_still_nested(cluster, job, group, used[job]):
                overtaken.add(job)
        if model is None or not ruled:
            return frozenset(overtaken)
        now = model.topology_terms(columns())
        stands = (
            job for job, group in ruled.items() if self._is_still_valid(cluster, now, job, group, used[job])
        )
        return frozenset(overtaken | (ruled.keys() - set(stands)))

    def _is_still_nested(self, cluster: Cluster, name: str, group: NestedGroup, machines: Int64) -> bool:
        """Return whether a tree of groups, its placed tasks, and the domains of ``machines`` are still the same."""
        job, domains = cluster.jobs.gang(name), self.terms.domains
        if job is None or not set(list_labels([job])) <= set(domains.keys):
            return False
        now = nest_groups(cluster, job, domains.keys, [], [])
        same = (group.names, group.within, group.rather_within, group.apart, group.divided)
        same_now = (now.names, now.within, now.rather_within, now.apart, now.divided)
        if same != same_now or not np.array_equal(group.parent, now.parent):
            return False
        rows = cluster.machines.row_of
        was = Counter(
            (at, self.machines[row])
            for at, row in zip(group.held_group.tolist(), group.held_machine.tolist(), strict=True)
        )
        names = [each.name for each in cluster.machines.specs]
        held = zip(now.held_group.tolist(), now.held_machine.tolist(), strict=True)
        if was != Counter((at, names[row]) for at, row in held):
            return False
        for machine in machines.tolist():
            row = rows.get(self.machines[machine], -1)
            labels = cluster.machines.specs[row].labels if row >= 0 else {}
            for key, code, values in zip(domains.keys, domains.code[:, machine], domains.values, strict=True):
                if labels.get(key) != (values[code] if code >= 0 else None):
                    return False
        return True

    def _is_still_valid(
        self, cluster: Cluster, now: TopologyTerms, job: str, group: TreeGroup, machines: Int64
    ) -> bool:
        """Return whether a group's rules, its placed tasks, and the tree around ``machines`` are still the same."""
        terms, rows = self.terms, cluster.machines.row_of
        if job not in now.groups or now.levels != terms.tree.levels:
            return False
        if list_level_rules(now.groups[job], now.levels) != group.rules:
            return False
        tree = terms.tree
        for machine in machines.tolist():
            leaf, at = int(terms.position[machine]), rows.get(self.machines[machine], -1)
            if (tree.leaf_path(leaf) if leaf < tree.leaves else None) != (now.paths[at] if at >= 0 else None):
                return False
        held = {tree.leaf_path(leaf): int(group.held[leaf]) for leaf in np.flatnonzero(group.held).tolist()}
        paths = [now.paths[row] for row in cluster.tasks.machine[list_staying_members(cluster, job)].tolist()]
        return held == Counter(path for path in paths if path is not None)
