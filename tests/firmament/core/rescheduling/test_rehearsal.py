"""Rehearsals: which tasks get their planned places, alone and together, and that all are back afterwards."""

from __future__ import annotations

from firmament.core.events import ClassDefined, Event, TasksBound, TasksSubmitted
from firmament.core.rescheduling.rehearsal import move, rehearse, rehearse_waves, run_rounds
from firmament.core.scheduler import Scheduler
from tests.support.core import machine, scheduler, task_class
from tests.support.rules import near


def core(*events: Event) -> Scheduler:
    """Machines a and b of 3 tasks each; a has t1 and t2, b has u1."""
    return scheduler(
        machine("a", cpu=3000, labels={"zone": "a"}),
        machine("b", cpu=3000, labels={"zone": "b"}),
        ClassDefined(1, task_class(1000)),
        TasksBound("a", 1, ("t1", "t2"), priority=4),
        TasksBound("b", 1, ("u1",)),
        *events,
    )


def places(made: Scheduler) -> dict[str, str]:
    return {each.uid: each.machine for each in made.task_states()}


HOME = {"t1": "a", "t2": "a", "u1": "b"}


def test_those_with_room_get_their_places_and_all_are_back():
    made = core()
    assert rehearse(made, {"t1": "b", "t2": "b"}) == {"t1", "t2"}
    assert places(made) == HOME
    assert made.counts().bound == 3
    assert rehearse(made, {}) == set()


def test_no_more_than_there_is_room_for():
    made = core(TasksBound("b", 1, ("u2",)))
    assert len(rehearse(made, {"t1": "b", "t2": "b"})) == 1
    assert rehearse(made, {"t1": "b", "u1": "a"}) == {"t1", "u1"}, "all move at once"
    assert places(made) == {**HOME, "u2": "b"}


def test_nobody_is_evicted_for_them():
    made = core(TasksBound("b", 1, ("u2", "u3"), priority=-9))
    assert rehearse(made, {"t1": "b"}) == set()
    assert places(made) == {**HOME, "u2": "b", "u3": "b"}


def test_rules_between_tasks_count():
    loner = task_class(1000, labels=(("app", "l"),), anti_affinity=near("l"))
    made = core(ClassDefined(2, loner), TasksBound("a", 2, ("l1",)), TasksBound("b", 2, ("l2",)))
    assert rehearse(made, {"l1": "b"}) == set()
    assert rehearse(made, {"l1": "b", "l2": "a"}) == {"l1", "l2"}


def test_what_is_known_of_tasks_stays():
    made = core()
    before = made.get_bound_task("t1")
    rehearse(made, {"t1": "b"})
    after = made.get_bound_task("t1")
    assert after == before
    assert after.event.priority == 4
    assert len(made.list_events().classes) == 1, "classes that were made for it are gone"


def test_a_task_that_moves_is_where_it_went():
    made = core()
    move(made, "t1", "b")
    assert places(made) == {**HOME, "t1": "b"}
    assert made.get_bound_task("t1").content == made.get_bound_task("t2").content
    assert len(made.list_events().classes) == 1


class TestWaves:
    def test_later_waves_use_what_earlier_ones_left(self):
        made = core(TasksBound("b", 1, ("u2", "u3")))
        assert rehearse_waves(made, [{"u1": "a"}, {"t1": "b"}]) == set()
        assert places(made) == {"t1": "b", "t2": "a", "u1": "a", "u2": "b", "u3": "b"}

    def test_within_a_wave_nobody_waits_for_another_to_leave(self):
        made = core(TasksBound("a", 1, ("t3",)), TasksBound("b", 1, ("u2", "u3")))
        assert rehearse_waves(made, [{"t1": "b", "u1": "a"}]) == {"t1", "u1"}
        assert places(made) == {**HOME, "t3": "a", "u2": "b", "u3": "b"}

    def test_those_that_fit_alone_must_also_fit_together(self):
        made = core(TasksBound("b", 1, ("u2",)))
        failed = rehearse_waves(made, [{"t1": "b", "t2": "b"}])
        assert len(failed) == 1
        assert [each for each, where in places(made).items() if where == "b" and each.startswith("t")] == [
            *({"t1", "t2"} - failed)
        ]

    def test_without_waves_nobody_fails(self):
        assert rehearse_waves(core(), []) == set()


class TestRounds:
    def test_rounds_go_on_until_nothing_is_decided(self):
        made = core(TasksSubmitted(1, ("w1", "w2")))
        found = [[each.uid for each in deltas] for deltas in run_rounds(made)]
        assert [sorted(each) for each in found] == [["w1", "w2"], []]

    def test_without_work_there_is_one_round(self):
        assert [list(each) for each in run_rounds(core())] == [[]]

    def test_there_are_four_that_decide_something(self):
        made = core(machine("c", cpu=9000))
        rounds = run_rounds(made)
        for number in range(4):
            made.apply([TasksSubmitted(1, (f"w{number}",))])
            assert len(next(rounds)) == 1
        made.apply([TasksSubmitted(1, ("late",))])
        assert next(rounds, None) is None
