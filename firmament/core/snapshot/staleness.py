"""What has happened since a round's snapshot was taken that could lessen what its machines take.

Tasks that came to a machine count, records about it, and another description of it; so do records that are about no
single machine. Tasks that left it only make room, and reports of use are not held against decisions in the making:
they speak of the time before, and another one comes soon.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from cost_models.interface import Bool
from firmament.core.configuration import CoreConfiguration
from firmament.core.model import Machine
from firmament.core.state.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Seen:
    """What a cluster looked like: ``came``, the place of what came last, as ``Cluster.last_came``; ``machines``, by
    row; ``changes`` of records about no single machine, and ``removals`` of those about one, by kind.
    """

    came: int
    machines: tuple[Machine, ...]
    changes: Mapping[str, int]
    removals: Mapping[str, int]

    @classmethod
    def now(cls, cluster: Cluster, configuration: CoreConfiguration) -> Seen:
        """The cluster as it is; of records, the kinds that some model reads."""
        needs = configuration.needs
        return cls(
            cluster.last_came,
            tuple(cluster.machines.specs),
            {kind: cluster.records.changes[kind] for kind in needs.records if kind not in needs.arrivals},
            {kind: cluster.records.removals[kind] for kind in needs.arrivals},
        )

    def disturbed(self, cluster: Cluster) -> Bool:
        """bool[M], by row then: machines to which something has come since, or that are gone or described anew."""
        found = np.zeros(len(self.machines), dtype=np.bool_)
        if self._anything(cluster):
            found[:] = True
            return found
        table = cluster.machines
        for row, (then, now) in enumerate(zip_longest(self.machines, table.specs)):
            if then is not now and then is not None:
                at = table.row_of.get(then.name, -1)
                found[row] = at < 0 or table.specs[at] != then
        names = self._new_occupied(cluster) | self._newly_recorded(cluster)
        if names:
            found[[row for row, machine in enumerate(self.machines) if machine.name in names]] = True
        return found

    def told(self, cluster: Cluster) -> frozenset[str]:
        """Kinds of records of which some have come or gone since."""
        records = cluster.records
        of_machines = (
            kind
            for kind, removals in self.removals.items()
            if records.removals[kind] != removals
            or max(records.came.get(kind, {}).values(), default=-1) > self.came
        )
        others = (kind for kind, count in self.changes.items() if records.changes[kind] != count)
        return frozenset((*of_machines, *others))

    def _anything(self, cluster: Cluster) -> bool:
        """Whether a record has changed that may concern any machine, or one about some machine has gone."""
        return any(cluster.records.changes[kind] != count for kind, count in self.changes.items()) or any(
            cluster.records.removals[kind] != count for kind, count in self.removals.items()
        )

    def _new_occupied(self, cluster: Cluster) -> set[str]:
        """Names of the machines that tasks have come to."""
        tasks = cluster.tasks
        size = len(tasks.uid)
        new = (tasks.machine[:size] >= 0) & (tasks.came[:size] > self.came)
        return {cluster.machines.specs[row].name for row in np.unique(tasks.machine[:size][new]).tolist()}

    def _newly_recorded(self, cluster: Cluster) -> set[str]:
        """Names under which records about machines have come."""
        return {
            name
            for kind in self.removals
            for name, came in cluster.records.came.get(kind, {}).items()
            if came > self.came
        }
