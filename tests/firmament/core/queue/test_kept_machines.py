"""Machines kept for gangs: to whom they are closed, how long they are kept, and which gang is looked after next."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    ClassDefined,
    Event,
    JobDefined,
    JobRemoved,
    MachineRemoved,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.filters.static_rows import StaticRows
from firmament.core.intake.events import apply_events
from firmament.core.model import Job
from firmament.core.queue.gang_reservations import GangReservations, KeptPart
from firmament.core.queue.namespace_turns import Turns
from firmament.core.rules.registry import default_rules
from firmament.core.state.cluster import Cluster
from firmament.core.state.waiting import hold_back, pass_over
from tests.firmament.core.rules.quotas.quota_scene import flavor, quota
from tests.support.core import GIB, START, machine, task_class, uids
from tests.support.rules import ints

OPTIONS = RoundOptions(reserve_after_rounds=3, reserve_for_rounds=5, reserve_for=100.0)
LASTING, ENDING, HALF, FORGETFUL = 1, 2, 3, 4


class Kept:
    """Forty machines, and gangs ``a`` and ``b`` of two tasks that each take a whole machine."""

    def __init__(self, *events: Event, machines: int = 40) -> None:
        self.cluster = Cluster()
        self.turns = Turns()
        self.gangs = GangReservations(OPTIONS, self.turns)
        classes = [
            ClassDefined(LASTING, task_class(1000)),
            ClassDefined(ENDING, task_class(1000, runs_to_completion=True)),
            ClassDefined(HALF, task_class(500)),
            ClassDefined(FORGETFUL, task_class(0, memory=17 * GIB)),
        ]
        self.apply([machine(f"m{number}", cpu=1000) for number in range(machines)], classes, events)
        self.rows = StaticRows(self.cluster.machines, self.cluster.classes.shapes, default_rules())

    def apply(self, *events: Iterable[Event]) -> None:
        apply_events(self.cluster, [each for some in events for each in some], START)

    def gang(self, name: str, priority: int = 0, need: int = 2, space: str = "") -> None:
        names = tuple(f"{space or name}/{uid}" for uid in uids(name, 2))
        submitted = TasksSubmitted(LASTING, uids(name, 2), job=name, priority=priority, names=names)
        self.apply([JobDefined(Job(name, min_members=need)), submitted])

    def passed_over(self, *names: str, rounds: int = 3) -> None:
        """So many rounds placed others, but not these gangs."""
        for name in names:
            rows = ints(*self.cluster.jobs.members(name))
            hold_back(self.cluster, rows)
            for _ in range(rounds):
                pass_over(self.cluster, rows, anew=np.zeros(len(rows), dtype=np.bool_), now=START)

    def refresh(self, now: float = START) -> None:
        tasks = self.cluster.tasks
        starved = np.flatnonzero(tasks.passed_over[: len(tasks.uid)] > 0)
        self.gangs.refresh(self.cluster, self.rows, starved, now)

    def find(self, name: str, *machines: str, now: float = START) -> None:
        """Let a round find these machines for a gang, or none."""
        self.gangs.due = frozenset({name})
        self.gangs.open_round(self.cluster)
        cls = self.cluster.classes.row(LASTING)
        parts = [KeptPart(each, cls, 1) for each in machines]
        self.gangs.keep(self.cluster, {name: parts} if parts else {}, now)

    def held(self) -> dict[str, set[str]]:
        return {job: {*each.machines} for job, each in self.gangs.held.items()}

    def counts(self, name: str) -> list[int]:
        return self.cluster.tasks.passed_over[self.cluster.jobs.members(name)].tolist()


@pytest.fixture
def kept() -> Kept:
    made = Kept()
    made.gang("a", priority=5)
    made.gang("b")
    return made


@pytest.mark.parametrize(
    ("priority", "job", "ends", "closed"),
    [
        (4, "", math.inf, True),
        (5, "", math.inf, True),
        (6, "", math.inf, False),
        (0, "a", math.inf, False),
        (0, "b", math.inf, True),
        (0, "", START + 10.0, False),
        (0, "", START + 11.0, True),
    ],
)
def test_kept_machines_are_open_to_the_gang_the_more_important_and_who_ends_in_time(
    kept: Kept, priority: int, job: str, ends: float, closed: bool
):
    kept.find("a", "m0", "m1")
    kept.gangs.held["a"].starts = START + 10.0
    assert sorted(kept.gangs.iter_closed(priority, job, ends)) == (["m0", "m1"] if closed else [])


def test_a_gang_counts_as_important_as_its_most_important_waiting_member(kept: Kept):
    kept.apply([TasksSubmitted(LASTING, ("more",), job="a", priority=9)])
    kept.find("a", "m0")
    assert kept.gangs.held["a"].priority == 9
    assert kept.gangs.list_rows(kept.cluster) == [0]
    assert kept.gangs.held["a"].rounds == OPTIONS.reserve_for_rounds
    assert kept.gangs.held["a"].until == START + OPTIONS.reserve_for


def test_a_gang_for_which_no_room_was_found_counts_anew(kept: Kept):
    kept.passed_over("a", "b")
    kept.find("a")
    assert kept.held() == {}
    assert (kept.counts("a"), kept.counts("b")) == ([0, 0], [3, 3])


def test_what_was_found_for_a_gang_that_has_all_its_members_by_now_is_not_kept(kept: Kept):
    kept.gangs.due = frozenset({"a"})
    kept.gangs.open_round(kept.cluster)
    kept.apply([TasksBound("m5", LASTING, ("a-0",), job="a"), TasksBound("m6", LASTING, ("a-1",), job="a")])
    kept.gangs.keep(kept.cluster, {"a": [KeptPart("m0", 0, 1)]}, START)
    assert kept.held() == {}


class TestTwoGangs:
    def test_a_tenth_of_the_machines_is_kept_for_several(self, kept: Kept):
        kept.find("a", "m0", "m1")
        kept.find("b", "m2", "m3")
        assert kept.held() == {"a": {"m0", "m1"}, "b": {"m2", "m3"}}

    @pytest.mark.parametrize("machines", [("m2", "m3", "m4"), ("m1", "m2")], ids=["too many", "another's"])
    def test_one_that_finds_no_room_beside_waits_until_nothing_is_kept(self, kept: Kept, machines):
        kept.passed_over("b")
        kept.find("a", "m0", "m1")
        kept.find("b", *machines)
        assert kept.held() == {"a": {"m0", "m1"}}
        kept.gang("c")
        kept.passed_over("c")
        kept.refresh()
        assert kept.gangs.due == frozenset(), "nobody overtakes it"
        kept.apply([TaskRemoved("a-0"), TaskRemoved("a-1")])
        kept.refresh()
        assert kept.held() == {}
        assert kept.gangs.due == {"b"}

    def test_a_single_gang_may_take_any_number(self, kept: Kept):
        kept.find("a", *(f"m{number}" for number in range(40)))
        assert len(kept.held()["a"]) == 40


ENDED: dict[str, list[Event]] = {
    "the gang is gone": [JobRemoved("a")],
    "its tasks are gone": [TaskRemoved("a-0"), TaskRemoved("a-1")],
    "it has all its members": [TasksBound("m7", LASTING, ("x", "y"), job="a")],
    "it needs more than is kept": [JobDefined(Job("a", min_members=3))],
    "a machine is gone": [MachineRemoved("m0")],
    "a machine is closed": [machine("m0", cpu=1000, cordoned=True)],
    "a machine is too small": [machine("m0", cpu=999)],
    "somebody stays there": [TasksBound("m0", LASTING, ("stays",))],
}


@pytest.mark.parametrize("events", ENDED.values(), ids=ENDED)
def test_machines_are_kept_no_longer_than_they_can_be_of_use(kept: Kept, events: list[Event]):
    kept.find("a", "m0", "m1")
    kept.apply(events)
    kept.refresh()
    assert kept.held() == {}


def test_machines_that_are_no_longer_kept_are_looked_at_for_those_who_wait(kept: Kept):
    kept.find("a", "m0", "m1")
    kept.apply([TaskRemoved("a-0"), TaskRemoved("a-1")])
    kept.cluster.dirty.clear()
    kept.refresh()
    assert kept.cluster.dirty.rows().tolist() == [0, 1]


@pytest.mark.parametrize(
    "events",
    [
        [TasksBound("m0", ENDING, ("ends",))],
        [TasksBound("m9", LASTING, ("elsewhere",))],
        [TasksBound("m0", FORGETFUL, ("takes too much of what the gang does not ask for",))],
        [machine("m0", cpu=1001)],
    ],
)
def test_they_are_kept_as_long_as_the_room_may_come(kept: Kept, events: list[Event]):
    kept.find("a", "m0", "m1")
    kept.apply(events)
    kept.refresh()
    assert kept.held() == {"a": {"m0", "m1"}}


@pytest.mark.parametrize("units", [(2,), (1, 1)])
def test_room_on_a_machine_is_for_all_that_is_kept_there(kept: Kept, units: tuple[int, ...]):
    kept.find("a", "m0", "m1")
    half = kept.cluster.classes.row(HALF)
    kept.gangs.held["a"].parts = [KeptPart("m0", half, each) for each in units]
    kept.refresh()
    assert kept.held()
    kept.apply([TasksBound("m0", HALF, ("stays",))])
    kept.refresh()
    assert not kept.held()


class TestLapsing:
    def test_after_a_time(self, kept: Kept):
        kept.passed_over("a")
        kept.find("a", "m0", "m1")
        kept.refresh(START + 99.9)
        assert kept.held()
        kept.refresh(START + 100.0)
        assert not kept.held()
        assert kept.counts("a") == [0, 0]

    def test_after_a_number_of_rounds(self, kept: Kept):
        kept.passed_over("a")
        kept.find("a", "m0", "m1")
        for _ in range(OPTIONS.reserve_for_rounds - 1):
            kept.gangs.count_round()
            kept.refresh()
        assert kept.held()
        kept.gangs.count_round()
        kept.refresh()
        assert not kept.held()
        assert kept.counts("a") == [0, 0]


class TestWhoIsNext:
    def test_only_one_gang_that_was_passed_over_often_enough(self, kept: Kept):
        kept.passed_over("a", rounds=2)
        kept.refresh()
        assert kept.gangs.due == frozenset()
        kept.passed_over("a", rounds=1)
        kept.passed_over("b")
        kept.refresh()
        assert kept.gangs.due == {"a"}, "the more important one"
        unschedulable = kept.cluster.tasks.unschedulable
        assert not unschedulable[kept.cluster.jobs.members("a")].any(), "it takes part in the next round"
        assert unschedulable[kept.cluster.jobs.members("b")].all()

    def test_nobody_while_one_is_looked_after_unless_that_is_no_gang_any_more(self, kept: Kept):
        kept.passed_over("a")
        kept.refresh()
        kept.gang("c", priority=9)
        kept.passed_over("b", "c")
        kept.refresh()
        assert kept.gangs.due == {"a"}
        kept.apply([JobRemoved("a")])
        kept.refresh()
        assert kept.gangs.due == {"c"}

    def test_not_one_for_which_machines_are_kept(self, kept: Kept):
        kept.passed_over("a", "b")
        kept.find("a", "m0", "m1")
        kept.refresh()
        assert kept.gangs.due == {"b"}

    def test_not_one_that_lacks_members(self, kept: Kept):
        kept.gang("c", priority=9, need=3)
        kept.passed_over("b", "c")
        kept.refresh()
        assert kept.gangs.due == {"b"}
        assert kept.counts("c") == [0, 0]

    def test_the_namespace_served_longest_ago(self, kept: Kept):
        kept.gang("c", space="a")
        kept.gang("d", space="d")
        kept.passed_over("c", "d", "a")
        kept.find("a", "m0")
        kept.apply([JobRemoved("a")])
        kept.refresh()
        assert kept.gangs.due == {"d"}

    def test_a_gang_that_is_put_off_is_not_sought_yet(self, kept: Kept):
        kept.gangs.due = frozenset({"a", "b"})
        kept.cluster.tasks.put_off[kept.cluster.jobs.members("a")[0]] = 7
        kept.gangs.open_round(kept.cluster)
        assert kept.gangs.sought == {"b"}


def test_classes_in_other_rows_are_followed_and_a_class_that_is_gone_ends_it(kept: Kept):
    kept.find("a", "m0")
    kept.gangs.renumber(ints(1, 0))
    assert [part.cls for part in kept.gangs.held["a"].parts] == [1]
    kept.gangs.renumber(ints(0, -1))
    kept.gangs.renumber(ints(0))
    assert [part.cls for part in kept.gangs.held["a"].parts] == [-1]
    kept.refresh()
    assert kept.held() == {}


def test_nothing_is_kept_for_a_gang_that_lacks_quota():
    kept = Kept(flavor("any"), quota("team", {"any": {"cpu": 2000}}))
    kept.apply([ClassDefined(5, task_class(1000, queue="team")), JobDefined(Job("a", min_members=2))])
    kept.apply([TasksSubmitted(5, uids("a", 2), job="a")])
    kept.passed_over("a")
    kept.refresh()
    assert kept.gangs.due == {"a"}
    kept.gangs.open_round(kept.cluster)
    cls = kept.cluster.classes.row(5)
    kept.gangs.keep(kept.cluster, {"a": [KeptPart("m0", cls, 1), KeptPart("m1", cls, 1)]}, START)
    kept.refresh()
    assert kept.gangs.held.keys() == {"a"}
    kept.apply([quota("team", {"any": {"cpu": 1999}})])
    kept.refresh()
    assert not kept.gangs.held
    assert kept.counts("a") == [0, 0]
    kept.gangs.due = frozenset({"a"})
    kept.refresh()
    assert not kept.gangs.due, "room would not help it"
