"""Writes ``costs.json``: what every placement cost, model by model, and each model's sum over the round.

The points of a model are given after multiplication by its weight. The name ``kubernetes`` stands for the tasks' own
preferences. What crowding adds depends on the order in which tasks came to a machine, so the breakdown gives it as
one sum. If models state heights, the sum for crowding depends on the sizes of tasks. ``units`` is what the network
charged for one task without crowding: the points of all models together, as a whole number of hundredths.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from firmament.core.configuration import WeightedModel
from firmament.core.flow.problem import COST_UNITS_PER_POINT, Assignments
from firmament.core.placement.cost import compute_placed_cost, pending_cost
from firmament.core.scoring.round_assessment import model_points
from firmament.core.snapshot.snapshot import Snapshot

FILE = "costs.json"


def encode_breakdown(snapshot: Snapshot, placed: Assignments, models: Sequence[WeightedModel]) -> bytes:
    """Return the content of ``costs.json``: what each model charges, by class and machine."""
    problem = snapshot.problem
    shapes = problem.shape[placed.cls]
    raw, points = model_points(snapshot.assessed, models, shapes, placed.machine)
    units = problem.cost[shapes, placed.machine].astype(np.int64)
    charged = int((units * placed.count).sum())
    totals = {name: round(float(figures @ placed.count), 6) for name, figures in points.items()}
    crowding = compute_placed_cost(problem, placed) - charged
    columns = (each.tolist() for each in (placed.cls, placed.machine, placed.count, units))
    document = {
        "unitsPerPoint": COST_UNITS_PER_POINT,
        "points": {**totals, "crowding": crowding / COST_UNITS_PER_POINT},
        "units": {"placed": charged, "crowding": crowding, "pending": pending_cost(problem, placed)},
        "placements": [
            {
                "class": cls,
                "machine": snapshot.machine_names[machine],
                "tasks": count,
                "units": unit,
                "raw": {name: float(figures[index]) for name, figures in raw.items()},
                "points": {name: round(float(figures[index]), 6) for name, figures in points.items()},
            }
            for index, (cls, machine, count, unit) in enumerate(zip(*columns, strict=True))
        ],
    }
    return (json.dumps(document) + "\n").encode()
