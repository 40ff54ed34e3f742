"""Asks rules and models about a round's shapes, as far as answers are not cached, and combines the answers.

The round's assessment consists of one filter, one column for crowding, and all joint rows. `arc_costs` computes the
costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import (
    Assessment,
    BaseModel,
    Bool,
    CostModel,
    Float64,
    Int64,
    JointRows,
    Ledger,
    MachineColumns,
    RoomAfterEviction,
    ShapeBatch,
    ShapeRow,
)
from firmament.core.configuration import WeightedModel
from firmament.core.constraints.preferences import SoftCost
from firmament.core.filters.static_rows import StaticRow, StaticRows
from firmament.core.flow.problem import COST_UNITS_PER_POINT
from firmament.core.model import TaskClass
from firmament.core.reasons import Cause, StatedReason
from firmament.core.rules.devices.columns import show_demand
from firmament.core.rules.framework.node_rule import MODEL_NAME
from firmament.core.scoring.kept_rows import Recall, scatter, take_over
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase

LARGEST_COST = 1_000_000_000
"""Limit on the cost of a task, in units, so that it fits into 32 bits."""


@dataclass(frozen=True, slots=True)
class RoundAssessment:
    """The answers of all rules and models for a batch of shapes."""

    shapes: tuple[int, ...]
    """Rows of the shapes in the shape table."""
    machines: MachineColumns
    """The machines, as columns."""
    batch: ShapeBatch
    """The shapes as models see them."""
    rules: tuple[StaticRow, ...]
    """The answers of the rules, one row per shape."""
    static: tuple[StaticRow, ...]
    """The rules' rows combined with the models' filters."""
    assessments: tuple[Assessment, ...]
    """The answers of the models, in the order of the models."""
    preferred: tuple[SoftCost | None, ...]
    """The cost by each shape's own preferences; None if the shape has no preferences."""

    def feasible(self) -> Bool:
        """Return which machines each shape may use: bool[S, M], read-only if all shapes have the same machines."""
        rows = [row.feasible for row in self.static]
        if not rows:
            return np.zeros((0, self.machines.count), dtype=np.bool_)
        if all(row is rows[0] for row in rows):
            return np.broadcast_to(rows[0], (len(rows), self.machines.count))
        return np.stack(rows)

    def joint(self) -> tuple[JointRows, ...]:
        """Return the joint rows of all models."""
        return tuple(rows for assessment in self.assessments for rows in assessment.joint)

    def ledgers(self) -> tuple[Ledger, ...]:
        """Return the ledgers of all models."""
        return tuple(each.ledger for each in self.assessments if each.ledger is not None)

    def rooms_after_eviction(self) -> tuple[RoomAfterEviction | None, ...]:
        """Return for each ledger the object that says which machines would have enough left if tasks left.

        An entry is None if no departure of a task can free anything in the ledger.
        """
        return tuple(each.room_after_eviction for each in self.assessments if each.ledger is not None)

    def find_held(self) -> Bool | None:
        """Return bool[S, M]: machines that refuse a shape only because of what tasks there hold in a ledger.

        Evictions may make the held machines acceptable. The result is None if no model refuses any machine for this
        reason.
        """
        if not any(each.room_after_eviction is not None for each in self.assessments) or not self.rules:
            return None
        held = np.zeros((self.batch.count, self.machines.count), dtype=np.bool_)
        for each in self.assessments:
            if each.room_after_eviction is not None:
                others = np.stack([row.feasible for row in self.rules])
                for other in self.assessments:
                    if other is not each and other.feasible is not None:
                        others &= other.feasible
                held |= others & each.room_after_eviction.held
        return held

    def find_occupied(self) -> Bool | None:
        """Return bool[S, M]: machines that refuse a shape only because tasks there use up a joint row.

        Evictions may make the occupied machines acceptable. The result is None if no model refuses any machine for
        this reason.
        """
        if all(each.occupied is None for each in self.assessments) or not self.rules:
            return None
        occupied = np.stack([row.feasible for row in self.rules])
        for each in self.assessments:
            if each.feasible is not None:
                occupied &= each.feasible if each.occupied is None else each.feasible | each.occupied
        return occupied

    def notes(self) -> tuple[str, ...]:
        """Return the notes of all models about invalid input."""
        return tuple(note for assessment in self.assessments for note in assessment.notes)


