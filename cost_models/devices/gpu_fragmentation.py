"""Keeps devices usable: prefers machines on which the cluster's usual tasks lose the least usable share of devices.

Source: Fragmentation Gradient Descent, see `usable_shares`. As there, a task goes where the expected unusable share of
devices grows least. Different here:

* usual tasks are those that the cluster has, waiting and on machines, and not those of a trace; at most 64 shapes;
* all resources count, memory and pods too, and every rule about machines, not the model of GPUs alone;
* within a node the devices with the least left that have enough are taken; the original tries each of them;
* the original places one task after another. A round charges each as if it came first, so in a small round the second
  task on a machine costs more (`GROWTH`): else several would go where each alone loses least, and together more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cost_models.devices.columns import DeviceView, read_names, see_devices
from cost_models.devices.usable_shares import Room, UsualTasks, expect_usable, take_best_fit
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

GROWTH = 1.0
"""How many devices more each further task of a round costs on a machine."""
FEW_PER_MACHINE = 2
"""Tasks of a round per machine with devices up to which that holds: of more, many have to share machines anyway."""


class GpuFragmentation(BaseModel):
    """Charges a task for the devices that usual tasks can no longer use once it is there."""

    name = "gpu_fragmentation"
    kind = "overlay"
    range = Range(best=0, worst=1, bounded=False)

    def __init__(self, **args: Any) -> None:
        drivers, self._resources = read_names(self.name, args)
        self.needs = Needs(devices=drivers, typical=True)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the usable share of devices that is lost, in devices: float64[S, M]; 0 on machines without any.

        In a small round, machines with devices have a growth of `GROWTH`.
        """
        raw = np.zeros((shapes.count, machines.count))
        growth = None
        typical = shapes.typical
        view = see_devices(machines, self._resources)
        if typical is not None and typical.count and len(view.rows) and shapes.count:
            usual = view.describe_usual(typical)
            raw[:, view.rows] = find_losses(view, shapes, usual)
            if shapes.counts.sum() <= FEW_PER_MACHINE * len(view.rows):
                growth = np.zeros(machines.count)
                growth[view.rows] = GROWTH
        return Assessment(raw=raw, growth=growth)


def find_losses(view: DeviceView, shapes: ShapeBatch, usual: UsualTasks) -> Float64:
    """Return the share of each machine's devices that usual tasks can no longer use after a task of each shape is
    placed there: float64[S, D]; 0 where the task does not fit.
    """
    room = view.room
    before = expect_usable(room, usual)
    count, share = view.find_demand(shapes)
    requests = shapes.requests[:, list(view.columns)]
    lost = np.zeros((shapes.count, len(view.rows)))
    worth = before > 0
    for kind in np.unique(room.kind[worth]).tolist():
        rows = np.flatnonzero(worth & (room.kind == kind))
        shares, amounts = room.shares[rows], room.amounts[rows]
        few = _select(usual, rows)
        for shape in range(shapes.count):
            taken = int(count[shape, kind]), float(share[shape, kind])
            if not np.isfinite(taken[1]):
                continue
            after, there = take_best_fit(shares, *taken) if taken[0] else (shares, np.bool_(True))
            rest = amounts - requests[shape]
            fits = there & (rest >= 0).all(axis=1)
            remaining = expect_usable(Room(rest, room.kind[rows], after), few)
            lost[shape, rows] = np.where(fits, np.maximum(before[rows] - remaining, 0.0), 0.0)
    return lost


def _select(usual: UsualTasks, rows: Int64) -> UsualTasks:
    return UsualTasks(usual.popularity, usual.requests, usual.count, usual.share, usual.allowed[:, rows])
