"""Whose turn it is while room is kept: level by level, and each job with room in a round alone."""

from __future__ import annotations

from collections.abc import Collection

from firmament.core.events import ClassDefined, Event, JobDefined, TasksSubmitted
from firmament.core.model import Job
from firmament.core.requeue.turns import RoundTurns
from firmament.core.state.tasks import TaskPhase
from tests.firmament.core.state.restarts.test_room_records import kept
from tests.support.core import machine, scheduler, task_class


class Waiting:
    """Tasks that wait, named by their jobs, while room is kept; ``turn`` says whose turn it is."""

    def __init__(self, *tasks: tuple[str, str, int], rooms: dict[str, int]) -> None:
        """``tasks``: uid, job and priority; ``rooms``: the priority of the room of each job."""
        events: list[Event] = [machine("m"), ClassDefined(1, task_class())]
        events += [JobDefined(Job(job, min_members=1)) for job in sorted({job for _, job, _ in tasks if job})]
        events += [TasksSubmitted(1, (uid,), priority=priority, job=job) for uid, job, priority in tasks]
        events += [kept(f"room-{job}", "m", cpu=1, job=job, priority=rooms[job]) for job in rooms]
        self.cluster = scheduler(events)._cluster
        self.turns = RoundTurns()

    def turn(self, without: Collection[str] = ()) -> set[str]:
        tasks = self.cluster.tasks
        waiting = tasks.in_state(TaskPhase.PENDING)
        called = waiting[[tasks.uid[row] not in without for row in waiting.tolist()]]
        return {tasks.uid[row] for row in self.turns.choose_turn(self.cluster, called).tolist()}


def test_nobody_waits():
    waiting = Waiting(("a", "", 0), rooms={"g": 0})
    assert waiting.turn(without=["a"]) == set()


def test_tasks_above_the_room_go_first_and_those_of_its_priority_next():
    waiting = Waiting(("high", "", 9), ("equal", "", 5), ("low", "", 1), rooms={"g": 5})
    assert [waiting.turn() for _ in range(3)] == [{"high"}, {"equal", "low"}, {"high"}]


def test_levels_follow_each_other_although_important_tasks_keep_coming():
    waiting = Waiting(("high", "", 9), ("middle", "", 5), ("low", "", 1), rooms={"g": 7, "h": 3})
    assert [waiting.turn() for _ in range(4)] == [{"high"}, {"middle"}, {"low"}, {"high"}]
    assert waiting.turn(without=["middle"]) == {"low"}, "a level without tasks is left out"
    assert waiting.turn() == {"high"}


def test_a_job_with_room_has_a_round_alone_and_then_the_others_have_one():
    waiting = Waiting(("g1", "g", 0), ("g2", "g", 0), ("h1", "h", 0), ("a", "", 0), rooms={"g": 0, "h": 0})
    assert [waiting.turn() for _ in range(5)] == [{"g1", "g2"}, {"a"}, {"h1"}, {"a"}, {"g1", "g2"}]


def test_jobs_with_room_without_others_follow_each_other():
    waiting = Waiting(("g", "g", 0), ("h", "h", 0), rooms={"g": 0, "h": 0})
    assert [waiting.turn() for _ in range(4)] == [{"g"}, {"h"}, {"g"}, {"h"}]


def test_the_most_important_job_comes_first_then_the_first_by_name():
    waiting = Waiting(("g", "g", 0), ("h", "h", 1), ("i", "i", 0), rooms={"g": -9, "h": -9, "i": -9})
    assert [waiting.turn() for _ in range(4)] == [{"h"}, {"g"}, {"i"}, {"h"}]


def test_a_job_that_does_not_wait_any_more_is_new_when_it_comes_back():
    waiting = Waiting(("g", "g", 0), ("h", "h", 0), rooms={"g": 0, "h": 0})
    assert waiting.turn() == {"g"}
    assert waiting.turn(without=["g"]) == {"h"}
    assert waiting.turn() == {"g"}, "first by name again"


def test_where_no_job_with_room_waits_all_of_the_level_go_together():
    waiting = Waiting(("a", "", 0), ("b", "j", 0), rooms={"g": 0})
    assert [waiting.turn() for _ in range(2)] == [{"a", "b"}] * 2
