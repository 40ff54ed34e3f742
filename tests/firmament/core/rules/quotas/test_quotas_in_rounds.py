"""Quotas in rounds: what is placed keeps to them, jointly with machines, and who waits is told why."""

from __future__ import annotations

import pytest

from firmament.core.events import (
    ClassDefined,
    JobDefined,
    RecordRemoved,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job, JobGroup
from firmament.core.record_kinds import QUOTA_RECORD
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import machine, messages, placed, scheduler, task_class, tasks, uids

TEAM = task_class(1000, queue="team")
OTHER = task_class(1000, queue="other")


def test_a_queue_gets_its_quota_and_no_more():
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("team", {"any": {"cpu": 2000}}),
        tasks(1, *uids("t", 5), content=TEAM),
        tasks(2, "free", content=task_class(1000)),
    )
    result = core.run_round()
    assert len(placed(result)) == 3
    (text,) = set(messages(result).values())
    assert text.startswith("0/1 nodes are available: 1 quota: team has not enough cpu left of flavor any. ")


def test_tasks_with_machines_count_and_give_back():
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("team", {"any": {"cpu": 2000}}),
        ClassDefined(1, TEAM),
        TasksBound("a", 1, ("x", "y")),
        tasks(1, "t", content=TEAM),
    )
    assert placed(core.run_round()) == {}
    assert core.next_round_in() is None
    core.apply([TaskRemoved("x")])
    assert core.next_round_in() == 0
    assert placed(core.run_round()) == {"t": "a"}


def test_one_that_goes_lets_in_another_of_the_cohort():
    core = scheduler(
        machine("a", cpu=9000),
        machine("b", cpu=9000),
        flavor("any"),
        quota("cohort"),
        quota("team", {"any": {"cpu": 0}}, parent="cohort"),
        quota("other", {"any": {"cpu": 1000}}, parent="cohort"),
        ClassDefined(2, OTHER),
        TasksBound("a", 2, ("x",)),
        tasks(1, "t", content=TEAM),
    )
    assert placed(core.run_round()) == {}
    core.apply([TaskRemoved("x")])
    assert set(placed(core.run_round())) == {"t"}


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([], "quota: queue team does not exist"),
        (
            [quota("team", active=False, message="stopped by its owner")],
            "quota: queue team admits nobody (stopped by its owner)",
        ),
        (
            [quota("team", parent="gone")],
            "quota: queue team admits nobody (gone, above team, does not exist)",
        ),
        ([quota("team", {"any": {"memory": 1}})], "quota: queue team has no flavor for cpu"),
        ([quota("team", {"other": {"cpu": 1000}})], "quota: no flavor of queue team is for such a task"),
        ([quota("team", {"any": {"cpu": 999}})], "quota: team has not enough cpu left of flavor any"),
    ],
)
def test_who_waits_is_told_why_and_comes_in_once_it_is_otherwise(records: list[object], why: str):
    core = scheduler(machine("a"), flavor("any"), *records, tasks(1, "t", content=TEAM))  # type: ignore[arg-type]
    assert messages(core.run_round())["t"] == f"0/1 nodes are available: 1 {why}."
    assert [each.reasons for each in core.explain("t").machines] == [(why,)]
    core.apply([quota("team", {"any": {"cpu": 1000}})])
    assert placed(core.run_round()) == {"t": "a"}


