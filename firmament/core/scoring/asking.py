"""Asks cost models about a round's shapes, and about no more than is not known already."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Assessment, CostModel, Int64, MachineColumns, ShapeBatch, ShapeRow
from firmament.core.configuration import WeightedModel
from firmament.core.model import TaskClass
from firmament.core.scoring.kept_rows import Recall
from firmament.core.state.cluster import Cluster

_STAND_INS = {"raw": 0.0, "feasible": True, "causes": 0, "score": 0.0}
"""Fields of an answer that have a figure per shape and machine, and what it stands for not to have one."""


def ask(
    models: Sequence[WeightedModel], columns: MachineColumns, batch: ShapeBatch, recall: Recall
) -> tuple[Assessment, ...]:
    """The models' answers for all shapes of the batch: what they would say if each were asked about everything.

    Of notes, only what models say about what they are asked now.
    """
    return tuple(_answer(number, each.model, columns, batch, recall) for number, each in enumerate(models))


def worth_keeping(
    models: Sequence[WeightedModel], answers: Sequence[Assessment], machines: int
) -> tuple[Assessment | None, ...]:
    """Those of the answers that hold until machines change, None in the place of the others."""
    return tuple(
        answer if holds(each.model, answer, machines) else None
        for each, answer in zip(models, answers, strict=True)
    )


def holds(model: CostModel, answer: Assessment, machines: int) -> bool:
    """Whether an answer about so many machines holds for each of them until that changes."""
    return model.promises.per_machine and answer.is_by_machine(machines)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What an answer is put together from: ``kept`` ones, one per source, and what has been asked now, if anything:
    about ``fresh`` shapes on all machines, about known shapes on ``changed`` machines.
    """

    kept: Sequence[Assessment]
    fresh: Assessment | None
    changed: Assessment | None

    def every(self) -> list[Assessment]:
        """All parts; there is at least one."""
        return [*self.kept, *(answer for answer in (self.fresh, self.changed) if answer is not None)]


def _answer(
    number: int, model: CostModel, columns: MachineColumns, batch: ShapeBatch, recall: Recall
) -> Assessment:
    """The answer of the model in place ``number`` for the whole batch."""
    kept = [answer for source in recall.sources if (answer := source[0].answers[number]) is not None]
    if not kept or len(kept) < len(recall.sources):
        return model.assess(columns, batch)
    fresh, changed = None, None
    if len(recall.fresh):
        fresh = model.assess(columns, batch.take(recall.fresh))
    if len(recall.changed):
        changed = model.assess(columns.take(recall.changed), batch.take(recall.known, recall.changed))
    parts = _Parts(kept, fresh, changed)
    if not _go_together(parts, columns.count, len(recall.changed)):
        return model.assess(columns, batch)
    size = (batch.count, columns.count)
    notes = [note for answer in (fresh, changed) if answer is not None for note in answer.notes]
    merged: dict[str, Any] = {name: _merged(name, parts, recall, size) for name in _STAND_INS}
    return replace(kept[0], **merged, notes=tuple(dict.fromkeys(notes)))


def _go_together(parts: _Parts, machines: int, changed: int) -> bool:
    """Whether the parts are of one kind, as a model that is ``per_machine`` promises."""
    first = parts.kept[0]
    return (
        (parts.fresh is None or parts.fresh.is_by_machine(machines))
        and (parts.changed is None or parts.changed.is_by_machine(changed))
        and all(
            answer.reason == first.reason
            and tuple(answer.reasons) == tuple(first.reasons)
            and answer.raw.dtype == first.raw.dtype
            and (answer.score is None) == (first.score is None)
            for answer in parts.every()
        )
    )


def _merged(name: str, parts: _Parts, recall: Recall, size: tuple[int, int]) -> NDArray[Any] | None:
    """One field of the whole answer, of ``size`` shapes by machines; None if no part has it."""
    given = [rows for answer in parts.every() if (rows := getattr(answer, name)) is not None]
    if not given:
        return None
    whole = np.empty(size, dtype=given[0].dtype)
    stand_in = _STAND_INS[name]
    for (_, rows, places), answer in zip(recall.sources, parts.kept, strict=True):
        take_over(whole, places, getattr(answer, name), rows, stand_in)
    if parts.fresh is not None:
        figures = getattr(parts.fresh, name)
        whole[recall.fresh] = stand_in if figures is None else figures
    if parts.changed is not None:
        figures = getattr(parts.changed, name)
        scatter(whole, recall.known, recall.changed, np.asarray(stand_in) if figures is None else figures)
    return whole


def take_over(
    whole: NDArray[Any], places: Int64, kept: NDArray[Any] | None, rows: Int64, stand_in: float = 0
) -> None:
    """Copy ``rows`` of what is kept to ``places`` of ``whole``, as far as there are so many machines."""
    if kept is None:
        whole[places] = stand_in
        return
    width = min(whole.shape[1], kept.shape[1])
    for place, row in zip(places.tolist(), rows.tolist(), strict=True):  # all at once would copy twice
        whole[place, :width] = kept[row, :width]


def scatter(whole: NDArray[Any], places: Int64, machines: Int64, figures: NDArray[Any]) -> None:
    """Write ``figures``, [places, machines] or one for all, to the given rows and columns of ``whole``."""
    every = np.broadcast_to(figures, (len(places), len(machines)))
    for place, row in zip(places.tolist(), every, strict=True):
        whole[place][machines] = row


class ShapeRows(Sequence[ShapeRow]):
    """Rows of some shapes, all of them made when the first is looked at: the default policy looks at none."""

    __slots__ = ("_contents", "_made")

    def __init__(self, contents: Sequence[TaskClass]) -> None:
        self._contents = contents
        self._made: list[ShapeRow] = []

    def __len__(self) -> int:
        return len(self._contents)

    @overload
    def __getitem__(self, index: int) -> ShapeRow: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ShapeRow]: ...

    def __getitem__(self, index: int | slice) -> ShapeRow | Sequence[ShapeRow]:
        return self._rows()[index]

    def __iter__(self) -> Iterator[ShapeRow]:
        return iter(self._rows())

    def _rows(self) -> list[ShapeRow]:
        if not self._made:
            self._made = [_shape_row(content) for content in self._contents]
        return self._made


def shape_rows(cluster: Cluster, shapes: Sequence[int]) -> ShapeRows:
    """What models may see of each of ``shapes`` (rows of the table), now and later."""
    return ShapeRows([cluster.classes.shapes[shape] for shape in shapes])


def _shape_row(content: TaskClass) -> ShapeRow:
    return ShapeRow(
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
