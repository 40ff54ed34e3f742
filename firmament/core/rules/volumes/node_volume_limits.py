"""Volumes that several tasks share, and that are attached to machines already: those need no attachment more there.

A task asks for one attachment per volume, as a resource. Its class says which of these volumes are shared, and machines
say which volumes are attached to them. What that saves differs from machine to machine, which requests cannot say. So
in a round the machines concerned offer what could be saved in addition, and joint rows hold all tasks there to what is
truly left. Whoever shares a volume that no machine has yet is asked for it once each: the next round knows better.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64, JointRows
from firmament.core.reasons import lack_of
from firmament.core.resources import NO_COLUMN
from firmament.core.rules.framework.limit_rule import LimitRule, RoundDemand
from firmament.core.state.cluster import Cluster

MOST_KINDS = 64
"""Most kinds of machines that a round tells apart by attached volumes; on further kinds every attachment is counted
again."""


class AttachedVolumes(LimitRule):
    """Attachments that machines have left, where what a task asks for is attached already."""

    name = "NodeVolumeLimits"
    for_tasks_with = ("attachments",)
    asked_again = False

    def limit(self, cluster: Cluster, demand: RoundDemand, free: Int64) -> tuple[Int64, list[JointRows]]:
        """Return more where volumes are attached, and rows for what is truly left there."""
        return _add_attached(cluster, demand, free)

    def spare(self, cluster: Cluster, shape: int, rows: Int64) -> Int64 | None:
        """Return the attachments that a task need not ask for."""
        return _compute_saved(cluster, shape, rows)


def _compute_saved(cluster: Cluster, shape: int, rows: Int64) -> Int64 | None:
    """Return int64[len(rows), K]: what a task of a shape need not ask of machines (rows) after all, None for
    nothing.
    """
    attachments = cluster.classes.shapes[shape].attachments
    if not attachments:
        return None
    machines = cluster.machines
    columns = cluster.resources.columns([resource for resource, _ in attachments])
    less = np.zeros((len(machines), machines.capacity.shape[1]), dtype=np.int64)
    for column, (_, volume) in zip(columns, attachments, strict=True):
        if column == NO_COLUMN:
            continue  # no machine offers it
        less[[machines.row_of[name] for name in machines.attached.get(volume, ())], column] += 1
    request = cluster.requests.get(shape)[0]
    less[:, : len(request)] = np.minimum(less[:, : len(request)], request)
    return less[rows] if less.any() else None


def _add_attached(cluster: Cluster, demand: RoundDemand, free: Int64) -> tuple[Int64, list[JointRows]]:
    """Return what machines offer in a round, and the rows that hold tasks there to ``free`` (int64[M, K])."""
    every = np.arange(len(free))
    less = {
        index: found
        for index, shape in enumerate(demand.shapes)
        if (found := _compute_saved(cluster, shape, every)) is not None
    }
    if not less:
        return free, []
    offered = free.copy()
    rows = []
    for column in sorted(
        {each for found in less.values() for each in np.flatnonzero(found.any(axis=0)).tolist()}
    ):
        kinds: dict[tuple[tuple[int, int], ...], list[int]] = {}
        concerned = np.flatnonzero(np.any([found[:, column] > 0 for found in less.values()], axis=0))
        for machine in concerned.tolist():
            kind = tuple((index, int(found[machine, column])) for index, found in less.items())
            kinds.setdefault(kind, []).append(machine)
        for kind in sorted(kinds, key=lambda each: -len(kinds[each]))[:MOST_KINDS]:
            there = np.array(kinds[kind], dtype=np.int64)
            amount = demand.requests[:, column].copy()
            for index, number in kind:
                amount[index] -= number
            limit = np.zeros(len(free), dtype=np.int64)
            limit[there] = np.maximum(free[there, column], 0)
            row_of = np.full(len(free), -1, dtype=np.int64)
            row_of[there] = there
            offered[there, column] = limit[there] + sum(
                number * int(demand.counts[index]) for index, number in kind
            )
            reason = lack_of(cluster.resources.names[column]).words
            rows.append(JointRows(row_of, amount, limit, reason))
    return offered, rows
