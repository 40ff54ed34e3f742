"""Puts the models' answers together: one cost row per shape, one filter, one crowding column, all joint rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import (
    Arrivals,
    Assessment,
    Bool,
    ContainerRow,
    Float64,
    Int64,
    JointRows,
    Ledger,
    Load,
    MachineColumns,
    Opening,
    Residents,
    ShapeBatch,
    ShapeRow,
)
from firmament.core.cluster import Cluster
from firmament.core.configuration import WeightedModel
from firmament.core.feasibility import StaticRow, StaticRows
from firmament.core.model import TaskClass
from firmament.core.preferences import Preferences, preferences
from firmament.flow.problem import COST_UNITS_PER_POINT
from firmament.solvers.base import Int32

LARGEST_COST = 1_000_000_000
"""Costs per task are cut off here, in units, so that they fit 32 bits."""


@dataclass(frozen=True, slots=True)
class Judgement:
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
        """bool[S, M]."""
        count = self.machines.count
        return (
            np.stack([row.feasible for row in self.static]) if self.static else np.zeros((0, count), np.bool_)
        )

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
) -> MachineColumns:
    """A copy of the machines' columns as models see them, with the tasks on them and their use if models ask."""
    machines = cluster.machines
    capacity = machines.capacity.copy()
    return MachineColumns(
        names=machines.names,
        resources=tuple(cluster.resources.names),
        capacity=capacity,
        free=np.maximum(capacity - machines.used, 0),
        running=machines.running.copy(),
        labels=tuple(machines.labels.rows),
        annotations=machines.annotations(),
        usage=machines.usage,
        usage_time=machines.usage_time.copy(),
        records=cluster.records,
        now=now,
        residents=residents,
        load=load,
        arrivals=arrivals,
        unseen=unseen,
    )


def shape_rows(cluster: Cluster, shapes: Sequence[int]) -> list[ShapeRow]:
    """What models may see of each shape."""
    return [_shape_row(cluster.classes.shapes[shape]) for shape in shapes]


def _shape_row(content: TaskClass) -> ShapeRow:
    return ShapeRow(
        namespace=content.namespace,
        labels=dict(content.labels),
        annotations=dict(content.annotations),
        containers=tuple(
            ContainerRow(each.name, each.kind, each.requests, each.limits) for each in content.containers
        ),
        qos=content.qos,
        overhead=content.overhead,
        limits=content.limits,
        service_class=content.service_class,
        daemon=content.daemon,
    )


def judge(
    cluster: Cluster,
    static_rows: StaticRows,
    columns: MachineColumns,
    shapes: Sequence[int],
    counts: Sequence[int],
    models: Sequence[WeightedModel],
) -> Judgement:
    """Ask all rules and models about ``shapes``, of which ``counts`` tasks wait."""
    contents = [cluster.classes.shapes[shape] for shape in shapes]
    rules = [static_rows.of(shape) for shape in shapes]
    batch = ShapeBatch(
        requests=cluster.request_rows(shapes),
        counts=np.asarray(counts, dtype=np.int64),
        rows=shape_rows(cluster, shapes),
        allowed=[row.feasible for row in rules],
    )
    assessments = tuple(weighted.model.assess(columns, batch) for weighted in models)
    static = list(rules)
    for assessment in assessments:
        for index in range(len(static)):
            for reason, refused in assessment.refusals(index):
                static[index] = static[index].with_refusals(refused, reason)
    preferred = tuple(
        preferences(cluster.machines, content, row.feasible)
        for content, row in zip(contents, static, strict=True)
    )
    return Judgement(tuple(shapes), columns, batch, tuple(rules), tuple(static), assessments, preferred)


def raw_rows(assessment: Assessment, shapes: int, machines: int) -> Float64:
    """A model's native figures as a full float64[S, M], sparse exceptions applied."""
    return np.asarray(_figures(assessment, shapes, machines), dtype=np.float64)


