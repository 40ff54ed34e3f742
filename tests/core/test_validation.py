"""Bad events: one clear line that names object and field, and nothing applied."""

from __future__ import annotations

import math

import pytest

from firmament.core.events import (
    ClassDefined,
    Event,
    InvalidEventError,
    JobDefined,
    MachineSampled,
    MachineUpserted,
    RecordUpserted,
    TaskSampled,
    TasksBound,
    TasksSubmitted,
)
from firmament.core.model import (
    MAX_QUANTITY,
    Job,
    Machine,
    NodeSelectorTerm,
    PreferredTerm,
    Requirement,
    Taint,
    Toleration,
)
from tests.support.core import machine, scheduler, task_class, tasks

KNOWN = ClassDefined(1, task_class())


def requiring(operator: str, *values: str) -> ClassDefined:
    term = NodeSelectorTerm(labels=(Requirement("zone", operator, values),))
    return ClassDefined(9, task_class(required=(term,)))


BAD: list[tuple[Event, str]] = [
    (MachineUpserted(Machine("", {})), "machine: name is empty"),
    (
        MachineUpserted(Machine("m", {"cpu": -1})),
        f"machine m: allocatable: cpu is -1; it must lie between 0 and {MAX_QUANTITY}",
    ),
    (
        MachineUpserted(Machine("m", {"memory": MAX_QUANTITY + 1})),
        f"machine m: allocatable: memory is {MAX_QUANTITY + 1}; it must lie between 0 and {MAX_QUANTITY}",
    ),
    (MachineUpserted(Machine("m", {"": 1})), "machine m: allocatable: a resource has no name"),
    (
        MachineUpserted(Machine("m", {}, taints=(Taint("key", "", "Never"),))),
        "machine m: taint 'key' has effect 'Never'; allowed are NoExecute, NoSchedule, PreferNoSchedule",
    ),
    (
        MachineUpserted(Machine("m", {}, taints=(Taint("", "", "NoSchedule"),))),
        "machine m: a taint has no key",
    ),
    (JobDefined(Job("")), "job: id is empty"),
    (JobDefined(Job("j", size=-1)), "job j: size is negative"),
    (JobDefined(Job("j", min_members=-1)), "job j: min_members is negative"),
    (ClassDefined(0, task_class()), "task class 0: the number must be positive"),
    (
        ClassDefined(1, task_class(cpu=999)),
        "task class 1: already defined with other content; use a new number",
    ),
    (
        ClassDefined(9, task_class(cpu=-5)),
        f"task class 9: requests: cpu is -5; it must lie between 0 and {MAX_QUANTITY}",
    ),
    (
        ClassDefined(9, task_class(preferred=(PreferredTerm(0, NodeSelectorTerm()),))),
        "task class 9: a preferred term has weight 0; it must lie between 1 and 100",
    ),
    (
        ClassDefined(9, task_class(preferred=(PreferredTerm(101, NodeSelectorTerm()),))),
        "task class 9: a preferred term has weight 101; it must lie between 1 and 100",
    ),
    (
        ClassDefined(9, task_class(tolerations=(Toleration("gpu", "Matches"),))),
        "task class 9: toleration of 'gpu' has operator 'Matches'; allowed are Equal, Exists, Gt and Lt",
    ),
    (
        requiring("Near", "x"),
        (
            "task class 9: requirement on 'zone': unknown operator 'Near'; "
            "allowed are DoesNotExist, Exists, Gt, In, Lt, NotIn"
        ),
    ),
    (requiring("In"), "task class 9: requirement on 'zone': In needs at least one value"),
    (requiring("NotIn"), "task class 9: requirement on 'zone': NotIn needs at least one value"),
    (requiring("Exists", "x"), "task class 9: requirement on 'zone': Exists takes no values"),
    (requiring("DoesNotExist", "x"), "task class 9: requirement on 'zone': DoesNotExist takes no values"),
    (requiring("Gt"), "task class 9: requirement on 'zone': Gt needs exactly one integer"),
    (requiring("Lt", "1", "2"), "task class 9: requirement on 'zone': Lt needs exactly one integer"),
    (requiring("Gt", "1.5"), "task class 9: requirement on 'zone': Gt needs exactly one integer"),
    (
        ClassDefined(
            9,
            task_class(
                preferred=(
                    PreferredTerm(1, NodeSelectorTerm(fields=(Requirement("metadata.name", "In", ()),))),
                )
            ),
        ),
        "task class 9: requirement on 'metadata.name': In needs at least one value",
    ),
    (
        TasksSubmitted(7, ("t",)),
        "tasks: task class 7 is not defined; define a class before its tasks",
    ),
    (TasksBound("m", 7, ("t",)), "tasks: task class 7 is not defined; define a class before its tasks"),
    (TasksSubmitted(1, ("t", "")), "tasks: a uid is empty"),
    (TasksSubmitted(1, ("t", "t")), "tasks: 't' is given twice in one event; send each task once"),
    (TasksSubmitted(1, ("t", "u"), names=("t",)), "tasks: names must be as many as uids, or none"),
    (TasksSubmitted(1, ("t",), created=(1.0, 2.0)), "tasks: created must be as many as uids, or none"),
    (TasksSubmitted(1, ("t",), created=(math.nan,)), "tasks: a creation time is not a finite number"),
    (TasksBound("", 1, ("t",)), "bound tasks: machine is empty"),
    (MachineSampled("m", math.inf, {}), "sample of machine m: time is not a finite number"),
    (
        MachineSampled("m", 1.0, {"cpu": math.nan}),
        f"sample of machine m: cpu is nan; it must be a number between 0 and {MAX_QUANTITY}",
    ),
    (
        TaskSampled("t", 1.0, {"cpu": -1.0}),
        f"sample of task t: cpu is -1.0; it must be a number between 0 and {MAX_QUANTITY}",
    ),
    (RecordUpserted("", "name", b""), "record '' 'name': kind and name must not be empty"),
    (RecordUpserted("kind", "", b""), "record 'kind' '': kind and name must not be empty"),
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
