"""Puts the models' answers together: one filter, one crowding column, all joint rows. For costs see `arc_costs`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.firmament_policies.scarce_resources import scarce_columns
from cost_models.interface import (
    Arrivals,
    Assessment,
    Bool,
    Float64,
    Int64,
    JointRows,
    Ledger,
    Load,
    MachineColumns,
    Opening,
    Residents,
    ShapeBatch,
)
from firmament.core.configuration import WeightedModel
from firmament.core.filters.node_filters import StaticRow, StaticRows
from firmament.core.filters.root_causes import Cause
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.scoring.asking import ShapeRows, ask
from firmament.core.scoring.kept_rows import Recall
from firmament.core.scoring.preferences import Preferences, preferences
from firmament.core.state.cluster import Cluster

LARGEST_COST = 1_000_000_000
"""Costs per task are cut off here, in units, so that they fit 32 bits."""


@dataclass(frozen=True, slots=True)
class RoundAssessment:
    """What all rules and models say about a batch of shapes.

    ``rules``: one row per shape; ``static``: the same with the models' filters; ``assessments``: one per model, in
    their order;
    ``preferred``: per shape the cost of its own preferences, None for none.
    """

    shapes: tuple[int, ...]
    machines: MachineColumns
    batch: ShapeBatch
    rules: tuple[StaticRow, ...]
    static: tuple[StaticRow, ...]
    assessments: tuple[Assessment, ...]
    preferred: tuple[Preferences | None, ...]

    def feasible(self) -> Bool:
        """bool[S, M], read-only where all shapes have the same machines."""
        rows = [row.feasible for row in self.static]
        if not rows:
            return np.zeros((0, self.machines.count), dtype=np.bool_)
        if all(row is rows[0] for row in rows):
            return np.broadcast_to(rows[0], (len(rows), self.machines.count))
        return np.stack(rows)

    def joint(self) -> tuple[JointRows, ...]:
        """Joint rows of all models."""
        return tuple(rows for assessment in self.assessments for rows in assessment.joint)

    def ledgers(self) -> tuple[Ledger, ...]:
        """Ledgers of all models."""
        return tuple(each.ledger for each in self.assessments if each.ledger is not None)

    def openings(self) -> tuple[Opening | None, ...]:
        """What evicting changes for each of the ledgers."""
        return tuple(each.opening for each in self.assessments if each.ledger is not None)

    def held(self) -> Bool | None:
        """bool[S, M]: machines that nothing keeps shapes from but what tasks there hold; None if no model says so."""
        if not any(each.opening is not None for each in self.assessments) or not self.rules:
            return None
        held = np.zeros((self.batch.count, self.machines.count), dtype=np.bool_)
        for each in self.assessments:
            if each.opening is not None:
                others = np.stack([row.feasible for row in self.rules])
                for other in self.assessments:
                    if other is not each and other.feasible is not None:
                        others &= other.feasible
                held |= others & each.opening.held
        return held

    def occupied(self) -> Bool | None:
        """bool[S, M]: machines that models refuse for nothing but what tasks there have taken of joint rows; None if no
        model says so.
        """
        if all(each.occupied is None for each in self.assessments) or not self.rules:
            return None
        occupied = np.stack([row.feasible for row in self.rules])
        for each in self.assessments:
            if each.feasible is not None:
                occupied &= each.feasible if each.occupied is None else each.feasible | each.occupied
        return occupied

    def notes(self) -> tuple[str, ...]:
        """What all models say about bad input."""
        return tuple(note for assessment in self.assessments for note in assessment.notes)


def machine_columns(
    cluster: Cluster,
    now: float,
    residents: Residents | None = None,
    load: Load | None = None,
    arrivals: Arrivals | None = None,
    *,
    unseen: Int64 | None = None,
    without: int = -1,
) -> MachineColumns:
    """A copy of the machines' columns as models see them, with the tasks on them and their use if models ask.

    ``without``: row of a task that is not counted where it is.
    """
    machines = cluster.machines
    capacity = machines.capacity.copy()
    running, unstated = machines.running.copy(), machines.unstated.copy()
    if without >= 0 and cluster.tasks.machine[without] >= 0:
        own, assumed = cluster.tasks.machine[without], cluster.unstated_of(int(cluster.tasks.cls[without]))
        running[own] -= 1
        unstated[own, : len(assumed)] -= assumed
    described = machines.described()
    return MachineColumns(
        names=described.names,
        resources=tuple(cluster.resources.names),
        capacity=capacity,
        free=np.maximum(capacity - cluster.used(without), 0),
        running=running,
        labels=described.labels,
        annotations=described.annotations,
        usage=machines.usage,
        usage_time=machines.usage_time.copy(),
        records=cluster.records.payloads,
        now=now,
        residents=residents,
        load=load,
        arrivals=arrivals,
        unseen=unseen,
        unstated=unstated if unstated.any() else None,
        scarce=scarce_columns(cluster.resources.names, capacity),
    )


def _copied_if_any(amounts: Int64) -> Int64 | None:
    """A copy; None if all of it is 0."""
    return amounts.copy() if amounts.any() else None


def assess_shapes(
    cluster: Cluster,
    static_rows: StaticRows,
    columns: MachineColumns,
    shapes: Sequence[int],
    counts: Sequence[int],
    models: Sequence[WeightedModel],
    recall: Recall | None = None,
) -> RoundAssessment:
    """Ask all rules and models about ``shapes``, of which ``counts`` tasks wait; about what ``recall`` has not kept."""
    contents = [cluster.classes.shapes[shape] for shape in shapes]
    rules = [static_rows.of(shape) for shape in shapes]
    batch = ShapeBatch(
        requests=cluster.request_rows(shapes),
        counts=np.asarray(counts, dtype=np.int64),
        rows=ShapeRows(contents),
        allowed=[row.feasible for row in rules],
        unstated=_copied_if_any(cluster.unstated_rows(shapes)),
    )
    assessments = ask(models, columns, batch, recall or Recall.nothing(shapes))
    static = list(rules)
    for assessment in assessments:
        for index in range(len(static)):
            for reason, refused in assessment.refusals(index):
                static[index] = static[index].with_refusals(refused, Cause(reason))
    preferred = tuple(
        preferences(cluster.machines, content, row.feasible)
        if content.preferred or content.images or content.new_storage or cluster.machines.taints.soft
        else None
        for content, row in zip(contents, static, strict=True)
    )
    return RoundAssessment(tuple(shapes), columns, batch, tuple(rules), tuple(static), assessments, preferred)


def raw_rows(assessment: Assessment, shapes: int, machines: int) -> Float64:
    """A model's native figures as a full float64[S, M], sparse exceptions applied."""
    return np.asarray(native_figures(assessment, shapes, machines), dtype=np.float64)