def test_flavors_are_taken_in_order_and_with_the_machines_that_they_cover():
    core = scheduler(
        machine("spot", labels={"kind": "spot"}),
        machine("reserved", labels={"kind": "reserved"}),
        machine("none"),
        flavor("reserved", kind="reserved"),
        flavor("spot", kind="spot"),
        quota("team", {"reserved": {"cpu": 2000}, "spot": {"cpu": 1000}}),
        tasks(1, *uids("t", 5), content=TEAM),
    )
    where = placed(core.run_round())
    assert sorted(where.values()) == ["reserved", "reserved", "spot"]


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize(("policy", "borrowed"), [("MayStopSearch", 3000), ("TryNextFlavor", 1000)])
def test_a_sparing_queue_takes_a_later_flavor_rather_than_borrow(policy: str, borrowed: int, labelled: bool):
    """Own quota for two tasks in the first flavor and for two in the second; four more could be borrowed of each."""
    names = {"first": {"kind": "first"}, "second": {"kind": "second"}} if labelled else {}
    core = scheduler(
        machine("a", cpu=8000, labels={"kind": "first"}),
        machine("b", cpu=8000, labels={"kind": "second"}),
        *(flavor(name, **names.get(name, {})) for name in ("first", "second")),
        quota("cohort", {"first": {"cpu": 4000}, "second": {"cpu": 4000}}),
        quota(
            "team", {"first": {"cpu": 2000}, "second": {"cpu": 2000}}, parent="cohort", whenCanBorrow=policy
        ),
        tasks(1, *uids("t", 5), content=TEAM),
    )
    result = core.run_round()
    assert len(placed(result)) == 5
    (own,) = [each for each in result.queues if each.name == "team"]
    used = {each.flavor: each.used for each in own.uses}
    assert sum(each.borrowed for each in own.uses) == borrowed
    assert used == ({"first": 5000, "second": 0} if borrowed == 3000 else {"first": 3000, "second": 2000})


def test_a_sparing_queue_borrows_where_its_nearest_quota_has_enough():
    core = scheduler(
        machine("a", cpu=8000, labels={"kind": "first"}),
        machine("b", cpu=8000, labels={"kind": "second"}),
        flavor("first", kind="first"),
        flavor("second", kind="second"),
        quota("top", {"first": {"cpu": 4000}, "second": {"cpu": 4000}}),
        quota("middle", {"second": {"cpu": 2000}}, parent="top"),
        quota(
            "team",
            {"first": {"cpu": 0}, "second": {"cpu": 0}},
            parent="middle",
            whenCanBorrow="TryNextFlavor",
        ),
        tasks(1, *uids("t", 5), content=TEAM),
    )
    (own,) = [each for each in core.run_round().queues if each.name == "team"]
    assert {each.flavor: each.used for each in own.uses} == {"first": 3000, "second": 2000}


def test_quota_without_a_machine_does_not_keep_another_flavor_from_a_task():
    core = scheduler(
        machine("spot", labels={"kind": "spot"}),
        machine("reserved", cpu=500, labels={"kind": "reserved"}),
        flavor("reserved", kind="reserved"),
        flavor("spot", kind="spot"),
        quota("team", {"reserved": {"cpu": 2000}, "spot": {"cpu": 1000}}),
        tasks(1, "t", content=TEAM),
    )
    assert placed(core.run_round()) == {"t": "spot"}


def test_what_is_used_while_a_round_is_solved_counts_when_it_is_closed():
    core = scheduler(
        machine("a", cpu=9000),
        machine("b", cpu=9000),
        flavor("any"),
        quota("team", {"any": {"cpu": 3000}}),
        tasks(1, *uids("t", 3), content=TEAM),
    )
    opened = core.open_round()
    placement = opened.solve()
    core.apply([TasksBound("b", 1, ("x", "y"))])
    assert len(placed(core.close_round(opened, placement))) == 1


def test_a_quota_that_goes_while_a_round_is_solved_admits_nobody():
    core = scheduler(
        machine("a"), flavor("any"), quota("team", {"any": {"cpu": 3000}}), tasks(1, "t", content=TEAM)
    )
    opened = core.open_round()
    placement = opened.solve()
    core.apply([RecordRemoved(QUOTA_RECORD, "team")])
    assert placed(core.close_round(opened, placement)) == {}


def test_tasks_that_ask_for_nothing_need_no_quota():
    core = scheduler(
        machine("a"),
        flavor("any"),
        quota("team"),
        tasks(1, *uids("t", 3), content=task_class(0, queue="team")),
    )
    assert len(placed(core.run_round())) == 3


