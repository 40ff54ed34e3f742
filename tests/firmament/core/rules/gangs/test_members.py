"""How many members a gang needs, may lose at a time, and has when some leave."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from firmament.core.events import ClassDefined, JobDefined, TasksBound
from firmament.core.model import Job, JobGroup
from firmament.core.rules.gangs.disruption import count_spare, find_leaving_units, list_eviction_units
from firmament.core.rules.gangs.members import breaks_up, natural_key, shrink
from tests.support.core import machine, scheduler, task_class, uids


@pytest.mark.parametrize(("members", "needed"), [(0, 3), (1, 2), (2, 1), (3, 1), (9, 1)])
def test_a_gang_that_is_shrunk_needs_at_least_one(members, needed):
    job = Job("g", name="ns/g", min_members=3)
    assert shrink(job, members).min_members == needed
    assert shrink(job, members).id == "g"


@pytest.mark.parametrize(
    ("whole", "expected"),
    [(False, [False, False, True, True, False]), (True, [False, True, True, True, False])],
)
def test_a_gang_breaks_up_if_some_stay_but_fewer_than_it_needs(whole, expected):
    job = Job("g", name="ns/g", min_members=3, disrupted_whole=whole)
    core = scheduler(
        machine("m", cpu=9000),
        ClassDefined(1, task_class(cpu=1000)),
        JobDefined(job),
        TasksBound("m", 1, uids("g", 4), job="g"),
    )
    rows = core._cluster.jobs.members("g")
    assert [breaks_up(core._cluster, job, rows[:leaving]) for leaving in range(5)] == expected


def test_members_that_leave_on_their_own_are_spare_unless_all_go_together():
    job = Job("g", name="ns/g", min_members=3)
    assert [count_spare(job, members) for members in (2, 3, 5)] == [0, 0, 2]
    assert count_spare(replace(job, disrupted_whole=True), 5) == 0


def test_names_are_in_the_order_of_their_numbers():
    names = ["g-10-b", "g-2-b", "g-2-a", "g-02-a", "g", "g-", "g-9", "a-100", "g-2", "10", "9", "g-0"]
    assert sorted(names, key=natural_key) == [
        *("9", "10", "a-100", "g", "g-", "g-0", "g-02-a", "g-2", "g-2-a", "g-2-b", "g-9", "g-10-b")
    ]


def test_a_group_in_a_tree_leaves_alone_or_takes_along_what_cannot_spare_it():
    groups = (
        *(JobGroup("root", least=1), JobGroup("a", "root", 1), JobGroup("b", "root", 2)),
        JobGroup("c", "root", 1, disrupted_whole=True),
    )
    job = Job("g", min_members=1, groups=groups)

    def leaves(job: Job, **lost: int) -> list[str]:
        units = list_eviction_units(job, Counter(a=2, b=2, c=2))
        gone = find_leaving_units(units, [sum(lost.get(name, 0) for name in unit.groups) for unit in units])
        return sorted(name for unit, goes in zip(units, gone, strict=True) if goes for name in unit.groups)

    assert leaves(job, a=1) == []
    assert leaves(job, a=2) == ["a"]
    assert leaves(job, a=1, b=1, c=1) == ["b", "c"]
    assert leaves(job, a=2, b=1, c=1) == ["a", "b", "c"]
    assert leaves(replace(job, groups=(JobGroup("root", least=3), *groups[1:])), b=1) == ["a", "b", "c"]
    assert leaves(replace(job, disrupted_whole=True), a=1) == ["a", "b", "c"]
    assert leaves(replace(job, min_members=3), a=1) == ["a", "b", "c"], "it needs more than its groups do"
