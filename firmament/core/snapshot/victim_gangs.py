"""Describes the gangs of tasks that may be evicted: what each can lose, and which groups in it may leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from cost_models.interface import Bool, Int64
from firmament.core.model import Job
from firmament.core.rules.gangs.disruption import EvictionUnit, count_spare, list_eviction_units
from firmament.core.rules.gangs.members import count_by_group, name_group
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import TaskPhase


def describe_gangs(cluster: Cluster, rows: Int64, jobs: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a preemption problem about the gangs of the tasks in ``rows``.

    ``jobs``: the gang of each class of the problem, "" for none.
    """
    gang = np.full(len(rows), -1, dtype=np.int64)
    known = [
        (name, job) for name in sorted(cluster.jobs.gangs) if (job := cluster.jobs.gang(name)) is not None
    ]
    members = [cluster.jobs.members(name) for name, _ in known]
    member = np.fromiter(chain.from_iterable(members), dtype=np.int64)
    of_gang = np.repeat(np.arange(len(known)), list(map(len, members)))
    tasks = cluster.tasks
    place = np.full(len(tasks.uid), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    takes_part = place[member] >= 0
    bound = tasks.state[member] == TaskPhase.BOUND
    there = (bound | (tasks.state[member] == TaskPhase.ASSUMED)) & ~tasks.leaving[member]

    def count(which: Bool) -> Int64:
        return np.bincount(of_gang[which], minlength=len(known))

    kept = np.flatnonzero(count(takes_part))
    elsewhere = there & ~(takes_part & bound)
    counts, apart = count(there), count(elsewhere)
    gangs = [known[each][1] for each in kept.tolist()]
    number = np.full(len(known), -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    gang[place[member[takes_part]]] = number[of_gang[takes_part]]
    spare = [count_spare(job, members) for job, members in zip(gangs, counts[kept].tolist(), strict=True)]
    by_name = {known[each][0]: place_in for place_in, each in enumerate(kept.tolist())}
    own = [by_name.get(job, -1) for job in jobs]
    fields = {
        "gang": gang,
        "spare": np.array(spare, dtype=np.int64),
        "together": apart[kept] == 0,
        "own": np.array(own, dtype=np.int64),
    }
    if any(job.groups for job in gangs):
        by_gang = [member[elsewhere & (of_gang == each)] for each in kept.tolist()]
        return _split_trees(cluster, rows, gangs, by_gang, fields)
    return fields


def _split_trees(
    cluster: Cluster, rows: Int64, jobs: Sequence[Job], elsewhere: Sequence[Int64], flat: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the fields about gangs; groups of trees that may leave separately count as further gangs.

    ``jobs``: the gangs of ``flat``. ``elsewhere``: rows of their tasks on machines that are not in ``rows``.
    """
    first: list[int] = []
    spare: list[int] = []
    above: list[int] = []
    counted: list[bool] = []
    together: list[bool] = []
    gang = np.full(len(rows), -1, dtype=np.int64)
    for place, job in enumerate(jobs):
        mine = np.flatnonzero(flat["gang"] == place)
        first.append(len(spare))
        if not job.groups:
            units = [EvictionUnit((), -1, int(flat["spare"][place]), counted=False)]
            gang[mine] = len(spare)
            apart = [not flat["together"][place]]
        else:
            units = list_eviction_units(job, count_by_group(cluster, job))
            unit_of = {name: number for number, unit in enumerate(units) for name in unit.groups}
            within = [unit_of.get(name_group(cluster, row), 0) for row in rows[mine].tolist()]
            gang[mine] = len(spare) + np.array(within, dtype=np.int64)
            apart = [False] * len(units)
            for row in elsewhere[place].tolist():
                apart[unit_of.get(name_group(cluster, row), 0)] = True
            for number in reversed(range(1, len(units))):
                if units[number].above >= 0:
                    apart[units[number].above] |= apart[number]
        together += [not each for each in apart]
        above += [unit.above + first[-1] if unit.above >= 0 else -1 for unit in units]
        counted += [unit.counted for unit in units]
        spare += [unit.spare for unit in units]
    own: Int64 = flat["own"]
    return {
        "gang": gang,
        "spare": np.array(spare, dtype=np.int64),
        "together": np.array(together, dtype=np.bool_),
        "own": np.where(own >= 0, np.array(first, dtype=np.int64)[own], -1),
        "above": np.array(above, dtype=np.int64),
        "counted": np.array(counted, dtype=np.bool_),
    }
