"""Reads a task's type from the pod label ``taskType``: Sheep, Rabbit, Devil or Turtle.

Rabbits suffer from their neighbours, devils make neighbours suffer, turtles do neither, and sheep are ordinary. Upper
and lower case do not matter. A pod without the label, or with an unknown type, is a sheep.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from cost_models.interface import Float64, Int64, MachineColumns, ShapeRow

LABEL = "taskType"


class TaskType(IntEnum):
    """How a task affects its neighbours; the numbers index arrays over types."""

    TURTLE = 0
    SHEEP = 1
    RABBIT = 2
    DEVIL = 3


TYPES = len(TaskType)
_BY_NAME = {kind.name: kind for kind in TaskType}


def types_of(rows: Sequence[ShapeRow]) -> tuple[Int64, tuple[str, ...]]:
    """Return the type of each shape, int64[S], and a note on each unknown type."""
    types = np.full(len(rows), TaskType.SHEEP, dtype=np.int64)
    notes: dict[str, None] = {}
    for index, row in enumerate(rows):
        text = row.labels.get(LABEL)
        if text is None:
            continue
        kind = _BY_NAME.get(text.upper())
        if kind is not None:
            types[index] = kind
            continue
        where = f" in namespace {row.namespace}" if row.namespace else ""
        known = ", ".join(name.capitalize() for name in _BY_NAME)
        notes[
            f"pods{where} with label {LABEL}={text!r}: no such type; use one of {known}; they count as Sheep"
        ] = None
    return types, tuple(notes)


def resident_counts(machines: MachineColumns) -> Float64:
    """Count the tasks of each type on each machine: float64[TYPES, M], zeros where residents are not known."""
    counts = np.zeros((TYPES, machines.count))
    residents = machines.residents
    if residents is not None and len(residents.kinds):
        types, _ = types_of(residents.kinds)
        for kind in TaskType:
            counts[kind] = residents.sum_by_machine((types == kind).astype(np.float64), machines.count)
    return counts
