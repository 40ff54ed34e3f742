"""Caches rows over machines from round to round: models' answers, and the costs computed from them.

If a model is ``per_machine``, what it says about a shape on a machine is valid until the machine changes. A round
therefore asks a ``per_machine`` model only about machines that have changed, and about shapes without cached rows.
`round_assessment` and `arc_costs` ask models only about what the cache lacks. The present module decides what is
cached, for how long, and which cached rows a round may use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cost_models.interface import Assessment, Bool, Float64, Int64, MachineColumns, answers_expire
from firmament.core.configuration import WeightedModel
from firmament.core.state.cluster import Cluster
from firmament.solvers.base import Int32

MOST_BYTES = 64 * 2**20
MOST_ROUNDS = 16
LEAST_MACHINES = 256
"""Below this number of machines, asking about all of them costs no more than finding out which have changed."""

ASKING = 20_000
"""What asking a model costs even if it judges nothing, in (shape, machine) pairs that it could judge instead."""

COPYING = 1 / 6
SORTING_IN = 1 / 2
"""What copying a cached pair, and inserting a newly judged pair, cost relative to judging a pair."""


@dataclass(frozen=True, slots=True)
class Charges:
    """The costs in a round: ``units``: int32[S, M], as ``charges`` returns them.

    ``plain``: bool[S], the shapes whose units come from cached answers alone, apart from ``constant``: float64[S],
    units of models that charge the same on every machine.
    """

    units: Int32
    constant: Float64
    plain: Bool


@dataclass(frozen=True, slots=True)
class Generation:
    """The cached rows of one round.

    ``row_of[shape]``: the shape's row in the arrays. ``mark``: the change mark of the machines when the rows were
    computed. ``answers``: one per model, None if it is not cached.
    """

    mark: int
    row_of: dict[int, int]
    answers: tuple[Assessment | None, ...]
    charges: Charges

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the rows take."""
        total = self.charges.units.nbytes
        for answer in self.answers:
            if answer is not None:
                rows = (answer.raw, answer.feasible, answer.causes, answer.score)
                total += sum(array.nbytes for array in rows if array is not None)
        return total


Sources = tuple[tuple[Generation, Int64, Int64], ...]
"""Where cached rows are: a generation, its rows, and the indices in the round's batch to which they belong."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The cached rows for the shapes of a round.

    ``known``: int64[A], indices in the round's batch of shapes with rows in ``sources``; these rows are valid except
    on the machines ``changed`` (int64[C], ascending). ``fresh``: int64[B], the indices of shapes without cached rows.
    ``mark``: the change mark of rows that are computed now.
    """

    shapes: tuple[int, ...]
    known: Int64
    fresh: Int64
    changed: Int64
    sources: Sources
    mark: int