_STAND_INS = {"raw": 0.0, "feasible": True, "causes": 0, "score": 0.0}
"""Fields of an answer with a figure per shape and machine, and the value that stands for a missing field."""


def worth_keeping(
    models: Sequence[WeightedModel], answers: Sequence[Assessment], machines: int
) -> tuple[Assessment | None, ...]:
    """Return the answers that stay valid until machines change, and None in place of each other answer."""
    return tuple(
        answer if holds(each.model, answer, machines) else None
        for each, answer in zip(models, answers, strict=True)
    )


def holds(model: CostModel, answer: Assessment, machines: int) -> bool:
    """Return whether a model's answer about ``machines`` machines is valid for each until that machine changes."""
    return model.promises.per_machine and answer.is_by_machine(machines)


def _ask(
    model: CostModel, number: int, columns: MachineColumns, batch: ShapeBatch, recall: Recall
) -> Assessment:
    """Return what the model with index ``number`` would answer if it were asked about all shapes and machines.

    Of a model's notes, the result includes only those that answer the questions actually asked.
    """
    kept = [answer for source in recall.sources if (answer := source[0].answers[number]) is not None]
    if not kept or len(kept) < len(recall.sources):
        return model.assess(columns, batch)
    fresh = changed = None
    if len(recall.fresh):
        fresh = model.assess(columns, batch.select(recall.fresh))
    if len(recall.changed):
        changed = model.assess(columns.select(recall.changed), batch.select(recall.known, recall.changed))
    parts = _KeptAndNewAnswers(kept, fresh, changed)
    if not parts.go_together(columns.count, len(recall.changed)):
        return model.assess(columns, batch)
    size = (batch.count, columns.count)
    notes = [note for answer in (fresh, changed) if answer is not None for note in answer.notes]
    merged: dict[str, Any] = {name: parts.merge(name, recall, size) for name in _STAND_INS}
    return replace(kept[0], **merged, notes=tuple(dict.fromkeys(notes)))


@dataclass(frozen=True, slots=True)
class _KeptAndNewAnswers:
    """What a model answered in earlier rounds (``kept``, one answer per source), and its new answers in this round.

    ``fresh``: about new shapes on all machines. ``changed``: about known shapes on changed machines. None for either:
    the model was not asked.
    """

    kept: Sequence[Assessment]
    fresh: Assessment | None
    changed: Assessment | None

    def _every(self) -> list[Assessment]:
        """Return all parts of the answer."""
        return [*self.kept, *(answer for answer in (self.fresh, self.changed) if answer is not None)]

    def go_together(self, machines: int, changed: int) -> bool:
        """Return whether the parts are of the same form, as a ``per_machine`` model promises."""
        first = self.kept[0]
        return (
            (self.fresh is None or self.fresh.is_by_machine(machines))
            and (self.changed is None or self.changed.is_by_machine(changed))
            and all(
                answer.reason == first.reason
                and tuple(answer.reasons) == tuple(first.reasons)
                and answer.raw.dtype == first.raw.dtype
                and (answer.score is None) == (first.score is None)
                for answer in self._every()
            )
        )

    def merge(self, name: str, recall: Recall, size: tuple[int, int]) -> NDArray[Any] | None:
        """Return one field of the whole answer, with ``size`` shapes by machines; None if no part has the field."""
        given = [rows for answer in self._every() if (rows := getattr(answer, name)) is not None]
        if not given:
            return None
        whole = np.empty(size, dtype=given[0].dtype)
        stand_in = _STAND_INS[name]
        for (_, rows, places), answer in zip(recall.sources, self.kept, strict=True):
            take_over(whole, places, getattr(answer, name), rows, stand_in)
        if self.fresh is not None:
            figures = getattr(self.fresh, name)
            whole[recall.fresh] = stand_in if figures is None else figures
        if self.changed is not None:
            figures = getattr(self.changed, name)
            scatter(whole, recall.known, recall.changed, np.asarray(stand_in) if figures is None else figures)
        return whole


