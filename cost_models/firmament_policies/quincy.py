"""Data locality: places tasks near their input data.

Source: Firmament's Quincy cost model, after the scheduler of that name (SOSP 2009). Moving a task's input to a machine
costs

    X(machine) = t * (rackData - machineData) + c * (input - rackData)      per GiB

machineData and rackData are the parts of the input that lie on the machine and in its rack; t = 1 is the cost of a
transfer within the rack, and c = 2 that of a transfer from outside. The original has three kinds of paths:

* task -> machine costs X, if the machine holds at least 10 % of the input;
* task -> rack -> its machines costs the highest X in the rack, if the rack holds at least 10 % of the input;
* task -> cluster -> all machines costs the highest X of all machines.

The shortest path to a machine is always the cheapest, so in this model each machine has one figure, on the class's
own arc. (A rack as a node of the network would lead a class to machines that it may not use.) Most machines cost the
highest X, so the answer is a row with that figure, and sparse arcs for the others.

Three parts are left out: the offset P, which only kept the original's costs of running tasks above zero; the costs of
continuing and preempting, which belong to rescheduling; and the arcs task -> unscheduled, as the scheduler has its
own cost of waiting, which exceeds any placement and grows with wait and priority. This model mends two faults of the
original:

* the highest X of a rack is computed anew in each round: the original kept the X of the last machine without data,
  even after the machine had left;
* fractions of a GiB count: the original rounded X to whole GiB, so that moving less than half a GiB was free.

A task without the annotation ``firmament.io/inputs``, or with one that cannot be read, costs nothing anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cost_models.arguments import Arguments
from cost_models.firmament_policies.input_locations import Located, Racks, blocks_of, locate
from cost_models.interface import (
    Assessment,
    BaseModel,
    Float64,
    Int64,
    MachineColumns,
    ModelArgumentError,
    Range,
    ShapeBatch,
    SparseArcs,
)

GIB = 2.0**30
RACK_LABELS = ("topology.kubernetes.io/rack", "topology.kubernetes.io/zone")


class Quincy(BaseModel):
    """Charges for moving a task's input to a machine.

    Arguments:

    * ``torTransferCost`` (1) and ``coreTransferCost`` (2, at least the former): cost per GiB.
    * ``preferredMachineDataFraction`` and ``preferredRackDataFraction`` (0.1 each): a machine or rack with this share
      of the input is preferred.
    * ``rackLabels``: the node labels that name a rack; of several on a node the first counts.
    """

    name = "quincy"
    kind = "policy"
    range = Range(best=0, worst=100, bounded=False)

    def __init__(self, **args: Any) -> None:
        read = Arguments(self.name, args)
        self._rack_cost = read.number("torTransferCost", 1.0, most=1e6)
        self._core_cost = read.number("coreTransferCost", 2.0, most=1e6)
        self._machine_share = read.number("preferredMachineDataFraction", 0.1, most=1.0)
        self._rack_share = read.number("preferredRackDataFraction", 0.1, most=1.0)
        self._rack_labels = read.texts("rackLabels", RACK_LABELS)
        read.finish()
        if self._core_cost < self._rack_cost:
            raise ModelArgumentError(
                f"quincy: coreTransferCost is {self._core_cost:g}; it must be no less than torTransferCost, "
                f"{self._rack_cost:g}"
            )

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        """Return the highest transfer cost X of each shape, float64[S, 1], and sparse arcs for preferred machines."""
        raw = np.zeros((shapes.count, 1))
        notes: list[str] = []
        inputs = []
        for shape, row in enumerate(shapes.rows):
            blocks, note = blocks_of(row)
            if note:
                notes.append(note)
            if blocks:
                inputs.append((shape, blocks))
        if not inputs or machines.count == 0:
            return Assessment(raw=raw, notes=tuple(dict.fromkeys(notes)))
        racks = Racks.build(machines, self._rack_labels)
        row_of = {name: row for row, name in enumerate(machines.names)}
        arcs = []
        for shape, blocks in inputs:
            located = locate(blocks, row_of, racks)
            worst = self._worst_in_racks(located, racks)
            raw[shape, 0] = worst.max()
            machine, figure = self._list_preferred(located, racks, worst)
            arcs.append((np.full(len(machine), shape, dtype=np.int64), machine, figure))
        sparse = SparseArcs(*(np.concatenate(column) for column in zip(*arcs, strict=True)))
        return Assessment(raw=raw, sparse=sparse, notes=tuple(dict.fromkeys(notes)))

    def _transfer(self, total: float, in_rack: Float64, on_machine: Float64) -> Float64:
        """Return the transfer cost X for amounts in bytes, elementwise.

        A block whose rack is known but not its machine counts in ``in_rack`` only.
        """
        return (self._rack_cost * (in_rack - on_machine) + self._core_cost * (total - in_rack)) / GIB

    def _worst_in_racks(self, located: Located, racks: Racks) -> Float64:
        """Return the highest transfer cost X in each rack, that of the machine with the least data: float64[racks]."""
        in_rack = np.zeros(racks.count)
        in_rack[located.rack] = located.rack_bytes
        rack_of = racks.by_machine[located.machine]
        holders = np.bincount(rack_of, minlength=racks.count)
        least = np.full(racks.count, np.inf)
        np.minimum.at(least, rack_of, located.machine_bytes)
        least[holders < racks.size] = 0.0  # some machine of the rack holds no data
        return self._transfer(located.total, in_rack, least)

    def _list_preferred(self, located: Located, racks: Racks, worst: Float64) -> tuple[Int64, Float64]:
        """Return the preferred machines and those of preferred racks, each machine once, and what they cost."""
        rack_rows = located.rack[located.rack_bytes >= self._rack_share * located.total]
        members = [
            racks.order[racks.start[rack] : racks.start[rack] + racks.size[rack]] for rack in rack_rows
        ]
        by_rack = np.concatenate([np.empty(0, dtype=np.int64), *members])
        figure = np.full(len(racks.by_machine), np.nan)
        figure[by_rack] = worst[racks.by_machine[by_rack]]
        own = located.machine_bytes >= self._machine_share * located.total
        rows, held = located.machine[own], located.machine_bytes[own]
        in_rack = located.rack_bytes[np.searchsorted(located.rack, racks.by_machine[rows])]
        figure[rows] = self._transfer(located.total, in_rack, held)
        chosen = np.flatnonzero(~np.isnan(figure))
        return chosen, figure[chosen]