@pytest.mark.parametrize(("cpu", "comes"), [(3000, {}), (4000, {"first": "a"})])
def test_who_expects_others_alike_waits_for_quota_for_all_of_them(cpu: int, comes: dict[str, str]):
    group = JobGroup("w", least=1, within=("rack",), expected=4, expected_alike=True)
    core = scheduler(
        [machine("a", cpu=8000, labels={"rack": "r"})],
        [flavor("any"), quota("team", {"any": {"cpu": cpu}})],
        [JobDefined(Job("w", size=4, min_members=1, groups=(group,)))],
        [ClassDefined(1, task_class(1000, queue="team", group="w")), TasksSubmitted(1, ("first",), job="w")],
    )
    assert placed(core.run_round()) == comes


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(("queue", "comes"), [("team", "important"), ("other", "tree")])
def test_trees_leave_the_quota_of_their_queue_to_more_important_tasks(size: int, queue: str, comes: str):
    """Trees are placed before other tasks. Between queues, importance does not decide who draws on a cohort."""
    group = JobGroup("w", least=2, within=("rack",))
    core = scheduler(
        [machine("a", cpu=9000, labels={"rack": "r"})],
        [flavor("any"), quota("cohort"), quota("other", parent="cohort")],
        [quota("team", {"any": {"cpu": 2000}}, parent="cohort")],
        [JobDefined(Job("tree", size=2, groups=(group,)))],
        [JobDefined(Job("important", size=size, min_members=size))],
        [ClassDefined(1, task_class(1000, queue="team", group="w"))],
        [ClassDefined(2, task_class(2000 // size, queue=queue))],
        [TasksSubmitted(1, ("tree-0", "tree-1"), job="tree", priority=1)],
        [TasksSubmitted(2, tuple(uids("important", size)), job="important", priority=5)],
    )
    names = {uid.rpartition("-")[0] for uid in placed(core.run_round())}
    assert names == {comes}


@pytest.mark.parametrize("priority", [0, 5])
def test_trees_draw_on_their_own_quota_before_others_borrow_it(priority: int):
    """Else those that borrow, who came first or are more important, would be evicted in the next round."""
    group = JobGroup("w", least=2, within=("rack",))
    stated = {"parent": "cohort", "preemption": {"within": "Never", "reclaim": "Any"}}
    core = scheduler(
        [machine("a", cpu=9000, labels={"rack": "r"})],
        [flavor("any"), quota("cohort"), quota("other", {"any": {"cpu": 0}}, **stated)],
        [quota("team", {"any": {"cpu": 4000}}, **stated)],
        [JobDefined(Job(name, size=2, groups=(group,))) for name in ("first", "second", "own")],
        [ClassDefined(1, task_class(1000, queue="other", group="w"))],
        [ClassDefined(2, task_class(1000, queue="team", group="w"))],
        [TasksSubmitted(1, uids("first", 2), job="first", priority=priority)],
        [TasksSubmitted(1, uids("second", 2), job="second", priority=priority)],
        [TasksSubmitted(2, uids("own", 2), job="own")],
    )
    names = {uid.rpartition("-")[0] for uid in placed(core.run_round())}
    assert names == {"own", "first"}
    assert core.run_round().deltas == ()


@pytest.mark.parametrize("least", ["", "elsewhere"])
def test_trees_pass_no_more_important_one_that_draws_on_another_quota(least: str):
    """What borrows may have to give that back, but to nobody who draws on no quota, or on that of another tree."""
    group = JobGroup("w", least=2, within=("rack",))
    core = scheduler(
        [machine("a", cpu=3000, labels={"rack": "r"})],
        [flavor("any"), quota("cohort"), quota("other", {"any": {"cpu": 0}}, parent="cohort")],
        [quota("team", {"any": {"cpu": 4000}}, parent="cohort"), quota("elsewhere", {"any": {"cpu": 4000}})],
        [JobDefined(Job(name, size=2, groups=(group,))) for name in ("less", "more")],
        [ClassDefined(1, task_class(1000, queue=least, group="w"))],
        [ClassDefined(2, task_class(1000, queue="other", group="w"))],
        [TasksSubmitted(1, uids("less", 2), job="less")],
        [TasksSubmitted(2, uids("more", 2), job="more", priority=9)],
    )
    assert {uid.rpartition("-")[0] for uid in placed(core.run_round())} == {"more"}
