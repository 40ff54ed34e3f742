"""What the life of gangs says by itself: whom rounds try, in which order; what is reported, when, and only once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from firmament.core.configuration import RoundOptions
from firmament.core.events import (
    BindingReport,
    ClassDefined,
    Event,
    JobDefined,
    JobRemoved,
    TaskRemoved,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import Job
from firmament.core.results import DeltaKind, GangPhase, GangState
from firmament.core.rules.gangs.lifecycle import GangLifecycle
from firmament.core.scheduler import Scheduler
from firmament.core.state import transitions
from firmament.core.state.cluster import Cluster
from firmament.core.state.pending_evictions import PendingEvictions
from firmament.core.state.tasks import TaskPhase
from tests.support.core import machine, scheduler, task_class

NOW = 100.0


class Gangs:
    """A cluster, and the life of its gangs, asked by names."""

    def __init__(self, *events: Event, options: RoundOptions | None = None) -> None:
        self.core: Scheduler = scheduler(machine("m"), ClassDefined(1, task_class(1000)), *events)
        self.options = options or RoundOptions(gang_seconds=30.0, last_backoff=60.0)
        self.life = GangLifecycle(self.options, PendingEvictions())

    @property
    def cluster(self) -> Cluster:
        return self.core._cluster

    def admit(self, *uids: str) -> tuple[list[str], list[int], list[int], tuple[str, ...]]:
        """The tasks, the gang of each, what gangs need, and their jobs."""
        rows = np.array([self.cluster.tasks.row_of[uid] for uid in uids], dtype=np.int64)
        found = self.life.admit(self.cluster, rows, NOW)
        names = [self.cluster.tasks.uid[row] for row in found.waiting.tolist()]
        return names, found.gang.tolist(), found.need.tolist(), found.jobs

    def held_back(self, *uids: str) -> list[bool]:
        tasks = self.cluster.tasks
        return [bool(tasks.unschedulable[tasks.row_of[uid]]) for uid in uids]

    def states(self, now: float = NOW) -> list[GangState]:
        return list(self.life.take_changed_states(self.cluster, now))

    def told(self) -> list[tuple[tuple[str, ...], str]]:
        return [(each.uids, each.message) for each in self.life.take_messages(self.cluster)]


def gang(need: int, job: str = "g", name: str = "", **more: object) -> JobDefined:
    return JobDefined(Job(job, name=name, min_members=need, **more))  # type: ignore[arg-type]  # by name


def waiting(*uids: str, job: str = "g", created: Sequence[float] = ()) -> TasksSubmitted:
    return TasksSubmitted(1, uids, job=job, created=tuple(created))


def bound(*uids: str, job: str = "g") -> TasksBound:
    return TasksBound("m", 1, uids, job=job)


# --- before a round --------------------------------------------------------------------------------------------------


def test_without_gangs_the_waiting_tasks_are_tried_as_they_are():
    asked = Gangs(waiting("b", "a", job=""), waiting("c", job="j"))
    assert asked.admit("b", "c", "a") == (["b", "c", "a"], [-1, -1, -1], [], ())


def test_one_member_calls_the_others_and_single_tasks_come_first():
    asked = Gangs(gang(3), waiting("g-0", "g-1", "g-2"), waiting("x", job=""))
    assert asked.admit("g-1", "x") == (["x", "g-0", "g-1", "g-2"], [-1, 0, 0, 0], [3], ("g",))
    assert asked.admit("x") == (["x"], [-1], [], ())


def test_gangs_are_numbered_from_the_oldest_then_by_who_came_first():
    asked = Gangs(
        *(gang(2, job) for job in "abc"),
        waiting("a-0", "a-1", job="a", created=(50.0, 7.0)),
        waiting("c-0", "c-1", job="c", created=(5.0, 60.0)),
        waiting("b-0", "b-1", job="b", created=(7.0, 9.0)),
    )
    assert asked.admit("a-0", "b-0", "c-0")[1:] == ([0, 0, 1, 1, 2, 2], [2, 2, 2], ("c", "a", "b"))


def test_what_members_on_machines_leave_to_be_placed_is_needed():
    asked = Gangs(gang(3), bound("g-0"), waiting("g-1", "g-2", "g-3"))
    assert asked.admit("g-1") == (["g-1", "g-2", "g-3"], [0, 0, 0], [2], ("g",))


def test_members_of_a_gang_that_is_there_come_by_themselves():
    asked = Gangs(gang(2), bound("g-0", "g-1"), waiting("g-2"))
    assert asked.admit("g-2") == (["g-2"], [-1], [], ())
    assert asked.held_back("g-2") == [False]


def test_a_gang_that_lacks_members_is_left_out_and_told_once():
    asked = Gangs(gang(3, name="ns/g"), waiting("g-0", "g-1"), waiting("x", job=""))
    assert asked.admit("g-0", "x") == (["x"], [-1], [], ())
    assert asked.held_back("g-0", "g-1", "x") == [True, True, False]
    message = "gang ns/g waits for members: 2 of 3 exist"
    assert asked.told() == [(("g-0", "g-1"), message)]
    tasks = asked.cluster.tasks
    assert [tasks.message[tasks.row_of[uid]] for uid in ("g-0", "g-1")] == [message] * 2
    tasks.message[tasks.row_of["g-0"]] = "what a round says"
    assert asked.told() == []


@pytest.mark.parametrize(("need", "text"), [(3, "1 of 3 can be tried now"), (4, "3 of 4 exist")])
def test_members_that_exist_but_wait_for_a_while_are_told_apart(need: int, text: str):
    asked = Gangs(gang(need), waiting("g-0", "g-1", "g-2"))
    tasks = asked.cluster.tasks
    tasks.not_before[[tasks.row_of["g-0"], tasks.row_of["g-1"]]] = NOW + 1.0
    assert asked.admit("g-2") == ([], [], [], ())
    assert asked.told() == [(("g-0", "g-1", "g-2"), f"gang g waits for members: {text}")]


def test_members_whose_wait_is_over_are_tried():
    asked = Gangs(gang(2), waiting("g-0", "g-1"))
    asked.cluster.tasks.not_before[asked.cluster.tasks.row_of["g-0"]] = NOW
    assert asked.admit("g-1")[3] == ("g",)


def test_a_gang_without_the_least_room_waits_and_says_for_what():
    asked = Gangs(gang(2, least_room=(("cpu", 4001),)), waiting("g-0", "g-1"))
    assert asked.admit("g-0") == ([], [], [], ())
    assert asked.held_back("g-0", "g-1") == [True, True]
    [(uids, message)] = asked.told()
    assert uids == ("g-0", "g-1")
    assert message == (
        "gang g waits for the least resources that it asks for: all 1 node together have too little room left of cpu"
    )
    asked = Gangs(gang(2, least_room=(("cpu", 4000),)), waiting("g-0", "g-1"))
    assert asked.admit("g-0")[3] == ("g",)


def test_a_gang_that_no_round_can_place_is_refused_with_the_reason():
    asked = Gangs(gang(2, name="ns/g"), bound("g-0"), waiting("g-1", "g-2"), waiting("x", job=""))
    asked.life.refuse(asked.cluster, "g", "is too large")
    asked.life.refuse(asked.cluster, "other", "is too large")
    assert asked.held_back("g-1", "g-2", "x") == [True, True, False]
    assert asked.told() == [(("g-1", "g-2"), "gang ns/g is too large")]
    asked.life.refuse(asked.cluster, "g", "is too large")
    assert asked.told() == [], "they know"
    assert [(each.job, each.message) for each in asked.states()] == [("g", "gang ns/g is too large")]


def test_gangs_that_lack_members_are_held_back_again_when_room_requeues_them():
    asked = Gangs(gang(3), gang(2, "h"), waiting("g-0", "g-1"), waiting("h-0", "h-1", job="h"))
    asked.admit("g-0", "h-0")
    tasks = asked.cluster.tasks
    tasks.unschedulable[:] = False
    asked.life.keep_unschedulable(asked.cluster, NOW)
    assert asked.held_back("g-0", "g-1", "h-0", "h-1") == [True, True, False, False]


def test_a_gang_that_has_changed_is_tried_again():
    asked = Gangs(gang(3), waiting("g-0", "g-1"))
    asked.admit("g-0")
    asked.core.apply([waiting("g-2")])
    asked.life.keep_unschedulable(asked.cluster, NOW)
    assert asked.held_back("g-0", "g-1", "g-2") == [False, False, False]
    assert asked.admit("g-2")[3] == ("g",)
    asked.life.keep_unschedulable(asked.cluster, NOW)
    assert asked.held_back("g-0", "g-1", "g-2") == [False, False, False]


def test_a_gang_that_has_just_changed_is_requeued_even_if_it_still_lacks_members():
    asked = Gangs(gang(4), waiting("g-0", "g-1"))
    asked.admit("g-0")
    asked.core.apply([waiting("g-2")])
    asked.cluster.tasks.unschedulable[:] = False
    asked.life.keep_unschedulable(asked.cluster, NOW)
    assert asked.held_back("g-0", "g-1", "g-2") == [False, False, False]


def test_a_gang_that_has_changed_since_it_was_left_out_is_not_held_back():
    asked = Gangs(gang(3), waiting("g-0", "g-1"))
    asked.admit("g-0")
    asked.core.apply([TaskRemoved("g-1")])
    asked.states()
    asked.cluster.tasks.unschedulable[:] = False
    asked.life.keep_unschedulable(asked.cluster, NOW)
    assert asked.held_back("g-0") == [False]


def test_a_gang_is_no_longer_held_back_once_enough_members_may_be_tried():
    asked = Gangs(gang(2), waiting("g-0", "g-1"))
    tasks = asked.cluster.tasks
    tasks.not_before[tasks.row_of["g-0"]] = NOW + 5.0
    asked.admit("g-1")
    tasks.unschedulable[:] = False
    asked.life.keep_unschedulable(asked.cluster, NOW + 4.0)
    assert asked.held_back("g-1") == [True]
    tasks.unschedulable[:] = False
    asked.life.keep_unschedulable(asked.cluster, NOW + 5.0)
    assert asked.held_back("g-0", "g-1") == [False, False]


# --- what is reported ------------------------------------------------------------------------------------------------


def test_the_first_waiting_member_that_was_tried_says_what_its_gang_waits_for():
    asked = Gangs(gang(2), gang(2, "h"), bound("g-0"), waiting("g-1", "g-2"), waiting("h-0", "h-1", job="h"))
    tasks = asked.cluster.tasks
    for uid in ("g-0", "g-1", "g-2", "h-0", "h-1"):
        tasks.message[tasks.row_of[uid]] = f"why {uid}"
    rows = [
        np.array([tasks.row_of[uid] for uid in uids])
        for uids in (("h-1",), ("g-0",), ("g-0", "g-2"), ("g-1",))
    ]
    asked.life.note_tried(asked.cluster, ("g", "h", "gone"), np.array([1, 0, 0, 0]), rows)
    assert [(each.job, each.message) for each in asked.states()] == [("g", "why g-2"), ("h", "why h-1")]


def test_states_are_told_by_job_when_they_have_changed():
    asked = Gangs(gang(2, "b"), gang(3, "a"), waiting("b-0", job="b"), waiting("a-0", "a-1", job="a"))
    assert asked.states() == [
        GangState("a", GangPhase.WAITING, "", 2, 0, 3),
        GangState("b", GangPhase.WAITING, "", 1, 0, 2),
    ]
    assert asked.states() == []
    asked.life.note("b", "")
    assert asked.states() == []
    asked.core.apply([bound("b-0", job="b")])
    assert asked.states() == [GangState("b", GangPhase.WAITING, "", 1, 1, 2)]
    asked.core.apply([bound("b-1", job="b")])
    assert asked.life.next_in(asked.cluster, NOW) == 0.0
    assert asked.states() == [GangState("b", GangPhase.BOUND, "", 2, 2, 2)]
    assert asked.life.next_in(asked.cluster, NOW) is None
    asked.core.apply([JobRemoved("b")])
    assert asked.states() == []


def test_what_is_not_wanted_is_not_told():
    options = RoundOptions(tells_why=False)
    asked = Gangs(gang(2), bound("g-0"), waiting("g-1"), options=options)
    tasks = asked.cluster.tasks
    row = tasks.row_of["g-1"]
    tasks.message[row] = "why"
    asked.life.note_tried(asked.cluster, ("g",), np.array([0]), [np.array([row])])
    assert asked.states() == []
    assert asked.life.next_in(asked.cluster, NOW) == options.gang_seconds


# --- time ------------------------------------------------------------------------------------------------------------


def test_the_gang_that_was_decided_first_says_when_one_is_given_up():
    asked = Gangs(gang(2, gang_seconds=50.0), gang(2, "h"), bound("g-0"), waiting("g-1"))
    asked.states(NOW)
    assert asked.life.next_in(asked.cluster, NOW + 1.0) == 49.0
    asked.core.apply([bound("h-0", job="h")])
    asked.states(NOW + 10.0)
    assert asked.life.next_in(asked.cluster, NOW + 11.0) == 29.0
    assert asked.life.next_in(asked.cluster, NOW + 99.0) == 0.0


@pytest.mark.parametrize(("after", "given_up"), [(29.5, False), (30.0, True), (31.0, True)])
def test_a_gang_is_given_up_when_its_time_is_over(after: float, given_up: bool):
    asked = Gangs(gang(3), bound("g-0"), waiting("g-1", "g-2"))
    asked.states()
    deltas = asked.life.expire(asked.cluster, NOW + after)
    assert [(each.kind, each.uid, each.machine) for each in deltas] == (
        [(DeltaKind.PREEMPT, "g-0", "m")] if given_up else []
    )
    tasks = asked.cluster.tasks
    assert bool(tasks.leaving[tasks.row_of["g-0"]]) is given_up
    deferred = [float(tasks.not_before[tasks.row_of[uid]]) for uid in ("g-1", "g-2")]
    assert (deferred == [NOW + after + 60.0] * 2) is given_up
    assert asked.life.expire(asked.cluster, NOW + after + 100.0 * given_up) == []
    if given_up:
        [state] = asked.states(NOW + after)
        assert (state.phase, state.message) == (GangPhase.FAILED, "not whole 30 s after it was decided")


def test_places_that_are_not_bound_are_given_up_without_an_eviction():
    asked = Gangs(gang(2), TasksBound("m", 1, ("g-0", "g-1"), job="g", assumed=True))
    asked.states()
    assert asked.life.expire(asked.cluster, NOW + 30.0) == []
    tasks = asked.cluster.tasks
    assert [tasks.state[tasks.row_of[uid]] for uid in ("g-0", "g-1")] == [TaskPhase.PENDING] * 2


def test_a_member_that_is_bound_late_is_evicted_once_unless_members_may_stay():
    for stay in (False, True):
        options = RoundOptions(gang_seconds=30.0, evict_failed_gangs=not stay)
        asked = Gangs(gang(3), bound("g-0"), waiting("g-1", "g-2"), options=options)
        asked.states()
        told = asked.life.expire(asked.cluster, NOW + 30.0)
        assert [each.uid for each in told] == ([] if stay else ["g-0"])
        asked.core.apply([bound("g-1")])
        asked.states()
        assert asked.life.next_in(asked.cluster, NOW + 31.0) == (None if stay else 0.0)
        late = asked.life.expire(asked.cluster, NOW + 31.0)
        assert [each.uid for each in late] == ([] if stay else ["g-1"])
        assert asked.life.expire(asked.cluster, NOW + 31.0) == []


def test_a_gang_that_was_whole_is_not_given_up_until_nothing_of_it_is_left():
    asked = Gangs(gang(2), bound("g-0", "g-1"))
    asked.states()
    asked.core.apply([TaskRemoved("g-0")])
    asked.states(NOW + 1.0)
    assert asked.life.next_in(asked.cluster, NOW + 1.0) is None
    asked.core.apply([TaskRemoved("g-1"), waiting("g-2", "g-3")])
    asked.states(NOW + 2.0)
    asked.core.apply([bound("g-2")])
    asked.states(NOW + 3.0)
    assert asked.life.next_in(asked.cluster, NOW + 3.0) == 30.0


def test_the_time_runs_from_the_first_member_that_has_a_place():
    asked = Gangs(gang(3), waiting("g-0", "g-1", "g-2"))
    asked.states(NOW)
    assert asked.life.next_in(asked.cluster, NOW) is None
    asked.core.apply([bound("g-0")])
    asked.states(NOW + 5.0)
    asked.core.apply([bound("g-1")])
    asked.states(NOW + 9.0)
    assert asked.life.next_in(asked.cluster, NOW + 9.0) == 26.0


# --- what is over ----------------------------------------------------------------------------------------------------


def test_a_gang_whose_members_make_room_is_preempted():
    asked = Gangs(gang(2), bound("g-0", "g-1"))
    asked.states()
    transitions.ask_to_leave(asked.cluster, asked.cluster.tasks.row_of["g-0"])
    [state] = asked.states()
    assert (state.phase, state.running) == (GangPhase.PREEMPTED, 1)
    assert state.message == "members make room for more important tasks"


def test_a_late_member_whose_eviction_is_refused_is_not_asked_again():
    asked = Gangs(gang(3), bound("g-0"), waiting("g-1", "g-2"))
    asked.states()
    asked.life.expire(asked.cluster, NOW + 30.0)
    asked.core.apply([bound("g-1")])
    assert [each.uid for each in asked.life.expire(asked.cluster, NOW + 31.0)] == ["g-1"]
    asked.core.report([BindingReport(uid, "m", bound=False, reason="no") for uid in ("g-0", "g-1")])
    assert not asked.cluster.tasks.leaving[asked.cluster.tasks.row_of["g-1"]]
    assert asked.life.expire(asked.cluster, NOW + 32.0) == []


def test_a_gang_that_others_have_made_whole_has_failed_no_more():
    asked = Gangs(gang(2), bound("g-0"), options=RoundOptions(gang_seconds=30.0, evict_failed_gangs=False))
    asked.states()
    asked.life.expire(asked.cluster, NOW + 30.0)
    assert [each.phase for each in asked.states(NOW + 30.0)] == [GangPhase.FAILED]
    asked.core.apply([bound("g-1")])
    assert [each.phase for each in asked.states(NOW + 31.0)] == [GangPhase.BOUND]
    asked.core.apply([TaskRemoved("g-1")])
    assert [(each.phase, each.message) for each in asked.states(NOW + 32.0)] == [(GangPhase.WAITING, "")]


def test_a_gang_of_which_one_leaves_was_not_whole_for_that():
    asked = Gangs(gang(2), bound("g-0"), waiting("g-1"))
    asked.states()
    assert [each.uid for each in asked.life.expire(asked.cluster, NOW + 30.0)] == ["g-0"]
    asked.states(NOW + 30.0)
    asked.core.report([BindingReport("g-0", "m", bound=False, reason="no")])
    asked.core.apply([waiting("g-2")])
    assert asked.admit("g-2")[2:] == ([1], ("g",))
    asked.core.apply([TaskRemoved("g-1")])
    asked.states(NOW + 100.0)
    assert asked.life.next_in(asked.cluster, NOW + 100.0) == 30.0
