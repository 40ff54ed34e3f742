"""Computes by how much a further task lowers the worth of a machine's free devices, for models that state this
worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from cost_models.devices.columns import DeviceView, make_device_view
from cost_models.devices.usable_shares import Room, UsualTasks, take_best_fit
from cost_models.devices.usual_pods import StatedPods
from cost_models.interface import Assessment, Float64, Int64, MachineColumns, ShapeBatch

Judge: TypeAlias = Callable[[Room, Int64], Float64]
"""Says what room on the machines of some rows of a view is worth, in devices: float64[rows]."""

GROWTH = 1.0
"""How many devices more each further task of a round costs on a machine."""
FEW_PER_MACHINE = 2
"""Tasks of a round per machine with devices up to which that holds: of more, many have to share machines anyway."""


def assess_losses(
    machines: MachineColumns,
    shapes: ShapeBatch,
    resources: Sequence[str],
    stated: StatedPods,
    learn: Callable[[DeviceView, UsualTasks], Judge],
) -> Assessment:
    """Return by how much a task lowers the worth of each machine, in devices: float64[S, M]; 0 without any devices.

    ``learn`` returns a judge of room for usual tasks: those that the cluster has, and those ``stated``. In a small
    round, machines with devices have a growth of `GROWTH`.
    """
    raw = np.zeros((shapes.count, machines.count))
    growth = None
    typical = shapes.typical
    view = make_device_view(machines, resources)
    if typical is not None and typical.count and len(view.rows) and shapes.count:
        usual = view.describe_usual(typical)
        if stated:
            told = stated.describe(machines, view.rows, view.columns, view.published, usual.count.shape[1])
            usual = stated.join(told, usual, int(typical.counts.sum()))
        raw[:, view.rows] = find_losses(view, shapes, learn(view, usual))
        growth = grow_in_small_rounds(machines, shapes, view)
    return Assessment(raw=raw, growth=growth)


def find_losses(view: DeviceView, shapes: ShapeBatch, judge: Judge) -> Float64:
    """Return by how much a task of each shape lowers the worth of each machine with devices: float64[S, D].

    A machine without value loses 0, and so does a machine that the task does not fit.
    """
    room = view.room
    before = judge(room, np.arange(len(view.rows)))
    count, share = view.find_demand(shapes)
    requests = shapes.requests[:, list(view.columns)]
    lost = np.zeros((shapes.count, len(view.rows)))
    worth = before > 0
    for kind in np.unique(room.kind[worth]).tolist():
        rows = np.flatnonzero(worth & (room.kind == kind))
        shares, amounts = room.shares[rows], room.amounts[rows]
        for shape in range(shapes.count):
            taken = int(count[shape, kind]), float(share[shape, kind])
            if not np.isfinite(taken[1]):
                continue
            after, there = take_best_fit(shares, *taken) if taken[0] else (shares, np.bool_(True))
            rest = amounts - requests[shape]
            fits = there & (rest >= 0).all(axis=1)
            remaining = judge(Room(rest, room.kind[rows], after), rows)
            lost[shape, rows] = np.where(fits, np.maximum(before[rows] - remaining, 0.0), 0.0)
    return lost


def grow_in_small_rounds(machines: MachineColumns, shapes: ShapeBatch, view: DeviceView) -> Float64 | None:
    """Return `GROWTH` for machines with devices if a round has few tasks: float64[M]; None in larger rounds."""
    if shapes.counts.sum() > FEW_PER_MACHINE * len(view.rows):
        return None
    growth = np.zeros(machines.count)
    growth[view.rows] = GROWTH
    return growth
