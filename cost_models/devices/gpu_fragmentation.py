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

from typing import Any

from cost_models.devices.columns import read_names_and_usual_pods
from cost_models.devices.losses import assess_losses
from cost_models.devices.usable_shares import expect_usable
from cost_models.interface import (
    Assessment,
    BaseModel,
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
            lambda _, usual: lambda room, rows: expect_usable(room, usual.select(rows)),
        )