def native_figures(assessment: Assessment, shapes: int, machines: int) -> NDArray[Any]:
    """The same in the type that the model chose, as far as possible; not to be written to."""
    raw = np.broadcast_to(assessment.raw, (shapes, machines))
    sparse = assessment.sparse
    if sparse is not None:
        raw = raw.astype(np.float64)
        raw[sparse.shape, sparse.machine] = sparse.raw
    return raw


def crowding_units(
    columns: MachineColumns,
    batch: ShapeBatch,
    models: Sequence[WeightedModel],
    assessments: Sequence[Assessment] = (),
) -> Int64:
    """Units that each task on a machine adds for the next, for tasks of the mean request: int64[M].

    A flow counts tasks, not sizes, so all classes share one growth per machine. It is rounded up: where a model says
    that crowding costs something, it never comes to nothing. A growth in a model's assessment (``assessments``: one
    per model, or none at all) goes before what it says of the mean request.
    """
    tasks = max(1, int(batch.counts.sum()))
    mean = np.rint((batch.demand.astype(np.float64) * batch.counts[:, None]).sum(axis=0) / tasks).astype(
        np.int64
    )
    units = np.zeros(columns.count)
    stated = [assessment.growth for assessment in assessments] or [None] * len(models)
    for weighted, growth in zip(models, stated, strict=True):
        raw = weighted.model.crowding(columns, mean) if growth is None else growth
        units += raw * weighted.model.range.points_per_unit() * (weighted.weight * COST_UNITS_PER_POINT)
    return np.ceil(np.round(np.minimum(units, LARGEST_COST), 6)).astype(np.int64)


MOST_KEPT = 10_000
"""Remarks that are remembered; of an endless stream of different ones some may come again."""


class Notes:
    """Remembers which remarks have been made."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._made: set[str] = set()
        self._most = most

    def new(self, remarks: Iterable[str]) -> tuple[str, ...]:
        """Return those that have not been made before, in order, and remember them."""
        fresh = tuple(dict.fromkeys(remark for remark in remarks if remark not in self._made))
        if len(self._made) + len(fresh) > self._most:
            self._made.clear()
        self._made.update(fresh[: self._most])
        return fresh
