"""NodeVolumeLimits: a shared volume that is already attached to a machine needs no further attachment there.

A task requests one attachment per volume, as a resource. A task's class says which of its volumes are shared, and
machines say which volumes are attached to them. How many attachments a task saves differs between machines, which
requests cannot express. In a round, the machines concerned therefore offer additional attachments, as many as tasks
could save. On machines that offer additional attachments, joint rows limit all tasks to the attachments that are
really left. If a shared volume is attached to no machine yet, each of its tasks counts with an attachment of its own
until the next round.

Attachments are a resource: ``node_resources`` refuses machines that have too few, and ``reasons.lack_of`` names the
reason.
"""

from __future__ import annotations

import numpy as np

from cost_models.interface import Int64, JointRows
from firmament.core.reasons import lack_of
from firmament.core.resources import NO_COLUMN
from firmament.core.rules.framework.limit_rule import LimitRule, RoundDemand
from firmament.core.state.cluster import Cluster

MOST_KINDS = 64
"""The most kinds of machines that a round distinguishes by attached volumes; on machines of further kinds nothing is
saved.
"""


class AttachedVolumes(LimitRule):
    """Limits attachments of volumes, but does not count again a volume that the machine has attached already."""

    name = "NodeVolumeLimits"
    for_tasks_with = ("attachments",)
    asked_again = False

    def limit(self, cluster: Cluster, demand: RoundDemand, free: Int64) -> tuple[Int64, list[JointRows]]:
        """Return offers that include already attached volumes, and joint rows that limit tasks to what is left."""
        return _add_attached(cluster, demand, free)

    def find_waived_requests(self, cluster: Cluster, shape: int, rows: Int64) -> Int64 | None:
        """Return the attachments that a task need not request on machines, because its volumes are attached there."""
        return _compute_saved(cluster, shape, rows)


def _compute_saved(cluster: Cluster, shape: int, rows: Int64) -> Int64 | None:
    """Return the attachments that a task of a shape saves on ``rows``: int64[len(rows), K]; None: it saves none."""
    attachments = cluster.classes.shapes[shape].attachments
    if not attachments:
        return None
    machines = cluster.machines
    columns = cluster.resources.columns([resource for resource, _ in attachments])
    less = np.zeros((len(machines), machines.capacity.shape[1]), dtype=np.int64)
    for column, (_, volume) in zip(columns, attachments, strict=True):
        if column == NO_COLUMN:
            continue  # No machine offers attachments of this kind.
        less[[machines.row_of[name] for name in machines.attached.get(volume, ())], column] += 1
    request = cluster.requests.get(shape)[0]
    less[:, : len(request)] = np.minimum(less[:, : len(request)], request)
    return less[rows] if less.any() else None


def _add_attached(cluster: Cluster, demand: RoundDemand, free: Int64) -> tuple[Int64, list[JointRows]]:
    """Return int64[M, K], what machines offer in a round, and the joint rows that limit tasks there to ``free``."""
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