class ShapeRows(Sequence[ShapeRow]):
    """What models may see of shapes; it is computed on first access, because the default policy looks at none of it."""

    def __init__(self, contents: Sequence[TaskClass]) -> None:
        self._contents = contents

    def __len__(self) -> int:
        return len(self._contents)

    def __getitem__(self, index: Any) -> Any:
        """Return the row of a shape, or the rows of a slice of shapes."""
        return self._rows[index]

    def __iter__(self) -> Iterator[ShapeRow]:
        return iter(self._rows)

    @cached_property
    def _rows(self) -> list[ShapeRow]:
        return [
            ShapeRow(
                namespace=content.namespace,
                labels=dict(content.labels),
                annotations=dict(content.annotations),
                containers=content.containers,
                qos=content.qos,
                overhead=content.overhead,
                limits=content.limits,
                service_class=content.service_class,
                daemon=content.daemon,
            )
            for content in self._contents
        ]


def shape_rows(cluster: Cluster, shapes: Sequence[int]) -> ShapeRows:
    """Return the columns that models may see of each of ``shapes`` (rows of the table)."""
    return ShapeRows([cluster.classes.shapes[shape] for shape in shapes])


def batch_of(
    cluster: Cluster, shapes: Sequence[int], counts: Int64, allowed: Sequence[Bool] | None = None
) -> ShapeBatch:
    """Return what models see of shapes (rows of the table) with ``counts`` (int64[S]) waiting tasks.

    ``allowed``: for each shape, the machines that rules allow: bool[M].
    """
    requested, unstated = cluster.requests.rows(shapes)
    return ShapeBatch(
        requests=requested,
        counts=counts,
        rows=shape_rows(cluster, shapes),
        allowed=allowed,
        unstated=unstated if unstated.any() else None,
        devices=show_demand(cluster, shapes) if cluster.needs.devices else None,
    )


MOST_TYPICAL = 256
"""At most this many shapes are shown to models as typical: those with most tasks."""


def _list_typical(cluster: Cluster, static_rows: StaticRows) -> ShapeBatch:
    """Return the shapes with most tasks in the cluster, waiting or on machines."""
    tasks = cluster.tasks
    rows = len(tasks.uid)
    by_class = np.bincount(tasks.cls[:rows][tasks.state[:rows] != TaskPhase.UNUSED])
    known = cluster.classes.rows
    counts = np.zeros(len(cluster.classes.shapes), dtype=np.int64)
    for cls in np.flatnonzero(by_class).tolist():
        counts[known[cls].shape] += by_class[cls]
    most = np.argsort(-counts, kind="stable")[:MOST_TYPICAL]
    shapes = np.sort(most[counts[most] > 0])
    allowed = [static_rows.get(shape).feasible for shape in shapes.tolist()]
    return batch_of(cluster, shapes.tolist(), counts[shapes], allowed)


