"""How many members a gang needs, may lose at a time, and has when some leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import Job, JobGroup
from firmament.core.preemption.problem import PreemptionDecision
from firmament.core.rules.gangs.disruption import count_spare, find_leaving_units, list_eviction_units
from firmament.core.rules.gangs.members import (
    breaks_up,
    count_members,
    find_progress,
    hold_back_decisions,
    list_able_members,
    list_members_asked_to_leave,
    list_staying_members,
    natural_key,
    shrink,
)
from firmament.core.rules.gangs.rebinding import Rebinding
from firmament.core.rules.gangs.surplus_members import Surplus
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from tests.support.core import machine, scheduler, task_class, uids
from tests.support.rules import ints


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


# --- members of a cluster's gangs ------------------------------------------------------------------------------------

WORK, GOING = 1, 2
TREE = (JobGroup("root", least=2), JobGroup("a", "root", 2), JobGroup("b", "root", 1))


def cluster(job: Job, *events: Event) -> Cluster:
    """A large machine, a small one for nobody, and a gang."""
    made = Cluster()
    classes = [ClassDefined(WORK, task_class()), ClassDefined(GOING, task_class(terminating=True))]
    of_groups = [ClassDefined(10 + at, task_class(group=name)) for at, name in enumerate("ab")]
    apply_events(made, [machine("m"), machine("n"), *classes, *of_groups, JobDefined(job), *events], 0.0)
    return made


def named(made: Cluster, rows: Iterable[int]) -> list[str]:
    return [made.tasks.uid[row] for row in rows]


@pytest.mark.parametrize(
    ("bound", "assumed", "is_placed", "is_bound"),
    [("aab", "", True, True), ("aa", "b", True, False), ("a", "b", False, False), ("", "aab", True, False)],
)
def test_a_tree_is_placed_with_the_last_member_that_a_group_needs(
    bound: str, assumed: str, is_placed: bool, is_bound: bool
):
    job = Job("g", min_members=3, groups=TREE)
    events: list[Event] = [
        TasksBound("m", 10 + "ab".index(name), (f"bound-{at}",), job="g") for at, name in enumerate(bound)
    ]
    events += [
        TasksSubmitted(10 + "ab".index(name), (f"assumed-{at}",), job="g") for at, name in enumerate(assumed)
    ]
    made = cluster(job, *events)
    for at in range(len(assumed)):
        transitions.assume(made, ints(made.tasks.row_of[f"assumed-{at}"]), ints(0))
    found = find_progress(made, job)
    assert (found.bound, found.assumed, found.leaving) == (len(bound), len(assumed), 0)
    assert (found.is_placed, found.is_bound) == (is_placed, is_bound)


def test_members_that_are_being_deleted_have_left_and_those_asked_to_leave_may_stay():
    job = Job("g", min_members=2)
    made = cluster(
        job,
        TasksBound("m", WORK, ("stays", "asked"), job="g"),
        TasksBound("n", GOING, ("deleted",), job="g"),
        TasksSubmitted(WORK, ("waits",), job="g"),
    )
    transitions.ask_to_leave(made, made.tasks.row_of["asked"])
    assert named(made, list_staying_members(made, "g").tolist()) == ["stays"]
    assert named(made, list_members_asked_to_leave(made, "g").tolist()) == ["asked"]
    assert count_members(made, "g") == (1, 0, 2)
    assert named(made, list_able_members(made, job, 0.0)) == ["waits"]


@pytest.mark.parametrize(("need", "kept"), [(0, []), (1, ["late-9"]), (3, ["late-9", "late-10", "first-1"])])
def test_members_beyond_the_size_of_a_gang_are_the_latest_and_of_those_the_last_by_name(
    need: int, kept: list[str]
):
    job = Job("g", name="ns/g", min_members=3)
    members = {"later-1": 3.0, "late-10": 1.0, "late-9": 1.0, "first-1": 2.0}
    made = cluster(
        job,
        *(
            TasksSubmitted(WORK, (name,), job="g", names=(f"ns/{name}",), created=(when,))
            for name, when in members.items()
        ),
    )
    surplus = Surplus()
    able = surplus.hold_back(made, job, made.jobs.members("g"), need)
    assert named(made, able) == kept
    held = {uid for uid in members if made.tasks.unschedulable[made.tasks.row_of[uid]]}
    assert held == members.keys() - set(kept)
    told = surplus.take_notices(made)
    assert {uid for each in told for uid in each.uids} == held
    assert {each.message for each in told} == {
        "beyond size: group ns/g has its 3 members; this pod waits until one of them leaves"
    }
    surplus.hold_back(made, job, made.jobs.members("g"), need)
    assert surplus.take_notices(made) == [], "they know"


@pytest.mark.parametrize(("members", "need"), [("aab", 2), ("aaab", 2), ("aabb", 2), ("aa", 3), ("ab", 3)])
def test_a_tree_whose_groups_lack_members_needs_more_than_there_are(members: str, need: int):
    job = Job("g", min_members=3, groups=TREE)
    made = cluster(
        job,
        *(
            TasksSubmitted(10 + "ab".index(name), (f"{name}-{at}",), job="g")
            for at, name in enumerate(members)
        ),
    )
    rows, asked = Surplus().hold_back_incomplete(made, job, list(made.jobs.members("g")), 2)
    assert "".join(uid[0] for uid in named(made, rows)) == members
    assert asked == need


def test_groups_that_can_be_spared_wait_for_their_members():
    """The tree needs one of its two groups; the other one lacks a member, and says so."""
    spare = (JobGroup("root", least=1), JobGroup("a", "root", 2), JobGroup("b", "root", 2))
    job = Job("g", name="ns/g", min_members=2, groups=spare)
    made = cluster(job, TasksSubmitted(10, ("a-0", "a-1"), job="g"), TasksSubmitted(11, ("b-0",), job="g"))
    surplus = Surplus()
    rows, need = surplus.hold_back_incomplete(made, job, list(made.jobs.members("g")), 0)
    assert (named(made, rows), need) == (["a-0", "a-1"], 1)
    [(uids_of, message)] = [(each.uids, each.message) for each in surplus.take_notices(made)]
    assert uids_of == ("b-0",)
    assert message.startswith("gang ns/g waits for members: ")
    assert "1 of 2" in message


@pytest.mark.parametrize("moved", [False, True])
def test_a_refused_binding_is_tried_again_only_in_the_place_that_was_kept(moved: bool):
    made = cluster(Job("g", min_members=2), TasksSubmitted(WORK, ("a", "b"), job="g"))
    rebinding, task = Rebinding(), made.tasks.row_of["a"]
    transitions.assume(made, ints(task), ints(0))
    transitions.back_off(made, task, 0.0, first=5.0, last=5.0)
    assert rebinding.keeps_place(made, task)
    if moved:
        transitions.release(made, task)
        transitions.assume(made, ints(task), ints(0))
    assert [rebinding.next_in(made, now) for now in (2.0, 5.0, 9.0)] == (
        [None] * 3 if moved else [3.0, 0.0, 0.0]
    )
    assert [(delta.uid, delta.machine) for delta in rebinding.due(made, 5.0)] == (
        [] if moved else [("a", "m")]
    )
    assert rebinding.next_in(made, 5.0) is None


# --- preemptors of a gang that its own round evicts -----------------------------------------------------------------


def decided(cls: int, evicts: tuple[int, ...], awaits: tuple[int, ...], *beyond: int) -> PreemptionDecision:
    return PreemptionDecision(cls, 0, evicts, awaits, frozenset(beyond))


def test_a_member_does_not_come_while_its_gang_is_evicted_and_its_victims_leave_only_for_others():
    """Victims 0 and 1 are the gang, 2 and 3 single tasks; the first preemptor is a further member of the gang."""
    made = cluster(
        Job("g", min_members=2),
        TasksBound("m", WORK, ("g-0", "g-1"), job="g"),
        TasksBound("m", WORK, ("single", "another")),
        TasksSubmitted(WORK, ("g-2",), job="g"),
        TasksSubmitted(WORK, ("preemptor", "later")),
    )
    row = made.tasks.row_of
    preemption: Any = type("Known", (), {})()
    preemption.row = ints(row["g-0"], row["g-1"], row["single"], row["another"])
    preemptors = ints(row["g-2"], row["preemptor"], row["later"])
    first = decided(0, (2, 3), (2, 3), 2)
    second = decided(1, (0, 1), (0, 1, 2))
    third = decided(2, (), (2,))
    left, kept = hold_back_decisions(made, preemption, [first, second, third], preemptors)
    assert kept.tolist() == [False, True, True]
    assert left == [decided(1, (0, 1, 2), (0, 1, 2), 2), third], "nobody else waits for victim 3"
    some = decided(1, (0,), (0,))
    left, kept = hold_back_decisions(made, preemption, [first, second, some], preemptors)
    assert left[0] == decided(1, (0, 1, 2), (0, 1, 2), 2)
    left, kept = hold_back_decisions(made, preemption, [first, third], preemptors[[0, 2]])
    assert (left, kept.tolist()) == ([first, third], [True, True]), "the gang stays"
