"""The policy that prefers no machine to another: tasks go wherever they fit.

Firmament's trivial model connects every task to one cluster aggregator, which leads to each machine at cost 0. Two
parts of that model are left out: arcs to randomly preferred machines, which only tested its graph code, and an
aggregator per program, which led to no machine.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Assessment, BaseModel, MachineColumns, Range, ShapeBatch


class Trivial(BaseModel):
    """Charges nothing for any machine, however full it is."""

    name = "trivial"
    kind = "policy"
    range = Range(best=0, worst=100)

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:  # noqa: ARG002 - interface
        """Return 0 for every shape and machine."""
        return Assessment(raw=np.zeros((shapes.count, 1)))
