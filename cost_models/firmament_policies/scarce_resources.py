"""Keeps tasks off machines with scarce resources, such as GPUs, that they do not request.

To a small task the largest machines look the emptiest. Without this cost small tasks would fill the machines with
GPUs, and tasks that need GPUs would find no room. A task that needs no GPU goes to a machine with GPUs only if all
other machines are worse by more than this cost. kube-scheduler has no such cost; clusters that need more than a cost
taint these machines.

A resource is *extended* as in Kubernetes: its name has a domain other than kubernetes.io. An extended resource is
*scarce* if at least one machine offers it, and at most half of them do. The scheduler finds these columns
(``scarce_columns``), because a model that is ``per_machine`` may be asked about a few machines only. A task that
requests one of a machine's scarce resources is not charged for the machine's other scarce resources.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Assessment, BaseModel, Int64, MachineColumns, Promises, Range, ShapeBatch

MOST = 0.5
"""A resource counts as scarce if at most this part of the machines offers it."""


class ScarceResources(BaseModel):
    """Charges 1 on machines that offer scarce resources of which the task requests none, else 0."""

    name = "scarce_resources"
    kind = "overlay"
    promises = Promises(per_machine=True)

    def __init__(self, points: int) -> None:
        """Take the cost of a machine with scarce resources, 1 to 100 ``points``."""
        self.range = Range(best=0.0, worst=100.0 / points)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return 1 for each machine that the model charges a shape for, else 0: int8[S, M], or zeros as int8[S, 1]."""
        if not machines.scarce:
            return Assessment(raw=np.zeros((shapes.count, 1), dtype=np.int8))
        columns = list(machines.scarce)
        offers = machines.capacity[:, columns] > 0
        asks = shapes.requests[:, columns] > 0
        raw = np.broadcast_to(offers.any(axis=1).astype(np.int8), (shapes.count, machines.count))
        if asks.any():
            asking = np.flatnonzero(asks.any(axis=1))
            raw = raw.copy()
            raw[asking] &= ~(asks[asking].astype(np.int8) @ offers.T.astype(np.int8) > 0)
        return Assessment(raw=raw)


def is_extended(resource: str) -> bool:
    """Return whether a name is that of an extended resource, as Kubernetes' IsExtendedResourceName says."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")


def scarce_columns(resources: Sequence[str], capacity: Int64) -> tuple[int, ...]:
    """Return the columns of the scarce resources, ascending; ``capacity``: int64[M, K]."""
    extended = [column for column, name in enumerate(resources) if is_extended(name)]
    if not extended:
        return ()
    offering = np.count_nonzero(capacity[:, extended] > 0, axis=0)
    scarce = (offering > 0) & (offering <= MOST * len(capacity))
    return tuple(np.array(extended, dtype=np.int64)[scarce].tolist())
