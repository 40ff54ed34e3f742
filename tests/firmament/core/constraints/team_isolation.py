"""A constraint between tasks in one file: at most ``limit`` teams (a label of tasks) share a rack (one of machines)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import (
    Assessment,
    BaseModel,
    Bool,
    Int64,
    MachineColumns,
    Needs,
    Promises,
    Range,
    ShapeBatch,
    ShapeRow,
)
from cost_models.task_constraints import MalformedConstraintError

TEAM, RACK = "team", "rack"
REASON = "node(s) were in a rack with too many other teams"


class Teams:
    """``count``: int64[teams, racks], tasks; ``rack``: int64[M], -1 for machines of none."""

    def __init__(self, rack: Int64, count: Int64, limit: int) -> None:
        self.rack, self.count, self.limit = rack, count, limit

    def refusals(self, kind: int) -> list[tuple[str, Bool]]:
        there = self.count > 0
        full = np.append((there.sum(axis=0) >= self.limit) & ~there[kind], False)
        return [(REASON, full[self.rack])]

    def allows(self, kind: int, machine: int) -> bool:
        rack = int(self.rack[machine])
        there = self.count[:, rack] > 0
        return rack < 0 or bool(there[kind]) or int(there.sum()) < self.limit

    def add(self, kind: int, machine: int, count: int) -> None:
        if self.rack[machine] >= 0:
            self.count[kind, self.rack[machine]] += count

    def copy(self) -> Teams:
        return Teams(self.rack, self.count.copy(), self.limit)

    def save(self) -> dict[str, NDArray[Any]]:
        return {"rack": self.rack, "count": self.count, "limit": np.array([self.limit])}


class TeamIsolation(BaseModel):
    """The model: nothing but its constraint."""

    name = "team_isolation"
    kind = "overlay"
    range = Range(0, 1)
    needs = Needs(kind_labels=(TEAM,))
    promises = Promises(constraints=True)

    def __init__(self, limit: int = 2) -> None:
        self._limit = limit

    def assess(self, machines: MachineColumns, shapes: ShapeBatch) -> Assessment:
        return Assessment(np.zeros((len(shapes.rows), 1)))

    def constraint(
        self, machines: Sequence[Mapping[str, str]], kinds: Sequence[ShapeRow], kind: Int64, machine: Int64
    ) -> Teams:
        racks = sorted({labels[RACK] for labels in machines if RACK in labels})
        rack = np.array([racks.index(labels[RACK]) if RACK in labels else -1 for labels in machines])
        count = np.zeros((len(kinds), len(racks)), dtype=np.int64)
        np.add.at(count, (kind[rack[machine] >= 0], rack[machine[rack[machine] >= 0]]), 1)
        return Teams(rack, count, self._limit)

    @staticmethod
    def restore_constraint(arrays: Mapping[str, NDArray[Any]], kinds: int, machines: int) -> Teams:
        if len(arrays["rack"]) != machines or len(arrays["count"]) < kinds:
            raise MalformedConstraintError("rack or count is too short")
        return Teams(arrays["rack"], arrays["count"], int(arrays["limit"][0]))
