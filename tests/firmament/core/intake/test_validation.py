"""Events that do not fit the cluster: one clear line that names the object, and nothing applied.

What is wrong with an event by itself is refused where it is decoded, see ``tests/firmament/wire``.
"""

from __future__ import annotations

import pytest

from firmament.core.events import (
    ClassDefined,
    ClassRemoved,
    Event,
    InvalidEventError,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import MAX_QUANTITY, Toleration
from tests.support.core import machine, scheduler, task_class, tasks

KNOWN = ClassDefined(1, task_class())


BAD: list[tuple[Event, str]] = [
    (
        ClassDefined(1, task_class(cpu=999)),
        "task class 1: already defined with other content; use a new number",
    ),
    (
        ClassDefined(9, task_class(tolerations=(Toleration("gpu", "Gt", "1.5"),))),
        "task class 9: toleration of 'gpu' compares with '1.5', which is no integer",
    ),
    (ClassRemoved(7), "task class 7: removed, but it is not defined; remove a class once"),
    (
        TasksSubmitted(7, ("t",)),
        "tasks: task class 7 is not defined; define a class before its tasks",
    ),
    (TasksBound("m", 7, ("t",)), "tasks: task class 7 is not defined; define a class before its tasks"),
    (TasksSubmitted(1, ("t", "t")), "tasks: 't' is given twice in one event; send each task once"),
]


@pytest.mark.parametrize(("event", "message"), BAD, ids=[message for _, message in BAD])
def test_a_bad_event_is_named_and_nothing_is_applied(event: Event, message: str):
    core = scheduler(machine("kept"), KNOWN, TasksSubmitted(1, ("kept",)))
    before = [list(core.machine_states()), list(core.task_states()), core.counts()]
    good = [machine("new"), *tasks(2, "new")]
    with pytest.raises(InvalidEventError) as caught:
        core.apply([*good, event, machine("later")])
    assert str(caught.value) == message
    assert [list(core.machine_states()), list(core.task_states()), core.counts()] == before
    with pytest.raises(InvalidEventError, match="task class 2 is not defined"):
        core.apply([TasksSubmitted(2, ("new",))])


def test_a_class_may_be_defined_and_used_in_one_batch_but_not_the_other_way_round():
    core = scheduler()
    with pytest.raises(InvalidEventError, match="task class 1 is not defined"):
        core.apply([TasksSubmitted(1, ("t",)), KNOWN])
    core.apply([KNOWN, TasksSubmitted(1, ("t",))])
    assert core.counts().pending == 1


def test_a_class_may_be_defined_twice_if_it_says_the_same():
    core = scheduler(KNOWN)
    core.apply([KNOWN, KNOWN])
    with pytest.raises(InvalidEventError, match="already defined with other content"):
        core.apply([ClassDefined(2, task_class()), ClassDefined(2, task_class(cpu=1))])


def test_the_largest_quantities_are_accepted():
    core = scheduler(
        machine("m", memory=MAX_QUANTITY),
        ClassDefined(1, task_class(cpu=0, memory=MAX_QUANTITY)),
        TasksSubmitted(1, ("t", "u")),
    )
    assert len(core.run_round().deltas) == 1