def _figures(assessment: Assessment, shapes: int, machines: int) -> NDArray[Any]:
    """The same in the type that the model chose, as far as possible; not to be written to."""
    raw = np.broadcast_to(assessment.raw, (shapes, machines))
    sparse = assessment.sparse
    if sparse is not None:
        raw = raw.astype(np.float64)
        raw[sparse.shape, sparse.machine] = sparse.raw
    return raw


def cost_rows(judgement: Judgement, models: Sequence[WeightedModel]) -> Int32:
    """Units charged for a task of each shape on each machine: int32[S, M].

    The sum over models of weight x points, plus the task's own preferences.
    """
    shapes, machines = judgement.batch.count, judgement.machines.count
    constant = np.zeros(shapes)
    varying = []
    for weighted, assessment in zip(models, judgement.assessments, strict=True):
        if assessment.raw.shape[1] == 1 and machines > 1 and assessment.sparse is None:
            points = weighted.model.range.points(assessment.raw[:, 0])
            constant += points * (weighted.weight * COST_UNITS_PER_POINT)
        else:
            varying.append((weighted, _figures(assessment, shapes, machines)))
    rows = np.empty((shapes, machines), dtype=np.int32)
    if len(varying) == 1 and varying[0][1].dtype == np.int16 and not any(judgement.preferred):
        _looked_up(*varying[0], constant, rows)
        return rows
    total, points = np.empty(machines), np.empty(machines)
    for row, preferred in enumerate(judgement.preferred):  # row by row, to stay in the processor's cache
        # Bounded models stay far below the largest cost, and points below 0 there are none.
        capped = preferred is not None or not all(weighted.model.range.bounded for weighted in models)
        total.fill(constant[row])
        if preferred is not None:
            total += preferred.points * COST_UNITS_PER_POINT
        for weighted, figures in varying:
            weighted.model.range.points(figures[row], out=points)
            points *= weighted.weight * COST_UNITS_PER_POINT
            total += points
        np.rint(total, out=total)
        rows[row] = np.minimum(total, LARGEST_COST, out=total) if capped else total
    return rows


def _looked_up(weighted: WeightedModel, raw: NDArray[np.int16], constant: Float64, rows: Int32) -> None:
    """Write the units of native figures of few different values to ``rows``, by a table of what each comes to.

    ``constant``: float64[S], units that other models add to each row.
    """
    if raw.size == 0:
        return
    low, high = int(raw.min()), int(raw.max())
    units = weighted.model.range.points(np.arange(low, high + 1))
    units *= weighted.weight * COST_UNITS_PER_POINT
    tables = {
        value: np.minimum(np.rint(units + value), LARGEST_COST).astype(np.int32)
        for value in np.unique(constant).tolist()
    }
    for row, figures, value in zip(rows, raw, constant.tolist(), strict=True):
        np.take(tables[value], figures.astype(np.intp) - low, out=row, mode="clip")


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
    mean = np.rint((batch.requests.astype(np.float64) * batch.counts[:, None]).sum(axis=0) / tasks).astype(
        np.int64
    )
    units = np.zeros(columns.count)
    stated = [assessment.growth for assessment in assessments] or [None] * len(models)
    for weighted, growth in zip(models, stated, strict=True):
        raw = weighted.model.crowding(columns, mean) if growth is None else growth
        units += raw * weighted.model.range.points_per_unit() * (weighted.weight * COST_UNITS_PER_POINT)
    return np.ceil(np.round(np.minimum(units, LARGEST_COST), 6)).astype(np.int64)


def joint_room_lacking(rows: JointRows, left: Int64, shape: int) -> Bool:
    """bool[M]: machines whose joint row, with ``left`` (int64[R]) of its limit, has no room for a task of a shape."""
    lacking = np.zeros(len(rows.row_of), dtype=np.bool_)
    amount = int(rows.amount[shape])
    if amount > 0:
        on_row = rows.row_of >= 0
        lacking[on_row] = left[rows.row_of[on_row]] < amount
    return lacking
