"""Rehearses a plan: checks with rounds whether each task gets its planned place.

So what the plan did not look at counts as in ordinary rounds: rules between tasks, ports, volumes, models' limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from firmament.core.diagnosis.listing import BoundTask
from firmament.core.events import ClassDefined, ClassRemoved, TaskRemoved, TasksBound
from firmament.core.model import TaskClass
from firmament.core.results import Delta
from firmament.core.scheduler import Scheduler

_FIRST_CLASS = 2**62
"""Numbers of classes that are made here begin there: drivers' begin at 0."""

_MOST_ROUNDS = 4
"""One round places all that it can; another may follow gangs and rules between tasks."""

_MOST_IN_ALL = 100
"""As each profile of tasks has rounds of its own."""


def run_rounds(scheduler: Scheduler) -> Iterator[Sequence[Delta]]:
    """Run rounds as long as they decide something, and yield what.

    At most `_MOST_ROUNDS`, not counting those that leave others to a round that follows.
    """
    left = _MOST_ROUNDS
    for _ in range(_MOST_IN_ALL):
        result = scheduler.run_round()
        yield result.deltas
        if not result.put_off:
            left = left - 1 if result.deltas else 0
        if not left:
            break


def rehearse(scheduler: Scheduler, targets: Mapping[str, str]) -> set[str]:
    """Return the uids of those tasks that get their ``targets`` (uid -> machine) if all of them move at once.

    The scheduler is one for trials; afterwards its tasks are where the moves put them, but count as the last ones to
    have come there.
    """
    scheduler.let_devices_move()
    tasks = {uid: scheduler.get_bound_task(uid) for uid in targets}
    numbers: dict[TaskClass, int] = {}
    # Each waits, confined to its target, and makes nobody leave.
    coming = [
        _of_class(tasks[uid], numbers, machine=target, never_preempts=True).as_submitted()
        for uid, target in targets.items()
    ]
    returning = [_of_class(each, numbers) for each in tasks.values()]
    removed = [TaskRemoved(uid) for uid in targets]
    scheduler.apply([ClassDefined(number, content) for content, number in numbers.items()])
    scheduler.apply([*removed, *coming])
    found: set[str] = set()
    for deltas in run_rounds(scheduler):
        found |= {delta.uid for delta in deltas}
        if len(found) == len(targets):
            break
    scheduler.apply([*removed, *returning])
    scheduler.apply([ClassRemoved(number) for number in numbers.values()])
    return found


def rehearse_waves(scheduler: Scheduler, waves: Iterable[Mapping[str, str]]) -> set[str]:
    """Return the uids of those tasks that do not get their targets (uid -> machine) when moves are made in waves.

    Of a wave each has to get its target while the others have not left, and all at once. What gets it is moved for
    good, so that the next wave finds it there; what does not stays where it is.
    """
    failed: set[str] = set()
    for wave in waves:
        going = {uid: target for uid, target in wave.items() if uid in rehearse(scheduler, {uid: target})}
        placed = rehearse(scheduler, going) if len(going) > 1 else going.keys()
        for uid, target in going.items():
            if uid in placed:
                move(scheduler, uid, target)
        failed.update(uid for uid in wave if uid not in placed)
    return failed


def move(scheduler: Scheduler, uid: str, machine: str) -> None:
    """Have a bound task be on a machine from now on."""
    task, numbers = scheduler.get_bound_task(uid), dict[TaskClass, int]()
    there = replace(_of_class(task, numbers), machine=machine)
    defined = [ClassDefined(number, content) for content, number in numbers.items()]
    scheduler.apply([*defined, TaskRemoved(uid), there])
    scheduler.apply([ClassRemoved(number) for number in numbers.values()])


def _of_class(task: BoundTask, numbers: dict[TaskClass, int], **changes: Any) -> TasksBound:
    """Return the task where it is, of its class with ``changes``, which gets one of ``numbers`` if it has
    none yet.
    """
    content = replace(task.content, **changes)
    return replace(task.event, task_class=numbers.setdefault(content, _FIRST_CLASS + len(numbers)))