class KeptRows:
    """The cached rows of one cluster's past rounds; the module's docstring explains them.

    The rows of a round are kept for at most ``most_rounds`` rounds after their last use, and within ``most_bytes`` in
    all, the latest first. If the rows of a round alone exceed ``most_bytes``, they are not cached. For clusters with
    fewer than ``least_machines`` machines nothing is cached. The cache never changes what a round decides.
    ``generations``: the cached rounds, the latest first; each shape has a row in at most one of them.
    """

    def __init__(
        self,
        *,
        most_bytes: int = MOST_BYTES,
        most_rounds: int = MOST_ROUNDS,
        least_machines: int = LEAST_MACHINES,
        asking: int = ASKING,
    ) -> None:
        """``asking``: what asking a model at all costs, as a number of (shape, machine) pairs that it could judge."""
        self._most_bytes = most_bytes
        self._most_rounds = most_rounds
        self.least_machines = least_machines
        self._asking = asking
        self.generations: list[Generation] = []
        self._watch = _Watch()

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the cached rows take."""
        return sum(generation.nbytes for generation in self.generations)

    def clear(self) -> None:
        """Drop all cached rows; the next round computes everything."""
        self.generations.clear()

    def recall(
        self,
        cluster: Cluster,
        columns: MachineColumns,
        shapes: Sequence[int],
        models: Sequence[WeightedModel],
    ) -> Recall | None:
        """Return the cached rows of ``shapes``; None if nothing is cached for this cluster and these models.

        ``columns``: the machines of ``cluster`` as they are now.
        """
        kept = [weighted for weighted in models if weighted.model.promises.per_machine]
        if not self._most_bytes or columns.count < self.least_machines or not kept:
            self.generations.clear()
            return None
        if not self._watch.mark_expired(cluster, columns, kept):
            self.generations.clear()
        mark = cluster.machines.changes.mark()
        of = {shape: generation for generation in self.generations for shape in generation.row_of}
        stamps = cluster.machines.changes.stamps(columns.count)
        marks = [of[shape].mark for shape in shapes if shape in of]
        oldest = _oldest_worth(marks, len(shapes), stamps, self._asking)
        if oldest is None:
            oldest = mark  # All cached rows are at least as old as ``mark``.
        position = {shape: place for place, shape in enumerate(shapes)}
        sources = []
        is_known = np.zeros(len(shapes), dtype=np.bool_)
        for generation in self.generations:
            if generation.mark >= oldest and (common := generation.row_of.keys() & position.keys()):
                rows = np.array([generation.row_of[shape] for shape in common], dtype=np.int64)
                places = np.array([position[shape] for shape in common], dtype=np.int64)
                sources.append((generation, rows, places))
                is_known[places] = True
        return Recall(
            tuple(shapes),
            np.flatnonzero(is_known),
            np.flatnonzero(~is_known),
            np.flatnonzero(stamps > oldest),
            tuple(sources),
            mark,
        )

    def keep(self, recall: Recall, answers: Sequence[Assessment | None], charges: Charges) -> None:
        """Store the rows of a round: ``answers`` of models with ``per_machine`` (None for others), and ``charges``."""
        for generation in self.generations:
            for shape in recall.shapes:
                generation.row_of.pop(shape, None)
        if any(answer is not None for answer in answers):
            row_of = {shape: row for row, shape in enumerate(recall.shapes)}
            self.generations.insert(0, Generation(recall.mark, row_of, tuple(answers), charges))
        self._forget()

    def renumber(self, new_row: Int64) -> None:
        """Move shapes to new rows: ``new_row[old]``, int64[S], -1 for removed shapes."""
        for generation in self.generations:
            moved = {int(new_row[shape]): row for shape, row in generation.row_of.items()}
            moved.pop(-1, None)
            generation.row_of.clear()
            generation.row_of.update(moved)

    def _forget(self) -> None:
        """Drop generations that are too old, too large, or without shapes."""
        left, staying = self._most_bytes, []
        for generation in self.generations[: self._most_rounds]:
            if generation.row_of:
                left -= generation.nbytes
                if left < 0:
                    break
                staying.append(generation)
        self.generations = staying


class _Watch:
    """Notices changes of answers that no change of a machine explains."""

    def __init__(self) -> None:
        self._facts: tuple[object, ...] = ()
        self._now = -np.inf
        self._until: Float64 = np.empty(0)
        self._unseen: Int64 | None = None

    def mark_expired(
        self, cluster: Cluster, columns: MachineColumns, models: Sequence[WeightedModel]
    ) -> bool:
        """Mark machines whose answers may have changed by themselves; return False if all answers may have changed.

        Those machines are marked whose reports have expired, or now show another part of the tasks. All answers may
        have changed in four cases: a record that a model reads has changed, the names of resources have changed,
        other resources are scarce, or the clock was set back.
        """
        facts = (
            columns.resources,
            columns.scarce,
            *(cluster.records.changes[kind] for weighted in models for kind in weighted.model.needs.records),
        )
        same = facts == self._facts and columns.now >= self._now
        self._facts, self._now = facts, columns.now
        changes = cluster.machines.changes
        changes.touch_all(self._otherwise_unseen(columns.unseen))
        changes.touch_all(np.flatnonzero(self._until[: columns.count] <= columns.now))
        self._until = _find_expiry(columns, models)
        return same

    def _otherwise_unseen(self, unseen: Int64 | None) -> Int64:
        """Return the rows whose ``unseen`` use has changed; new machines and new resources count as changes anyway."""
        before, self._unseen = self._unseen, unseen
        if before is None or unseen is None or before.shape[1] != unseen.shape[1]:
            return np.empty(0, dtype=np.int64)
        if np.array_equal(before, unseen):
            return np.empty(0, dtype=np.int64)
        common = min(len(before), len(unseen))
        return np.unique(np.nonzero(before[:common] != unseen[:common])[0])


def _find_expiry(columns: MachineColumns, models: Sequence[WeightedModel]) -> Float64:
    """Return the time at which some model's answer about a machine may change by itself: float64[M]."""
    until = np.full(columns.count, np.inf)
    for weighted in models:
        if answers_expire(weighted.model):
            np.minimum(until, weighted.model.lasts_until(columns), out=until)
    return until


def _oldest_worth(marks: Sequence[int], shapes: int, stamps: Int64, asking: int) -> int | None:
    """Return the oldest mark whose cached rows are worth updating; None if no rows are.

    ``marks``: marks of the cached rows. ``shapes``: number of the round's shapes. ``stamps``: int64[M], change stamps
    of machines. Rows with an older mark are computed anew. Work is counted in pairs of shape and machine.
    """
    machines = len(stamps)
    best, least = None, float(asking + shapes * machines)
    for mark in sorted(set(marks), reverse=True):
        rows = sum(other >= mark for other in marks)
        changed = int(np.count_nonzero(stamps > mark))
        work = COPYING * rows * machines
        work += asking + (1 + SORTING_IN) * rows * changed if changed else 0
        work += asking + (shapes - rows) * machines if rows < shapes else 0
        if work < least:
            best, least = mark, work
    return best


def take_over(
    whole: NDArray[Any], places: Int64, kept: NDArray[Any] | None, rows: Int64, stand_in: float = 0
) -> None:
    """Copy ``rows`` of the cached array to ``places`` of ``whole``, for the machines that both arrays have."""
    if kept is None:
        whole[places] = stand_in
        return
    width = min(whole.shape[1], kept.shape[1])
    # Copying all rows in one step would make an additional copy of them.
    for place, row in zip(places.tolist(), rows.tolist(), strict=True):
        whole[place, :width] = kept[row, :width]


def scatter(whole: NDArray[Any], places: Int64, machines: Int64, figures: NDArray[Any]) -> None:
    """Write ``figures``, [places, machines] or one for all, to the given rows and columns of ``whole``."""
    every = np.broadcast_to(figures, (len(places), len(machines)))
    for place, row in zip(places.tolist(), every, strict=True):
        whole[place][machines] = row
