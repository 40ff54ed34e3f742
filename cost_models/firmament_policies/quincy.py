"""Data locality: tasks go where their input is.

Source: Firmament's Quincy cost model, after the scheduler of that name (SOSP 2009). Moving a task's input to a machine
costs

    X(machine) = t * (rackData - machineData) + c * (input - rackData)      per GiB

with machineData and rackData the parts of the input on the machine and in its rack, t = 1 across the rack's switch and
c = 2 across the core. The original's arcs, and what is charged when a task takes them:

* task -> machine: X, if the machine holds at least 10 % of the input;
* task -> rack -> its machines: the worst X in the rack, if the rack holds at least 10 % of the input;
* task -> cluster -> all machines: the worst X of all.

The cheapest path to a machine is always the closest one, so the three become one figure per machine, on the class's own
arcs: a shared rack node would carry one class's flow to machines that another class may not use. What is cheapest is
the exception, hence the figures come as sparse arcs, over a row that holds the worst.

Left out: the offset P, which only kept the original's costs of continuing above zero; task -> unscheduled, since the
scheduler's own unscheduled cost (dearer than any placement, growing with wait and priority) stands in its place; the
costs of continuing and of preempting, which belong to rescheduling. Mended here:

* the worst X of a rack is that of its worst machine at present: the original overwrote it with the last machine without
  data, and did not look for a new worst when one left;
* fractions count: the original cut X to whole GiB, so that moving less than half a GiB was free.

A task without an (intelligible) ``firmament.io/inputs`` costs nothing anywhere.
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

    Arguments: ``torTransferCost`` (1) and ``coreTransferCost`` (2, not less), per GiB; ``preferredMachineDataFraction``
    and ``preferredRackDataFraction`` (0.1 each): the share of the input from which a machine or rack is preferred;
    ``rackLabels``: the node labels that name a rack, the first that a node has counts.
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
        """Return the worst X per shape, float64[S, 1], and what preferred racks and machines cost as sparse arcs."""
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
        """Return X, elementwise, of bytes. A block that only its rack is known of may make ``on_machine`` the
        smaller.
        """
        return (self._rack_cost * (in_rack - on_machine) + self._core_cost * (total - in_rack)) / GIB

    def _worst_in_racks(self, located: Located, racks: Racks) -> Float64:
        """Return X of the machine of each rack that holds the least: float64[racks]."""
        in_rack = np.zeros(racks.count)
        in_rack[located.rack] = located.rack_bytes
        rack_of = racks.of[located.machine]
        holders = np.bincount(rack_of, minlength=racks.count)
        least = np.full(racks.count, np.inf)
        np.minimum.at(least, rack_of, located.machine_bytes)
        least[holders < racks.size] = 0.0  # some machine of the rack holds nothing
        return self._transfer(located.total, in_rack, least)

    def _list_preferred(self, located: Located, racks: Racks, worst: Float64) -> tuple[Int64, Float64]:
        """Return machines of preferred racks and preferred machines, each once, and their figures."""
        rack_rows = located.rack[located.rack_bytes >= self._rack_share * located.total]
        members = [
            racks.order[racks.start[rack] : racks.start[rack] + racks.size[rack]] for rack in rack_rows
        ]
        by_rack = np.concatenate([np.empty(0, dtype=np.int64), *members])
        figure = np.full(len(racks.of), np.nan)
        figure[by_rack] = worst[racks.of[by_rack]]
        own = located.machine_bytes >= self._machine_share * located.total
        rows, held = located.machine[own], located.machine_bytes[own]
        in_rack = located.rack_bytes[np.searchsorted(located.rack, racks.of[rows])]
        figure[rows] = self._transfer(located.total, in_rack, held)
        chosen = np.flatnonzero(~np.isnan(figure))
        return chosen, figure[chosen]
