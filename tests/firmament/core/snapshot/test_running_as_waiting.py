"""Running tasks posed anew: who takes part, what stays as it is, and that nothing has changed afterwards."""

from __future__ import annotations

import numpy as np

from firmament.core.configuration import RoundOptions
from firmament.core.events import ClassDefined, Event, JobDefined, MachineRemoved, TasksBound, TasksSubmitted
from firmament.core.model import Job
from firmament.core.scheduler import Scheduler
from firmament.core.snapshot.running_as_waiting import RunningSnapshot
from tests.support.core import machine, scheduler, task_class

SMALL, LARGE = 1, 2


def core(*events: Event, preemption: bool = True) -> Scheduler:
    """Machines n and m of 4 cores; a, b and c run."""
    return scheduler(
        machine("n", cpu=4000),
        machine("m", cpu=4000),
        ClassDefined(SMALL, task_class(1000)),
        ClassDefined(LARGE, task_class(2000)),
        TasksBound("n", SMALL, ("a",)),
        TasksBound("m", SMALL, ("b",), priority=5),
        TasksBound("m", LARGE, ("c",)),
        *events,
        options=RoundOptions(preemption=preemption),
    )


def pose(made: Scheduler, *uids: str) -> RunningSnapshot:
    found = made.snapshot_of_running(uids)
    assert found is not None
    return found


def homes(made: Scheduler, found: RunningSnapshot) -> dict[str, str]:
    names = made._cluster.machines.names
    return {uid: names[row] for uid, row in zip(found.snapshot.uids, found.home.tolist(), strict=True)}


def free(made: Scheduler, found: RunningSnapshot) -> list[int]:
    return found.snapshot.problem.free[:, made._cluster.resources.names.index("cpu")].tolist()


def test_tasks_are_posed_with_their_homes_and_their_room_counts_as_free():
    made = core()
    found = pose(made, "c", "a")
    assert homes(made, found) == {"a": "n", "c": "m"}
    assert free(made, found) == [4000, 3000], "b stays where it is"
    assert found.snapshot.problem.counts.sum() == 2
    assert free(made, pose(made, "a", "b", "c")) == [4000, 4000]


def test_who_waits_is_unknown_or_on_an_unknown_machine_does_not_take_part():
    made = core(
        TasksSubmitted(SMALL, ("w",)), machine("o"), TasksBound("o", SMALL, ("lost",)), MachineRemoved("o")
    )
    assert homes(made, pose(made, "w", "nobody", "lost", "b")) == {"b": "m"}
    assert made.snapshot_of_running(["w"]) is None
    assert made.snapshot_of_running(["lost"]) is None
    assert made.snapshot_of_running(["nobody"]) is None
    assert made.snapshot_of_running([]) is None


def test_members_of_gangs_stay():
    made = core(
        JobDefined(Job("g", min_members=2)),
        JobDefined(Job("s", min_members=1)),
        TasksBound("n", SMALL, ("g1", "g2"), job="g"),
        TasksBound("n", SMALL, ("s1",), job="s"),
    )
    assert homes(made, pose(made, "g1", "s1", "a")) == {"s1": "n", "a": "n"}
    assert made.snapshot_of_running(["g1", "g2"]) is None


def test_nobody_is_evicted_for_them():
    made = core(TasksBound("n", LARGE, ("low",), priority=-9))
    found = pose(made, "b", "c").snapshot
    assert found.preemption is None
    assert found.problem.priority[found.problem.priority.argmax()] > found.problem.priority.min()


def test_everything_is_as_it_was_afterwards():
    made = core(TasksSubmitted(LARGE, ("w",)))
    pose(made, "a", "b", "c")
    assert made.counts().bound == 3
    assert [each.free["cpu"] for each in made.machine_states()] == [1000, 3000]
    assert {each.uid: each.machine for each in made.task_states()} == {"a": "n", "b": "m", "c": "m", "w": ""}
    result = made.run_round()
    assert [(each.uid, each.machine) for each in result.deltas] == [("w", "n")]


def test_the_same_tasks_can_be_posed_again():
    made = core()
    first, second = pose(made, "a", "b"), pose(made, "a", "b")
    assert homes(made, first) == homes(made, second)
    assert np.array_equal(first.snapshot.problem.free, second.snapshot.problem.free)