def assess_shapes(
    cluster: Cluster,
    static_rows: StaticRows,
    columns: MachineColumns,
    shapes: Sequence[int],
    counts: Sequence[int],
    models: Sequence[WeightedModel],
    recall: Recall | None = None,
) -> RoundAssessment:
    """Ask all rules and models about ``shapes`` with ``counts`` waiting tasks, except for what ``recall`` knows."""
    contents = [cluster.classes.shapes[shape] for shape in shapes]
    rules = [static_rows.get(shape) for shape in shapes]
    waiting = np.asarray(counts, dtype=np.int64)
    batch = batch_of(cluster, shapes, waiting, [row.feasible for row in rules])
    if cluster.needs.typical:
        batch = replace(batch, typical=_list_typical(cluster, static_rows))
    assessments = tuple(
        each.model.assess(columns, batch)
        if recall is None
        else _ask(each.model, number, columns, batch, recall)
        for number, each in enumerate(models)
    )
    static = list(rules)
    for assessment in assessments:
        for index in range(len(static)):
            for words, refused in assessment.refusals(index):
                static[index] = static[index].add_refusals(refused, Cause(StatedReason(words)))
    preferred = tuple(
        static_rows.rules.preferences(cluster.machines, content, row.feasible)
        for content, row in zip(contents, static, strict=True)
    )
    return RoundAssessment(tuple(shapes), columns, batch, tuple(rules), tuple(static), assessments, preferred)


def raw_rows(assessment: Assessment, shapes: int, machines: int) -> Float64:
    """Return a model's own figures as a full float64[S, M], with sparse exceptions applied."""
    return np.asarray(native_figures(assessment, shapes, machines), dtype=np.float64)


def native_figures(assessment: Assessment, shapes: int, machines: int) -> NDArray[Any]:
    """Return ``raw_rows`` in the model's own type, if it has one for all figures; read-only."""
    raw = np.broadcast_to(assessment.raw, (shapes, machines))
    sparse = assessment.sparse
    if sparse is not None:
        raw = raw.astype(np.float64)
        raw[sparse.shape, sparse.machine] = sparse.raw
    return raw


_INDIFFERENT: object = BaseModel.crowding
"""The ``crowding`` method of models that charge nothing for crowding."""


def crowding_units(
    columns: MachineColumns,
    batch: ShapeBatch,
    models: Sequence[WeightedModel],
    assessments: Sequence[Assessment] = (),
) -> Int64:
    """Return by how many units each task on a machine raises the cost of the next one: int64[M].

    The numbers are for tasks of the mean request. A flow counts tasks, not sizes, so all classes share one growth per
    machine. The growth is rounded up: if a model charges for crowding, the growth is never 0. A growth in a model's
    assessment (``assessments``: one per model, or none) takes precedence over what the model says about the mean
    request.
    """
    tasks = max(1, int(batch.counts.sum()))
    mean = np.rint((batch.demand.astype(np.float64) * batch.counts[:, None]).sum(axis=0) / tasks).astype(
        np.int64
    )
    units = np.zeros(columns.count)
    stated = [assessment.growth for assessment in assessments] or [None] * len(models)
    for weighted, growth in zip(models, stated, strict=True):
        if growth is None and type(weighted.model).crowding is _INDIFFERENT:
            continue
        raw = weighted.model.crowding(columns, mean) if growth is None else growth
        units += raw * weighted.model.range.points_per_unit() * (weighted.weight * COST_UNITS_PER_POINT)
    return np.ceil(np.round(np.minimum(units, LARGEST_COST), 6)).astype(np.int64)


def model_points(
    assessed: RoundAssessment, models: Sequence[WeightedModel], shapes: Int64, machines: Int64
) -> tuple[dict[str, Float64], dict[str, Float64]]:
    """Return, by model, its own figures and the weighted points of ``shapes[i]`` on ``machines[i]``: float64[A] each.

    The points of tasks' own preferences are listed under the name ``kubernetes``.
    """
    size = len(assessed.shapes), assessed.machines.count
    raw: dict[str, Float64] = {}
    points: dict[str, Float64] = {}
    for weighted, assessment in zip(models, assessed.assessments, strict=True):
        name = weighted.model.name
        raw[name] = raw_rows(assessment, *size)[shapes, machines]
        points[name] = weighted.model.range.points(raw[name]) * weighted.weight
    preferred = np.zeros(len(shapes))
    for shape, own in enumerate(assessed.preferred):
        if own is not None:
            here = shapes == shape
            preferred[here] = own.points[machines[here]]
    points[MODEL_NAME] = preferred
    return raw, points
