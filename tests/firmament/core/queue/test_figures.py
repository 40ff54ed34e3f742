"""Small figures of the queue: turns, expected ends, lasting use, limits of gangs, importance, work, kept machines."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.intake.events import apply_events
from firmament.core.model import Job, TaskClass
from firmament.core.queue import gang_size_limits, namespace_turns
from firmament.core.queue.class_work import ClassWork, Unit, count_group_checks, estimate_work
from firmament.core.queue.gang_reservations import GangReservation, GangReservations, KeptPart
from firmament.core.queue.gang_size_limits import explain_too_large
from firmament.core.queue.lasting_use import lasting_use, longest_run
from firmament.core.queue.namespace_turns import Turns, namespaces_of
from firmament.core.queue.order import SYSTEM_CRITICAL, Importance, select_foremost
from firmament.core.queue.profile_turns import ProfileChoice
from firmament.core.queue.reservations import Reservation, Reservations
from firmament.core.queue.stated_ends import find_start
from firmament.core.rules.registry import default_rules
from firmament.core.state.cluster import Cluster
from firmament.core.state.tasks import UNGROUPED
from tests.support.core import machine, task_class
from tests.support.rules import ints, near

SERVICE, BATCH, TIMED = 1, 2, 3


def cluster(*events: Event) -> Cluster:
    """Machines m and n; classes of 100 milli-cores that run for ever, that end, and that end in 60 seconds."""
    made = Cluster()
    classes = [
        ClassDefined(SERVICE, task_class(100)),
        ClassDefined(BATCH, task_class(100, runs_to_completion=True)),
        ClassDefined(TIMED, task_class(100, runs_to_completion=True, run_seconds=60)),
    ]
    apply_events(made, [machine("m", cpu=300), machine("n", cpu=300), *classes, *events], 0.0)
    return made


# --- turns -----------------------------------------------------------------------------------------------------------


def test_namespaces_take_turns_within_a_priority():
    made = cluster(
        TasksSubmitted(1, ("a1", "b1", "a0"), names=("a/1", "b/1", "a/0"), created=(2.0, 3.0, 1.0)),
        TasksSubmitted(1, ("c",), names=("c/1",), priority=1, created=(9.0,)),
    )
    own = Turns()

    def order() -> list[str]:
        return [made.tasks.uid[row] for row in own.order(made, ints(0, 1, 2, 3))]

    assert order() == ["c", "a0", "a1", "b1"]
    own.serve("a")
    assert order() == ["c", "b1", "a0", "a1"]
    own.serve("b")
    assert order() == ["c", "a0", "a1", "b1"]
    own.serve("a")
    assert [own.get_last_turn(name) for name in "abc"] == [3, 2, 0]


def test_namespaces_are_those_of_names_or_classes():
    made = cluster(
        ClassDefined(9, task_class(namespace="own")),
        TasksSubmitted(9, ("u", "v"), names=("n/u", "v")),
        TasksSubmitted(1, ("w",)),
    )
    assert namespaces_of(made, ints(0, 1, 2)) == ["n", "own", ""]


def test_the_namespace_served_longest_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(namespace_turns, "MOST_NAMESPACES", 2)
    own = Turns()
    for name in ("a", "b", "a", "c"):
        own.serve(name)
    assert [own.get_last_turn(name) for name in "abc"] == [3, 0, 4]


# --- ends ------------------------------------------------------------------------------------------------------------


def start(made: Cluster, needed: dict[int, int], now: float = 100.0) -> float:
    """When machines (rows) have so much cpu."""
    vector = {row: made.resources.vector({"cpu": cpu}) for row, cpu in needed.items()}
    return find_start(made, vector, now)


def test_machines_have_room_once_enough_tasks_have_ended():
    made = cluster(
        TasksBound("m", TIMED, ("a", "b"), assigned=(50.0, 80.0)), TasksBound("m", SERVICE, ("c",))
    )
    assert start(made, {0: 100}) == 110.0
    assert start(made, {0: 200}) == 140.0
    assert start(made, {0: 300}) == -math.inf, "nobody knows when the last one ends"
    assert start(made, {1: 300}) == 100.0
    assert start(made, {0: 100, 1: 300}) == 110.0
    assert start(made, {0: 300, 1: 300}) == -math.inf
    assert start(made, {-1: 0, 1: 300}) == -math.inf
    assert start(made, {0: 100}, now=130.0) == 130.0, "one that is late may end at any moment"


def test_leaving_tasks_count_as_gone_and_unknown_starts_as_unknown_ends():
    made = cluster(TasksBound("m", SERVICE, ("a", "b")), TasksBound("m", TIMED, ("c",)))
    made.tasks.assigned[:3] = 0.0
    assert start(made, {0: 100}) == -math.inf
    made.tasks.leaving[0] = True
    assert start(made, {0: 100}) == 100.0
    assert start(made, {0: 200}) == -math.inf


def test_use_by_tasks_that_do_not_end():
    made = cluster(
        TasksBound("m", SERVICE, ("a", "b")),
        TasksBound("m", BATCH, ("c",)),
        TasksBound("n", SERVICE, ("d",)),
        TasksSubmitted(SERVICE, ("e",)),
        TasksBound("gone", SERVICE, ("f",)),
    )
    made.tasks.leaving[made.tasks.row_of["b"]] = True
    column = made.resources.names.index("cpu")
    assert lasting_use(made)[:, column].tolist() == [100, 100]
    assert lasting_use(made, ints(1))[:, column].tolist() == [0, 100]
    assert lasting_use(made, ints())[:, column].tolist() == [0, 0]


def test_how_long_tasks_have_run_that_end():
    made = cluster(
        TasksBound("m", BATCH, ("a", "b"), assigned=(40.0, 70.0)),
        TasksBound("m", SERVICE, ("c",), assigned=(1.0,)),
        TasksBound("n", BATCH, ("d",), assigned=(99.5,)),
    )
    assert longest_run(made, 100.0).tolist() == [60.0, 1.0]


# --- limits of gangs -------------------------------------------------------------------------------------------------


def work(*classes: TaskClass) -> ClassWork:
    made = cluster(*(ClassDefined(10 + number, content) for number, content in enumerate(classes)))
    found = ClassWork(made, default_rules(), 10_000)
    found.estimate_new()
    return found


def test_gangs_are_limited_by_terms_selections_and_checks(monkeypatch: pytest.MonkeyPatch):
    labelled = task_class(labels=(("app", "web"),), anti_affinity=(*near("web"), *near("web", key="rack")))
    other = replace(labelled, requests=(("cpu", 1),))
    found, classes = work(labelled, other), ints(3, 4)
    assert explain_too_large(found, classes) == ""
    monkeypatch.setattr(gang_size_limits, "MOST_TERMS_OF_A_GANG", 4)
    monkeypatch.setattr(gang_size_limits, "MOST_SELECTED_OF_A_GANG", 8)
    monkeypatch.setattr(gang_size_limits, "MOST_CHECKS_OF_A_GANG", int(found.checks[3:5].sum()) + 2 * 40)
    assert explain_too_large(found, classes) == ""
    monkeypatch.setattr(gang_size_limits, "MOST_CHECKS_OF_A_GANG", int(found.checks[3:5].sum()) + 2 * 40 - 1)
    assert explain_too_large(found, classes).startswith(
        "has 2 kinds of members, for whose specs a round looks"
    )
    monkeypatch.setattr(gang_size_limits, "MOST_SELECTED_OF_A_GANG", 7)
    assert "which select its 2 kinds of members 8 times; at most 7" in explain_too_large(found, classes)
    monkeypatch.setattr(gang_size_limits, "MOST_TERMS_OF_A_GANG", 3)
    assert explain_too_large(found, classes).startswith(
        "has 4 terms of pod affinity and anti-affinity in the"
    )


def test_work_beyond_rules():
    found = work(task_class(node_selector=(("a", "b"),)), task_class(anti_affinity=near("x") * 4))
    assert found.list_extra(10).tolist()[:5] == [1000, 1000, 1000, 1000 + 40, 1000 * (1 + (4 * 9) // 16)]
    assert found.list_extra(0).tolist()[0] == 10_000
    assert found.find_plain().tolist() == [True, True, True, False, False]
    found.forget()
    assert len(found.checks) == len(found.terms) == 0


def test_classes_selected_by_terms_are_work():
    web = task_class(labels=(("app", "web"),))
    found = work(web, replace(web, requests=()), task_class(anti_affinity=near("web")))
    present = np.ones(6, dtype=np.bool_)
    assert found.count_selected(5, present) == 2
    assert found.count_among(5, present) == 2 * 1000 // 2
    present[3] = False
    assert found.count_selected(5, present) == 1
    assert found.count_selected(3, present) == 0


def test_work_of_tasks_and_groups():
    checks, counts = ints(5, 5, 5), ints(0, 17, 17)
    assert estimate_work(checks, counts, np.array([True, False, True])).tolist() == [0, 5, 5 * 3]
    assert count_group_checks(1000) == 10 + 150
    assert count_group_checks(0) == 10 + 150_000


@pytest.mark.parametrize(
    ("most", "whole", "expected"),
    [
        (9, False, 0),
        (10, False, 1),
        (14, False, 3),
        (16, False, 4),
        (15, True, 0),
        (16, True, 4),
        (99, True, 4),
    ],
)
def test_how_many_tasks_can_be_afforded(most: int, whole: bool, expected: int):
    unit = Unit("n", ints(1, 2, 3, 4), checks=10, per_task=2.0, put_off=0, priority=0, first=0, whole=whole)
    assert [unit.work(count) for count in (1, 2, 4)] == [10, 12, 16]
    assert unit.affordable(most) == expected


# --- importance ------------------------------------------------------------------------------------------------------


def scale(*levels: int) -> Importance:
    return Importance(ints(UNGROUPED, *levels))


def test_without_groups_importance_is_the_priority():
    priority, group = ints(5, -3), ints(UNGROUPED, UNGROUPED)
    for figure in (scale().rank_waiting, scale().rank_as_preemptor, scale().rank_as_victim):
        assert figure(priority, group) is priority


def test_groups_order_tasks_of_one_priority():
    own = scale(10, 20)
    priority, group = ints(1, 1, 1, 1, 2), ints(UNGROUPED, 10, 20, 15, UNGROUPED)
    assert own.rank_waiting(priority, group).tolist() == [3, 4, 5, 4, 6]
    assert own.rank_as_preemptor(priority, group).tolist() == [3, 4, 5, 4, 6]
    assert own.rank_as_victim(priority, group).tolist() == [5, 4, 5, 4, 8]
    assert own.rank_waiting(ints(15), ints(UNGROUPED)).tolist() == [15 * 3 + 1]


def test_no_task_of_equal_priority_displaces_the_systems():
    own = scale(10, 20)
    assert own.rank_as_victim(ints(SYSTEM_CRITICAL - 1, SYSTEM_CRITICAL), ints(10, 10)).tolist() == [
        3 * (SYSTEM_CRITICAL - 1) + 1,
        3 * SYSTEM_CRITICAL + 2,
    ]


def test_tasks_below_a_nomination_of_another_scheduler_wait_for_the_next_round():
    made = cluster(
        JobDefined(Job("g", min_members=2)),
        TasksSubmitted(1, ("high",), priority=9),
        TasksSubmitted(1, ("low",), priority=1),
        TasksSubmitted(1, ("lead",), priority=8, job="g"),
        TasksSubmitted(1, ("member",), priority=0, job="g"),
    )
    waiting = ints(0, 1, 2, 3)

    def foremost(waiting):
        found, limit = select_foremost(made, waiting)
        return found.tolist(), limit

    assert foremost(waiting) == ([0, 1, 2, 3], None)
    made.promises.others.put("x", b'{"machine": "m", "priority": 5, "requests": {}}')
    assert foremost(waiting) == ([0, 2, 3], 5)
    assert foremost(ints(0, 1, 3)) == ([0, 3], 5), "its most important member waits, if not in this round"
    assert foremost(ints(1)) == ([1], None)
    assert foremost(ints()) == ([], None)
    made.promises.others.put("x", b'{"machine": "m", "priority": 1, "requests": {}}')
    assert foremost(waiting) == ([0, 2, 3], 1), "what it waits for is closed to its equals"
    made.promises.others.put("x", b'{"machine": "m", "priority": 0, "requests": {}}')
    assert foremost(waiting) == ([0, 1, 2, 3], 0)
    made.promises.others.put("x", b'{"machine": "m", "priority": 9, "requests": {}}')
    assert foremost(waiting) == ([0, 1, 2, 3], None)


# --- profiles --------------------------------------------------------------------------------------------------------


def choice(*events: Event) -> tuple[ProfileChoice, Cluster]:
    classes = [
        ClassDefined(20 + at, task_class(profile=name)) for at, name in enumerate(("", "p", "q", "unknown"))
    ]
    made = cluster(*classes, *events)
    return ProfileChoice(made, ["q", "p"]), made


def test_a_round_is_for_one_profile_and_the_most_important_task():
    own, made = choice(
        TasksSubmitted(20, ("base",), priority=1),
        TasksSubmitted(21, ("p0",), priority=3),
        TasksSubmitted(21, ("p1",), priority=1),
        TasksSubmitted(22, ("q0",), priority=2),
        TasksSubmitted(23, ("other",), priority=1),
    )
    assert own.several
    assert own.choose_profile(ints(0, 1, 2, 3, 4)).tolist() == [1], "p1 is less important than q0"
    assert (own.current, own.put_off) == ("p", 4)
    assert own.choose_profile(ints(0, 2, 3, 4)).tolist() == [3]
    assert (own.current, own.put_off) == ("q", 3)
    assert own.choose_profile(ints(0, 2, 4)).tolist() == [0, 4], "served never before"
    assert own.choose_profile(ints(0, 2, 4)).tolist() == [2], "served longest ago"
    assert own.choose_profile(ints(0, 4)).tolist() == [0, 4]
    assert own.put_off == 0
    assert own.choose_profile(ints()).tolist() == []
    contents = [made.classes.content(20 + at) for at in range(4)]
    assert [
        each.profile for each in own.list_classes_of_last_profile([each for each in contents if each])
    ] == ["", "unknown"]


def test_a_gang_goes_by_the_profile_of_its_most_important_member():
    own, made = choice(
        JobDefined(Job("g", min_members=2)),
        TasksSubmitted(21, ("low",), priority=1, job="g"),
        TasksSubmitted(22, ("high",), priority=5, job="g"),
        TasksSubmitted(21, ("alone",), priority=4),
    )
    assert own.choose_profile(ints(0, 1, 2)).tolist() == [0, 1]
    assert own.current == "q"
    made.tasks.priority[0] = 5
    assert own.choose_profile(ints(0, 1)).tolist() == [0, 1]
    assert own.current == "p", "the first of equals"
    assert sorted(own.choose_profile(ints(1, 0)).tolist()) == [0, 1]
    assert own.current == "p", "in whatever order they are listed"


# --- kept machines ---------------------------------------------------------------------------------------------------


def held(job: str, *machines: str, priority: int = 5, starts: float = -math.inf) -> GangReservation:
    return GangReservation(job, priority, [KeptPart(name, 0, 1) for name in machines], 9, 99.0, starts)


def test_kept_machines_are_closed_to_others_of_at_most_equal_priority():
    own = GangReservations(RoundOptions(), Turns())
    own.held = {"g": held("g", "m", "n", starts=50.0)}

    def closed(priority: int, job: str, ends: float) -> list[str]:
        return sorted(own.iter_closed(priority, job, ends))

    assert closed(5, "", 51.0) == closed(5, "h", math.inf) == ["m", "n"]
    assert closed(6, "", math.inf) == closed(5, "g", math.inf) == closed(5, "", 50.0) == []
    assert own.list_rows(cluster()) == [0, 1]
    own.held["h"] = held("h", "gone")
    assert own.list_rows(cluster()) == [0, 1]
    own.renumber(ints(3))
    assert [part.cls for part in own.held["g"].parts] == [3, 3]
    own.renumber(ints(0, 0, 0, -1))
    own.renumber(ints(7))
    assert [part.cls for part in own.held["g"].parts] == [-1, -1]


def test_a_reserved_machine_is_closed_to_other_classes_unless_they_end_in_time():
    made, own = cluster(), Reservations(RoundOptions())
    own.held = [Reservation("t", "n", 0, 5, 9, 90.0, starts=150.0), Reservation("u", "gone", 0, 5, 9, 40.0)]
    own._now = 100.0
    assert own.list_closed_rows(made, 0, 5, "") == set()
    assert own.list_closed_rows(made, 0, 5, "job") == {1}
    assert own.list_closed_rows(made, 1, 5, "") == {1}
    assert own.list_closed_rows(made, 1, 6, "") == set()
    assert own.list_closed_rows(made, 2, 5, "") == {1}, "it ends at 160"
    own._now = 90.0
    assert own.list_closed_rows(made, 2, 5, "") == set(), "it ends at 150"
    own.gangs.held = {"g": held("g", "m", "gone", priority=7)}
    assert own.list_closed_rows(made, 1, 6, "") == {0}
    assert own.next_in(30.0) == 10.0
    assert own.next_in(60.0) == 0.0
    assert Reservations(RoundOptions()).next_in(0.0) is None
    own.renumber(ints(4, 5, 6))
    assert [each.cls for each in own.held] == [4, 4]
