"""Caches from round to round what one task of each shape costs on each machine, without other tasks of the round.

Between two rounds of a few tasks hardly any machine changes. The costs of a shape are therefore computed once for all
machines, and later only for machines that have changed. A shape's preferences (labels, taints, images) are also
scored once, until machines or their images change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.api.columns import Chosen
from cost_models.interface import Assessment, Bool, Int64, MachineColumns
from firmament.core.constraints.preferences import SoftCost
from firmament.core.record_kinds import NAMESPACE_RECORD
from firmament.core.rules.default_spread import number_domains
from firmament.core.rules.registry import list_ruled
from firmament.core.rules.what_tasks_await import selects
from firmament.core.scoring.arc_costs import compute_charges
from firmament.core.scoring.kept_rows import LEAST_MACHINES
from firmament.core.scoring.round_assessment import RoundAssessment, batch_of, holds
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.state.cluster import Cluster
from firmament.solvers.base import Int32

CLOSED = int(np.iinfo(np.int32).max)
"""Cost that marks machines that a task may not use, or where it does not fit; no real cost is as high."""

MOST_SHAPES = 64

MOST_CHANGED = 4
"""All costs are recomputed if more than one in this many machines has changed."""


@dataclass(slots=True)
class ShapeCosts:
    """What one task of a shape costs on each machine if no other task is added there in the round, and where it may go.

    Callers of ``FirstCosts.get`` must not change this object.
    """

    units: Int32
    """int32[M], cost in hundredths of a point, `CLOSED` where the task has no place."""
    allowed: Bool
    """bool[M], machines that the rules allow."""
    refused: Bool | None
    """bool[M], machines that cost models refuse; None if models refuse no machine."""
    preferred: SoftCost | None
    """Cost of the shape's own preferences; None if it has no preferences."""
    listed: tuple[int, int]
    """Change counters of images and storage when the preferences were scored."""
    mark: int
    """Position in the machines' change log up to which the costs are current."""

    @property
    def feasible(self) -> Bool:
        """bool[M], machines that neither rules nor models refuse, whether or not the task fits there."""
        return self.allowed if self.refused is None else self.allowed & ~self.refused


class FirstCosts:
    """Costs of one task without crowding, by shape, for the `MOST_SHAPES` shapes used last.

    The costs are valid only while all models promise to answer machine by machine and no use is reported. The caller
    makes sure of both conditions.
    """

    def __init__(self, least_machines: int = LEAST_MACHINES) -> None:
        """``least_machines``: for clusters with fewer machines, no costs are cached or requested."""
        self.least_machines = least_machines
        self._kept: dict[int, ShapeCosts] = {}
        self._facts: tuple[object, ...] = ()
        self._unruled: dict[int, int] = {}
        """By class, how many of the classes with rules about other tasks are known not to select its tasks."""
        self._domains: tuple[str, Int64] | None = None

    def clear(self) -> None:
        """Drop all costs, because rows of shapes have changed or memory is needed."""
        self._kept.clear()
        self._unruled.clear()
        self._domains = None

    def drop_outdated(self, context: RoundContext, scarce: tuple[int, ...]) -> None:
        """Drop all costs if something has changed that concerns all machines; call this before ``get``.

        ``scarce``: columns of the resources that are scarce now.
        """
        cluster = context.cluster
        records = cluster.records.changes
        facts = (
            cluster.machines.static_version,
            cluster.resources.version,
            scarce,
            records[NAMESPACE_RECORD],
            *(records[kind] for kind in context.configuration.needs.records),
        )
        if facts != self._facts:
            self.clear()
            self._facts = facts

    def is_unruled(self, cluster: Cluster, cls: int) -> bool:
        """Return whether no rule between tasks concerns a class (row), neither its own nor another class's."""
        ruled = list_ruled(cluster)
        for row in ruled[self._unruled.get(cls, 0) :]:
            if row == cls or selects(cluster, row, cls):
                return False
        self._unruled[cls] = len(ruled)
        return True

    def get_domains(self, cluster: Cluster, key: str) -> Int64:
        """Return the domain of each machine by a label, numbered from 0: int64[M]; see ``number_domains``."""
        if self._domains is None or self._domains[0] != key:
            self._domains = key, number_domains(cluster, key)
        return self._domains[1]

    def get(
        self, context: RoundContext, shape: int, scarce: tuple[int, ...], now: float
    ) -> ShapeCosts | None:
        """Return what one task of a shape costs on each machine if no other task is added there in the round, or None.

        The result is None if a model does not answer machine by machine, or if preferences are scaled by what models
        refuse.
        """
        machines = context.cluster.machines
        kept = self._kept.pop(shape, None)
        stamps = machines.changes.stamps(len(machines))
        mark = machines.changes.mark()
        if kept is not None and not _score_again(context, shape, kept):
            kept = None
        changed = None if kept is None else np.flatnonzero(stamps > kept.mark)
        if kept is None or changed is None or len(changed) * MOST_CHANGED > len(machines):
            changed = np.arange(len(machines))
            kept = _without_costs(context, shape, mark)
        if len(changed):
            # With a single machine, an answer for all machines would look like an answer per machine.
            rows = changed if len(changed) > 1 else np.unique([changed[0], 0, len(machines) - 1])
            if not _assess_some(context, shape, kept, rows, scarce, now):
                return None
        kept.mark = mark
        self._kept[shape] = kept
        if len(self._kept) > MOST_SHAPES:
            del self._kept[next(iter(self._kept))]  # drops the least recently used shape
        return kept


