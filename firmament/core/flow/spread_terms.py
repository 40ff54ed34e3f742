"""Groups of tasks that would rather be apart, on machines and in domains of machines (zones), as costs.

kube-scheduler adds to the score of a node what tasks of the same owner already run on it and in its zone. Here the same
is a convex cost: the k-th task of a group on a machine costs ``machine_step`` x k (counted from 0) more than the first,
and the k-th in a domain ``domain_step`` x k. Tasks that ran before the round count.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cost_models.interface import Float64, Int64


@dataclass(frozen=True, slots=True)
class SpreadTerms:
    """The groups of a round; G groups, C classes, M machines, D domains.

    ``group``: int64[C], -1 for classes of no group; ``domain``: int64[M], all 0 where domains do not matter;
    ``machine_step``, ``domain_step``: float64[G], units. Task i of group ``resident_group[i]`` is on machine row
    ``resident_machine[i]`` already: int64[A].
    """

    group: Int64
    domain: Int64
    machine_step: Float64
    domain_step: Float64
    resident_group: Int64
    resident_machine: Int64

    @property
    def groups(self) -> int:
        """G, the number of groups."""
        return len(self.machine_step)

    @property
    def domains(self) -> int:
        """D, the number of domains."""
        return int(self.domain.max(initial=0)) + 1

    def with_residents(self, groups: Int64, machines: Int64) -> SpreadTerms:
        """The same with further tasks of groups on machines."""
        return replace(
            self,
            resident_group=np.concatenate([self.resident_group, groups]),
            resident_machine=np.concatenate([self.resident_machine, machines]),
        )

    def near(self, group: int, machines: Int64) -> Int64:
        """int64[M]: tasks of a group on each machine, and one more on each of ``machines``."""
        there = self.resident_machine[self.resident_group == group]
        return np.bincount(np.concatenate([there, machines]), minlength=len(self.domain))

    def on_machines(self, groups: Int64, machines: Int64, counts: Int64) -> tuple[Int64, Int64]:
        """Pairs group x M + machine with tasks, ascending, and how many: int64[P] each.

        Of those that ran before, and ``counts[i]`` more of ``groups[i]`` on ``machines[i]``.
        """
        width = np.int64(len(self.domain))
        before = self.resident_group * width + self.resident_machine
        keys = np.sort(np.concatenate([before, np.repeat(groups * width + machines, counts)]))
        first = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]][: len(keys)])
        return keys[first], np.diff(first, append=len(keys))

    def in_domains(self, groups: Int64, machines: Int64, counts: Int64) -> Int64:
        """int64[G, D]: tasks of each group in each domain, counted likewise."""
        width = self.domains
        keys = np.concatenate([self.resident_group, groups]) * width
        keys += self.domain[np.concatenate([self.resident_machine, machines])]
        weights = np.concatenate([np.ones(len(self.resident_group), dtype=np.int64), counts])
        found = np.bincount(keys, weights=weights, minlength=self.groups * width).astype(np.int64)
        return found.reshape(self.groups, width)
