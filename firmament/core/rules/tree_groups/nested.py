"""Compiles a round's trees of groups: jobs whose tasks are in nested groups, each within one domain of a label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence

import numpy as np

from cost_models.interface import Int64
from firmament.core.model import Job, JobGroup
from firmament.core.rules.gangs.members import (
    count_together,
    list_members_asked_to_leave,
    list_staying_members,
    name_group,
)
from firmament.core.state.cluster import Cluster
from firmament.core.tree_solver.nested.trees import Division, NestedDomains, NestedGroup


def list_labels(jobs: Sequence[Job]) -> list[str]:
    """Return the label keys that the groups of jobs name, sorted."""
    return sorted(
        {
            key
            for job in jobs
            for each in job.groups
            for key in (*each.within, *each.rather_within, *(label for label, _ in each.divided))
        }
    )


def find_domains(cluster: Cluster, keys: Sequence[str]) -> NestedDomains:
    """Return, for each label in ``keys``, the domains that its values form, over all machines."""
    machines = cluster.machines.specs
    codes, values = [], []
    for key in keys:
        present = sorted({each.labels[key] for each in machines if key in each.labels})
        number = {value: place for place, value in enumerate(present)}
        codes.append(
            [number.get(each.labels.get(key, ""), -1) if key in each.labels else -1 for each in machines]
        )
        values.append(tuple(present))
    code = np.array(codes, dtype=np.int64).reshape(len(keys), len(machines))
    return NestedDomains(tuple(keys), code, tuple(values))


def nest_groups(
    cluster: Cluster, job: Job, keys: Sequence[str], classes: Sequence[int], members: Sequence[Int64]
) -> NestedGroup:
    """Return the tree of groups of a job.

    ``classes``: the problem's classes of the job's tasks that the round tries; ``members``: for each class of the
    problem, the rows of its tasks.
    """
    groups = job.groups
    number = {each.name: place for place, each in enumerate(groups)}
    place_of = {key: place for place, key in enumerate(keys)}
    of_class = [number.get(name_group(cluster, int(members[cls][0])), -1) for cls in classes]
    held = list_staying_members(cluster, job.id)
    held_group = [number.get(name_group(cluster, row), -1) for row in held.tolist()]
    known = np.array(held_group, dtype=np.int64) >= 0
    asked = list_members_asked_to_leave(cluster, job.id)
    asked_group = [number.get(name_group(cluster, row), -1) for row in asked.tolist()]
    grouped = np.array(asked_group, dtype=np.int64) >= 0
    counts = [len(members[cls]) for cls in classes]
    refused = ""
    if -1 in of_class:
        refused = "some of its pods are in no group of the tree"
    begun = _find_begun(groups, number, held_group)
    waiting = Counter[int]()
    for group, count in zip(of_class, counts, strict=True):
        waiting[group] += count
    to_come = {} if refused else _count_to_come(groups, begun, waiting)
    # If a group has no waiting task, its future tasks are assumed to request what the first class does.
    like = [
        next((cls for cls, at in zip(classes, of_class, strict=True) if at == group), classes[0])
        for group in to_come
    ]
    return NestedGroup(
        name=job.name or job.id,
        names=tuple(each.name for each in groups),
        parent=np.array([number.get(each.parent, -1) for each in groups], dtype=np.int64),
        least=np.array(
            [_count_least(each, at in begun, waiting[at]) for at, each in enumerate(groups)], dtype=np.int64
        ),
        within=tuple(tuple(place_of[key] for key in each.within) for each in groups),
        rather_within=tuple(tuple(place_of[key] for key in each.rather_within) for each in groups),
        apart=tuple(each.apart for each in groups),
        part_class=np.array([*classes, *like], dtype=np.int64),
        part_group=np.array([*of_class, *to_come], dtype=np.int64),
        part_count=np.array([*counts, *to_come.values()], dtype=np.int64),
        part_to_come=np.repeat([False, True], [len(classes), len(to_come)]),
        held_group=np.array(held_group, dtype=np.int64)[known],
        held_machine=cluster.tasks.machine[held][known].astype(np.int64),
        order=np.repeat(np.array(classes, dtype=np.int64), counts),
        refused=refused,
        fewest=count_together(job, int(known.sum())),
        divided=tuple(
            Division(at, place_of[label], rule)
            for at, each in enumerate(groups)
            for label, rule in each.divided
        ),
        asked_group=np.array(asked_group, dtype=np.int64)[grouped],
        asked_machine=cluster.tasks.machine[asked][grouped].astype(np.int64),
    )


def _find_begun(groups: Sequence[JobGroup], number: Mapping[str, int], held: Sequence[int]) -> set[int]:
    """Return the groups (numbers) with tasks on machines, also in groups inside them.

    ``held``: the group of each task.
    """
    begun: set[int] = set()
    todo = [at for at in set(held) if at >= 0]
    while todo:
        at = todo.pop()
        if at not in begun:
            begun.add(at)
            todo += [number[groups[at].parent]] if groups[at].parent in number else []
    return begun


def _count_least(group: JobGroup, begun: bool, waiting: int) -> int:
    """Return how many tasks of a group, or groups in it, must be placed together.

    A group that expects more tasks, and has none on a machine yet (``begun``), must place all expected tasks if they
    will request the same. If the expected tasks will request something else than the waiting ones, the group must
    place all its waiting tasks.
    """
    if begun:
        return group.least
    return max(group.least, group.expected if group.expected_alike else min(waiting, group.expected))


def _count_to_come(
    groups: Sequence[JobGroup], begun: Container[int], waiting: Counter[int]
) -> dict[int, int]:
    """Return how many tasks each group without tasks on machines expects besides its waiting ones.

    Groups that expect none are absent.
    """
    if not waiting or not any(each.expected for each in groups):
        return {}
    parents = {each.parent for each in groups}
    more = {
        number: each.expected - waiting[number]
        for number, each in enumerate(groups)
        if number not in begun and each.name not in parents
    }
    return {number: count for number, count in more.items() if count > 0}