def _without_costs(context: RoundContext, shape: int, mark: int) -> ShapeCosts:
    """Return a shape's entry without costs: the state before models have been asked about any machine."""
    machines = context.cluster.machines
    allowed = context.static_rows.get(shape).feasible
    preferred, listed = _score(context, shape, allowed)
    units = np.empty(len(machines), dtype=np.int32)
    return ShapeCosts(units, allowed, None, preferred, listed, mark)


def _score(context: RoundContext, shape: int, allowed: Bool) -> tuple[SoftCost | None, tuple[int, int]]:
    """Return what a shape's preferences cost, and the present change counters of images and storage."""
    machines, content = context.cluster.machines, context.cluster.classes.shapes[shape]
    preferred = context.static_rows.rules.preferences(machines, content, allowed)
    return preferred, (machines.images.changes, machines.storage.changes)


def _score_again(context: RoundContext, shape: int, costs: ShapeCosts) -> bool:
    """Return whether the costs of preferences are still valid; score them again if images or storage changed."""
    machines = context.cluster.machines
    if costs.listed == (machines.images.changes, machines.storage.changes):
        return True
    preferred, costs.listed = _score(context, shape, costs.allowed)
    if preferred is None or costs.preferred is None:
        return preferred is costs.preferred
    return np.array_equal(preferred.points, costs.preferred.points)


def _assess_some(
    context: RoundContext, shape: int, costs: ShapeCosts, rows: Int64, scarce: tuple[int, ...], now: float
) -> bool:
    """Store what one task costs on machines ``rows`` (ascending, two or more); return False if ``get`` must fail."""
    cluster, models = context.cluster, context.configuration.models
    columns = select_columns(cluster, rows, scarce, now)
    place, preferred = costs.allowed[rows], costs.preferred
    batch = batch_of(cluster, [shape], np.ones(1, dtype=np.int64), (place,))
    answers = tuple(each.model.assess(columns, batch) for each in models)
    for weighted, answer in zip(models, answers, strict=True):
        if not (holds(weighted.model, answer, len(rows)) or _is_constant(answer)):
            return False
    if not _note_refused(costs, answers, rows):
        return False
    if preferred is not None:
        preferred = SoftCost(preferred.points[rows], preferred.raw[rows], preferred.weight)
    assessed = RoundAssessment((shape,), columns, batch, (), (), answers, (preferred,))
    free = columns.capacity - cluster.machines.used[rows]
    request = batch.requests[0]
    asked = np.flatnonzero(request)
    place = place & (free[:, asked] >= request[asked]).all(axis=1)
    if costs.refused is not None:
        place &= ~costs.refused[rows]
    costs.units[rows] = np.where(place, compute_charges(assessed, models, None).units[0], CLOSED)
    return True


def _note_refused(costs: ShapeCosts, answers: Sequence[Assessment], rows: Int64) -> bool:
    """Store which of the machines ``rows`` models refuse; return False if preferences depend on these refusals."""
    given = [answer.feasible[0] for answer in answers if answer.feasible is not None]
    if given and costs.preferred is not None:
        return False
    if given and costs.refused is None:
        costs.refused = np.zeros(len(costs.allowed), dtype=np.bool_)
    if costs.refused is not None:
        costs.refused[rows] = ~np.logical_and.reduce(given) if given else False
    return True


def select_columns(cluster: Cluster, rows: Int64, scarce: tuple[int, ...], now: float) -> MachineColumns:
    """Return what models see of the machines ``rows``, in a cluster without reports of measured use."""
    machines = cluster.machines
    capacity, unstated = machines.capacity[rows], machines.unstated[rows]
    unknown = np.full(len(rows), np.nan)
    described, chosen = machines.describe(), rows.tolist()
    return MachineColumns(
        names=Chosen(described.names, chosen),
        resources=tuple(cluster.resources.names),
        capacity=capacity,
        free=np.maximum(capacity - machines.used[rows], 0),
        running=machines.running[rows],
        labels=Chosen(described.labels, chosen),
        annotations=Chosen(described.annotations, chosen),
        usage=np.full(capacity.shape, np.nan),
        usage_time=unknown,
        records=cluster.records.payloads,
        now=now,
        unstated=unstated if unstated.any() else None,
        scarce=scarce,
    )


def _is_constant(answer: Assessment) -> bool:
    """Return whether a model's answer is the same figure for every machine and refuses no machine."""
    return answer.raw.shape[1] == 1 and answer.feasible is None and answer.is_by_machine(1)
