"""Who comes first where quota is short: those within their own, then the least share; strict queues in their order."""

from __future__ import annotations

import numpy as np

from firmament.core.board.board import Board
from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.placement.quota_parts import deal_quotas
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support import rules
from tests.support.core import machine, placed, scheduler, task_class, tasks, uids


def _class(queue: str, cpu: int = 1000):
    return task_class(cpu, queue=queue)


def test_who_is_within_its_quota_comes_before_who_borrows():
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("cohort"),
        quota("rich", {"any": {"cpu": 2000}}, parent="cohort"),
        quota("poor", {"any": {"cpu": 0}}, parent="cohort"),
        tasks(1, *uids("p", 2), content=_class("poor"), priority=5),
        tasks(2, "r", content=_class("rich")),
    )
    assert set(placed(core.run_round())) >= {"r"}


def test_those_who_borrow_share_by_weight():
    core = scheduler(
        machine("a", cpu=20_000),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 9000}}),
        quota("heavy", {"any": {"cpu": 0}}, parent="cohort", fair=True, weight=2.0),
        quota("light", {"any": {"cpu": 0}}, parent="cohort", fair=True),
        tasks(1, *uids("l", 9), content=_class("light")),
        tasks(2, *uids("h", 9), content=_class("heavy")),
    )
    there = placed(core.run_round())
    assert sum(uid.startswith("h") for uid in there) == 6
    assert sum(uid.startswith("l") for uid in there) == 3


def test_shares_count_what_is_used_already_and_every_level():
    core = scheduler(
        machine("a", cpu=20_000),
        machine("b", cpu=20_000),
        flavor("any"),
        quota("root", {"any": {"cpu": 8000}}),
        quota("left", parent="root", fair=True),
        quota("right", parent="root", fair=True),
        quota("l", {"any": {"cpu": 0}}, parent="left", fair=True),
        quota("r1", {"any": {"cpu": 0}}, parent="right", fair=True),
        quota("r2", {"any": {"cpu": 0}}, parent="right", fair=True),
        ClassDefined(9, _class("r1")),
        TasksBound("b", 9, ("x", "y")),
        *(
            event
            for number, name in enumerate(("l", "r1", "r2"), 1)
            for event in tasks(number, *uids(name, 6), content=_class(name))
        ),
    )
    there = [uid.rpartition("-")[0] for uid in placed(core.run_round())]
    assert (there.count("l"), there.count("r1"), there.count("r2")) == (4, 0, 2)


def test_who_finds_enough_nearer_in_the_tree_comes_before_a_more_important_one():
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("root"),
        quota("due", {"any": {"cpu": 4000}}, parent="root"),
        quota("near", {"any": {"cpu": 0}}, parent="due"),
        quota("far", {"any": {"cpu": 0}}, parent="root"),
        tasks(1, "f", content=_class("far", 4000), priority=3),
        tasks(2, "n", content=_class("near", 4000)),
    )
    assert set(placed(core.run_round())) == {"n"}


def test_on_each_level_who_does_not_borrow_what_is_asked_for_comes_before_lower_shares():
    """A cohort that borrows another flavor has the larger share, and enough of the one that is asked for."""
    core = scheduler(
        machine("red", cpu=20_000, labels={"kind": "red"}),
        machine("blue", cpu=20_000, labels={"kind": "blue"}),
        flavor("red", kind="red"),
        flavor("blue", kind="blue"),
        quota("root", fair=True),
        quota("left", {"red": {"cpu": 4000}}, parent="root", fair=True),
        quota("right", {"blue": {"cpu": 4000}}, parent="root", fair=True),
        quota("l", {"red": {"cpu": 0}, "blue": {"cpu": 0}}, parent="left", fair=True),
        quota("r", {"red": {"cpu": 0}, "blue": {"cpu": 0}}, parent="right", fair=True),
        ClassDefined(9, _class("l", 4000)),
        TasksBound("blue", 9, ("x",)),
        tasks(1, "r1", content=task_class(1000, queue="r", node_selector=(("kind", "red"),))),
        tasks(2, "l1", content=task_class(4000, queue="l", node_selector=(("kind", "red"),))),
    )
    assert set(placed(core.run_round())) == {"l1"}


def _scene(order: str):
    return scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("team", {"any": {"cpu": 3000}}, order=order),
        tasks(1, "large", content=_class("team", 4000), priority=1),
        tasks(2, "small", content=_class("team")),
        tasks(3, "other", content=task_class(1000)),
    )


def test_a_strict_queue_waits_for_its_first_and_another_does_not():
    assert set(placed(_scene("StrictFIFO").run_round())) == {"other"}
    assert set(placed(_scene("BestEffortFIFO").run_round())) == {"small", "other"}


