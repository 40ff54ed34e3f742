"""What a snapshot says: machines without one task, names of examples, and room that gangs may have in the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from cost_models.interface import Needs
from firmament.core.events import ClassDefined, Event, JobDefined, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.queue.gang_reservations import GangReservation, KeptPart
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.snapshot import _open_machines, model_columns, take_snapshot
from tests.firmament.core.filters.test_foreign_nominations import nominated
from tests.support.core import START, machine, scheduler, task_class

ASSUMED = task_class(700, assumed=(("memory", 50),))


def test_models_see_machines_without_the_task_in_question():
    core = scheduler(
        machine("a", cpu=1000, memory=100),
        machine("b", cpu=1000, memory=100),
        ClassDefined(1, ASSUMED),
        TasksBound("a", 1, ("t", "u")),
        TasksBound("b", 1, ("v",)),
        TasksSubmitted(1, ("waits",)),
    )
    cluster = core._cluster
    cpu, memory = (cluster.resources.names.index(name) for name in ("cpu", "memory"))

    def seen(*without: str) -> tuple[list[int], list[int], list[int]]:
        row = cluster.tasks.row_of[without[0]] if without else -1
        found = model_columns(cluster, START, without=row)
        unstated = np.zeros(2) if found.unstated is None else found.unstated[:, memory]
        return found.running.tolist(), found.free[:, cpu].tolist(), [int(each) for each in unstated]

    assert seen() == ([2, 1], [0, 300], [100, 50]), "never less than nothing is free"
    assert seen("t") == ([1, 1], [300, 300], [50, 50])
    assert seen("v") == ([2, 0], [0, 1000], [100, 0])
    assert seen("waits") == seen()
    before = cluster.machines.running.tolist(), cluster.machines.unstated.tolist()
    seen("t")
    assert (cluster.machines.running.tolist(), cluster.machines.unstated.tolist()) == before
    assert model_columns(cluster, START).unseen is None
    assert model_columns(cluster, START, Needs(unseen=True)).unseen is None, "nothing was reported"


def test_the_first_task_of_each_class_is_its_example_by_name_or_uid():
    core = scheduler(machine("m"), ClassDefined(1, task_class()), ClassDefined(2, task_class(200)))
    core.apply([TasksSubmitted(1, ("u1", "u2"), names=("ns/one", "ns/two")), TasksSubmitted(2, ("u3",))])
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    assert list(snapshot.uids) == ["u1", "u2", "u3"]
    assert list(snapshot.examples) == ["ns/one", "u3"]
    assert snapshot.problem.gang.tolist() == []


# --- room for gangs --------------------------------------------------------------------------------------------------


def starved(*events: Event) -> Scheduler:
    """Machines on which tasks run that end, or do not; and two gangs, of which ``g`` is due for a reservation."""
    core = scheduler(
        *(machine(name, cpu=1000) for name in "abc"),
        ClassDefined(1, task_class(400, runs_to_completion=True)),
        ClassDefined(2, task_class(300)),
        ClassDefined(3, task_class(1000)),
        TasksBound("a", 1, ("ends",)),
        TasksBound("b", 2, ("stays",)),
        *(JobDefined(Job(job, min_members=2)) for job in "gh"),
        TasksSubmitted(3, ("g-0", "g-1"), job="g"),
        TasksSubmitted(3, ("h-0", "h-1"), job="h"),
        *events,
    )
    core._requeue.reservations.gangs.due = frozenset({"g"})
    return core


def test_gangs_that_are_due_look_for_what_is_free_once_others_have_ended():
    core = starved()
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    assert snapshot.room is not None
    cpu = core._cluster.resources.names.index("cpu")
    assert [snapshot.gangs[number] for number in snapshot.room.gangs] == ["g"]
    assert snapshot.room.in_the_end[:, cpu].tolist() == [1000, 700, 1000]
    assert snapshot.room.kept is None
    assert snapshot.problem.free[:, cpu].tolist() == [600, 700, 1000]


def test_room_that_another_scheduler_has_claimed_is_not_theirs():
    core = starved(nominated("theirs", "c", cpu=250, priority=5))
    snapshot = core.open_round().snapshot
    assert snapshot is not None
    assert snapshot.room is not None
    cpu = core._cluster.resources.names.index("cpu")
    assert snapshot.room.in_the_end[:, cpu].tolist() == [1000, 700, 750]


def test_machines_kept_for_other_gangs_are_those_that_nothing_else_closes():
    core = starved(machine("d", cpu=1000, cordoned=True))
    opened = core._requeue.open_round(None, START)
    cls, gangs = core._cluster.classes.row(3), core._requeue.reservations.gangs
    gangs.held["h"] = GangReservation("h", 0, [KeptPart("c", cls, 1), KeptPart("d", cls, 1)], 9, START + 99.0)
    gangs.due = frozenset({"g"})
    snapshot = take_snapshot(core._profile.context, opened, START, None)
    assert snapshot.room is not None
    assert snapshot.room.kept is not None
    problem = snapshot.problem
    members = np.flatnonzero(problem.gang == snapshot.room.gangs[0])
    (shape,) = set(problem.shape[members].tolist())
    assert problem.feasible[shape].tolist() == [True, True, False, False]
    assert snapshot.room.kept[shape].tolist() == [False, False, True, False]
    (own,) = set(problem.shape[problem.gang != snapshot.room.gangs[0]].tolist())
    assert problem.feasible[own].tolist() == [True, True, True, False]
    assert not snapshot.room.kept[own].any(), "they are open to the gang that they are kept for"


def test_reserved_machines_are_closed_whatever_evictions_would_open():
    every = np.ones((2, 3), dtype=np.bool_)
    answers: Any = type("Assessed", (), {"feasible": lambda _: every, "find_held": lambda _: every.copy()})()
    answers.find_occupied = lambda: None
    closed = (frozenset({0, 2}), frozenset[int]())
    feasible, held, occupied = _open_machines(answers, closed)
    assert feasible.tolist() == [[False, True, False], [True, True, True]]
    assert held is not None
    assert held.tolist() == feasible.tolist()
    assert occupied is None
    assert every.all(), "the answers themselves stay as they are"
    answers.find_occupied = every.copy
    occupied = _open_machines(answers, closed)[2]
    assert occupied is not None
    assert occupied.tolist() == feasible.tolist()
