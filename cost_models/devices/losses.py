"""Computes by how much a further task lowers the worth of a machine's free devices, for models that state this
worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.devices.columns import DeviceView, make_device_view
from cost_models.devices.known_losses import Judge, KnownLosses
from cost_models.devices.usable_shares import Room, UsualTasks, take_best_fit
from cost_models.devices.usual_pods import StatedPods
from cost_models.interface import Assessment, Float64, Int64, MachineColumns, ShapeBatch

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
    known: KnownLosses,
) -> Assessment:
    """Return by how much a task lowers the worth of each machine, in devices: float64[S, M]; 0 without any devices.

    ``learn`` returns a judge of room for usual tasks: those that the cluster has, and those ``stated``. ``known``:
    losses of earlier calls with the same ``resources`` and ``learn``. In a small round, machines with devices have a
    growth of `GROWTH`.
    """
    raw = np.zeros((shapes.count, machines.count))
    growth = None
    typical = shapes.typical
    view = make_device_view(machines, resources)
    if typical is not None and typical.count and len(view.rows) and shapes.count:
        usual = find_usual(machines, view, typical, stated)
        raw[:, view.rows] = find_losses(view, shapes, learn(view, usual), known)
        growth = grow_in_small_rounds(machines, shapes, view)
    return Assessment(raw=raw, growth=growth)


def find_usual(
    machines: MachineColumns, view: DeviceView, typical: ShapeBatch, stated: StatedPods
) -> UsualTasks:
    """Return the usual tasks: the ``typical`` ones that the cluster has, and those ``stated``."""
    learned = int(typical.counts.sum())
    if not stated:
        return view.describe_usual(typical)
    kinds = view.published + len(view.resources)
    told = stated.describe(machines, view.rows, view.columns, view.published, kinds)
    return told if stated.outweighs(learned) else stated.join(told, view.describe_usual(typical), learned)


def find_losses(view: DeviceView, shapes: ShapeBatch, judge: Judge, known: KnownLosses) -> Float64:
    """Return by how much a task of each shape lowers the worth of each machine with devices: float64[S, D].

    A machine without value loses 0, and so does a machine that the task does not fit.
    """
    count, share = view.find_demand(shapes)
    requests = np.ascontiguousarray(shapes.requests[:, list(view.columns)])
    asked = [b"".join(part.tobytes() for part in row) for row in zip(requests, count, share, strict=True)]
    lose = [_Loss(view.room, judge, *row) for row in zip(requests, count, share, strict=True)]
    return known.find(judge, view.room, asked, lose)


@dataclass(frozen=True, slots=True)
class _Loss:
    """Computes by how much a task of one shape lowers the worth of machines."""

    room: Room
    """What the machines have left."""
    judge: Judge
    """Says what that is worth."""
    requests: Int64
    """int64[R], what the task asks for of resources that are no devices."""
    count: Int64
    """int64[N], how many devices of each kind it takes."""
    share: Float64
    """float64[N], the share that it takes of each; infinite: devices of this kind do not serve it."""

    def __call__(self, rows: Int64, before: Float64) -> Float64:
        """Return by how much the machines in ``rows``, which are worth ``before``, lose: float64[rows]."""
        lost = np.zeros(len(rows))
        worth = before > 0
        kinds = self.room.kind[rows]
        for kind in np.unique(kinds[worth]).tolist():
            count, share = int(self.count[kind]), float(self.share[kind])
            if not np.isfinite(share):
                continue
            places = np.flatnonzero(worth & (kinds == kind))
            here = rows[places]
            shares, rest = self.room.shares[here], self.room.amounts[here] - self.requests
            after, there = take_best_fit(shares, count, share) if count else (shares, np.bool_(True))
            fits = there & (rest >= 0).all(axis=1)
            remaining = self.judge.judge(Room(rest, self.room.kind[here], after), here)
            lost[places] = np.where(fits, np.maximum(before[places] - remaining, 0.0), 0.0)
        return lost


def grow_in_small_rounds(machines: MachineColumns, shapes: ShapeBatch, view: DeviceView) -> Float64 | None:
    """Return `GROWTH` for machines with devices if a round has few tasks: float64[M]; None in larger rounds."""
    if shapes.counts.sum() > FEW_PER_MACHINE * len(view.rows):
        return None
    growth = np.zeros(machines.count)
    growth[view.rows] = GROWTH
    return growth
