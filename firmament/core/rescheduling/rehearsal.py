"""Whether tasks would get the places that a plan has for them: tried with rounds, in which each may go nowhere else.

So what the plan did not look at counts as in ordinary rounds: rules between tasks, ports, volumes, models' limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from firmament.core.diagnosis.listing import BoundTask
from firmament.core.events import ClassDefined, ClassRemoved, TaskRemoved, TasksBound, TasksSubmitted
from firmament.core.model import TaskClass
from firmament.core.scheduler import Scheduler

_FIRST_CLASS = 2**62
"""Numbers of classes that are made here begin there: drivers' begin at 0."""

_MOST_ROUNDS = 4
"""One round places all that it can; another may follow rules between tasks."""


def rehearsed(scheduler: Scheduler, targets: Mapping[str, str]) -> set[str]:
    """Return the uids of those tasks that get their ``targets`` (uid -> machine) if all of them move at once.

    The scheduler is one of its own for such questions; its tasks are where they were afterwards, though they count as
    having come there last.
    """
    tasks = {uid: scheduler.bound_task(uid) for uid in targets}
    numbers: dict[TaskClass, int] = {}
    coming = [_confined(tasks[uid], target, numbers) for uid, target in targets.items()]
    returning = [_at_home(each, numbers) for each in tasks.values()]
    removed = [TaskRemoved(uid) for uid in targets]
    scheduler.apply([ClassDefined(number, content) for content, number in numbers.items()])
    scheduler.apply([*removed, *coming])
    found: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        placed = {delta.uid for delta in scheduler.run_round().deltas}
        found |= placed
        if not placed or len(found) == len(targets):
            break
    scheduler.apply([*removed, *returning])
    scheduler.apply([ClassRemoved(number) for number in numbers.values()])
    return found


def move(scheduler: Scheduler, uid: str, machine: str) -> None:
    """Have a bound task be on a machine from now on."""
    task, numbers = scheduler.bound_task(uid), dict[TaskClass, int]()
    there = replace(_at_home(task, numbers), machine=machine)
    defined = [ClassDefined(number, content) for content, number in numbers.items()]
    scheduler.apply([*defined, TaskRemoved(uid), there])
    scheduler.apply([ClassRemoved(number) for number in numbers.values()])


def _confined(task: BoundTask, machine: str, numbers: dict[TaskClass, int]) -> TasksSubmitted:
    """The task, waiting, and confined to a machine; it makes nobody leave."""
    content = replace(task.content, machine=machine, never_preempts=True)
    return waiting_again(replace(task.event, task_class=_number(content, numbers)))


def waiting_again(bound: TasksBound) -> TasksSubmitted:
    """The event that would submit tasks which are bound."""
    return TasksSubmitted(
        bound.task_class,
        bound.uids,
        job=bound.job,
        priority=bound.priority,
        names=bound.names,
        group_priority=bound.group_priority,
        spread_group=bound.spread_group,
    )


def _at_home(task: BoundTask, numbers: dict[TaskClass, int]) -> TasksBound:
    return replace(task.event, task_class=_number(task.content, numbers))


def _number(content: TaskClass, numbers: dict[TaskClass, int]) -> int:
    return numbers.setdefault(content, _FIRST_CLASS + len(numbers))
