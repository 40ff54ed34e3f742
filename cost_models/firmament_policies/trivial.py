"""The policy that prefers no machine to another: tasks go wherever they fit.

Firmament's trivial model hangs every task on one cluster aggregator with cost 0 to each machine. Its arcs to random
preferred machines served only to exercise the original's graph code and are left out; so are its per-program
aggregators, which led nowhere.
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
