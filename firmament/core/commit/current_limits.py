"""Asks rules and models for their limits again when a round ends: filters, joint rows and ledgers.

A round's decisions obey the limits that models stated when the round began. If something has happened since that could
lower what machines take, the models that stated limits are asked again. Models that may have limits by now are asked as
well: their records have changed, or they consider single tasks on machines. The models are asked about all machines as
they are now, and about the shapes of the placed tasks. After that, the round checks each placement against the new
answers.

Models are asked again about four kinds of machines: those to which tasks came, those with new records about them,
those with a new description, and all if a record names no machine. Tasks that left only free capacity. Reports of use
are ignored: they are about the time before, and another report comes soon.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import zip_longest

import numpy as np

from cost_models.interface import Assessment, Bool, Int64, JointRows, Ledger
from firmament.core.configuration import WeightedModel
from firmament.core.constraints.model_limits import ModelLimits
from firmament.core.constraints.quota_terms import QuotaTerms
from firmament.core.flow.problem import Assignments
from firmament.core.rules.framework.limit_rule import RoundDemand
from firmament.core.rules.registry import find_quotas, keep_ledgers, limit_anew
from firmament.core.scoring.round_assessment import assess_shapes
from firmament.core.snapshot.grouping import RoundContext
from firmament.core.snapshot.snapshot import Snapshot, model_columns
from firmament.core.state.cluster import Cluster


class LimitsNow:
    """The answers of rules and models to the question where tasks may go, asked again when a round ends.

    ``shape``: int64[C], for each class of the snapshot the index of its shape in the answers, -1 for classes not asked
    about. Machines are numbered by their present rows.
    """

    def __init__(
        self,
        shape: Int64,
        answers: Sequence[Assessment],
        limited: Sequence[JointRows],
        kept: Sequence[Ledger],
        quotas: QuotaTerms | None,
    ) -> None:
        """Limit tasks by joint rows ``limited`` and ledgers ``kept`` of rules, and by present ``quotas``, if any."""
        self._shape = shape
        self._quotas = quotas
        self._filters = [each.feasible for each in answers if each.feasible is not None]
        self._joint = [*limited, *(rows for each in answers for rows in each.joint)]
        self._ledgers = [*(each.ledger for each in answers if each.ledger is not None), *kept]

    def pass_filters(self, cls: Int64, machine: Int64) -> Bool:
        """Return whether filters allow tasks of ``cls[i]`` on ``machine[i]``: bool[N]."""
        open_to: Bool = np.ones(len(cls), dtype=np.bool_)
        for feasible in self._filters:
            open_to &= feasible[self._shape[cls], machine]
        return open_to

    def rooms(self) -> ModelLimits:
        """Return what joint rows and ledgers have left before any of the round's tasks is counted."""
        return ModelLimits(self._joint, self._ledgers, self._shape, self._quotas)


def limits_now(context: RoundContext, snapshot: Snapshot, placed: Assignments) -> LimitsNow | None:
    """Return the answers of models asked again, or None if nothing has happened to the machines of ``placed``.

    Call this function before any task of the round is placed, and while tasks that may move are still in their
    places.
    """
    cluster = context.cluster
    if not len(placed.cls) or cluster.version == snapshot.version:
        return None
    weighted, changed = snapshot.configuration.models, list_records_changed_since(cluster, snapshot)
    asked = [
        each
        for each, answer in zip(weighted, snapshot.assessed.assessments, strict=True)
        if states_limits(answer) or _may_have_limits(each, changed)
    ]
    shape_of = np.array([cluster.classes.rows[cls].shape for cls in snapshot.cls.tolist()], dtype=np.int64)
    shapes, of_entry = np.unique(shape_of[placed.cls], return_inverse=True)
    counts = np.bincount(of_entry, weights=placed.count).astype(np.int64)
    demand = RoundDemand(shapes.tolist(), counts, cluster.requests.rows(shapes.tolist())[0])
    limited, quotas = limit_anew(cluster, demand), find_quotas(cluster, demand)
    kept = keep_ledgers(cluster, demand)
    joint = (*snapshot.problem.joint, *limited)
    apart = quotas is None and not kept and all(map(has_row_per_machine, joint))
    if not (asked or limited or kept or quotas is not None) or (
        apart and not find_disturbed(cluster, snapshot)[placed.machine].any()
    ):
        return None
    answers = _ask_again(context, snapshot, asked, shapes.tolist(), counts.tolist()) if asked else ()
    place = {shape: place for place, shape in enumerate(shapes.tolist())}
    of_class = np.array([place.get(shape, -1) for shape in shape_of.tolist()], dtype=np.int64)
    return LimitsNow(of_class, answers, limited, kept, quotas)


