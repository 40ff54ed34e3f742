"""Charges tasks for machines with extended resources that few machines offer and that they do not ask for.

A task that needs no GPU is welcome on a machine with GPUs only where others are worse by more than this: else small
tasks, for which the largest machines look the emptiest, fill them up, and tasks that need the GPUs find no room.
kube-scheduler knows nothing of the kind; clusters that want more than a cost taint such machines.

A resource is *extended* as in Kubernetes: its name has a domain, and that is not kubernetes.io. It is *scarce* if at
least one machine offers it, and at most half of them do. The scheduler finds these columns (``scarce_columns``), as a
model that is ``per_machine`` may be asked about a few machines only. A task that asks for one of the scarce resources
of a machine is not charged for the others there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cost_models.interface import Assessment, BaseModel, Int64, MachineColumns, Promises, Range, ShapeBatch

MOST = 0.5
"""Largest part of the machines that may offer a resource which counts as scarce."""


class ScarceResources(BaseModel):
    """1 where a machine offers scarce resources and the task asks for none of them, else 0."""

    name = "scarce_resources"
    kind = "overlay"
    promises = Promises(per_machine=True)

    def __init__(self, points: int) -> None:
        """``points``: what such a machine costs, 1 to 100."""
        self.range = Range(best=0.0, worst=100.0 / points)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return int8[S, M]; one column of zeros where nothing is scarce."""
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
    """Return whether a resource's name is one that clusters make up themselves (Kubernetes'
    IsExtendedResourceName).
    """
    domain, slash, _ = resource.partition("/")
    return bool(slash) and domain != "kubernetes.io" and not domain.endswith(".kubernetes.io")


def scarce_columns(resources: Sequence[str], capacity: Int64) -> tuple[int, ...]:
    """Return columns of the scarce resources, ascending; ``capacity``: int64[M, K]."""
    extended = [column for column, name in enumerate(resources) if is_extended(name)]
    if not extended:
        return ()
    offering = np.count_nonzero(capacity[:, extended] > 0, axis=0)
    scarce = (offering > 0) & (offering <= MOST * len(capacity))
    return tuple(np.array(extended, dtype=np.int64)[scarce].tolist())
