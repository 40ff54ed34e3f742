"""Keeps devices usable: prefers machines on which the cluster's usual tasks lose the least usable share of devices.

Source: Fragmentation Gradient Descent, see `usable_shares`. As in that method, a task goes where the expected
unusable share of devices grows least. This model differs in four ways:

* usual tasks are those that the cluster has, waiting and on machines, not those of a trace; at most 256 shapes;
* all resources count, memory and pods too, and every rule about machines, not the model of GPUs alone;
* within a node, a task takes the devices with the least left that have enough; the original tries each of them;
* the original places one task after another. A round charges each task as if it came first, so in a small round the
  second task on a machine costs more (`losses.GROWTH`). Otherwise several tasks would go where each alone loses
  least, although together they lose more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.devices.columns import read_names_and_usual_pods
from cost_models.devices.known_losses import KnownLosses
from cost_models.devices.losses import assess_losses
from cost_models.devices.usable_shares import Room, UsualTasks, expect_usable
from cost_models.interface import (
    Assessment,
    BaseModel,
    Float64,
    Int64,
    MachineColumns,
    Needs,
    Range,
    ShapeBatch,
)


class GpuFragmentation(BaseModel):
    """Charges a task for the devices that usual tasks can no longer use once it is there."""

    name = "gpu_fragmentation"
    kind = "overlay"
    range = Range(best=0, worst=1, bounded=False)

    def __init__(self, **args: Any) -> None:
        names, self._stated = read_names_and_usual_pods(self.name, args)
        self._resources = names.resources
        self._known = KnownLosses()
        self.needs = Needs(devices=names.drivers, typical=True)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the usable share of devices that is lost, in devices: float64[S, M]; 0 on machines without any.

        In a small round, machines with devices have a growth of `losses.GROWTH`.
        """
        return assess_losses(
            machines,
            shapes,
            self._resources,
            self._stated,
            lambda _, usual: UsableShares(usual),
            self._known,
        )


@dataclass(frozen=True, slots=True)
class UsableShares:
    """Says which share of devices a random usual task could use."""

    usual: UsualTasks
    """The usual tasks."""

    def judge(self, room: Room, rows: Int64) -> Float64:
        """Return the share of devices that a usual task could use on average on these machines: float64[rows]."""
        return expect_usable(room, self.usual.select(rows))

    def find_basis(self) -> tuple[bytes, tuple[NDArray[Any], ...]]:
        """Return the usual tasks, and as a column, to which of them each machine is open."""
        usual = self.usual
        tasks = (usual.popularity, usual.requests, usual.count, usual.share)
        common = b"".join(np.ascontiguousarray(part).tobytes() for part in tasks)
        return common, (np.packbits(usual.allowed, axis=0).T,)
