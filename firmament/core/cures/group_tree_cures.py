"""Finds cures for trees of groups: a coarser label, no label, or no rule that divides a group.

A cure changes the largest group of a level, or else all groups of the level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from firmament.core.changes import CureChange, CureKind
from firmament.core.cures.proposals import Cure
from firmament.core.events import TasksSubmitted
from firmament.core.label_levels import LabelLevels
from firmament.core.model import Job, JobGroup
from firmament.core.rescheduling.trials import TogetherChange, Trials

_MOST_COARSER = 2
"""Most coarser labels that are tried for a level."""


def cures_by_level(
    trials: Trials,
    waiting: Sequence[TasksSubmitted],
    job: Job,
    tries: int,
    others: Sequence[TasksSubmitted] = (),
) -> Iterator[Cure]:
    """Yield changes of a tree of groups after which all its waiting tasks would have places, at most one of each kind.

    A change gives groups of one level a coarser label or none, or does not divide them. Levels are tried from the
    tasks up; at most ``tries`` changes are tried. ``others``: the waiting tasks outside the gang.
    """
    levels = LabelLevels(trials.machine(name).labels for name in trials.machines)
    for kind in (CureKind.WIDEN, CureKind.DROP):
        for step, changed in _propose(job, levels, kind):
            if tries <= 0:
                return
            tries -= 1
            found = trials.find_places_of_all(waiting, TogetherChange(job=changed, former=job), others)
            if found is not None:
                yield Cure((step,), found[next(iter(found))], together=len(found))
                break


def _propose(job: Job, levels: LabelLevels, kind: CureKind) -> Iterator[tuple[CureChange, Job]]:
    """Yield changes of one kind with the tree after them: the deepest level first, then the finest label.

    Within a level, the change of the largest group alone comes before the change of all groups.
    """
    depth = _find_depths(job.groups)
    if kind is CureKind.DROP:
        yield from _propose_undivided(job, depth)
    bound: dict[tuple[int, str], list[str]] = {}
    for each in job.groups:
        for key in each.within:
            bound.setdefault((depth[each.name], key), []).append(each.name)
    order = sorted(bound, key=lambda level: (-level[0], -len(levels.values.get(level[1], ())), level[1]))
    for level, key in order:
        coarser = levels.find_coarser(key)[:_MOST_COARSER] if kind is CureKind.WIDEN else (None,)
        for label, names in product(coarser, _list_choices(job.groups, bound[level, key])):
            groups = tuple(_relabel(each, key, label) if each.name in names else each for each in job.groups)
            subject = f"topology constraint of {_name(names, level)} by {key}"
            yield CureChange(kind, subject, after=label), replace(job, groups=groups)


def _propose_undivided(job: Job, depth: Mapping[str, int]) -> Iterator[tuple[CureChange, Job]]:
    """Yield changes to the tree that drop the rules which divide the groups of one level; the deepest level first."""
    divided: dict[tuple[int, str], list[str]] = {}
    for each in job.groups:
        for key, _ in each.divided:
            divided.setdefault((-depth[each.name], key), []).append(each.name)
    for (level, key), every in sorted(divided.items()):
        for names in _list_choices(job.groups, every):
            groups = tuple(_undivide(each, key) if each.name in names else each for each in job.groups)
            subject = f"rule of {_name(names, -level)} by {key}"
            yield CureChange(CureKind.DROP, subject), replace(job, groups=groups)


def _list_choices(groups: Sequence[JobGroup], names: Sequence[str]) -> list[Sequence[str]]:
    """Return the largest of some groups alone, then all of them; a change of fewer groups is the smaller change."""
    if len(names) == 1:
        return [names]
    need: dict[str, int] = {}
    for each in reversed(groups):  # ``groups`` lists parents before their groups
        own = need.setdefault(each.name, max(each.least, each.expected))
        if each.parent:
            need[each.parent] = need.get(each.parent, 0) + own
    return [[max(names, key=lambda name: need[name])], names]


def _undivide(group: JobGroup, key: str) -> JobGroup:
    return replace(group, divided=tuple(each for each in group.divided if each[0] != key))


def _name(names: Sequence[str], level: int) -> str:
    return f"group {names[0]}" if len(names) == 1 else f"the {len(names)} groups on level {level}"


def _find_depths(groups: Sequence[JobGroup]) -> dict[str, int]:
    """Return the level of each group by its name, 1 for roots; ``groups`` lists parents first."""
    depth = {"": 0}
    for each in groups:
        depth[each.name] = depth[each.parent] + 1
    return depth


def _relabel(group: JobGroup, key: str, label: str | None) -> JobGroup:
    """Return a group with ``label`` in place of the label ``key``, or without that label."""
    within = (label if each == key else each for each in group.within)
    return replace(group, within=tuple(each for each in within if each is not None))