def test_in_a_queue_who_borrows_comes_before_less_important_ones_that_need_not():
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 1000}}),
        quota("team", {"any": {"cpu": 2000}}, parent="cohort"),
        tasks(1, "large", content=_class("team", 3000), priority=1),
        tasks(2, "small", content=_class("team")),
    )
    assert set(placed(core.run_round())) == {"large"}


def _strict_scene(*more: Event | list[Event]):
    return scheduler(
        *(machine(name, cpu=10_000) for name in ("a", "b")),
        flavor("any"),
        quota("team", {"any": {"cpu": 3000}}, order="StrictFIFO"),
        tasks(1, "large", content=_class("team", 4000), priority=2),
        tasks(2, "small", content=_class("team"), priority=1),
        *more,
    )


def test_nobody_passes_the_first_of_a_strict_queue_where_a_gang_is_tried_by_itself():
    """A gang that fits nowhere has the round try gangs and tasks priority by priority."""
    core = _strict_scene(_gang(3, "huge", "team", 4))
    assert set(placed(core.run_round())) == set()


def test_nobody_passes_the_first_of_a_strict_queue_where_priorities_are_placed_in_turn():
    """Less important tasks would take room from more important ones, so priorities are placed in turn."""
    core = _strict_scene(
        tasks(3, *uids("more", 3), content=task_class(5000), priority=3),
        tasks(4, *uids("less", 4), content=task_class(5000)),
    )
    there = set(placed(core.run_round()))
    assert there >= set(uids("more", 3))
    assert not there & {"large", "small"}


def test_nobody_passes_a_more_important_one_of_a_strict_queue_beside_tasks_with_rules():
    core = _strict_scene(tasks(3, "odd", content=task_class(100, anti_affinity=rules.near("web"))))
    assert set(placed(core.run_round())) == {"odd"}


def test_of_the_gangs_of_a_strict_queue_the_first_comes_first_also_if_it_borrows():
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 1000}}),
        quota("team", {"any": {"cpu": 2000}}, parent="cohort", order="StrictFIFO"),
        _gang(1, "large", "team", 3),
        _gang(2, "small", "team", 2),
    )
    assert set(placed(core.run_round())) == set(uids("large", 3))


def test_what_single_tasks_of_a_strict_queue_were_given_does_not_bind_its_gangs():
    """The gang's pods are like the single task, which came first; the other gang has them tried one by one."""
    core = scheduler(
        machine("a", cpu=9000),
        flavor("any"),
        quota("team", {"any": {"cpu": 4000}}, order="StrictFIFO"),
        tasks(1, "single", content=_class("team"), priority=2),
        _gang(2, "gang", "team", 3, priority=1),
        _gang(3, "late", "team", 2),
    )
    assert set(placed(core.run_round())) == {"single", *uids("gang", 3)}


def test_a_flow_is_given_no_more_than_there_is_quota_for():
    core = scheduler(
        machine("red", cpu=9000, labels={"kind": "red"}),
        machine("blue", cpu=9000, labels={"kind": "blue"}),
        flavor("red", kind="red"),
        flavor("blue", kind="blue"),
        quota("team", {"red": {"cpu": 2000}, "blue": {"cpu": 3000}}),
        tasks(1, *uids("t", 9), content=_class("team")),
        tasks(2, *uids("o", 3), content=task_class(1000)),
    )
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    parts = deal_quotas(Board(snapshot.problem).residual)
    given = {
        (part.cls, part.count, None if part.allowed is None else tuple(np.flatnonzero(part.allowed)))
        for part in parts
    }
    names = [snapshot.machine_names.index(name) for name in ("red", "blue")]
    team = snapshot.examples.index("t-0")
    assert given == {(team, 2, (names[0],)), (team, 3, (names[1],)), (1 - team, 3, None)}


def _gang(number: int, name: str, queue: str, size: int, priority: int = 0):
    content = _class(queue)
    job = JobDefined(Job(name, size=size, min_members=size))
    return [
        job,
        ClassDefined(number, content),
        TasksSubmitted(number, uids(name, size), job=name, priority=priority),
    ]


def test_gangs_that_borrow_come_by_share_and_strict_ones_in_their_order():
    core = scheduler(
        machine("a", cpu=20_000),
        flavor("any"),
        quota("cohort", {"any": {"cpu": 4000}}),
        quota("old", {"any": {"cpu": 0}}, parent="cohort", fair=True),
        quota("new", {"any": {"cpu": 0}}, parent="cohort", fair=True),
        quota("strict", {"any": {"cpu": 3000}}, order="StrictFIFO"),
        _gang(1, "o1", "old", 2),
        _gang(2, "o2", "old", 2),
        _gang(3, "n1", "new", 2),
        _gang(4, "s1", "strict", 4, priority=1),
        _gang(5, "s2", "strict", 2),
        tasks(6, "s3", content=_class("strict"), priority=-1),
    )
    there = {uid.rpartition("-")[0] or uid for uid in placed(core.run_round())}
    assert there == {"o1", "n1"}
