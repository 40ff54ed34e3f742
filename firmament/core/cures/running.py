"""Finds cures for a waiting task of a running scheduler, in a copy of the scheduler that nothing else uses."""

from __future__ import annotations

from collections.abc import Collection

from firmament.core.cures.proposals import Cure
from firmament.core.cures.search import CureFinder
from firmament.core.events import Event, TaskRemoved
from firmament.core.intake.cluster_events import ClusterEvents
from firmament.core.rescheduling.rehearsal import run_rounds
from firmament.core.rescheduling.trials import Trials
from firmament.core.scheduler import Scheduler
from firmament.solvers.base import Solver


def find_cures_in_copy(
    copied: Scheduler,
    known: ClusterEvents,
    solver: Solver,
    uid: str,
    fixed: Collection[str],
    *,
    tries: int,
    most: int,
) -> tuple[Cure, ...]:
    """Return what would give a task a machine, as ``CureFinder.cures`` does; nothing for a task that does not wait.

    The function changes ``copied``, which cannot be used afterwards: tasks that are placed count as bound, and
    waiting tasks are removed. ``known``: the events of the present cluster; ``solver``: solves the rounds of the
    search; ``fixed``: uids of tasks that may not be moved.
    """
    copied.become_trial(solver)
    waiting = [each for event in known.waiting for each in event.uids]
    if uid not in waiting:
        return ()
    assumed = copied.list_assumed()
    copied.apply([*known.classes, *(each for each in known.placed if each.uids[0] in assumed)])
    copied.apply([TaskRemoved(each) for each in waiting])
    for _ in run_rounds(copied):  # Rounds withdraw the evictions that had been planned for the removed tasks.
        pass
    events: list[Event] = [
        *known.machines,
        *known.classes,
        *known.jobs,
        *known.slices,
        *known.placed,
        *known.waiting,
    ]
    trials = Trials(copied, events, fixed, is_told=True)
    return CureFinder(trials, events).cures([uid], tries=tries, most=most).get(uid, ())
