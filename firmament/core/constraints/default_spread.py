"""Computes costs for groups of tasks that prefer to run apart, on machines and in domains such as zones.

kube-scheduler adds to a node's score the number of tasks of the same owner that already run on the node and in its
zone. This module states the same as a convex cost: the k-th task of a group on a machine (counted from 0) costs
``machine_step`` x k more than the first one, and the k-th in a domain ``domain_step`` x k more. Tasks that ran before
the round count too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Bool, Float64, Int64
from firmament.core.ranks import count_distinct


@dataclass(frozen=True, slots=True)
class SpreadTerms:
    """The groups of tasks that prefer to run apart, in one round, and what it costs if they do not.

    G groups, C classes, M machines, D domains.
    """

    group: Int64
    """int64[C], the group of each class; -1 for classes of no group; empty if there are no groups."""
    domain: Int64
    """int64[M], the domain of each machine; all 0 if domains do not matter."""
    machine_step: Float64
    """float64[G]: each task of a group raises the cost of the group's next task on the same machine by this many
    units."""
    domain_step: Float64
    """float64[G]: each task of a group raises the cost of the group's next task in the same domain by this many
    units."""
    resident_group: Int64
    """int64[A], the group of each task that is on a machine already."""
    resident_machine: Int64
    """int64[A], the machine row of each task in ``resident_group``."""

    @property
    def groups(self) -> int:
        """Number of groups: G."""
        return len(self.machine_step)

    @property
    def domains(self) -> int:
        """Number of domains: D."""
        return int(self.domain.max(initial=0)) + 1

    def add_residents(self, groups: Int64, machines: Int64) -> SpreadTerms:
        """Return the terms with more tasks of ``groups`` on ``machines``."""
        return replace(
            self,
            resident_group=np.concatenate([self.resident_group, groups]),
            resident_machine=np.concatenate([self.resident_machine, machines]),
        )

    def count_near(self, group: int, machines: Int64) -> Int64:
        """Return how many tasks of a group are near each machine, if one more is on each of ``machines``: int64[M]."""
        there = self.resident_machine[self.resident_group == group]
        return np.bincount(np.concatenate([there, machines]), minlength=len(self.domain))

    def count_by_machine(self, groups: Int64, machines: Int64, counts: Int64) -> tuple[Int64, Int64]:
        """Count tasks by group and machine: tasks from before the round, and the given tasks.

        ``counts[i]`` tasks of ``groups[i]`` are given on ``machines[i]``.

        Return the keys (group x M + machine) of the combinations that have tasks, ascending, and their numbers of
        tasks: int64[P] each.
        """
        width = np.int64(len(self.domain))
        before = self.resident_group * width + self.resident_machine
        return count_distinct(np.concatenate([before, np.repeat(groups * width + machines, counts)]))

    def in_domains(self, groups: Int64, machines: Int64, counts: Int64) -> Int64:
        """Return the tasks of each group in each domain, counted as by ``count_by_machine``: int64[G, D]."""
        width = self.domains
        keys = np.concatenate([self.resident_group, groups]) * width
        keys += self.domain[np.concatenate([self.resident_machine, machines])]
        weights = np.concatenate([np.ones(len(self.resident_group), dtype=np.int64), counts])
        found = np.bincount(keys, weights=weights, minlength=self.groups * width).astype(np.int64)
        return found.reshape(self.groups, width)

    def compute_cost(self, classes: Int64, shapes: Int64, machines: Int64, counts: Int64) -> float:  # noqa: ARG002
        """Return the units that ``counts[i]`` tasks of ``classes[i]`` on ``machines[i]`` add to the cost of groups."""
        theirs: Bool = self.group[classes] >= 0
        after = self._compute_near_cost(self.group[classes[theirs]], machines[theirs], counts[theirs])
        return after - self._compute_near_cost(_NONE, _NONE, _NONE)

    def _compute_near_cost(self, groups: Int64, machines: Int64, counts: Int64) -> float:
        """Return what being near each other costs groups' tasks: present ones, and ``counts`` on ``machines``."""
        pairs, on_machine = self.count_by_machine(groups, machines, counts)
        steps = self.machine_step[pairs // np.int64(max(1, len(self.domain)))]
        in_domain = self.in_domains(groups, machines, counts)
        by_domain = (in_domain * (in_domain - 1)).sum(axis=1) * self.domain_step
        return float((steps * (on_machine * (on_machine - 1))).sum() + by_domain.sum()) / 2


_NONE = np.empty(0, dtype=np.int64)

NO_SPREAD = SpreadTerms(_NONE, _NONE, np.empty(0), np.empty(0), _NONE, _NONE)
"""The terms of rounds without groups."""
