"""NodeName, and machine names in NodeAffinity: confines classes to machines by name, or by volumes on these machines.

For tasks confined to machines by name, kube-scheduler looks only at the named machines. Thousands of classes may
differ in nothing but the one machine that each names. So shapes do not include the machines to which a class is
confined (pins), and no row over all machines is kept for pins. For each class, the index lists the machines to which
the class is confined.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import TaskClass
from firmament.core.reasons import Cause, Reason
from firmament.core.rules.framework.node_rule import MachineRefusal, NodeRule
from firmament.core.rules.volumes.node_volumes import ELSEWHERE
from firmament.core.selectors.label_columns import HOSTNAME
from firmament.core.selectors.node_selector_operators import list_singled_out
from firmament.core.state.cluster import Cluster
from firmament.core.state.machines import MachineTable


class NodeName(NodeRule):
    """Requires that a machine is among those that every term of the required node affinity names."""

    name = "NodeName"
    reasons = (Reason.NOT_NAMED, Reason.WRONG_NAME)
    reads_of_task = ("required",)
    reads_of_machine = ("name",)
    for_tasks_with = ("required",)

    def refusals(self, machines: MachineTable, shape: TaskClass) -> Iterator[MachineRefusal]:
        """Yield the machines that the required terms do not name, if some term names machines."""
        named = list_singled_out(shape.required)
        if named is not None:
            yield MachineRefusal(Cause(Reason.NOT_NAMED), ~machines.find_named(named))


# --- Classes that are confined to few machines.

OUTSIDE = Cause(Reason.NOT_NAMED)
"""Why machines outside a class's pins are refused, if nothing else says where the pins come from."""


def list_pinned_rows(cluster: Cluster, cls: int) -> Int64 | None:
    """Return the rows of the machines to which the class in row ``cls`` is confined, ascending; None: all machines."""
    row = cluster.classes.rows[cls]
    rows: Int64 | None = None
    if row.pins is not None:
        known = cluster.machines.row_of
        rows = np.array(sorted(known[name] for name in row.pins if name in known), dtype=np.int64)
    if row.hosts is not None:
        on_hosts = _find_on_hosts(cluster, row.hosts)
        rows = on_hosts if rows is None else np.intersect1d(rows, on_hosts)
    return rows


def list_pin_refusals(cluster: Cluster, cls: int) -> list[MachineRefusal]:
    """Return the refusals of machines that the class in row ``cls`` does not name, or that lack its local volumes."""
    row = cluster.classes.rows[cls]
    found = []
    if row.pins is not None:
        named = Cause(Reason.WRONG_NAME if row.content.machine else Reason.NOT_NAMED)
        found.append(MachineRefusal(named, ~cluster.machines.find_named(row.pins)))
    if row.hosts is not None:
        outside = np.ones(len(cluster.machines), dtype=np.bool_)
        outside[_find_on_hosts(cluster, row.hosts)] = False
        found.append(MachineRefusal(ELSEWHERE, outside))
    return found


def _find_on_hosts(cluster: Cluster, hosts: tuple[str, ...]) -> Int64:
    column = cluster.machines.labels.column(HOSTNAME)
    return np.flatnonzero(column.any_of(hosts, len(cluster.machines)))
