"""The ledger of zones: what a round's placements take, as the kubelets will take it."""

from __future__ import annotations

from dataclasses import dataclass

from cost_models.interface import Bool, Int64
from cost_models.numa_room import ZoneRoom

REASON = "cannot align pod"
"""Why a machine is refused whose zones are full once the round's placements are there."""


@dataclass(slots=True)
class ZoneLedger:
    """Zones behind the scheduler's ``Ledger``; see there for what the methods guarantee.

    The kubelet sees tasks in the order in which they are bound and gives each the lowest zone that fits, so the order
    of admission has to be that of bindings wherever it aligns.
    """

    zones: ZoneRoom
    reason: str = REASON

    def ordered(self, shapes: Int64, machines: Int64) -> Bool:
        """bool[A]: the machine's kubelet aligns tasks of ``shapes[i]``."""
        return self.zones.policies(shapes, machines) > 0

    def room(self, shape: int) -> Int64:
        """int64[M]: how many more tasks of a shape each machine takes by themselves."""
        return self.zones.room_of(shape)

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        """int64[A]: how many more tasks of ``shapes[i]`` machine ``machines[i]`` takes by themselves."""
        return self.zones.room(shapes, machines)

    def take(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        """Book up to ``counts[i]`` tasks of ``shapes[i]`` on ``machines[i]``; int64[A] of how many each took."""
        return self.zones.take(shapes, machines, counts)

    def copy(self) -> ZoneLedger:
        """Return an independent copy."""
        return ZoneLedger(self.zones.copy(), self.reason)