def newly_limited(context: RoundContext, snapshot: Snapshot, classes: Collection[int]) -> bool:
    """Return whether a model that stated no limits when ``snapshot`` was taken now states limits for ``classes``."""
    cluster = context.cluster
    changed = list_records_changed_since(cluster, snapshot)
    asked = [
        each
        for each, answer in zip(snapshot.configuration.models, snapshot.assessed.assessments, strict=True)
        if not states_limits(answer) and _may_have_limits(each, changed)
    ]
    if not asked or not classes:
        return False
    shapes = sorted({cluster.classes.rows[row].shape for row in snapshot.cls[list(classes)].tolist()})
    return any(map(states_limits, _ask_again(context, snapshot, asked, shapes, [1] * len(shapes))))


def _ask_again(
    context: RoundContext,
    snapshot: Snapshot,
    asked: Sequence[WeightedModel],
    shapes: Sequence[int],
    counts: Sequence[int],
) -> Sequence[Assessment]:
    """Return what the models ``asked`` now say about shapes."""
    columns = model_columns(context.cluster, snapshot.assessed.machines.now, snapshot.configuration.needs)
    return assess_shapes(context.cluster, context.static_rows, columns, shapes, counts, asked).assessments


def _may_have_limits(asked: WeightedModel, changed: frozenset[str]) -> bool:
    """Return whether a model that stated no limits may state some now; ``changed``: kinds of changed records."""
    return asked.model.needs.load or not changed.isdisjoint(asked.model.needs.records)


def has_row_per_machine(rows: JointRows) -> bool:
    """Return whether each machine has a joint row of its own, numbered like the machine, or no joint row."""
    machines = len(rows.row_of)
    return len(rows.limit) == machines and bool(
        ((rows.row_of < 0) | (rows.row_of == np.arange(machines))).all()
    )


def states_limits(answer: Assessment) -> bool:
    """Return whether a model's answer limits where tasks may go, besides what they cost."""
    return answer.feasible is not None or bool(answer.joint) or answer.ledger is not None


def find_disturbed(cluster: Cluster, snapshot: Snapshot) -> Bool:
    """Return the machines that are gone, have changed or have got tasks or records since, by former row: bool[M]."""
    found = np.zeros(len(snapshot.described), dtype=np.bool_)
    records, tasks, table = cluster.records, cluster.tasks, cluster.machines
    if any(records.changes[kind] != count for kind, count in snapshot.changes.items()) or any(
        records.removals[kind] != count for kind, count in snapshot.removals.items()
    ):
        found[:] = True  # such a record may concern any machine
        return found
    for row, (then, now) in enumerate(zip_longest(snapshot.described, table.specs)):
        if then is not now and then is not None:
            at = table.row_of.get(then.name, -1)
            found[row] = at < 0 or table.specs[at] != then
    size = len(tasks.uid)
    new = (tasks.machine[:size] >= 0) & (tasks.arrival_number[:size] > snapshot.arrival_number)
    names = {table.specs[row].name for row in np.unique(tasks.machine[:size][new]).tolist()}
    for kind in snapshot.removals:
        names |= {
            name
            for name, arrival_number in records.arrival_numbers.get(kind, {}).items()
            if arrival_number > snapshot.arrival_number
        }
    if names:
        found[[row for row, name in enumerate(snapshot.machine_names) if name in names]] = True
    return found


def list_records_changed_since(cluster: Cluster, snapshot: Snapshot) -> frozenset[str]:
    """Return the kinds of records of which any was added, changed or removed after the snapshot."""
    records = cluster.records
    of_machines = (
        kind
        for kind, removals in snapshot.removals.items()
        if records.removals[kind] != removals
        or max(records.arrival_numbers.get(kind, {}).values(), default=-1) > snapshot.arrival_number
    )
    others = (kind for kind, count in snapshot.changes.items() if records.changes[kind] != count)
    return frozenset((*of_machines, *others))
