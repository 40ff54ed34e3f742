"""How tasks are told to the solver: together where they are alike, with what is known of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from poseidon.bridge.solver_stream.events import encode_pending, encode_placed
from poseidon.pods.tasks import Task
from protos.firmament.v1 import scheduler_pb2 as pb


@dataclass(frozen=True)
class Numbered:
    """Traits of which only the number of the class matters."""

    task_class: int


def task(uid: str, number: int = 1, **more: Any) -> Task:
    traits: Any = Numbered(number)
    given: Any = {"job": "", "priority": 0, "created": 0.0, **more}
    return Task(uid, f"ns/{uid}", traits, **given)


def test_tasks_that_wait_are_told_together_where_they_are_alike():
    events = list(
        encode_pending(
            [
                task("a", created=1.0, job="j", priority=3, spread="s", group_priority=7),
                task("b", created=5.0),
                task("c", created=2.0, job="j", priority=3, spread="s", group_priority=7),
            ]
        )
    )
    assert events == [
        pb.Event(
            tasks=pb.TaskBatch(
                task_class=1,
                job="j",
                priority=3,
                spread_group="s",
                group_priority=7,
                uids=["a", "c"],
                names=["ns/a", "ns/c"],
                created=[1.0, 2.0],
            )
        ),
        pb.Event(tasks=pb.TaskBatch(task_class=1, uids=["b"], names=["ns/b"], created=[5.0])),
    ]
    assert list(encode_pending([])) == []


@pytest.mark.parametrize(
    "more", [{"number": 2}, {"job": "j"}, {"priority": 1}, {"group_priority": 0}, {"spread": "s"}]
)
def test_tasks_that_differ_are_told_apart(more):
    assert len(list(encode_pending([task("a"), task("b", **more)]))) == 2
    assert len(list(encode_placed([(task("a"), "n", False), (task("b", **more), "n", False)]))) == 2


def test_placed_tasks_are_told_by_machine_with_the_times_that_are_known():
    events = list(
        encode_placed(
            [
                (task("a", scheduled=1.0), "n", False),
                (task("b", number=2), "m", True),
                (task("c", initialized=4.0), "n", False),
                (task("d", created=3.0), "n", True),
            ]
        )
    )
    assert events == [
        pb.Event(
            bound=pb.BoundTasks(
                machine="n",
                task_class=1,
                uids=["a", "c"],
                names=["ns/a", "ns/c"],
                assigned=[1.0, 0.0],
                initialized=[0.0, 4.0],
            )
        ),
        pb.Event(bound=pb.BoundTasks(machine="m", assumed=True, task_class=2, uids=["b"], names=["ns/b"])),
        pb.Event(
            bound=pb.BoundTasks(
                machine="n", assumed=True, task_class=1, uids=["d"], names=["ns/d"], created=[3.0]
            )
        ),
    ]
