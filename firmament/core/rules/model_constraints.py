"""Compiles the constraints between tasks that cost models state, for the classes of a round and their kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cost_models.interface import ShapeRow
from cost_models.pairs import PlacedKinds
from firmament.core.constraints.model_limits import ModelConstraint
from firmament.core.state.cluster import Cluster


def model_constraints(
    cluster: Cluster, waiting: Sequence[int], *, without: int = -1
) -> tuple[ModelConstraint, ...]:
    """Return the models' constraints that concern a class in ``waiting``.

    ``waiting``: class rows; class c of the problem is ``waiting[c]``.

    ``without``: row of a task that is not counted on its machine; -1 for none.
    """
    found = []
    for model in cluster.constraining_models:
        kinds = find_kinds(cluster, model.needs.kind_labels, waiting, without=without)
        kind = np.array([kinds.by_class.get(row, -1) for row in waiting], dtype=np.int64)
        if not (kind >= 0).any():
            continue
        labels = cluster.machines.describe().labels
        constraint = model.constraint(labels, kinds.rows, kinds.placed.kind, kinds.placed.machine)
        if constraint is not None:
            found.append(ModelConstraint(model.name, kind, constraint))
    return tuple(found)


# --- Kinds of waiting and placed tasks: a model distinguishes tasks only by some of their labels.


@dataclass(frozen=True, slots=True)
class RoundKinds:
    """The kinds of a round's tasks, for one model.

    ``rows``: each kind as the model sees it. ``by_class``: the kind of each class row, for classes that have one.
    ``placed``: the tasks on machines, by kind.
    """

    rows: tuple[ShapeRow, ...]
    by_class: dict[int, int]
    placed: PlacedKinds


def find_kinds(
    cluster: Cluster, keys: Sequence[str], waiting: Sequence[int], *, without: int = -1
) -> RoundKinds:
    """Return the kinds, by the labels ``keys``, of the classes that wait or have tasks on machines.

    ``waiting``: class rows; ``without``: row of a task that is not counted on its machine; -1 for none.
    """
    tasks = cluster.tasks
    on = np.flatnonzero(tasks.machine[: len(tasks.uid)] >= 0)
    on = on[on != without]
    present, of_task = np.unique(tasks.cls[on], return_inverse=True)
    number: dict[tuple[tuple[str, str], ...], int] = {}
    kind_of: dict[int, int] = {}
    wanted = frozenset(keys)
    for row in (*waiting, *present.tolist()):
        if row not in kind_of:
            labels = tuple([pair for pair in cluster.classes.rows[row].content.labels if pair[0] in wanted])
            if len(labels) > 1:
                labels = tuple(sorted(labels))
            if labels:
                kind_of[row] = number.setdefault(labels, len(number))
    kind = np.array([kind_of.get(row, -1) for row in present.tolist()], dtype=np.int64)[of_task]
    rows = tuple(ShapeRow(labels=dict(labels)) for labels in number)
    return RoundKinds(
        rows, kind_of, PlacedKinds(kind[kind >= 0], tasks.machine[on][kind >= 0].astype(np.int64))
    )
