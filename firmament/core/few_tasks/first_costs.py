"""What a first task of each shape costs on each machine, kept from round to round.

Between two rounds of a few tasks hardly any machine changes. So the costs of a shape are reckoned once for all
machines, and from then on only for those that have changed; reading them takes one look at an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.api.columns import Chosen
from cost_models.interface import Assessment, Bool, Int64, MachineColumns
from firmament.core.scoring.arc_costs import charges
from firmament.core.scoring.kept_rows import LEAST_MACHINES
from firmament.core.scoring.round_assessment import RoundAssessment, batch_of, holds
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.state.cluster import Cluster
from firmament.solvers.base import Int32

CLOSED = int(np.iinfo(np.int32).max)
"""Stands for machines that a task may not use, or that have no room for it: no cost is as high."""

MOST_SHAPES = 64

MOST_CHANGED = 4
"""If more than one in so many machines has changed, all are reckoned anew."""


@dataclass(slots=True)
class _Kept:
    """``units``: int32[M], `CLOSED` where there is no place, as of ``mark``; ``allowed``: bool[M], what rules say."""

    units: Int32
    allowed: Bool
    mark: int


class FirstCosts:
    """Costs of a first task by shape, of the latest `MOST_SHAPES` shapes.

    They hold as long as models are asked that promise to answer machine by machine, and nothing is reported of use;
    whoever asks sees to that.
    """

    def __init__(self, least_machines: int = LEAST_MACHINES) -> None:
        """``least_machines``: of smaller clusters none are kept, nor asked for."""
        self.least_machines = least_machines
        self._kept: dict[int, _Kept] = {}
        self._facts: tuple[object, ...] = ()

    def clear(self) -> None:
        """Keep nothing any more, as shapes have other rows now, or memory is wanted."""
        self._kept.clear()

    def look(self, context: RoundContext, scarce: tuple[int, ...]) -> None:
        """Forget all if something has changed that is about no single machine. To be called before any are asked for.

        ``scarce``: columns of the scarce resources now.
        """
        cluster = context.cluster
        records = cluster.records.changes
        facts = (
            cluster.machines.static_version,
            cluster.resources.version,
            scarce,
            *(records[kind] for kind in context.configuration.needs.records),
        )
        if facts != self._facts:
            self._kept.clear()
            self._facts = facts

    def get(self, context: RoundContext, shape: int, scarce: tuple[int, ...], now: float) -> Int32 | None:
        """Return int32[M]: units of a first task, `CLOSED` where there is no place for it; not to be written
        to.

        None if the models answer otherwise than machine by machine.
        """
        machines = context.cluster.machines
        kept = self._kept.pop(shape, None)
        stamps = machines.changes.stamps(len(machines))
        mark = machines.changes.mark()
        changed = None if kept is None else np.flatnonzero(stamps > kept.mark)
        if kept is None or changed is None or len(changed) * MOST_CHANGED > len(machines):
            allowed = context.static_rows.get(shape).feasible
            changed = np.arange(len(machines))
            kept = _Kept(np.empty(len(machines), dtype=np.int32), allowed, mark)
        if len(changed):
            # Of a single machine, an answer for all machines and one for each would look alike.
            rows = changed if len(changed) > 1 else np.unique([changed[0], 0, len(machines) - 1])
            units = assess_some(context, [shape], [kept.allowed], rows, scarce, now)
            if units is None:
                return None
            kept.units[rows] = units[0]
        kept.mark = mark
        self._kept[shape] = kept
        if len(self._kept) > MOST_SHAPES:
            del self._kept[next(iter(self._kept))]  # the one that was asked for longest ago
        return kept.units


def assess_some(
    context: RoundContext,
    shapes: Sequence[int],
    allowed: Sequence[Bool],
    rows: Int64,
    scarce: tuple[int, ...],
    now: float,
) -> Int32 | None:
    """Return int32[S, A]: units of a first task of each shape on the machines ``rows`` (ascending, at least
    two), `CLOSED` where it has no place; None if some model answers otherwise than machine by machine.

    ``allowed``: per shape bool[M], what rules say.
    """
    cluster, models = context.cluster, context.configuration.models
    columns = select_columns(cluster, rows, scarce, now)
    single = np.ones(len(shapes), dtype=np.int64)
    batch = batch_of(cluster, shapes, single, tuple(row[rows] for row in allowed))
    answers = tuple(each.model.assess(columns, batch) for each in models)
    for weighted, answer in zip(models, answers, strict=True):
        if not (holds(weighted.model, answer, len(rows)) or _is_constant(answer)):
            return None
    none = (None,) * len(shapes)
    assessed = RoundAssessment(tuple(shapes), columns, batch, (), (), answers, none)
    units = charges(assessed, models, None).units
    free = columns.capacity - cluster.machines.used[rows]
    for index, request in enumerate(batch.requests):
        asked = np.flatnonzero(request)
        place = (free[:, asked] >= request[asked]).all(axis=1) & allowed[index][rows]
        for answer in answers:
            if answer.feasible is not None:
                place &= answer.feasible[index]
        units[index, ~place] = CLOSED
    return units


def select_columns(cluster: Cluster, rows: Int64, scarce: tuple[int, ...], now: float) -> MachineColumns:
    """Return what models see of the machines ``rows`` in a cluster of which no use has been reported."""
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
    """Return whether an answer is the same figure for every machine, and nothing else."""
    return answer.raw.shape[1] == 1 and answer.feasible is None and answer.is_by_machine(1)
