"""Rehearses a plan of moves: checks with rounds whether each task gets its planned place.

The check thus applies every rule of ordinary rounds: rules between tasks, ports, volumes, models' limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from firmament.core.diagnosis.task_and_machine_states import BoundTask
from firmament.core.events import ClassDefined, ClassRemoved, TaskRemoved, TasksBound
from firmament.core.model import TaskClass
from firmament.core.results import Delta
from firmament.core.scheduler import Scheduler

_FIRST_CLASS = 2**62
"""First number of the classes that this module makes: the numbers of drivers begin at 0."""

_MOST_ROUNDS = 4
"""Most rounds that decide something. One round places all tasks that it can; gangs and rules may need another round."""

_MOST_IN_ALL = 100
"""Most rounds in all, as each profile of tasks has rounds of its own."""


def run_rounds(scheduler: Scheduler) -> Iterator[Sequence[Delta]]:
    """Run rounds as long as they decide something, and yield the deltas of each.

    At most `_MOST_ROUNDS` rounds are run, not counting rounds that leave tasks to a following round.
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
    """Return the uids of the tasks that get their ``targets`` (uid -> machine) if all of them move at once.

    The scheduler is a trial scheduler. Afterwards the scheduler's tasks are back where they were, but count as those
    that came there last.
    """
    scheduler.let_devices_move()
    tasks = {uid: scheduler.get_bound_task(uid) for uid in targets}
    numbers: dict[TaskClass, int] = {}
    # Each of the tasks waits, may go only to its target, and evicts no other task.
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
    """Return the uids of the tasks that do not get their targets (uid -> machine) when moves are made in waves.

    Each task of a wave has to get its target while the other tasks of the wave have not left, and also when all leave
    at once. Tasks that get their targets are moved before the next waves; all other tasks stay where they are.
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
    """Move a bound task of the trial scheduler to a machine, without a round."""
    task, numbers = scheduler.get_bound_task(uid), dict[TaskClass, int]()
    there = replace(_of_class(task, numbers), machine=machine)
    defined = [ClassDefined(number, content) for content, number in numbers.items()]
    scheduler.apply([*defined, TaskRemoved(uid), there])
    scheduler.apply([ClassRemoved(number) for number in numbers.values()])


def _of_class(task: BoundTask, numbers: dict[TaskClass, int], **changes: Any) -> TasksBound:
    """Return the task where it is, in its class with ``changes``; a new class gets one of ``numbers``."""
    content = replace(task.content, **changes)
    return replace(task.event, task_class=numbers.setdefault(content, _FIRST_CLASS + len(numbers)))
