"""A cost model that bounds what machines and racks hold, with all that a model may bound by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cost_models.interface import (
    Assessment,
    BaseModel,
    Bool,
    Int64,
    JointRows,
    MachineColumns,
    Needs,
    Range,
    ShapeBatch,
    ShapeRow,
)

RACK, WEIGHT, HOLDS = "rack", "weight", "holds"
SEATED, SEATS = "seated", "seats"
CLOSED = "closed"
FULL = "no seat"


@dataclass
class SeatLedger:
    """Seats on machines, of which a task of some shapes takes one."""

    seats: Int64
    seated: Bool
    reason: str = FULL

    def find_ordered(self, shapes: Int64, machines: Int64) -> Bool:
        return np.zeros(len(shapes), dtype=np.bool_)

    def count_room(self, shape: int) -> Int64:
        return np.maximum(self.seats, 0) if self.seated[shape] else np.full(len(self.seats), 10**6)

    def room_at(self, shapes: Int64, machines: Int64) -> Int64:
        return np.where(self.seated[shapes], np.maximum(self.seats[machines], 0), 10**6)

    def book(self, shapes: Int64, machines: Int64, counts: Int64) -> Int64:
        taken = np.zeros(len(shapes), dtype=np.int64)
        for index, (shape, machine, count) in enumerate(zip(shapes, machines, counts, strict=True)):
            taken[index] = min(count, self.room_at(shapes[[index]], machines[[index]])[0])
            self.seats[machine] -= taken[index] if self.seated[shape] else 0
        return taken

    def copy(self) -> SeatLedger:
        return SeatLedger(self.seats.copy(), self.seated)


class Holding(BaseModel):
    """Tasks weigh, and take a seat, as their labels say; machines hold, and have seats, as theirs do.

    A machine without a label for it holds anything; so does one without a rack, and a rack that is not told of. A
    closed machine takes nobody. Whoever is there already counts.
    """

    name = "holding"
    kind = "overlay"
    range = Range(best=0, worst=100)
    needs = Needs(labels=(WEIGHT, SEATED), residents=True)

    def __init__(self, per_rack: Mapping[str, int]) -> None:
        self._per_rack = per_rack

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        racks = sorted(self._per_rack)
        rack_of = np.array([_index(racks, labels.get(RACK)) for labels in machines.labels], dtype=np.int64)
        weight = np.array([_weight(row) for row in shapes.rows], dtype=np.int64)
        seated = np.array([SEATED in row.labels for row in shapes.rows], dtype=np.bool_)
        held, taken = self._resident(machines)
        rack_held = np.zeros(len(racks), dtype=np.int64)
        np.add.at(rack_held, rack_of[rack_of >= 0], held[rack_of >= 0])
        rack_room = np.array([self._per_rack[rack] for rack in racks], dtype=np.int64) - rack_held
        bounded = np.array([HOLDS in labels for labels in machines.labels], dtype=np.bool_)
        room = np.array([int(labels.get(HOLDS, "0")) for labels in machines.labels], dtype=np.int64) - held
        seats = np.array([int(labels.get(SEATS, "1000")) for labels in machines.labels], dtype=np.int64)
        closed = np.array([CLOSED in labels for labels in machines.labels], dtype=np.bool_)
        return Assessment(
            raw=np.zeros((shapes.count, 1)),
            feasible=np.repeat(~closed[None, :], shapes.count, axis=0),
            reason=CLOSED,
            joint=(
                JointRows(rack_of, weight, np.maximum(rack_room, 0), "rack"),
                JointRows(
                    np.where(bounded, np.arange(machines.count), -1), weight, np.maximum(room, 0), "machine"
                ),
            ),
            ledger=SeatLedger(seats - taken, seated),
        )

    @staticmethod
    def _resident(machines: MachineColumns) -> tuple[Int64, Int64]:
        """What weighs on each machine already, and how many seats are taken."""
        residents = machines.residents
        assert residents is not None
        weight = np.array([_weight(row) for row in residents.kinds], dtype=np.float64)
        seated = np.array([SEATED in row.labels for row in residents.kinds], dtype=np.float64)
        held = residents.sum_by_machine(weight, machines.count).astype(np.int64)
        return held, residents.sum_by_machine(seated, machines.count).astype(np.int64)


def _index(racks: list[str], rack: str | None) -> int:
    return racks.index(rack) if rack in racks else -1


def _weight(row: ShapeRow) -> int:
    return int(row.labels.get(WEIGHT, "0"))
