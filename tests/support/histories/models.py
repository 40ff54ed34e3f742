"""Cost models for tests: limits that tasks share across machines and on one machine."""

from __future__ import annotations

import numpy as np

from cost_models.interface import Assessment, BaseModel, JointRows, MachineColumns, Needs, Range, ShapeBatch

RACK, WEIGHT = "rack", "weight"


class SharedLimits(BaseModel):
    """Tasks weigh what their label says; a round may put so much on a rack, and so much on a machine.

    A machine without a rack has no rack limit.
    """

    name = "shared_limits"
    kind = "overlay"
    range = Range(best=0, worst=100)
    needs = Needs(labels=(WEIGHT,))

    def __init__(self, per_rack: dict[str, int], per_machine: int) -> None:
        self._per_rack = per_rack
        self._per_machine = per_machine

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        racks = sorted(self._per_rack)
        amount = np.array([int(row.labels.get(WEIGHT, "0")) for row in shapes.rows], dtype=np.int64)
        row_of = [racks.index(labels[RACK]) if RACK in labels else -1 for labels in machines.labels]
        limits = [self._per_rack[rack] for rack in racks]
        everyone = np.arange(machines.count)
        return Assessment(
            raw=np.zeros((shapes.count, 1)),
            joint=(
                JointRows(np.array(row_of, dtype=np.int64), amount, np.array(limits, dtype=np.int64), "rack"),
                JointRows(everyone, amount, np.full(machines.count, self._per_machine), "machine"),
            ),
        )
